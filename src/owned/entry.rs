//! The entries of `metadata.managedFields`: which one is ours, and who else holds a field.
//!
//! In: `managedFields` as a value or as text. Out: our [`Entry`], names of [`Holder`]s.
//! Never here: rewriting entries; the rest of the object.

use super::fields::FieldSet;
use super::path::FieldPath;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// What a manager owns through server-side apply on the object itself. There is at most one such entry per manager:
/// the server identifies applies by manager and subresource, not by version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The version in which `fields` speaks. If it is not the intent's, field names may differ: apply.
    pub api_version: String,
    /// The owned fields.
    pub fields: FieldSet,
}

/// Our entry. `None` if there is none, or none that can be understood: then the object is to be applied.
pub fn our_entry(managed_fields: &Value, manager: &str) -> Option<Entry> {
    let (_, entry) = managers(managed_fields).find(|(holder, _)| holder.is_apply_of(manager))?;
    Some(Entry {
        api_version: entry.get("apiVersion")?.as_str()?.to_owned(),
        fields: FieldSet::deserialize(entry.get("fieldsV1")?).ok()?,
    })
}

/// The same from JSON text, without building a tree of the other entries.
pub fn our_entry_in_text(managed_fields: &RawValue, manager: &str) -> Option<Entry> {
    let entries: Vec<TextEntry<'_>> = serde_json::from_str(managed_fields.get()).ok()?;
    let entry = entries
        .into_iter()
        .find(|entry| entry.holder().is_apply_of(manager))?;
    Some(Entry {
        api_version: entry.api_version.into_owned(),
        fields: serde_json::from_str(entry.fields_v1?.get()).ok()?,
    })
}

#[derive(Deserialize)]
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
        let comma = if self.subresource.is_empty() {
            ""
        } else {
            ", "
        };
        write!(
            f,
            "{} ({}{comma}{})",
            self.manager, self.operation, self.subresource
        )
    }
}

/// Every entry, as its holder and its content, in the server's order.
pub fn managers(managed_fields: &Value) -> impl Iterator<Item = (Holder<'_>, &Value)> {
    let entries = managed_fields
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
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
        .filter(|(_, entry)| fields_of(entry).is_some_and(|fields| fields.touches(path, object)))
        .map(|(holder, _)| holder)
        .collect();
    holders.sort_unstable();
    holders.dedup();
    holders
}

pub(super) fn fields_of(entry: &Value) -> Option<FieldSet> {
    FieldSet::deserialize(entry.get("fieldsV1")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owned::path::Step;
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
        assert!(
            entry
                .fields
                .field("spec")
                .unwrap()
                .field("paused")
                .is_some()
        );
        assert_eq!(our_entry_in_text(&raw(&managed_fields), "us"), Some(entry));
        assert_eq!(
            our_entry(&managed_fields, "scaler"),
            None,
            "an update is not an apply"
        );
    }

    #[test]
    fn without_a_readable_entry_there_is_none() {
        for managed_fields in [
            json!(null),
            json!([]),
            json!([{}]),
            json!({}),
            json!([{"manager": "us", "operation": "Apply", "apiVersion": "v1"}]),
            json!([{"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"odd": {}}}]),
        ] {
            assert_eq!(our_entry(&managed_fields, "us"), None, "{managed_fields}");
            assert_eq!(
                our_entry_in_text(&raw(&managed_fields), "us"),
                None,
                "{managed_fields}"
            );
        }
    }

    #[test]
    fn holders_are_named_with_operation_and_subresource() {
        let path = |names: &[&str]| FieldPath::new(names.iter().map(|name| Step::field(name)));
        let managed_fields = managed_fields();
        let named = |names: &[&str]| -> Vec<String> {
            let holders = holders(&managed_fields, &path(names), &Value::Null);
            holders.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            named(&["spec", "replicas"]),
            ["scaler (Update, scale)", "them (Apply)"]
        );
        assert_eq!(named(&["spec", "selector", "app"]), ["us (Apply)"]);
        assert!(named(&["spec", "template"]).is_empty());
    }
}
