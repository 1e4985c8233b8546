//! Writes the description the way the program reads it.

use super::describe::{Description, short};
use super::probe::{Claim, Claims, What};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How to read the text; part of it.
const LEGEND: &str = "\
# The built-in kinds of Kubernetes MINOR: written by a test (docs/CONTRIBUTING.md), never by hand.
#   kind APIVERSION KIND PLURAL cluster|namespaced status|- TYPE
#   TYPE, or TYPE~ if it is written as a whole, and below it a line per field: NAME FORM, or NAME! FORM if it must be there
#   FORM: any, bool, int32, int64, number, text, bytes (base64), time, int-or-text, quantity, the name of a TYPE,
#     [FORM] a list, [FORM]set without doubles, [FORM]by(FIELD,…) whose elements are told apart by these fields,
#     {FORM} a map, {FORM}~ one that is written as a whole, text(A|B) one of these words or the empty one,
#     text=A where absent is A
# \"Must be there\" and \"one of these words\" are said only where a server was seen to refuse everything else.
";

pub(crate) fn print(description: &Description, claims: &Claims) -> String {
    let (version, _) = description.version.split_once('-').unwrap_or((&description.version, ""));
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    let mut text = LEGEND.replace("MINOR", minor);
    let mut used = BTreeSet::new();
    for ((api_version, kind), resource) in &description.kinds {
        let scope = if resource.namespaced { "namespaced" } else { "cluster" };
        let status = if resource.has_status { "status" } else { "-" };
        let (plural, root) = (&resource.plural, &resource.root);
        writeln!(text, "kind {api_version} {kind} {plural} {scope} {status} {root}").unwrap();
        collect(description, root, &mut used);
    }
    for name in &used {
        print_type(&mut text, name, &description.types[name], description, claims);
    }
    text
}

/// A type and all that it names.
fn collect(description: &Description, name: &str, used: &mut BTreeSet<String>) {
    if has_fields(description, name) && used.insert(name.to_owned()) {
        let properties = description.types[name]["properties"].as_object();
        properties.into_iter().flatten().for_each(|(_, property)| {
            names(property).for_each(|name| collect(description, &name, used));
        });
    }
}

fn has_fields(description: &Description, name: &str) -> bool {
    description.types.get(name).is_some_and(|schema| schema["properties"].is_object())
}

/// The types that a schema names.
fn names(schema: &Value) -> Box<dyn Iterator<Item = String> + '_> {
    let inner = ["items", "additionalProperties"];
    let inner = inner.into_iter().filter_map(|key| schema.get(key)).flat_map(names);
    Box::new(reference(schema).into_iter().chain(inner))
}

fn reference(schema: &Value) -> Option<String> {
    let written = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    written.map(short)
}

fn print_type(
    text: &mut String,
    name: &str,
    schema: &Value,
    description: &Description,
    claims: &Claims,
) {
    writeln!(text, "{name}{}", atomic(schema)).unwrap();
    for (field, property) in schema["properties"].as_object().into_iter().flatten() {
        let holds = |what| {
            let claim = Claim { of: name.to_owned(), field: field.clone(), what };
            claims.get(&claim) == Some(&true)
        };
        let required = if holds(What::Required) { "!" } else { "" };
        let form = form(property, description, holds(What::Words));
        writeln!(text, " {field}{required} {form}").unwrap();
    }
}

fn atomic(schema: &Value) -> &'static str {
    if schema["x-kubernetes-map-type"] == "atomic" { "~" } else { "" }
}

fn form(schema: &Value, description: &Description, words: bool) -> String {
    if let Some(name) = reference(schema) {
        return match name.as_str() {
            "api.resource.Quantity" => "quantity".to_owned(),
            "util.intstr.IntOrString" => "int-or-text".to_owned(),
            _ if has_fields(description, &name) => name,
            _ => form(&description.types[&name], description, words),
        };
    }
    match schema["type"].as_str() {
        Some("array") => {
            let item = form(&schema["items"], description, words);
            format!("[{item}]{}", keyed(schema))
        }
        Some("object") if schema["additionalProperties"].is_object() => {
            let value = form(&schema["additionalProperties"], description, words);
            format!("{{{value}}}{}", atomic(schema))
        }
        Some("boolean") => "bool".to_owned(),
        Some("integer") => schema["format"].as_str().unwrap_or("int64").to_owned(),
        Some("number") => "number".to_owned(),
        Some("string") => match schema["format"].as_str() {
            Some("byte") => "bytes".to_owned(),
            Some("date-time") => "time".to_owned(),
            _ => format!("text{}{}", enumeration(schema, words), default(schema)),
        },
        _ => "any".to_owned(),
    }
}

fn keyed(schema: &Value) -> String {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => "set".to_owned(),
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().expect("keys");
            let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
            format!("by({})", keys.join(","))
        }
        _ => String::new(),
    }
}

fn enumeration(schema: &Value, hold: bool) -> String {
    let words = schema["enum"].as_array().filter(|_| hold);
    let words = words.map(|words| words.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    words.map(|words| format!("({})", words.join("|"))).unwrap_or_default()
}

/// The default of a text; the empty one is no more than that the field may be absent.
fn default(schema: &Value) -> String {
    let default = schema["default"].as_str().unwrap_or_default();
    if default.is_empty() { String::new() } else { format!("={default}") }
}
