//! `FieldsV1` as a compact, sorted tree.
//!
//! In: the JSON of one `fieldsV1`, as text or as a value. Out: a [`FieldSet`] to search and share.
//! Never here: objects' values, other parts of `managedFields`.

use super::path::{FieldPath, Step};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;

/// The fields that one entry of `managedFields` owns below some value. Sorted, so lookups are binary searches.
///
/// A set without children is a leaf: the whole value is owned. The `.` entries are dropped: they say that a container
/// exists, which its children say as well. Equal sets are worth sharing: the children of one rule own the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSet {
    children: Box<[Child]>,
    presence: Presence,
}

/// What of a leaf is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Presence {
    /// The whole value.
    #[default]
    Whole,
    /// Only that a map is there.
    Map,
    /// The same, but the server stores an empty map as nothing: it is there as soon as somebody puts something into it.
    Hollow,
}

/// One owned step and what is owned below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Child {
    pub(super) step: Step,
    pub(super) below: FieldSet,
}

impl FieldSet {
    /// Whether it owns a whole value rather than parts. An entry that owns nothing looks the same at its root.
    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// Whether this leaf owns only that a map is there (see [`FieldSet::presence_where_empty`]).
    pub(super) fn is_presence(&self) -> bool {
        self.presence != Presence::Whole && self.is_leaf()
    }

    /// Whether not even that counts, since the map was not there although we sent it.
    pub(super) fn is_hollow(&self) -> bool {
        self.presence == Presence::Hollow && self.is_leaf()
    }

