//! What the server says of its built-in kinds: discovery and `OpenAPI` v3.

use http::Request;
use kube::Client;
use serde_json::Value;
use std::collections::BTreeMap;

/// The prefixes of the built-in types' names; those of custom kinds start with their reversed group.
const BUILTIN: [&str; 4] = [
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.",
    "io.k8s.apiextensions-apiserver.pkg.",
    "io.k8s.kube-aggregator.pkg.",
];

/// All of it.
pub(crate) struct Description {
    pub(crate) version: String,
    /// By apiVersion and kind.
    pub(crate) kinds: BTreeMap<(String, String), Resource>,
    /// Schemas by short name: `core.v1.Container`.
    pub(crate) types: BTreeMap<String, Value>,
}

/// How objects of a kind are reached, and what they look like.
pub(crate) struct Resource {
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    pub(crate) has_status: bool,
    /// The short name of their type.
    pub(crate) root: String,
}

impl Description {
    pub(crate) async fn of(client: &Client) -> Self {
        let version = get(client, "/version").await;
        let mut description = Self {
            version: text(&version, "gitVersion"),
            kinds: BTreeMap::new(),
            types: BTreeMap::new(),
        };
        let index = get(client, "/openapi/v3").await;
        for path in index["paths"].as_object().expect("paths").keys() {
            let parts: Vec<&str> = path.split('/').collect();
            let api_version = match parts.as_slice() {
                ["api", version] => (*version).to_owned(),
                // What other tests bring comes and goes while we look.
                ["apis", group, _] if group.ends_with("kubewright.io") => continue,
                ["apis", group, version] => format!("{group}/{version}"),
                _ => continue,
            };
            let schemas = get(client, &format!("/openapi/v3/{path}")).await;
            let resources = get(client, &format!("/{path}")).await;
            description.add(&api_version, &schemas["components"]["schemas"], &resources);
        }
        description
    }

    /// The path name of a kind's objects, and whether they live in a namespace.
    pub(crate) fn resource(&self, api_version: &str, kind: &str) -> (String, bool) {
        let resource = self.kinds.get(&(api_version.to_owned(), kind.to_owned()));
        // The one custom kind of these tests.
        resource.map_or(("things".to_owned(), true), |resource| {
            (resource.plural.clone(), resource.namespaced)
        })
    }

    fn add(&mut self, api_version: &str, schemas: &Value, resources: &Value) {
        let is_builtin =
            |(name, _): &(&String, &Value)| BUILTIN.iter().any(|prefix| name.starts_with(prefix));
        let schemas = schemas.as_object().into_iter().flatten().filter(is_builtin);
        let builtin: Vec<_> = schemas.map(|(name, schema)| (short(name), schema)).collect();
        let list = resources["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
        let watchable = |resource: &&Value| {
            resource["verbs"].as_array().is_some_and(|verbs| verbs.contains(&"watch".into()))
        };
        for resource in list.iter().filter(watchable) {
            let (plural, kind) = (text(resource, "name"), text(resource, "kind"));
            let Some((root, _)) = builtin.iter().find(|(_, s)| is_of(s, api_version, &kind)) else {
                continue;
            };
            let status = format!("{plural}/status");
            let has_status = list.iter().any(|other| other["name"] == status.as_str());
            let namespaced = resource["namespaced"] == true;
            let resource = Resource { plural, namespaced, has_status, root: root.clone() };
            self.kinds.insert((api_version.to_owned(), kind), resource);
        }
        for (name, schema) in builtin {
            // The two that differ from document to document are not objects.
            let ambiguous = ["meta.v1.DeleteOptions", "meta.v1.WatchEvent"].contains(&&*name);
            let other = self.types.insert(name.clone(), schema.clone());
            let same = other.is_none_or(|other| structure(&other) == structure(schema));
            assert!(ambiguous || same, "{name} has one meaning");
        }
    }
}

/// The last three parts of a type's name.
pub(crate) fn short(name: &str) -> String {
    let parts: Vec<&str> = name.rsplit('.').take(3).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join(".")
}

/// Without descriptions, which may differ.
fn structure(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => map
            .iter()
            .filter(|(key, value)| *key != "description" || value.is_object())
            .map(|(key, value)| (key.clone(), structure(value)))
            .collect(),
        Value::Array(list) => list.iter().map(structure).collect(),
        scalar => scalar.clone(),
    }
}

fn is_of(schema: &Value, api_version: &str, kind: &str) -> bool {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kinds = schema["x-kubernetes-group-version-kind"].as_array();
    kinds.into_iter().flatten().any(|named| {
        named["group"] == group && named["version"] == version && named["kind"] == kind
    })
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

async fn get(client: &Client, path: &str) -> Value {
    let request = Request::get(path).body(Vec::new()).expect("a request");
    client.request(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
}
