//! One object as the cache holds it: its identity and versions, and the rest as the JSON text the server sent.
//!
//! In: JSON text from the API server. Out: [`Stored`], or what is wrong with the text.
//! Never here: a parsed tree that lives longer than a call (a tree takes twelve times the memory of its text); any part
//! of an unreadable object in an error, since it may be a Secret.

use crate::marks::MANAGER;
use crate::object::{GroupKind, Gvk, ObjectId};
use crate::ready::Readiness;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// How the objects of one kind are read.
#[derive(Clone, Debug)]
pub struct Format {
    api_version: String,
    kind: Arc<GroupKind>,
    managed_fields: ManagedFields,
}

/// How much of `metadata.managedFields` is kept: it can be as large as the rest of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ManagedFields {
    /// Nothing.
    Dropped,
    /// The entries of our own managers: enough to see what is ours, not to say who has the rest.
    Ours,
    /// All of it.
    Whole,
}

impl From<bool> for ManagedFields {
    /// All or nothing.
    fn from(whole: bool) -> Self {
        if whole { Self::Whole } else { Self::Dropped }
    }
}

/// An object that is not what the API server promises. It names the object if at least that could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable object {}: {fault}", id.as_ref().map_or_else(|| "without a name".to_owned(), ToString::to_string))]
pub struct Unreadable {
    /// Which object.
    pub id: Option<ObjectId>,
    /// What is wrong with it.
    pub fault: &'static str,
}

