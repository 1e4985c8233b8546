//! Engine values to JSON and to text.
//!
//! In: what an expression gave. Out: the JSON value or the text that it stands for, within limits. Never here: YAML.
//!
//! The engine marks text that it captured itself (`{% set %}` blocks, macros) as safe and never marks a value so. Only
//! such text can contain placeholders, and only it is ever searched for them: what a parent contains cannot forge one.

use super::context::{Content, Node};
use super::token::{self, Piece};
use minijinja::value::{Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind, Output, State};
use serde_json::{Map, Number, Value as Json};
use std::sync::Arc;

/// Values in one rendering together, in bytes of text and keys, and [`ONE_VALUE`] for each value.
pub(super) const MAX_BYTES: usize = 5 << 20;

/// What a value costs whatever is in it, in bytes: about what it takes in a list.
const ONE_VALUE: usize = 16;

/// Values inside each other.
pub(super) const MAX_DEPTH: usize = 64;

/// The values of one rendering, waiting for the text around them to be read.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Each with its cost in bytes.
    values: Vec<(Json, usize)>,
    bytes: usize,
}

impl Slots {
    /// A value and its cost in bytes: a text that was captured, or an alias, can name one many times.
    pub(super) fn get(&self, slot: usize) -> Option<(&Json, usize)> {
        self.values.get(slot).map(|(value, bytes)| (value, *bytes))
    }
}

/// Why a rendering has too many values, or too long ones.
pub(super) fn too_long() -> String {
    format!("the values are longer than {MAX_BYTES} bytes together")
}

/// What `omit` stands for.
#[derive(Debug)]
pub(super) struct Omit;

impl Object for Omit {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }
}

/// Called by the engine for every `{{ … }}`: values go into slots, and only captured text is written as it is.
pub(super) fn format(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    if value.is_safe() {
        return Ok(out.write_str(value.as_str().unwrap_or_default())?);
    }
    // The engine refuses undefined values itself, except for that of an inline `if` without `else`.
    if value.is_undefined() {
        return Ok(out.write_str(token::NOTHING_TEXT)?);
    }
    if is_omit(value) {
        return Ok(out.write_str(token::OMIT_TEXT)?);
    }
    let mut bytes = 0;
    let json = json_within(state, value, 0, &mut bytes)?;
    let slots = state.get_or_insert_extension_with(Slots::default);
    slots.bytes += bytes;
    if slots.bytes > MAX_BYTES {
        return Err(refuse(too_long()));
    }
    slots.values.push((json, bytes));
    let slot = slots.values.len() - 1;
    Ok(token::write_slot(out, slot)?)
}

/// The JSON value that an engine value stands for.
pub(super) fn json(state: &State<'_, '_>, value: &Value) -> Result<Json, Error> {
    json_within(state, value, 0, &mut 0)
}

fn json_within(
    state: &State<'_, '_>,
    value: &Value,
    depth: usize,
    bytes: &mut usize,
) -> Result<Json, Error> {
    if depth > MAX_DEPTH {
        return Err(refuse(format!("a value nests deeper than {MAX_DEPTH}")));
    }
    // The engine charges nothing for lists that it has not made yet; this does.
    state.consume_fuel(1)?;
    *bytes += ONE_VALUE;
    if let Some(node) = value.downcast_object_ref::<Node>() {
        return node_json(state, node, depth, bytes);
    }
    match value.kind() {
        ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::Number => number(value).map(Json::Number),
        ValueKind::String => {
            let text = plain(state, value)?;
            charge(state, &text, bytes)?;
            Ok(Json::String(text))
        }
        ValueKind::Map => {
            let mut map = Map::new();
            for key in value.try_iter()?.checked() {
                let key = key?;
                let item = value.get_item(&key)?;
                if !is_omit(&item) {
                    let key = key_text(state, &key)?;
                    charge(state, &key, bytes)?;
                    map.insert(key, json_within(state, &item, depth + 1, bytes)?);
                }
            }
            Ok(Json::Object(map))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let mut items = Vec::new();
            for item in value.try_iter()?.checked() {
                let item = item?;
                if !is_omit(&item) {
                    items.push(json_within(state, &item, depth + 1, bytes)?);
                }
            }
            Ok(Json::Array(items))
        }
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        kind => Err(refuse(format!("{} has no form in YAML", describe(value, kind)))),
    }
}

