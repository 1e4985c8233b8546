//! What goes together, and what does not.

use super::{compile, differing, problems, schema_at};
use serde_json::json;

const TYPES: &str = "types:\n  Port: {name: string, number: 'integer, required', tags: list of string, secret: 'string, nullable'}\n";

fn of_field(line: &str) -> Vec<String> {
    problems(&format!("{TYPES}spec:\n  f: {line}\n"))
}

/// Lines that can be read, and what is said of each.
const CONFLICTS: &[(&str, &str)] = &[
    (
        "string, min 1",
        "min | attribute-not-here: `min` is for `integer`, `int32` and `number`, not for `string`",
    ),
    (
        "quantity, max 1",
        "max | attribute-not-here: `max` is for `integer`, `int32` and `number`, not for `quantity`",
    ),
    (
        "integer, minLength 1",
        "minLength | attribute-not-here: `minLength` is for `string`, not for `integer`",
    ),
    (
        "one of a | b, pattern a",
        "pattern | attribute-not-here: `pattern` is for `string`, not for `one of`",
    ),
    (
        "string, maxItems 1",
        "maxItems | attribute-not-here: `maxItems` is for `list of …`, not for `string`",
    ),
    (
        "map of string, maxItems 1",
        "maxItems | attribute-not-here: `maxItems` is for `list of …`, not for `map` (write `minProperties` and `maxProperties`)",
    ),
    (
        "list of string, minLength 1",
        "minLength | attribute-not-here: `minLength` is for `string`, not for `list` (`minItems` and `maxItems` count elements; a type of its own bounds them)",
    ),
    (
        "list of integer, max 1",
        "max | attribute-not-here: `max` is for `integer`, `int32` and `number`, not for `list` (to bound what is in it, give that a name in `types`: `list of Name`)",
    ),
    (
        "object, maxProperties 1",
        "maxProperties | attribute-not-here: `maxProperties` is for `map of …`, not for `object`",
    ),
    ("string, set", "set | attribute-not-here: `set` is for `list of …`, not for `string`"),
    (
        "list of Port, set",
        "set | attribute-not-here: a `set` is of single values, not of `object` (a list of objects is `keyed by` a field, or `atomic`)",
    ),
    (
        "list of string, keyed by name",
        "keyed | attribute-not-here: `keyed by` is for lists of objects with fields, not of `string` (a list of single values can be a `set`)",
    ),
    (
        "list of string, set, atomic",
        "atomic | schema-conflict: a list is either `atomic`, a `set` or `keyed by` fields",
    ),
    (
        "list of Port, keyed by nam",
        "nam | illegal-key: the objects have no field `nam` (did you mean `name`?)",
    ),
    (
        "list of Port, keyed by zzz",
        "zzz | illegal-key: the objects have no field `zzz` (its fields are: name, number, tags, secret)",
    ),
    (
        "list of Port, keyed by tags",
        "tags | illegal-key: `tags` is no key: a key is a single value and never null",
    ),
    (
        "list of Port, keyed by secret",
        "secret | illegal-key: `secret` is no key: a key is a single value and never null",
    ),
    ("list of Port, keyed by name and name", "name | illegal-key: `name` is here twice"),
    (
        "one of a | b, nullable",
        "nullable | attribute-not-here: a choice cannot be `nullable`: for the API server null is none of its values (leave the field out to say nothing, or add a value such as `none`)",
    ),
    ("integer, min 5, max 4", "max | schema-conflict: nothing is at least 5 and at most 4"),
    (
        "number, max 0.5, min 0.75",
        "min | schema-conflict: nothing is at least 0.75 and at most 0.5",
    ),
    (
        "string, minLength 2, maxLength 1",
        "maxLength | schema-conflict: nothing is at least 2 and at most 1",
    ),
    ("integer, min 0.5", "min | schema-conflict: `0.5` is no bound of whole numbers"),
    (
        "string = a, required",
        "a | schema-conflict: what has a default is never missing (leave `required` or the default out)",
    ),
    (
        "list of string, column",
        "column | attribute-not-here: `column` is for single values, not for `list`",
    ),
    (
        "string, column Ready",
        "column | schema-conflict: there is a column `Ready` already (give this one another name: `column Other`)",
    ),
    (
        "'list of Port, keyed by number'\n  g: string, column\n  G: string, column",
        "column | schema-conflict: there is a column `G` already (give this one another name: `column Other`)",
    ),
];

