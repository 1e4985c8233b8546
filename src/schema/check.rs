//! Checks an object against the types of its kind.
//!
//! In: [`Types`], an object. Out: findings, each something that the API server refuses, drops or changes.
//!
//! What the server does was measured on a real one: it checks the structure of built-in and custom objects alike (field
//! names, types, duplicates), whatever its null values; of custom objects it then checks everything that their schema
//! asks for, null included. A status that is written apart is only looked at for its structure.

mod definition;
mod limits;
mod list;
mod scalar;

use super::naming;
use super::shape::{Fields, Schema, Shape};
use super::{Finding, Kind, Types};
use crate::comparison::closest;
use crate::object::Gvk;
use crate::path::{Location, Step};
use serde_json::{Map, Value};

/// Findings of one object; more would help nobody.
const MAX_FINDINGS: usize = 50;

/// So many fields are listed where one is not known.
const MAX_LISTED: usize = 12;

/// What is wrong with an object, in its order; nothing at all if its kind is not known.
pub fn check_object(types: &Types, object: &Value) -> Option<Vec<Finding>> {
    let gvk = Gvk::of(object)?;
    let kind = types.kind(&gvk)?;
    let mut checker = Checker { findings: Vec::new(), at: Vec::new(), strict: true };
    match (kind.root.resolved(), object) {
        (Shape::Fields(fields), Value::Object(map)) => {
            checker.limits(&kind.root, object);
            for (name, value) in map {
                checker.strict = !(kind.has_status && name == "status");
                checker.field(fields, name, value);
            }
            if gvk.kind == "CustomResourceDefinition" {
                checker.definition(map);
            }
        }
        _ => checker.value(&kind.root, object),
    }
    let mut findings = checker.findings;
    findings.extend(naming::of_object(&gvk, object, true));
    Some(findings)
}

/// What is wrong with the status fields that somebody is about to write, if the kind is known. Fields that it does not
/// have are not told; [`super::status_field`] tells them without a value.
pub fn check_status(types: &Types, gvk: &Gvk, fields: &Map<String, Value>) -> Vec<Finding> {
    let status = types.kind(gvk).and_then(Kind::status);
    let Some(Shape::Fields(status)) = status.map(Schema::resolved) else { return Vec::new() };
    let mut checker =
        Checker { findings: Vec::new(), at: vec![Step::from("status")], strict: true };
    for (name, value) in fields.iter().filter(|(name, _)| status.known.contains_key(name.as_str()))
    {
        checker.field(status, name, value);
    }
    checker.findings
}

struct Checker {
    findings: Vec<Finding>,
    at: Vec<Step>,
    /// Whether values are checked too, not only the structure.
    strict: bool,
}

impl Checker {
    fn value(&mut self, schema: &Schema, value: &Value) {
        if self.findings.len() >= MAX_FINDINGS {
            return;
        }
        if value.is_null() {
            self.null(schema);
            return;
        }
        match (schema.resolved(), value) {
            (Shape::Any | Shape::Named(_), _) => {}
            (Shape::Fields(fields), Value::Object(map)) => self.fields(fields, map),
            (Shape::Map(each), Value::Object(map)) => {
                for (key, value) in map {
                    self.below(key.as_str(), |checker| checker.value(each, value));
                }
            }
            (Shape::List(each, keyed), Value::Array(list)) => self.list(each, keyed, list),
            (shape, value) => {
                if !self.scalar(shape, value) {
                    return;
                }
            }
        }
        self.limits(schema, value);
    }

    /// Built-in kinds take null for absent everywhere; custom kinds where the schema says so, or has a default for it.
    fn null(&mut self, schema: &Schema) {
        let taken = schema.nullable || schema.default.is_some();
        if self.strict && !taken && !matches!(schema.resolved(), Shape::Any) {
            self.note("wrong-type", "is null", "leave it out".to_owned());
        }
    }

    fn fields(&mut self, fields: &Fields, map: &Map<String, Value>) {
        for (name, value) in map {
            self.field(fields, name, value);
        }
    }

    fn field(&mut self, fields: &Fields, name: &str, value: &Value) {
        match fields.known.get(name) {
            Some(field) => self.below(name, |checker| checker.value(field, value)),
            None if fields.open => {}
            None => {
                let hint = hint_for(fields, name);
                self.below(name, |checker| checker.note("unknown-field", "is not known", hint));
            }
        }
    }

    fn below(&mut self, step: impl Into<Step>, look: impl FnOnce(&mut Self)) {
        self.at.push(step.into());
        look(self);
        self.at.pop();
    }

    fn note(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let path = Location::from(self.at.clone());
        self.findings.push(Finding { path, code, message: message.into(), hint: hint.into() });
    }
}

/// The field that was meant, else all that there are if they are few.
pub(super) fn hint_for(fields: &Fields, wrong: &str) -> Option<String> {
    if let Some(near) = closest(wrong, fields.names()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let known: Vec<&str> = fields.names().collect();
    match known.len() {
        0 => Some("the schema knows no field here".to_owned()),
        1..=MAX_LISTED => Some(format!("known here: {}", known.join(", "))),
        _ => None,
    }
}
