//! One line: what each form becomes, and what is said of wrong ones.

use super::{compile, differing, field, problems};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn every_type_has_its_schema() {
    let quantity = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";
    let duration = "^[+-]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$";
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    for (line, expected) in [
        ("string", json!({"type": "string"})),
        ("integer", json!({"type": "integer", "format": "int64"})),
        ("int32", json!({"type": "integer", "format": "int32"})),
        ("number", json!({"type": "number"})),
        ("boolean", json!({"type": "boolean"})),
        (
            "quantity",
            json!({"x-kubernetes-int-or-string": true, "anyOf": either, "pattern": quantity}),
        ),
        ("duration", json!({"type": "string", "pattern": duration})),
        ("date-time", json!({"type": "string", "format": "date-time"})),
        ("int-or-string", json!({"x-kubernetes-int-or-string": true, "anyOf": either})),
        ("object", json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        ("map of string", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ("list of string", json!({"type": "array", "items": {"type": "string"}})),
        (
            "map of list of boolean",
            json!({"type": "object", "additionalProperties":
                   {"type": "array", "items": {"type": "boolean"}}}),
        ),
        ("one of a | b-c | no", json!({"type": "string", "enum": ["a", "b-c", "no"]})),
        ("one of 1|2", json!({"type": "integer", "format": "int64", "enum": [1, 2]})),
        ("one of 1 | two", json!({"type": "string", "enum": ["1", "two"]})),
        ("one of \"1\" | \"a | b\"", json!({"type": "string", "enum": ["1", "a | b"]})),
    ] {
        assert_eq!(field(line), expected, "{line}");
    }
}

#[test]
fn the_type_says_what_a_default_is() {
    for (line, expected) in [
        ("string = no", json!("no")),
        ("string = 8080", json!("8080")),
        ("string = a=b", json!("a=b")),
        ("string = \"a, b\"", json!("a, b")),
        ("string = \"\"", json!("")),
        ("string = \"say \"\"hi\"\" \\\"", json!("say \"hi\" \\")),
        ("string = 'it''s'", json!("it's")),
        ("integer = -3", json!(-3)),
        ("int32=7", json!(7)),
        ("number = 1.5", json!(1.5)),
        ("number = 2", json!(2)),
        ("boolean = false", json!(false)),
        ("quantity = 500m", json!("500m")),
        ("duration = 1h30m", json!("1h30m")),
        ("date-time = 2026-01-31T12:00:00Z", json!("2026-01-31T12:00:00Z")),
        ("int-or-string = 80", json!(80)),
        ("int-or-string = \"80\"", json!("80")),
        ("int-or-string = 25%", json!("25%")),
        ("one of a | b=b", json!("b")),
        ("one of 1 | 2 = 2", json!(2)),
        ("list of string = [a, \"no\"]", json!(["a", "no"])),
        ("list of string = []", json!([])),
        ("'map of integer = {a: 1}'", json!({"a": 1})),
        ("object = {}", json!({})),
        ("'object = {a: [1, {b: no}]}'", json!({"a": [1, {"b": false}]})),
    ] {
        assert_eq!(field(line)["default"], expected, "{line}");
    }
}

#[test]
fn attributes_and_the_description_are_told_apart() {
    for (line, expected) in [
        (
            "string, minLength 1, maxLength 9, pattern ^[a-z]+$ \"What: it is\"",
            json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]+$",
                   "description": "What: it is"}),
        ),
        (
            "string, pattern \"^[a-z]{1,3} \\d\", \"After a comma\"",
            json!({"type": "string", "pattern": "^[a-z]{1,3} \\d", "description": "After a comma"}),
        ),
        (
            "integer = 5, min 1, max 9",
            json!({"type": "integer", "format": "int64", "default": 5, "minimum": 1, "maximum": 9}),
        ),
        ("number, min 0.5", json!({"type": "number", "minimum": 0.5})),
        (
            "list of string, set, minItems 1, maxItems 4",
            json!({"type": "array", "minItems": 1, "maxItems": 4,
                   "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
        ),
        (
            "map of string, minProperties 1, maxProperties 4, nullable",
            json!({"type": "object", "minProperties": 1, "maxProperties": 4, "nullable": true,
                   "additionalProperties": {"type": "string"}}),
        ),
        (
            "string = a, immutable",
            json!({"type": "string", "default": "a", "x-kubernetes-validations":
                   [{"rule": "self == oldSelf", "message": "it is immutable"}]}),
        ),
    ] {
        // A colon and a space end a plain text in YAML.
        let line = if line.contains(": ") { format!("'{line}'") } else { line.to_owned() };
        assert_eq!(field(&line), expected, "{line}");
    }
}

/// Lines, and what is said of each.
const WRONG_LINES: &[(&str, &str)] = &[
    // What users of other notations write.
    (
        "string?",
        "? | schema-syntax: a type has no `?` (a field is optional unless it says `, required`; one that may be null says `, nullable`)",
    ),
    ("string!", "! | schema-syntax: a type has no `!` (write `, required`)"),
    (
        "string | required=true",
        "| | schema-syntax: attributes stand behind commas (for example `string, required`; alternatives are `one of a | b`)",
    ),
    (
        "'[]string'",
        "[]string | schema-syntax: a type is missing here (a list is written `list of string`)",
    ),
    (
        "string[]",
        "[] | schema-syntax: `[]` does not belong to a type (write `list of string`, `map of string`, or fields below each other)",
    ),
    (
        "map[string]string",
        "[string]string | schema-syntax: `[string]string` does not belong to a type (write `list of string`, `map of string`, or fields below each other)",
    ),
    ("int", "int | unknown-type: there is no type `int` (write `integer`)"),
    ("float", "float | unknown-type: there is no type `float` (write `number`)"),
    (
        "list",
        "list | unknown-type: there is no type `list` (a list of what? for example `list of string`)",
    ),
    (
        "map",
        "map | unknown-type: there is no type `map` (a map of what? for example `map of string`)",
    ),
    ("enum", "enum | unknown-type: there is no type `enum` (write `one of small | large`)"),
    ("''", "'' | schema-syntax: a type is missing here (for example `string`)"),
    // Slips of the finger.
    ("sting", "sting | unknown-type: there is no type `sting` (did you mean `string`?)"),
    ("map of strin", "strin | unknown-type: there is no type `strin` (did you mean `string`?)"),
    (
        "Port",
        "Port | unknown-type: there is no type `Port` (there are: string, integer, int32, number, boolean, quantity, duration, date-time, int-or-string, object, list of, map of, one of)",
    ),
    (
        "string, requird",
        "requird | unknown-attribute: there is no attribute `requird` (did you mean `required`?)",
    ),
    (
        "string, xyz",
        "xyz | unknown-attribute: there is no attribute `xyz` (known here: required, nullable, immutable, min, max, minLength, maxLength, minItems, maxItems, minProperties, maxProperties, pattern, atomic, set, keyed, column)",
    ),
    (
        "string, format email",
        "format | unknown-attribute: there is no attribute `format` (write it as the type: `duration`, `date-time`, `int32`)",
    ),
    (
        "integer, minimum 1",
        "minimum | unknown-attribute: there is no attribute `minimum` (write `min`)",
    ),
    (
        "integer, default 1",
        "default | unknown-attribute: there is no attribute `default` (the default follows the type: `integer = 1`)",
    ),
    (
        "integer, multipleOf 2",
        "multipleOf | unknown-attribute: there is no attribute `multipleOf` (for more than this, write the CRD by hand and leave `schema` out)",
    ),
    (
        "list of string, keyed name",
        "keyed | unknown-attribute: there is no attribute `keyed` (write `atomic`, `set` or `keyed by name`)",
    ),
    (
        "string, wide",
        "wide | unknown-attribute: there is no attribute `wide` (write `column Name` or `wide column Name`)",
    ),
    // Things that are missing, twice, or in the wrong place.
    (
        "string required",
        "required | schema-syntax: there is no comma before `required` (a description stands in quotes)",
    ),
    ("string,", ", | schema-syntax: an attribute is missing after the comma"),
    ("string, , required", ", | schema-syntax: an attribute is missing here"),
    ("string =", "= | schema-syntax: a value is missing here"),
    (
        "integer, min 0 = 1",
        "= | schema-syntax: the default stands in the wrong place (it follows the type: `integer = 1, min 0`)",
    ),
    ("integer, min", "min | schema-syntax: a value is missing here"),
    ("integer, min one", "one | schema-syntax: expected a number"),
    ("string, minLength -1", "-1 | schema-syntax: expected a whole number from 0"),
    ("string, minLength 1.5", "1.5 | schema-syntax: expected a whole number from 0"),
    ("string, required, required", "required | schema-syntax: `required` is here twice"),
    ("string, column A, wide column B", "wide | schema-syntax: `column` is here twice"),
    ("one of", "of | schema-syntax: a value is missing here"),
    ("one small", "one | schema-syntax: expected `one of` (for example `one of small | large`)"),
    ("one of a | ", "| | schema-syntax: a value is missing here"),
    ("one of a | a", "a | schema-syntax: \"a\" is here twice"),
    (
        "one of [a, b]",
        "[a, b] | schema-syntax: this is no word, text or whole number (for example `one of small | large`)",
    ),
    ("map of", "of | schema-syntax: a type is missing here (for example `string`)"),
    (
        "list of string, keyed by",
        "by | schema-syntax: the name of a field is missing here (for example `keyed by name`, or `keyed by port and protocol`)",
    ),
    (
        "'\"Only text\"'",
        "\"Only | schema-syntax: a type is missing here (the type comes first: `string \"What it is for\"`)",
    ),
    ("'= 1'", "= | schema-syntax: a type is missing here (for example `integer = 1`)"),
    (
        "string \"a\", required",
        ", | schema-syntax: this stands after the description (the description comes last)",
    ),
    ("string \"a", "\"a | schema-syntax: this quote is never closed"),
    (
        "string \"a #b\"",
        "\"a | schema-syntax: this quote is never closed (YAML takes ` #` and what follows for a comment: put the whole line in quotes of the other kind)",
    ),
    ("list of string = [a", "[a | schema-syntax: this bracket is never closed"),
    (
        "list of string = [*x]",
        "[*x] | schema-syntax: this alias stands for nothing (quote a text that begins with `*`; what it stands for is marked with `&` before it)",
    ),
    (
        "string, pattern [a",
        "[a | illegal-pattern: this is no pattern: unclosed character class (a pattern with a comma or a space in it stands in quotes)",
    ),
    (
        "string, pattern ^a{1,3}$",
        "^a{1 | illegal-pattern: this is no pattern: unclosed counted repetition (a pattern with a comma or a space in it stands in quotes)",
    ),
    (
        "string, pattern (?=a)",
        "(?=a) | illegal-pattern: this is no pattern: look-around, including look-ahead and look-behind, is not supported (a pattern with a comma or a space in it stands in quotes)",
    ),
    (
        "list of list of list of list of list of list of list of list of list of string",
        "list | schema-too-large: types nest deeper than 8",
    ),
];

#[test]
fn the_first_mistake_of_a_line_is_shown_at_its_place() {
    assert_eq!(differing(WRONG_LINES, |line| problems(&format!("spec:\n  f: {line}\n"))), []);
}

#[test]
fn a_mistake_in_a_folded_line_is_found_in_its_row() {
    let schema = "spec:\n  f: string,\n     required,\n     minLenght 1\n";
    let problem = &compile(schema, None).unwrap_err()[0];
    assert_eq!(
        problem.to_string(),
        "rule.yaml:4:6: there is no attribute `minLenght` (did you mean `minLength`?)"
    );
    let shown = problem.render(false);
    assert!(shown.contains("4 |      minLenght 1\n  |      ^^^^^^^^^"), "{shown}");
}

proptest! {
    #[test]
    fn no_line_panics_and_every_mistake_has_a_place_in_it(
        line in "(string|integer|list of|map of|one of|[a-z]{0,9})( ?[=,|\"'\\[\\]{}?] ?|[a-zé0-9^$.-]{1,6}| min | required| keyed by ){0,8}"
    ) {
        let schema = json!({"spec": {"f": line}}).to_string();
        match compile(&schema, None) {
            Ok(definition) => {
                let read = crate::yaml::parse(&definition.to_yaml(), &crate::yaml::Limits::FILE).unwrap();
                prop_assert_eq!(read[0].root.to_json(), definition.to_json());
            }
            Err(problems) => for problem in problems {
                let place = problem.place.unwrap();
                prop_assert!(place.source.text.get(place.span.clone()).is_some(), "{:?}", place.span);
                prop_assert!(!place.span.is_empty(), "{line}: {}", problem.message);
            },
        }
    }
}

#[test]
fn mistakes_of_every_kind_are_told_together_and_follow_from_no_other() {
    let schema = "\
types:
  Port: {number: 'integer min 1', name: string}
spec:
  a: sting
  b: integer = 1, min 2
  c: 8080
  d:
  e: yes
  f: [a]
  g: string, set
  h: list of Port, keyed by number
  i: string required
status:
  j: strin
";
    assert_eq!(
        problems(schema),
        [
            "min | schema-syntax: there is no comma before `min` (a description stands in quotes)",
            "sting | unknown-type: there is no type `sting` (did you mean `string`?)",
            "1 | illegal-default: this default cannot be: 1 is less than 2",
            "8080 | schema-syntax: `c` has no type (if 8080 is the default: `c: integer = 8080`)",
            "d | schema-syntax: `d` has no type (for example `d: string`)",
            "yes | schema-syntax: `e` has no type (if true is the default: `e: boolean = true`)",
            "[a] | schema-syntax: `f` has no type (a list is written `f: list of string`, a choice `f: one of a | b`)",
            "set | attribute-not-here: `set` is for `list of …`, not for `string`",
            "required | schema-syntax: there is no comma before `required` (a description stands in quotes)",
            "strin | unknown-type: there is no type `strin` (did you mean `string`?)",
        ]
    );
}
