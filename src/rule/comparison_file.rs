//! A comparison as an author writes it in a rule.
//!
//! In: a YAML mapping. Out: what it says, with the place of every part, so that a mistake in its meaning can be shown.

use super::decode::{Decode, Decoder, Shapes};
use crate::comparison::{Meaning, Mistake, Operand, Operator, Written, WrittenReference};
use crate::path::Step;
use crate::problem::Problem;
use crate::source::{Place, Source};
use crate::yaml::{Kind, Node};
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::sync::Arc;

/// A comparison and the places of its parts.
#[derive(Clone, Debug)]
pub(super) struct ComparisonFile {
    /// What it says.
    pub written: Written,
    /// The node it was read from, to find the place of a part.
    node: Node,
}

fn comparison_schema(shapes: &mut Shapes) -> Value {
    let own = json!({"$ref": "#/$defs/ComparisonFile"});
    let reference = shapes.named("ReferenceFile", |_| {
        json!({
            "type": "object",
            "description": "A value of an object: what it is compared with, or what it is.",
            "properties": reference_properties(),
            "required": ["path"],
            "additionalProperties": false,
        })
    });
    let operator = |operator: &Operator| {
        let operand = json!({
            "description": operator.meaning(),
            "anyOf": [{"type": ["string", "number", "boolean", "null", "array"]}, reference],
        });
        (operator.as_str().to_owned(), operand)
    };
    let operators: Map<String, Value> = Operator::ALL.iter().map(operator).collect();
    let mut properties = reference_properties();
    properties.extend(operators.clone());
    let others = json!({
        "as": {"enum": Meaning::ALL.map(|(name, _)| name), "description": "Compare by meaning."},
        "some": {"type": "boolean", "description": "One of several values is enough; by default all must pass."},
        "count": {"type": "object", "properties": operators, "additionalProperties": false,
                  "description": "Compare the number of values instead."},
        "allOf": {"type": "array", "items": own, "description": "All of these hold."},
        "anyOf": {"type": "array", "items": own, "description": "One of these holds."},
        "not": {"allOf": [own], "description": "This does not hold."},
    });
    properties.extend(others.as_object().cloned().unwrap_or_default());
    json!({
        "type": "object",
        "description": "A reference and exactly one operator, or a combination of comparisons.",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn reference_properties() -> Map<String, Value> {
    let properties = json!({
        "of": {"type": "string", "description": "Which object: parent (the default, self in ready), a child, an item or let."},
        "path": {"type": "string", "description": "An RFC 9535 JSONPath, in quotes.", "pattern": "^\\$"},
        "default": {"description": "Taken for what is missing."},
    });
    properties.as_object().cloned().unwrap_or_default()
}

const REFERENCE: &[&str] = &["of", "path", "default"];
const OTHERS: &[&str] = &["as", "some", "count", "allOf", "anyOf", "not"];

impl Decode for ComparisonFile {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        let written = comparison(node, decoder)?;
        Some(Self { written, node: node.clone() })
    }

    fn schema(shapes: &mut Shapes) -> Value {
        shapes.named("ComparisonFile", comparison_schema)
    }
}

impl ComparisonFile {
    /// Mistakes in meaning, each at the part it is about.
    pub(super) fn problems(&self, mistakes: Vec<Mistake>, source: &Arc<Source>) -> Vec<Problem> {
        let problem = |mistake: Mistake| {
            let span = self.node_of(&mistake).span.clone();
            let span = from_offset(&source.text, span, mistake.offset);
            let problem = Problem::new(mistake.code, mistake.message).at(Place::new(source, span));
            Problem { hint: mistake.hint, ..problem }
        };
        mistakes.into_iter().map(problem).collect()
    }

    /// The scalar that says `text`, else the whole.
    pub(super) fn place_of_text(&self, text: &str) -> Range<usize> {
        saying(&self.node, text).unwrap_or(&self.node).span.clone()
    }

    /// The deepest part of the field that was written.
    fn node_of(&self, mistake: &Mistake) -> &Node {
        let mut node = &self.node;
        for step in mistake.field.steps() {
            let below = match (step, &node.kind) {
                (Step::Key(key), _) => node.get(key),
                (Step::Index(index), Kind::Sequence(items)) => items.get(*index),
                _ => None,
            };
            let Some(below) = below else { break };
            node = below;
        }
        node
    }
}

/// The part of a text in a file that starts at a byte of what it says; all of it where escapes make that unclear.
pub(super) fn from_offset(file: &str, span: Range<usize>, offset: Option<usize>) -> Range<usize> {
    let Some(offset) = offset.filter(|offset| *offset > 0) else { return span };
    let written = file.get(span.clone()).unwrap_or_default();
    let is_quoted = written.starts_with(['"', '\'']);
    if written.contains(['\\', '\n']) || (is_quoted && written.contains("''")) {
        return span;
    }
    let (start, end) =
        if is_quoted { (span.start + 1, span.end - 1) } else { (span.start, span.end) };
    // A text that ends too early is shown at its end.
    let start = (start + offset).min(end);
    start..end.max(start + 1).min(span.end)
}

fn saying<'n>(node: &'n Node, text: &str) -> Option<&'n Node> {
    match &node.kind {
        Kind::String { text: found, .. } => (found == text).then_some(node),
        Kind::Sequence(items) => items.iter().find_map(|item| saying(item, text)),
        Kind::Mapping(entries) => entries.iter().find_map(|(_, value)| saying(value, text)),
        _ => None,
    }
}

