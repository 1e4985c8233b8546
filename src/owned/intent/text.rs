//! Values that must be text: labels, annotations, the data of `ConfigMap`s and Secrets.
//!
//! In: maps of an intent. Out: mistakes; a Secret's data in the form in which the server stores it.
//! Never here: values in messages, they may be secret.

use super::Mistake;
use crate::owned::trail::Trail;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

/// Reads what Go's decoder in the server reads: padding required, odd bits at the end allowed.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Reports the values of a map that are not strings.
pub(super) fn only_strings(map: &Value, trail: &Trail<'_>, mistakes: &mut Vec<Mistake>) {
    for (name, value) in map.as_object().into_iter().flatten() {
        let (what, hint) = match value {
            Value::String(_) | Value::Null => continue,
            Value::Bool(_) => ("a boolean", Some("quote it")),
            Value::Number(_) => ("a number", Some("quote it")),
            Value::Array(_) => ("a list", None),
            Value::Object(_) => ("a map", None),
        };
        let message = format!("must be a string, not {what}");
        mistakes.push(Mistake::new(trail.field(name).path(), &message, hint));
    }
}

/// Checks and rewrites the data of a `ConfigMap` or Secret; leaves every other kind alone.
pub(super) fn canonical_data(object: &mut Map<String, Value>, mistakes: &mut Vec<Mistake>) {
    if object.get("apiVersion").and_then(Value::as_str) != Some("v1") {
        return;
    }
    let (texts, encoded) = match object.get("kind").and_then(Value::as_str) {
        Some("Secret") => ("stringData", "data"),
        Some("ConfigMap") => ("data", "binaryData"),
        _ => return,
    };
    for field in [texts, encoded] {
        if let Some(map) = object.get(field) {
            only_strings(map, &Trail::ROOT.field(field), mistakes);
        }
    }
    if let Some(Value::Object(data)) = object.get_mut(encoded) {
        let trail = Trail::ROOT.field(encoded);
        for (name, value) in data {
            if let Value::String(text) = value
                && !recode(text)
            {
                let hint = (texts == "stringData").then_some("put plain text into stringData");
                let path = trail.field(name).path();
                mistakes.push(Mistake::new(path, "is not valid base64", hint));
            }
        }
    }
    if texts == "stringData" {
        encode_string_data(object);
    }
}

/// Re-encodes base64 as the server prints it; false if it does not decode.
fn recode(text: &mut String) -> bool {
    // The server's decoder skips line breaks, which block scalars and `base64 -w 76` leave.
    text.retain(|c| c != '\n' && c != '\r');
    match LENIENT.decode(text.as_bytes()) {
        Ok(bytes) => {
            *text = LENIENT.encode(bytes);
            true
        }
        Err(_) => false,
    }
}

/// Moves `stringData` into `data`, where it wins, as it does in the server.
fn encode_string_data(object: &mut Map<String, Value>) {
    let texts = match object.get_mut("stringData").map(Value::take) {
        Some(Value::Object(texts)) => texts,
        None => return,
        // Not a map: the server says so better.
        Some(other) => {
            object.insert("stringData".into(), other);
            return;
        }
    };
    object.remove("stringData");
    if texts.is_empty() {
        return;
    }
    let data = object.entry("data").or_insert_with(|| Map::new().into());
    if let Value::Object(data) = data {
        for (name, text) in texts {
            if let Value::String(text) = text {
                data.insert(name, LENIENT.encode(text).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::owned::canonical;
    use serde_json::{Value, json};

    fn secret(fields: &Value) -> Value {
        let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        secret.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        secret
    }

    fn messages(rendered: Value) -> Vec<String> {
        canonical(rendered).unwrap_err().into_iter().map(|mistake| mistake.message).collect()
    }

    #[test]
    fn string_data_moves_into_data_and_wins() {
        let rendered = secret(
            &json!({"stringData": {"a": "new", "é": "ü"}, "data": {"a": "b2xk", "b": "eA=="}}),
        );
        let wanted = secret(&json!({"data": {"a": "bmV3", "b": "eA==", "é": "w7w="}}));
        assert_eq!(canonical(rendered).unwrap(), wanted);
        assert_eq!(canonical(secret(&json!({"stringData": {}}))).unwrap(), secret(&json!({})));
        let dropped = secret(&json!({"stringData": {"a": null}, "data": null}));
        assert_eq!(canonical(dropped).unwrap(), secret(&json!({})));
    }

    #[test]
    fn base64_is_written_as_the_server_prints_it() {
        for (written, stored) in [
            ("aGVsbG8=\n", "aGVsbG8="),
            ("aGVs\r\nbG8=", "aGVsbG8="),
            ("eH==", "eA=="), // bits after the last byte
            ("", ""),
        ] {
            let rendered = secret(&json!({"data": {"k": written}}));
            assert_eq!(
                canonical(rendered).unwrap(),
                secret(&json!({"data": {"k": stored}})),
                "{written:?}"
            );
        }
    }

    #[test]
    fn base64_that_does_not_decode_is_a_mistake_without_its_value() {
        for text in ["hunter2!", "eA", "eA=", "e A==", "eA==x", "__8="] {
            let rendered = secret(&json!({"data": {"tls.key": text}}));
            assert_eq!(messages(rendered), ["data[tls.key] is not valid base64"], "{text}");
        }
    }

    #[test]
    fn data_must_be_text() {
        let rendered = secret(&json!({"stringData": {"port": 5432}, "data": {"on": true}}));
        assert_eq!(
            messages(rendered),
            [
                "stringData.port must be a string, not a number",
                "data.on must be a string, not a boolean",
            ]
        );
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"port": 80}, "binaryData": {"x": "?"}});
        assert_eq!(
            messages(config),
            ["data.port must be a string, not a number", "binaryData.x is not valid base64",]
        );
    }

    #[test]
    fn other_kinds_called_secret_are_left_alone() {
        let other = json!({"apiVersion": "example.com/v1", "kind": "Secret",
            "stringData": {"a": 1}, "data": {"b": "?"}});
        assert_eq!(canonical(other.clone()).unwrap(), other);
    }
}
