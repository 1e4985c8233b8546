//! Paths that a rule leaves to others, compiled once and followed alongside every walk.
//!
//! In: plain paths with wildcards. Out: cursors for matching and projection, and an intent without those fields.
//! Never here: parsing JSONPath, deciding which entries of a rule apply.

use super::intent::{IntentMark, intent_hash};
use super::path::{FieldPath, order};
use super::secret::SecretPlaces;
use super::trail::Trail;
use crate::marks;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// One step of an ignored path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A map's key.
    Field(String),
    /// A position in a list of the object at hand: of the intent when matching, of the live object when projecting.
    /// Only for lists that nobody else adds to.
    Index(usize),
    /// Every element of a list, or every value of a map: `[*]`.
    Every,
    /// The elements in which these fields have these values: `[?@.name == 'app']`.
    Where(Vec<(String, Value)>),
}

/// The ignored paths of one child. A path without steps ignores nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    paths: Vec<Vec<Spot>>,
    /// If there are any, everything is ignored that is not at, above or below one of these.
    only: Vec<Vec<Spot>>,
}

impl Ignored {
    /// From paths, each from the root of the object.
    pub fn new(paths: impl IntoIterator<Item = Vec<Spot>>) -> Self {
        Self { paths: paths.into_iter().collect(), only: Vec::new() }
    }

    /// Ignores everything else as well, if `only` names anything. Our own marks are never ignored.
    pub fn but_for(self, only: Vec<Vec<Spot>>) -> Self {
        Self { only, ..self }
    }

    /// Starts a walk over an object.
    pub(super) fn cursor(&self, level: Level) -> Cursor<'_> {
        let only = self.only.iter().map(Vec::as_slice).collect::<Vec<_>>();
        let pending = self.paths.iter().map(Vec::as_slice).collect();
        Cursor { pending, only: (!only.is_empty()).then_some(only), level }
    }
}

/// How much of an object a walk leaves out because of where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The object itself: its type and status are never owned through an apply of ours.
    Object,
    /// The object as it is sent: nothing is left out but what the rule says.
    Sent,
    /// Its metadata: the server's bookkeeping and the identity are never owned.
    Metadata,
    /// The metadata as it is sent.
    SentMetadata,
    /// Its labels or annotations.
    Marks,
    /// Anywhere else: nothing but what the rule says.
    Inside,
}

/// What a rule's limit to some fields means for one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// What is outside of it is ignored.
    Holds,
    /// Something below may be inside of it.
    Passes,
    /// It does not concern what is here.
    Lifted,
}

/// What is sent whatever the rule is limited to.
const STATED: [&str; 5] = ["apiVersion", "kind", "name", "namespace", "ownerReferences"];

/// What is left of the ignored paths where a walk stands. Without pending paths it costs no memory.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    pending: Vec<&'a [Spot]>,
    /// Without any that is left, everything here is ignored; nothing where no such limit holds.
    only: Option<Vec<&'a [Spot]>>,
    level: Level,
}

