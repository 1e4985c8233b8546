//! The status: read off the rule, stated, or both.

use super::{compile, differing, schema_at, shown};
use crate::template::{EntryKind, entries};
use serde_json::{Value, json};

const SCHEMA: &str = "\
types:
  Port: {number: integer, name: string}
spec:
  host: string, minLength 1
  port: int32 = 80, min 1
  ratio: number
  tier: one of a | b = a
  size: one of 1 | 2 = 1
  cpu: quantity
  note: string, nullable
  tags: list of string
  labels: map of string
  ports: list of Port
  anything: object
";

fn status_of(body: &str) -> Value {
    let definition = compile(SCHEMA, Some(body));
    let definition = definition.unwrap_or_else(|problems| panic!("{body}: {problems:?}"));
    let mut status = schema_at(&definition, "/status");
    if let Some(properties) = status["properties"].as_object_mut() {
        properties.remove("conditions");
    }
    status
}

/// Values of a body, and what they are told to be.
const VALUES: &[(&str, &str)] = &[
    // Literals.
    ("Running", "string"),
    ("\"1\"", "string"),
    ("{{ 'a' }}", "string"),
    ("3", "integer"),
    ("1.5", "number"),
    ("yes", "boolean"),
    ("null", "anything"),
    ("{{ none }}", "anything"),
    ("{{ 3 }}", "integer"),
    ("[a, b]", "list of string"),
    ("[a, 1]", "list of anything"),
    ("[]", "list of anything"),
    // What is mixed is text.
    ("https://{{ parent.spec.host }}", "string"),
    ("\"{{ parent.spec.port }}\"", "string"),
    ("{{ parent.spec.host }}{{ parent.spec.port }}", "string"),
    // Reads.
    ("{{ parent.spec.host }}", "string"),
    ("{{ parent.spec.port }}", "int32"),
    ("{{ parent.spec.ratio }}", "number"),
    ("{{ parent.spec.tier }}", "string"),
    ("{{ parent.spec.size }}", "integer"),
    ("{{ parent.spec.tags }}", "list of string"),
    ("{{ parent.spec.tags[0] }}", "string"),
    ("{{ parent.spec.labels.a }}", "string"),
    ("{{ parent.spec['labels']['a'] }}", "string"),
    ("{{ parent.spec.ports[0].number }}", "integer"),
    ("{{ parent.spec.anything }}", "object"),
    ("{{ parent.spec.anything.deep }}", "anything"),
    ("{{ parent.spec.note }}", "anything"),
    ("{{ parent.spec.nobody }}", "anything"),
    ("{{ parent.metadata.name }}", "string"),
    ("{{ parent.metadata.generation }}", "integer"),
    ("{{ parent.metadata.labels }}", "map of string"),
    ("{{ parent.metadata.creationTimestamp }}", "date-time"),
    ("{{ children.service.metadata.name }}", "string"),
    ("{{ children.service.spec.clusterIP }}", "anything"),
    ("{{ let.name }}", "string"),
    ("{{ let.port }}", "int32"),
    ("{{ let.nobody }}", "anything"),
    ("{{ conditions.Serving }}", "boolean"),
    ("{{ parent.status.old }}", "anything"),
    // Operators.
    ("{{ parent.spec.host ~ ':' ~ parent.spec.port }}", "string"),
    ("{{ children.x ~ 1 }}", "string"),
    ("{{ parent.spec.port > 3 }}", "boolean"),
    ("{{ not children.x }}", "boolean"),
    ("{{ children.x is defined }}", "boolean"),
    ("{{ 'a' in children.x }}", "boolean"),
    ("{{ parent.spec.port + 1 }}", "integer"),
    ("{{ parent.spec.port / 2 }}", "number"),
    ("{{ parent.spec.port * 1.5 }}", "number"),
    ("{{ -parent.spec.port }}", "int32"),
    ("{{ children.x + 1 }}", "anything"),
    ("{{ parent.spec.host or 'none' }}", "string"),
    ("{{ parent.spec.host or 1 }}", "anything"),
    // Conditions.
    ("{{ 'a' if conditions.X else 'b' }}", "string"),
    ("{{ 'a' if conditions.X }}", "string"),
    ("{{ 'a' if conditions.X else omit }}", "string"),
    ("{{ omit if conditions.X else 1 }}", "integer"),
    ("{{ 1 if conditions.X else 1.5 }}", "number"),
    ("{{ 1 if conditions.X else 'b' }}", "anything"),
    ("{{ 1 if conditions.X else none }}", "anything"),
    ("{{ 1 if a else 2 if b else 3 }}", "integer"),
    ("{% if conditions.X %}1{% else %}none{% endif %}", "anything"),
    ("\"{% if conditions.X %}1{% else %}2{% endif %}\"", "string"),
    // Defaults say what is expected.
    ("{{ get(children.d, 'status.availableReplicas', 0) }}", "integer"),
    ("{{ get(children.d, 'status.x') }}", "anything"),
    ("{{ get(children.d, 'status.x', none) }}", "anything"),
    ("{{ get(parent, 'spec.host') }}", "string"),
    ("{{ get(parent.spec, 'port', 0) }}", "integer"),
    ("{{ get(parent.spec, 'host', 0) }}", "anything"),
    ("{{ children.d.status.x|default('none') }}", "string"),
    ("{{ parent.spec.host|default(1) }}", "anything"),
    // Filters.
    ("{{ children.x|to_json }}", "string"),
    ("{{ children.x|length }}", "integer"),
    ("{{ children.x|int }}", "integer"),
    ("{{ parent.spec.tags|sort|first }}", "string"),
    ("{{ parent.spec.tags|join(',') }}", "string"),
    ("{{ parent.spec.host|split('.') }}", "list of string"),
    ("{{ children.x|map('upper') }}", "anything"),
    ("{{ children.x|from_json }}", "anything"),
    ("{{ range(3) }}", "list of integer"),
    ("{{ {'a': 1} }}", "object"),
    ("{{ ['a'] }}", "list of string"),
    // Nesting.
    ("{a: 1}", "{a: integer}"),
    ("{\"{{ parent.spec.host }}\": 1}", "map of integer"),
    ("{\"{{ parent.spec.host }}\": \"{{ children.x }}\", b: 1}", "{b: integer, …}"),
    ("{\"{{ parent.spec.host }}\": {{ children.x }}}", "object"),
];

