//! What a value of a template is made of.
//!
//! In: the ways that values take through expressions. Out: [`Sources`]. Never here: templates.

use super::ANY;
use std::collections::BTreeSet;

/// Sources of one value are cut off here; a template that has more names the first of them.
const MOST: usize = 200;

/// Something that a value is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// A name and the steps that follow: `["children", "creds", "data", "*"]`.
    pub path: Vec<String>,
    /// Whether only a hash of it is left.
    pub hashed: bool,
    /// Whether the value is it, or a list or map of its parts, and not a text or something that was put together.
    pub whole: bool,
}

/// Everything that a value is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(BTreeSet<Source>);

impl Sources {
    /// A name of the context.
    pub(super) fn name(name: &str) -> Self {
        Self(BTreeSet::from([Source { path: vec![name.to_owned()], hashed: false, whole: true }]))
    }

    /// In order, each once.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// Adds those of another value that may be there instead, or beside.
    pub(super) fn add(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
        while self.0.len() > MOST {
            self.0.pop_last();
        }
    }

    /// The value one step below. What was put together has no known parts: all of it stays.
    pub(super) fn step(&self, step: &str) -> Self {
        let below = |source: &Source| {
            let mut below = source.clone();
            if source.whole && !source.hashed {
                below.path.push(step.to_owned());
            }
            below
        };
        Self(self.0.iter().map(below).collect())
    }

    /// An element, or the value under some key.
    pub(super) fn any(&self) -> Self {
        self.step(ANY)
    }

    /// Something made of it.
    pub(super) fn mixed(&self) -> Self {
        Self(self.0.iter().map(|source| Source { whole: false, ..source.clone() }).collect())
    }

    /// A hash of it.
    pub(super) fn hashed(&self) -> Self {
        let hash = |source: &Source| Source { whole: false, hashed: true, ..source.clone() };
        Self(self.0.iter().map(hash).collect())
    }
}
