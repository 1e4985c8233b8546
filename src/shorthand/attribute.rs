//! What may follow the type of a field: the whole list.
//!
//! In: the part of a line behind a comma. Out: an attribute, or why it is none. Never here: which types it is for.

use super::mistakes::Fault;
use super::scan::{Literal, Scanner};
use super::span::At;
use crate::comparison::closest;
use std::ops::Range;

/// What a line says of its field beside type, default and description.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attribute {
    Required,
    Nullable,
    Immutable,
    /// A number, read once the type is known.
    Min(String),
    Max(String),
    MinLength(u32),
    MaxLength(u32),
    MinItems(u32),
    MaxItems(u32),
    MinProperties(u32),
    MaxProperties(u32),
    Pattern(String),
    /// The list is replaced as a whole.
    Atomic,
    /// Each element is there once.
    Set,
    /// Elements are told apart by these fields.
    KeyedBy(Vec<At<String>>),
    Column {
        /// The field's own name without it.
        name: Option<String>,
        /// Shown with `-o wide` only.
        wide: bool,
    },
}

/// Every attribute, as it is written.
const WORDS: [&str; 16] = [
    "required",
    "nullable",
    "immutable",
    "min",
    "max",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "atomic",
    "set",
    "keyed",
    "column",
];

impl Attribute {
    /// The word that it begins with.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Nullable => "nullable",
            Self::Immutable => "immutable",
            Self::Min(_) => "min",
            Self::Max(_) => "max",
            Self::MinLength(_) => "minLength",
            Self::MaxLength(_) => "maxLength",
            Self::MinItems(_) => "minItems",
            Self::MaxItems(_) => "maxItems",
            Self::MinProperties(_) => "minProperties",
            Self::MaxProperties(_) => "maxProperties",
            Self::Pattern(_) => "pattern",
            Self::Atomic => "atomic",
            Self::Set => "set",
            Self::KeyedBy(_) => "keyed by",
            Self::Column { .. } => "column",
        }
    }
}

/// Reads one attribute.
pub(super) fn attribute(scanner: &mut Scanner<'_>) -> Result<At<Attribute>, Fault> {
    let Some(At { value: word, span }) = scanner.word() else {
        return Err(Fault::new("schema-syntax", &scanner.here(), "an attribute is missing here"));
    };
    let attribute = match word {
        "required" => Attribute::Required,
        "nullable" => Attribute::Nullable,
        "immutable" => Attribute::Immutable,
        "min" => Attribute::Min(number(scanner)?),
        "max" => Attribute::Max(number(scanner)?),
        "minLength" => Attribute::MinLength(count(scanner)?),
        "maxLength" => Attribute::MaxLength(count(scanner)?),
        "minItems" => Attribute::MinItems(count(scanner)?),
        "maxItems" => Attribute::MaxItems(count(scanner)?),
        "minProperties" => Attribute::MinProperties(count(scanner)?),
        "maxProperties" => Attribute::MaxProperties(count(scanner)?),
        "pattern" => Attribute::Pattern(pattern(scanner)?),
        "atomic" => Attribute::Atomic,
        "set" => Attribute::Set,
        "keyed" if scanner.next_word() == "by" => {
            scanner.word();
            Attribute::KeyedBy(keys(scanner)?)
        }
        "column" => Attribute::Column { name: name(scanner), wide: false },
        "wide" if scanner.next_word() == "column" => {
            scanner.word();
            Attribute::Column { name: name(scanner), wide: true }
        }
        _ => return Err(unknown(word, &span)),
    };
    Ok(At::new(attribute, span))
}

fn unknown(word: &str, span: &Range<usize>) -> Fault {
    let hint = match word {
        "minimum" | "maximum" => format!("write `{}`", &word[..3]),
        "default" => "the default follows the type: `integer = 1`".into(),
        "enum" => "write the type as `one of small | large`".into(),
        "optional" => "leave it out: a field is optional unless it says `required`".into(),
        "unique" | "uniqueItems" => "write `set`".into(),
        "listType" | "listMapKey" | "listMapKeys" | "key" | "keys" | "keyed" => {
            "write `atomic`, `set` or `keyed by name`".into()
        }
        "readonly" | "readOnly" | "const" => "write `immutable`".into(),
        "description" | "title" => {
            "a description stands in quotes at the end, without a word in front".into()
        }
        "format" => "write it as the type: `duration`, `date-time`, `int32`".into(),
        "printcolumn" | "printerColumn" | "wide" => {
            "write `column Name` or `wide column Name`".into()
        }
        "validation" | "validations" | "rule" | "cel" | "multipleOf" | "exclusiveMinimum"
        | "exclusiveMaximum" | "not" | "allOf" | "anyOf" | "oneOf" | "example" => {
            super::BY_HAND.into()
        }
        _ => match closest(word, WORDS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", WORDS.join(", ")),
        },
    };
    Fault::new("unknown-attribute", span, format!("there is no attribute `{word}`")).hint(hint)
}

/// A bound, as it was written.
fn number(scanner: &mut Scanner<'_>) -> Result<String, Fault> {
    let written = scanner.value(&[])?;
    match written.value {
        Literal::Bare(text) if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(text),
        _ => Err(Fault::new("schema-syntax", &written.span, "expected a number")),
    }
}

/// A length.
fn count(scanner: &mut Scanner<'_>) -> Result<u32, Fault> {
    let written = scanner.value(&[])?;
    match &written.value {
        Literal::Bare(text) => text.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| Fault::new("schema-syntax", &written.span, "expected a whole number from 0"))
}

/// A regular expression as Go and Rust both read it; the API server compiles it once more.
fn pattern(scanner: &mut Scanner<'_>) -> Result<String, Fault> {
    let written = match scanner.quoted()? {
        Some(quoted) => quoted,
        None => scanner.bare(&[])?,
    };
    match regex::Regex::new(&written.value) {
        Ok(_) => Ok(written.value),
        Err(error) => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            let message = format!("this is no pattern: {}", reason.trim_start_matches("error: "));
            Err(Fault::new("illegal-pattern", &written.span, message)
                .hint("a pattern with a comma or a space in it stands in quotes"))
        }
    }
}

fn keys(scanner: &mut Scanner<'_>) -> Result<Vec<At<String>>, Fault> {
    let mut keys = Vec::new();
    loop {
        let Some(At { value, span }) = scanner.word() else {
            let fault =
                Fault::new("schema-syntax", &scanner.here(), "the name of a field is missing here");
            return Err(fault.hint("for example `keyed by name`, or `keyed by port and protocol`"));
        };
        keys.push(At::new(value.to_owned(), span));
        if scanner.next_word() != "and" {
            return Ok(keys);
        }
        scanner.word();
    }
}

fn name(scanner: &mut Scanner<'_>) -> Option<String> {
    scanner.word().map(|word| word.value.to_owned())
}