impl Cursor<'_> {
    /// Into a map's key; `None` if what is there is ignored.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        let level = match (self.level, name) {
            (Level::Object, "apiVersion" | "kind" | "status")
            | (
                Level::Metadata,
                "name" | "namespace" | "uid" | "resourceVersion" | "generation" | "selfLink"
                | "creationTimestamp" | "managedFields",
            ) => return None,
            (Level::Object, "metadata") => Level::Metadata,
            (Level::Sent, "metadata") => Level::SentMetadata,
            (Level::Metadata | Level::SentMetadata, "labels" | "annotations") => Level::Marks,
            _ => Level::Inside,
        };
        let limit = match (self.level, level) {
            // What an object is, and our marks, are no matter of what the rule compares.
            (_, Level::Metadata | Level::SentMetadata | Level::Marks) => Limit::Passes,
            (Level::Sent | Level::SentMetadata, _) if STATED.contains(&name) => Limit::Lifted,
            (Level::Metadata, _) if name == "ownerReferences" => Limit::Lifted,
            (Level::Marks, _) if name.starts_with(marks::PREFIX) => Limit::Lifted,
            _ => Limit::Holds,
        };
        self.follow(level, limit, |spot| match spot {
            Spot::Field(field) => field == name,
            Spot::Every => true,
            Spot::Index(_) | Spot::Where(_) => false,
        })
    }

    /// Into an element of a list; `None` if it is ignored.
    pub(super) fn element(&self, index: usize, element: &Value) -> Option<Self> {
        let equal = |(name, value): &(String, Value)| {
            element.get(name).is_some_and(|stated| order(stated, value).is_eq())
        };
        self.follow(Level::Inside, Limit::Holds, |spot| match spot {
            Spot::Every => true,
            Spot::Index(position) => *position == index,
            Spot::Where(fields) => fields.iter().all(equal),
            Spot::Field(_) => false,
        })
    }

    /// Whether nothing at or below this place is ignored.
    pub(super) fn is_idle(&self) -> bool {
        let drops = matches!(self.level, Level::Object | Level::Metadata);
        self.pending.is_empty() && self.only.is_none() && !drops
    }

    fn follow(&self, level: Level, limit: Limit, hit: impl Fn(&Spot) -> bool) -> Option<Self> {
        let mut pending = Vec::new();
        for path in &self.pending {
            match path {
                [last] if hit(last) => return None,
                [first, rest @ ..] if hit(first) => pending.push(rest),
                _ => {}
            }
        }
        let only = match (&self.only, limit) {
            (None, _) | (_, Limit::Lifted) => None,
            (Some(paths), _) => {
                let followed = paths.iter().filter(|path| path.first().is_some_and(&hit));
                let rest: Vec<&[Spot]> = followed.map(|path| &path[1..]).collect();
                if rest.is_empty() && limit == Limit::Holds {
                    return None;
                }
                (!rest.iter().any(|path| path.is_empty())).then_some(rest)
            }
        };
        Some(Self { pending, only, level })
    }
}

/// The intent as it is to be sent: without the ignored fields, except where `keep` says that we still give the value
/// (because nobody else owns it yet; see [`super::holders`], to which the intent is the object of the path).
///
/// A map or list that loses everything goes as well, so that the apply does not own an empty container; an element
/// of a list stays, since its position may matter.
pub fn without_ignored(
    intent: &Value,
    ignored: &Ignored,
    keep: &dyn Fn(&FieldPath) -> bool,
) -> Value {
    copy(intent, &ignored.cursor(Level::Sent), &Trail::ROOT, keep)
}

/// The hash of an intent without the ignored fields, and what is to stand of it on the object. Where nothing is ignored,
/// nothing is copied.
pub fn hash_without_ignored(
    intent: &Value,
    ignored: &Ignored,
    secrets: &SecretPlaces,
) -> (u64, IntentMark) {
    let compared = compared(intent, ignored);
    let hash = intent_hash(&compared);
    (hash, IntentMark::of(hash, &compared, secrets))
}

/// The part of an intent that is compared: what is not ignored.
pub fn compared<'i>(intent: &'i Value, ignored: &Ignored) -> Cow<'i, Value> {
    if ignored.cursor(Level::Sent).is_idle() {
        return Cow::Borrowed(intent);
    }
    Cow::Owned(without_ignored(intent, ignored, &|_| false))
}

