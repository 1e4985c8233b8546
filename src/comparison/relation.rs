//! An operator with its right side, judged against one value at a time.
//!
//! In: values of the left side, the right side at this moment, "now". Out: whether they relate, and until when.
//! Never here: several values, negation, sentences.

use super::meaning::{Meaning, Meant};
use super::reference::Leaf;
use super::right::{Right, Term, Terms};
use super::written::Operator;
use crate::path::equality;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::cmp::Ordering;

/// A compiled operator other than `exists` and `ready`.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) operator: Operator,
    pub(super) meaning: Option<Meaning>,
    pub(super) right: Right,
}

/// What one value turned out to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Finding {
    pub(super) holds: bool,
    /// When time alone turns it over.
    pub(super) flips: Option<Timestamp>,
    /// What the value should be to be compared at all, with its article.
    pub(super) unfit: Option<&'static str>,
}

impl Relation {
    /// Judges one value of the left side. Something missing, and something that cannot be read as what it should
    /// mean, fails every operator.
    pub(super) fn judge(&self, leaf: Leaf<'_>, wanted: &Terms<'_>, now: Timestamp) -> Finding {
        let Some(value) = leaf.value() else {
            return Finding::default();
        };
        let unfit = |noun| Finding { unfit: Some(noun), ..Finding::default() };
        let holds = |holds| Finding { holds, ..Finding::default() };
        let left = match self.meaning {
            Some(meaning) => match meaning.read(value) {
                Ok(meant) => Some(meant),
                Err(_) => return unfit(meaning.noun()),
            },
            None => None,
        };
        let same = |term: &Term<'_>| match (&left, &term.meant) {
            (Some(left), Some(right)) => left.order(right) == Some(Ordering::Equal),
            _ => equality::equal(value, term.value),
        };
        match self.operator {
            Operator::Equals | Operator::In => holds(wanted.list.iter().any(same)),
            Operator::NotEquals | Operator::NotIn => holds(!wanted.list.iter().any(same)),
            Operator::Contains => {
                contains(value, wanted).map_or(unfit("text, a list or a map"), holds)
            }
            Operator::Matches => match (value.as_str(), wanted.pattern) {
                (Some(text), Some(pattern)) => holds(pattern.is_match(text)),
                _ => unfit("text"),
            },
            Operator::AtLeast | Operator::AtMost | Operator::MoreThan | Operator::LessThan => {
                self.judge_order(value, left.as_ref(), wanted, now)
            }
            // Judged without a relation.
            Operator::Exists | Operator::Ready => Finding::default(),
        }
    }

    fn judge_order(
        &self,
        value: &Value,
        left: Option<&Meant>,
        wanted: &Terms<'_>,
        now: Timestamp,
    ) -> Finding {
        let Some(term) = wanted.list.first() else {
            return Finding::default();
        };
        let mut flips = None;
        let ordering = match (left, term.meant.as_deref()) {
            (Some(Meant::Time(time)), Some(Meant::Duration(duration))) => {
                let age = now.as_nanosecond() - time.as_nanosecond();
                let reached = time.as_nanosecond() + duration.nanoseconds();
                // "More than" turns over one step after "at least" does.
                let step =
                    i128::from(matches!(self.operator, Operator::MoreThan | Operator::AtMost));
                flips =
                    Timestamp::from_nanosecond(reached + step).ok().filter(|flips| *flips > now);
                Some(age.cmp(&duration.nanoseconds()))
            }
            (Some(left), Some(right)) => left.order(right),
            _ => match (value, term.value) {
                (Value::Number(left), Value::Number(right)) => Some(equality::order(left, right)),
                _ => {
                    return Finding { unfit: Some("a number"), ..Finding::default() };
                }
            },
        };
        let holds = ordering.is_some_and(|ordering| match self.operator {
            Operator::AtLeast => ordering.is_ge(),
            Operator::AtMost => ordering.is_le(),
            Operator::MoreThan => ordering.is_gt(),
            _ => ordering.is_lt(),
        });
        Finding { holds, flips, unfit: None }
    }
}

/// A part of a text, an element of a list, a key of a map.
fn contains(value: &Value, wanted: &Terms<'_>) -> Option<bool> {
    let part = wanted.list.first()?.value;
    match (value, part) {
        (Value::String(text), Value::String(part)) => Some(text.contains(part.as_str())),
        (Value::Object(map), Value::String(key)) => Some(map.contains_key(key)),
        (Value::Array(list), part) => {
            Some(list.iter().any(|element| equality::equal(element, part)))
        }
        (Value::String(_) | Value::Object(_), _) => Some(false),
        _ => None,
    }
}
