//! What one rule makes the program send.
//!
//! In: a rule, types. Out: grants. Each function names the code whose requests it speaks for.

use super::bind::{self, Role};
use super::{Reach, Rights, Subject, Unknown, Verb};
use crate::object::Gvk;
use crate::rule::{ChildRule, InputRule, OnImmutable, Rule, Target, Update, WhenGone, Where};
use crate::schema::Types;
use crate::scope::Scope;
use std::collections::BTreeSet;

const READ: [Verb; 2] = [Verb::List, Verb::Watch];

/// Events about what lives in no namespace are in this one.
const DEFAULT_NAMESPACE: &str = "default";

/// Adds what a rule needs.
pub(super) fn of_rule(
    rule: &Rule,
    types: &Types,
    rights: &mut Rights,
    unknown: &mut BTreeSet<Unknown>,
) {
    let mut need = Need { rule, types, rights, unknown };
    need.parents();
    for child in &rule.children {
        match &child.patch {
            Some(patch) => need.edit(child, &patch.target),
            None => need.child(child),
        }
    }
    for input in &rule.inputs {
        need.input(input);
    }
    if rule.asks_for_namespaces() {
        need.namespaces();
    }
    need.notes();
}

/// What has to be known of a kind.
#[derive(Clone)]
struct Kind {
    plural: String,
    scope: Scope,
    has_status: bool,
}

struct Need<'a> {
    rule: &'a Rule,
    types: &'a Types,
    rights: &'a mut Rights,
    unknown: &'a mut BTreeSet<Unknown>,
}