fn copy(
    value: &Value,
    cursor: &Cursor<'_>,
    trail: &Trail<'_>,
    keep: &dyn Fn(&FieldPath) -> bool,
) -> Value {
    // Nothing left at an ignored place; else a copy, told apart from a container that just lost everything.
    let part = |below: &Value, cursor: Option<Cursor<'_>>, trail: &Trail<'_>| match cursor {
        Some(cursor) => Some(copy(below, &cursor, trail, keep)),
        None => keep(&trail.path()).then(|| below.clone()),
    };
    if cursor.is_idle() {
        return value.clone();
    }
    match value {
        Value::Object(map) => {
            let copied = map.iter().filter_map(|(name, below)| {
                let copied = part(below, cursor.field(name), &trail.field(name))?;
                let emptied = is_empty(&copied) && !is_empty(below);
                (!emptied).then(|| (name.clone(), copied))
            });
            Value::Object(copied.collect::<Map<_, _>>())
        }
        Value::Array(list) => {
            let copied = list.iter().enumerate().filter_map(|(index, below)| {
                part(below, cursor.element(index, below), &trail.index(index))
            });
            Value::Array(copied.collect())
        }
        scalar => scalar.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(steps: &[Spot]) -> Vec<Spot> {
        let spec = std::iter::once(Spot::Field("spec".into()));
        spec.chain(steps.iter().cloned()).collect()
    }

    fn field(name: &str) -> Spot {
        Spot::Field(name.into())
    }

    fn named(name: &str) -> Spot {
        Spot::Where(vec![("name".into(), json!(name))])
    }

    const DROP: &dyn Fn(&FieldPath) -> bool = &|_| false;

    #[test]
    fn ignored_fields_are_left_out_and_everything_else_is_equal() {
        let intent = json!({"spec": {"replicas": 3, "containers": [
            {"name": "app", "image": "a"}, {"name": "proxy", "image": "b"}]}});
        let ignored = Ignored::new([
            path(&[field("replicas")]),
            path(&[field("containers"), named("proxy"), field("image")]),
        ]);
        let sent = without_ignored(&intent, &ignored, DROP);
        let wanted =
            json!({"spec": {"containers": [{"name": "app", "image": "a"}, {"name": "proxy"}]}});
        assert_eq!(sent, wanted);
        let every = Ignored::new([path(&[field("containers"), Spot::Every, field("image")])]);
        let sent = without_ignored(&intent, &every, DROP);
        assert_eq!(sent["spec"]["containers"], json!([{"name": "app"}, {"name": "proxy"}]));
        let second = Ignored::new([path(&[field("containers"), Spot::Index(1)])]);
        let sent = without_ignored(&intent, &second, DROP);
        assert_eq!(sent["spec"]["containers"], json!([{"name": "app", "image": "a"}]));
    }

    #[test]
    fn containers_that_lose_everything_go_but_those_written_empty_stay() {
        let intent = json!({"spec": {"a": {"b": {"c": 1}}, "d": {}, "e": [1], "f": [{"c": 1}]}});
        let ignored = Ignored::new([
            path(&[field("a"), field("b"), field("c")]),
            path(&[field("d"), field("c")]),
            path(&[field("e"), Spot::Every]),
            path(&[field("f"), Spot::Every, field("c")]),
        ]);
        assert_eq!(without_ignored(&intent, &ignored, DROP), json!({"spec": {"d": {}, "f": [{}]}}));
    }

    #[test]
    fn kept_places_are_asked_for_by_path() {
        let intent =
            json!({"kind": "X", "spec": {"replicas": 3, "ports": [{"port": 1, "nodePort": 2}]}});
        let ignored = Ignored::new([
            path(&[field("replicas")]),
            path(&[field("ports"), Spot::Every, field("nodePort")]),
        ]);
        let asked = std::cell::RefCell::new(Vec::new());
        let keep = |path: &FieldPath| {
            asked.borrow_mut().push(path.to_string());
            true
        };
        assert_eq!(without_ignored(&intent, &ignored, &keep), intent);
        assert_eq!(asked.into_inner(), ["spec.ports[0].nodePort", "spec.replicas"]);
    }

    #[test]
    fn a_limit_ignores_everything_but_what_it_names_and_our_marks() {
        let intent = json!({"apiVersion": "v1", "kind": "X",
            "metadata": {"name": "x", "labels": {"a": "1", "kubewright.io/owner": "k"}, "ownerReferences": [{"uid": "u"}]},
            "spec": {"replicas": 3, "image": "a", "ports": [{"port": 1, "nodePort": 2}]}, "data": {}});
        let only = Ignored::default().but_for(vec![
            path(&[field("image")]),
            path(&[field("ports"), Spot::Every, field("port")]),
        ]);
        let sent = without_ignored(&intent, &only, DROP);
        let wanted = json!({"apiVersion": "v1", "kind": "X",
            "metadata": {"name": "x", "labels": {"kubewright.io/owner": "k"}, "ownerReferences": [{"uid": "u"}]},
            "spec": {"image": "a", "ports": [{"port": 1}]}});
        assert_eq!(sent, wanted);
        let within = Ignored::new([path(&[field("image")])]).but_for(vec![path(&[])]);
        assert_eq!(without_ignored(&intent, &within, DROP)["spec"]["replicas"], 3);
        assert_eq!(without_ignored(&intent, &within, DROP)["spec"].get("image"), None);
    }

    #[test]
    fn a_path_without_steps_ignores_nothing() {
        let intent = json!({"spec": {"a": 1}});
        assert_eq!(without_ignored(&intent, &Ignored::new([vec![]]), DROP), intent);
    }
}
