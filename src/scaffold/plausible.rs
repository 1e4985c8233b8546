//! Values that a schema would accept, for an example.
//!
//! In: a schema as a CRD has it. Out: a value with what is required, and notes on what a schema says but an
//! example cannot guess. Pure.

use serde_json::{Map, Number, Value, json};

/// Lists and texts are never longer than this, whatever a schema asks for.
const LONGEST: u64 = 64;
const DEEPEST: usize = 16;

/// A value for the schema; `path` names it in notes.
pub(super) fn plausible(
    schema: &Value,
    path: &str,
    depth: usize,
    notes: &mut Vec<String>,
) -> Value {
    if let Some(default) = schema.get("default").or_else(|| schema.get("example")) {
        return default.clone();
    }
    if let Some(first) =
        schema.get("enum").and_then(Value::as_array).and_then(|values| values.first())
    {
        return first.clone();
    }
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return json!(1);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => text(schema, path, notes),
        Some("integer") => integer(schema),
        Some("number") => number(schema),
        Some("boolean") => json!(false),
        Some("array") => {
            let least = bound(schema, "minItems").unwrap_or(0).min(LONGEST);
            if least > 1 {
                notes.push(format!("{path} needs {least} items: check that they may be equal"));
            }
            let item = schema.get("items").filter(|_| least > 0 && depth < DEEPEST);
            let item = item.map(|item| plausible(item, &format!("{path}[0]"), depth + 1, notes));
            (0..least).filter_map(|_| item.clone()).collect()
        }
        _ => object(schema, path, depth, notes),
    }
}

fn object(schema: &Value, path: &str, depth: usize, notes: &mut Vec<String>) -> Value {
    let mut map = Map::new();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str).filter(|_| depth < DEEPEST) {
        let below = format!("{path}.{name}");
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        let value =
            property.map_or(json!({}), |property| plausible(property, &below, depth + 1, notes));
        map.insert(name.to_owned(), value);
    }
    let least = bound(schema, "minProperties").unwrap_or(0);
    if let Some(extra) = schema.get("additionalProperties").filter(|extra| extra.is_object())
        && map.is_empty()
        && least > 0
    {
        map.insert(
            "example".into(),
            plausible(extra, &format!("{path}.example"), depth + 1, notes),
        );
    }
    let choices = ["oneOf", "anyOf", "not", "x-kubernetes-validations"];
    if let Some(choice) = choices.iter().find(|choice| schema.get(**choice).is_some()) {
        notes.push(format!("{path} has `{choice}`: check that the example fulfils it"));
    }
    Value::Object(map)
}

/// What patterns of schemas mostly ask for.
const OFTEN: &[&str] = &[
    "example",
    "Example",
    "EXAMPLE",
    "example.com",
    "* * * * *",
    "a",
    "1",
    "10",
    "1.0.0",
    "v1.0.0",
    "1m",
    "1Gi",
    "100m",
    "10.0.0.0/24",
    "192.0.2.1",
    "https://example.com",
    "0 3 * * *",
    "/example",
    "example/example",
    "example@example.com",
    "#000000",
];

/// The text itself, or one that often fits, where there is a pattern.
fn fitting<'t>(schema: &Value, text: &'t str, path: &str, notes: &mut Vec<String>) -> &'t str {
    let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else { return text };
    let fits = |regex: &regex::Regex| {
        [text].into_iter().chain(OFTEN.iter().copied()).find(|text| regex.is_match(text))
    };
    regex::Regex::new(pattern).ok().as_ref().and_then(fits).unwrap_or_else(|| {
        notes.push(format!("{path} must match `{pattern}`: the example's `{text}` does not"));
        text
    })
}

