//! The maps around the lines: nesting, types, names.

use super::{compile, differing, problems, schema_at, shown};
use serde_json::json;
use std::fmt::Write;

#[test]
fn nested_fields_make_an_object_a_list_or_a_map() {
    let schema = "\
types:
  Size: quantity = 1Gi \"How large\"
spec:
  plain:
    a: string
  described:
    .: object, required \"Of what\"
    a: Size
  listed:
    .: list, keyed by a, maxItems 3
    a: string
    b: integer
  mapped:
    .: map
    a: list of Size
";
    let definition = compile(schema, None).unwrap();
    let size = |description: &str| {
        let mut size = schema_at(&definition, "/spec/properties/described/properties/a");
        size["description"] = json!(description);
        size
    };
    assert_eq!(
        schema_at(&definition, "/spec"),
        json!({"type": "object", "required": ["described"], "properties": {
            "plain": {"type": "object", "properties": {"a": {"type": "string"}}},
            "described": {"type": "object", "description": "Of what", "properties": {"a": size("How large")}},
            "listed": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "required": ["a"], "properties": {
                    "a": {"type": "string"}, "b": {"type": "integer", "format": "int64"}}}},
            "mapped": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "a": {"type": "array", "items": size("How large")}}}},
        }})
    );
    assert_eq!(size("How large")["default"], json!("1Gi"));
}

#[test]
fn spec_is_required_if_a_field_is_and_made_otherwise() {
    let required = compile("spec: {a: 'string, required'}", None).unwrap().to_json();
    let root = required["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    assert_eq!(
        (&root["required"], &root["properties"]["spec"]["default"]),
        (&json!(["spec"]), &json!(null))
    );
    let optional = compile("spec: {a: string = b}", None).unwrap().to_json();
    let root = optional["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    assert_eq!(
        (&root["required"], &root["properties"]["spec"]["default"]),
        (&json!(null), &json!({}))
    );
}

#[test]
fn names_follow_the_kind_unless_they_are_given() {
    let names = |schema: &str| {
        let crd = compile(schema, None).unwrap().to_json();
        (
            crd["metadata"]["name"].clone(),
            crd["spec"]["names"].clone(),
            crd["spec"]["scope"].clone(),
        )
    };
    assert_eq!(
        names("spec: {a: string}"),
        (
            json!("things.demo.example.com"),
            json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}),
            json!("Namespaced"),
        )
    );
    assert_eq!(
        names(
            "{scope: Cluster, plural: thingies, shortNames: [th], categories: [all], spec: {a: string}}"
        ),
        (
            json!("thingies.demo.example.com"),
            json!({"plural": "thingies", "singular": "thing", "kind": "Thing", "listKind": "ThingList",
                   "shortNames": ["th"], "categories": ["all"]}),
            json!("Cluster"),
        )
    );
}

