//! What an apply would change of a live object, value by value, for people and programs that look at it before it is sent.
//!
//! In: the body of the apply, the live object with its `managedFields`, our entry. Out: [`Changes`]: a tree of what stays and
//! what changes, and the same as operations of a JSON patch (RFC 6902). Pure. Never here: whether anything is sent (that is
//! judged without comparing values, see [`super`]); values that only the server or others put there.
//!
//! Some differences are no news: a quantity that the server spells otherwise, a default inside of a list that is written as a
//! whole. They are told only where nothing else explains why the object is written.

mod list;

use super::entry::holders;
use super::fields::FieldSet;
use super::intent::INTENT_ANNOTATION;
use super::matching::Entries;
use super::path::{FieldPath, Step, order};
use super::respelled::same_worth;
use crate::path::{self, Location};
use serde_json::{Map, Value};

/// A part of an object, as it is and as it will be.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// It stays.
    Same(Value),
    /// It changes: the number of its operation.
    Change(usize),
    /// A map, without what is none of our business.
    Map(Vec<(String, Delta)>),
    /// A list, the same.
    List(Vec<Delta>),
}

/// One change of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Where, as server-side apply names it.
    pub field: FieldPath,
    /// Where, as a JSON pointer into the live object; operations are to be applied in their order.
    pub pointer: String,
    /// Where the body says so, or what is nearest above it.
    pub wanted_at: Location,
    /// What is there; nothing if it is added.
    pub was: Option<Value>,
    /// What is to be there; nothing if it is removed.
    pub is: Option<Value>,
    /// Other managers that hold it.
    pub held_by: Vec<String>,
}

/// Everything that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The whole, as a tree.
    pub delta: Delta,
    /// What changes, in an order in which it can be applied.
    pub operations: Vec<Operation>,
}

impl Operation {
    /// The word of RFC 6902.
    pub fn word(&self) -> &'static str {
        match (&self.was, &self.is) {
            (None, _) => "add",
            (Some(_), None) => "remove",
            (Some(_), Some(_)) => "replace",
        }
    }
}

impl Changes {
    /// Of an object that does not exist yet; without the hash of the intent, by which values of a Secret could be tried out.
    pub fn creation(body: &Value) -> Self {
        let mut body = body.clone();
        let annotations = body.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        if let Some(annotations) = annotations {
            annotations.remove(INTENT_ANNOTATION);
        }
        let operation = Operation {
            field: FieldPath::default(),
            pointer: String::new(),
            wanted_at: Location::root(),
            was: None,
            is: Some(body),
            held_by: Vec::new(),
        };
        Self { delta: Delta::Change(0), operations: vec![operation] }
    }
}

/// What an apply of `body` by `manager` changes of `live`, which has its `managedFields`. `fields` are those of our entry, if
/// there is one that speaks of this API version.
pub fn changes(body: &Value, live: &Value, fields: Option<&FieldSet>, manager: &str) -> Changes {
    let certain = Walk::over(body, live, fields, (manager, false));
    if certain.operations.is_empty() {
        Walk::over(body, live, fields, (manager, true))
    } else {
        certain
    }
}

/// The same for one part of an object, such as its status, and the fields owned in it. Both objects have that part alone.
pub fn changes_within(
    wanted: &Value,
    live: &Value,
    part: &str,
    fields: Option<&FieldSet>,
) -> Changes {
    let mut walk = Walk {
        body: wanted,
        managed_fields: &Value::Null,
        manager: "",
        doubts: true,
        operations: Vec::new(),
    };
    let at = At::default().key(part);
    let below = walk.value(&wanted[part], live.get(part), fields, &at);
    Changes { delta: Delta::Map(vec![(part.to_owned(), below)]), operations: walk.operations }
}

/// The change of one value of a map that a JSON pointer leads to, as the `nth` operation of a patch says it.
pub fn pointed(pointer: &str, nth: usize, was: Option<&Value>, is: &Value) -> Operation {
    let step = |step: &str| Step::field(&step.replace("~1", "/").replace("~0", "~"));
    let at = [path::Step::from("operations"), path::Step::from(nth)];
    Operation {
        field: FieldPath::new(pointer.split('/').skip(1).map(step)),
        pointer: pointer.to_owned(),
        wanted_at: Location::from(at.to_vec()),
        was: was.cloned(),
        is: Some(is.clone()),
        held_by: Vec::new(),
    }
}

