//! The entries of `metadata.managedFields`: which one is ours, and who else holds a field.
//!
//! In: `managedFields` as a value or as text. Out: our [`Entry`], names of [`Holder`]s.
//! Never here: rewriting entries; the rest of the object.

use super::fields::FieldSet;
use super::path::{FieldPath, Step};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a manager owns through server-side apply on the object itself. There is at most one such entry per manager:
/// the server identifies applies by manager and subresource, not by version.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The version in which the fields speak. If it is not the intent's, field names may differ: apply.
    pub api_version: Cow<'a, str>,
    /// A hash of what is owned, to see without parsing that it is what it was. The same for text and value, and in
    /// every process of one build; not for storing.
    pub fingerprint: u64,
    fields: Raw<'a>,
}

#[derive(Debug)]
enum Raw<'a> {
    Value(&'a Value),
    Text(&'a RawValue),
}

impl Entry<'_> {
    /// Parses what is owned. `None` if the server speaks a dialect we do not know: then the object is to be applied.
    pub fn fields(&self) -> Option<FieldSet> {
        match self.fields {
            Raw::Value(value) => FieldSet::deserialize(value).ok(),
            Raw::Text(text) => serde_json::from_str(text.get()).ok(),
        }
    }
}

/// Our entry. `None` if there is none: then the object is to be applied.
pub fn our_entry<'a>(managed_fields: &'a Value, manager: &str) -> Option<Entry<'a>> {
    let (_, entry) = managers(managed_fields).find(|(holder, _)| holder.is_apply_of(manager))?;
    let fields = entry.get("fieldsV1")?;
    Some(Entry {
        api_version: entry.get("apiVersion")?.as_str()?.into(),
        fingerprint: Fingerprint::deserialize(fields).ok()?.0,
        fields: Raw::Value(fields),
    })
}

/// The same from JSON text, without building a tree.
pub fn our_entry_in_text<'a>(managed_fields: &'a RawValue, manager: &str) -> Option<Entry<'a>> {
    entry_in_text(managed_fields, manager, "")
}

/// What a manager applied to a subresource such as `status`; to the object itself with an empty one.
pub fn entry_in_text<'a>(
    managed_fields: &'a RawValue,
    manager: &str,
    subresource: &str,
) -> Option<Entry<'a>> {
    let entries: Vec<TextEntry<'_>> = serde_json::from_str(managed_fields.get()).ok()?;
    let wanted = Holder { manager, operation: "Apply", subresource };
    let entry = entries.into_iter().find(|entry| entry.holder() == wanted)?;
    let fields = entry.fields_v1?;
    Some(Entry {
        api_version: entry.api_version,
        fingerprint: serde_json::from_str::<Fingerprint>(fields.get()).ok()?.0,
        fields: Raw::Text(fields),
    })
}

/// A hash of `FieldsV1` read in passing. Siblings are added up, so their order does not matter; `.` does not count.
struct Fingerprint(u64);

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self(0))
    }
}

impl<'de> Visitor<'de> for Fingerprint {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of owned fields")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(hasher) = map.next_key_seed(HashedName)? {
            let Self(below) = map.next_value()?;
            if let Some(mut hasher) = hasher {
                hasher.write_u64(below);
                self.0 = self.0.wrapping_add(hasher.finish());
            }
        }
        Ok(self)
    }
}

/// Hashes a key where it stands; nothing for `.`.
struct HashedName;

impl<'de> DeserializeSeed<'de> for HashedName {
    type Value = Option<DefaultHasher>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for HashedName {
    type Value = Option<DefaultHasher>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an owned field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Ok((name != ".").then_some(hasher))
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextEntry<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    fields_v1: Option<&'a RawValue>,
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(borrow, default)]
    operation: Cow<'a, str>,
    #[serde(borrow, default)]
    subresource: Cow<'a, str>,
}

impl TextEntry<'_> {
    fn holder(&self) -> Holder<'_> {
        Holder {
            manager: &self.manager,
            operation: &self.operation,
            subresource: &self.subresource,
        }
    }
}

/// Somebody with an entry in `managedFields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder<'a> {
    /// The field manager's name.
    pub manager: &'a str,
    /// `Apply` or `Update`.
    pub operation: &'a str,
    /// Empty for the object itself, else for example `scale`.
    pub subresource: &'a str,
}

impl Holder<'_> {
    /// Whether this is what `manager` applied to the object itself.
    pub fn is_apply_of(&self, manager: &str) -> bool {
        self.manager == manager && self.operation == "Apply" && self.subresource.is_empty()
    }
}

/// `kube-controller-manager (Update, scale)`.
impl fmt::Display for Holder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = if self.subresource.is_empty() { "" } else { ", " };
        write!(f, "{} ({}{comma}{})", self.manager, self.operation, self.subresource)
    }
}

/// Every entry, as its holder and its content, in the server's order.
pub fn managers(managed_fields: &Value) -> impl Iterator<Item = (Holder<'_>, &Value)> {
    let entries = managed_fields.as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().map(|entry| {
        let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let holder = Holder {
            manager: text("manager"),
            operation: text("operation"),
            subresource: text("subresource"),
        };
        (holder, entry)
    })
}