/// A schema as its author would write it.
fn short(schema: &Value) -> String {
    let open = schema["x-kubernetes-preserve-unknown-fields"] == json!(true);
    match schema["type"].as_str() {
        None if open && schema["nullable"] == json!(true) => "anything".to_owned(),
        Some("array") => format!("list of {}", short(&schema["items"])),
        Some("object") => match (&schema["properties"], &schema["additionalProperties"]) {
            (Value::Object(fields), Value::Null) => {
                let field = |(name, schema)| format!("{name}: {}", short(schema));
                let rest = open.then(|| "…".to_owned());
                let fields: Vec<String> = fields.iter().map(field).chain(rest).collect();
                format!("{{{}}}", fields.join(", "))
            }
            (Value::Null, Value::Null) if open => "object".to_owned(),
            (Value::Null, values) => format!("map of {}", short(values)),
            _ => schema.to_string(),
        },
        Some(kind) => match schema["format"].as_str() {
            Some("int64") | None => kind.to_owned(),
            Some(format) => format.to_owned(),
        },
        _ => schema.to_string(),
    }
}

#[test]
fn the_type_of_an_expression_is_told_where_the_text_tells_it() {
    let told = |value: &str| vec![short(&status_of(&format!("v: {value}\n"))["properties"]["v"])];
    assert_eq!(differing(VALUES, told), []);
}

#[test]
fn statements_do_not_hide_keys_unless_nobody_can_know_them() {
    for (body, expected) in [
        ("", "{}"),
        ("{# nothing #}\n", "{}"),
        (
            "{% if parent.spec.host %}\nurl: {{ parent.spec.host }}\n{% endif %}\nb: c\n",
            "{b: string, url: string}",
        ),
        ("{% set host = parent.spec.port %}\na: {{ host }}\nb: c\n", "{a: anything, b: string}"),
        (
            "{% for parent in children.x %}\n{{ parent.spec.host }}: {{ parent.spec.host }}\n{% endfor %}\nb: c\n",
            "{b: string, …}",
        ),
        ("<<: {{ children.x }}\nb: c\n", "{b: string, …}"),
        (
            "a:\n  {% for tag in parent.spec.tags %}\n  {{ tag }}: on\n  {% endfor %}\n",
            "{a: map of boolean}",
        ),
        // Not understood without being rendered.
        ("{% if conditions.X %}\na: b\n{% else %}\na: c\n{% endif %}\n", "{…}"),
        ("{% include 'x' %}\na: b\n", "{…}"),
        ("{{ children.x }}\n", "{…}"),
    ] {
        assert_eq!(short(&status_of(body)), expected, "{body}");
    }
}

