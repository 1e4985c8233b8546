//! The form of a value: what a schema of a built-in kind and one of a custom kind have in common.
//!
//! In: what the readers of both made. Out: plain data. Never here: reading, checking.

use super::builtin;
use regex::Regex;
use serde_json::{Number, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

/// What a value may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Schema {
    pub(super) shape: Shape,
    /// Whether null is taken, whatever the shape.
    pub(super) nullable: bool,
    /// What the API server puts where nothing is.
    pub(super) default: Option<Value>,
    /// Whether a map is written as a whole, so that its entries cannot have several owners.
    pub(super) atomic: bool,
    /// Asked of the value beside its shape.
    pub(super) limits: Option<Box<Limits>>,
}

/// The type of a value.
#[derive(Clone, Debug, Default)]
pub(super) enum Shape {
    /// Anything goes.
    #[default]
    Any,
    Bool,
    Integer(Width),
    Number,
    Text(Format),
    IntOrText,
    Quantity,
    List(Box<Schema>, Keyed),
    /// Any keys, values of one type.
    Map(Box<Schema>),
    /// Fields by name.
    Fields(Fields),
    /// Another type of the built-in kinds, which may contain itself.
    Named(&'static str),
}

/// How many bits an integer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Narrow,
    Wide,
}

/// What a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Free,
    /// Base64.
    Bytes,
    /// RFC 3339.
    Time,
}

/// What tells the elements of a list apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Keyed {
    /// Nothing: the list is written as a whole.
    No,
    /// Their value, which may be there once.
    ByValue,
    /// These fields.
    By(Vec<String>),
}

/// The fields of a map.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) known: BTreeMap<Box<str>, Schema>,
    /// Whether others are kept too.
    pub(super) open: bool,
}

/// What is asked of a value beside its shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    /// Fields that must be there.
    pub(super) required: Vec<String>,
    /// The only values, if any are named.
    pub(super) words: Vec<Value>,
    pub(super) pattern: Option<Pattern>,
    /// Of a text, in characters.
    pub(super) length: Size,
    /// Of a list.
    pub(super) items: Size,
    /// Of a map.
    pub(super) entries: Size,
    pub(super) least: Option<Bound>,
    pub(super) most: Option<Bound>,
    pub(super) multiple_of: Option<Number>,
    /// All of these hold too.
    pub(super) all_of: Vec<Schema>,
    /// One of each group holds. `oneOf` is read as this, since what is judged leniently cannot be counted.
    pub(super) any_of: Vec<Vec<Schema>>,
}

/// A regular expression, compiled when it is first asked: definitions have many of them, objects meet few.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: OnceLock::new() }
    }

    /// Whether a text matches; nothing if that cannot be said for sure. Go's syntax is nearly that of `regex`, and only
    /// for ASCII do both agree on classes such as `\w`.
    pub(super) fn matches(&self, text: &str) -> Option<bool> {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().filter(|_| text.is_ascii()).map(|pattern| pattern.is_match(text))
    }
}

/// As it was written.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// At least and at most this many, both included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) least: Option<u64>,
    pub(super) most: Option<u64>,
}

/// The end of a range of numbers.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) value: Number,
    /// Whether the end itself is out.
    pub(super) exclusive: bool,
}

impl Schema {
    pub(super) fn of(shape: Shape) -> Self {
        Self { shape, ..Self::default() }
    }

    /// The shape, with the name of another type replaced by that type.
    pub(super) fn resolved(&self) -> &Shape {
        self.target().map_or(&self.shape, |named| &named.shape)
    }

    /// The limits, of the place and of the type that is named there.
    pub(super) fn all_limits(&self) -> impl Iterator<Item = &Limits> {
        let named = self.target().and_then(|named| named.limits.as_deref());
        self.limits.as_deref().into_iter().chain(named)
    }

    /// Whether it is written as a whole, so that no part of it can have an owner of its own.
    pub(super) fn is_whole(&self) -> bool {
        self.atomic
            || self.target().is_some_and(|named| named.atomic)
            || matches!(self.resolved(), Shape::List(_, Keyed::No))
    }

    fn target(&self) -> Option<&'static Schema> {
        match self.shape {
            Shape::Named(name) => builtin::named(name),
            _ => None,
        }
    }
}

impl Fields {
    /// The names of its fields, for "did you mean".
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(|name| &**name)
    }
}
