//! What belongs to the language itself: reading what may be missing, leaving out, failing, testing.
//!
//! In: values. Out: values. Never here: texts, lists, encodings.

use super::super::trace::{self, walk};
use super::super::value::{Omit, refuse, settled, text};
use super::guard::of_test;
use super::{Entry, EntryKind, Example};
use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, functions, tests};

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        kind: EntryKind::Function,
        name: "get",
        aliases: &[],
        doc: "The value below a map at a path (`\"a.b.0\"`, or a list of keys if one contains a dot); missing or null \
              gives the default, and without a default it is undefined.",
        example: Example {
            template: "{{ get({'a': {'b': 1}}, 'a.c', 2) }}",
            output: "2",
        },
        add: |env, name| env.add_function(name, get),
    },
    Entry {
        kind: EntryKind::Filter,
        name: "default",
        aliases: &["d"],
        doc: "The value, or the argument if it is missing or null; with `true` as second argument also if it is empty, \
              zero or false.",
        example: Example {
            template: "{{ nobody.knows|default('web') }}",
            output: "\"web\"",
        },
        add: |env, name| env.add_filter(name, default),
    },
    Entry {
        kind: EntryKind::Global,
        name: "omit",
        aliases: &[],
        doc: "As the whole value of a key or an item: leaves the key or the item out.",
        example: Example {
            template: "{{ 3 if false else omit }}",
            output: "",
        },
        add: |env, name| env.add_global(name, Value::from_object(Omit)),
    },
    Entry {
        kind: EntryKind::Function,
        name: "fail",
        aliases: &[],
        doc: "Stops the rendering with this message.",
        example: Example {
            template: "{{ fail('size is too small') if false else 1 }}",
            output: "1",
        },
        add: |env, name| env.add_function(name, fail),
    },
    Entry {
        kind: EntryKind::Function,
        name: "range",
        aliases: &[],
        doc: "The whole numbers from the first argument (0 if there is only one) up to but without the last.",
        example: Example {
            template: "{{ range(1, 4)|list }}",
            output: "[1,2,3]",
        },
        add: |env, name| env.add_function(name, functions::range),
    },
    Entry {
        kind: EntryKind::Function,
        name: "dict",
        aliases: &[],
        doc: "A map of its named arguments, added to a map if there is one.",
        example: Example {
            template: "{{ dict({'a': 1}, b=2) }}",
            output: "{\"a\":1,\"b\":2}",
        },
        add: |env, name| env.add_function(name, functions::dict),
    },
    Entry {
        kind: EntryKind::Function,
        name: "namespace",
        aliases: &[],
        doc: "A map that `{% set ns.key = … %}` can change inside of a loop.",
        example: Example {
            template: "{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
            output: "3",
        },
        add: |env, name| env.add_function(name, functions::namespace),
    },
];

macro_rules! test {
    ($name:literal, $aliases:expr, $doc:literal, $template:literal, $output:literal, $function:expr) => {
        Entry {
            kind: EntryKind::Test,
            name: $name,
            aliases: $aliases,
            doc: $doc,
            example: Example {
                template: $template,
                output: $output,
            },
            add: |env, name| env.add_test(name, of_test($function)),
        }
    };
}

