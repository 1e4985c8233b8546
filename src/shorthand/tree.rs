//! A document whose keys keep their order, as JSON and as YAML.
//!
//! In: scalars, lists and maps in the order in which a person would write them. Out: a value, or text. Never here: what the
//! document says.

use crate::yaml::{Kind, Limits, Style, parse};
use serde_json::Value;
use std::fmt::Write;

/// A value whose maps are ordered.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    /// A text, number, boolean or null.
    Scalar(Value),
    List(Vec<Tree>),
    /// A key a line.
    Map(Vec<(String, Tree)>),
    /// A map in one line, if it fits.
    Line(Vec<(String, Tree)>),
}

/// Columns of a line that holds a whole map.
const WIDTH: usize = 110;

impl<T: Into<Value>> From<T> for Tree {
    fn from(value: T) -> Self {
        match value.into() {
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(map) => {
                Self::Line(map.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            scalar => Self::Scalar(scalar),
        }
    }
}

impl Tree {
    /// The value, without an order.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) | Self::Line(entries) => Value::Object(
                entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect(),
            ),
        }
    }

    /// A YAML document that every Kubernetes tool reads back as exactly this.
    pub(super) fn to_yaml(&self) -> String {
        let mut text = String::new();
        self.block(&mut text, 0);
        text
    }

    /// Its lines; the first one goes on where `text` ends.
    fn block(&self, text: &mut String, indent: usize) {
        match self {
            Self::Map(entries) | Self::Line(entries) if !entries.is_empty() => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        text.extend(std::iter::repeat_n(' ', indent));
                    }
                    text.push_str(&scalar(&Value::from(key.as_str()), false));
                    text.push(':');
                    value.after_key(text, indent);
                }
            }
            Self::List(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        text.extend(std::iter::repeat_n(' ', indent));
                    }
                    text.push_str("- ");
                    match item.line(text) {
                        Some(line) => text.push_str(&(line + "\n")),
                        None => item.block(text, indent + 2),
                    }
                }
            }
            _ => text.push_str(&(self.flow(false) + "\n")),
        }
    }

    /// What follows `key:`.
    fn after_key(&self, text: &mut String, indent: usize) {
        if let Some(line) = self.line(text) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, " {line}");
            return;
        }
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent + 2));
        self.block(text, indent + 2);
    }

    /// In the line in which `text` ends, if it belongs there.
    fn line(&self, text: &str) -> Option<String> {
        let flow = || self.flow(true);
        let (flow, must) = match self {
            Self::Scalar(_) => return Some(self.flow(false)),
            Self::List(items) if items.iter().all(Self::is_small) => (flow(), items.is_empty()),
            Self::Line(entries) => (flow(), entries.is_empty()),
            Self::Map(entries) if entries.is_empty() => (flow(), true),
            Self::List(_) | Self::Map(_) => return None,
        };
        let column = text.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (must || column + flow.chars().count() <= WIDTH).then_some(flow)
    }

    /// A scalar, or a map of one: a list of such is read better in one line.
    fn is_small(&self) -> bool {
        match self {
            Self::Scalar(_) => true,
            Self::Line(entries) => matches!(entries.as_slice(), [(_, Self::Scalar(_))]),
            Self::List(_) | Self::Map(_) => false,
        }
    }

    /// In one line; inside of brackets some more texts need quotes.
    fn flow(&self, inside: bool) -> String {
        let joined = |parts: Vec<String>| parts.join(", ");
        match self {
            Self::Scalar(value) => scalar(value, inside),
            Self::List(items) => {
                format!("[{}]", joined(items.iter().map(|item| item.flow(true)).collect()))
            }
            Self::Map(entries) | Self::Line(entries) => {
                let entry = |(key, value): &(String, Self)| {
                    format!("{}: {}", scalar(&Value::from(key.as_str()), true), value.flow(true))
                };
                format!("{{{}}}", joined(entries.iter().map(entry).collect()))
            }
        }
    }
}