    /// What is owned below a map's key.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let is = |child: &&Child| matches!(&child.step, Step::Field(field) if **field == *name);
        self.children.iter().find(is).map(|child| &child.below)
    }

    /// Whether a path as the server writes it (`.spec.containers[name="app"].image`) is owned, or something below it, or all of
    /// a value around it.
    pub fn owns(&self, server_path: &str) -> bool {
        self.children.iter().any(|child| {
            let Some(rest) = server_path.strip_prefix(&child.step.as_the_server_writes()) else {
                return false;
            };
            let ends = rest.is_empty() || (child.below.is_leaf() && rest.starts_with(['.', '[']));
            ends || child.below.owns(rest)
        })
    }

    /// Owns the value at a path as a whole, besides what it owns.
    pub(super) fn add(&mut self, path: &[Step]) {
        let Some((step, rest)) = path.split_first() else { return };
        let place = self.children.binary_search_by(|child| child.step.order(step));
        let at = match place {
            Ok(at) => at,
            Err(at) => {
                let mut children = std::mem::take(&mut self.children).into_vec();
                children.insert(at, Child { step: step.clone(), below: Self::default() });
                self.children = children.into_boxed_slice();
                at
            }
        };
        self.children[at].below.add(rest);
    }

    /// As `FieldsV1`, without the `.` entries.
    pub(super) fn to_fields_v1(&self) -> Value {
        let children = self.children.iter();
        let pairs = children.map(|child| (child.step.to_fields_v1(), child.below.to_fields_v1()));
        Value::Object(pairs.collect())
    }

    pub(super) fn children(&self) -> &[Child] {
        &self.children
    }

    /// The child that owns this element of a list. An element that leaves out a defaulted key field belongs to the
    /// first key that fits.
    pub(super) fn element(&self, index: usize, element: &Value) -> Option<usize> {
        let keyed = match self.by_key(element) {
            ByKey::Found(child) => return Some(child),
            ByKey::Partial => self.children.iter().position(|child| child.fits(element)),
            ByKey::None => None,
        };
        keyed.or_else(|| self.search(&Step::Index(index))).or_else(|| self.member(element))
    }

    /// The child whose key is exactly the element's.
    pub(super) fn by_key(&self, element: &Value) -> ByKey {
        let mut partial = false;
        let found = self.children.binary_search_by(|child| match &child.step {
            Step::Field(_) => Ordering::Less,
            Step::Key(key) => key.order_to(element).unwrap_or_else(|| {
                partial = element.is_object();
                Ordering::Equal
            }),
            _ => Ordering::Greater,
        });
        match found {
            _ if partial => ByKey::Partial,
            Ok(child) if self.children[child].fits(element) => ByKey::Found(child),
            _ => ByKey::None,
        }
    }

    /// The child that owns this member of a set.
    fn member(&self, value: &Value) -> Option<usize> {
        let found = self.children.binary_search_by(|child| match &child.step {
            Step::Value(member) => super::path::order(member, value),
            Step::Index(_) => Ordering::Greater,
            _ => Ordering::Less,
        });
        found.ok()
    }

    fn search(&self, step: &Step) -> Option<usize> {
        self.children.binary_search_by(|child| child.step.order(step)).ok()
    }

    /// Whether something at this path, below it, or all of a value around it is owned. Positions in the path are looked
    /// up in `object`, to learn the element's key.
    pub(super) fn touches(&self, path: &FieldPath, object: &Value) -> bool {
        let (mut owned, mut value) = (self, Some(object));
        for (depth, step) in path.steps().iter().enumerate() {
            let child = match step {
                Step::Field(name) => {
                    value = value.and_then(|value| value.get(&**name));
                    owned.search(step)
                }
                Step::Index(index) => {
                    value = value.and_then(|value| value.get(index));
                    value.and_then(|element| owned.element(*index, element))
                }
                Step::Key(key) => {
                    let list = value.and_then(Value::as_array);
                    value = list.and_then(|list| list.iter().find(|element| key.fits(element)));
                    owned.element(usize::MAX, &key.to_element())
                }
                Step::Value(_) => owned.search(step),
            };
            match child {
                Some(child) => owned = &owned.children[child].below,
                None => return depth > 0 && owned.is_leaf(),
            }
        }
        true
    }

    /// Whether `now` still has every leaf of ours that counts by presence. Losing one means that somebody put
    /// something into an atomic map that we left empty, which no projection shows.
    pub(super) fn keeps_presence(&self, now: &Self) -> bool {
        self.children.iter().all(|child| match now.search(&child.step) {
            Some(at) => child.below.keeps_presence(&now.children[at].below),
            None => !child.below.has_presence(),
        })
    }

    fn has_presence(&self) -> bool {
        (self.is_presence() && !self.is_hollow())
            || self.children.iter().any(|child| child.below.has_presence())
    }

    /// Marks those of the leaves that count by presence which are not there in the server's answer.
    pub(super) fn hollow_where_absent(&mut self, live: Option<&Value>) {
        if self.is_presence() && live.is_none() {
            self.presence = Presence::Hollow;
        }
        let list = live.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let owners =
            list.iter().enumerate().map(|(at, element)| (self.element(at, element), element));
        let elements: Vec<(Option<usize>, &Value)> = owners.collect();
        for (at, child) in self.children.iter_mut().enumerate() {
            let live = match &child.step {
                Step::Field(name) => live.and_then(|live| live.get(&**name)),
                _ => elements.iter().find(|(owner, _)| *owner == Some(at)).map(|(_, live)| *live),
            };
            child.below.hollow_where_absent(live);
        }
    }

    /// Marks the leaves where the intent is an empty map: there we own that the map exists, not what the server and
    /// others put into it. To be called with the intent that was applied, before the set is remembered.
    ///
    /// Otherwise the projection would take such a leaf for a whole value, and every foreign change inside it (a
    /// `resources: {}` that an autoscaler fills) would cost one apply without an effect. If the map is atomic, a
    /// foreign key takes the leaf from us: see [`FieldSet::keeps_presence`].
    pub(super) fn presence_where_empty(&mut self, intent: &Value) {
        if self.is_leaf() {
            if intent.as_object().is_some_and(serde_json::Map::is_empty) {
                self.presence = Presence::Map;
            }
            return;
        }
        match intent {
            Value::Object(map) => {
                for child in &mut self.children {
                    if let Step::Field(name) = &child.step
                        && let Some(value) = map.get(&**name)
                    {
                        child.below.presence_where_empty(value);
                    }
                }
            }
            Value::Array(list) => {
                let assigned = super::matching::assign(list, self);
                for (element, child) in list.iter().zip(assigned.children) {
                    if let Some(child) = child {
                        self.children[child].below.presence_where_empty(element);
                    }
                }
            }
            _ => {}
        }
    }
}