/// The common case, without the detour over the engine's iterators.
fn node_json(
    state: &State<'_, '_>,
    node: &Node,
    depth: usize,
    bytes: &mut usize,
) -> Result<Json, Error> {
    Ok(match node.content() {
        Content::Map(entries) => {
            let mut map = Map::new();
            for (key, item) in entries {
                charge(state, key, bytes)?;
                map.insert(key.clone(), json_within(state, item, depth + 1, bytes)?);
            }
            Json::Object(map)
        }
        Content::List(items) => Json::Array(
            items
                .iter()
                .map(|item| json_within(state, item, depth + 1, bytes))
                .collect::<Result<_, _>>()?,
        ),
    })
}

fn charge(state: &State<'_, '_>, text: &str, bytes: &mut usize) -> Result<(), Error> {
    *bytes += text.len();
    state.consume_fuel(text.len() as u64 / 64)
}

/// Integers exactly, whatever the engine counted with.
fn number(value: &Value) -> Result<Number, Error> {
    if value.is_integer() {
        let signed = i64::try_from(value.clone()).ok().map(Number::from);
        let number = signed.or_else(|| u64::try_from(value.clone()).ok().map(Number::from));
        return number.ok_or_else(|| refuse("this number is too large for Kubernetes"));
    }
    let number = f64::try_from(value.clone()).ok().and_then(Number::from_f64);
    number.ok_or_else(|| refuse("infinity and not-a-number have no form in YAML"))
}

fn key_text(state: &State<'_, '_>, key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String | ValueKind::Number | ValueKind::Bool => text(state, key),
        kind => Err(refuse(format!("{} cannot be a key", describe(key, kind)))),
    }
}

/// The text of a value: `true` and `false` as YAML spells them, numbers as JSON does; the rest has none.
pub(super) fn text(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::String => plain(state, value),
        ValueKind::Bool => Ok(value.is_true().to_string()),
        ValueKind::Number => number(value).map(|number| number.to_string()),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        kind => Err(refuse(no_text(&describe(value, kind)))),
    }
}

/// The text of a JSON value, or why it has none.
pub(super) fn json_text(json: &Json) -> Result<String, String> {
    match json {
        Json::String(text) => Ok(text.clone()),
        Json::Bool(_) | Json::Number(_) => Ok(json.to_string()),
        Json::Null => Err(no_text("null")),
        Json::Array(_) => Err(no_text("a list")),
        Json::Object(_) => Err(no_text("a map")),
    }
}

fn no_text(what: &str) -> String {
    let filters = match what {
        "null" => "`default(…)`",
        "a list" => "`join`, `to_json` or `to_yaml`",
        _ => "`to_json` or `to_yaml`",
    };
    format!("{what} has no text of its own; use {filters}")
}

/// A string without placeholders: captured text with the values' texts in their places.
fn plain(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    let text = value.as_str().unwrap_or_default();
    if !value.is_safe() || !token::is_in(text) {
        return Ok(text.to_owned());
    }
    let pieces = token::pieces(text).ok_or_else(|| refuse("a placeholder was cut in two"))?;
    let slots = state.get_extension::<Slots>();
    let mut plain = String::with_capacity(text.len());
    for piece in pieces {
        match piece {
            Piece::Text(text) => plain += text,
            Piece::Nothing => {}
            Piece::Omit => return Err(refuse("`omit` cannot be a part of a text")),
            Piece::Slot(slot) => {
                let (json, bytes) =
                    slots.and_then(|slots| slots.get(slot)).unwrap_or((&Json::Null, 0));
                // One captured text can name a long value many times.
                state.consume_fuel(bytes as u64 / 64)?;
                plain += &json_text(json).map_err(refuse)?;
            }
        }
        state.consume_fuel(1)?;
    }
    Ok(plain)
}

/// A value that can be compared, counted or added to: captured text becomes plain, and lists are really there, so that
/// nobody can double one more often than there is fuel.
pub(super) fn settled(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String if value.is_safe() => plain(state, value).map(Value::from),
        ValueKind::Iterable => {
            let mut items = Vec::new();
            for item in value.try_iter()?.checked() {
                state.consume_fuel(1)?;
                items.push(item?);
            }
            Ok(Value::from(items))
        }
        _ => Ok(value.clone()),
    }
}

pub(super) fn is_omit(value: &Value) -> bool {
    value.downcast_object_ref::<Omit>().is_some()
}

/// What people call a value that cannot be used.
fn describe(value: &Value, kind: ValueKind) -> String {
    match kind {
        ValueKind::None => "null".to_owned(),
        ValueKind::Map => "a map".to_owned(),
        ValueKind::Seq | ValueKind::Iterable => "a list".to_owned(),
        ValueKind::Plain if is_omit(value) => "`omit`".to_owned(),
        ValueKind::Plain => "a function".to_owned(),
        other => format!("a value of kind {other}"),
    }
}

pub(super) fn refuse(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}
