//! One place inside a JSON value: the keys and indexes that lead to it.
//!
//! In: steps. Out: their text, and the value they lead to. Never here: patterns that match several places.

use serde_json::Value;
use std::fmt::{self, Write};

/// One step down into a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Into a map.
    Key(String),
    /// Into a list, from 0.
    Index(usize),
}

impl Step {
    /// The value one step below, if there is one.
    pub fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Key(key) => value.as_object()?.get(key),
            Self::Index(index) => value.as_array()?.get(*index),
        }
    }
}

/// A key.
impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

/// An index.
impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A place in a value, from its root. Two places are equal exactly if they are the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location(Vec<Step>);

impl Location {
    /// The value itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// From the root down.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The place one step below.
    pub fn child(&self, step: impl Into<Step>) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Self(steps)
    }

    /// The value there, if there is one.
    pub fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, step| step.of(value))
    }
}

impl From<Vec<Step>> for Location {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

/// A JSONPath that matches this place alone: `$.a[0]['c d']`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Key(key) => write_key(f, key),
            Step::Index(index) => write!(f, "[{index}]"),
        })
    }
}

/// Whether a key may follow a dot without brackets (RFC 9535, member-name-shorthand).
pub(super) fn is_shorthand(key: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    // The parser takes Unicode white space at the edges of a short name for layout.
    key.starts_with(first)
        && key.chars().all(|c| first(c) || c.is_ascii_digit())
        && key == key.trim()
}

/// `.key`, or `['key']` with escapes where the short form cannot say it.
pub(super) fn write_key(out: &mut impl Write, key: &str) -> fmt::Result {
    if is_shorthand(key) {
        return write!(out, ".{key}");
    }
    out.write_str("['")?;
    for c in key.chars() {
        match c {
            '\'' | '\\' => write!(out, "\\{c}")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_str("']")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn keys_are_quoted_only_where_they_must_be() {
        let at = |key: &str| Location::root().child(key).to_string();
        assert_eq!(Location::root().to_string(), "$");
        assert_eq!(at("a1_é"), "$.a1_é");
        assert_eq!(at("1a"), "$['1a']");
        assert_eq!(at(""), "$['']");
        assert_eq!(at("a.b/c-d"), "$['a.b/c-d']");
        assert_eq!(at("it's \\ \n\u{1}"), "$['it\\'s \\\\ \\n\\u0001']");
        assert_eq!(Location::root().child(0).child("x").to_string(), "$[0].x");
    }

    #[test]
    fn a_location_leads_to_its_value_or_to_nothing() {
        let value = json!({"a": [{"b": 1}], "0": 2});
        let location = Location::root().child("a").child(0).child("b");
        assert_eq!(location.of(&value), Some(&json!(1)));
        assert_eq!(Location::root().child(0).of(&value), None, "an index is not a key");
        assert_eq!(Location::root().child("a").child("0").of(&value), None);
    }

    proptest! {
        #[test]
        fn the_text_of_a_location_is_a_path_to_it(keys in proptest::collection::vec(any::<String>(), 0..4)) {
            let location: Location = keys.into_iter().map(Step::Key).collect::<Vec<_>>().into();
            let path = Path::parse(&location.to_string()).unwrap();
            prop_assert_eq!(path.plain_steps().unwrap(), location.steps());
        }
    }
}
