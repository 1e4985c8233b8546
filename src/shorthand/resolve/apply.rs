//! One attribute to the field it is about.
//!
//! In: a field and an attribute. Out: the field with it, or why they do not go together.

use crate::shorthand::attribute::Attribute;
use crate::shorthand::mistakes::Fault;
use crate::shorthand::schema::{Bounds, Field, Identity, List, Shape};
use crate::shorthand::span::At;
use crate::shorthand::value;
use std::cmp::Ordering;
use std::fmt::Display;
use std::ops::Range;

/// Applies an attribute; columns are no property of a field and never come here.
pub(super) fn attribute(field: &mut Field, at: &At<Attribute>) -> Result<(), Fault> {
    let At { value: attribute, span } = at;
    match attribute {
        Attribute::Required => field.required = true,
        Attribute::Nullable => {
            // Measured with Kubernetes 1.37: not even null among the values makes it accept null.
            if let Shape::Choice(_) = field.schema.shape {
                let message =
                    "a choice cannot be `nullable`: for the API server null is none of its values";
                let fault = Fault::new("attribute-not-here", span, message);
                return Err(
                    fault.hint("leave the field out to say nothing, or add a value such as `none`")
                );
            }
            field.schema.nullable = true;
        }
        Attribute::Immutable => field.schema.immutable = Some(span.clone()),
        _ => return shape(&mut field.schema.shape, attribute, span),
    }
    Ok(())
}

fn shape(shape: &mut Shape, attribute: &Attribute, span: &Range<usize>) -> Result<(), Fault> {
    use Attribute as A;
    match (attribute, shape) {
        (A::Min(_) | A::Max(_), Shape::Whole(whole)) => {
            let bound = |text: &str| text.parse::<i64>().ok();
            limit(&mut whole.bounds, attribute, bound, i64::cmp, span)
        }
        (A::Min(_) | A::Max(_), Shape::Number(bounds)) => {
            let order = |left: &serde_json::Number, right: &serde_json::Number| {
                left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal)
            };
            limit(bounds, attribute, value::number, order, span)
        }
        (A::MinLength(n) | A::MaxLength(n), Shape::Text(text)) => {
            size(&mut text.length, *n, matches!(attribute, A::MinLength(_)), span)
        }
        (A::MinItems(n) | A::MaxItems(n), Shape::List(list)) => {
            size(&mut list.size, *n, matches!(attribute, A::MinItems(_)), span)
        }
        (A::MinProperties(n) | A::MaxProperties(n), Shape::Map { size: bounds, .. }) => {
            size(bounds, *n, matches!(attribute, A::MinProperties(_)), span)
        }
        (A::Pattern(pattern), Shape::Text(text)) => {
            text.pattern = Some(pattern.clone());
            Ok(())
        }
        (A::Atomic, Shape::List(list)) => identify(list, Identity::Atomic, span),
        (A::Set, Shape::List(list)) => {
            if !list.items.shape.is_scalar() {
                let message =
                    format!("a `set` is of single values, not of `{}`", list.items.shape.noun());
                let fault = Fault::new("attribute-not-here", span, message);
                return Err(fault.hint("a list of objects is `keyed by` a field, or `atomic`"));
            }
            identify(list, Identity::Set, span)
        }
        (A::KeyedBy(keys), Shape::List(list)) => keyed(list, keys, span),
        (_, shape) => Err(not_for(attribute, shape, span)),
    }
}

/// A bound of a number, which must be one itself.
fn limit<T: Clone + Display>(
    bounds: &mut Bounds<T>,
    attribute: &Attribute,
    read: impl Fn(&str) -> Option<T>,
    order: impl Fn(&T, &T) -> Ordering,
    span: &Range<usize>,
) -> Result<(), Fault> {
    let (Attribute::Min(text) | Attribute::Max(text)) = attribute else { return Ok(()) };
    let Some(bound) = read(text) else {
        let message = format!("`{text}` is no bound of whole numbers");
        return Err(Fault::new("schema-conflict", span, message));
    };
    match attribute {
        Attribute::Min(_) => bounds.min = Some(bound),
        _ => bounds.max = Some(bound),
    }
    nothing_between(bounds, order, span)
}