/// One version of one object.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Which object.
    pub id: ObjectId,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`: greater means later among the objects of one resource type (KEP-5504).
    pub resource_version: u64,
    /// `metadata.generation`, where the kind has one.
    pub generation: Option<i64>,
    /// Whether somebody deleted it already (`metadata.deletionTimestamp`).
    pub terminating: bool,
    json: Box<str>,
    managed_fields: Option<Box<str>>,
    spans: Spans,
    /// What its kind's rule says of this version, once somebody asked: it never changes.
    readiness: OnceLock<Readiness>,
}

/// Where parts of the metadata are in the text, so that reading one of them does not mean to read the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Spans {
    labels: Range<u32>,
    annotations: Range<u32>,
    owners: Range<u32>,
}

impl Format {
    /// Of a kind.
    pub fn new(gvk: &Gvk, managed_fields: impl Into<ManagedFields>) -> Self {
        let (kind, managed_fields) = (Arc::new(gvk.group_kind()), managed_fields.into());
        Self { api_version: gvk.api_version(), kind, managed_fields }
    }

    /// An object that may have more managedFields than are kept here, as the answer to a write has.
    pub(super) fn trimmed(&self, mut stored: Stored) -> Stored {
        stored.managed_fields =
            stored.managed_fields.and_then(|text| self.managed_fields.of(&text));
        stored
    }

    /// The kind of every object that is read.
    pub fn kind(&self) -> &Arc<GroupKind> {
        &self.kind
    }

    /// Reads an object. Items of a list come without apiVersion and kind: they are filled in.
    pub fn read(&self, text: &str) -> Result<Stored, Unreadable> {
        let broken = |fault| Unreadable { id: None, fault };
        let mut fields: Fields<'_> =
            serde_json::from_str(text).map_err(|_| broken("not a JSON object"))?;
        let mut metadata: Fields<'_> = fields
            .remove("metadata")
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .ok_or_else(|| broken("no metadata"))?;
        let name = text_of(&metadata, "name").ok_or_else(|| broken("no metadata.name"))?;
        let namespace = text_of(&metadata, "namespace").unwrap_or_default();
        let id = ObjectId::new(&self.kind, &namespace, &name);

        let broken = |fault| Unreadable { id: Some(id.clone()), fault };
        let other = |field, expected| text_of(&fields, field).is_some_and(|text| text != expected);
        if other("apiVersion", self.api_version.as_str()) || other("kind", self.kind.kind.as_str())
        {
            return Err(broken("it is of another kind or version"));
        }
        let uid = text_of(&metadata, "uid").ok_or_else(|| broken("no metadata.uid"))?;
        let resource_version = text_of(&metadata, "resourceVersion")
            .and_then(|version| version.parse().ok())
            .ok_or_else(|| broken("metadata.resourceVersion is not a number"))?;
        let managed_fields = metadata.remove("managedFields");
        fields.remove("apiVersion");
        fields.remove("kind");
        let (json, spans) = self.write(&metadata, &fields);
        Ok(Stored {
            uid: uid.into(),
            resource_version,
            generation: value_of(&metadata, "generation"),
            terminating: text_of(&metadata, "deletionTimestamp").is_some(),
            json: json.into(),
            managed_fields: managed_fields.and_then(|raw| self.managed_fields.of(raw.get())),
            spans,
            readiness: OnceLock::new(),
            id,
        })
    }

    /// The text to keep, and where in it the parts are that are read alone.
    fn write(&self, metadata: &Fields<'_>, fields: &Fields<'_>) -> (String, Spans) {
        let size = |fields: &Fields<'_>| {
            fields.iter().map(|(k, v)| k.len() + v.get().len() + 4).sum::<usize>()
        };
        let mut json = String::with_capacity(80 + size(metadata) + size(fields));
        json.push_str("{\"apiVersion\":");
        json.push_str(&quoted(&self.api_version));
        json.push_str(",\"kind\":");
        json.push_str(&quoted(&self.kind.kind));
        json.push_str(",\"metadata\":{");
        let mut spans = Spans::default();
        for (position, (key, raw)) in metadata.iter().enumerate() {
            let separator = if position == 0 { "" } else { "," };
            let value = push(&mut json, separator, key, raw);
            match key.as_str() {
                "labels" => spans.labels = value,
                "annotations" => spans.annotations = value,
                "ownerReferences" => spans.owners = value,
                _ => {}
            }
        }
        json.push('}');
        for (key, raw) in fields {
            push(&mut json, ",", key, raw);
        }
        json.push('}');
        (json, spans)
    }
}

impl ManagedFields {
    /// What is kept of a text; nothing if that is nothing.
    fn of(self, text: &str) -> Option<Box<str>> {
        #[derive(Deserialize)]
        struct Entry<'a> {
            #[serde(borrow, default)]
            manager: Cow<'a, str>,
        }
        match self {
            Self::Dropped => None,
            Self::Whole => Some(text.into()),
            Self::Ours => {
                let mut entries: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                entries.retain(|entry| {
                    let read: Option<Entry<'_>> = serde_json::from_str(entry.get()).ok();
                    read.is_some_and(|entry| entry.manager.starts_with(MANAGER))
                });
                let ours: Vec<&str> = entries.iter().map(|entry| entry.get()).collect();
                (!ours.is_empty()).then(|| format!("[{}]", ours.join(",")).into())
            }
        }
    }
}

/// One of the owners that an object names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OwnerReference {
    /// The owner's kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Stored {
    /// The object as JSON text, with apiVersion and kind and without managedFields.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The object as a tree. It can fail although the text is JSON: for a tree deeper than 127 levels, and for a number
    /// beyond the range of a float.
    pub fn parse(&self) -> Result<Value, Unreadable> {
        let fault = "too deep, or a number out of range";
        serde_json::from_str(&self.json)
            .map_err(|_| Unreadable { id: Some(self.id.clone()), fault })
    }

    /// `metadata.managedFields` as JSON text, if the watch keeps it and the object has it.
    pub fn managed_fields(&self) -> Option<&str> {
        self.managed_fields.as_deref()
    }

    /// One label.
    pub fn label(&self, name: &str) -> Option<String> {
        self.entry(&self.spans.labels, name)
    }

    /// One annotation.
    pub fn annotation(&self, name: &str) -> Option<String> {
        self.entry(&self.spans.annotations, name)
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(default)]
            finalizers: Vec<String>,
        }
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        // Few objects have any, and those that have none are told by their text.
        if !self.json.contains("\"finalizers\"") {
            return Vec::new();
        }
        serde_json::from_str::<Object>(&self.json)
            .map(|object| object.metadata.finalizers)
            .unwrap_or_default()
    }

    /// All annotations.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        serde_json::from_str(self.part(&self.spans.annotations)).unwrap_or_default()
    }

    /// All labels.
    pub fn labels(&self) -> BTreeMap<String, String> {
        serde_json::from_str(self.part(&self.spans.labels)).unwrap_or_default()
    }

    /// `metadata.ownerReferences`.
    pub fn owners(&self) -> Vec<OwnerReference> {
        serde_json::from_str(self.part(&self.spans.owners)).unwrap_or_default()
    }

    /// What its kind's rule says of this version; `judge` is asked at most once.
    pub(crate) fn readiness(&self, judge: impl FnOnce() -> Readiness) -> &Readiness {
        self.readiness.get_or_init(judge)
    }

    /// Whether another reading of the same version has the same content. It need not: a new default in a
    /// `CustomResourceDefinition` shows in every read, without a new resourceVersion.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.resource_version == other.resource_version
            && self.json == other.json
            && self.managed_fields == other.managed_fields
    }

    fn part(&self, span: &Range<u32>) -> &str {
        self.json.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn entry(&self, map: &Range<u32>, name: &str) -> Option<String> {
        // The server allows no label or annotation key that JSON would have to escape: they can be borrowed.
        let map: BTreeMap<&str, &RawValue> = serde_json::from_str(self.part(map)).ok()?;
        serde_json::from_str(map.get(name)?.get()).ok()
    }
}

/// Appends a field, and tells where its value is.
fn push(json: &mut String, separator: &str, key: &str, raw: &RawValue) -> Range<u32> {
    json.push_str(separator);
    json.push_str(&quoted(key));
    json.push(':');
    let start = json.len();
    json.push_str(raw.get());
    // No object is nearly as long.
    let position = |at| u32::try_from(at).unwrap_or(u32::MAX);
    position(start)..position(json.len())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn value_of<'a, T: Deserialize<'a>>(fields: &Fields<'a>, field: &str) -> Option<T> {
    serde_json::from_str(fields.get(field)?.get()).ok()
}

/// A text that is not empty.
fn text_of(fields: &Fields<'_>, field: &str) -> Option<String> {
    value_of(fields, field).filter(|text: &String| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn format(managed_fields: bool) -> Format {
        Format::new(&Gvk::parse("apps/v1", "Deployment").unwrap(), managed_fields)
    }

    const ITEM: &str = r#"{"metadata":{"annotations":{"note":"say \"hi\"\n"},"creationTimestamp":null,
        "generation":3,"labels":{"app.kubernetes.io/name":"web","empty":""},
        "managedFields":[{"manager":"us","fieldsV1":{"f:spec":{}}}],"name":"web","namespace":"shop",
        "resourceVersion":"18446744073709551615","uid":"u-1"},"spec":{"replicas":2,"ratio":0.10},"status":{}}"#;

    #[test]
    fn an_item_of_a_list_gets_its_kind_and_loses_its_managed_fields() {
        let stored = format(false).read(ITEM).unwrap();
        assert_eq!(stored.id.to_string(), "Deployment.apps shop/web");
        assert_eq!((&*stored.uid, stored.resource_version), ("u-1", u64::MAX));
        assert_eq!((stored.generation, stored.terminating), (Some(3), false));
        assert_eq!(stored.managed_fields(), None);
        let mut expected: Value = serde_json::from_str(ITEM).unwrap();
        expected["apiVersion"] = json!("apps/v1");
        expected["kind"] = json!("Deployment");
        expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(stored.parse().unwrap(), expected);
        assert!(stored.json().contains("0.10"), "values are kept as the server wrote them");
    }

    #[test]
    fn managed_fields_are_kept_apart_where_they_are_wanted() {
        let stored = format(true).read(ITEM).unwrap();
        assert_eq!(stored.managed_fields(), Some(r#"[{"manager":"us","fieldsV1":{"f:spec":{}}}]"#));
        assert!(!stored.json().contains("managedFields"));
    }

    #[test]
    fn of_a_parents_managed_fields_ours_are_kept_however_they_come() {
        let text = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1","managedFields":[
            {"manager":"kubectl","operation":"Update","fieldsV1":{"f:spec":{}}},
            {"manager":"kubewright:app","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{}}},
            {"manager":"kubewright-like","fieldsV1":{}},
            {"manager":"kubewright:app:patch:1","fieldsV1":{"f:metadata":{}}}]}}"#;
        let gvk = Gvk::parse("v1", "ConfigMap").unwrap();
        let ours = Format::new(&gvk, ManagedFields::Ours);
        let kept = ours.read(text).unwrap();
        let entries: Vec<Value> = serde_json::from_str(kept.managed_fields().unwrap()).unwrap();
        let managers: Vec<&Value> = entries.iter().map(|entry| &entry["manager"]).collect();
        assert_eq!(managers, ["kubewright:app", "kubewright:app:patch:1"]);
        let whole = Format::new(&gvk, true).read(text).unwrap();
        assert!(ours.trimmed(whole).same(&kept), "an answer is the same as what the watch tells");
        let nothing =
            Format::new(&gvk, ManagedFields::Ours).read(ITEM.replace("web", "b").as_str());
        assert_eq!(nothing.unwrap().managed_fields(), None);
    }

    #[test]
    fn reading_what_was_kept_changes_nothing() {
        let once = format(false).read(ITEM).unwrap();
        let twice = format(false).read(once.json()).unwrap();
        assert!(once.same(&twice));
        assert_eq!(once.spans, twice.spans);
    }

    #[test]
    fn labels_and_annotations_are_found_by_name() {
        let stored = format(false).read(ITEM).unwrap();
        assert_eq!(stored.label("app.kubernetes.io/name").as_deref(), Some("web"));
        assert_eq!(stored.label("empty").as_deref(), Some(""));
        assert_eq!(stored.label("note"), None);
        assert_eq!(stored.annotation("note").as_deref(), Some("say \"hi\"\n"));
        assert_eq!(stored.labels().len(), 2);
        let bare = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1","labels":null}}"#;
        let bare = format(false).read(bare).unwrap();
        assert_eq!((bare.label("a"), bare.annotation("a"), bare.labels().len()), (None, None, 0));
    }

    #[test]
    fn a_deletion_timestamp_means_terminating() {
        let read = |value: Value| {
            let metadata = json!({"name": "a", "uid": "u", "resourceVersion": "1", "deletionTimestamp": value});
            format(false).read(&json!({ "metadata": metadata }).to_string()).unwrap()
        };
        assert!(read(json!("2026-01-01T00:00:00Z")).terminating);
        assert!(!read(Value::Null).terminating);
        assert!(read(Value::Null).id.namespace.is_empty());
    }

    #[test]
    fn what_the_server_never_promised_is_refused_by_name() {
        let cases = [
            ("[]", "not a JSON object"),
            ("{", "not a JSON object"),
            (r#"{"metadata":7}"#, "no metadata"),
            (r#"{"spec":{}}"#, "no metadata"),
            (r#"{"metadata":{"name":7}}"#, "no metadata.name"),
            (r#"{"metadata":{"name":""}}"#, "no metadata.name"),
            (r#"{"metadata":{"name":"a","resourceVersion":"1"}}"#, "no metadata.uid"),
            (r#"{"metadata":{"name":"a","uid":"u"}}"#, "metadata.resourceVersion is not a number"),
            (
                r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"-1"}}"#,
                "metadata.resourceVersion is not a number",
            ),
            (
                r#"{"kind":"Status","metadata":{"name":"a","uid":"u","resourceVersion":"1"}}"#,
                "it is of another kind or version",
            ),
            (
                r#"{"apiVersion":"apps/v2","metadata":{"name":"a"}}"#,
                "it is of another kind or version",
            ),
        ];
        for (text, fault) in cases {
            let error = format(false).read(text).unwrap_err();
            assert_eq!(error.fault, fault, "{text}");
            assert_eq!(error.id.is_some(), text.contains(r#""name":"a""#), "{text}");
        }
        let error = format(false).read(cases[6].0).unwrap_err();
        assert_eq!(error.to_string(), "unreadable object Deployment.apps a: no metadata.uid");
    }

    #[test]
    fn a_tree_that_is_too_deep_is_stored_but_not_parsed() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let text = format!(
            r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"1"}},"spec":{deep}}}"#
        );
        assert!(format(false).read(&text).unwrap().parse().is_err());
    }
}
