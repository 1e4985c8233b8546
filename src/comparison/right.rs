//! The right side of an operator: a value, a list or a pattern in the rule, or a reference.
//!
//! In: the right side as compiled, and a scope. Out: the values of this moment, and how a sentence shows them.
//! Never here: comparing them.

use super::meaning::{Meaning, Meant};
use super::reference::{Found, Reference, Scope};
use super::relation::Relation;
use super::sentence::{cut, differ_by_quotes, hide, show, show_or_hide, show_with_kind};
use super::written::Operator;
use regex::Regex;
use serde_json::Value;
use std::borrow::Cow;

/// The right side as compiled.
#[derive(Clone, Debug)]
pub(super) enum Right {
    /// Of a list, if the operator takes one, else one.
    Literal(Vec<Literal>),
    Reference(Reference),
    /// Of `matches`.
    Pattern(Regex),
}

/// A value in the rule, with its meaning under `as`.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    pub(super) value: Value,
    pub(super) meant: Option<Meant>,
}

/// The right side at one moment.
pub(super) enum Wanted<'s> {
    /// Its object does not exist yet, and why.
    Unknown(String),
    /// It is missing, or nothing to compare with: the reason.
    Unusable(String),
    Terms(Terms<'s>),
}

pub(super) struct Terms<'s> {
    pub(super) list: Vec<Term<'s>>,
    pub(super) pattern: Option<&'s Regex>,
    /// The name of the reference they come from.
    source: Option<String>,
    secret: bool,
}

pub(super) struct Term<'s> {
    pub(super) value: &'s Value,
    pub(super) meant: Option<Cow<'s, Meant>>,
}

impl Terms<'_> {
    /// Whether the rule names them by a reference.
    pub(super) fn is_from_elsewhere(&self) -> bool {
        self.source.is_some()
    }
}

impl Relation {
    /// The right side now.
    pub(super) fn wanted<'s>(&'s self, scope: &'s dyn Scope) -> Wanted<'s> {
        match &self.right {
            Right::Literal(literals) => {
                let term = |literal: &'s Literal| Term {
                    value: &literal.value,
                    meant: literal.meant.as_ref().map(Cow::Borrowed),
                };
                let terms = literals.iter().map(term).collect();
                Wanted::Terms(Terms { list: terms, pattern: None, source: None, secret: false })
            }
            Right::Pattern(pattern) => {
                let terms =
                    Terms { list: vec![], pattern: Some(pattern), source: None, secret: false };
                Wanted::Terms(terms)
            }
            Right::Reference(reference) => self.wanted_of(reference, scope),
        }
    }

    fn wanted_of<'s>(&'s self, reference: &'s Reference, scope: &'s dyn Scope) -> Wanted<'s> {
        let found = match reference.find(scope) {
            Found::Unknown(why) => return Wanted::Unknown(why),
            Found::Values(found) => found,
        };
        let label = reference.label();
        let mut values: Vec<&Value> = found.leaves.iter().filter_map(|leaf| leaf.value()).collect();
        if reference.path.is_singular() {
            match (values.as_slice(), self.operator.takes_list()) {
                ([], _) => return Wanted::Unusable(format!("{label} is missing")),
                ([Value::Array(list)], true) => values = list.iter().collect(),
                ([value], true) => {
                    let shown = show_or_hide(value, found.secret);
                    return Wanted::Unusable(format!("{label} is {shown}, which is not a list"));
                }
                _ => {}
            }
        }
        let mut terms = Vec::with_capacity(values.len());
        for value in values {
            match self.read_right(value) {
                Ok(meant) => terms.push(Term { value, meant: meant.map(Cow::Owned) }),
                Err(noun) => {
                    let shown = show_or_hide(value, found.secret);
                    return Wanted::Unusable(format!("{label} is {shown}, which is not {noun}"));
                }
            }
        }
        Wanted::Terms(Terms {
            list: terms,
            pattern: None,
            source: Some(label),
            secret: found.secret,
        })
    }

    /// Reads one value of the right side; an error says what it should be.
    fn read_right(&self, value: &Value) -> Result<Option<Meant>, &'static str> {
        match self.meaning.map(Meaning::of_right) {
            Some(meaning) => meaning.read(value).map(Some).map_err(|_| meaning.noun()),
            None if self.operator.orders() && !value.is_number() => Err("a number"),
            None => Ok(None),
        }
    }

    /// The right side as a sentence names it; `beside` is the value it is compared with, if one is shown.
    pub(super) fn show_wanted(
        &self,
        wanted: &Terms<'_>,
        beside: Option<&Value>,
        beside_secret: bool,
    ) -> String {
        let source = wanted.source.as_ref();
        // "It is X" together with "equal to Y" tells a secret X, "at least Y" does not.
        if beside_secret && !self.operator.orders() {
            let is_pattern = self.operator == Operator::Matches;
            let what = if is_pattern { "the pattern" } else { "the value" };
            return match source {
                Some(source) => format!("{what} of {source}"),
                None => format!("{what} in the rule"),
            };
        }
        if let Some(pattern) = wanted.pattern {
            return show(&Value::from(pattern.as_str()));
        }
        let shown = |term: &Term<'_>| match term.value {
            value if wanted.secret => hide(value),
            Value::String(text) if self.meaning == Some(Meaning::Age) => cut(text),
            value if beside.is_some_and(|beside| self.confuses(beside, wanted)) => {
                show_with_kind(value)
            }
            value => show(value),
        };
        let mut list: Vec<_> = wanted.list.iter().take(MAX_SHOWN).map(shown).collect();
        match wanted.list.len().saturating_sub(MAX_SHOWN) {
            _ if list.is_empty() => list.push("an empty list".to_owned()),
            0 => {}
            more => list.push(format!("{more} more")),
        }
        let list = list.join(", ");
        match source {
            Some(source) => format!("{list} ({source})"),
            None => list,
        }
    }

    /// A value of the left side as a sentence shows it.
    pub(super) fn show_found(&self, value: &Value, secret: bool, wanted: &Terms<'_>) -> String {
        if secret || (wanted.secret && !self.operator.orders()) {
            hide(value)
        } else if self.confuses(value, wanted) {
            show_with_kind(value)
        } else {
            show(value)
        }
    }

    /// Whether a reader could take a value for what is wanted: `"8080"` and `8080`.
    fn confuses(&self, value: &Value, wanted: &Terms<'_>) -> bool {
        self.meaning.is_none()
            && match wanted.list.as_slice() {
                [only] => differ_by_quotes(value, only.value),
                several => several.iter().any(|term| {
                    differ_by_quotes(value, term.value) && same_without_quotes(value, term.value)
                }),
            }
    }
}

/// Of a text and a scalar.
fn same_without_quotes(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::String(text), scalar) | (scalar, Value::String(text)) => {
            let scalar = scalar.to_string();
            *text == scalar
        }
        _ => false,
    }
}

/// Values of a list that a sentence shows.
const MAX_SHOWN: usize = 5;