fn size(
    bounds: &mut Bounds<u32>,
    bound: u32,
    least: bool,
    span: &Range<usize>,
) -> Result<(), Fault> {
    *(if least { &mut bounds.min } else { &mut bounds.max }) = Some(bound);
    nothing_between(bounds, u32::cmp, span)
}

fn nothing_between<T: Display>(
    bounds: &Bounds<T>,
    order: impl Fn(&T, &T) -> Ordering,
    span: &Range<usize>,
) -> Result<(), Fault> {
    match (&bounds.min, &bounds.max) {
        (Some(min), Some(max)) if order(min, max).is_gt() => {
            let message = format!("nothing is at least {min} and at most {max}");
            Err(Fault::new("schema-conflict", span, message))
        }
        _ => Ok(()),
    }
}

fn identify(list: &mut List, identity: Identity, span: &Range<usize>) -> Result<(), Fault> {
    if list.identity != Identity::Unsaid {
        let message = "a list is either `atomic`, a `set` or `keyed by` fields";
        return Err(Fault::new("schema-conflict", span, message));
    }
    list.identity = identity;
    Ok(())
}

/// The API server demands that a key is a single value that is never missing.
fn keyed(list: &mut List, keys: &[At<String>], span: &Range<usize>) -> Result<(), Fault> {
    let noun = list.items.shape.noun();
    let Shape::Object { fields, .. } = &mut list.items.shape else {
        let message = format!("`keyed by` is for lists of objects with fields, not of `{noun}`");
        let fault = Fault::new("attribute-not-here", span, message);
        return Err(fault.hint("a list of single values can be a `set`"));
    };
    for (index, At { value: key, span }) in keys.iter().enumerate() {
        let fault = |message: String| Fault::new("illegal-key", span, message);
        if keys[..index].iter().any(|other| other.value == *key) {
            return Err(fault(format!("`{key}` is here twice")));
        }
        let known: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let Some(field) = fields.iter_mut().find(|field| field.name == *key) else {
            let near = crate::comparison::closest(key, known.iter().map(String::as_str));
            let hint = near.map_or_else(
                || format!("its fields are: {}", known.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(fault(format!("the objects have no field `{key}`")).hint(hint));
        };
        if !field.schema.shape.is_scalar() || field.schema.nullable {
            return Err(fault(format!(
                "`{key}` is no key: a key is a single value and never null"
            )));
        }
        field.required = field.schema.default.is_none();
    }
    let keys = keys.iter().map(|key| key.value.clone()).collect();
    identify(list, Identity::Keys(keys), span)
}

fn not_for(attribute: &Attribute, shape: &Shape, span: &Range<usize>) -> Fault {
    let word = attribute.word();
    let fits = match attribute {
        Attribute::Min(_) | Attribute::Max(_) => "`integer`, `int32` and `number`",
        Attribute::MinLength(_) | Attribute::MaxLength(_) | Attribute::Pattern(_) => "`string`",
        Attribute::MinProperties(_) | Attribute::MaxProperties(_) => "`map of …`",
        _ => "`list of …`",
    };
    let message = format!("`{word}` is for {fits}, not for `{}`", shape.noun());
    let fault = Fault::new("attribute-not-here", span, message);
    match (attribute, shape) {
        (Attribute::MinLength(_) | Attribute::MaxLength(_), Shape::List(_)) => {
            fault.hint("`minItems` and `maxItems` count elements; a type of its own bounds them")
        }
        (Attribute::MinItems(_) | Attribute::MaxItems(_), Shape::Map { .. }) => {
            fault.hint("write `minProperties` and `maxProperties`")
        }
        (_, Shape::List(_) | Shape::Map { .. }) => {
            fault.hint("to bound what is in it, give that a name in `types`: `list of Name`")
        }
        _ => fault,
    }
}
