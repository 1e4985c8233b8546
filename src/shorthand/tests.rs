//! Short schemas as a whole: what comes of them, and what their authors are told.

mod everything;
mod lines;
mod maps;
mod meaning;
mod status;

use super::{Definition, Request};
use crate::object::Gvk;
use crate::problem::Problem;
use crate::source::Source;
use crate::yaml::{Limits, parse};
use serde_json::Value;

/// A schema of `demo.example.com/v1 Thing`, whose rule writes these status fields.
fn compile(schema: &str, status_body: Option<&str>) -> Result<Definition, Vec<Problem>> {
    let source = Source::new("rule.yaml", schema);
    let documents = parse(schema, &Limits::FILE).unwrap();
    let parent = Gvk::parse("demo.example.com/v1", "Thing").unwrap();
    Definition::compile(&Request {
        source: &source,
        schema: &documents[0].root,
        parent: &parent,
        parent_span: &(0..1),
        let_body: Some("name: {{ parent.metadata.name }}\nport: {{ parent.spec.port }}\n"),
        status_body,
    })
}

/// What a mistake points at, what it says, and what it proposes.
fn shown(problem: &Problem) -> String {
    let place = problem.place.as_ref().unwrap();
    let text = &place.source.text[place.span.clone()];
    let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{text} | {}: {}{hint}", problem.code, problem.message)
}

/// Every row of a table whose text does not come out as expected, with what came instead.
fn differing<'t>(
    table: &[(&'t str, &'t str)],
    of: impl Fn(&str) -> Vec<String>,
) -> Vec<(&'t str, String)> {
    let rows = table.iter().map(|(given, expected)| (*given, of(given).join("\n"), *expected));
    rows.filter(|(_, came, expected)| came != expected)
        .map(|(given, came, _)| (given, came))
        .collect()
}

/// Every mistake of a schema.
fn problems(schema: &str) -> Vec<String> {
    match compile(schema, Some("")) {
        Ok(_) => vec!["no mistake".to_owned()],
        Err(problems) => problems.iter().map(shown).collect(),
    }
}

/// The schema of a part of the object.
fn schema_at(definition: &Definition, pointer: &str) -> Value {
    let crd = definition.to_json();
    let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    root.pointer(pointer).cloned().unwrap_or(Value::Null)
}

/// The schema of one field, written as one line.
fn field(line: &str) -> Value {
    let compiled = compile(&format!("spec:\n  f: {line}\n"), None);
    match compiled {
        Ok(definition) => schema_at(&definition, "/spec/properties/f"),
        Err(problems) => panic!("{line}: {:?}", problems.iter().map(shown).collect::<Vec<_>>()),
    }
}
