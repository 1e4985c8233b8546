//! What would become of edits of objects that the rule does not own.
//!
//! In: edits that are wanted, and those that were made. Out: a verdict for each, and what changes. Pure.

use super::child::{changes, held, told};
use super::origin::Finder;
use super::{Case, ChildPlan, Verdict, gvk_of, held_up};
use crate::act::Trouble;
use crate::act::patch::judge;
use crate::compare::{Action, Reason};
use crate::fetch::Observed;
use crate::owned::changes::{Operation, pointed};
use crate::owned::{Changes, Delta};
use crate::render::{Desired, DesiredPatch, place_name};

/// What was judged about an edit.
pub(super) struct Judged<'a> {
    pub(super) patch: &'a DesiredPatch,
    pub(super) verdict: Verdict,
    pub(super) why: String,
    pub(super) changes: Option<Changes>,
    pub(super) trouble: Option<Trouble>,
}

/// Judges an edit.
pub(super) fn judged(patch: &DesiredPatch) -> Judged<'_> {
    let made = |verdict, why: &str, changes| Judged {
        patch,
        verdict,
        why: why.to_owned(),
        changes,
        trouble: None,
    };
    let refused = |verdict, trouble: Trouble, changes| {
        let why = told(&trouble);
        Judged { patch, verdict, why, changes, trouble: Some(trouble) }
    };
    match judge(patch, None) {
        Err(trouble @ Trouble::Unseen(_)) => refused(Verdict::Wait, trouble, None),
        Err(trouble) => refused(Verdict::Refuse, trouble, None),
        Ok((Action::WaitGone, _)) => {
            made(Verdict::Wait, "the object that it edits is being deleted", None)
        }
        Ok((Action::Apply(reason), _)) => {
            let changes = match &patch.operations {
                Some(_) => operations(patch),
                None => changes(&patch.wanted, &patch.live, &patch.manager, reason),
            };
            let force = reason != Reason::Intent || patch.operations.is_some();
            let held = if force { Vec::new() } else { held(&changes) };
            if held.is_empty() {
                made(Verdict::Edit, "", Some(changes))
            } else {
                refused(Verdict::Refuse, Trouble::Held(held), Some(changes))
            }
        }
        Ok(_) => made(Verdict::Keep, "", None),
    }
}

/// A JSON patch says itself what it changes.
fn operations(patch: &DesiredPatch) -> Changes {
    let object = patch.live.value();
    let written = patch.operations.iter().flatten().enumerate().filter(|(_, one)| !one.is_test());
    let differ = written.filter(|(_, one)| object.pointer(&one.path) != Some(&one.value));
    let operations: Vec<Operation> = differ
        .map(|(nth, one)| pointed(&one.path, nth, object.pointer(&one.path), &one.value))
        .collect();
    let delta = Delta::Map(
        operations
            .iter()
            .enumerate()
            .map(|(at, one)| (one.pointer.clone(), Delta::Change(at)))
            .collect(),
    );
    Changes { delta, operations }
}

impl Judged<'_> {
    /// For people and programs.
    pub(super) fn plan(&self, ordered: &Desired, origins: &Finder<'_>) -> ChildPlan {
        let wanted = &self.patch.wanted;
        let waits = held_up(ordered, &wanted.child, &wanted.items);
        ChildPlan {
            child: wanted.name(),
            object: Some(wanted.id.clone()),
            gvk: Some(wanted.gvk.clone()),
            verdict: self.verdict,
            why: self.why.clone(),
            waits: waits.filter(|_| self.verdict.changes()),
            change: self.changes.as_ref().map(|changes| origins.change(wanted, changes)),
            wanted_at: origins.rule_place(&wanted.child),
        }
    }
}

/// Edits that are no longer wanted.
pub(super) fn taken_back(
    desired: &Desired,
    observed: &Observed,
    case: &Case<'_>,
) -> Vec<ChildPlan> {
    let one = |edited: &crate::fetch::Edited| ChildPlan {
        child: place_name(&edited.mark.child, &edited.mark.items),
        object: Some(edited.live.id.clone()),
        gvk: gvk_of(&edited.live),
        verdict: Verdict::Unedit,
        why: "the edit is no longer wanted".to_owned(),
        waits: (!desired.may_prune())
            .then(|| "nothing is taken back before everything else went well".to_owned()),
        change: None,
        wanted_at: case.state.rule.child(&edited.mark.child).map(|child| child.place.clone()),
    };
    desired.unwanted_edits(observed).map(one).collect()
}
