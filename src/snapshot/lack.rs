//! What could not be read, and what to do about it.
//!
//! In: refusals. Out: a sentence and the next command. Pure.

use crate::object::Gvk;
use crate::watch::{KindError, Unlisted, WatchKey};

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lack {
    /// What, as a sentence fragment.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Lack {
    /// A kind is not known.
    pub(super) fn of_kind(rule: &str, gvk: &Gvk, error: &KindError) -> Self {
        let remedy = match error {
            KindError::Unknown(_) => format!(
                "install its CustomResourceDefinition (`kubectl apply -f` it, or `kubewright crd | kubectl apply -f -` where a \
                 rule has a `schema`), and look with `kubectl api-resources --api-group={}`",
                if gvk.group.is_empty() { "''" } else { &gvk.group }
            ),
            KindError::Unavailable { .. } => "see what `kubectl api-resources` says".to_owned(),
        };
        Self { what: format!("rule {rule}: {error}"), remedy }
    }

    /// Objects cannot be listed.
    pub(super) fn of_list(key: &WatchKey, error: &Unlisted) -> Self {
        let resource = named(key);
        let place = key.namespace.as_ref();
        let within = place.map_or_else(
            || if key.resource.namespaced { " -A".to_owned() } else { String::new() },
            |namespace| format!(" -n {namespace}"),
        );
        let place = place.map_or_else(
            || {
                if key.resource.namespaced {
                    " in all namespaces".to_owned()
                } else {
                    String::new()
                }
            },
            |namespace| format!(" in namespace `{namespace}`"),
        );
        if error.forbidden {
            return Self {
                what: format!("the right to list {resource}{place} is missing: {}", error.cause),
                remedy: format!(
                    "see `kubectl auth can-i list {resource}{within}`; a ClusterRole with the verb `list` on `{resource}` gives it"
                ),
            };
        }
        Self {
            what: format!("{resource}{place} cannot be listed: {}", error.cause),
            remedy: format!("see what `kubectl get {resource}{within}` says"),
        }
    }

    /// The shape of a kind's status is not known.
    pub(super) fn of_shape(gvk: &Gvk, error: &str) -> Self {
        Self {
            what: format!("what the status of {gvk} can hold is not known: {error}"),
            remedy: "see what `kubectl explain` says of its status".to_owned(),
        }
    }
}

/// `deployments.apps`.
fn named(key: &WatchKey) -> String {
    let resource = &key.resource;
    if resource.gvk.group.is_empty() {
        resource.plural.clone()
    } else {
        format!("{}.{}", resource.plural, resource.gvk.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Resource;

    #[test]
    fn what_is_missing_is_named_by_verb_and_resource_with_the_next_command() {
        let key = |namespace: Option<&str>| WatchKey {
            resource: Resource {
                gvk: Gvk::parse("apps/v1", "Deployment").unwrap(),
                plural: "deployments".into(),
                namespaced: true,
            },
            namespace: namespace.map(str::to_owned),
            labels: None,
            managed_fields: true.into(),
        };
        let forbidden = Unlisted { forbidden: true, cause: "403".into() };
        let lack = Lack::of_list(&key(None), &forbidden);
        assert_eq!(
            lack.what,
            "the right to list deployments.apps in all namespaces is missing: 403"
        );
        assert!(
            lack.remedy.contains("`kubectl auth can-i list deployments.apps -A`"),
            "{}",
            lack.remedy
        );
        let lack = Lack::of_list(&key(Some("shop")), &forbidden);
        assert!(lack.what.contains("in namespace `shop`"), "{}", lack.what);
        let slow = Unlisted { forbidden: false, cause: "no answer".into() };
        let lack = Lack::of_list(&key(Some("shop")), &slow);
        assert_eq!(lack.remedy, "see what `kubectl get deployments.apps -n shop` says");
        let gvk = Gvk::parse("demo.kubewright.io/v1", "WebApp").unwrap();
        let lack = Lack::of_kind("webapp", &gvk, &KindError::Unknown(gvk.clone()));
        assert!(
            lack.what
                .starts_with("rule webapp: the API server serves no demo.kubewright.io/v1 WebApp")
        );
        assert!(lack.remedy.contains("kubewright crd"), "{}", lack.remedy);
    }
}
