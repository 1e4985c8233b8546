//! Defaults: from what was written to a value of the type, checked like the API server will check it.
//!
//! In: a literal and its schema. Out: a JSON value, or what is wrong with it. Never here: places in files.

use super::scan::Literal;
use super::schema::{Bounds, Field, Identity, List, Schema, Shape, Text, Whole};
use crate::comparison::{GoDuration, Quantity};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// Why a value is none of the type, and what to write instead.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    /// Where in the value, as `.key.0`; empty for the value itself.
    path: String,
    message: String,
    pub(super) hint: Option<&'static str>,
}

impl Wrong {
    fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), message: message.into(), hint: None }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// For people.
    pub(super) fn sentence(&self) -> String {
        match self.path.strip_prefix('.') {
            Some(path) => format!("at `{path}`, {}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Reads a literal as the type has it, and checks it.
pub(super) fn read(literal: &Literal, schema: &Schema) -> Result<Value, Wrong> {
    let value = match literal {
        Literal::Flow(value) => value.clone(),
        Literal::Quoted(text) => Value::String(text.clone()),
        Literal::Bare(text) => bare(text, &schema.shape)?,
    };
    hold(&value, schema)?;
    Ok(value)
}

/// Whether a value is one of the type.
pub(super) fn hold(value: &Value, schema: &Schema) -> Result<(), Wrong> {
    check(value, schema, "")
}

/// A word without quotes: the type says what it is, so that `no` can be text.
fn bare(text: &str, shape: &Shape) -> Result<Value, Wrong> {
    let whole = || text.parse::<i64>().ok().map(Value::from);
    Ok(match shape {
        Shape::Whole(_) => {
            whole().ok_or_else(|| Wrong::new("", format!("`{text}` is no whole number")))?
        }
        Shape::Number(_) => Value::Number(
            number(text).ok_or_else(|| Wrong::new("", format!("`{text}` is no number")))?,
        ),
        Shape::Boolean => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(Wrong::new("", format!("`{text}` is neither `true` nor `false`"))),
        },
        Shape::IntOrString => whole().unwrap_or_else(|| Value::from(text)),
        Shape::Choice(values) if !values.iter().any(Value::is_string) => {
            whole().unwrap_or_else(|| Value::from(text))
        }
        Shape::List(_) => {
            return Err(Wrong::new("", format!("`{text}` is no list")).hint("write `[…]`"));
        }
        Shape::Map { .. } | Shape::Object { .. } | Shape::Free => {
            return Err(
                Wrong::new("", format!("`{text}` is no map")).hint("write `{}`, or `{a: b}`")
            );
        }
        _ => Value::from(text),
    })
}

/// A JSON number, as the API server will read it.
pub(super) fn number(text: &str) -> Option<Number> {
    serde_json::from_str(text).ok()
}

/// Whether a value is one of the type; `path` says where in the default it stands.
fn check(value: &Value, schema: &Schema, path: &str) -> Result<(), Wrong> {
    if value.is_null() && schema.nullable {
        return Ok(());
    }
    let wrong = |message: String| Err(Wrong::new(path, message));
    let text = value.as_str();
    match (&schema.shape, value) {
        (Shape::Any, _)
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Free, Value::Object(_))
        | (Shape::IntOrString, Value::String(_)) => Ok(()),
        (Shape::Text(text), Value::String(value)) => self::text(value, text).or_else(wrong),
        (Shape::Choice(values), _) if values.contains(value) => Ok(()),
        (Shape::Choice(values), _) => wrong(format!("{value} is none of {}", list(values))),
        (Shape::Whole(whole), Value::Number(number)) => match number.as_i64() {
            Some(number) => self::whole(number, whole).or_else(wrong),
            None => wrong(format!("{number} is no whole number")),
        },
        (Shape::Number(bounds), Value::Number(number)) => {
            let order = |left: &Number, right: &Number| {
                left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal)
            };
            within(number, bounds, order, "").or_else(wrong)
        }
        (Shape::IntOrString, Value::Number(number)) if number.is_i64() => Ok(()),
        (Shape::Quantity, Value::String(_)) => match Quantity::of(value) {
            Ok(_) => Ok(()),
            Err(error) => wrong(error.to_string()),
        },
        (Shape::Quantity, Value::Number(number)) if number.is_i64() => Ok(()),
        (Shape::Duration, Value::String(text)) => match text.parse::<GoDuration>() {
            Ok(_) => Ok(()),
            Err(error) => wrong(error.to_string()),
        },
        (Shape::DateTime, _) if text.is_some_and(is_date_time) => Ok(()),
        (Shape::DateTime, Value::String(_)) => {
            wrong("a time is written like 2026-01-31T12:00:00Z".into())
        }
        (Shape::Map { values, size }, Value::Object(map)) => {
            if let Err(message) = count(map.len(), size, "entries") {
                return wrong(message);
            }
            map.iter().try_for_each(|(key, value)| check(value, values, &format!("{path}.{key}")))
        }
        (Shape::List(list), Value::Array(items)) => elements(items, list, path),
        (Shape::Object { fields, .. }, Value::Object(map)) => members(map, fields, path),
        (shape, _) => wrong(format!("{value} is no {}", shape.noun())),
    }
}

