//! How each child stands, and what that makes of the parent.
//!
//! In: what was desired, what came of it, what exists now. Out: a line per child, and Ready, Reconciling and Stalled. Pure.

use super::condition::{Condition, Truth, kind};
use super::reason::Reason;
use crate::act::patch::Patched;
use crate::act::{Done, Outcome, Trouble};
use crate::fetch::Observed;
use crate::object::ObjectId;
use crate::problem::Problem;
use crate::ready::Readiness;
use crate::refusal::{Class, HeldField};
use crate::render::{Desired, Stuck, place_name};
use crate::report::{ChildReport, State};
use crate::rule::Rule;
use crate::view::View;

/// At most so many children are named in a message.
const NAMED: usize = 5;

/// What the children make of the parent.
pub(super) struct Summary {
    reason: Reason,
    pub(super) message: String,
}

impl Summary {
    /// Ready, Reconciling and Stalled, always all three.
    pub(super) fn conditions(&self, prefix: &str) -> Vec<Condition> {
        let condition = |kind: &str, holds: bool| Condition {
            kind: format!("{prefix}{kind}"),
            truth: Truth::from(holds),
            reason: self.reason.as_str().to_owned(),
            message: self.message.clone(),
        };
        vec![
            condition(kind::READY, self.state() == State::Ready),
            condition(kind::RECONCILING, self.state() == State::InProgress),
            condition(kind::STALLED, self.state() == State::Failed),
        ]
    }
}

/// One line per child: those with objects in the order of the rule, then those that are stuck.
pub(super) fn of_children(
    rule: &Rule,
    desired: &Desired,
    (outcome, edits): (&Outcome, &Patched),
    after: &Observed,
    view: &View<'_>,
) -> Vec<Line> {
    let with_objects = desired.children.iter().zip(&outcome.children).map(|(child, result)| {
        let standing = match result {
            Ok(_) if outcome.contested.contains_key(&child.id) => {
                contested(&outcome.contested[&child.id])
            }
            Err(trouble) if !trouble.is_stale() => of_trouble(trouble),
            Ok(Done::WaitingGone) => {
                Standing::progressing("it is being deleted and comes back after that")
            }
            Ok(Done::Removed(..)) => Standing::progressing("it is created anew"),
            // What changed under our hands is judged again at once, and stands as it did until then.
            Ok(Done::Kept | Done::Written(..) | Done::Found(_)) | Err(_) => {
                match after.children.get(&child.id) {
                    Some(live) => of_readiness(view.readiness(rule.child(&child.child), live)),
                    None => Standing::progressing("it was written a moment ago"),
                }
            }
        };
        standing.line(&child.name(), Some(child.id.clone()))
    });
    let stuck = desired.stuck.iter().map(|((child, items), stuck)| {
        let standing = match stuck {
            Stuck::Waiting(why) => Standing::new(Reason::Waiting, why.clone()),
            Stuck::Failed(problem) => Standing::new(Reason::RenderFailed, problem.to_string()),
        };
        standing.line(&place_name(child, items), None)
    });
    let pruned = outcome.pruned.iter().filter_map(|(id, result)| {
        let refusal = result.as_ref().err()?;
        let mark = after.children.get(id)?.mark.as_ref()?;
        let child = place_name(&mark.child, &mark.items);
        let standing = of_refusal(&refusal.class, format!("it cannot be deleted: {refusal}"));
        Some(standing.line(&child, Some(id.clone())))
    });
    let edited = desired.patches.iter().zip(&edits.results).map(|(patch, result)| {
        let standing = match result {
            Err(trouble) if !trouble.is_stale() => of_trouble(trouble),
            Ok(Done::WaitingGone) => {
                Standing::progressing("the object that it edits is being deleted")
            }
            Ok(_) | Err(_) => Standing::new(Reason::Ready, String::new()),
        };
        standing.line(&patch.wanted.name(), Some(patch.wanted.id.clone()))
    });
    let unedited = edits.removed.iter().filter_map(|((child, items), result)| {
        let refusal = result.as_ref().err()?;
        let message = format!("the edit cannot be taken back: {refusal}");
        Some(of_refusal(&refusal.class, message).line(&place_name(child, items), None))
    });
    with_objects.chain(edited).chain(stuck).chain(pruned).chain(unedited).collect()
}

/// A child's line, and the reason that it gives the parent.
pub(super) struct Line {
    pub(super) report: ChildReport,
    reason: Reason,
}

