//! `FieldsV1` as a compact, sorted tree.
//!
//! In: the JSON of one `fieldsV1`, as text or as a value. Out: a [`FieldSet`] to search, hash and share.
//! Never here: objects' values, other parts of `managedFields`.

use super::path::{FieldPath, Step};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fields that one entry of `managedFields` owns below some value. Sorted, so lookups are binary searches.
///
/// A set without children is a leaf: the whole value is owned. The `.` entries are dropped: they say that a container
/// exists, which its children say as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    children: Box<[Child]>,
    presence: bool,
}

/// One owned step and what is owned below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Child {
    pub(super) step: Step,
    pub(super) below: FieldSet,
}

/// By content. Whether a leaf counts by presence only does not matter here, so that an entry as it is now can be
/// compared with the one that was remembered.
impl Hash for FieldSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.children.hash(state);
    }
}

impl FieldSet {
    /// A hash of the content, the same in every process of one build. Not for storing.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether it owns a whole value rather than parts. An entry that owns nothing looks the same at its root.
    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// Whether this leaf owns only that a map is there (see [`FieldSet::presence_where_empty`]).
    pub(super) fn is_presence(&self) -> bool {
        self.presence && self.is_leaf()
    }

    pub(super) fn children(&self) -> &[Child] {
        &self.children
    }

