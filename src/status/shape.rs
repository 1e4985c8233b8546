//! What a kind's status can hold, from the API server's `OpenAPI` description.
//!
//! In: an `OpenAPI` v3 document. Out: a [`Shape`]. A server-side apply of a field that the schema does not have is refused
//! as a whole, so it must be known before. Pure.

use crate::cluster::Cluster;
use crate::object::Gvk;
use crate::refusal::{Class, Refusal};
use crate::watch::Kind;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What the status of a kind can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether there is a status subresource; without it status is not written at all.
    pub subresource: bool,
    /// Declared fields; `None` means anything goes.
    pub fields: Option<BTreeSet<String>>,
    /// How conditions are kept.
    pub conditions: Conditions,
    /// What a condition can say besides its type and status; `None` means anything goes.
    pub of_condition: Option<BTreeSet<String>>,
}

/// How a status keeps its conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// A list keyed by type: several writers share it.
    Keyed,
    /// A list that is written as a whole.
    Atomic,
    /// It has none.
    Absent,
}

impl Shape {
    /// Whether a top-level field can be written.
    pub fn has(&self, field: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.contains(field))
    }

    /// Whether a condition has a place for this.
    pub fn condition_has(&self, field: &str) -> bool {
        self.of_condition.as_ref().is_none_or(|fields| fields.contains(field))
    }

    /// What a rule with a status will miss, as a sentence.
    pub fn lack(&self) -> Option<&'static str> {
        if !self.subresource {
            Some("the kind has no status subresource, its status is left alone")
        } else if self.conditions == Conditions::Absent {
            Some("the status has no conditions, they are not written")
        } else {
            None
        }
    }

    /// Reads the description of one group and version; nothing if it does not describe the kind.
    pub fn read(document: &Value, gvk: &Gvk, subresource: bool) -> Option<Self> {
        let status = schema_of(document, gvk)?.pointer("/properties/status");
        let status = status.map(|status| resolved(document, status));
        let free = status.is_some_and(is_free);
        let declared = status.and_then(properties);
        let list = declared.and_then(|declared| declared.get("conditions"));
        let item = list.and_then(|list| list.get("items")).map(|item| resolved(document, item));
        let of_condition = item
            .filter(|item| !is_free(item))
            .map(|item| properties(item).map(names).unwrap_or_default());
        let no_condition = of_condition.as_ref().is_some_and(|fields| !fields.contains("type"));
        Some(Self {
            subresource,
            fields: (!free).then(|| declared.map(names).unwrap_or_default()),
            conditions: match list {
                Some(_) if no_condition => Conditions::Absent,
                Some(list) if is_keyed(list) => Conditions::Keyed,
                Some(_) => Conditions::Atomic,
                None if free => Conditions::Atomic,
                None => Conditions::Absent,
            },
            of_condition,
        })
    }
}

fn names(properties: &Map<String, Value>) -> BTreeSet<String> {
    properties.keys().cloned().collect()
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn is_free(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
}

/// Asks the API server. A kind that was made a moment ago is served before it is described: ask again later.
pub async fn shape_of(cluster: &Cluster, kind: &Kind) -> Result<Shape, Refusal> {
    let gvk = &kind.resource.gvk;
    let root = if gvk.group.is_empty() { "api" } else { "apis" };
    let document = cluster.document(&format!("/openapi/v3/{root}/{}", gvk.api_version())).await?;
    Shape::read(&document, gvk, kind.has_status).ok_or_else(|| Refusal {
        class: Class::NotServed,
        message: "the API server does not describe this kind".into(),
    })
}

fn is_keyed(list: &Value) -> bool {
    list.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("map")
        && list.get("x-kubernetes-list-map-keys") == Some(&serde_json::json!(["type"]))
}

fn schema_of<'a>(document: &'a Value, gvk: &Gvk) -> Option<&'a Value> {
    let is = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        kinds.is_some_and(|kinds| {
            kinds.iter().any(|kind| {
                let text = |key| kind.get(key).and_then(Value::as_str).unwrap_or_default();
                text("group") == gvk.group
                    && text("version") == gvk.version
                    && text("kind") == gvk.kind
            })
        })
    };
    document.pointer("/components/schemas")?.as_object()?.values().find(is)
}

/// Follows one reference, alone or wrapped in `allOf` as the server writes it where a default stands beside it.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema
        .get("$ref")
        .or_else(|| schema.pointer("/allOf/0/$ref"))
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(status: &Value) -> Value {
        json!({"components": {"schemas": {
            "x.Thing": {
                "x-kubernetes-group-version-kind": [{"group": "x", "version": "v1", "kind": "Thing"}],
                "properties": {"status": status},
            },
            "Condition": {"properties": {"type": {}, "observedGeneration": {}}},
        }}})
    }

    fn read(document: &Value) -> Option<Shape> {
        Shape::read(document, &Gvk::parse("x/v1", "Thing").unwrap(), true)
    }

    fn shape(status: &Value) -> Shape {
        read(&document(status)).unwrap()
    }

    #[test]
    fn keyed_atomic_absent_and_free_statuses_are_told_apart() {
        let keyed = shape(&json!({"properties": {"url": {}, "conditions": {
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"allOf": [{"$ref": "#/components/schemas/Condition"}]}}}}));
        assert_eq!(keyed.conditions, Conditions::Keyed);
        assert!(keyed.has("url") && !keyed.has("phase"));
        let atomic =
            shape(&json!({"properties": {"conditions": {"items": {"properties": {"type": {}}}}}}));
        assert_eq!(atomic.conditions, Conditions::Atomic);
        let free = shape(&json!({"x-kubernetes-preserve-unknown-fields": true}));
        assert_eq!((free.conditions, free.has("anything")), (Conditions::Atomic, true));
        let empty = shape(&json!({"type": "object"}));
        assert_eq!((empty.conditions, empty.has("anything")), (Conditions::Absent, false));
    }

    #[test]
    fn a_condition_can_say_what_its_schema_declares() {
        let conditions =
            |items: Value| shape(&json!({"properties": {"conditions": {"items": items}}}));
        let declared = conditions(json!({"$ref": "#/components/schemas/Condition"}));
        assert!(declared.condition_has("observedGeneration") && !declared.condition_has("reason"));
        let free = conditions(json!({"x-kubernetes-preserve-unknown-fields": true}));
        assert!(free.condition_has("reason"));
        let other = conditions(json!({"properties": {"name": {}}}));
        assert_eq!(other.conditions, Conditions::Absent, "that is a list of something else");
        let texts = conditions(json!({"type": "string"}));
        assert_eq!(texts.conditions, Conditions::Absent, "these are no maps");
    }

    #[test]
    fn a_kind_that_is_not_described_has_no_shape_yet() {
        assert_eq!(read(&json!({"components": {"schemas": {}}})), None);
        let without_status = read(&json!({"components": {"schemas": {"x.Thing": {
            "x-kubernetes-group-version-kind": [{"group": "x", "version": "v1", "kind": "Thing"}]}}}}));
        assert_eq!(without_status.unwrap().conditions, Conditions::Absent);
    }
}
