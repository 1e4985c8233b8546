//! Which kinds live in a namespace.
//!
//! In: CRDs of the rules folder, or what the API server said. Out: a [`Scopes`] that render asks. Pure.

use crate::object::GroupKind;
use serde_json::Value;
use std::collections::BTreeMap;

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In none.
    Cluster,
}

/// The scope of each kind a rule touches.
#[derive(Clone, Debug, Default)]
pub struct Scopes {
    known: BTreeMap<GroupKind, Scope>,
}

impl Scopes {
    /// Knows the built-in kinds and these CRDs; used where there is no cluster to ask.
    pub fn offline<'a>(crds: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut scopes = Self::default();
        for (group, kind) in CLUSTER_SCOPED {
            let kind = GroupKind { group: (*group).to_owned(), kind: (*kind).to_owned() };
            scopes.learn(kind, Scope::Cluster);
        }
        for crd in crds {
            let text = |pointer| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let kind = GroupKind {
                group: text("/spec/group").to_owned(),
                kind: text("/spec/names/kind").to_owned(),
            };
            let cluster = text("/spec/scope") == "Cluster";
            scopes.learn(kind, if cluster { Scope::Cluster } else { Scope::Namespaced });
        }
        scopes
    }

    /// Remembers a kind.
    pub fn learn(&mut self, kind: GroupKind, scope: Scope) {
        self.known.insert(kind, scope);
    }

    /// Most kinds live in namespaces: one that is not known counts as such.
    pub fn of(&self, kind: &GroupKind) -> Scope {
        self.known.get(kind).copied().unwrap_or(Scope::Namespaced)
    }
}

/// The built-in kinds that live in no namespace, as of Kubernetes 1.37.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("certificates.k8s.io", "ClusterTrustBundle"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn built_in_kinds_crds_and_unknown_kinds_have_a_scope() {
        let crd =
            json!({"spec": {"group": "x.io", "names": {"kind": "Tenant"}, "scope": "Cluster"}});
        let scopes = Scopes::offline([&crd]);
        let of = |group: &str, kind: &str| {
            scopes.of(&GroupKind { group: group.into(), kind: kind.into() })
        };
        assert_eq!(of("", "Namespace"), Scope::Cluster);
        assert_eq!(of("apps", "Deployment"), Scope::Namespaced);
        assert_eq!(of("x.io", "Tenant"), Scope::Cluster);
        assert_eq!(of("y.io", "Tenant"), Scope::Namespaced);
    }
}
