//! What would be said of a parent.
//!
//! In: what a pass would desire now, what was judged of it. Out: how the parent stands, and what changes in its status. Pure.
//! Times and the generation that was observed are left out: they are no news.

use super::{Case, Change, child, edit};
use crate::act::patch::Patched;
use crate::act::{Done, Outcome, Trouble};
use crate::fetch::Observed;
use crate::owned;
use crate::render::Desired;
use crate::report::Report;
use crate::status::{self, StatusChange};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How the parent stands, and what changes in its status.
pub(super) fn of(
    case: &Case<'_>,
    ordered: &Desired,
    observed: &Observed,
    (judged, edits): (&[child::Judged<'_>], &[edit::Judged<'_>]),
) -> (Report, Option<Change>) {
    let trouble = |id| {
        let one = judged.iter().find(|one| one.child.id == id);
        one.and_then(|one| one.trouble.clone())
    };
    let result = |trouble: Option<Trouble>| trouble.map_or(Ok(Done::Kept), Err);
    let children = ordered.children.iter().map(|child| result(trouble(child.id.clone())));
    let outcome = Outcome {
        children: children.collect(),
        pruned: Vec::new(),
        contested: BTreeMap::new(),
        look_again: None,
    };
    let of_edit = |patch: &crate::render::DesiredPatch| {
        let is_it = |one: &&edit::Judged<'_>| one.patch.place() == patch.place();
        result(edits.iter().find(is_it).and_then(|one| one.trouble.clone()))
    };
    let results = ordered.patches.iter().map(of_edit).collect();
    let patched = Patched { results, ..Patched::default() };
    let rule = &case.state.rule;
    let said = status::compute(rule, ordered, (&outcome, &patched), observed, case.now);
    let shape = case.state.shape(&case.parent.id.kind);
    let change = status::change(rule, &said, observed, shape, case.now);
    let change = change.and_then(|change| told(&change, observed));
    (said.report, change)
}

/// What is told of a change; nothing if only times move.
fn told(change: &StatusChange, observed: &Observed) -> Option<Change> {
    let fields = observed.parent.status_fields(&change.manager);
    let before = json!({"status": timeless(change.before.clone())});
    let wanted = json!({"status": timeless(Value::Object(change.wanted.clone()))});
    // As part of an object, since the pointers of operations start there.
    let changes = owned::changes_within(&wanted, &before, "status", fields.as_ref());
    let origins = vec![None; changes.operations.len()];
    (!changes.operations.is_empty()).then_some(Change { changes, origins })
}

fn timeless(mut status: Value) -> Value {
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.retain(|name, _| !matches!(name.as_str(), "lastTransitionTime" | "observedGeneration"));
    }
    status
}
