//! What a reference leads to: the left side of a comparison, and often the right side too.
//!
//! In: a compiled `{of, path, default}` and a [`Scope`] that knows the objects. Out: values, missing ones, or why
//! they cannot be known yet. Never here: judging the values.

use super::verdict::Truth;
use crate::path::Path;
use serde_json::Value;

/// The objects that a comparison may read, by the name a rule gives them.
pub trait Scope {
    /// The object called `name`. Only names that the comparison was compiled with are asked for.
    fn root(&self, name: &str) -> Root<'_>;

    /// Whether the child or input called `name` is ready. Asked for by the `ready` operator alone.
    fn readiness(&self, name: &str) -> Readiness;
}

/// One object of a scope.
#[derive(Clone, Debug, PartialEq)]
pub enum Root<'s> {
    /// It is there. An optional input that is absent is present as null.
    Present(&'s Value),
    /// It is there, and people must not see its values: a Secret, or what was made from one.
    Secret(&'s Value),
    /// It does not exist yet.
    Unknown {
        /// One sentence that names it: `deployment does not exist yet`.
        why: String,
    },
}

/// Whether an object is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Unknown while it does not exist.
    pub truth: Truth,
    /// Why it is not ready or unknown, as a fragment: `2 of 3 replicas are available`. May be empty if it is ready.
    pub reason: String,
}

/// A compiled `{of, path, default}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub(super) of: String,
    pub(super) path: Path,
    pub(super) default: Option<Value>,
}

/// What a reference leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'s> {
    /// Its object does not exist yet; the sentence of [`Root::Unknown`].
    Unknown(String),
    /// What is there.
    Values(Values<'s>),
}

/// The values that a reference leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Values<'s> {
    /// The object they are in.
    pub root: &'s Value,
    /// In the order of [`Path::lookup`].
    pub leaves: Vec<Leaf<'s>>,
    /// Whether people must not see them.
    pub secret: bool,
}

/// One value that a reference leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaf<'s> {
    /// It is there.
    Found(&'s Value),
    /// It is missing, and the reference has a default.
    Default(&'s Value),
    /// It is missing.
    Missing,
}

impl<'s> Leaf<'s> {
    /// The value or the default.
    pub fn value(self) -> Option<&'s Value> {
        match self {
            Self::Found(value) | Self::Default(value) => Some(value),
            Self::Missing => None,
        }
    }
}

impl Reference {
    /// The name of the object.
    pub fn of(&self) -> &str {
        &self.of
    }

    /// The path into it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Taken for what is missing; null is not missing.
    pub fn default(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// What it leads to now.
    pub fn find<'s>(&'s self, scope: &'s dyn Scope) -> Found<'s> {
        let (root, secret) = match scope.root(&self.of) {
            Root::Present(root) => (root, false),
            Root::Secret(root) => (root, true),
            Root::Unknown { why } => return Found::Unknown(why),
        };
        let missing = self.default.as_ref().map_or(Leaf::Missing, Leaf::Default);
        let leaves =
            self.path.lookup(root).into_iter().map(|leaf| leaf.map_or(missing, Leaf::Found));
        Found::Values(Values { root, leaves: leaves.collect(), secret })
    }

    /// As sentences name it: `deployment $.status.replicas`, or the name alone for the whole object.
    pub(super) fn label(&self) -> String {
        self.label_of(self.path.as_str())
    }

    /// As sentences name one of its leaves.
    pub(super) fn label_of_leaf(&self, root: &Value, nth: usize) -> String {
        self.label_of(&self.path.describe(root, nth))
    }

    fn label_of(&self, place: &str) -> String {
        match place {
            "$" => self.of.clone(),
            place => format!("{} {}", self.of, super::sentence::cut(place)),
        }
    }
}