#[test]
fn what_does_not_go_together_is_told_at_its_place() {
    assert_eq!(differing(CONFLICTS, of_field), []);
}

/// Lines with a default that cannot be, and what is said of each.
const WRONG_DEFAULTS: &[(&str, &str)] = &[
    ("integer = a", "a | illegal-default: this default cannot be: `a` is no whole number"),
    ("integer = 1.5", "1.5 | illegal-default: this default cannot be: `1.5` is no whole number"),
    ("integer = \"1\"", "\"1\" | illegal-default: this default cannot be: \"1\" is no integer"),
    (
        "int32 = 3000000000",
        "3000000000 | illegal-default: this default cannot be: 3000000000 does not fit 32 bits",
    ),
    ("integer = 0, min 1", "0 | illegal-default: this default cannot be: 0 is less than 1"),
    ("number = 2.5, max 2", "2.5 | illegal-default: this default cannot be: 2.5 is more than 2"),
    ("number = ten", "ten | illegal-default: this default cannot be: `ten` is no number"),
    (
        "boolean = yes",
        "yes | illegal-default: this default cannot be: `yes` is neither `true` nor `false`",
    ),
    (
        "string = ab, maxLength 1",
        "ab | illegal-default: this default cannot be: the number of characters, 2, is more than 1",
    ),
    (
        "string = ab, pattern ^a$",
        "ab | illegal-default: this default cannot be: \"ab\" does not match `^a$`",
    ),
    (
        "one of a | b = c",
        "c | illegal-default: this default cannot be: \"c\" is none of \"a\", \"b\"",
    ),
    ("one of 1 | 2 = 3", "3 | illegal-default: this default cannot be: 3 is none of 1, 2"),
    (
        "quantity = 1 GB",
        "GB | schema-syntax: there is no comma before `GB` (a description stands in quotes)",
    ),
    (
        "quantity = 1GB",
        "1GB | illegal-default: this default cannot be: a quantity is a number with a suffix such as 500m, 2Gi or 1e3",
    ),
    (
        "duration = 1d",
        "1d | illegal-default: this default cannot be: the units of a duration are h, m, s, ms, us and ns (a day is 24h)",
    ),
    (
        "date-time = 2026-01-31",
        "2026-01-31 | illegal-default: this default cannot be: a time is written like 2026-01-31T12:00:00Z",
    ),
    (
        "list of string = a",
        "a | illegal-default: this default cannot be: `a` is no list (write `[…]`)",
    ),
    (
        "map of string = a",
        "a | illegal-default: this default cannot be: `a` is no map (write `{}`, or `{a: b}`)",
    ),
    (
        "list of string = [a, no]",
        "[a, no] | illegal-default: this default cannot be: at `1`, false is no string",
    ),
    (
        "list of string = [a, a], set",
        "[a, a] | illegal-default: this default cannot be: \"a\" is there twice",
    ),
    (
        "list of string = [a], minItems 2",
        "[a] | illegal-default: this default cannot be: the number of elements, 1, is less than 2",
    ),
    ("object = []", "[] | illegal-default: this default cannot be: [] is no object"),
    (
        "Port = {}",
        "{} | illegal-default: this default cannot be: the required field `number` is missing",
    ),
    (
        "'Port = {number: 1, nme: a}'",
        "{number: 1, nme: a} | illegal-default: this default cannot be: there is no field `nme`",
    ),
    (
        "'map of Port = {a: {number: b}}'",
        "{a: {number: b}} | illegal-default: this default cannot be: at `a.number`, \"b\" is no integer",
    ),
];

#[test]
fn a_default_must_be_a_value_of_its_type() {
    assert_eq!(differing(WRONG_DEFAULTS, of_field), []);
}

#[test]
fn immutable_fields_cannot_be_changed_or_taken_away() {
    let schema = "\
spec:
  a: string, immutable
  b: string, immutable, required
  namespace: string, immutable
  c__d: string, immutable
";
    let definition = compile(schema, None).unwrap();
    assert_eq!(
        schema_at(&definition, "/spec/x-kubernetes-validations"),
        json!([
            {"rule": "!has(oldSelf.a) || has(self.a)", "message": "a is immutable, it cannot be removed"},
            {"rule": "!has(oldSelf.__namespace__) || has(self.__namespace__)",
             "message": "namespace is immutable, it cannot be removed"},
            {"rule": "!has(oldSelf.c__underscores__d) || has(self.c__underscores__d)",
             "message": "c__d is immutable, it cannot be removed"},
        ])
    );
    let whole = compile("spec: {.: 'object, immutable', a: string}", None).unwrap();
    assert_eq!(
        schema_at(&whole, "/spec/x-kubernetes-validations"),
        json!([{"rule": "self == oldSelf", "message": "it is immutable"}])
    );
}