/// Schemas, and what is said of each.
const WRONG_MAPS: &[(&str, &str)] = &[
    (
        "[]",
        "[] | wrong-type: expected a mapping with `spec` (for example `spec: {image: string}`, or one field a line)",
    ),
    (
        "{scope: Cluster}",
        "{ | missing-field: field `spec` is missing (for example `spec: {image: string}`, or one field a line)",
    ),
    (
        "spec: string",
        "string | wrong-type: `spec` is a mapping of fields (for example `spec: {image: string}`, or one field a line)",
    ),
    (
        "{spec: {a: string}, scpe: Cluster}",
        "scpe | unknown-field: a short schema has no `scpe` (did you mean `scope`?)",
    ),
    (
        "{spec: {a: string}, versions: []}",
        "versions | unknown-field: a short schema has no `versions` (for more than this, write the CRD by hand and leave `schema` out)",
    ),
    (
        "{spec: {a: string}, scope: cluster}",
        "cluster | wrong-type: expected `Namespaced` or `Cluster`, with a capital letter",
    ),
    (
        "{spec: {a: string}, plural: Things}",
        "Things | illegal-name: `Things` is no plural (use a lower-case letter, then lower-case letters, digits and `-`)",
    ),
    ("{spec: {a: string}, plural: 1}", "1 | wrong-type: expected a text"),
    (
        "{spec: {a: string}, shortNames: wa}",
        "wa | wrong-type: expected a list of texts (put it in a list: `[…]`)",
    ),
    (
        "{spec: {a: string}, shortNames: [wA]}",
        "wA | illegal-name: `wA` is no short name (use a lower-case letter, then lower-case letters, digits and `-`)",
    ),
    (
        "{spec: {a: string}, types: []}",
        "[] | wrong-type: expected a mapping of names (for example `spec: {image: string}`, or one field a line)",
    ),
    (
        "{spec: {a: string}, types: {port: integer}}",
        "port | illegal-name: `port` is no name of a type (use a capital letter, then letters and digits)",
    ),
    ("{spec: {a: string}, types: {.: object}}", "object | illegal-name: `.` is no name of a type"),
    (
        "spec: {a-b: string}",
        "a-b | illegal-name: `a-b` is no name of a field (use a letter, then letters, digits and `_`: templates read `parent.spec.name`)",
    ),
    (
        "spec: {a: 1.5}",
        "1.5 | schema-syntax: `a` has no type (if 1.5 is the default: `a: number = 1.5`)",
    ),
    (
        "spec: {a: 8080}",
        "8080 | schema-syntax: `a` has no type (if 8080 is the default: `a: integer = 8080`)",
    ),
    (
        "spec: {a: yes}",
        "yes | schema-syntax: `a` has no type (if true is the default: `a: boolean = true`)",
    ),
    (
        "spec: {a: [string]}",
        "[string] | schema-syntax: `a` has no type (a list is written `a: list of string`, a choice `a: one of a | b`)",
    ),
    (
        "spec: {a: {}}",
        "{} | schema-syntax: `a` has no fields (`object` is one that may hold anything)",
    ),
    (
        "spec: {a: {b: 'integer', min 1}}",
        "min 1 | schema-syntax: `min 1` is no field: YAML ends a line at a comma between braces (write one field a line, without braces)",
    ),
    (
        "spec: {a: {b: string, required}}",
        "required | schema-syntax: `required` is no field: YAML ends a line at a comma between braces (write one field a line, without braces)",
    ),
    (
        "spec: {a: {type: string, description: For the server, minLength: 1}}",
        "type | schema-syntax: `a` is written as in OpenAPI (here it is one line: `a: integer = 1, min 0, required \"What it is for\"`)",
    ),
    (
        "spec: {a: {.: list of string, b: string}}",
        "list | unknown-type: what has fields is an `object`, a `list` or a `map`",
    ),
    ("spec: {a: {.: 1, b: string}}", "1 | schema-syntax: expected a type (for example `object`)"),
    ("spec: {.: list, a: string}", "list | unknown-type: `spec` is an `object`"),
    (
        "spec: {.: 'object, required', a: string}",
        "required | attribute-not-here: `required` is not for `spec` itself (it is required if one of its fields is, and otherwise always there)",
    ),
    (
        "spec: {.: 'object = {}', a: string}",
        "{} | attribute-not-here: `=` is not for `spec` itself (it is required if one of its fields is, and otherwise always there)",
    ),
];

#[test]
fn every_mistake_of_the_maps_is_told() {
    assert_eq!(differing(WRONG_MAPS, problems), []);
    // A null without a place of its own points at its key's colon or below.
    let problem = &compile("spec:\n  a:\n  b: string\n", None).unwrap_err()[0];
    assert_eq!(problem.message, "`a` has no type", "{}", shown(problem));
}

#[test]
fn fields_that_are_called_like_openapi_are_fields() {
    let schema = "spec: {a: {type: string, description: string, format: string}}";
    let definition = compile(schema, None).unwrap();
    assert_eq!(
        schema_at(&definition, "/spec/properties/a/properties/format"),
        json!({"type": "string"})
    );
}

#[test]
fn types_that_never_end_or_grow_without_end_are_refused() {
    assert_eq!(
        problems("{types: {A: list of B, B: {c: map of A}}, spec: {a: A}}"),
        [
            "A | endless-type: `A` contains itself: A > B > A (a CRD cannot say that: let one of them be an `object`)"
        ]
    );
    let mut schema = String::from("types:\n  T0: {a: string, b: string}\n");
    for n in 1..40 {
        let _ = writeln!(schema, "  T{n}: {{a: T{m}, b: T{m}}}", m = n - 1);
    }
    schema += "spec: {a: T39}\n";
    let found = problems(&schema);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("schema-too-large: "), "{found:?}");
    // Each names the next, so that none is known when it is needed.
    let mut schema = String::from("types:\n  T40: string\n");
    for n in 0..40 {
        let _ = writeln!(schema, "  T{n:02}: list of T{m:02}", m = n + 1);
    }
    schema += "spec: {a: T00}\n";
    assert_eq!(problems(&schema), ["T32 | schema-too-large: types nest deeper than 32"]);
}
