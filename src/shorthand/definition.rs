//! The CRD of a kind, from the parts of its short schema.
//!
//! In: resolved schemas, names, columns. Out: a [`Tree`] in the order in which people write a CRD. It cannot fail.

use super::openapi::openapi;
use super::resolve::Column;
use super::schema::{Schema, Shape};
use super::tree::Tree;
use crate::object::Gvk;
use serde_json::{Value, json};

/// Everything that a CRD is made of.
pub(super) struct Parts {
    pub(super) kind: Gvk,
    pub(super) cluster_scoped: bool,
    pub(super) plural: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) description: Option<String>,
    pub(super) columns: Vec<Column>,
    pub(super) spec: Schema,
    /// Without conditions, which every status has; nothing if the rule writes no status.
    pub(super) status: Option<Schema>,
}

fn map(entries: impl IntoIterator<Item = (&'static str, Option<Tree>)>) -> Vec<(String, Tree)> {
    let written = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    written.collect()
}

/// The document.
pub(super) fn document(parts: &Parts) -> Tree {
    let metadata = map([("name", Some(format!("{}.{}", parts.plural, parts.kind.group).into()))]);
    let spec = map([
        ("group", Some(parts.kind.group.as_str().into())),
        ("scope", Some(if parts.cluster_scoped { "Cluster" } else { "Namespaced" }.into())),
        ("names", Some(Tree::Line(names(parts)))),
        ("versions", Some(Tree::List(vec![Tree::Map(version(parts))]))),
    ]);
    Tree::Map(map([
        ("apiVersion", Some("apiextensions.k8s.io/v1".into())),
        ("kind", Some("CustomResourceDefinition".into())),
        ("metadata", Some(Tree::Map(metadata))),
        ("spec", Some(Tree::Map(spec))),
    ]))
}

fn names(parts: &Parts) -> Vec<(String, Tree)> {
    let kind = parts.kind.kind.as_str();
    let list = |names: &[String]| (!names.is_empty()).then(|| names.to_vec().into());
    map([
        ("plural", Some(parts.plural.as_str().into())),
        ("singular", Some(kind.to_lowercase().into())),
        ("kind", Some(kind.into())),
        ("listKind", Some(format!("{kind}List").into())),
        ("shortNames", list(&parts.short_names)),
        ("categories", list(&parts.categories)),
    ])
}

fn version(parts: &Parts) -> Vec<(String, Tree)> {
    let subresources = parts.status.as_ref().map(|_| json!({"status": {}}).into());
    map([
        ("name", Some(parts.kind.version.as_str().into())),
        ("served", Some(true.into())),
        ("storage", Some(true.into())),
        ("subresources", subresources),
        ("additionalPrinterColumns", Some(Tree::List(columns(parts)))),
        ("schema", Some(Tree::Map(map([("openAPIV3Schema", Some(root(parts)))])))),
    ])
}

/// Those of the fields, then whether it is ready, then how old it is.
fn columns(parts: &Parts) -> Vec<Tree> {
    let column = |name: &str, kind: &str, path: &str, wide: bool| {
        Tree::Line(map([
            ("name", Some(name.into())),
            ("type", Some(kind.into())),
            ("jsonPath", Some(path.into())),
            ("priority", wide.then(|| 1.into())),
        ]))
    };
    let of_fields = parts.columns.iter();
    let mut columns: Vec<Tree> =
        of_fields.map(|own| column(&own.name, own.kind, &own.path, own.wide)).collect();
    if parts.status.is_some() {
        let path = r#".status.conditions[?(@.type=="Ready")].status"#;
        columns.push(column("Ready", "string", path, false));
    }
    columns.push(column("Age", "date", ".metadata.creationTimestamp", false));
    columns
}

/// `spec` is always there: required if one of its fields is, otherwise made by the API server, with its defaults.
fn root(parts: &Parts) -> Tree {
    let mut spec = parts.spec.clone();
    let required =
        matches!(&spec.shape, Shape::Object { fields, .. } if fields.iter().any(|f| f.required));
    if !required {
        spec.default = Some(json!({}));
    }
    let mut properties = vec![("spec".to_owned(), openapi(&spec))];
    if let Some(status) = &parts.status {
        properties.push(("status".to_owned(), with_conditions(openapi(status))));
    }
    Tree::Map(map([
        ("type", Some("object".into())),
        ("description", parts.description.as_deref().map(Tree::from)),
        ("required", required.then(|| json!(["spec"]).into())),
        ("properties", Some(Tree::Map(properties))),
    ]))
}

/// The status with the conditions that Kubewright writes into it, behind the rule's own fields.
fn with_conditions(status: Tree) -> Tree {
    let (Tree::Map(mut entries) | Tree::Line(mut entries)) = status else { return status };
    if let Some((_, Tree::Map(properties))) =
        entries.iter_mut().find(|(key, _)| key == "properties")
    {
        properties.push(("conditions".to_owned(), conditions()));
    }
    Tree::Map(entries)
}

/// A list keyed by type, so that several writers can share it.
fn conditions() -> Tree {
    let text = || Some(json!({"type": "string"}).into());
    let with = |key: &'static str, kind: &str, value: Value| {
        Some(Tree::Line(map([("type", Some(kind.into())), (key, Some(value.into()))])))
    };
    let properties = map([
        ("type", text()),
        ("status", with("enum", "string", json!(["True", "False", "Unknown"]))),
        ("reason", text()),
        ("message", text()),
        ("observedGeneration", with("format", "integer", json!("int64"))),
        ("lastTransitionTime", with("format", "string", json!("date-time"))),
    ]);
    let items = map([
        ("type", Some("object".into())),
        ("required", Some(json!(["type", "status"]).into())),
        ("properties", Some(Tree::Map(properties))),
    ]);
    Tree::Map(map([
        ("type", Some("array".into())),
        ("x-kubernetes-list-type", Some("map".into())),
        ("x-kubernetes-list-map-keys", Some(json!(["type"]).into())),
        ("items", Some(Tree::Map(items))),
    ]))
}