struct Walk<'a> {
    body: &'a Value,
    managed_fields: &'a Value,
    manager: &'a str,
    /// Whether differences count that may be the server's own.
    doubts: bool,
    operations: Vec<Operation>,
}

/// Where the walk stands, in the object as it is and in the body.
#[derive(Clone, Default)]
struct At {
    field: Vec<Step>,
    pointer: String,
    wanted: Vec<path::Step>,
    /// Within a value that is written as a whole.
    whole: bool,
    /// The server may have put defaults into it.
    defaulted: bool,
}

impl At {
    fn key(&self, name: &str) -> Self {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        Self {
            field: with(&self.field, Step::field(name)),
            pointer: format!("{}/{escaped}", self.pointer),
            wanted: with(&self.wanted, path::Step::from(name)),
            ..*self
        }
    }

    /// An element: its step, its position as it is (`-` behind the last), and in the body if it is there.
    fn element(&self, step: Step, position: &str, wanted: Option<usize>) -> Self {
        Self {
            field: with(&self.field, step),
            pointer: format!("{}/{position}", self.pointer),
            wanted: wanted
                .map_or_else(|| self.wanted.clone(), |at| with(&self.wanted, path::Step::from(at))),
            ..*self
        }
    }

    /// Within a value that may be written as a whole, so that what it has besides goes; `taken` means that somebody else wrote
    /// it last, and else there may be defaults of the server in it.
    fn inside(&self, whole: bool, taken: bool) -> Self {
        let is_plain =
            matches!(self.field.last(), Some(Step::Field(name)) if PLAIN.contains(&&**name));
        let defaulted = if self.whole { self.defaulted } else { whole && !taken };
        Self { whole: self.whole || whole, defaulted: defaulted && !is_plain, ..self.clone() }
    }

    fn field(&self) -> FieldPath {
        FieldPath::new(self.field.iter().cloned())
    }
}

fn with<T: Clone>(steps: &[T], step: T) -> Vec<T> {
    steps.iter().cloned().chain([step]).collect()
}

/// Maps that are written as a whole and into which the server puts nothing.
const PLAIN: [&str; 3] = ["selector", "nodeSelector", "matchLabels"];

/// What is never changed through an apply, at the root and in the metadata.
const UNCHANGED: [&str; 3] = ["apiVersion", "kind", "status"];
const IDENTITY: [&str; 8] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "selfLink",
    "creationTimestamp",
    "managedFields",
];

