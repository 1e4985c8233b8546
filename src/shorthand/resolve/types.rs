//! Types: the built-in ones, those of `types`, and lists, maps and choices of them.
//!
//! In: a type as written. Out: its schema, or why there is none. A type is resolved once and copied wherever it is named.

use super::Resolver;
use crate::comparison::closest;
use crate::shorthand::line::Type;
use crate::shorthand::mistakes::Fault;
use crate::shorthand::scan::Literal;
use crate::shorthand::schema::{Bounds, Schema, Shape, Text, Whole};
use crate::shorthand::span::At;
use crate::shorthand::written::WrittenField;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;

/// Parts of a schema once its types are put in: far more than people write, far less than etcd can hold.
const LARGEST: usize = 2_000;

/// Types inside of types.
const DEEPEST: usize = 32;

/// The types of one short schema.
pub(super) struct Types<'w> {
    written: BTreeMap<&'w str, &'w WrittenField>,
    /// What they came out as; nothing for one with a mistake.
    resolved: BTreeMap<&'w str, Option<Schema>>,
    underway: Vec<&'w str>,
    size: usize,
}

impl<'w> Types<'w> {
    pub(super) fn new(written: &'w [WrittenField]) -> Self {
        Self {
            written: written.iter().map(|field| (field.name.value.as_str(), field)).collect(),
            resolved: BTreeMap::new(),
            underway: Vec::new(),
            size: 0,
        }
    }
}

impl<'w> Resolver<'w, '_, '_> {
    /// A type that nothing refers to is looked at too: a mistake is a mistake.
    pub(in crate::shorthand) fn all_types(&mut self) {
        let types: Vec<_> = self.types.written.values().copied().collect();
        for written in types {
            if !self.types.resolved.contains_key(written.name.value.as_str()) {
                self.named(&written.name.value, written.span());
            }
        }
    }

    pub(super) fn type_of(&mut self, kind: &At<Type>) -> Option<Schema> {
        self.grow(1, &kind.span)?;
        let shape = match &kind.value {
            Type::Named(name) => match built_in(name) {
                Some(shape) => shape,
                None => return self.named(name, &kind.span),
            },
            Type::MapOf(inner) => {
                let values = Box::new(self.type_of(inner)?);
                Shape::Map { values, size: Bounds::default() }
            }
            Type::ListOf(inner) => Shape::list_of(self.type_of(inner)?),
            Type::OneOf(values) => Shape::Choice(self.mistakes.sound(choice(values))?),
        };
        Some(Schema::of(shape))
    }

    /// One of `types`.
    fn named(&mut self, name: &str, span: &Range<usize>) -> Option<Schema> {
        let Some((&name, &written)) = self.types.written.get_key_value(name) else {
            let fault = unknown(name, span, self.types.written.keys().copied());
            self.mistakes.note(fault);
            return None;
        };
        if let Some(resolved) = self.types.resolved.get(name) {
            let resolved = resolved.clone()?;
            self.grow(resolved.size(), span)?;
            return Some(resolved);
        }
        let underway = &self.types.underway;
        if let Some(at) = underway.iter().position(|other| *other == name) {
            let circle = [&underway[at..], &[name]].concat().join(" > ");
            let message = format!("`{name}` contains itself: {circle}");
            let fault = Fault::new("endless-type", span, message);
            self.mistakes.note(fault.hint("a CRD cannot say that: let one of them be an `object`"));
            return None;
        }
        if underway.len() == DEEPEST {
            let message = format!("types nest deeper than {DEEPEST}");
            self.mistakes.note(Fault::new("schema-too-large", span, message));
            return None;
        }
        self.types.underway.push(name);
        let schema = self.type_body(written);
        self.types.underway.pop();
        self.types.resolved.insert(name, schema.clone());
        schema
    }

