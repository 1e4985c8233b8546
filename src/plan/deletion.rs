//! What goes: children that are no longer wanted, and those of a parent that is being deleted.
//!
//! In: objects that are proven ours. Out: what becomes of each. Pure.

use super::child::unwanted;
use super::{Case, ChildPlan, ParentPlan, Verdict};
use crate::fetch::{Live, Observed};
use crate::render::place_name;

/// A child that is no longer wanted.
pub(super) fn pruned(live: &Live, case: &Case<'_>, goes_well: bool) -> ChildPlan {
    let stays = live.mark.as_ref().is_some_and(|mark| mark.stays);
    let verdict = if stays { Verdict::Orphan } else { Verdict::Delete };
    let known = live.mark.as_ref().is_some_and(|mark| case.state.rule.child(&mark.child).is_some());
    let why = if known { "it is no longer wanted" } else { "the rule has no such child any more" };
    let waits = (!goes_well).then(|| "nothing goes before everything else went well".to_owned());
    ChildPlan { waits, ..unwanted(live, verdict, why.to_owned()) }
}

/// A parent that is being deleted and that our finalizer holds: its children go before it.
pub(super) fn plan(case: &Case<'_>, observed: &Observed, made: &mut ParentPlan) {
    made.left_alone = Some("it is being deleted, and its children go first".to_owned());
    for live in observed.children.values() {
        let outlives = live.mark.as_ref().is_some_and(|mark| mark.outlives);
        let child = match waits_for(live, observed, case) {
            Some(other) => unwanted(live, Verdict::Wait, format!("it goes after `{other}`")),
            None if live.stored.terminating => unwanted(live, Verdict::Wait, held_by(live)),
            None if outlives => unwanted(live, Verdict::Orphan, "it outlives its parent".into()),
            None => unwanted(live, Verdict::Delete, "its parent is being deleted".into()),
        };
        let place = live.mark.as_ref().and_then(|mark| case.state.rule.child(&mark.child));
        made.children
            .push(ChildPlan { wanted_at: place.map(|child| child.place.clone()), ..child });
    }
}

/// A child that is still there and comes after this one, so that it goes first.
fn waits_for(live: &Live, observed: &Observed, case: &Case<'_>) -> Option<String> {
    crate::reconcile::dismantle::waits_for(live, observed, &case.state.rule)
        .map(|mark| place_name(&mark.child, &mark.items))
}

fn held_by(live: &Live) -> String {
    crate::reconcile::dismantle::held_by(live)
}
