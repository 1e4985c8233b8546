//! What the status of a kind holds: what the rule's text tells of it, and what its author states.
//!
//! In: the body of the status fields, the stated fields. Out: the schema of the status without its conditions, or which
//! statement cannot be.

use super::Request;
use super::infer::{Known, infer};
use super::mistakes::{Fault, Mistakes};
use super::schema::{Field, Schema, Shape};
use super::written::{Content, WrittenField};

/// The status; nothing if the rule writes none.
pub(super) fn status(
    request: &Request<'_>,
    spec: &Schema,
    stated: Option<&Schema>,
    written: Option<&WrittenField>,
    mistakes: &mut Mistakes<'_>,
) -> Option<Schema> {
    let Some(body) = request.status_body else {
        if let Some(written) = written {
            let message = "the rule writes no status, so that the kind has none";
            let fault = Fault::new("schema-conflict", written.span(), message);
            mistakes.note(
                fault.hint(
                    "`status: {}` in the rule writes conditions; leave it out here otherwise",
                ),
            );
        }
        return None;
    };
    let known = Known { spec, status: stated, let_value: None };
    let let_value = request.let_body.and_then(|body| infer(body, &known));
    let told = infer(body, &Known { let_value: let_value.as_ref(), ..known });
    let open =
        told.as_ref().is_none_or(|told| matches!(told.shape, Shape::Object { open: true, .. }));
    let mut fields = match told.map(|told| told.shape) {
        Some(Shape::Object { fields, .. }) => fields,
        _ => Vec::new(),
    };
    fields.retain(|field| field.name != "conditions");
    if let (Some(stated), Some(written)) = (stated, written) {
        for (field, name) in lines(stated, written) {
            mistakes.sound(check(field, name, &fields));
            match fields.iter_mut().find(|told| told.name == field.name) {
                Some(told) => *told = field.clone(),
                None => fields.push(field.clone()),
            }
        }
    }
    let description = stated.and_then(|stated| stated.description.clone());
    Some(Schema { description, ..Schema::of(Shape::Object { fields, open }) })
}

/// The stated fields, with where each is written.
fn lines<'a>(
    stated: &'a Schema,
    written: &'a WrittenField,
) -> impl Iterator<Item = (&'a Field, &'a WrittenField)> {
    let fields = match &stated.shape {
        Shape::Object { fields, .. } => fields.as_slice(),
        _ => &[],
    };
    let written = match &written.content {
        Content::Fields { fields, .. } => fields.as_slice(),
        Content::Line(_) | Content::Broken => &[],
    };
    fields.iter().zip(written)
}

/// A status comes from the rule alone, and what the rule certainly writes must fit.
fn check(field: &Field, written: &WrittenField, told: &[Field]) -> Result<(), Fault> {
    let span = written.span();
    if field.name == "conditions" {
        let fault = Fault::new("schema-conflict", span, "every status has `conditions` by itself");
        return Err(fault.hint("leave it out"));
    }
    let schema = &field.schema;
    if field.required || schema.default.is_some() || schema.immutable.is_some() {
        let message =
            "the rule writes the status: nothing in it is required, immutable or a default";
        return Err(Fault::new("attribute-not-here", span, message));
    }
    match told.iter().find(|told| told.name == field.name) {
        Some(told) if !fits(&told.schema.shape, &schema.shape) => {
            let message = format!(
                "`{}` is stated to be `{}`, but the rule writes `{}`",
                field.name,
                schema.shape.noun(),
                told.schema.shape.noun(),
            );
            Err(Fault::new("schema-conflict", span, message))
        }
        _ => Ok(()),
    }
}

/// Whether some value of the first can be one of the second.
fn fits(told: &Shape, stated: &Shape) -> bool {
    use Shape as S;
    let family = |shape: &Shape| match shape {
        S::Any => None,
        S::Whole(_) | S::Number(_) => Some("number"),
        S::Boolean => Some("boolean"),
        S::Map { .. } | S::Free | S::Object { .. } => Some("map"),
        S::List(_) => Some("list"),
        S::Choice(values) if !values.iter().all(serde_json::Value::is_string) => Some("number"),
        S::Text(_) | S::Choice(_) | S::Duration | S::DateTime => Some("text"),
        S::Quantity | S::IntOrString => Some("number or text"),
    };
    match (family(told), family(stated)) {
        (Some(told), Some(stated)) => {
            told == stated
                || [told, stated].contains(&"number or text") && {
                    let other = if told == "number or text" { stated } else { told };
                    ["number", "text"].contains(&other)
                }
        }
        _ => true,
    }
}