    fn type_body(&mut self, written: &'w WrittenField) -> Option<Schema> {
        let field = self.field(written, None)?;
        if field.required || field.schema.nullable || field.schema.immutable.is_some() {
            let message = "`required`, `nullable` and `immutable` are for fields, not for types";
            let fault = Fault::new("attribute-not-here", written.span(), message);
            self.mistakes.note(fault.hint(format!("write them where `{}` is used", field.name)));
            return None;
        }
        Some(field.schema)
    }

    /// Counts what the schema is made of: types in types can grow without end in a few lines.
    fn grow(&mut self, by: usize, span: &Range<usize>) -> Option<()> {
        let before = self.types.size;
        self.types.size += by;
        if self.types.size <= LARGEST {
            return Some(());
        }
        // Said once.
        if before <= LARGEST {
            let message = format!("the schema has more than {LARGEST} parts, its types put in");
            self.mistakes.note(Fault::new("schema-too-large", span, message));
        }
        None
    }
}

const BUILT_IN: [&str; 10] = [
    "string",
    "integer",
    "int32",
    "number",
    "boolean",
    "quantity",
    "duration",
    "date-time",
    "int-or-string",
    "object",
];

fn built_in(name: &str) -> Option<Shape> {
    Some(match name {
        "string" => Shape::Text(Text::default()),
        "integer" => Shape::Whole(Whole::default()),
        "int32" => Shape::Whole(Whole { short: true, ..Whole::default() }),
        "number" => Shape::Number(Bounds::default()),
        "boolean" => Shape::Boolean,
        "quantity" => Shape::Quantity,
        "duration" => Shape::Duration,
        "date-time" => Shape::DateTime,
        "int-or-string" => Shape::IntOrString,
        "object" => Shape::Free,
        _ => return None,
    })
}

/// A type that there is not, under the name that other languages give it or with a slip of the finger.
fn unknown<'k>(name: &str, span: &Range<usize>, types: impl Iterator<Item = &'k str>) -> Fault {
    let fault = Fault::new("unknown-type", span, format!("there is no type `{name}`"));
    let known: Vec<&str> = BUILT_IN.into_iter().chain(types).collect();
    let write = match name.to_lowercase().as_str() {
        "int" | "int64" | "long" | "uint" => "integer",
        "float" | "float64" | "double" | "decimal" => "number",
        "bool" => "boolean",
        "str" | "text" => "string",
        "datetime" | "timestamp" | "date" | "time" => "date-time",
        "intorstring" => "int-or-string",
        "json" | "any" | "dict" | "struct" => "object",
        "list" | "array" => return fault.hint("a list of what? for example `list of string`"),
        "map" => return fault.hint("a map of what? for example `map of string`"),
        "enum" => return fault.hint("write `one of small | large`"),
        _ => match closest(name, known.iter().copied()) {
            Some(near) => return fault.hint(format!("did you mean `{near}`?")),
            None => {
                return fault
                    .hint(format!("there are: {}, list of, map of, one of", known.join(", ")));
            }
        },
    };
    fault.hint(format!("write `{write}`"))
}

/// The values of a choice: whole numbers if all look like it, otherwise texts.
fn choice(values: &[At<Literal>]) -> Result<Vec<Value>, Fault> {
    let number = |literal: &Literal| match literal {
        Literal::Bare(text) => text.parse::<i64>().ok(),
        _ => None,
    };
    let numbers: Option<Vec<i64>> = values.iter().map(|value| number(&value.value)).collect();
    let mut choice: Vec<Value> = Vec::new();
    for (index, At { value, span }) in values.iter().enumerate() {
        let new = match (value, &numbers) {
            (_, Some(numbers)) => Value::from(numbers[index]),
            (Literal::Bare(text) | Literal::Quoted(text), None) => Value::from(text.as_str()),
            (Literal::Flow(value), None) => value.clone(),
        };
        if choice.contains(&new) {
            let message = format!("{new} is here twice");
            return Err(Fault::new("schema-syntax", span, message));
        }
        choice.push(new);
    }
    Ok(choice)
}
