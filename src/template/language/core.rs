//! What belongs to the language itself: reading what may be missing, leaving out, failing, counting.
//!
//! In: values. Out: values. Never here: texts, lists, encodings, tests.

use super::super::trace::{self, walk};
use super::super::value::{Omit, refuse, settled, text};
use super::{Entry, EntryKind, Example};
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State, functions};

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        kind: EntryKind::Function,
        name: "get",
        aliases: &[],
        doc: "The value below a map at a path (`\"a.b.0\"`, or a list of keys if one contains a dot); missing or null \
              gives the default, and without a default it is undefined.",
        example: Example { template: "{{ get({'a': {'b': 1}}, 'a.c', 2) }}", output: "2" },
        add: |env, name| env.add_function(name, get),
    },
    Entry {
        kind: EntryKind::Filter,
        name: "default",
        aliases: &["d"],
        doc: "The value, or the argument if it is missing or null; with `true` as second argument also if it is empty, \
              zero or false.",
        example: Example { template: "{{ nobody.knows|default('web') }}", output: "\"web\"" },
        add: |env, name| env.add_filter(name, default),
    },
    Entry {
        kind: EntryKind::Global,
        name: "omit",
        aliases: &[],
        doc: "As the whole value of a key or an item: leaves the key or the item out.",
        example: Example { template: "{{ 3 if false else omit }}", output: "" },
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
        example: Example { template: "{{ range(1, 4)|list }}", output: "[1,2,3]" },
        add: |env, name| env.add_function(name, functions::range),
    },
    Entry {
        kind: EntryKind::Function,
        name: "dict",
        aliases: &[],
        doc: "A map of its named arguments, added to a map if there is one.",
        example: Example { template: "{{ dict({'a': 1}, b=2) }}", output: "{\"a\":1,\"b\":2}" },
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
    let keys = keys(state, path)?;
    match (walk(base, &keys), default.first()) {
        (Some(value), Some(default)) if value.is_none() => Ok(default.clone()),
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => {
            trace::note(state, trace::gap(base, &keys), None);
            Ok(Value::UNDEFINED)
        }
    }
}

fn keys(state: &State<'_, '_>, path: &Value) -> Result<Vec<Value>, Error> {
    if path.kind() == ValueKind::String {
        let path = text(state, path)?;
        return Ok(path
            .split('.')
            .map(|key| key.parse::<usize>().map_or_else(|_| Value::from(key), Value::from))
            .collect());
    }
    path.try_iter()?.checked().map(|key| settled(state, &key?)).collect()
}

fn default(value: &Value, other: &Value, also_empty: Option<bool>) -> Value {
    let is_empty = also_empty == Some(true) && !value.is_true();
    let is_missing = value.is_undefined() || value.is_none() || is_empty;
    if is_missing { other.clone() } else { value.clone() }
}
