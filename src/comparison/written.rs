//! A comparison as its author wrote it, before anything about it is known to be right.
//!
//! In: what a decoder found in a rule file. Out: the same, as data. Never here: judging it (that is `compile`).

use serde_json::Value;

/// A comparison as written. Exactly one of the operators, `count`, `allOf`, `anyOf` and `not` should be there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// `of`, `path` and `default`: what is compared.
    pub reference: WrittenReference,
    /// `as`.
    pub meaning: Option<String>,
    /// `some`.
    pub some: Option<bool>,
    /// The operators, in the order in which they stand.
    pub operators: Vec<(Operator, Operand)>,
    /// The operators below `count`.
    pub count: Option<Vec<(Operator, Operand)>>,
    /// `allOf`.
    pub all_of: Option<Vec<Written>>,
    /// `anyOf`.
    pub any_of: Option<Vec<Written>>,
    /// `not`.
    pub not: Option<Box<Written>>,
}

/// `{of, path, default}` as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenReference {
    /// A name; left out, the default of the place.
    pub of: Option<String>,
    /// A JSONPath.
    pub path: Option<String>,
    /// Taken for what is missing.
    pub default: Option<Value>,
}

/// The right side of an operator.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A scalar or a list.
    Literal(Value),
    /// A mapping: `{of, path, default}`.
    Reference(WrittenReference),
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// The same as data.
    Equals,
    /// Not the same.
    NotEquals,
    /// The same as one of a list.
    In,
    /// The same as none of a list.
    NotIn,
    /// Present and not null.
    Exists,
    /// Not less.
    AtLeast,
    /// Not more.
    AtMost,
    /// More.
    MoreThan,
    /// Less.
    LessThan,
    /// A text has a part, a list an element, a map a key.
    Contains,
    /// A text has a part that a regular expression matches.
    Matches,
    /// A child or an input is ready.
    Ready,
}

impl Operator {
    /// All of them, in the order in which they are listed to people.
    pub const ALL: [Self; 12] = [
        Self::Equals,
        Self::NotEquals,
        Self::In,
        Self::NotIn,
        Self::Exists,
        Self::AtLeast,
        Self::AtMost,
        Self::MoreThan,
        Self::LessThan,
        Self::Contains,
        Self::Matches,
        Self::Ready,
    ];

    /// As it is written in a rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "notEquals",
            Self::In => "in",
            Self::NotIn => "notIn",
            Self::Exists => "exists",
            Self::AtLeast => "atLeast",
            Self::AtMost => "atMost",
            Self::MoreThan => "moreThan",
            Self::LessThan => "lessThan",
            Self::Contains => "contains",
            Self::Matches => "matches",
            Self::Ready => "ready",
        }
    }

    /// What it asks for, in a sentence for reference pages.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Equals => "The same as data.",
            Self::NotEquals => "Not the same as data.",
            Self::In => "The same as one of a list.",
            Self::NotIn => "The same as none of a list.",
            Self::Exists => "Present and not null; with false, missing or null.",
            Self::AtLeast => "Not less.",
            Self::AtMost => "Not more.",
            Self::MoreThan => "More.",
            Self::LessThan => "Less.",
            Self::Contains => "A text has this part, a list this element, a map this key.",
            Self::Matches => "A text has a part that this regular expression matches.",
            Self::Ready => "The child is ready; with false, it is not.",
        }
    }

    /// By its name in a rule.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.as_str() == name)
    }

    /// Whether it asks for an order.
    pub(super) fn orders(self) -> bool {
        matches!(self, Self::AtLeast | Self::AtMost | Self::MoreThan | Self::LessThan)
    }

    /// Whether its right side is a list.
    pub(super) fn takes_list(self) -> bool {
        matches!(self, Self::In | Self::NotIn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_found_by_its_name() {
        for operator in Operator::ALL {
            assert_eq!(Operator::named(operator.as_str()), Some(operator));
        }
        assert_eq!(Operator::named("Equals"), None);
    }
}
