//! What may be immutable: what the API server can find again after a change, and compare at a bounded cost.
//!
//! In: a resolved schema. Out: the mistakes in it. Looked at last, since types do not know where they will be used.
//!
//! The server estimates beforehand what each rule can cost at most, and refuses the CRD beyond a budget. This is the same
//! estimate, rounded up: how often a rule can run (elements of the lists and maps around it, at most as many as fit a
//! request) times a tenth of what it compares.

use super::super::mistakes::{Fault, Mistakes};
use super::super::schema::{Identity, Schema, Shape};
use serde_json::Value;
use std::ops::Range;

/// Bytes of the largest request.
const REQUEST: u64 = 3 << 20;

/// Cost of one rule, and of all rules together (the limits of Kubernetes 1.37).
const ONE_RULE: u64 = 10_000_000;
const ALL_RULES: u64 = 100_000_000;

/// Looks at every immutable part of a schema.
pub(super) fn check(schema: &Schema, mistakes: &mut Mistakes<'_>) {
    Walk { mistakes, total: 0 }.walk(schema, Where { traceable: true, times: 1 });
}

/// What the schemas around a schema mean for a rule in it.
#[derive(Clone, Copy)]
struct Where {
    /// Whether the server knows which old value a new one belongs to.
    traceable: bool,
    /// How many there can be in one object.
    times: u64,
}

struct Walk<'m, 's> {
    mistakes: &'m mut Mistakes<'s>,
    total: u64,
}

impl Walk<'_, '_> {
    fn walk(&mut self, schema: &Schema, place: Where) {
        if let Some(span) = &schema.immutable {
            let legal = self.immutable(schema, place, span);
            self.mistakes.sound(legal);
        }
        match &schema.shape {
            Shape::Map { values, .. } => {
                let times = place.times.saturating_mul(most(schema));
                self.walk(values, Where { times, ..place });
            }
            Shape::List(list) => {
                let keyed = matches!(list.identity, Identity::Keys(_));
                let times = place.times.saturating_mul(most(schema));
                self.walk(&list.items, Where { traceable: place.traceable && keyed, times });
            }
            Shape::Object { fields, .. } => {
                for field in fields {
                    self.walk(&field.schema, place);
                }
            }
            _ => {}
        }
    }

    fn immutable(
        &mut self,
        schema: &Schema,
        place: Where,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        if !place.traceable {
            let message = "what stands in a list without keys cannot be immutable";
            let fault = Fault::new("attribute-not-here", span, message);
            return Err(fault.hint("make the list `keyed by` a field, or itself `immutable`"));
        }
        // Ten for looking things up and for the rule that forbids taking them away.
        let cost = place.times.saturating_mul(most(schema) / 10 + 10);
        self.total = self.total.saturating_add(cost);
        if cost > ONE_RULE || self.total > ALL_RULES {
            let message = "the API server would have too much to compare";
            let fault = Fault::new("too-costly", span, message);
            return Err(fault.hint(
                "give the lists and maps around it `maxItems` and `maxProperties`, and itself `maxLength`",
            ));
        }
        Ok(())
    }
}

/// How long a text, a list or a map can be: in bytes, elements, entries. 1 for everything else.
fn most(schema: &Schema) -> u64 {
    match &schema.shape {
        // A character has up to four bytes.
        Shape::Text(text) => text.length.max.map_or(REQUEST, |max| u64::from(max) * 4),
        Shape::Choice(values) => {
            let length = |value: &Value| value.as_str().map_or(1, str::len);
            values.iter().map(length).max().unwrap_or(1) as u64
        }
        Shape::Quantity | Shape::Duration | Shape::IntOrString | Shape::Any | Shape::Free => {
            REQUEST
        }
        Shape::List(list) => {
            list.size.max.map_or_else(|| REQUEST / (least(&list.items) + 1), u64::from)
        }
        Shape::Map { values, size } => {
            size.max.map_or_else(|| REQUEST / (least(values) + 6), u64::from)
        }
        Shape::Object { fields, .. } => fields.len() as u64,
        Shape::Whole(_) | Shape::Number(_) | Shape::Boolean | Shape::DateTime => 1,
    }
}

/// Bytes of the shortest JSON.
fn least(schema: &Schema) -> u64 {
    match &schema.shape {
        Shape::Object { fields, .. } => {
            let required = fields.iter().filter(|field| field.required);
            2 + required
                .map(|field| field.name.len() as u64 + least(&field.schema) + 4)
                .sum::<u64>()
        }
        Shape::Text(_) | Shape::List(_) | Shape::Map { .. } => 2,
        _ => 1,
    }
}