pub(super) static TESTS: &[Entry] = &[
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
    test!(
        "odd",
        &[],
        "Whether a number is odd.",
        "{{ 3 is odd }}",
        "true",
        tests::is_odd
    ),
    test!(
        "even",
        &[],
        "Whether a number is even.",
        "{{ 3 is even }}",
        "false",
        tests::is_even
    ),
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

/// Why `fail` was called, so that it can be told from a mistake in the template.
#[derive(Debug, thiserror::Error)]
#[error("the template called `fail`")]
pub(crate) struct Raised;

fn fail(state: &mut State<'_, '_>, message: &Value) -> Result<Value, Error> {
    Err(refuse(text(state, message)?).with_source(Raised))
}

fn get(
    state: &mut State<'_, '_>,
    base: &Value,
    path: &Value,
    default: &[Value],
) -> Result<Value, Error> {
    if default.len() > 1 || default.first().is_some_and(Value::is_kwargs) {
        return Err(refuse("`get` takes a map, a path and a default"));
    }
    match (walk(base, &keys(state, path)?), default.first()) {
        (Ok(value), Some(default)) if value.is_none() => Ok(default.clone()),
        (Ok(value), _) => Ok(value),
        (Err(_), Some(default)) => Ok(default.clone()),
        (Err(gap), None) => {
            trace::note(state, gap, None);
            Ok(Value::UNDEFINED)
        }
    }
}

fn keys(state: &State<'_, '_>, path: &Value) -> Result<Vec<Value>, Error> {
    if path.kind() == ValueKind::String {
        let path = text(state, path)?;
        return Ok(path
            .split('.')
            .map(|key| {
                key.parse::<usize>()
                    .map_or_else(|_| Value::from(key), Value::from)
            })
            .collect());
    }
    path.try_iter()?
        .checked()
        .map(|key| settled(state, &key?))
        .collect()
}

fn default(value: &Value, other: &Value, also_empty: Option<bool>) -> Value {
    let is_empty = also_empty == Some(true) && !value.is_true();
    let is_missing = value.is_undefined() || value.is_none() || is_empty;
    if is_missing {
        other.clone()
    } else {
        value.clone()
    }
}

/// What the translation of a template calls; authors cannot.
pub(super) fn add_hidden(env: &mut Environment<'static>) {
    env.add_filter("__step", |state: &mut State<'_, '_>, args: Rest<Value>| {
        step(state, &args)
    });
    env.add_filter(
        "__text",
        |state: &mut State<'_, '_>, value: &Value| match value.kind() {
            // The engine refuses what is missing, and knows what to do with what it captured.
            ValueKind::Undefined | ValueKind::String => Ok(value.clone()),
            _ => text(state, value).map(Value::from),
        },
    );
    env.add_filter("__plain", |state: &mut State<'_, '_>, value: &Value| {
        settled(state, value)
    });
    // The engine takes a part of what is missing for an empty list.
    env.add_filter(
        "__sliced",
        |state: &mut State<'_, '_>, value: &Value| match value.kind() {
            ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
            _ => settled(state, value),
        },
    );
    env.add_filter("__soft", |state: &mut State<'_, '_>, value: &Value| {
        soft(state, value)
    });
    env.add_function("__live", |state: &mut State<'_, '_>, expression: usize| {
        trace::is_live(state, expression)
    });
}

/// `map.items()` and the like, which many know from Ansible; everything else is a filter.
pub(super) fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if value.kind() == ValueKind::Map
        && args.is_empty()
        && matches!(name, "items" | "keys" | "values")
    {
        return state.apply_filter(name, std::slice::from_ref(value));
    }
    Err(Error::from(ErrorKind::UnknownMethod))
}

/// A chain of accesses: what is missing on the way is undefined, and noted under the number of the chain.
fn step(state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
    let [base, site, steps @ ..] = args else {
        return Err(Error::from(ErrorKind::MissingArgument));
    };
    let settled_steps;
    let steps = if steps.iter().any(Value::is_safe) {
        settled_steps = steps
            .iter()
            .map(|step| settled(state, step))
            .collect::<Result<Vec<_>, _>>()?;
        &settled_steps
    } else {
        steps
    };
    let walked = if base.is_safe() {
        walk(&settled(state, base)?, steps)
    } else {
        walk(base, steps)
    };
    walked.or_else(|gap| {
        if let Ok(site) = usize::try_from(site.clone()) {
            trace::note(state, gap, Some(site));
        }
        Ok(Value::UNDEFINED)
    })
}

/// What does not exist yet is left out of a lenient body; an inline `if` without `else` stays what it is.
fn soft(state: &mut State<'_, '_>, value: &Value) -> Value {
    // Only a value that was looked for and not found cannot be printed.
    let is_gap = value.is_undefined() && state.format(value.clone()).is_err();
    if is_gap {
        Value::from_object(Omit)
    } else {
        value.clone()
    }
}
