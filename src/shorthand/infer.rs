//! What a template body will come out as, as far as its text tells.
//!
//! In: the body of `let` or `status.fields`, and the types of what it can read. Out: a [`Schema`]: [`Shape::Any`] where the
//! text does not tell, nothing where even the keys depend on what is rendered. Never here: rendering.
//!
//! The guess is careful: a type is only said where every rendering gives it, since the API server refuses a status that is
//! of another one. `get(…, default)` and `default(…)` count as of the type of their default: it says what the author expects.

mod expression;
mod outline;

use super::schema::{Bounds, Field, Schema, Shape, Text, Whole};
use crate::yaml::{Kind, Node, Style};
use expression::Typing;
use outline::{Outline, Part};
use serde_json::Number;

/// The types of what a body can read.
pub(super) struct Known<'a> {
    /// `parent.spec`.
    pub(super) spec: &'a Schema,
    /// `parent.status`, as far as the schema states it.
    pub(super) status: Option<&'a Schema>,
    /// `let`.
    pub(super) let_value: Option<&'a Schema>,
}

/// The type of a body.
pub(super) fn infer(body: &str, known: &Known<'_>) -> Option<Schema> {
    let outline = Outline::read(body)?;
    let typing = Typing { known, hidden: &outline.names };
    let inference = Inference { outline: &outline, typing };
    match outline.tree.as_ref().map(|tree| (tree, &tree.kind)) {
        None => Some(object(Vec::new(), false)),
        Some((node, Kind::Mapping(_))) => Some(inference.node(node)),
        Some(_) => None,
    }
}

/// The type of a value that is of either type.
pub(super) fn either(left: Option<Schema>, right: Option<Schema>) -> Option<Schema> {
    let (left, right) = (left?, right?);
    if left == right {
        return Some(left);
    }
    match (&left.shape, &right.shape) {
        (Shape::Whole(_), Shape::Whole(_)) => Some(whole()),
        (Shape::Whole(_) | Shape::Number(_), Shape::Whole(_) | Shape::Number(_)) => Some(number()),
        (
            Shape::Text(_) | Shape::DateTime | Shape::Duration,
            Shape::Text(_) | Shape::DateTime | Shape::Duration,
        ) => Some(text()),
        _ => None,
    }
}

fn text() -> Schema {
    Schema::of(Shape::Text(Text::default()))
}

fn whole() -> Schema {
    Schema::of(Shape::Whole(Whole::default()))
}

fn number() -> Schema {
    Schema::of(Shape::Number(Bounds::default()))
}

fn map_of(values: Schema) -> Schema {
    Schema::of(Shape::Map { values: Box::new(values), size: Bounds::default() })
}

fn object(fields: Vec<Field>, open: bool) -> Schema {
    Schema::of(Shape::Object { fields, open })
}

fn literal(number: &Number) -> Schema {
    if number.is_f64() { self::number() } else { whole() }
}

struct Inference<'a> {
    outline: &'a Outline<'a>,
    typing: Typing<'a>,
}

impl Inference<'_> {
    fn node(&self, node: &Node) -> Schema {
        let known = match &node.kind {
            Kind::Null { .. } => None,
            Kind::Bool(_) => Some(Schema::of(Shape::Boolean)),
            Kind::Number(number) => Some(literal(number)),
            Kind::String { text, style } => self.scalar(text, *style),
            Kind::Sequence(items) => {
                let items = items.iter().map(|item| self.known(item));
                let item = items.reduce(either).flatten();
                Some(Schema::of(Shape::list_of(item.unwrap_or_else(|| Schema::of(Shape::Any)))))
            }
            Kind::Mapping(entries) => Some(self.mapping(entries)),
        };
        known.unwrap_or_else(|| Schema::of(Shape::Any))
    }

    /// Nothing instead of anything.
    fn known(&self, node: &Node) -> Option<Schema> {
        Some(self.node(node)).filter(|schema| schema.shape != Shape::Any)
    }

    /// A bare expression is its value; whatever else a text is made of, it is text.
    fn scalar(&self, text: &str, style: Style) -> Option<Schema> {
        let parts = self.outline.parts(text);
        match (parts.as_slice(), style) {
            ([Part::Expression(expression)], Style::Plain) => self.typing.of(expression),
            // Without its statements it could be a number.
            (parts, Style::Plain) if parts.iter().any(|part| matches!(part, Part::Statement)) => {
                None
            }
            _ => Some(self::text()),
        }
    }

    /// Literal keys are fields; computed ones alone make a map.
    fn mapping(&self, entries: &[(Node, Node)]) -> Schema {
        let is_literal = |key: &Node| {
            let merge =
                matches!(&key.kind, Kind::String { text, style: Style::Plain } if text == "<<");
            let parts = self.outline.parts(key.as_str().unwrap_or_default());
            !merge && parts.iter().all(|part| matches!(part, Part::Text))
        };
        let merges = entries.iter().any(|(key, _)| key.as_str() == Some("<<"));
        let fields: Vec<Field> = entries
            .iter()
            .filter(|(key, _)| is_literal(key))
            .map(|(key, value)| Field {
                name: key.as_str().unwrap_or_default().to_owned(),
                required: false,
                schema: self.node(value),
            })
            .collect();
        if fields.is_empty() && !entries.is_empty() && !merges {
            let values =
                entries.iter().map(|(_, value)| self.known(value)).reduce(either).flatten();
            return values.map_or_else(|| Schema::of(Shape::Free), map_of);
        }
        let open = fields.len() < entries.len();
        object(fields, open)
    }
}
