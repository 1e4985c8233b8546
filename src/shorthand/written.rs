//! A short schema as an author writes it.
//!
//! In: the YAML below `spec.schema`. Out: a [`Written`], field by field, with every mistake in its form. Never here: what
//! types and attributes mean together.

use super::attribute::Attribute;
use super::line::{Line, Type, line};
use super::mistakes::{Fault, Mistakes};
use super::span::{At, LineText};
use super::{BY_HAND, fields_hint};
use crate::comparison::closest;
use crate::yaml::{Kind, Node};
use std::ops::Range;

/// A schema as written.
pub(super) struct Written {
    /// Objects of the kind live in no namespace.
    pub(super) cluster_scoped: bool,
    pub(super) plural: Option<At<String>>,
    pub(super) short_names: Vec<At<String>>,
    pub(super) categories: Vec<At<String>>,
    pub(super) description: Option<String>,
    pub(super) types: Vec<WrittenField>,
    pub(super) spec: WrittenField,
    pub(super) status: Option<WrittenField>,
}

/// A name, and what it says of it.
pub(super) struct WrittenField {
    pub(super) name: At<String>,
    pub(super) content: Content,
}

impl WrittenField {
    /// Where its name stands.
    pub(super) fn span(&self) -> &Range<usize> {
        &self.name.span
    }
}

/// What is said of a field.
pub(super) enum Content {
    /// One line.
    Line(Line),
    /// Fields of its own; what a line would say of it itself stands under the key `.`.
    Fields { own: Option<Line>, fields: Vec<WrittenField> },
    /// A mistake that was noted: nothing more is said of it.
    Broken,
}

const KEYS: [&str; 8] =
    ["scope", "plural", "shortNames", "categories", "description", "types", "spec", "status"];

/// The name under which a map of fields speaks of itself.
const OWN: &str = ".";

/// Reads a whole schema, as far as it can be read.
pub(super) fn schema(node: &Node, mistakes: &mut Mistakes<'_>) -> Option<Written> {
    let Kind::Mapping(entries) = &node.kind else {
        let message = "expected a mapping with `spec`";
        mistakes.note(Fault::new("wrong-type", &node.span, message).hint(fields_hint()));
        return None;
    };
    for (key, _) in entries {
        let name = key.as_str().unwrap_or_default();
        if !KEYS.contains(&name) {
            let hint = closest(name, KEYS).map(|near| format!("did you mean `{near}`?"));
            let message = format!("a short schema has no `{name}`");
            let fault = Fault::new("unknown-field", &key.span, message);
            mistakes.note(fault.hint(hint.unwrap_or_else(|| BY_HAND.to_owned())));
        }
    }
    let text = |key: &str, mistakes: &mut Mistakes<'_>| {
        node.get(key).and_then(|node| text(node, mistakes))
    };
    let cluster_scoped = node.get("scope").is_some_and(|scope| cluster_scoped(scope, mistakes));
    let plural = text("plural", mistakes);
    let description = text("description", mistakes).map(|text| text.value);
    let short_names = node.get("shortNames").map(|names| texts(names, mistakes));
    let categories = node.get("categories").map(|names| texts(names, mistakes));
    let types = node.get("types").map(|types| types_of(types, mistakes)).unwrap_or_default();
    let entry = |name: &str| entries.iter().find(|(key, _)| key.as_str() == Some(name));
    let status = entry("status").map(|(key, node)| root(key, node, mistakes));
    let Some(spec) = entry("spec").map(|(key, node)| root(key, node, mistakes)) else {
        let start = node.span.start;
        let fault = Fault::new("missing-field", &(start..start + 1), "field `spec` is missing");
        mistakes.note(fault.hint(fields_hint()));
        return None;
    };
    Some(Written {
        cluster_scoped,
        plural,
        short_names: short_names.unwrap_or_default(),
        categories: categories.unwrap_or_default(),
        description,
        types,
        spec: spec?,
        status: status.flatten(),
    })
}