    /// What is owned below a map's key.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        let found = self.children.binary_search_by(|child| match &child.step {
            Step::Field(field) => (**field).cmp(name),
            _ => Ordering::Greater,
        });
        found.ok().map(|at| &self.children[at].below)
    }

    /// The child that owns this element of a list. An element that leaves out a defaulted key field belongs to the
    /// first key that fits.
    pub(super) fn element(&self, index: usize, element: &Value) -> Option<usize> {
        let exact = self.exact_key(element);
        let fitting = || self.children.iter().position(|child| child.fits(element));
        exact
            .unwrap_or_else(fitting)
            .or_else(|| self.search(&Step::Index(index)))
            .or_else(|| self.member(element))
    }

    /// The child whose key is exactly the element's; `None` if the element leaves a key field out, so that it takes
    /// more than a search to say.
    pub(super) fn exact_key(&self, element: &Value) -> Option<Option<usize>> {
        let mut partial = false;
        let found = self.children.binary_search_by(|child| match &child.step {
            Step::Field(_) => Ordering::Less,
            Step::Key(key) => key.order_to(element).unwrap_or_else(|| {
                partial = element.is_object();
                Ordering::Equal
            }),
            _ => Ordering::Greater,
        });
        (!partial).then(|| found.ok().filter(|&at| self.children[at].fits(element)))
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
        self.children
            .binary_search_by(|child| child.step.order(step))
            .ok()
    }

    /// What is owned at exactly this path. Positions in the path are looked up in `object`, to learn the element's key.
    pub(super) fn at(&self, path: &FieldPath, object: &Value) -> Option<&Self> {
        let (owned, left) = self.follow(path, object);
        (left == 0).then_some(owned)
    }

    /// Whether something at this path, below it, or all of a value around it is owned.
    pub(super) fn touches(&self, path: &FieldPath, object: &Value) -> bool {
        let (owned, left) = self.follow(path, object);
        left == 0 || (owned.is_leaf() && left < path.steps().len())
    }

    /// As far down as the path is owned, and how many steps are left.
    fn follow(&self, path: &FieldPath, object: &Value) -> (&Self, usize) {
        let (mut owned, mut value, mut left) = (self, Some(object), path.steps().len());
        for step in path.steps() {
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
                    let probe = key.to_element();
                    owned
                        .search(step)
                        .or_else(|| owned.element(usize::MAX, &probe))
                }
                Step::Value(_) => owned.search(step),
            };
            let Some(child) = child else { break };
            owned = &owned.children[child].below;
            left -= 1;
        }
        (owned, left)
    }

    /// Marks the leaves where the intent is an empty map: there we own that the map exists, not what the server and
    /// others put into it. To be called with the intent that was applied, before the set is remembered.
    ///
    /// Without it, the projection takes such a leaf for a whole value, and every foreign change inside it would cost
    /// one apply without an effect. (If the map is atomic, a foreign key takes the leaf from us, which shows in the
    /// fingerprint.)
    pub fn presence_where_empty(&mut self, intent: &Value) {
        if self.is_leaf() {
            self.presence = intent.as_object().is_some_and(serde_json::Map::is_empty);
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
                Some(step) => children.push(Child {
                    step,
                    below: map.next_value()?,
                }),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        children.sort_unstable_by(|a, b| a.step.order(&b.step));
        Ok(FieldSet {
            children: children.into_boxed_slice(),
            presence: false,
        })
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
        assert_eq!(
            from_text.fingerprint(),
            serde_json::from_str::<FieldSet>(sorted)
                .unwrap()
                .fingerprint()
        );
    }

    #[test]
    fn another_content_has_another_fingerprint() {
        let sets = [
            json!({}),
            json!({"f:a": {}}),
            json!({"f:b": {}}),
            json!({"f:a": {"f:b": {}}}),
            json!({"f:a": {}, "f:b": {}}),
            json!({"f:a": {r#"v:"b""#: {}}}),
        ];
        let mut seen: Vec<u64> = sets
            .iter()
            .map(|fields| set(fields).fingerprint())
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), sets.len());
    }

    #[test]
    fn what_is_not_fieldsv1_is_refused() {
        for text in [
            "[]",
            "null",
            r#"{"a":{}}"#,
            r#"{"f:a":1}"#,
            r#"{"k:1":{}}"#,
            r#"{"f:a":{}"#,
        ] {
            assert!(serde_json::from_str::<FieldSet>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn elements_are_found_by_their_whole_key() {
        let (ports, key) = (
            ports(),
            |port: u16, protocol: &str| json!({"port": port, "protocol": protocol}),
        );
        let found = |element: &Value| {
            ports
                .element(0, element)
                .map(|at| ports.children[at].step.to_string())
        };
        assert_eq!(
            found(&key(80, "UDP")).as_deref(),
            Some("[port=80,protocol=UDP]")
        );
        assert_eq!(
            found(&key(443, "TCP")).as_deref(),
            Some("[port=443,protocol=TCP]")
        );
        assert_eq!(found(&key(443, "UDP")), None);
        assert_eq!(
            found(&json!({"port": 443})).as_deref(),
            Some("[port=443,protocol=TCP]")
        );
        assert_eq!(found(&json!({"port": 81})), None);
        assert_eq!(found(&json!("80")), None);
        assert_eq!(
            ports.exact_key(&json!({"port": 443})),
            None,
            "a key field is left out"
        );
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
        assert!(touches(&[
            "f:spec",
            "f:ports",
            r#"k:{"port":80}"#,
            "f:nodePort"
        ]));
        assert!(touches(&[
            "f:spec",
            "f:ports",
            r#"k:{"port":80,"protocol":"TCP"}"#
        ]));
        assert!(!touches(&["f:spec", "f:ports", "i:0", "f:name"]));
        assert!(!touches(&["f:spec", "f:ports", "i:1"]));
        assert!(
            touches(&["f:spec", "f:selector", "f:app"]),
            "a leaf owns what is inside"
        );
        assert!(
            fields
                .at(&path(&["f:spec", "f:selector", "f:app"]), &object)
                .is_none()
        );
        assert!(
            !FieldSet::default().touches(&path(&["f:spec"]), &object),
            "an empty entry owns nothing"
        );
    }

    #[test]
    fn presence_is_marked_where_the_intent_is_an_empty_map_and_changes_no_fingerprint() {
        let mut fields = set(&json!({"f:spec": {"f:a": {}, "f:b": {},
            "f:ports": {r#"k:{"port":80,"protocol":"TCP"}"#: {"f:x": {}, "f:port": {}}}}}));
        let before = fields.fingerprint();
        fields.presence_where_empty(
            &json!({"spec": {"a": {}, "b": [], "ports": [{"port": 80, "x": {}}]}}),
        );
        let spec = fields.field("spec").unwrap();
        assert!(spec.field("a").unwrap().is_presence());
        assert!(!spec.field("b").unwrap().is_presence());
        let port = &spec.field("ports").unwrap().children[0].below;
        assert!(
            port.field("x").unwrap().is_presence() && !port.field("port").unwrap().is_presence()
        );
        assert_eq!(fields.fingerprint(), before);
    }
}