#[test]
fn a_long_expression_is_not_looked_at() {
    let short = format!("a: {{{{ {}1{} }}}}\n", "(".repeat(30), ")".repeat(30));
    let whole = json!({"type": "integer", "format": "int64"});
    assert_eq!(status_of(&short)["properties"]["a"], whole);
    let long = format!("a: {{{{ 1 {} }}}}\n", "+ 1 ".repeat(100));
    let deep = format!("a: {{{{ {}1{} }}}}\n", "(".repeat(200), ")".repeat(200));
    for body in [long, deep] {
        let anything = json!({"nullable": true, "x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(status_of(&body)["properties"]["a"], anything);
    }
}

#[test]
fn what_is_stated_replaces_what_is_told_and_may_be_more() {
    let schema = "spec: {a: string}\nstatus:\n  endpoint: string, column URL \"Where\"\n  ip: string\n  other: integer\n";
    let definition =
        compile(schema, Some("phase: {{ 'a' }}\nendpoint: {{ 'b' }}\nip: {{ children.x }}\n"))
            .unwrap();
    let mut properties = schema_at(&definition, "/status/properties");
    assert_eq!(properties["conditions"]["x-kubernetes-list-map-keys"], json!(["type"]));
    properties.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        properties,
        json!({
            "phase": {"type": "string"},
            "endpoint": {"type": "string", "description": "Where"},
            "ip": {"type": "string"},
            "other": {"type": "integer", "format": "int64"},
        })
    );
    let columns = definition.to_json()["spec"]["versions"][0]["additionalPrinterColumns"].clone();
    let names: Vec<&str> =
        columns.as_array().unwrap().iter().filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(names, ["URL", "Ready", "Age"]);
    let yaml = definition.to_yaml();
    let order: Vec<_> = ["phase:", "endpoint:", "ip:", "other:", "conditions:"]
        .iter()
        .map(|key| yaml.find(key))
        .collect();
    assert!(order.is_sorted() && order[0].is_some(), "{yaml}");
}

#[test]
fn a_rule_without_a_status_gives_a_kind_without_one() {
    let crd = compile("spec: {a: string}", None).unwrap().to_json();
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version["subresources"], json!(null));
    assert_eq!(version["schema"]["openAPIV3Schema"]["properties"]["status"], json!(null));
    assert_eq!(
        version["additionalPrinterColumns"],
        json!([{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}])
    );
}

#[test]
fn statements_that_cannot_be_are_told() {
    for (status, body, expected) in [
        (
            "{conditions: list of string}",
            Some(""),
            "conditions | schema-conflict: every status has `conditions` by itself (leave it out)",
        ),
        (
            "{a: 'string, required'}",
            Some(""),
            "a | attribute-not-here: the rule writes the status: nothing in it is required, immutable or a default",
        ),
        (
            "{a: string = b}",
            Some(""),
            "a | attribute-not-here: the rule writes the status: nothing in it is required, immutable or a default",
        ),
        (
            "{a: integer}",
            Some("a: {{ 'b' ~ 1 }}"),
            "a | schema-conflict: `a` is stated to be `integer`, but the rule writes `string`",
        ),
        (
            "{a: map of string}",
            Some("a: [b]"),
            "a | schema-conflict: `a` is stated to be `map`, but the rule writes `list`",
        ),
        (
            "{a: string}",
            None,
            "status | schema-conflict: the rule writes no status, so that the kind has none (`status: {}` in the rule writes conditions; leave it out here otherwise)",
        ),
        (
            "{.: 'object, nullable', a: string}",
            Some(""),
            "nullable | attribute-not-here: `nullable` is not for `status` itself (it is required if one of its fields is, and otherwise always there)",
        ),
    ] {
        let problems =
            compile(&format!("{{spec: {{a: string}}, status: {status}}}"), body).unwrap_err();
        assert_eq!(problems.iter().map(shown).collect::<Vec<_>>(), [expected], "{status}");
    }
    for (status, body) in [
        ("{a: one of b | c}", "a: {{ 'b' }}"),
        ("{a: quantity}", "a: {{ 1 + 1 }}"),
        ("{a: number}", "a: 1"),
        ("{a: date-time}", "a: {{ parent.metadata.name }}"),
        ("{a: {b: string}}", "a: {{ {'b': 1} }}"),
        ("{a: integer}", "a: {{ children.x }}"),
    ] {
        let compiled = compile(&format!("{{spec: {{a: string}}, status: {status}}}"), Some(body));
        assert!(compiled.is_ok(), "{status}");
    }
}

#[test]
fn filters_give_what_the_table_of_types_says() {
    for entry in entries().filter(|entry| entry.kind == EntryKind::Filter) {
        let Ok(output) = serde_json::from_str::<Value>(entry.example.output) else { continue };
        let told =
            status_of(&format!("v: {}\n", entry.example.template))["properties"]["v"].clone();
        let fits = match told["type"].as_str() {
            None => true,
            Some("string") => output.is_string(),
            Some("integer") => output.is_i64(),
            Some("number") => output.is_number(),
            Some("boolean") => output.is_boolean(),
            Some("array") => output.is_array(),
            Some("object") => output.is_object(),
            Some(other) => panic!("{other}"),
        };
        assert!(fits, "{}: {} gives {output}, not {told}", entry.name, entry.example.template);
    }
}
