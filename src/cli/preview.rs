//! What a rule makes of a parent of which no child exists yet.
//!
//! In: a rule, a parent as somebody wrote it, kinds. Out: its children and status, and where a template writes a part of
//! a child.

use super::kinds::Known;
use crate::act::patch::Patched;
use crate::act::{Done, Outcome};
use crate::fetch::{Live, Observed};
use crate::input;
use crate::object::Gvk;
use crate::path::Location;
use crate::problem::Problem;
use crate::render::{Desired, DesiredChild, DesiredPatch, Setting, render};
use crate::rule::Rule;
use crate::schema::default_parent;
use crate::scope::{Scope, Scopes};
use crate::source::Place;
use crate::status;
use crate::store::Format;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nothing that is rendered may depend on when that is.
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A first pass that nobody acts on.
pub(super) struct Preview<'r> {
    rule: &'r Rule,
    observed: Observed,
    /// What should exist.
    pub(super) desired: Desired,
}

impl<'r> Preview<'r> {
    /// Renders the children of a parent, as the API server would give it: with the defaults of its definition. `others` are
    /// the objects among which inputs are looked for.
    pub(super) fn of(
        rule: &'r Rule,
        parent: &Value,
        others: &[Value],
        kinds: &Known,
    ) -> Result<Self, Problem> {
        let mut parent = parent.clone();
        default_parent(&kinds.types, &mut parent);
        let gvk = Gvk::of(&parent).unwrap_or_else(|| rule.parent.gvk().clone());
        complete(&mut parent, &gvk, &kinds.scopes);
        let stored = Format::new(&gvk, false).read(&parent.to_string());
        let stored = stored.map_err(|error| Problem::new("illegal-object", error.to_string()))?;
        let parent = Live::new(Arc::new(stored));
        let inputs = Arc::new(input::find_among(rule, &parent, others, &kinds.scopes));
        let targets = input::targets_among(rule, others, &kinds.scopes);
        let observed = Observed {
            parent,
            children: BTreeMap::new(),
            lost: BTreeMap::new(),
            inputs,
            targets,
            edited: Vec::new(),
        };
        let setting = Setting {
            scopes: &kinds.scopes,
            installation: "kubewright",
            now: NOW,
            in_order: false,
            randomness: None,
        };
        let desired = render(rule, &observed, &setting);
        Ok(Self { rule, observed, desired })
    }

    /// What a child comes after, in words that follow its name; empty if it waits for none.
    pub(super) fn after(&self, child: &str) -> String {
        let needs = self.rule.child(child).map(|child| child.needs.as_slice()).unwrap_or_default();
        let needs: Vec<String> = needs.iter().map(|need| format!("`{}`", need.id)).collect();
        if needs.is_empty() { String::new() } else { format!(", after {}", needs.join(" and ")) }
    }

    /// The status fields that the rule would write first, and mistakes in what it says of the status.
    pub(super) fn status(&self) -> (Map<String, Value>, Vec<Problem>) {
        let kept = |_: &DesiredChild| Ok(Done::Kept);
        let children = self.desired.children.iter().map(kept).collect();
        let outcome =
            Outcome { children, pruned: Vec::new(), contested: BTreeMap::new(), look_again: None };
        let kept = |_: &DesiredPatch| Ok(Done::Kept);
        let results = self.desired.patches.iter().map(kept).collect();
        let edits = Patched { results, ..Patched::default() };
        let said =
            status::compute(self.rule, &self.desired, (&outcome, &edits), &self.observed, NOW);
        (said.fields.unwrap_or_default(), said.problems)
    }

    /// Where the template writes a part of a child; the child's place in the rule where that cannot be told.
    pub(super) fn place_of(&self, child: &DesiredChild, part: &Location) -> Option<Place> {
        let rule = self.rule.child(&child.child)?;
        if !child.items.is_empty() {
            return Some(rule.place.clone());
        }
        let view = self.desired.view(self.rule, &self.observed, NOW);
        let siblings = self.desired.children.iter().filter(|other| other.child == child.child);
        let nth = siblings.take_while(|other| other.id != child.id).count();
        let place = self.rule.templates.place(&rule.template, &view.context(), nth, part);
        Some(place.unwrap_or_else(|| rule.place.clone()))
    }
}

/// What only the API server gives an object; the values say that they stand in for it.
fn complete(parent: &mut Value, gvk: &Gvk, scopes: &Scopes) {
    let Some(metadata) = parent.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.entry("uid").or_insert(json!("00000000-0000-0000-0000-000000000000"));
    metadata.entry("resourceVersion").or_insert(json!("1"));
    metadata.entry("generation").or_insert(json!(1));
    if scopes.of(&gvk.group_kind()) == Scope::Namespaced {
        metadata.entry("namespace").or_insert(json!("default"));
    }
}