fn comparison(node: &Node, decoder: &mut Decoder) -> Option<Written> {
    let Kind::Mapping(entries) = &node.kind else {
        decoder.wrong_type(node, "a comparison such as `{path: \"$.spec.host\", exists: true}`");
        return None;
    };
    let before = decoder.problems.len();
    let mut written = Written::default();
    for (key, value) in entries {
        match key.as_str().unwrap_or_default() {
            "as" => written.meaning = Decode::decode(value, decoder),
            "some" => written.some = Decode::decode(value, decoder),
            "count" => written.count = count(value, decoder),
            "allOf" => written.all_of = comparisons(value, decoder),
            "anyOf" => written.any_of = comparisons(value, decoder),
            "not" => written.not = comparison(value, decoder).map(Box::new),
            name if REFERENCE.contains(&name) => {
                part_of_reference(name, value, &mut written.reference, decoder);
            }
            name => match Operator::named(name) {
                Some(operator) => written.operators.push((operator, operand(value, decoder))),
                None => _ = decoder.unknown_field(name, key, &all_keys()),
            },
        }
    }
    (decoder.problems.len() == before).then_some(written)
}

fn all_keys() -> Vec<&'static str> {
    let operators = Operator::ALL.iter().map(|operator| operator.as_str());
    REFERENCE.iter().copied().chain(operators).chain(OTHERS.iter().copied()).collect()
}

fn comparisons(node: &Node, decoder: &mut Decoder) -> Option<Vec<Written>> {
    let parts: Vec<ComparisonFile> = Decode::decode(node, decoder)?;
    Some(parts.into_iter().map(|part| part.written).collect())
}

fn part_of_reference(
    name: &str,
    value: &Node,
    reference: &mut WrittenReference,
    decoder: &mut Decoder,
) {
    match name {
        "of" => reference.of = Decode::decode(value, decoder),
        "path" => reference.path = Decode::decode(value, decoder),
        _ => reference.default = Some(value.to_json()),
    }
}

/// A scalar or a list is itself; a mapping is a reference, as no operator takes a mapping.
fn operand(node: &Node, decoder: &mut Decoder) -> Operand {
    let Kind::Mapping(entries) = &node.kind else {
        return Operand::Literal(node.to_json());
    };
    let mut reference = WrittenReference::default();
    for (key, value) in entries {
        match key.as_str().unwrap_or_default() {
            name if REFERENCE.contains(&name) => {
                part_of_reference(name, value, &mut reference, decoder);
            }
            name => {
                let hint = "a mapping on the right side refers to another value: of, path, default";
                let message = format!("unknown field `{name}`");
                decoder.note_with_hint("unknown-field", message, &key.span, hint);
            }
        }
    }
    Operand::Reference(reference)
}

/// The operators below `count`.
fn count(node: &Node, decoder: &mut Decoder) -> Option<Vec<(Operator, Operand)>> {
    let Kind::Mapping(entries) = &node.kind else {
        decoder.wrong_type(node, "operators on a number, such as `{atLeast: 1}`");
        return None;
    };
    let names: Vec<&str> = Operator::ALL.iter().map(|operator| operator.as_str()).collect();
    let mut operators = Vec::new();
    for (key, value) in entries {
        let name = key.as_str().unwrap_or_default();
        match Operator::named(name) {
            Some(operator) => operators.push((operator, operand(value, decoder))),
            None => _ = decoder.unknown_field(name, key, &names),
        }
    }
    Some(operators)
}