/// What a search by key gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByKey {
    /// This child.
    Found(usize),
    /// The element leaves out a key field, so that it takes more than a search to say.
    Partial,
    /// No child.
    None,
}

impl Child {
    fn fits(&self, element: &Value) -> bool {
        matches!(&self.step, Step::Key(key) if key.fits(element))
    }
}

impl<'de> Deserialize<'de> for FieldSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = FieldSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of owned fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldSet, A::Error> {
        let mut children = Vec::new();
        while let Some(Name(step)) = map.next_key()? {
            match step {
                Some(step) => children.push(Child { step, below: map.next_value()? }),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        children.sort_unstable_by(|a, b| a.step.order(&b.step));
        Ok(FieldSet { children: children.into_boxed_slice(), presence: Presence::Whole })
    }
}

/// A key of `FieldsV1`; nothing for `.`.
struct Name(Option<Step>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Name(None))
    }
}

impl Visitor<'_> for Name {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an owned field: f:, k:, v:, i: or a dot")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self, E> {
        if text == "." {
            return Ok(Self(None));
        }
        Step::parse(text)
            .map(|step| Self(Some(step)))
            .ok_or_else(|| E::custom("unknown path element"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(fields: &Value) -> FieldSet {
        FieldSet::deserialize(fields).unwrap()
    }

    fn below<'a>(fields: &'a FieldSet, name: &str) -> &'a FieldSet {
        &fields.children[fields.search(&Step::field(name)).unwrap()].below
    }

    fn ports() -> FieldSet {
        set(&json!({
            r#"k:{"port":80,"protocol":"TCP"}"#: {".": {}, "f:port": {}},
            r#"k:{"port":80,"protocol":"UDP"}"#: {".": {}, "f:port": {}},
            r#"k:{"port":443,"protocol":"TCP"}"#: {".": {}, "f:port": {}},
        }))
    }

    #[test]
    fn text_and_value_parse_to_the_same_set_whatever_their_order() {
        let text = r#"{"f:b":{},"f:a":{"v:\"x\"":{},".":{},"k:{\"n\":1}":{},"f:z":{}}}"#;
        let sorted = r#"{"f:a":{"f:z":{},"k:{\"n\":1}":{},"v:\"x\"":{}},"f:b":{}}"#;
        let from_text: FieldSet = serde_json::from_str(text).unwrap();
        assert_eq!(from_text, set(&serde_json::from_str(text).unwrap()));
        assert_eq!(from_text, serde_json::from_str(sorted).unwrap());
    }

    #[test]
    fn paths_as_the_server_writes_them_are_found() {
        let fields = set(&json!({
            "f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}},
            "f:spec": {
                "f:selector": {},
                "f:replicas": {},
                "f:containers": {r#"k:{"name":"app"}"#: {"f:image": {}}},
                "f:ports": {r#"k:{"port":80,"protocol":"TCP"}"#: {"f:name": {}}},
                "f:finalizers": {r#"v:"x""#: {}},
            },
        }));
        for owned in [
            ".spec.replicas",
            ".spec.selector.app",
            ".spec.containers[name=\"app\"].image",
            ".spec.ports[port=80,protocol=\"TCP\"]",
            ".spec.finalizers[=\"x\"]",
            ".metadata.labels.app.kubernetes.io/name",
        ] {
            assert!(fields.owns(owned), "{owned}");
        }
        for other in
            [".spec.replicasX", ".spec.paused", ".spec.containers[name=\"b\"].image", ".status"]
        {
            assert!(!fields.owns(other), "{other}");
        }
    }

    #[test]
    fn what_is_not_fieldsv1_is_refused() {
        for text in ["[]", "null", r#"{"a":{}}"#, r#"{"f:a":1}"#, r#"{"k:1":{}}"#, r#"{"f:a":{}"#] {
            assert!(serde_json::from_str::<FieldSet>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn elements_are_found_by_their_whole_key() {
        let (ports, key) =
            (ports(), |port: u16, protocol: &str| json!({"port": port, "protocol": protocol}));
        let found = |element: &Value| {
            ports.element(0, element).map(|at| ports.children[at].step.to_string())
        };
        assert_eq!(found(&key(80, "UDP")).as_deref(), Some("[port=80,protocol=UDP]"));
        assert_eq!(found(&key(443, "TCP")).as_deref(), Some("[port=443,protocol=TCP]"));
        assert_eq!(found(&key(443, "UDP")), None);
        assert_eq!(found(&json!({"port": 443})).as_deref(), Some("[port=443,protocol=TCP]"));
        assert_eq!(found(&json!({"port": 81})), None);
        assert_eq!(found(&json!("80")), None);
        assert_eq!(ports.by_key(&json!({"port": 443})), ByKey::Partial, "a key field is left out");
    }

    #[test]
    fn paths_are_followed_by_key_by_partial_key_and_by_position() {
        let fields = set(&json!({"f:spec": {"f:ports": {
            r#"k:{"port":80,"protocol":"TCP"}"#: {"f:port": {}, "f:nodePort": {}}}, "f:selector": {}}}));
        let object = json!({"spec": {"ports": [{"name": "web", "port": 80, "nodePort": 1}]}});
        let path =
            |steps: &[&str]| FieldPath::new(steps.iter().map(|step| Step::parse(step).unwrap()));
        let touches = |steps: &[&str]| fields.touches(&path(steps), &object);
        assert!(touches(&["f:spec", "f:ports", "i:0", "f:nodePort"]));
        assert!(touches(&["f:spec", "f:ports", r#"k:{"port":80}"#, "f:nodePort"]));
        assert!(touches(&["f:spec", "f:ports", r#"k:{"port":80,"protocol":"TCP"}"#]));
        assert!(!touches(&["f:spec", "f:ports", "i:0", "f:name"]));
        assert!(!touches(&["f:spec", "f:ports", "i:1"]));
        assert!(touches(&["f:spec", "f:selector", "f:app"]), "a leaf owns what is inside");
        assert!(
            !FieldSet::default().touches(&path(&["f:spec"]), &object),
            "an empty entry owns nothing"
        );
    }

    #[test]
    fn a_place_is_added_in_order() {
        let mut fields = set(&json!({"f:spec": {"f:b": {}}}));
        for path in [["spec", "c"], ["spec", "a"], ["spec", "b"], ["data", "x"]] {
            fields.add(&path.map(Step::field));
        }
        let wanted =
            set(&json!({"f:data": {"f:x": {}}, "f:spec": {"f:a": {}, "f:b": {}, "f:c": {}}}));
        assert_eq!(fields, wanted);
    }

    #[test]
    fn presence_is_marked_where_the_intent_is_an_empty_map() {
        let mut fields = set(&json!({"f:spec": {"f:a": {}, "f:b": {},
            "f:ports": {r#"k:{"port":80,"protocol":"TCP"}"#: {"f:x": {}, "f:port": {}}}}}));
        fields.presence_where_empty(
            &json!({"spec": {"a": {}, "b": [], "ports": [{"port": 80, "x": {}}]}}),
        );
        let spec = below(&fields, "spec");
        assert!(below(spec, "a").is_presence());
        assert!(!below(spec, "b").is_presence());
        let port = &below(spec, "ports").children[0].below;
        assert!(below(port, "x").is_presence());
        assert!(!below(port, "port").is_presence());
    }
}