impl Need<'_> {
    /// `controller/attach`, `status/write`, `reconcile/finalizer`, `reconcile/made`, `controller/vanished`, `event/send`.
    fn parents(&mut self) {
        let rule = self.rule;
        let within = rule.parent.namespaces.as_slice();
        for gvk in &rule.parent.kinds {
            let Some(kind) = self.kind(gvk, "parent") else { continue };
            self.grant(gvk, &kind, within, &READ, "parent");
            for (why, verbs) in self.changes_of_parents() {
                self.grant(gvk, &kind, within, verbs, why);
            }
            let place = [DEFAULT_NAMESPACE.to_owned()];
            let of_events: &[String] = if kind.scope == Scope::Cluster { &place } else { within };
            if rule.status.is_some() && kind.has_status {
                let status = Kind { plural: format!("{}/status", kind.plural), ..kind };
                self.grant(gvk, &status, within, &[Verb::Patch], "status of the parent");
            }
            let events =
                Gvk { group: "events.k8s.io".into(), version: "v1".into(), kind: "Event".into() };
            let Some(kind) = self.kind(&events, "Events") else { continue };
            let verbs = [Verb::Create, Verb::Get, Verb::Patch];
            self.grant(&events, &kind, of_events, &verbs, "Events about the parent");
        }
    }

    /// What a pass changes in a parent besides its status.
    fn changes_of_parents(&self) -> Vec<(&'static str, &'static [Verb])> {
        let children = &self.rule.children;
        let own = |child: &&ChildRule| child.patch.is_none();
        let mut changes: Vec<(&'static str, &'static [Verb])> = Vec::new();
        let holds = children.iter().filter(own).any(|child| {
            child.kinds.iter().any(|gvk| outlives(child, gvk)) || self.may_be_elsewhere()
        }) || children
            .iter()
            .filter_map(|child| child.patch.as_ref())
            .any(|patch| matches!(patch.target, Target::Object { .. }) && !patch.stays);
        if holds {
            // What it leaves behind goes only once the server has said that the parent is gone.
            changes.push(("finalizer of the parent", &[Verb::Get, Verb::Patch]));
        }
        let remembers = |child: &ChildRule| {
            !child.generate.is_empty() && child.policies.when_gone == WhenGone::Hold
        };
        if children.iter().any(remembers) {
            changes.push(("which values were generated, on the parent", &[Verb::Patch]));
        }
        changes
    }

    /// Whether some parent has a namespace, and a child of it may be somewhere else.
    fn may_be_elsewhere(&self) -> bool {
        let has_namespace =
            |gvk| self.types.kind(gvk).is_none_or(|kind| kind.scope == Scope::Namespaced);
        self.rule.cross_namespace && self.rule.parent.kinds.iter().any(has_namespace)
    }

    /// `act`, `act/remove`, `reconcile/dismantle`.
    fn child(&mut self, child: &ChildRule) {
        let what = format!("child {}", child.id);
        for gvk in &child.kinds {
            let Some(kind) = self.kind(gvk, &what) else { continue };
            let mut verbs = vec![Verb::Get, Verb::List, Verb::Watch, Verb::Create, Verb::Patch];
            if self.deletes(child, gvk) {
                verbs.push(Verb::Delete);
            }
            let within = self.confined();
            self.grant(gvk, &kind, &within, &verbs, &what);
            self.powers(child, gvk, &within, &what);
        }
    }

    /// Whether we ever delete it ourselves; what an owner reference ties to its parent, garbage collection takes.
    fn deletes(&self, child: &ChildRule, gvk: &Gvk) -> bool {
        let policies = &child.policies;
        let (stays, outlives) = policies.kept(&gvk.group_kind());
        let is_replaced =
            policies.update == Update::Recreate || policies.on_immutable == OnImmutable::Recreate;
        !stays || (!outlives && self.may_be_elsewhere()) || is_replaced
    }

    /// Roles and bindings: the API server asks whether their maker has the rights that they give.
    fn powers(&mut self, child: &ChildRule, gvk: &Gvk, within: &[String], what: &str) {
        let rule = self.rule;
        for role in bind::demanded(rule, child, gvk) {
            self.rights.powers.insert(role.sentence(rule, child, gvk));
            let Role { verb, resource, names, .. } = role;
            let subject =
                Subject { group: gvk.group.clone(), resource: resource.to_owned(), names };
            self.add(within, &subject, &[verb], what);
        }
    }

    /// `act/patch`.
    fn edit(&mut self, child: &ChildRule, target: &Target) {
        let what = format!("edit {}", child.id);
        match target {
            Target::Parent => {
                for gvk in &self.rule.parent.kinds {
                    let Some(kind) = self.kind(gvk, &what) else { continue };
                    self.grant(gvk, &kind, &self.rule.parent.namespaces, &[Verb::Patch], &what);
                }
            }
            Target::Object { gvk, .. } => {
                let Some(kind) = self.kind(gvk, &what) else { return };
                let within = self.confined();
                self.grant(gvk, &kind, &within, &[Verb::List, Verb::Watch, Verb::Patch], &what);
            }
        }
    }

    /// `controller/attach`: what is only read is never asked for one by one.
    fn input(&mut self, input: &InputRule) {
        let what = format!("input {}", input.id);
        let Some(kind) = self.kind(&input.gvk, &what) else { return };
        let within = match &input.within {
            Where::Own => self.confined(),
            Where::Listed(names) => names.iter().map(ToString::to_string).collect(),
            Where::Named(_) | Where::All | Where::Selected(_) => Vec::new(),
        };
        self.grant(&input.gvk, &kind, &within, &READ, &what);
    }

    fn namespaces(&mut self) {
        let gvk = Gvk { group: String::new(), version: "v1".into(), kind: "Namespace".into() };
        let Some(kind) = self.kind(&gvk, "namespaceSelector") else { return };
        self.grant(&gvk, &kind, &[], &READ, "labels of namespaces");
    }

    fn notes(&mut self) {
        let rule = self.rule;
        if self.may_be_elsewhere() {
            let kind = &rule.parent.gvk().kind;
            self.rights.notes.insert(format!(
                "rule {} says crossNamespace: what it does for a {kind} reaches every namespace",
                rule.name
            ));
        }
    }

    /// The namespaces that everything of the rule is in; empty means all. The same as `Attached::is_confined`.
    fn confined(&self) -> Vec<String> {
        let parent = &self.rule.parent;
        let is_global = |gvk| self.types.kind(gvk).is_some_and(|kind| kind.scope == Scope::Cluster);
        if self.rule.cross_namespace || parent.kinds.iter().any(is_global) {
            return Vec::new();
        }
        parent.namespaces.clone()
    }

    fn kind(&mut self, gvk: &Gvk, what: &str) -> Option<Kind> {
        let kind = self.types.kind(gvk).filter(|kind| !kind.plural.is_empty());
        if kind.is_none() {
            let (gvk, rule) = (gvk.clone(), self.rule.name.clone());
            self.unknown.insert(Unknown { gvk, rule, what: what.to_owned() });
        }
        kind.map(|kind| Kind {
            plural: kind.plural.clone(),
            scope: kind.scope,
            has_status: kind.has_status,
        })
    }

    fn grant(&mut self, gvk: &Gvk, kind: &Kind, within: &[String], verbs: &[Verb], why: &str) {
        let subject = Subject {
            group: gvk.group.clone(),
            resource: kind.plural.clone(),
            names: BTreeSet::new(),
        };
        let within = if kind.scope == Scope::Cluster { &[] } else { within };
        self.add(within, &subject, verbs, why);
    }

    fn add(&mut self, within: &[String], subject: &Subject, verbs: &[Verb], why: &str) {
        let mut reaches: Vec<Reach> = within.iter().cloned().map(Reach::Namespace).collect();
        if reaches.is_empty() {
            reaches.push(Reach::Everywhere);
        }
        for reach in reaches {
            self.rights.add(reach, subject.clone(), verbs, (&self.rule.name, why));
        }
    }
}

fn outlives(child: &ChildRule, gvk: &Gvk) -> bool {
    child.policies.kept(&gvk.group_kind()).1
}
