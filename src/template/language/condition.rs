//! Tests: what can follow `is`.
//!
//! In: a value that may be missing. Out: true or false. Never here: filters.

use super::guard::of_test;
use super::{Entry, EntryKind, Example};
use minijinja::tests;

macro_rules! test {
    ($name:literal, $aliases:expr, $doc:literal, $template:literal, $output:literal, $function:expr) => {
        Entry {
            kind: EntryKind::Test,
            name: $name,
            aliases: $aliases,
            doc: $doc,
            example: Example { template: $template, output: $output },
            add: |env, name| env.add_test(name, of_test($function)),
        }
    };
}

pub(super) static ENTRIES: &[Entry] = &[
    test!(
        "defined",
        &[],
        "Whether the value exists, at any depth.",
        "{{ nobody.knows is defined }}",
        "false",
        tests::is_defined
    ),
    test!(
        "undefined",
        &[],
        "Whether the value does not exist.",
        "{{ nobody.knows is undefined }}",
        "true",
        tests::is_undefined
    ),
    test!(
        "none",
        &["null"],
        "Whether the value is null.",
        "{{ none is none }}",
        "true",
        tests::is_none
    ),
    test!(
        "boolean",
        &[],
        "Whether the value is true or false.",
        "{{ 1 is boolean }}",
        "false",
        tests::is_boolean
    ),
    test!(
        "number",
        &[],
        "Whether the value is a number.",
        "{{ 1.5 is number }}",
        "true",
        tests::is_number
    ),
    test!(
        "integer",
        &[],
        "Whether the value is a whole number.",
        "{{ 1.5 is integer }}",
        "false",
        tests::is_integer
    ),
    test!(
        "string",
        &[],
        "Whether the value is a text.",
        "{{ 'a' is string }}",
        "true",
        tests::is_string
    ),
    test!(
        "sequence",
        &["list"],
        "Whether the value is a list.",
        "{{ [] is sequence }}",
        "true",
        tests::is_sequence
    ),
    test!(
        "mapping",
        &["map"],
        "Whether the value is a map.",
        "{{ {} is mapping }}",
        "true",
        tests::is_mapping
    ),
    test!("odd", &[], "Whether a number is odd.", "{{ 3 is odd }}", "true", tests::is_odd),
    test!("even", &[], "Whether a number is even.", "{{ 3 is even }}", "false", tests::is_even),
    test!(
        "divisibleby",
        &[],
        "Whether a number can be divided by another.",
        "{{ 9 is divisibleby(3) }}",
        "true",
        tests::is_divisibleby
    ),
    test!(
        "startingwith",
        &[],
        "Whether a text begins with another.",
        "{{ 'web-1' is startingwith('web') }}",
        "true",
        tests::is_startingwith
    ),
    test!(
        "endingwith",
        &[],
        "Whether a text ends with another.",
        "{{ 'web-1' is endingwith('1') }}",
        "true",
        tests::is_endingwith
    ),
    test!(
        "in",
        &[],
        "Whether a list, map or text contains the value.",
        "{{ [1, 2, 3]|select('in', [1, 2])|list }}",
        "[1,2]",
        tests::is_in
    ),
    test!(
        "eq",
        &["equalto"],
        "Whether the value equals another.",
        "{{ [1, 2]|select('eq', 2)|list }}",
        "[2]",
        tests::is_eq
    ),
    test!(
        "ne",
        &[],
        "Whether the value differs from another.",
        "{{ [1, 2]|select('ne', 2)|list }}",
        "[1]",
        tests::is_ne
    ),
    test!(
        "lt",
        &["lessthan"],
        "Whether the value is less than another.",
        "{{ [1, 2]|select('lt', 2)|list }}",
        "[1]",
        tests::is_lt
    ),
    test!(
        "le",
        &[],
        "Whether the value is at most another.",
        "{{ [1, 2]|select('le', 2)|list }}",
        "[1,2]",
        tests::is_le
    ),
    test!(
        "gt",
        &["greaterthan"],
        "Whether the value is greater than another.",
        "{{ [1, 2]|select('gt', 1)|list }}",
        "[2]",
        tests::is_gt
    ),
    test!(
        "ge",
        &[],
        "Whether the value is at least another.",
        "{{ [1, 2]|select('ge', 2)|list }}",
        "[2]",
        tests::is_ge
    ),
];
