//! The body of a server-side apply, which the API server reads as YAML.
//!
//! In: a request whose body is JSON. Out: the same, so that YAML reads the same values. Never here: other kinds of requests.
//!
//! JSON is YAML but for a few characters: within quotes YAML takes U+0085, U+2028 and U+2029 for ends of lines, and folds them
//! into spaces or nothing, and it refuses some others. Escaped, they are what they are in both.

use http::Request;
use std::fmt::Write;

/// Escapes what YAML would read otherwise.
pub(super) fn as_yaml(request: Request<Vec<u8>>) -> Request<Vec<u8>> {
    request.map(|body| match String::from_utf8(body) {
        Ok(text) if text.contains(differs) => escaped(&text).into_bytes(),
        Ok(text) => text.into_bytes(),
        // JSON is UTF-8.
        Err(other) => other.into_bytes(),
    })
}

/// Such characters stand nowhere but in quotes.
fn differs(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if differs(c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_yaml_reads_otherwise_is_escaped_and_stays_the_same_json() {
        let value = json!({"a\u{85}": "b\u{2028}--- c\u{2029}\u{7f}\u{80}\u{9f}\u{feff}\u{ffff}", "d": "é👩\n\u{1}"});
        let request = Request::new(serde_json::to_vec(&value).unwrap());
        let body = String::from_utf8(as_yaml(request).into_body()).unwrap();
        assert!(!body.contains(differs) && body.contains("é👩"), "{body}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), value);
    }
}