fn text(schema: &Value, path: &str, notes: &mut Vec<String>) -> Value {
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("duration") => "1m",
        Some("uuid") => "00000000-0000-0000-0000-000000000000",
        Some("uri" | "url") => "https://example.com",
        Some("email") => "someone@example.com",
        Some("hostname") => "example.com",
        Some("ipv4" | "ip") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("cidr") => "192.0.2.0/24",
        Some("byte") => "ZXhhbXBsZQ==",
        _ => "example",
    };
    let mut text = fitting(schema, text, path, notes).to_owned();
    let least = usize::try_from(bound(schema, "minLength").unwrap_or(0).min(LONGEST)).unwrap_or(0);
    while text.chars().count() < least {
        text.push('x');
    }
    if let Some(most) = bound(schema, "maxLength").and_then(|most| usize::try_from(most).ok()) {
        text = text.chars().take(most).collect();
    }
    Value::String(text)
}

fn bound(schema: &Value, name: &str) -> Option<u64> {
    schema.get(name).and_then(Value::as_u64)
}

/// The least number that is allowed and, if possible, is no zero.
fn integer(schema: &Value) -> Value {
    let limit = |name: &str| {
        let limit = schema.get(name)?;
        limit
            .as_i64()
            .or_else(|| limit.as_f64().and_then(|limit| format!("{limit:.0}").parse().ok()))
    };
    let exclusive = |name: &str| i64::from(schema.get(name) == Some(&Value::Bool(true)));
    let least = limit("minimum").map(|least| least.saturating_add(exclusive("exclusiveMinimum")));
    let most = limit("maximum").map(|most| most.saturating_sub(exclusive("exclusiveMaximum")));
    let wanted = least.map_or(1, |least| least.max(1)).min(most.unwrap_or(i64::MAX));
    let step = limit("multipleOf").filter(|step| *step > 0).unwrap_or(1);
    let up = wanted.rem_euclid(step);
    json!(if up == 0 { wanted } else { wanted.saturating_add(step - up) })
}

fn number(schema: &Value) -> Value {
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let exclusive = schema.get("exclusiveMinimum") == Some(&Value::Bool(true));
    let least = limit("minimum").map_or(1.0, |least| if exclusive { least + 0.5 } else { least });
    let value = limit("maximum").map_or(least, |most| least.min(most));
    Number::from_f64(value).map_or(json!(1), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_to_what_the_schema_says() {
        for (schema, expected) in [
            (json!({"type": "string", "default": "d", "enum": ["e"]}), json!("d")),
            (json!({"type": "string", "enum": ["e", "f"]}), json!("e")),
            (json!({"type": "string", "minLength": 9}), json!("examplexx")),
            (json!({"type": "string", "maxLength": 3}), json!("exa")),
            (json!({"type": "integer"}), json!(1)),
            (json!({"type": "integer", "minimum": 5, "exclusiveMinimum": true}), json!(6)),
            (json!({"type": "integer", "minimum": 5, "multipleOf": 4}), json!(8)),
            (json!({"type": "integer", "maximum": -2}), json!(-2)),
            (json!({"type": "integer", "minimum": 0, "maximum": 0}), json!(0)),
            (json!({"type": "number", "minimum": 0.5}), json!(0.5)),
            (json!({"type": "boolean"}), json!(false)),
            (json!({"x-kubernetes-int-or-string": true}), json!(1)),
            (json!({"type": "array", "minItems": 2, "items": {"type": "integer"}}), json!([1, 1])),
            (json!({"type": "array", "items": {"type": "integer"}}), json!([])),
            (
                json!({"type": "object", "required": ["a"], "properties": {
                "a": {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}},
                "c": {"type": "string"}}}),
                json!({"a": {"b": "example"}}),
            ),
            (
                json!({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}),
                json!({"example": 1}),
            ),
        ] {
            assert_eq!(plausible(&schema, "spec", 0, &mut Vec::new()), expected, "{schema}");
        }
    }

    #[test]
    fn what_cannot_be_guessed_is_noted() {
        let mut notes = Vec::new();
        plausible(&json!({"type": "string", "pattern": "^[0-9]{7}$"}), "spec.a", 0, &mut notes);
        plausible(&json!({"type": "string", "pattern": "^[a-z]+$"}), "spec.b", 0, &mut notes);
        plausible(&json!({"type": "object", "oneOf": []}), "spec.c", 0, &mut notes);
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].starts_with("spec.a must match"), "{notes:?}");
    }
}
