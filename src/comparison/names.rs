//! The names that a comparison may refer to at its place in a rule.
//!
//! In: what the compiler of rules knows. Out: lookups, and suggestions for wrong names. Never here: values.

use super::suggestion::closest;
use std::collections::BTreeMap;

/// The names that `of` may say, and the one it says when it is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    default: String,
    known: BTreeMap<String, RootKind>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// The watched object.
    Parent,
    /// An object that the rule only reads.
    Input,
    /// An object that the rule wants, or a map of them.
    Child,
    /// An element of a `forEach`.
    Item,
    /// The rule's own values.
    Let,
    /// In `ready`, the child whose readiness is judged.
    Itself,
}

impl RootKind {
    /// Whether there is an answer to `ready`.
    pub(super) fn can_be_ready(self) -> bool {
        matches!(self, Self::Child | Self::Input)
    }
}

impl Names {
    /// With the name that `of` defaults to: `parent`, or `self` in `ready`.
    pub fn new(default: &str, kind: RootKind) -> Self {
        Self { default: default.to_owned(), known: BTreeMap::new() }.with(default, kind)
    }

    /// And one more name.
    pub fn with(mut self, name: &str, kind: RootKind) -> Self {
        self.known.insert(name.to_owned(), kind);
        self
    }

    /// The same names, but another one is meant where `of` is left out.
    pub fn with_default(mut self, name: &str, kind: RootKind) -> Self {
        name.clone_into(&mut self.default);
        self.with(name, kind)
    }

    /// What a name stands for, if it is known.
    pub fn kind(&self, name: &str) -> Option<RootKind> {
        self.known.get(name).copied()
    }

    pub(super) fn default_name(&self) -> &str {
        &self.default
    }

    /// What to write instead of a name that is not known.
    pub(super) fn suggest(&self, wrong: &str) -> String {
        let all = self.known.keys().map(String::as_str);
        let list = all.clone().collect::<Vec<_>>().join(", ");
        match closest(wrong, all) {
            Some(name) => format!("did you mean `{name}`? known here: {list}"),
            None => format!("known here: {list}"),
        }
    }
}