fn types_of(node: &Node, mistakes: &mut Mistakes<'_>) -> Vec<WrittenField> {
    let (own, types) = entries_of(node, mistakes);
    if let Some(line) = own {
        let message = "`.` is no name of a type";
        mistakes.note(Fault::new("illegal-name", &line.kind.span, message));
    }
    types
}

/// `spec` and `status`, which are maps of fields.
fn root(key: &Node, node: &Node, mistakes: &mut Mistakes<'_>) -> Option<WrittenField> {
    let name = At::new(key.as_str().unwrap_or_default().to_owned(), key.span.clone());
    if !matches!(node.kind, Kind::Mapping(_)) {
        let span = if node.span.is_empty() { &key.span } else { &node.span };
        let message = format!("`{}` is a mapping of fields", name.value);
        mistakes.note(Fault::new("wrong-type", span, message).hint(fields_hint()));
        return None;
    }
    let (own, fields) = entries_of(node, mistakes);
    Some(WrittenField { name, content: Content::Fields { own, fields } })
}

/// The fields of a map, and its own line.
fn entries_of(node: &Node, mistakes: &mut Mistakes<'_>) -> (Option<Line>, Vec<WrittenField>) {
    let Kind::Mapping(entries) = &node.kind else {
        let fault = Fault::new("wrong-type", &node.span, "expected a mapping of names");
        mistakes.note(fault.hint(fields_hint()));
        return (None, Vec::new());
    };
    let (mut own, mut fields) = (None, Vec::new());
    for (key, value) in entries {
        let name = key.as_str().unwrap_or_default();
        if name == OWN {
            own = own_line(value, mistakes);
        } else if is_split_line(key, value, mistakes.text()) {
            let message =
                format!("`{name}` is no field: YAML ends a line at a comma between braces");
            let fault = Fault::new("schema-syntax", &key.span, message);
            mistakes.note(fault.hint("write one field a line, without braces"));
        } else {
            let content = content(key, value, mistakes).unwrap_or(Content::Broken);
            let name = At::new(name.to_owned(), key.span.clone());
            fields.push(WrittenField { name, content });
        }
    }
    (own, fields)
}

/// `{port: integer, min 1}` has a key `min 1` without a colon.
fn is_split_line(key: &Node, value: &Node, file: &str) -> bool {
    let after = file.get(key.span.end..).unwrap_or_default();
    matches!(value.kind, Kind::Null { explicit: false }) && !after.trim_start().starts_with(':')
}

fn content(key: &Node, node: &Node, mistakes: &mut Mistakes<'_>) -> Option<Content> {
    let name = key.as_str().unwrap_or_default();
    // Nothing at all has no place of its own.
    let span = if node.span.is_empty() { &key.span } else { &node.span };
    let example = match &node.kind {
        Kind::String { .. } => return own_line(node, mistakes).map(Content::Line),
        Kind::Mapping(entries) => return nested(name, node, entries, mistakes),
        Kind::Null { .. } => format!("for example `{name}: string`"),
        Kind::Bool(value) => format!("if {value} is the default: `{name}: boolean = {value}`"),
        Kind::Number(value) => {
            let kind = if value.is_f64() { "number" } else { "integer" };
            format!("if {value} is the default: `{name}: {kind} = {value}`")
        }
        Kind::Sequence(_) => {
            format!("a list is written `{name}: list of string`, a choice `{name}: one of a | b`")
        }
    };
    mistakes.note(Fault::new("schema-syntax", span, format!("`{name}` has no type")).hint(example));
    None
}

