//! Whether a filter accepts a child.
//!
//! In: a filter and a value. Out: yes or no, with exact numbers. Never here: filters inside filters (refused when the
//! path is parsed).

use super::equality;
use super::program::{Filter, Operand, Order, Query};
use super::walk;
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Judges one child; `shared` are the answers of the queries that start at the root.
pub(super) fn accepts<'v>(filter: &Filter, child: &'v Value, shared: &[Vec<&'v Value>]) -> bool {
    match filter {
        Filter::All(parts) => parts.iter().all(|part| accepts(part, child, shared)),
        Filter::Any(parts) => parts.iter().any(|part| accepts(part, child, shared)),
        Filter::Not(inner) => !accepts(inner, child, shared),
        Filter::Exists(Query::Child(segments)) => walk::leads_anywhere(segments, child, shared),
        Filter::Exists(Query::Shared(at)) => shared.get(*at).is_some_and(|found| !found.is_empty()),
        Filter::Compare(left, order, right) => {
            let (left, right) = (evaluate(left, child, shared), evaluate(right, child, shared));
            relates(left.as_deref(), *order, right.as_deref())
        }
        Filter::Matches(subject, pattern) => evaluate(subject, child, shared)
            .is_some_and(|subject| subject.as_str().is_some_and(|text| pattern.is_match(text))),
    }
}

fn evaluate<'o>(
    operand: &'o Operand,
    child: &'o Value,
    shared: &[Vec<&'o Value>],
) -> Option<Cow<'o, Value>> {
    match operand {
        Operand::Literal(value) => Some(Cow::Borrowed(value)),
        Operand::Value(query) => value(query, child, shared).map(Cow::Borrowed),
        Operand::Count(query) => Some(Cow::Owned(count(query, child, shared).into())),
        Operand::Length(inner) => {
            let length = match &*evaluate(inner, child, shared)? {
                Value::String(text) => text.chars().count(),
                Value::Array(list) => list.len(),
                Value::Object(map) => map.len(),
                _ => return None,
            };
            Some(Cow::Owned(length.into()))
        }
    }
}

fn value<'v>(query: &Query, child: &'v Value, shared: &[Vec<&'v Value>]) -> Option<&'v Value> {
    let one = |found: &[&'v Value]| {
        if let [value] = found { Some(*value) } else { None }
    };
    match query {
        Query::Child(segments) => {
            walk::only(segments, child).or_else(|| one(&walk::found(segments, child, shared)))
        }
        Query::Shared(at) => one(shared.get(*at)?),
    }
}

fn count<'v>(query: &Query, child: &'v Value, shared: &[Vec<&'v Value>]) -> usize {
    match query {
        Query::Child(segments) => walk::found(segments, child, shared).len(),
        Query::Shared(at) => shared.get(*at).map_or(0, Vec::len),
    }
}

/// RFC 9535, section 2.3.5.2.2: nothing equals nothing; only numbers and texts have an order.
fn relates(left: Option<&Value>, order: Order, right: Option<&Value>) -> bool {
    let equal = match (left, right) {
        (Some(left), Some(right)) => equality::equal(left, right),
        (None, None) => true,
        _ => false,
    };
    let ordering = match (left, right) {
        (Some(Value::Number(left)), Some(Value::Number(right))) => {
            Some(equality::order(left, right))
        }
        (Some(Value::String(left)), Some(Value::String(right))) => Some(left.cmp(right)),
        _ => None,
    };
    match order {
        Order::Equal => equal,
        Order::NotEqual => !equal,
        Order::Less => ordering == Some(Ordering::Less),
        Order::More => ordering == Some(Ordering::Greater),
        Order::LessOrEqual => equal || ordering == Some(Ordering::Less),
        Order::MoreOrEqual => equal || ordering == Some(Ordering::Greater),
    }
}