fn members(map: &Map<String, Value>, fields: &[Field], path: &str) -> Result<(), Wrong> {
    for (key, value) in map {
        let Some(field) = fields.iter().find(|field| field.name == *key) else {
            return Err(Wrong::new(path, format!("there is no field `{key}`")));
        };
        check(value, &field.schema, &format!("{path}.{key}"))?;
    }
    match fields.iter().find(|field| field.required && !map.contains_key(&field.name)) {
        Some(field) => {
            Err(Wrong::new(path, format!("the required field `{}` is missing", field.name)))
        }
        None => Ok(()),
    }
}

fn elements(items: &[Value], list: &List, path: &str) -> Result<(), Wrong> {
    count(items.len(), &list.size, "elements").map_err(|message| Wrong::new(path, message))?;
    for (index, item) in items.iter().enumerate() {
        check(item, &list.items, &format!("{path}.{index}"))?;
        let same = |other: &Value| match &list.identity {
            Identity::Set => other == item,
            Identity::Keys(keys) => keys.iter().all(|key| {
                let default = list.items.field(key).and_then(|field| field.default.as_ref());
                other.get(key).or(default) == item.get(key).or(default)
            }),
            Identity::Unsaid | Identity::Atomic => false,
        };
        if items[..index].iter().any(same) {
            return Err(Wrong::new(path, format!("{item} is there twice")));
        }
    }
    Ok(())
}

fn text(value: &str, text: &Text) -> Result<(), String> {
    count(value.chars().count(), &text.length, "characters")?;
    let pattern = text.pattern.as_ref().and_then(|pattern| regex::Regex::new(pattern).ok());
    match pattern {
        Some(pattern) if !pattern.is_match(value) => {
            Err(format!("\"{value}\" does not match `{pattern}`"))
        }
        _ => Ok(()),
    }
}

fn whole(number: i64, whole: &Whole) -> Result<(), String> {
    if whole.short && i32::try_from(number).is_err() {
        return Err(format!("{number} does not fit 32 bits"));
    }
    within(&number, &whole.bounds, i64::cmp, "")
}

fn count(length: usize, bounds: &Bounds<u32>, what: &str) -> Result<(), String> {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    within(&length, bounds, u32::cmp, what)
}

fn within<T: std::fmt::Display>(
    value: &T,
    bounds: &Bounds<T>,
    order: impl Fn(&T, &T) -> Ordering,
    what: &str,
) -> Result<(), String> {
    let value_is = || match what {
        "" => format!("{value} is"),
        what => format!("the number of {what}, {value}, is"),
    };
    match (&bounds.min, &bounds.max) {
        (Some(min), _) if order(value, min).is_lt() => {
            Err(format!("{} less than {min}", value_is()))
        }
        (_, Some(max)) if order(value, max).is_gt() => {
            Err(format!("{} more than {max}", value_is()))
        }
        _ => Ok(()),
    }
}

/// RFC 3339; the library alone would take more.
fn is_date_time(text: &str) -> bool {
    let shaped = text.len() >= 20
        && text.bytes().zip("0000-00-00T00:00:00".bytes()).all(|(byte, model)| match model {
            b'0' => byte.is_ascii_digit(),
            model => byte == model,
        });
    shaped && text.parse::<Timestamp>().is_ok()
}

fn list(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
