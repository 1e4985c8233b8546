//! What may be written in a rule, for editors and for people: drawn from the shapes in `file`, so that it cannot drift.
//!
//! In: the shapes. Out: a JSON Schema (draft 2020-12) and a reference page in Markdown. Pure.

use super::decode::{Decode, Shapes};
use super::file::{API_VERSION, RuleFile};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// JSON Schema of a rule file: point an editor's YAML support at it.
pub fn schema() -> Value {
    let (root, mut shapes) = shapes();
    let rule = root.get("$ref").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(properties) = shapes.get_mut("Rule").and_then(|rule| rule.get_mut("properties")) {
        properties["apiVersion"]["const"] = json!(API_VERSION);
        properties["kind"]["const"] = json!("Rule");
    }
    if let Some(parent) = shapes.get_mut("Parent") {
        // One kind or several.
        let needs = |fields: Value| json!({"type": "object", "required": fields});
        parent["anyOf"] = json!([needs(json!(["apiVersion", "kind"])), needs(json!(["kinds"]))]);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Kubewright rule",
        "$ref": rule,
        "$defs": shapes,
    })
}

/// Examples of each shape, which use each of its fields: `== NAME`, then YAML documents. The tests hold them to the schema.
pub fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = include_str!("examples.txt").split("== ").skip(1);
    sections.filter_map(|section| section.split_once('\n'))
}

/// Every field of a rule, with its type, its meaning and an example.
pub fn reference() -> String {
    let (_, shapes) = shapes();
    let mut page = String::from(
        "# Rules, field by field\n\nGenerated from the program by `kubewright schema --markdown`. A field without *required* may be left out.\n",
    );
    let first = ["Rule", "Metadata", "Spec", "Parent", "Child", "Group", "ForEach"];
    let rest = shapes.keys().map(String::as_str).filter(|name| !first.contains(name));
    for name in first.into_iter().chain(rest) {
        if let Some(shape) = shapes.get(name) {
            // Writing to a String cannot fail.
            let _ = describe(&mut page, name, shape);
        }
    }
    page
}

/// The root and every named shape, names without the ending that only the code needs.
fn shapes() -> (Value, Map<String, Value>) {
    let mut shapes = Shapes::default();
    let root = RuleFile::schema(&mut shapes);
    let named =
        shapes.by_name.into_iter().map(|(name, shape)| (short(name).to_owned(), shortened(shape)));
    (shortened(root), named.collect())
}

fn short(name: &str) -> &str {
    name.strip_suffix("File").unwrap_or(name)
}

fn shortened(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match (key.as_str(), value.as_str()) {
                    ("$ref", Some(target)) => *value = json!(short(target)),
                    _ => *value = shortened(value.take()),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = shortened(value.take())),
        _ => {}
    }
    value
}

fn describe(page: &mut String, name: &str, shape: &Value) -> std::fmt::Result {
    let text = |value: &Value| value["description"].as_str().unwrap_or_default().to_owned();
    writeln!(page, "\n## {name}\n\n{}\n", text(shape))?;
    writeln!(page, "| field | type | meaning |\n|---|---|---|")?;
    let required = shape["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (field, value) in shape["properties"].as_object().into_iter().flatten() {
        let needed = if required.contains(&json!(field)) { " *required*" } else { "" };
        writeln!(page, "| `{field}` | {}{needed} | {} |", kind(value), text(value))?;
    }
    for (_, example) in examples().filter(|(shown, _)| *shown == name) {
        writeln!(page, "\n```yaml\n{}\n```", example.trim_end())?;
    }
    Ok(())
}

/// A type in words, with links to the shapes.
fn kind(value: &Value) -> String {
    if let Some(target) = value["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(words) = value["enum"].as_array() {
        let words: Vec<_> =
            words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        return words.join(" or ");
    }
    if let Some(choices) = value["anyOf"].as_array().or_else(|| value["allOf"].as_array()) {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &value["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&value["items"])),
        Value::String(name) if name == "object" && value["additionalProperties"].is_object() => {
            format!("map of {}", kind(&value["additionalProperties"]))
        }
        Value::String(name) if name == "string" => "text".to_owned(),
        Value::String(name) => name.clone(),
        Value::Array(_) => "a scalar or a list".to_owned(),
        _ => "anything".to_owned(),
    }
}