fn nested(
    name: &str,
    node: &Node,
    entries: &[(Node, Node)],
    mistakes: &mut Mistakes<'_>,
) -> Option<Content> {
    if entries.is_empty() {
        let fault = Fault::new("schema-syntax", &node.span, format!("`{name}` has no fields"));
        mistakes.note(fault.hint("`object` is one that may hold anything"));
        return None;
    }
    let before = mistakes.problems.len();
    let (own, fields) = entries_of(node, mistakes);
    if mistakes.problems.len() > before && is_openapi(entries) {
        mistakes.problems.truncate(before);
        let place = entries.first().map_or(node.span.clone(), |(key, _)| key.span.clone());
        let fault =
            Fault::new("schema-syntax", &place, format!("`{name}` is written as in OpenAPI"));
        mistakes.note(fault.hint(format!(
            "here it is one line: `{name}: integer = 1, min 0, required \"What it is for\"`"
        )));
        return None;
    }
    Some(Content::Fields { own, fields })
}

/// Whether a map has no keys but those that describe a field in a CRD. Asked only where something is wrong with it: an
/// object may well have fields of these names.
fn is_openapi(entries: &[(Node, Node)]) -> bool {
    const OPENAPI: [&str; 16] = [
        "type",
        "description",
        "default",
        "format",
        "enum",
        "items",
        "properties",
        "required",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "pattern",
        "additionalProperties",
    ];
    let mut names = entries.iter().map(|(key, _)| key.as_str().unwrap_or_default());
    entries.iter().any(|(key, _)| key.as_str() == Some("type"))
        && names.all(|name| OPENAPI.contains(&name))
}

fn own_line(node: &Node, mistakes: &mut Mistakes<'_>) -> Option<Line> {
    let Some(text) = LineText::new(node, mistakes.text()) else {
        mistakes.note(
            Fault::new("schema-syntax", &node.span, "expected a type").hint("for example `object`"),
        );
        return None;
    };
    mistakes.sound(line(&text))
}

fn cluster_scoped(node: &Node, mistakes: &mut Mistakes<'_>) -> bool {
    match node.as_str() {
        Some("Cluster") => true,
        Some("Namespaced") => false,
        _ => {
            let message = "expected `Namespaced` or `Cluster`, with a capital letter";
            mistakes.note(Fault::new("wrong-type", &node.span, message));
            false
        }
    }
}

fn text(node: &Node, mistakes: &mut Mistakes<'_>) -> Option<At<String>> {
    let text = node.as_str().map(|text| At::new(text.to_owned(), node.span.clone()));
    if text.is_none() {
        mistakes.note(Fault::new("wrong-type", &node.span, "expected a text"));
    }
    text
}

fn texts(node: &Node, mistakes: &mut Mistakes<'_>) -> Vec<At<String>> {
    if let Kind::Sequence(items) = &node.kind {
        return items.iter().filter_map(|item| text(item, mistakes)).collect();
    }
    let fault = Fault::new("wrong-type", &node.span, "expected a list of texts");
    mistakes.note(fault.hint("put it in a list: `[…]`"));
    Vec::new()
}

/// What their own line may say of `spec` and `status`: whether they are there follows from what is in them.
pub(super) fn check_root(root: &WrittenField, mistakes: &mut Mistakes<'_>) {
    let Content::Fields { own: Some(line), .. } = &root.content else { return };
    let name = &root.name.value;
    if !matches!(&line.kind.value, Type::Named(kind) if kind == "object") {
        let fault = Fault::new("unknown-type", &line.kind.span, format!("`{name}` is an `object`"));
        mistakes.note(fault);
    }
    let default = line.default.iter().map(|default| (&default.span, "="));
    let attributes =
        line.attributes.iter().filter(|at| !(name == "spec" && at.value == Attribute::Immutable));
    let attributes = attributes.map(|at| (&at.span, at.value.word()));
    for (span, word) in default.chain(attributes) {
        let fault =
            Fault::new("attribute-not-here", span, format!("`{word}` is not for `{name}` itself"));
        mistakes
            .note(fault.hint("it is required if one of its fields is, and otherwise always there"));
    }
}
