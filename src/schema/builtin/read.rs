//! Reads the description of the built-in kinds.
//!
//! In: its text. Out: a [`Table`] that borrows from it. What does not follow the notation counts as "anything goes": a
//! test shows that nothing does. The notation is told in the first lines of the text.

use crate::object::Gvk;
use crate::schema::Kind;
use crate::schema::shape::{Fields, Format, Keyed, Limits, Schema, Shape, Width};
use crate::scope::Scope;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Everything that the description says.
#[derive(Default)]
pub(super) struct Table {
    pub(super) kinds: BTreeMap<Gvk, Kind>,
    pub(super) types: HashMap<&'static str, Schema>,
}

/// Reads the whole description.
pub(super) fn table(text: &'static str) -> Table {
    let mut table = Table::default();
    let mut current = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(kind) = line.strip_prefix("kind ") {
            table.kinds.extend(read_kind(kind));
        } else if let Some(field) = line.strip_prefix(' ') {
            if let Some(schema) = table.types.get_mut(current) {
                read_field(field, schema);
            }
        } else {
            let (name, atomic) = mark(line, "~");
            let shape = Shape::Fields(Fields::default());
            table.types.insert(name, Schema { atomic, nullable: true, ..Schema::of(shape) });
            current = name;
        }
    }
    table
}

/// `apps/v1 Deployment deployments namespaced status apps.v1.Deployment`
fn read_kind(line: &'static str) -> Option<(Gvk, Kind)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [api_version, kind, plural, scope, status, root] = words.try_into().ok()?;
    let scope = if scope == "cluster" { Scope::Cluster } else { Scope::Namespaced };
    let root = Schema::of(Shape::Named(root));
    let (plural, has_status) = (plural.to_owned(), status == "status");
    Some((Gvk::parse(api_version, kind)?, Kind { plural, scope, has_status, root }))
}

/// `name! TYPE`
fn read_field(line: &'static str, schema: &mut Schema) {
    let Some((name, written)) = line.split_once(' ') else { return };
    let (name, required) = mark(name, "!");
    if required {
        schema.limits.get_or_insert_default().required.push(name.to_owned());
    }
    if let Shape::Fields(fields) = &mut schema.shape {
        fields.known.insert(name.into(), read_type(written).0);
    }
}

/// A word without the mark at its end, and whether it had one.
fn mark<'w>(word: &'w str, mark: &str) -> (&'w str, bool) {
    word.strip_suffix(mark).map_or((word, false), |word| (word, true))
}

/// A type at the start of a text, and what follows it.
fn read_type(text: &'static str) -> (Schema, &'static str) {
    let (mut schema, rest) = if let Some(inner) = text.strip_prefix('[') {
        let (item, rest) = read_type(inner);
        let (keyed, rest) = read_keyed(rest.strip_prefix(']').unwrap_or(rest));
        (Schema::of(Shape::List(Box::new(item), keyed)), rest)
    } else if let Some(inner) = text.strip_prefix('{') {
        let (value, rest) = read_type(inner);
        let rest = rest.strip_prefix('}').unwrap_or(rest);
        let atomic = rest.starts_with('~');
        let schema = Schema { atomic, ..Schema::of(Shape::Map(Box::new(value))) };
        (schema, rest.strip_prefix('~').unwrap_or(rest))
    } else {
        let end = text.find(['(', '=', ']', '}']).unwrap_or(text.len());
        (Schema::of(simple(&text[..end])), &text[end..])
    };
    schema.nullable = true;
    let rest = read_words(&mut schema, rest);
    match rest.strip_prefix('=') {
        Some(default) => {
            schema.default = Some(Value::from(default));
            (schema, "")
        }
        None => (schema, rest),
    }
}

/// `set`, `by(port,protocol)` or nothing.
fn read_keyed(rest: &'static str) -> (Keyed, &'static str) {
    if let Some(rest) = rest.strip_prefix("set") {
        return (Keyed::ByValue, rest);
    }
    let keys = rest.strip_prefix("by(").and_then(|rest| rest.split_once(')'));
    keys.map_or((Keyed::No, rest), |(keys, rest)| {
        (Keyed::By(keys.split(',').map(str::to_owned).collect()), rest)
    })
}

/// `(Always|Never)` or nothing. The empty word counts as absent in many fields of built-in kinds: it is taken in all.
fn read_words(schema: &mut Schema, rest: &'static str) -> &'static str {
    let Some((words, rest)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
        return rest;
    };
    let words = words.split('|').chain([""]).map(Value::from).collect();
    schema.limits = Some(Box::new(Limits { words, ..Limits::default() }));
    rest
}

fn simple(word: &'static str) -> Shape {
    match word {
        "any" => Shape::Any,
        "bool" => Shape::Bool,
        "int32" => Shape::Integer(Width::Narrow),
        "int64" => Shape::Integer(Width::Wide),
        "number" => Shape::Number,
        "text" => Shape::Text(Format::Free),
        "bytes" => Shape::Text(Format::Bytes),
        "time" => Shape::Text(Format::Time),
        "int-or-text" => Shape::IntOrText,
        "quantity" => Shape::Quantity,
        name => Shape::Named(name),
    }
}