fn scalar(value: &Value, inside: bool) -> String {
    match value {
        Value::String(text) if is_plain(text, inside) => text.clone(),
        Value::String(text) if is_printable(text) && text.contains(['"', '\\']) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// Whether a text stays itself without quotes, for this reader and for stricter ones.
fn is_plain(text: &str, inside: bool) -> bool {
    let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '.' || c == '/');
    let brackets = inside && text.contains(['[', ']', '{', '}', ',']);
    // Inside of brackets some readers take any colon for the end of a key.
    let colon = inside && text.contains(':');
    if !begins || brackets || colon || !is_printable(text) {
        return false;
    }
    let read = parse(&format!("- {text}"), &Limits::FILE);
    read.is_ok_and(|documents| {
        match documents.first().map(|document| &document.root.kind) {
        Some(Kind::Sequence(items)) => items.first().is_some_and(|item| {
            matches!(&item.kind, Kind::String { text: read, style: Style::Plain } if read == text)
        }),
        _ => false,
    }
    })
}

/// Nothing that ends a line, moves it, or cannot be seen.
fn is_printable(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || ['\u{2028}', '\u{2029}', '\u{feff}'].contains(&c))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if is_printable(c.encode_utf8(&mut [0; 4])) => quoted.push(c),
            // Everything that is not printable is in the basic plane.
            c => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn map(entries: &[(&str, Tree)]) -> Vec<(String, Tree)> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    #[test]
    fn keys_keep_their_order_and_short_maps_are_one_line() {
        let short = Tree::Line(map(&[("type", "string".into()), ("default", json!("no").into())]));
        let long =
            Tree::Line(map(&[("type", "string".into()), ("description", "ü".repeat(100).into())]));
        let tree = Tree::Map(map(&[
            ("z", short.clone()),
            ("list", Tree::List(vec![short, Tree::Map(map(&[("a", 1.into()), ("b", long)]))])),
            ("names", json!(["wa", "w,b"]).into()),
            ("none", Tree::Map(Vec::new())),
            ("nil", Tree::List(Vec::new())),
            ("a", json!(null).into()),
        ]));
        let expected = format!(
            "z: {{type: string, default: \"no\"}}\nlist:\n  - {{type: string, default: \"no\"}}\n  - a: 1\n    b:\n      \
             type: string\n      description: {}\nnames: [wa, \"w,b\"]\nnone: {{}}\nnil: []\na: null\n",
            "ü".repeat(100)
        );
        assert_eq!(tree.to_yaml(), expected);
    }

    #[test]
    fn texts_that_could_be_something_else_are_quoted() {
        for (text, expected) in [
            ("word", "word"),
            ("two words, and more", "two words, and more"),
            ("no", "\"no\""),
            ("12:30", "\"12:30\""),
            ("1e3", "\"1e3\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("", "\"\""),
            ("- a", "\"- a\""),
            ("^\\d+$", "'^\\d+$'"),
            ("say \"it's\"", "say \"it's\""),
            ("\"it's\"", "'\"it''s\"'"),
            ("two\nlines", "\"two\\nlines\""),
            ("a\u{7f}\u{85}\"", "\"a\\u007f\\u0085\\\"\""),
            (" a", "\" a\""),
            ("a ", "\"a \""),
            ("a:", "\"a:\""),
        ] {
            assert_eq!(scalar(&json!(text), false), expected, "{text}");
        }
        assert_eq!(scalar(&json!("a, b"), true), "\"a, b\"");
    }

    fn any_tree() -> impl Strategy<Value = Value> {
        let text = "\\PC{0,12}|[a-z:#,\\[\\]{}'\"\\\\ \n\t-]{0,12}|yes|null|0x1f|\u{85}|\u{2028}";
        let leaf = prop_oneof![
            text.prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(text, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn block(value: Value) -> Tree {
        match value {
            Value::Array(items) => Tree::List(items.into_iter().map(block).collect()),
            Value::Object(map) => {
                Tree::Map(map.into_iter().map(|(key, value)| (key, block(value))).collect())
            }
            scalar => Tree::Scalar(scalar),
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(value in any_tree()) {
            for tree in [Tree::from(value.clone()), block(value.clone())] {
                let text = tree.to_yaml();
                let read = parse(&text, &Limits::FILE).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
                prop_assert_eq!(&read[0].root.to_json(), &value, "{}", text);
                prop_assert_eq!(&tree.to_json(), &value);
            }
        }
    }
}
