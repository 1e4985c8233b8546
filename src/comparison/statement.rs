//! What is stated about each value, and how sentences word it.
//!
//! In: a compiled test. Out: findings about values, and the pieces of sentences. Never here: which of several values
//! decides.

use super::meaning::Meaning;
use super::reference::Leaf;
use super::relation::{Finding, Relation};
use super::right::Terms;
use super::sentence::show;
use super::written::Operator;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// Something that can be said of one value.
pub(super) enum Statement<'s> {
    /// It is there and not null, or the opposite.
    Exists(bool),
    Relates {
        relation: &'s Relation,
        wanted: &'s Terms<'s>,
    },
}

/// One value that a sentence is about.
pub(super) struct About<'s> {
    pub(super) label: String,
    pub(super) leaf: Leaf<'s>,
    pub(super) secret: bool,
}

/// How a statement is meant: as it stands, or the opposite, below `not`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    Affirmed,
    Denied,
}

impl Sense {
    pub(super) fn flipped(self) -> Self {
        match self {
            Self::Affirmed => Self::Denied,
            Self::Denied => Self::Affirmed,
        }
    }

    /// Whether what was meant is so.
    pub(super) fn is_met(self, holds: bool) -> bool {
        holds == (self == Self::Affirmed)
    }
}

impl Statement<'_> {
    pub(super) fn judge(&self, leaf: Leaf<'_>, now: Timestamp) -> Finding {
        match self {
            Self::Exists(wanted) => {
                let there = leaf.value().is_some_and(|value| !value.is_null());
                Finding { holds: there == *wanted, ..Finding::default() }
            }
            Self::Relates { relation, wanted } => relation.judge(leaf, wanted, now),
        }
    }

    /// Whether it holds of no values at all, if every one must. Nothing exists among none.
    pub(super) fn of_none(&self) -> bool {
        !matches!(self, Self::Exists(true))
    }

    /// The sentence on one value: `S is 0, should be at least 1`.
    pub(super) fn about(&self, about: &About<'_>, finding: Finding, sense: Sense) -> String {
        let fact = self.fact(about, finding);
        if !sense.is_met(finding.holds) {
            return format!("{fact}, {}", self.demand(sense, about.leaf, about.secret));
        }
        let comparable = about.leaf != Leaf::Missing && finding.unfit.is_none();
        if comparable && self.adds_to_the_fact(sense) {
            return format!("{fact}, which {}", self.predicate(sense, about.leaf, about.secret));
        }
        fact
    }

    /// What was found: `S is 0`.
    fn fact(&self, about: &About<'_>, finding: Finding) -> String {
        let About { label, leaf, secret } = about;
        let (relation, wanted) = match self {
            Self::Exists(_) => {
                return match leaf.value() {
                    None => format!("{label} is missing"),
                    Some(Value::Null) => format!("{label} is null"),
                    Some(_) => format!("{label} exists"),
                };
            }
            Self::Relates { relation, wanted } => (*relation, *wanted),
        };
        let unfit = finding.unfit.map(|noun| format!(", which is not {noun}")).unwrap_or_default();
        match leaf {
            Leaf::Missing => format!("{label} is missing"),
            _ if relation.meaning == Some(Meaning::Age) && finding.unfit.is_none() => {
                let wanted = self.wanted_beside(*leaf, *secret);
                format!("{label} {}", age_fact(relation, finding.holds, &wanted))
            }
            Leaf::Found(value) => {
                format!("{label} is {}{unfit}", relation.show_found(value, *secret, wanted))
            }
            Leaf::Default(value) => format!("{label} is {} by default{unfit}", show(value)),
        }
    }

    /// About several: `is at least 1`, `does not contain "x"`.
    pub(super) fn predicate(&self, sense: Sense, beside: Leaf<'_>, secret: bool) -> String {
        match self {
            Self::Exists(wanted) => {
                if sense.is_met(*wanted) { "exists" } else { "is missing" }.to_owned()
            }
            Self::Relates { relation, .. } => {
                let (verb, negative, object) = words(relation);
                let text = match (verb, sense.is_met(!negative)) {
                    (Verb::Be, true) => "is",
                    (Verb::Be, false) => "is not",
                    (Verb::Contain, true) => "contains",
                    (Verb::Contain, false) => "does not contain",
                    (Verb::Match, true) => "matches",
                    (Verb::Match, false) => "does not match",
                };
                format!("{text} {object}{}{}", self.wanted_beside(beside, secret), ago(relation))
            }
        }
    }

    /// What should be: `should be at least 1`, `should not match "x"`.
    fn demand(&self, sense: Sense, beside: Leaf<'_>, secret: bool) -> String {
        match self {
            Self::Exists(wanted) => {
                if sense.is_met(*wanted) { "should exist" } else { "should not" }.to_owned()
            }
            Self::Relates { relation, .. } => {
                let (verb, negative, object) = words(relation);
                let not = if sense.is_met(!negative) { "" } else { "not " };
                let verb = match verb {
                    Verb::Be => "be",
                    Verb::Contain => "contain",
                    Verb::Match => "match",
                };
                let wanted = self.wanted_beside(beside, secret);
                format!("should {not}{verb} {object}{wanted}{}", ago(relation))
            }
        }
    }

    fn wanted_beside(&self, beside: Leaf<'_>, secret: bool) -> String {
        match self {
            Self::Exists(_) => String::new(),
            Self::Relates { relation, wanted } => {
                relation.show_wanted(wanted, beside.value(), secret)
            }
        }
    }

    /// `x is 5, which is 5` says nothing more than `x is 5`, and an age's fact is its predicate.
    fn adds_to_the_fact(&self, sense: Sense) -> bool {
        let Self::Relates { relation, wanted } = self else {
            return false;
        };
        let (_, negative, _) = words(relation);
        let is_equal = matches!(relation.operator, Operator::Equals | Operator::NotEquals)
            && sense.is_met(!negative);
        relation.meaning != Some(Meaning::Age) && (!is_equal || wanted.is_from_elsewhere())
    }
}

enum Verb {
    Be,
    Contain,
    Match,
}

/// The verb of an operator, whether it is negative in itself, and what stands before the value.
fn words(relation: &Relation) -> (Verb, bool, &'static str) {
    match relation.operator {
        Operator::NotEquals => (Verb::Be, true, ""),
        Operator::In => (Verb::Be, false, "one of "),
        Operator::NotIn => (Verb::Be, true, "one of "),
        Operator::AtLeast => (Verb::Be, false, "at least "),
        Operator::AtMost => (Verb::Be, false, "at most "),
        Operator::MoreThan => (Verb::Be, false, "more than "),
        Operator::LessThan => (Verb::Be, false, "less than "),
        Operator::Contains => (Verb::Contain, false, ""),
        Operator::Matches => (Verb::Match, false, ""),
        Operator::Equals | Operator::Exists | Operator::Ready => (Verb::Be, false, ""),
    }
}

fn ago(relation: &Relation) -> &'static str {
    if relation.meaning == Some(Meaning::Age) { " ago" } else { "" }
}

/// An age is never shown itself, since it grows: only how it relates to what is wanted.
fn age_fact(relation: &Relation, holds: bool, wanted: &str) -> String {
    let relates = match (relation.operator, holds) {
        (Operator::AtLeast, true) | (Operator::LessThan, false) => "at least",
        (Operator::MoreThan, true) | (Operator::AtMost, false) => "more than",
        (Operator::AtMost, true) | (Operator::MoreThan, false) => "at most",
        _ => "less than",
    };
    format!("is {relates} {wanted} ago")
}