impl<'a> Walk<'a> {
    fn over(
        body: &'a Value,
        live: &'a Value,
        fields: Option<&FieldSet>,
        (manager, doubts): (&'a str, bool),
    ) -> Changes {
        let managed_fields = live.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
        let mut walk = Walk { body, managed_fields, manager, doubts, operations: Vec::new() };
        let nothing = Map::new();
        let maps = [body, live].map(|object| object.as_object().unwrap_or(&nothing));
        let delta = walk.map(maps[0], maps[1], fields, &At::default());
        Changes { delta, operations: walk.operations }
    }

    fn change(&mut self, was: Option<&Value>, is: Option<&Value>, at: &At) -> Delta {
        let field = at.field();
        let others = holders(self.managed_fields, &field, self.body);
        let others = others.iter().filter(|holder| !holder.is_apply_of(self.manager));
        let held_by = others.map(ToString::to_string).collect();
        self.operations.push(Operation {
            field,
            pointer: at.pointer.clone(),
            wanted_at: Location::from(at.wanted.clone()),
            was: was.cloned(),
            is: is.cloned(),
            held_by,
        });
        Delta::Change(self.operations.len() - 1)
    }

    fn value(
        &mut self,
        wanted: &Value,
        live: Option<&Value>,
        fields: Option<&FieldSet>,
        at: &At,
    ) -> Delta {
        // The server stores some empty values as nothing, and an empty list may be owned by nobody.
        let stays = is_hollow(wanted) && (fields.is_some() || (wanted.is_array() && !self.doubts));
        let live = match live {
            None | Some(Value::Null) if stays => return Delta::Same(wanted.clone()),
            None => return self.change(None, Some(wanted), at),
            Some(live) => live,
        };
        match (wanted, live) {
            (Value::Object(wanted), Value::Object(live)) => {
                let taken = self.is_taken(fields, at);
                // Of an empty map we own only that it is there.
                let whole = taken || (!wanted.is_empty() && fields.is_some_and(FieldSet::is_leaf));
                self.map(wanted, live, fields, &at.inside(whole, taken))
            }
            (Value::Array(wanted), Value::Array(live)) => {
                let taken = self.is_taken(fields, at);
                let whole = taken || fields.is_some_and(FieldSet::is_leaf);
                self.list(wanted, live, fields, &at.inside(whole, taken))
            }
            _ if order(wanted, live).is_eq() => Delta::Same(wanted.clone()),
            _ if !self.doubts && same_worth(wanted, live) => Delta::Same(live.clone()),
            _ => self.change(Some(live), Some(wanted), at),
        }
    }

    /// Whether somebody took a value from us as a whole.
    fn is_taken(&self, fields: Option<&FieldSet>, at: &At) -> bool {
        let entries = Entries::among(self.managed_fields);
        fields.is_none() && !at.whole && entries.own_whole(&at.field())
    }

    fn map(
        &mut self,
        wanted: &Map<String, Value>,
        live: &Map<String, Value>,
        fields: Option<&FieldSet>,
        at: &At,
    ) -> Delta {
        let passed = |name: &str| match at.field.as_slice() {
            [] => UNCHANGED.contains(&name),
            [Step::Field(only)] if **only == *"metadata" => IDENTITY.contains(&name),
            _ => name == INTENT_ANNOTATION,
        };
        let (ours, mut entries) = (&FieldSet::default(), Vec::new());
        for (name, value) in wanted.iter().filter(|(name, _)| !passed(name)) {
            let below = fields.and_then(|fields| fields.field(name));
            // Whatever is inside of a value that is ours as a whole is ours.
            let below = if at.whole { Some(ours) } else { below };
            entries.push((name.clone(), self.value(value, live.get(name), below, &at.key(name))));
        }
        for (name, value) in
            live.iter().filter(|(name, _)| !wanted.contains_key(*name) && !passed(name))
        {
            let owned = fields.and_then(|fields| fields.field(name));
            let gone = match owned {
                Some(owned) => self.unwanted(owned, value, &at.key(name)),
                // Whatever is not said of a value that is written as a whole goes.
                None if at.whole && (self.doubts || !(at.defaulted || is_hollow(value))) => {
                    Some(self.change(Some(value), None, &at.key(name)))
                }
                None => None,
            };
            entries.extend(gone.map(|gone| (name.clone(), gone)));
        }
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        Delta::Map(entries)
    }

    /// Something of ours that is no longer wanted goes, unless others hold it too.
    fn unwanted(&mut self, owned: &FieldSet, live: &Value, at: &At) -> Option<Delta> {
        if let (Value::Object(map), false) = (live, owned.is_leaf()) {
            let begun = self.operations.len();
            let mut entries = Vec::new();
            for (name, value) in map {
                let Some(below) = owned.field(name) else { continue };
                let gone = self.unwanted(below, value, &at.key(name));
                entries.extend(gone.map(|gone| (name.clone(), gone)));
            }
            let all = entries.len() == map.len()
                && entries.iter().all(|(_, gone)| matches!(gone, Delta::Change(_)));
            if all && !map.is_empty() {
                self.operations.truncate(begun);
                return Some(self.change(Some(live), None, at));
            }
            return (!entries.is_empty()).then_some(Delta::Map(entries));
        }
        let shared = holders(self.managed_fields, &at.field(), self.body)
            .iter()
            .any(|holder| !holder.is_apply_of(self.manager));
        (!shared).then(|| self.change(Some(live), None, at))
    }
}

/// Empty, zero, false or nothing.
fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.iter().all(is_hollow),
        Value::Object(map) => map.values().all(is_hollow),
    }
}

#[cfg(test)]
mod tests;
