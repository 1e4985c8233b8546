//! The CRD of a new parent.
//!
//! In: names, scope, the schema of `spec`. Out: the CRD as YAML, its status ready for conditions. Pure.

use super::names::{Names, VERSION};
use crate::scope::Scope;
use crate::yaml;
use serde_json::{Value, json};

/// Prints the CRD; `status` are properties beside the conditions.
pub(super) fn print(names: &Names, scope: Scope, spec: &Value, spec_required: bool) -> String {
    let mut schema = json!({
        "type": "object",
        "properties": {"spec": spec, "status": {"type": "object", "properties": {"conditions": conditions()}}},
    });
    if spec_required {
        schema["required"] = json!(["spec"]);
    } else {
        schema["properties"]["spec"]["default"] = json!({});
    }
    let ready = ".status.conditions[?(@.type==\"Ready\")].status";
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", names.plural(), names.group)},
        "spec": {
            "group": names.group,
            "scope": if scope == Scope::Cluster { "Cluster" } else { "Namespaced" },
            "names": {
                "kind": names.kind,
                "listKind": format!("{}List", names.kind),
                "plural": names.plural(),
                "singular": names.singular(),
            },
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Ready", "type": "string", "jsonPath": ready},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    yaml::print(&crd)
}

fn conditions() -> Value {
    json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status"],
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string"},
                "message": {"type": "string"},
                "observedGeneration": {"type": "integer", "format": "int64"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
            },
        },
    })
}
