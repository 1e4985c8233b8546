//! What a kind's status can hold, from the API server's `OpenAPI` description.
//!
//! In: an `OpenAPI` v3 document. Out: a [`Shape`]. A server-side apply of a field that the schema does not have is refused
//! as a whole, so it must be known before. Pure.

use crate::cluster::Cluster;
use crate::object::Gvk;
use crate::rule::Rule;
use serde_json::Value;
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
    /// Whether a condition can say which generation it is about.
    pub observed_generation: bool,
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
    /// Nothing is known: status is left alone.
    pub fn none() -> Self {
        Self {
            subresource: false,
            fields: None,
            conditions: Conditions::Absent,
            observed_generation: false,
        }
    }

    /// Whether a top-level field can be written.
    pub fn has(&self, field: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.contains(field))
    }

    /// Reads the description of one group and version; nothing if the kind is not in it.
    pub fn read(document: &Value, gvk: &Gvk, subresource: bool) -> Option<Self> {
        let schema = schema_of(document, gvk)?;
        let Some(status) = schema.pointer("/properties/status") else {
            return Some(Self { subresource, ..Self::none() });
        };
        let status = resolved(document, status);
        let free = status.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        let properties = status.get("properties").and_then(Value::as_object);
        let conditions = properties.and_then(|properties| properties.get("conditions"));
        let item = conditions
            .and_then(|conditions| conditions.get("items"))
            .map(|item| resolved(document, item));
        Some(Self {
            subresource,
            fields: match properties {
                _ if free => None,
                Some(properties) => Some(properties.keys().cloned().collect()),
                None => Some(BTreeSet::new()),
            },
            conditions: match conditions {
                Some(list) if is_keyed(list) => Conditions::Keyed,
                Some(_) => Conditions::Atomic,
                None if free => Conditions::Atomic,
                None => Conditions::Absent,
            },
            observed_generation: item
                .is_some_and(|item| item.pointer("/properties/observedGeneration").is_some()),
        })
    }
}

/// Asks the API server, and tells about what a rule says that the status cannot hold. An error says what is not known yet:
/// the schema of a new CustomResourceDefinition is published a moment after it is served.
pub async fn shape_of(cluster: &Cluster, rule: &Rule) -> Result<Shape, String> {
    let gvk = &rule.parent.gvk;
    let kind = cluster.kinds.resolve(gvk).await.map_err(|error| error.to_string())?;
    let root = if gvk.group.is_empty() { "api" } else { "apis" };
    let path = format!("/openapi/v3/{root}/{}", gvk.api_version());
    let unknown =
        || format!("the API server does not describe {gvk} yet, so its status is not written");
    let document = cluster.document(&path).await.map_err(|_| unknown())?;
    let shape = Shape::read(&document, gvk, kind.has_status).ok_or_else(unknown)?;
    if !shape.subresource {
        tracing::warn!(rule = %rule.name, %gvk, "the kind has no status subresource, its status is left alone");
    } else if shape.conditions == Conditions::Absent {
        tracing::warn!(rule = %rule.name, %gvk, "the status has no conditions, they are not written");
    }
    Ok(shape)
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

    fn shape(status: &Value) -> Shape {
        let document = json!({"components": {"schemas": {
            "x.Thing": {
                "x-kubernetes-group-version-kind": [{"group": "x", "version": "v1", "kind": "Thing"}],
                "properties": {"status": status},
            },
            "Condition": {"properties": {"type": {}, "observedGeneration": {}}},
        }}});
        Shape::read(&document, &Gvk::parse("x/v1", "Thing").unwrap(), true).unwrap()
    }

    #[test]
    fn keyed_atomic_absent_and_free_statuses_are_told_apart() {
        let keyed = shape(&json!({"properties": {"url": {}, "conditions": {
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"allOf": [{"$ref": "#/components/schemas/Condition"}]}}}}));
        assert_eq!((keyed.conditions, keyed.observed_generation), (Conditions::Keyed, true));
        assert!(keyed.has("url") && !keyed.has("phase"));
        let atomic = shape(&json!({"properties": {"conditions": {"items": {"properties": {}}}}}));
        assert_eq!((atomic.conditions, atomic.observed_generation), (Conditions::Atomic, false));
        let free = shape(&json!({"x-kubernetes-preserve-unknown-fields": true}));
        assert_eq!((free.conditions, free.has("anything")), (Conditions::Atomic, true));
        let empty = shape(&json!({"type": "object"}));
        assert_eq!((empty.conditions, empty.has("anything")), (Conditions::Absent, false));
    }

    #[test]
    fn a_kind_that_is_not_described_is_not_known_yet() {
        let document = json!({"components": {"schemas": {}}});
        assert_eq!(Shape::read(&document, &Gvk::parse("x/v1", "Thing").unwrap(), true), None);
    }
}
