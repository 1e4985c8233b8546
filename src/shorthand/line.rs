//! One field of a short schema: `TYPE [= DEFAULT] {, ATTRIBUTE} ["DESCRIPTION"]`.
//!
//! In: the text of the line. Out: its parts, or the first mistake in it. Never here: whether the parts go together.

use super::attribute::{Attribute, attribute};
use super::mistakes::Fault;
use super::scan::{Literal, Scanner};
use super::span::{At, LineText};

/// A line as written.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) kind: At<Type>,
    pub(super) default: Option<At<Literal>>,
    pub(super) attributes: Vec<At<Attribute>>,
    pub(super) description: Option<String>,
}

/// A type as written.
#[derive(Clone, Debug)]
pub(super) enum Type {
    /// A built-in type, or one of `types`.
    Named(String),
    MapOf(Box<At<Type>>),
    ListOf(Box<At<Type>>),
    OneOf(Vec<At<Literal>>),
}

/// `map of list of map of …` goes no deeper.
const DEEPEST: usize = 8;

/// Reads a line.
pub(super) fn line(text: &LineText) -> Result<Line, Fault> {
    let mut scanner = Scanner::new(text);
    let kind = type_of(&mut scanner, DEEPEST)?;
    let default = if scanner.eat('=') { Some(scanner.value(&[])?) } else { None };
    let mut attributes: Vec<At<Attribute>> = Vec::new();
    loop {
        let comma = scanner.eat(',');
        let description = scanner.quoted()?;
        if let Some(At { value, .. }) = description {
            if !scanner.rest().is_empty() {
                let fault = Fault::new(
                    "schema-syntax",
                    &scanner.here(),
                    "this stands after the description",
                );
                return Err(fault.hint("the description comes last"));
            }
            return Ok(Line { kind, default, attributes, description: Some(value) });
        }
        if scanner.rest().is_empty() {
            if comma {
                let message = "an attribute is missing after the comma";
                return Err(Fault::new("schema-syntax", &scanner.here(), message));
            }
            return Ok(Line { kind, default, attributes, description: None });
        }
        if !comma {
            return Err(no_comma(&mut scanner));
        }
        let new = attribute(&mut scanner)?;
        if attributes.iter().any(|old| old.value.word() == new.value.word()) {
            let message = format!("`{}` is here twice", new.value.word());
            return Err(Fault::new("schema-syntax", &new.span, message));
        }
        attributes.push(new);
    }
}

/// What stands behind a type or an attribute without a comma.
fn no_comma(scanner: &mut Scanner<'_>) -> Fault {
    let here = scanner.here();
    let fault = |message: String| Fault::new("schema-syntax", &here, message);
    let next = scanner.rest();
    match next.chars().next() {
        Some('?') => fault("a type has no `?`".into())
            .hint("a field is optional unless it says `, required`; one that may be null says `, nullable`"),
        Some('!') => fault("a type has no `!`".into()).hint("write `, required`"),
        Some('|') => fault("attributes stand behind commas".into())
            .hint("for example `string, required`; alternatives are `one of a | b`"),
        Some('=') => fault("the default stands in the wrong place".into())
            .hint("it follows the type: `integer = 1, min 0`"),
        Some('(' | '[' | '{' | '<') => fault(format!("`{next}` does not belong to a type"))
            .hint("write `list of string`, `map of string`, or fields below each other"),
        _ => {
            let word = scanner.next_word();
            let word = if word.is_empty() { next } else { word };
            fault(format!("there is no comma before `{word}`")).hint("a description stands in quotes")
        }
    }
}

fn type_of(scanner: &mut Scanner<'_>, depth: usize) -> Result<At<Type>, Fault> {
    let Some(word) = scanner.word() else { return Err(no_type(scanner)) };
    let of = word.value == "one" || scanner.next_word() == "of";
    let kind = match word.value {
        "map" | "list" if of => {
            scanner.word();
            if depth == 0 {
                let message = format!("types nest deeper than {DEEPEST}");
                return Err(Fault::new("schema-too-large", &word.span, message));
            }
            let inner = Box::new(type_of(scanner, depth - 1)?);
            if word.value == "map" { Type::MapOf(inner) } else { Type::ListOf(inner) }
        }
        "one" => {
            if scanner.next_word() != "of" {
                let fault = Fault::new("schema-syntax", &word.span, "expected `one of`");
                return Err(fault.hint("for example `one of small | large`"));
            }
            scanner.word();
            Type::OneOf(alternatives(scanner)?)
        }
        name => Type::Named(name.to_owned()),
    };
    Ok(At::new(kind, word.span))
}

fn alternatives(scanner: &mut Scanner<'_>) -> Result<Vec<At<Literal>>, Fault> {
    let mut values = Vec::new();
    loop {
        let value = scanner.value(&['|', '='])?;
        if let Literal::Flow(_) = value.value {
            let fault =
                Fault::new("schema-syntax", &value.span, "this is no word, text or whole number");
            return Err(fault.hint("for example `one of small | large`"));
        }
        values.push(value);
        if !scanner.eat('|') {
            return Ok(values);
        }
    }
}

/// A line that does not begin with a word.
fn no_type(scanner: &mut Scanner<'_>) -> Fault {
    let here = scanner.here();
    let rest = scanner.rest();
    let fault = Fault::new("schema-syntax", &here, "a type is missing here");
    match rest.chars().next() {
        Some('[') => fault.hint("a list is written `list of string`"),
        Some('{') => fault.hint("write the fields below each other, as YAML"),
        Some('"' | '\'') => fault.hint("the type comes first: `string \"What it is for\"`"),
        Some('=') => fault.hint("for example `integer = 1`"),
        _ => fault.hint("for example `string`"),
    }
}
