//! What the parent's status should say, and at most one write of it.
//!
//! In: what was desired, what came of it, what exists now. Out: [`Said`] (pure), then a patch if something differs.
//! Messages hold no times, counters or versions: equal situations give equal texts, and so no write.

mod condition;
mod fields;
mod reason;
mod shape;
mod standing;
mod write;

pub(crate) use condition::conditions;
pub use condition::{Condition, Truth as Status, kind};
pub use reason::Reason;
pub use shape::{Conditions, Shape, shape_of};
pub use write::{Sent, StatusChange, StatusMemory, Written, change, write};

use crate::act::Outcome;
use crate::act::patch::Patched;
use crate::comparison::{MOST_FAILING, Truth};
use crate::fetch::Observed;
use crate::problem::Problem;
use crate::render::Desired;
use crate::report::{Report, State};
use crate::rule::{ConditionRule, Rule};
use crate::template::{Awaits, Failure, Part};
use crate::view::View;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What is to be said about a parent.
pub struct Said {
    /// Before the types of the conditions that every rule has.
    prefix: String,
    /// Conditions, ours first.
    pub conditions: Vec<Condition>,
    /// Types of conditions that stay as they are, since nothing can be said of them now.
    pub kept: Vec<String>,
    /// Declared fields; nothing if their template failed, so that the old ones stay.
    pub fields: Option<Map<String, Value>>,
    /// The same for people.
    pub report: Report,
    /// When time alone may change it.
    pub look_again: Option<Timestamp>,
    /// Mistakes in what the rule says of the status; conditions tell them too.
    pub problems: Vec<Problem>,
}

/// Computes the status. Pure.
pub fn compute(
    rule: &Rule,
    desired: &Desired,
    (outcome, edits): (&Outcome, &Patched),
    after: &Observed,
    now: Timestamp,
) -> Said {
    let view = desired.view(rule, after, now);
    let lines = standing::of_children(rule, desired, (outcome, edits), after, &view);
    let rules = rule.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let mut problems = Vec::new();
    let (own, kept): (Vec<Condition>, Vec<String>) =
        if desired.failed.is_some() || desired.unselected {
            (Vec::new(), rules.iter().map(|condition| condition.kind.clone()).collect())
        } else {
            let declared = |condition| declared(rule, condition, &view, &mut problems);
            (rules.iter().map(declared).collect(), Vec::new())
        };
    let truths: BTreeMap<&str, condition::Truth> =
        own.iter().map(|condition| (condition.kind.as_str(), condition.truth)).collect();
    let (fields, failed) = if desired.unselected {
        (None, None)
    } else {
        fields::compute(rule, desired, &view, &truths)
    };
    let summary = standing::summary(desired, &lines, failed.as_ref());
    problems.extend(failed);
    let report = Report {
        rule: rule.name.to_string(),
        parent: after.parent.id.clone(),
        state: summary.state(),
        message: if summary.state() == State::Ready {
            String::new()
        } else {
            summary.message.clone()
        },
        children: lines.into_iter().map(|line| line.report).collect(),
        fields: fields
            .iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    };
    let look_again = view.look_again().into_iter().chain(desired.look_again).min();
    let prefix = rule.status.as_ref().map(|status| status.prefix.clone()).unwrap_or_default();
    if desired.unselected {
        // Of what is none of the rule's parents it says nothing.
        let fields = Some(Map::new());
        let (conditions, kept) = (Vec::new(), Vec::new());
        return Said { prefix, conditions, kept, fields, report, look_again, problems };
    }
    let conditions = [summary.conditions(&prefix), own].concat();
    Said { prefix, conditions, kept, fields, report, look_again, problems }
}

impl Said {
    /// The server refuses the declared fields: the old ones stay, and the conditions tell.
    fn refused(&mut self, message: &str) {
        let summary = standing::refused(message);
        let usual = summary.conditions(&self.prefix);
        let own = self.conditions.split_off(usual.len());
        self.conditions = [usual, own].concat();
        self.fields = None;
        (self.report.state, self.report.message) = (summary.state(), summary.message);
    }
}

/// Names for a message: sorted, and at most five.
fn list(names: &BTreeSet<String>) -> String {
    let mut shown: Vec<&str> = names.iter().take(MOST_FAILING).map(String::as_str).collect();
    if names.len() > MOST_FAILING {
        shown.push("and more");
    }
    shown.join(", ")
}

/// A condition that the rule declares.
fn declared(
    rule: &Rule,
    condition: &ConditionRule,
    view: &View<'_>,
    problems: &mut Vec<Problem>,
) -> Condition {
    let verdict = view.evaluate(&condition.when);
    let (truth, because) = match verdict.truth {
        Truth::Holds => (condition::Truth::True, Some(&condition.then)),
        Truth::Fails => (condition::Truth::False, Some(&condition.otherwise)),
        Truth::Unknown => (condition::Truth::Unknown, condition.unknown.as_ref()),
    };
    let message = because.and_then(|because| because.message.as_ref()).map(|message| {
        let failing = Value::from(list(&verdict.failing));
        let mut context = view.context().into_owned();
        context.insert("failing", Part::new("failing", &failing, Awaits::Nothing));
        rule.templates.line(message, &context).unwrap_or_else(|failure| {
            let said = failure.summary();
            if let Failure::Failed(problem) = failure {
                problems.push(problem);
            }
            said
        })
    });
    Condition {
        kind: condition.kind.clone(),
        truth,
        reason: because.map_or_else(|| "Unknown".to_owned(), |because| because.reason.clone()),
        message: message.unwrap_or(verdict.sentence),
    }
}
