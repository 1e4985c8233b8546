//! A general JSONPath, ready to be walked: the parsed text after its checks, patterns compiled.
//!
//! In: what `lower` built. Out: data for `walk`. Never here: text, offsets, evaluation.

use regex::Regex;
use serde_json::Value;

/// The whole path.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) segments: Vec<Segment>,
    /// Queries inside filters that start at the root: their answer is the same for every element, so a walk finds
    /// it once. Without this a filter such as `[?count($.a[*]) > @.b]` would cost the square of the object's size.
    pub(super) shared: Vec<Vec<Segment>>,
}

/// One step of a path, which may lead to several values.
#[derive(Debug)]
pub(super) enum Segment {
    /// `.a`, `[…]`.
    Children(Vec<Selector>),
    /// `..a`, `..[…]`: of the value and of everything below it.
    Descendants(Vec<Selector>),
}

impl Segment {
    /// Whether it leads to one value at most.
    pub(super) fn is_singular(&self) -> bool {
        match self {
            Self::Children(selectors) => {
                matches!(selectors.as_slice(), [Selector::Key(_) | Selector::Index(_)])
            }
            Self::Descendants(_) => false,
        }
    }
}

/// What is chosen among the children of a value.
#[derive(Debug)]
pub(super) enum Selector {
    Key(String),
    /// Negative counts from the end.
    Index(i64),
    Wildcard,
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    },
    Filter(Filter),
}

/// A condition on a child.
#[derive(Debug)]
pub(super) enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Exists(Query),
    Compare(Operand, Order, Operand),
    Matches(Operand, Regex),
}

/// How two operands of a filter must relate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// A query inside a filter.
#[derive(Debug)]
pub(super) enum Query {
    /// From the child that is tested.
    Child(Vec<Segment>),
    /// From the root: a place in [`Program::shared`].
    Shared(usize),
}

/// One side of a comparison in a filter.
#[derive(Debug)]
pub(super) enum Operand {
    Literal(Value),
    /// The value that a query leads to: `@.a`, or `value(@..a)`, which is nothing unless there is exactly one.
    Value(Query),
    Length(Box<Operand>),
    Count(Query),
}
