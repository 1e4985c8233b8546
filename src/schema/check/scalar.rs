//! Scalars, and whatever stands where another type should be.

use super::Checker;
use crate::comparison::{Quantity, QuantityError};
use crate::schema::shape::{Format, Shape, Width};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Number, Value};

/// As lenient as Go's decoder, which ignores the bits that are left over.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

impl Checker {
    /// Whether a value has the shape of a scalar; notes it if not.
    pub(super) fn scalar(&mut self, shape: &Shape, value: &Value) -> bool {
        let fits = match (shape, value) {
            (Shape::Bool, Value::Bool(_))
            | (Shape::Text(Format::Free) | Shape::IntOrText, Value::String(_))
            | (Shape::Number, Value::Number(_)) => true,
            (Shape::Text(format), Value::String(text)) => return self.text(*format, text),
            (Shape::Integer(width), Value::Number(number)) if is_whole(number) => {
                return self.integer(*width, number);
            }
            (Shape::IntOrText, Value::Number(number)) => is_whole(number),
            (Shape::Quantity, Value::Number(_) | Value::String(_)) => return self.quantity(value),
            _ => false,
        };
        if !fits {
            let message = format!("is {}, should be {}", describe(value), noun(shape));
            self.note("wrong-type", message, hint(shape, value));
        }
        fits
    }

    /// The API server cuts off the upper bits without a word where a built-in kind has less of them.
    fn integer(&mut self, width: Width, number: &Number) -> bool {
        let narrow = i64::from(i32::MIN)..=i64::from(i32::MAX);
        let fits = width == Width::Wide
            || number.as_i64().map_or(!number.is_u64(), |number| narrow.contains(&number));
        if !fits {
            self.note("out-of-bounds", format!("is {number}, which takes more than 32 bits"), None);
        }
        fits
    }

    fn text(&mut self, format: Format, text: &str) -> bool {
        let fits = match format {
            Format::Free => true,
            Format::Bytes => {
                let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
                BASE64.decode(joined).is_ok()
            }
            Format::Time => text.parse::<Timestamp>().is_ok(),
        };
        if !fits {
            let (noun, hint) = match format {
                Format::Time => ("a time", "write it as 2026-01-31T12:00:00Z"),
                _ => ("base64", "in a template, `|b64encode` makes it"),
            };
            let message = format!("is the text {}, should be {noun}", shown(text));
            self.note("wrong-format", message, hint.to_owned());
        }
        fits
    }

    fn quantity(&mut self, value: &Value) -> bool {
        let read = match value {
            Value::String(text) => text.trim().parse::<Quantity>(),
            value => Quantity::of(value),
        };
        // The API server rounds what has too many digits.
        let fits = !matches!(read, Err(QuantityError::Shape));
        if !fits {
            let hint = "write a number with a suffix such as 500m, 2Gi or 1e3".to_owned();
            let message = format!("is {}, should be a quantity", describe(value));
            self.note("wrong-format", message, hint);
        }
        fits
    }
}

/// Whether a number is an integer however it is written: the API server takes 3.0 for 3.
fn is_whole(number: &Number) -> bool {
    let fraction = number.as_f64().filter(|_| number.is_f64()).map(f64::fract);
    fraction.is_none_or(|fraction| fraction == 0.0)
}

/// What should be there.
fn noun(shape: &Shape) -> &'static str {
    match shape {
        Shape::Any | Shape::Named(_) => "something else",
        Shape::Bool => "true or false",
        Shape::Integer(_) => "an integer",
        Shape::Number => "a number",
        Shape::Text(_) => "text",
        Shape::IntOrText => "an integer or text",
        Shape::Quantity => "a quantity",
        Shape::List(..) => "a list",
        Shape::Map(_) | Shape::Fields(_) => "a map",
    }
}

/// What is there.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(text) => format!("the text {}", shown(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

/// A text in quotes, cut where it becomes long.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("\"{}…\"", &text[..cut]),
        None => format!("\"{text}\""),
    }
}

/// How the value that is there becomes one of the right type.
fn hint(shape: &Shape, value: &Value) -> Option<String> {
    let hint = match (shape, value) {
        (Shape::Text(_), Value::Bool(_) | Value::Number(_)) => "quote it",
        (Shape::Integer(_), Value::String(text)) if text.parse::<i64>().is_ok() => {
            "drop the quotes"
        }
        (Shape::Number, Value::String(text)) if text.parse::<f64>().is_ok() => "drop the quotes",
        (Shape::Bool, Value::String(text)) if text == "true" || text == "false" => {
            "drop the quotes"
        }
        (Shape::List(..), Value::Array(_) | Value::Null) => return None,
        (Shape::List(..), _) => "put it in a list: `- …` or `[…]`",
        _ => return None,
    };
    Some(hint.to_owned())
}
