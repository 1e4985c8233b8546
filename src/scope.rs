//! Which kinds live in a namespace.
//!
//! In: types, or what the API server said. Out: a [`Scopes`] that render asks. Pure.

use crate::object::GroupKind;
use crate::schema::Types;
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
    /// Of every kind whose type is known; used where there is no cluster to ask.
    pub fn offline(types: &Types) -> Self {
        let mut scopes = Self::default();
        for (gvk, kind) in types.kinds() {
            scopes.learn(gvk.group_kind(), kind.scope);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn built_in_kinds_crds_and_unknown_kinds_have_a_scope() {
        let crd = json!({
            "kind": "CustomResourceDefinition",
            "spec": {
                "group": "x.io", "names": {"kind": "Tenant"}, "scope": "Cluster",
                "versions": [{"name": "v1"}],
            },
        });
        let scopes = Scopes::offline(&Types::builtin().with_crds([&crd]));
        let of = |group: &str, kind: &str| {
            scopes.of(&GroupKind { group: group.into(), kind: kind.into() })
        };
        assert_eq!(of("", "Namespace"), Scope::Cluster);
        assert_eq!(of("apps", "Deployment"), Scope::Namespaced);
        assert_eq!(of("x.io", "Tenant"), Scope::Cluster);
        assert_eq!(of("y.io", "Tenant"), Scope::Namespaced);
    }
}
