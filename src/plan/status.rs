//! What would be said of a parent.
//!
//! In: what a pass would desire now, what was judged of it. Out: how the parent stands, and what changes in its status. Pure.
//! Times and the generation that was observed are left out: they are no news.

use super::{Case, Change, Verdict, child, edit};
use crate::act::patch::Patched;
use crate::act::{Done, Outcome, Trouble};
use crate::fetch::Observed;
use crate::owned;
use crate::render::{Desired, DesiredChild};
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
    let result = |trouble: Option<Trouble>| trouble.map_or(Ok(Done::Kept), Err);
    let outcome = |now: bool| {
        let of_child = |child: &DesiredChild| {
            let one = judged.iter().find(|one| one.child.id == child.id)?;
            let absent = now && one.verdict == Verdict::Create;
            let absent = absent.then(|| Trouble::Unseen("it does not exist yet".to_owned()));
            one.trouble.clone().or(absent)
        };
        let children = ordered.children.iter().map(|child| result(of_child(child))).collect();
        Outcome { children, pruned: Vec::new(), contested: BTreeMap::new(), look_again: None }
    };
    let of_edit = |patch: &crate::render::DesiredPatch| {
        let is_it = |one: &&edit::Judged<'_>| one.patch.place() == patch.place();
        result(edits.iter().find(is_it).and_then(|one| one.trouble.clone()))
    };
    let results = ordered.patches.iter().map(of_edit).collect();
    let patched = Patched { results, ..Patched::default() };
    let rule = &case.state.rule;
    let said =
        |now: bool| status::compute(rule, ordered, (&outcome(now), &patched), observed, case.now);
    let shape = case.state.shape(&case.parent.id.kind);
    // What is there is told as it is, and the status as the next pass would write it.
    let change = status::change(rule, &said(false), observed, shape, case.now);
    let change = change.and_then(|change| told(&change, observed));
    (said(true).report, change)
}

/// What is told of a change; nothing if only times move.
fn told(change: &StatusChange, observed: &Observed) -> Option<Change> {
    let fields = observed.parent.status_fields(&change.manager);
    let before = match &change.before {
        Value::Null => json!({}),
        status => json!({"status": timeless(status.clone())}),
    };
    let wanted = json!({"status": timeless(Value::Object(change.wanted.clone()))});
    // As part of an object, since the pointers of operations start there.
    let changes = owned::changes_within(&wanted, &before, "status", fields.as_ref());
    let origins = vec![None; changes.operations.len()];
    (!changes.operations.is_empty()).then_some(Change { changes, origins })
}

fn timeless(mut status: Value) -> Value {
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.retain(|name, _| {
            !matches!(name.as_str(), "lastTransitionTime" | "observedGeneration")
        });
    }
    status
}
