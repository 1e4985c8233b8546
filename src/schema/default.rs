//! What the API server adds to an object of a custom kind.
//!
//! In: an object as somebody wrote it. Out: the same with the defaults of its schema. Built-in kinds are defaulted by
//! code in the server and stay nearly as they are.
//!
//! The order is that of k8s.io/apiextensions-apiserver, `pkg/apiserver/schema/defaulting`: a default is put in where
//! nothing is, or null that is not allowed, and is then filled up itself. What is absent without a default stays so,
//! whatever defaults there are below it.

use super::Types;
use super::shape::{Schema, Shape};
use crate::object::Gvk;
use serde_json::Value;

/// Adds the defaults of the parent's definition, if its kind is known.
pub fn default_parent(types: &Types, parent: &mut Value) {
    if let Some(kind) = Gvk::of(parent).and_then(|gvk| types.kind(&gvk)) {
        fill(&kind.root, parent);
    }
}

fn fill(schema: &Schema, value: &mut Value) {
    match (schema.resolved(), value) {
        (Shape::Fields(fields), Value::Object(map)) => {
            for (name, field) in &fields.known {
                let name: &str = name;
                if let Some(default) = field.default_for(map.get(name)) {
                    map.insert(name.to_owned(), default);
                }
                if let Some(value) = map.get_mut(name) {
                    fill(field, value);
                }
            }
        }
        (Shape::Map(each), Value::Object(map)) => fill_all(each, map.values_mut()),
        (Shape::List(each, _), Value::Array(list)) => fill_all(each, list.iter_mut()),
        _ => {}
    }
}

fn fill_all<'v>(each: &Schema, values: impl Iterator<Item = &'v mut Value>) {
    for value in values {
        if let Some(default) = each.default_for(Some(value)) {
            *value = default;
        }
        fill(each, value);
    }
}

impl Schema {
    /// What comes in the place of a value, if it is absent or null against the schema.
    fn default_for(&self, value: Option<&Value>) -> Option<Value> {
        let absent = value.is_none_or(|value| value.is_null() && !self.nullable);
        self.default.clone().filter(|_| absent)
    }
}
