//! What the API server demands of whoever makes roles and bindings.
//!
//! In: a child. Out: `escalate` on the roles that it may be, `bind` on those that it may give to somebody: by name, where its
//! template says the name as it stands.

use super::Verb;
use crate::object::Gvk;
use crate::rule::{ChildRule, Rule};
use crate::template::{Literal, Sink, Spot, Study};
use std::collections::{BTreeMap, BTreeSet};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A verb on roles.
pub(super) struct Role {
    pub(super) verb: Verb,
    pub(super) resource: &'static str,
    /// Empty means all.
    pub(super) names: BTreeSet<String>,
}

impl Role {
    /// For whoever installs the rights.
    pub(super) fn sentence(&self, rule: &Rule, child: &ChildRule, gvk: &Gvk) -> String {
        let (rule, child, kind) = (&rule.name, &child.id, &gvk.kind);
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        match (self.verb, names.as_slice()) {
            (Verb::Escalate, _) => format!(
                "rule {rule} makes objects of kind {kind} (child {child}): with `escalate` they may give rights that Kubewright \
                 itself does not have"
            ),
            (_, []) => format!(
                "rule {rule} makes objects of kind {kind} (child {child}) for roles whose names its template computes: with `bind` \
                 on all {} they may make anybody an administrator; write the name of the role into the template",
                self.resource
            ),
            (_, names) => format!(
                "rule {rule} makes objects of kind {kind} (child {child}): with `bind` they may give these {} to anybody: {}",
                self.resource,
                names.join(", ")
            ),
        }
    }
}

/// What is demanded for a child of a kind.
pub(super) fn demanded(rule: &Rule, child: &ChildRule, gvk: &Gvk) -> Vec<Role> {
    if gvk.group != GROUP {
        return Vec::new();
    }
    let escalate = |resource| vec![Role { verb: Verb::Escalate, resource, names: BTreeSet::new() }];
    match gvk.kind.as_str() {
        "Role" => escalate("roles"),
        "ClusterRole" => escalate("clusterroles"),
        "RoleBinding" | "ClusterRoleBinding" => bound(&rule.templates.study(&child.template), gvk),
        _ => Vec::new(),
    }
}

/// The roles that the bindings of a template name. A document counts unless it says that it is of another kind.
fn bound(study: &Study, gvk: &Gvk) -> Vec<Role> {
    let spots = study.literals.iter().map(|literal| &literal.spot);
    let spots = spots.chain(study.sinks.iter().map(|sink| &sink.spot));
    let documents: BTreeSet<usize> = spots.map(|spot| spot.document).collect();
    let mut by_resource: BTreeMap<&'static str, Option<BTreeSet<String>>> = BTreeMap::new();
    for document in documents {
        if study.literal(document, "kind").is_some_and(|kind| kind != gvk.kind) {
            continue;
        }
        let kinds = words(study, document, "kind");
        let bound = words(study, document, "name").filter(|_| study.complete);
        for resource in resources(kinds.as_ref(), gvk) {
            let all = by_resource.entry(resource).or_insert_with(|| Some(BTreeSet::new()));
            match &bound {
                Some(names) => _ = all.as_mut().map(|all| all.extend(names.iter().cloned())),
                None => *all = None,
            }
        }
    }
    let role = |(resource, names): (_, Option<BTreeSet<String>>)| Role {
        verb: Verb::Bind,
        resource,
        names: names.unwrap_or_default(),
    };
    by_resource.into_iter().map(role).collect()
}

fn resources(kinds: Option<&BTreeSet<String>>, gvk: &Gvk) -> Vec<&'static str> {
    let resource = |kind: &String| if kind == "Role" { "roles" } else { "clusterroles" };
    match kinds {
        Some(kinds) => kinds.iter().map(resource).collect(),
        None if gvk.kind == "ClusterRoleBinding" => vec!["clusterroles"],
        None => vec!["clusterroles", "roles"],
    }
}

/// Every word that a document may have in a field of its `roleRef`; nothing if one of them is computed.
fn words(study: &Study, document: usize, field: &str) -> Option<BTreeSet<String>> {
    let here =
        |spot: &Spot| spot.document == document && !spot.is_key && spot.path == ["roleRef", field];
    // A value for the whole of it, or for the whole object.
    let around = |spot: &Spot| {
        spot.document == document && (spot.path.is_empty() || spot.path == ["roleRef"])
    };
    let computed = |sink: &Sink| here(&sink.spot) || around(&sink.spot);
    let word = |literal: &Literal| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        let text = literal.text.as_str();
        text.chars().all(plain).then(|| text.to_owned())
    };
    let literals = study.literals.iter().filter(|literal| here(&literal.spot));
    let words: Option<BTreeSet<String>> = literals.map(word).collect();
    words.filter(|words| !words.is_empty() && !study.sinks.iter().any(computed))
}