struct Standing {
    reason: Reason,
    message: String,
}

impl Standing {
    fn new(reason: Reason, message: String) -> Self {
        Self { reason, message }
    }

    fn progressing(message: &str) -> Self {
        Self::new(Reason::Progressing, message.to_owned())
    }

    fn line(self, child: &str, object: Option<ObjectId>) -> Line {
        let Self { reason, message } = self;
        let report =
            ChildReport { child: child.to_owned(), object, state: reason.state(), message };
        Line { report, reason }
    }
}

fn of_readiness(readiness: Readiness) -> Standing {
    match readiness {
        Readiness::Ready => Standing::new(Reason::Ready, String::new()),
        Readiness::InProgress(why) => Standing::new(Reason::Progressing, why),
        Readiness::Failed(why) => Standing::new(Reason::ChildFailed, why),
        Readiness::Terminating => Standing::progressing("it is being deleted"),
    }
}

fn of_trouble(trouble: &Trouble) -> Standing {
    match trouble {
        Trouble::NotOurs(why) => Standing::new(Reason::NotOwned, why.clone()),
        Trouble::Lost(why) => Standing::new(Reason::Lost, why.clone()),
        Trouble::Unseen(why) => Standing::new(Reason::Waiting, why.clone()),
        Trouble::Held(fields) => {
            let held: Vec<_> = fields
                .iter()
                .map(|held| format!("{} is held by {}", held.field, held.holder))
                .collect();
            Standing::new(Reason::Conflict, held.join(", "))
        }
        Trouble::Contested(fields) => contested(fields),
        Trouble::Refused(refusal) => of_refusal(&refusal.class, refusal.message.clone()),
    }
}

/// Somebody else changes a child again and again.
fn contested(fields: &[HeldField]) -> Standing {
    let told = |held: &HeldField| format!("{} by {}", held.field, held.holder);
    let mut told: Vec<String> = fields.iter().take(NAMED).map(told).collect();
    told.sort();
    let fields = if told.is_empty() { "its fields".to_owned() } else { told.join(", ") };
    let message = format!("it is changed again and again: {fields}");
    Standing::new(Reason::Conflict, message)
}

fn of_refusal(class: &Class, message: String) -> Standing {
    match class {
        Class::Forbidden => Standing::new(Reason::Forbidden, message),
        Class::Withheld => Standing::new(Reason::DeletionWithheld, message),
        Class::Permanent | Class::Held(_) => Standing::new(Reason::ChildFailed, message),
        Class::Unavailable | Class::NotServed => Standing::new(Reason::Waiting, message),
        Class::NotFound | Class::Stale | Class::Transient(_) => {
            Standing::new(Reason::Progressing, message)
        }
    }
}

/// The worst child decides; a failure says more than a wait, and a wait more than progress.
pub(super) fn summary(desired: &Desired, lines: &[Line], fields: Option<&Problem>) -> Summary {
    if let Some(problem) = desired.failed.as_ref() {
        return Summary::new(Reason::RenderFailed, problem.to_string());
    }
    let worst = |state| lines.iter().filter(move |line| line.report.state == state);
    if let Some(first) = worst(State::Failed).next() {
        return Summary::new(first.reason, named(worst(State::Failed)));
    }
    if let Some(problem) = fields {
        return Summary::new(Reason::RenderFailed, problem.to_string());
    }
    let waiting = worst(State::InProgress).find(|line| line.reason == Reason::Waiting);
    if let Some(first) = waiting.or_else(|| worst(State::InProgress).next()) {
        let message = named(worst(State::InProgress));
        return Summary::new(first.reason, message);
    }
    let message = "every child exists and is ready".to_owned();
    Summary::new(Reason::Ready, message)
}

/// The declared status fields are refused.
pub(super) fn refused(message: &str) -> Summary {
    let message = format!("the API server refuses the declared status fields: {message}");
    Summary::new(Reason::StatusRefused, message)
}

impl Summary {
    fn new(reason: Reason, message: String) -> Self {
        Self { reason, message }
    }

    pub(super) fn state(&self) -> State {
        self.reason.state()
    }
}

/// `deployment: 0 of 2 replicas are ready; service: …`, at most five.
fn named<'a>(lines: impl Iterator<Item = &'a Line>) -> String {
    let mut named: Vec<String> =
        lines.map(|line| format!("{}: {}", line.report.child, line.report.message)).collect();
    named.sort();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join("; ")
}
