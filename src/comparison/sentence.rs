//! Values as people may see them in a sentence: one line, short, the same every time.
//!
//! In: JSON values, and whether they are secret. Out: text. Never here: what the sentence says about them.

use serde_json::Value;
use std::fmt::Write;

/// Characters of one value, or of one path.
const MAX_CHARS: usize = 80;

/// A value as compact JSON with sorted keys; control and direction characters are escaped; cut when long.
pub(super) fn show(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    cut(&out)
}

/// A value that people must not see.
pub(super) fn hide(value: &Value) -> String {
    let count =
        |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    match value {
        Value::String(text) => format!("a value of {}", count(text.chars().count(), "character")),
        Value::Null | Value::Bool(_) | Value::Number(_) => "a hidden value".to_owned(),
        Value::Array(list) => format!("a list of {}", count(list.len(), "element")),
        Value::Object(map) => format!("a map of {}", count(map.len(), "key")),
    }
}

/// Hidden if it is secret.
pub(super) fn show_or_hide(value: &Value, secret: bool) -> String {
    if secret { hide(value) } else { show(value) }
}

/// A value with its kind, where quotes alone are easily overlooked: `"8080" (text)`.
pub(super) fn show_with_kind(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    };
    format!("{} ({kind})", show(value))
}

/// Whether one is text and the other a number or boolean, which somebody who overlooks quotes takes for the same.
pub(super) fn differ_by_quotes(left: &Value, right: &Value) -> bool {
    let scalar = |value: &Value| value.is_boolean() || value.is_number();
    (left.is_string() && scalar(right)) || (scalar(left) && right.is_string())
}

/// Cuts a text to the length of a value, and says so.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Stops soon after there is more than will be shown: a value may be large.
fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_text(out, text),
        Value::Array(list) => {
            out.push('[');
            for (at, element) in list.iter().enumerate() {
                if is_full(out) {
                    return;
                }
                out.push_str(if at > 0 { "," } else { "" });
                write_value(out, element);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                if is_full(out) {
                    return;
                }
                out.push_str(if at > 0 { "," } else { "" });
                write_text(out, key);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
        scalar => _ = write!(out, "{scalar}"),
    }
}

fn write_text(out: &mut String, text: &str) {
    let shown = text.char_indices().nth(MAX_CHARS).map_or(text, |(end, _)| &text[..end]);
    // Rust's escapes cover what a terminal or a reader could be deceived with, which JSON's do not.
    let _written = write!(out, "{shown:?}");
}

fn is_full(out: &str) -> bool {
    // A character has at most four bytes.
    out.len() > 4 * MAX_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_one_short_line() {
        for (value, shown) in [
            (json!(null), "null"),
            (json!(1.5), "1.5"),
            (json!("a\"b\n\u{202e}\u{9b}"), r#""a\"b\n\u{202e}\u{9b}""#),
            (json!({"b": [1, true], "a": {}}), r#"{"a":{},"b":[1,true]}"#),
        ] {
            assert_eq!(show(&value), shown);
        }
        let long = show(&json!("é".repeat(100_000)));
        assert_eq!(long, format!("\"{}…", "é".repeat(79)));
        let mut deep = json!([]);
        for _ in 0..1_000 {
            deep = json!([deep, 1]);
        }
        assert_eq!(show(&deep).chars().count(), 81);
    }

    #[test]
    fn hidden_values_show_their_size_alone() {
        assert_eq!(hide(&json!("pässword")), "a value of 8 characters");
        assert_eq!(hide(&json!("x")), "a value of 1 character");
        assert_eq!(hide(&json!(["x"])), "a list of 1 element");
        assert_eq!(hide(&json!({"a": 1, "b": 2})), "a map of 2 keys");
        for value in [json!(null), json!(true), json!(1234)] {
            assert_eq!(hide(&value), "a hidden value", "{value}");
        }
    }
}
