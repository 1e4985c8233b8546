//! The JSON Schema and the reference page say what the program does.

use crate::commands::run;
use kubewright::yaml::{self, Limits};
use kubewright::{cli, event, reason, rule, status, template};
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// As much of JSON Schema as ours uses; the first violation, with its path.
fn violation(schema: &Value, root: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(target) = schema["$ref"].as_str() {
        let target = root.pointer(target.trim_start_matches('#'))?;
        if let Some(found) = violation(target, root, value, path) {
            return Some(found);
        }
    }
    if schema.get("const").is_some_and(|wanted| wanted != value) {
        return Some(format!("{path}: not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{path}: none of {}", schema["enum"]));
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let failed: Vec<_> =
            choices.iter().map_while(|one| violation(one, root, value, path)).collect();
        if failed.len() == choices.len() {
            return Some(failed.join(" and "));
        }
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() && schema["type"] == "integer" => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = match &schema["type"] {
        Value::String(wanted) => wanted == kind,
        Value::Array(wanted) => wanted.contains(&json!(kind)),
        _ => true,
    };
    if !fits {
        return Some(format!("{path}: {kind} instead of {}", schema["type"]));
    }
    match value {
        Value::Array(items) if schema.get("items").is_some() => {
            items.iter().enumerate().find_map(|(at, item)| {
                violation(&schema["items"], root, item, &format!("{path}[{at}]"))
            })
        }
        Value::Object(map) if schema["type"] == "object" => object(schema, root, map, path),
        _ => None,
    }
}

fn object(
    schema: &Value,
    root: &Value,
    map: &serde_json::Map<String, Value>,
    path: &str,
) -> Option<String> {
    let missing = schema["required"].as_array().into_iter().flatten();
    if let Some(field) = missing.filter_map(Value::as_str).find(|field| !map.contains_key(*field)) {
        return Some(format!("{path}: no {field}"));
    }
    map.iter().find_map(|(key, value)| {
        let path = format!("{path}.{key}");
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(known), _) => violation(known, root, value, &path),
            (None, Value::Bool(false)) => Some(format!("{path}: unknown")),
            (None, other) => violation(other, root, value, &path),
        }
    })
}

fn documents(text: &str) -> Vec<Value> {
    let documents = yaml::parse(text, &Limits::FILE).unwrap();
    documents.iter().map(|document| document.root.to_json()).collect()
}

#[test]
fn every_shipped_rule_fits_the_schema() {
    let schema = rule::schema();
    let mut seen = 0;
    for entry in fs::read_dir("rules").unwrap() {
        let path = entry.unwrap().path();
        for document in documents(&fs::read_to_string(&path).unwrap()) {
            if document["kind"] == "Rule" {
                assert_eq!(violation(&schema, &schema, &document, "$"), None, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 0);
}

#[test]
fn what_the_compiler_refuses_as_a_shape_the_schema_refuses_too() {
    let schema = rule::schema();
    let rule = documents(&fs::read_to_string("rules/webapp.yaml").unwrap()).remove(0);
    for (pointer, value) in [
        ("/apiVersion", json!("v1")),
        ("/spec/parent", json!({"kind": "X"})),
        ("/spec/children/0", json!({"id": "a", "tempalte": "b"})),
        ("/spec/children/0/when", json!({"path": "$.a", "exists": true})),
        ("/spec/children/0/when/0", json!({"path": "$.a", "exsits": true})),
        ("/spec/let", json!({"name": "x"})),
        ("/spec/status/conditions/0/then", json!({"message": "m"})),
    ] {
        let mut wrong = rule.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(violation(&schema, &schema, &wrong, "$").is_some(), "{pointer}");
    }
}

#[test]
fn the_reference_pages_are_what_the_program_says() {
    for (path, option, text) in [
        ("docs/RULES.md", "--markdown", rule::reference()),
        ("docs/TEMPLATES.md", "--templates", template::reference()),
    ] {
        if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
            fs::write(path, &text).unwrap();
        }
        let page = fs::read_to_string(path).unwrap();
        assert!(page == text, "{path} is stale: run the tests with KUBEWRIGHT_UPDATE=1");
        let (code, out, _) = run(Path::new("."), &["schema", option]);
        assert_eq!((code, out == page), (0, true), "kubewright schema {option}");
    }
}

#[test]
fn the_pages_of_commands_and_reasons_are_what_the_program_says() {
    for (path, text) in [
        ("docs/COMMANDS.md", cli::reference::reference()),
        ("docs/REASONS.md", reason::reference()),
    ] {
        if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
            fs::write(path, &text).unwrap();
        }
        let page = fs::read_to_string(path).unwrap_or_default();
        assert!(page == text, "{path} is stale: run the tests with KUBEWRIGHT_UPDATE=1");
    }
}

/// The words that a `match` of the program gives to the variants of an enumeration.
fn words(path: &str) -> BTreeSet<String> {
    let arm = Regex::new(r#"Self::\w+ => "([A-Z]\w+)","#).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("fn as_str(").unwrap();
    let (body, _) = rest.split_once("\n    }\n").unwrap();
    arm.captures_iter(body).map(|found| found[1].to_owned()).collect()
}

#[test]
fn every_reason_that_the_program_can_give_is_on_the_page() {
    let conditions: BTreeSet<String> =
        status::Reason::ALL.iter().map(|reason| reason.as_str().to_owned()).collect();
    assert_eq!(words("src/status/reason.rs"), conditions);
    let events: BTreeSet<String> =
        event::Reason::ALL.iter().map(|reason| reason.as_str().to_owned()).collect();
    assert_eq!(words("src/event.rs"), events);
    let page = reason::reference();
    for word in conditions.union(&events) {
        assert!(page.contains(&format!("`{word}`")), "{word}");
    }
}
