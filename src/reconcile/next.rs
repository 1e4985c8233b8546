//! When a parent is looked at again.
//!
//! In: how the parts of a pass ended. Out: [`Next`], for the queue. Never here: waiting.

use crate::act::patch::Patched;
use crate::act::{BACKSTOP, Done, Outcome, Trouble};
use crate::queue::{Lane, random};
use crate::refusal::{Class, Refusal};
use crate::render::Desired;
use crate::rule::Rule;
use crate::status::Sent;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// When to look again: both may be said, and the earlier counts. An event always counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Next {
    /// Something failed that may pass by itself: after the backoff.
    pub failed: bool,
    /// After this time, in this lane.
    pub look: Option<(Duration, Lane)>,
}

impl Next {
    pub(crate) const FAILED: Self = Self { failed: true, look: None };

    pub(crate) fn after(delay: Duration, lane: Lane) -> Self {
        Self { failed: false, look: Some((delay, lane)) }
    }

    pub(super) fn at(moment: Option<Instant>) -> Self {
        let delay = |at: Instant| (at.saturating_duration_since(Instant::now()), Lane::Drift);
        Self { failed: false, look: moment.map(delay) }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        let look = self.look.into_iter().chain(other.look).min();
        Self { failed: self.failed || other.failed, look }
    }
}

/// When to look at the children again.
pub(super) fn after_outcome(
    rule: &Rule,
    desired: &Desired,
    outcome: &Outcome,
    wrote: bool,
) -> Next {
    let children = outcome.children.iter().filter_map(|result| result.as_ref().err());
    let pruned = outcome.pruned.iter().filter_map(|(_, result)| result.as_ref().err());
    let all = children.map(after_trouble).chain(pruned.map(after_write));
    // What waits may find now what it waits for, and what is made of another child may come out differently.
    let depends = desired.waiting().next().is_some() || rule.children_read_each_other();
    let waits = wrote && depends;
    // An object with generated values that the cache did not know is rendered anew with them.
    let is_found = |result: &Result<Done, Trouble>| matches!(result, Ok(Done::Found(_)));
    let waits = waits || outcome.children.iter().any(is_found);
    let waiting = if waits { Next::after(Duration::ZERO, Lane::Finish) } else { Next::default() };
    all.fold(waiting.and(Next::at(outcome.look_again)), Next::and)
}

pub(super) fn after_edits(edits: &Patched) -> Next {
    let troubles = edits.results.iter().filter_map(|result| result.as_ref().err());
    let removals = edits.removed.iter().filter_map(|(_, result)| result.as_ref().err());
    let all = troubles.map(after_trouble).chain(removals.map(after_refusal));
    all.fold(Next::at(edits.look_again), Next::and)
}

fn after_trouble(trouble: &Trouble) -> Next {
    match trouble {
        // We may have missed how it became free. No request is sent before its time.
        Trouble::NotOurs(_) => Next::FAILED,
        // Whoever watches the lists wakes all parents when there is more to see; the time of the others comes with the
        // outcome.
        Trouble::Unseen(_) | Trouble::Held(_) | Trouble::Contested(_) | Trouble::Lost(_) => {
            Next::default()
        }
        Trouble::Refused(refusal) => after_write(refusal),
    }
}

/// After a refused write or deletion of a child.
fn after_write(refusal: &Refusal) -> Next {
    match refusal.class {
        Class::Permanent
        | Class::Withheld
        | Class::Forbidden
        | Class::Unavailable
        | Class::NotServed
        | Class::Held(_) => Next::default(),
        Class::NotFound | Class::Stale | Class::Transient(_) => after_refusal(refusal),
    }
}

pub(super) fn after_refusal(refusal: &Refusal) -> Next {
    match &refusal.class {
        Class::Permanent => Next::after(BACKSTOP, Lane::Drift),
        Class::Transient(Some(delay)) => Next::after(*delay, Lane::Drift),
        Class::NotFound
        | Class::Stale
        | Class::Held(_)
        | Class::Forbidden
        | Class::Unavailable
        | Class::NotServed
        | Class::Transient(None) => Next::FAILED,
        // Whoever holds it back wakes the parent.
        Class::Withheld => Next::default(),
    }
}

/// When to look at the status again. What is gone needs none; a rule may read the status that it wrote itself.
pub(super) fn after_status(written: &Result<Sent, Refusal>) -> Next {
    match written {
        Ok(Sent::Same) | Err(Refusal { class: Class::NotFound, .. }) => Next::default(),
        Ok(Sent::Now) => Next::after(Duration::ZERO, Lane::Finish),
        Ok(Sent::Later(delay)) => Next::after(*delay, Lane::Finish),
        Err(refusal) => after_refusal(refusal),
    }
}

/// When time alone may change something, or the rule wants to look.
pub(super) fn by_time(rule: &Rule, look_again: Option<Timestamp>, now: Timestamp) -> Next {
    let at = look_again.map(|at| Next::after(from(now, at), Lane::Drift));
    at.unwrap_or_default().and(rule.resync.map_or(Next::default(), resync))
}

/// Up to a tenth earlier, so that parents which came together do not stay together.
fn resync(every: Duration) -> Next {
    Next::after(every.mul_f64(1.0 - random() / 10.0), Lane::Bulk)
}

/// How long until a moment; one that has passed means now.
fn from(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}
