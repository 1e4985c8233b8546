//! What of a cluster concerns a rule: which objects are watched, or listed, for it.
//!
//! In: a rule, which kinds live in a namespace. Out: keys of watches. Pure. Never here: a request; what is done with the
//! objects.

use crate::marks::label;
use crate::object::Gvk;
use crate::rule::{InputRule, Rule, Where};
use crate::scope::{Scope, Scopes};
use crate::store::ManagedFields;
use crate::watch::{Kind, WatchKey};

/// What concerns one rule.
pub struct Reach<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// Which kinds live in a namespace.
    pub scopes: &'a Scopes,
    /// Only parents of these namespaces; none means all. Usually as the rule says.
    pub namespaces: &'a [String],
}

impl<'a> Reach<'a> {
    /// As the rule says.
    pub fn of(rule: &'a Rule, scopes: &'a Scopes) -> Self {
        Self { rule, scopes, namespaces: &rule.parent.namespaces }
    }

    /// The parents of a kind: one key per namespace they are confined to, or one for all.
    pub fn parents(&self, kind: &Kind, managed_fields: ManagedFields) -> Vec<WatchKey> {
        let keys = self.keys(kind, None, !self.namespaces.is_empty()).into_iter();
        keys.map(|key| WatchKey { managed_fields, ..key }).collect()
    }

    /// The children of a kind. Where parents live in no namespace, their children can live in any.
    pub fn children(&self, kind: &Kind, installation: &str) -> Vec<WatchKey> {
        self.children_that(kind, &format!("{}={installation}", label::OWNER))
    }

    /// Those of them that a label selector selects.
    pub fn children_that(&self, kind: &Kind, selector: &str) -> Vec<WatchKey> {
        self.keys(kind, Some(selector), self.is_confined())
    }

    /// What the rule edits without owning it. What we own of an object is written in its managedFields.
    pub fn targets(&self, kind: &Kind) -> Vec<WatchKey> {
        self.keys(kind, None, self.is_confined())
    }

    /// An input.
    pub fn input(&self, input: &InputRule, kind: &Kind) -> Vec<WatchKey> {
        // A list is narrowed by the server where its labels are known beforehand.
        let selector = input.name.is_none().then(|| input.selector.literal()).flatten();
        let labels = selector.filter(|selector| !selector.is_empty()).map(|s| s.to_string());
        let key = |namespace: Option<&str>| WatchKey {
            resource: kind.resource.clone(),
            namespace: namespace.map(str::to_owned),
            labels: labels.clone(),
            managed_fields: false.into(),
        };
        match &input.within {
            _ if !kind.resource.namespaced => vec![key(None)],
            Where::Own if self.is_confined() => {
                self.namespaces.iter().map(|namespace| key(Some(namespace))).collect()
            }
            Where::Listed(names) => names.iter().map(|namespace| key(Some(namespace))).collect(),
            Where::Own | Where::Named(_) | Where::All | Where::Selected(_) => vec![key(None)],
        }
    }

    /// The namespaces, for whoever asks for their labels.
    pub fn namespaces(kind: &Kind) -> WatchKey {
        let resource = kind.resource.clone();
        WatchKey { resource, namespace: None, labels: None, managed_fields: false.into() }
    }

    fn keys(&self, kind: &Kind, labels: Option<&str>, confined: bool) -> Vec<WatchKey> {
        let key = |namespace: Option<&String>| WatchKey {
            resource: kind.resource.clone(),
            namespace: namespace.cloned(),
            labels: labels.map(str::to_owned),
            managed_fields: true.into(),
        };
        if !confined || !kind.resource.namespaced {
            return vec![key(None)];
        }
        self.namespaces.iter().map(|namespace| key(Some(namespace))).collect()
    }

    /// Whether everything that concerns the rule is in the namespaces that it names.
    fn is_confined(&self) -> bool {
        let is_global = |gvk: &Gvk| self.scopes.of(&gvk.group_kind()) == Scope::Cluster;
        !self.namespaces.is_empty()
            && !self.rule.cross_namespace
            && !self.rule.parent.kinds.iter().any(is_global)
    }
}
