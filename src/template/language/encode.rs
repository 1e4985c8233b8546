//! Filters between values and encoded texts.
//!
//! In: a value or a text. Out: a text or a value. Never here: the YAML of the template itself.

use super::super::context;
use super::super::value::{json, refuse};
use super::guard::{of_text, of_value};
use super::{Entry, EntryKind, Example};
use crate::yaml::{self, Limits};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Value;
use minijinja::{Error, State};
use std::fmt::Write as _;

macro_rules! filter {
    ($name:literal, $aliases:expr, $doc:literal, $template:literal, $output:literal, $function:expr) => {
        Entry {
            kind: EntryKind::Filter,
            name: $name,
            aliases: $aliases,
            doc: $doc,
            example: Example { template: $template, output: $output },
            add: |env, name| env.add_filter(name, $function),
        }
    };
}

pub(super) static ENTRIES: &[Entry] = &[
    filter!(
        "to_json",
        &["tojson"],
        "The value as a text of JSON, keys in order.",
        "{{ {'b': 1, 'a': [true]}|to_json }}",
        r#""{\"a\":[true],\"b\":1}""#,
        of_value(to_json)
    ),
    filter!(
        "to_yaml",
        &["toyaml"],
        "The value as a text of YAML, without the last line break.",
        "{{ {'b': 'no', 'a': 1}|to_yaml }}",
        r#""a: 1\nb: \"no\"""#,
        of_value(to_yaml)
    ),
    filter!(
        "from_json",
        &["fromjson"],
        "The value that a text of JSON says.",
        r#"{{ '{"a": 1}'|from_json }}"#,
        r#"{"a":1}"#,
        of_text(from_json)
    ),
    filter!(
        "from_yaml",
        &["fromyaml"],
        "The value that a text of one YAML document says.",
        "{{ 'a: 1'|from_yaml }}",
        r#"{"a":1}"#,
        of_text(from_yaml)
    ),
    filter!(
        "b64encode",
        &[],
        "The text in base64, as `data` of a Secret needs it.",
        "{{ 'web'|b64encode }}",
        r#""d2Vi""#,
        of_text(b64encode)
    ),
    filter!(
        "b64decode",
        &[],
        "The text that was encoded in base64.",
        "{{ 'd2Vi'|b64decode }}",
        r#""web""#,
        of_text(b64decode)
    ),
    filter!(
        "sha256",
        &[],
        "The SHA-256 of a text in hexadecimal digits; put it into an annotation to restart pods when a configuration changes.",
        "{{ ('web'|sha256)[:8] }}",
        r#""4b5e57f6""#,
        of_text(sha256)
    ),
];

fn to_json(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    Ok(json(state, value)?.to_string())
}

fn to_yaml(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let text = yaml::print(&json(state, value)?);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

fn from_json(state: &mut State<'_, '_>, text: &str) -> Result<Value, Error> {
    state.consume_fuel(text.len() as u64 / 16)?;
    let json =
        serde_json::from_str(text).map_err(|error| refuse(format!("this is no JSON: {error}")))?;
    Ok(context::value(&json))
}

fn from_yaml(state: &mut State<'_, '_>, text: &str) -> Result<Value, Error> {
    state.consume_fuel(text.len() as u64 / 16)?;
    let documents = yaml::parse(text, &Limits::RENDERED).map_err(|error| {
        let line = text[..error.span.start].matches('\n').count() + 1;
        refuse(format!("this is no YAML in its line {line}"))
    })?;
    match documents.as_slice() {
        [] => Ok(Value::from(())),
        [document] => Ok(context::value(&document.root.to_json())),
        _ => Err(refuse("`from_yaml` reads one document, not several")),
    }
}

fn b64encode(text: &str) -> String {
    STANDARD.encode(text)
}

fn b64decode(text: &str) -> Result<String, Error> {
    // Errors must not show what they are about: it may be a Secret.
    let bytes = STANDARD.decode(text.trim()).map_err(|_| refuse("this is no base64"))?;
    String::from_utf8(bytes).map_err(|_| refuse("what was encoded in base64 is not text"))
}

fn sha256(text: &str) -> String {
    sha256_hex(text)
}

pub(super) fn sha256_hex(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