#[test]
fn what_the_server_could_not_find_again_cannot_be_immutable() {
    let expected = "immutable | attribute-not-here: what stands in a list without keys cannot be immutable (make the list `keyed by` a field, or itself `immutable`)";
    for schema in [
        "{types: {P: {a: 'string, immutable'}}, spec: {f: list of P}}",
        "{types: {P: {a: 'string, immutable'}}, spec: {f: map of list of P}}",
        "{spec: {f: {.: 'list, atomic', a: 'string, immutable'}}}",
        "{spec: {f: {.: 'list, keyed by n', n: string, g: {.: list, a: 'string, immutable'}}}}",
    ] {
        assert_eq!(problems(schema), [expected], "{schema}");
    }
    for schema in [
        "{types: {P: {a: 'string, immutable', n: string}}, spec: {f: 'list of P, keyed by n, maxItems 9'}}",
        "{types: {P: {a: 'string, immutable', n: string}}, spec: {f: 'map of P, maxProperties 9'}}",
        "{spec: {f: 'list of string, immutable'}}",
    ] {
        assert!(compile(schema, None).is_ok(), "{schema}");
    }
}

#[test]
fn what_the_server_could_not_compare_within_its_budget_cannot_be_immutable() {
    let expected = "immutable | too-costly: the API server would have too much to compare (give the lists and maps around it `maxItems` and `maxProperties`, and itself `maxLength`)";
    // What is within the budget is shown to be accepted on a real server.
    for schema in [
        "{spec: {a: {.: 'list, keyed by n', n: string, b: 'string, immutable'}}}",
        "{spec: {a: {.: 'list, keyed by n, maxItems 40', n: string, b: 'string, immutable'}}}",
        "{spec: {a: {.: map, b: 'string, immutable'}}}",
        "{spec: {a: {.: map, b: 'map of string, immutable'}}}",
        "{spec: {a: {.: map, b: {.: map, c: 'boolean, immutable'}}}}",
        "{spec: {a: {.: 'list, keyed by n', n: string, b: {.: 'list, keyed by n', n: string, c: 'string, immutable'}}}}",
    ] {
        assert_eq!(problems(schema), [expected], "{schema}");
    }
}

#[test]
fn columns_and_field_attributes_have_no_place_in_types() {
    for (schema, expected) in [
        (
            "{types: {P: {a: 'string, column'}}, spec: {f: P}}",
            "column | attribute-not-here: `column` is for what each object has once (not for what stands in a list, in a map, or in `types`)",
        ),
        (
            "{spec: {f: {.: list, a: 'string, column'}}}",
            "column | attribute-not-here: `column` is for what each object has once (not for what stands in a list, in a map, or in `types`)",
        ),
        (
            "{types: {P: 'string, required'}, spec: {f: P}}",
            "P | attribute-not-here: `required`, `nullable` and `immutable` are for fields, not for types (write them where `P` is used)",
        ),
    ] {
        assert_eq!(problems(schema), [expected], "{schema}");
    }
    let nested = compile("spec: {f: {a: 'string, column Deep'}}", None).unwrap().to_json();
    assert_eq!(
        nested["spec"]["versions"][0]["additionalPrinterColumns"][0],
        json!({"name": "Deep", "type": "string", "jsonPath": ".spec.f.a"})
    );
}

#[test]
fn a_field_narrows_its_type() {
    let schema =
        "{types: {P: 'integer = 5, min 1, max 9 \"Any\"'}, spec: {f: 'P = 6, min 3 \"This\"'}}";
    let definition = compile(schema, None).unwrap();
    assert_eq!(
        schema_at(&definition, "/spec/properties/f"),
        json!({"type": "integer", "format": "int64", "minimum": 3, "maximum": 9, "default": 6,
               "description": "This"})
    );
    let expected = "P | illegal-default: the default of this type cannot be: 5 is less than 6";
    assert_eq!(problems("{types: {P: integer = 5}, spec: {f: 'P, min 6'}}"), [expected]);
}
