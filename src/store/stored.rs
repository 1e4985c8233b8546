//! One object as the cache holds it: its identity and versions, and the rest as the JSON text the server sent.
//!
//! In: JSON text from the API server. Out: [`Stored`], or what is wrong with the text.
//! Never here: a parsed tree that lives longer than a call (a tree takes twelve times the memory of its text); any part
//! of an unreadable object in an error, since it may be a Secret.

use crate::object::{GroupKind, Gvk, ObjectId};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// How the objects of one kind are read.
#[derive(Clone, Debug)]
pub struct Format {
    api_version: String,
    kind: Arc<GroupKind>,
    managed_fields: bool,
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
    labels: Range<usize>,
    annotations: Range<usize>,
}

impl Format {
    /// Of a kind; `managed_fields` says whether `metadata.managedFields` is kept (it can double an object).
    pub fn new(gvk: &Gvk, managed_fields: bool) -> Self {
        let kind = Arc::new(gvk.group_kind());
        Self { api_version: gvk.api_version(), kind, managed_fields }
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
        let managed_fields = metadata.remove("managedFields").filter(|_| self.managed_fields);
        fields.remove("apiVersion");
        fields.remove("kind");
        let (json, labels, annotations) = self.write(&metadata, &fields);
        Ok(Stored {
            uid: uid.into(),
            resource_version,
            generation: value_of(&metadata, "generation"),
            terminating: text_of(&metadata, "deletionTimestamp").is_some(),
            json: json.into(),
            managed_fields: managed_fields.map(|raw| raw.get().into()),
            labels,
            annotations,
            id,
        })
    }

    /// The text to keep, and where in it the labels and annotations are.
    fn write(
        &self,
        metadata: &Fields<'_>,
        fields: &Fields<'_>,
    ) -> (String, Range<usize>, Range<usize>) {
        let size = |fields: &Fields<'_>| {
            fields.iter().map(|(k, v)| k.len() + v.get().len() + 4).sum::<usize>()
        };
        let mut json = String::with_capacity(80 + size(metadata) + size(fields));
        json.push_str("{\"apiVersion\":");
        json.push_str(&quoted(&self.api_version));
        json.push_str(",\"kind\":");
        json.push_str(&quoted(&self.kind.kind));
        json.push_str(",\"metadata\":{");
        let (mut labels, mut annotations) = (0..0, 0..0);
        for (position, (key, raw)) in metadata.iter().enumerate() {
            let separator = if position == 0 { "" } else { "," };
            let value = push(&mut json, separator, key, raw);
            match key.as_str() {
                "labels" => labels = value,
                "annotations" => annotations = value,
                _ => {}
            }
        }
        json.push('}');
        for (key, raw) in fields {
            push(&mut json, ",", key, raw);
        }
        json.push('}');
        (json, labels, annotations)
    }
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
        self.entry(&self.labels, name)
    }

    /// One annotation.
    pub fn annotation(&self, name: &str) -> Option<String> {
        self.entry(&self.annotations, name)
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

    /// All labels.
    pub fn labels(&self) -> BTreeMap<String, String> {
        serde_json::from_str(&self.json[self.labels.clone()]).unwrap_or_default()
    }

    /// Whether another reading of the same version has the same content. It need not: a new default in a
    /// `CustomResourceDefinition` shows in every read, without a new resourceVersion.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.resource_version == other.resource_version
            && self.json == other.json
            && self.managed_fields == other.managed_fields
    }

    fn entry(&self, map: &Range<usize>, name: &str) -> Option<String> {
        // The server allows no label or annotation key that JSON would have to escape: they can be borrowed.
        let map: BTreeMap<&str, &RawValue> = serde_json::from_str(&self.json[map.clone()]).ok()?;
        serde_json::from_str(map.get(name)?.get()).ok()
    }
}

/// Appends a field, and tells where its value is.
fn push(json: &mut String, separator: &str, key: &str, raw: &RawValue) -> Range<usize> {
    json.push_str(separator);
    json.push_str(&quoted(key));
    json.push(':');
    let start = json.len();
    json.push_str(raw.get());
    start..json.len()
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
    fn reading_what_was_kept_changes_nothing() {
        let once = format(false).read(ITEM).unwrap();
        let twice = format(false).read(once.json()).unwrap();
        assert!(once.same(&twice));
        assert_eq!((once.labels, once.annotations), (twice.labels, twice.annotations));
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
