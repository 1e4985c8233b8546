//! The little that Kubewright knows of any Kubernetes object: its identity and its metadata.
//!
//! In: JSON values. Out: identities and borrowed fields. Never here: a typed kind, a client.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// API group, version and kind of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk {
    /// Empty for the core group.
    pub group: String,
    /// For example `v1`.
    pub version: String,
    /// For example `Deployment`.
    pub kind: String,
}

impl Gvk {
    /// From the two fields of a manifest; `None` if either is empty or the apiVersion has more than one slash.
    pub fn parse(api_version: &str, kind: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let valid = !version.is_empty() && !version.contains('/') && !kind.is_empty();
        let core = !api_version.contains('/') || !group.is_empty();
        (valid && core).then(|| Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        })
    }

    /// Of a manifest.
    pub fn of(object: &Value) -> Option<Self> {
        Self::parse(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?)
    }

    /// Whether people must not see what its objects hold.
    pub fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "Secret"
    }

    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Without the version: what identity is made of.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

/// `apps/v1 Deployment`.
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version(), self.kind)
    }
}

/// API group and kind: the version is a way of speaking about an object, not part of what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// Empty for the core group.
    pub group: String,
    /// For example `Deployment`.
    pub kind: String,
}

/// `Deployment.apps`, or `ConfigMap` in the core group, as kubectl writes it.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.kind)
        } else {
            write!(f, "{}.{}", self.kind, self.group)
        }
    }
}

/// Which object: group, kind, namespace (empty if cluster-scoped) and name. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// Group and kind.
    pub kind: Arc<GroupKind>,
    /// Empty for a cluster-scoped object.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectId {
    /// Whether it is a Secret, whose values people must not see.
    pub fn is_secret(&self) -> bool {
        self.kind.group.is_empty() && self.kind.kind == "Secret"
    }

    /// Puts the parts together.
    pub fn new(kind: &Arc<GroupKind>, namespace: &str, name: &str) -> Self {
        Self { kind: Arc::clone(kind), namespace: namespace.into(), name: name.into() }
    }
}

/// `Deployment.apps shop/web`, or `Namespace shop`.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.kind, self.name)
        } else {
            write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// About how many bytes a value takes as text.
pub fn weight(value: &Value) -> usize {
    /// Quotes, commas, colons; a number.
    const EACH: usize = 8;
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// `metadata.<field>` as text.
pub fn metadata<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str()
}

/// `metadata.annotations.<name>`.
pub fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// `metadata.labels`; what is no text is left out.
pub fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels")?.as_object());
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}

/// `metadata.generation`, where the kind has one.
pub fn generation(object: &Value) -> Option<i64> {
    object.get("metadata")?.get("generation")?.as_i64()
}

/// Whether somebody deleted it already.
pub fn terminating(object: &Value) -> bool {
    metadata(object, "deletionTimestamp").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_with_wrong_shape_are_refused() {
        assert!(Gvk::parse("apps/v1", "Deployment").is_some());
        assert!(Gvk::parse("v1", "Pod").is_some_and(|gvk| gvk.group.is_empty()));
        for (api_version, kind) in
            [("", "Pod"), ("v1", ""), ("a/b/c", "X"), ("/v1", "X"), ("a/", "X")]
        {
            assert_eq!(Gvk::parse(api_version, kind), None, "{api_version} {kind}");
        }
    }

    #[test]
    fn identities_read_as_kubectl_writes_them() {
        let kind = Arc::new(GroupKind { group: "apps".into(), kind: "Deployment".into() });
        assert_eq!(ObjectId::new(&kind, "shop", "web").to_string(), "Deployment.apps shop/web");
        let kind = Arc::new(GroupKind { group: String::new(), kind: "Namespace".into() });
        assert_eq!(ObjectId::new(&kind, "", "shop").to_string(), "Namespace shop");
    }
}