/// Who owns something at or below `path`, or a whole value around it; us included. Sorted.
///
/// Positions in `path` are looked up in `object`, since owners name elements by key: pass the object that the path
/// was made for. After a forced apply the loser is no longer named, so ask with the `managedFields` from before.
pub fn holders<'a>(managed_fields: &'a Value, path: &FieldPath, object: &Value) -> Vec<Holder<'a>> {
    let mut holders: Vec<_> = managers(managed_fields)
        .filter(|(_, entry)| touches(entry, path, object))
        .map(|(holder, _)| holder)
        .collect();
    holders.sort_unstable();
    holders.dedup();
    holders
}

fn touches(entry: &Value, path: &FieldPath, object: &Value) -> bool {
    let fields = entry.get("fieldsV1").and_then(|fields| FieldSet::deserialize(fields).ok());
    fields.is_some_and(|fields| fields.touches(path, object))
}

/// What an entry says at exactly this path, unparsed: somebody's map of owned fields.
pub(super) fn unparsed_at<'a>(entry: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    let mut key = String::new();
    path.steps().iter().try_fold(entry.get("fieldsV1")?, |fields, step| match step {
        Step::Field(name) => {
            key.clear();
            key.push_str("f:");
            key.push_str(name);
            fields.get(&key)
        }
        step => {
            let mut children = fields.as_object()?.iter();
            children.find(|(name, _)| Step::parse(name).as_ref() == Some(step)).map(|found| found.1)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn managed_fields() -> Value {
        json!([
            {"manager": "us", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:x": {}}},
            {"manager": "us", "operation": "Apply", "apiVersion": "v1", "subresource": "status",
             "fieldsV1": {"f:status": {}}},
            {"manager": "them", "operation": "Apply", "apiVersion": "v1",
             "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            {"manager": "us", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:spec": {"f:paused": {}, "f:selector": {}}}},
            {"manager": "scaler", "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale",
             "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        ])
    }

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    #[test]
    fn ours_is_what_we_applied_to_the_object_itself() {
        let managed_fields = managed_fields();
        let entry = our_entry(&managed_fields, "us").unwrap();
        assert_eq!(entry.api_version, "apps/v1");
        let fields = entry.fields().unwrap();
        let paused = FieldPath::new(["spec", "paused"].map(Step::field));
        assert!(fields.touches(&paused, &Value::Null));
        let raw = raw(&managed_fields);
        let in_text = our_entry_in_text(&raw, "us").unwrap();
        assert_eq!(in_text.api_version, entry.api_version);
        assert_eq!(in_text.fingerprint, entry.fingerprint);
        assert_eq!(in_text.fields(), Some(fields));
        assert!(our_entry(&managed_fields, "scaler").is_none(), "an update is not an apply");
    }

    #[test]
    fn without_a_readable_entry_there_is_none() {
        for managed_fields in [
            json!(null),
            json!([]),
            json!([{}]),
            json!({}),
            json!([{"manager": "us", "operation": "Apply", "apiVersion": "v1"}]),
            json!([{"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:a": 1}}]),
        ] {
            assert!(our_entry(&managed_fields, "us").is_none(), "{managed_fields}");
            assert!(our_entry_in_text(&raw(&managed_fields), "us").is_none(), "{managed_fields}");
        }
        let odd = json!([{"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"odd": {}}}]);
        assert_eq!(our_entry(&odd, "us").unwrap().fields(), None);
        assert_eq!(our_entry_in_text(&raw(&odd), "us").unwrap().fields(), None);
    }

    #[test]
    fn fingerprints_are_of_the_content() {
        let of = |text: &str| serde_json::from_str::<Fingerprint>(text).unwrap().0;
        let texts = [
            "{}",
            r#"{"f:a":{}}"#,
            r#"{"f:b":{}}"#,
            r#"{"f:a":{"f:b":{}}}"#,
            r#"{"f:b":{"f:a":{}}}"#,
            r#"{"f:a":{},"f:b":{}}"#,
            r#"{"f:a":{"v:\"b\"":{}}}"#,
            r#"{"f:a":{"f:c":{}},"f:b":{"f:d":{}}}"#,
            r#"{"f:a":{"f:d":{}},"f:b":{"f:c":{}}}"#,
        ];
        let mut seen: Vec<u64> = texts.iter().map(|text| of(text)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), texts.len());
        assert_eq!(
            of(r#"{"f:b":{},"f:a":{".":{},"f:c":{}}}"#),
            of(r#"{"f:a":{"f:c":{}},"f:b":{}}"#)
        );
    }

    #[test]
    fn holders_are_named_with_operation_and_subresource() {
        let path = |names: &[&str]| FieldPath::new(names.iter().map(|name| Step::field(name)));
        let managed_fields = managed_fields();
        let named = |names: &[&str]| -> Vec<String> {
            let holders = holders(&managed_fields, &path(names), &Value::Null);
            holders.iter().map(ToString::to_string).collect()
        };
        assert_eq!(named(&["spec", "replicas"]), ["scaler (Update, scale)", "them (Apply)"]);
        assert_eq!(named(&["spec", "selector", "app"]), ["us (Apply)"]);
        assert!(named(&["spec", "template"]).is_empty());
    }
}
