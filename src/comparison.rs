//! Comparisons: the decisions of a rule.
//!
//! In: comparisons as written, and the objects they read. Out: compiled comparisons, and verdicts that explain
//! themselves. Never here: decoding YAML, a clock, a client.
//!
//! # The rules
//!
//! - A comparison is a reference and one operator. It reads the values that the reference leads to; see
//!   [`Path::lookup`] for what is *missing* and what is merely *not there to go over*.
//! - Every value must pass; with `some: true` one is enough. Over no values (`$.a[*]` where `a` is empty, null or
//!   absent) every one passes, and none does.
//! - What is missing (`$.a` where there is none, `$.a[*].b` where an element has no `b`, a filter that selects
//!   nothing) fails every operator except `exists: false`. A `default` takes its place. Null is not missing.
//! - `exists: true` holds if there is a value and none is missing or null; over no values it fails. `exists: false`
//!   holds if every value is missing or null; over no values it holds.
//! - `count` counts the values that are there, null included; it is 0 where something is missing.
//! - What cannot be read as `as` says, and what has no order, fails every operator, `notEquals` too. So does a right
//!   side that is missing. `not` turns a failure into a success, for these as for all.
//! - If an object does not exist yet, on either side, the verdict is unknown; `allOf`, `anyOf` and `not` follow the
//!   logic of Kleene.
//! - Numbers are compared by worth and to the last digit; text is never a number.

mod compile;
mod duration;
mod evaluate;
mod meaning;
mod names;
mod operand;
mod quantity;
mod reference;
mod relation;
mod right;
mod sentence;
mod single;
mod statement;
mod suggestion;
mod verdict;
mod written;

pub use crate::path::equality;
pub use compile::Mistake;
pub use duration::{DurationError, GoDuration};
pub use meaning::Meaning;
pub use names::{Names, RootKind};
pub use quantity::{Quantity, QuantityError};
pub use reference::{Found, Leaf, Readiness, Reference, Root, Scope, Values};
pub use suggestion::closest;
pub use verdict::{MOST_FAILING, Truth, Verdict};
pub use written::{Operand, Operator, Written, WrittenReference};

use crate::path::Path;
use relation::Relation;
use right::Right;
use std::collections::{BTreeMap, BTreeSet};

/// A compiled comparison. It cannot be invalid.
#[derive(Clone, Debug)]
pub struct Comparison(Tree);

#[derive(Clone, Debug)]
enum Tree {
    All(Vec<Comparison>),
    Any(Vec<Comparison>),
    Not(Box<Comparison>),
    Single(Single),
}

/// A reference and its operator.
#[derive(Clone, Debug)]
struct Single {
    subject: Reference,
    some: bool,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Exists(bool),
    Ready(bool),
    Relates(Relation),
    /// The number of values, not the values.
    Counts(Relation),
}

impl Comparison {
    /// The names of all objects it reads, sorted, each once.
    pub fn roots(&self) -> impl Iterator<Item = &str> {
        let mut names = BTreeSet::new();
        self.visit(&mut |single| {
            names.insert(single.subject.of());
            names.extend(single.right().map(Reference::of));
        });
        names.into_iter()
    }

    /// Which paths it reads in which object, without those asked for readiness alone.
    pub fn paths_by_root(&self) -> BTreeMap<&str, Vec<&Path>> {
        self.paths(|test| !matches!(test, Test::Ready(_)))
    }

    /// Which of them lead to values that its sentence may quote.
    pub fn quoted_by_root(&self) -> BTreeMap<&str, Vec<&Path>> {
        self.paths(|test| matches!(test, Test::Relates(_)))
    }

    fn paths(&self, wanted: impl Fn(&Test) -> bool) -> BTreeMap<&str, Vec<&Path>> {
        let mut paths: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        self.visit(&mut |single| {
            let left = wanted(&single.test).then_some(&single.subject);
            for reference in left.into_iter().chain(single.right()) {
                let known = paths.entry(reference.of()).or_default();
                if !known.contains(&reference.path()) {
                    known.push(reference.path());
                }
            }
        });
        paths
    }

    /// The names of the objects it asks for readiness, sorted, each once.
    pub fn ready_roots(&self) -> impl Iterator<Item = &str> {
        let mut names = BTreeSet::new();
        self.visit(&mut |single| {
            if matches!(single.test, Test::Ready(_)) {
                names.insert(single.subject.of());
            }
        });
        names.into_iter()
    }

    fn visit<'c>(&'c self, see: &mut dyn FnMut(&'c Single)) {
        match &self.0 {
            Tree::All(parts) | Tree::Any(parts) => parts.iter().for_each(|part| part.visit(see)),
            Tree::Not(inner) => inner.visit(see),
            Tree::Single(single) => see(single),
        }
    }
}

impl Single {
    fn right(&self) -> Option<&Reference> {
        match &self.test {
            Test::Relates(Relation { right: Right::Reference(reference), .. })
            | Test::Counts(Relation { right: Right::Reference(reference), .. }) => Some(reference),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
