//! The status fields that a rule declares.
//!
//! In: the `status.fields` body and what it may read. Out: the fields, or why they cannot be said.

use super::condition::Truth;
use crate::problem::Problem;
use crate::render::Desired;
use crate::rule::Rule;
use crate::template::{Awaits, Failure, Part};
use crate::view::View;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Renders the declared fields. A body that fails keeps the old fields (nothing is said about them) and gives the problem.
pub(super) fn compute(
    rule: &Rule,
    desired: &Desired,
    view: &View<'_>,
    conditions: &BTreeMap<&str, Truth>,
) -> (Option<Map<String, Value>>, Option<Problem>) {
    let Some(status) = &rule.status else { return (None, None) };
    if desired.failed.is_some() {
        return (None, None);
    }
    let Some(body) = &status.fields else { return (Some(Map::new()), None) };
    let mut context = view.context().into_owned();
    let conditions: Map<String, Value> = conditions
        .iter()
        .map(|(kind, truth)| ((*kind).to_owned(), json!(*truth == Truth::True)))
        .collect();
    let conditions = Value::Object(conditions);
    context.insert("conditions", Part::new("conditions", &conditions, Awaits::Nothing));
    match rule.templates.body(body, &context) {
        Ok(fields) => (Some(fields), None),
        Err(Failure::Failed(problem)) => (None, Some(problem)),
        Err(Failure::Waiting { .. }) => (None, None),
    }
}
