//! A value as one line of YAML, for expectations that are rewritten in place.
//!
//! In: a value. Out: flow style, plain where that reads back as the same text, quoted where not.

use crate::yaml::{self, Kind, Limits, Style};
use serde_json::Value;

/// `{replicas: 2, names: [a, "no"]}`.
pub(super) fn line(value: &Value) -> String {
    match value {
        Value::Null => "~".to_owned(),
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| {
                    let key = if is_plain(key) {
                        key.clone()
                    } else {
                        Value::from(key.as_str()).to_string()
                    };
                    format!("{key}: {}", line(value))
                })
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        // JSON's way of quoting is also YAML's.
        scalar => scalar.to_string(),
    }
}

/// Whether a text needs no quotes: only characters without a meaning in YAML, and no other value by YAML 1.1.
fn is_plain(text: &str) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(harmless)
        && yaml::parse(text, &Limits::FILE).is_ok_and(|documents| {
            let plain = |kind: &Kind| matches!(kind, Kind::String { style: Style::Plain, .. });
            matches!(documents.as_slice(), [document] if plain(&document.root.kind))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_reads_back_as_the_same_value() {
        for value in [
            json!("no"),
            json!("True"),
            json!("1e3"),
            json!("a: b"),
            json!("two\nlines\n"),
            json!(""),
            json!("null"),
            json!("é"),
            json!({"no": [1, 1.5, null, true, "x/y.z"], "a b": {}, "c": [], "d": "#"}),
        ] {
            let text = format!("key: {}", line(&value));
            let back = yaml::parse(&text, &Limits::FILE).unwrap()[0].root.to_json();
            assert_eq!(back["key"], value, "{text}");
        }
        assert_eq!(line(&json!({"a": ["b", "no"]})), r#"{a: [b, "no"]}"#);
    }
}
