//! Filters of lists and maps.
//!
//! In: a list or a map. Out: a list, a map, or one of its items. Never here: texts.

use super::super::value::{refuse, text};
use super::guard::of_value;
use super::{Entry, EntryKind, Example};
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State, filters};
use std::collections::{BTreeMap, BTreeSet};

macro_rules! filter {
    ($name:literal, $aliases:expr, $doc:literal, $template:literal, $output:literal, $function:expr) => {
        Entry {
            kind: EntryKind::Filter,
            name: $name,
            aliases: $aliases,
            doc: $doc,
            example: Example { template: $template, output: $output },
            add: |env, name| env.add_filter(name, of_value($function)),
        }
    };
}

pub(super) static ENTRIES: &[Entry] = &[
    filter!(
        "length",
        &["count"],
        "How many items a list or map, or characters a text has.",
        "{{ {'a': 1}|length }}",
        "1",
        filters::length
    ),
    filter!(
        "first",
        &[],
        "The first item; of an empty list it is undefined.",
        "{{ [3, 1]|first }}",
        "3",
        filters::first
    ),
    filter!(
        "last",
        &[],
        "The last item; of an empty list it is undefined.",
        "{{ [3, 1]|last }}",
        "1",
        filters::last
    ),
    filter!(
        "reverse",
        &[],
        "The items, or the characters of a text, backwards.",
        "{{ [1, 2]|reverse }}",
        "[2,1]",
        filters::reverse
    ),
    filter!(
        "sort",
        &[],
        "The items in order; `attribute='a.b'` sorts maps, `reverse=true` turns it around, `case_sensitive=true` sorts upper case first.",
        "{{ [3, 1, 2]|sort }}",
        "[1,2,3]",
        filters::sort
    ),
    filter!(
        "unique",
        &[],
        "The items without repetitions.",
        "{{ [1, 2, 1]|unique }}",
        "[1,2]",
        filters::unique
    ),
    filter!(
        "list",
        &[],
        "The items as a list; of a map its keys.",
        "{{ 'ab'|list }}",
        "[\"a\",\"b\"]",
        filters::list
    ),
    filter!(
        "batch",
        &[],
        "Lists of at most so many items.",
        "{{ [1, 2, 3]|batch(2) }}",
        "[[1,2],[3]]",
        filters::batch
    ),
    filter!(
        "map",
        &[],
        "A filter applied to every item, or `attribute='a.b'` of every item.",
        "{{ [{'a': 1}, {'a': 2}]|map(attribute='a') }}",
        "[1,2]",
        filters::map
    ),
    filter!(
        "select",
        &[],
        "The items that pass a test, or that are neither empty, zero, null nor false.",
        "{{ [1, 2, 3]|select('odd') }}",
        "[1,3]",
        filters::select
    ),
    filter!(
        "reject",
        &[],
        "The items that do not pass a test.",
        "{{ [1, 2, 3]|reject('odd') }}",
        "[2]",
        filters::reject
    ),
    filter!(
        "selectattr",
        &[],
        "The maps of which a field passes a test.",
        "{{ [{'a': 1}, {'a': 2}]|selectattr('a', 'gt', 1) }}",
        "[{\"a\":2}]",
        filters::selectattr
    ),
    filter!(
        "rejectattr",
        &[],
        "The maps of which a field does not pass a test.",
        "{{ [{'a': 1}, {'a': 2}]|rejectattr('a', 'gt', 1) }}",
        "[{\"a\":1}]",
        filters::rejectattr
    ),
    filter!(
        "groupby",
        &[],
        "Pairs of a field's value and the list of maps that have it.",
        "{{ [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}]|groupby('a')|map('last')|first|map(attribute='b') }}",
        "[2,3]",
        filters::groupby
    ),
    filter!(
        "items",
        &[],
        "The keys and values of a map as pairs.",
        "{{ {'a': 1}|items }}",
        "[[\"a\",1]]",
        filters::items
    ),
    filter!(
        "dictsort",
        &[],
        "The keys and values of a map as pairs in order; `by='value'` sorts by value.",
        "{{ {'a': 2, 'b': 1}|dictsort(by='value') }}",
        "[[\"b\",1],[\"a\",2]]",
        filters::dictsort
    ),
    filter!("keys", &[], "The keys of a map.", "{{ {'a': 1}|keys }}", "[\"a\"]", keys),
    filter!(
        "values",
        &[],
        "The values of a map in the order of its keys.",
        "{{ {'a': 1}|values }}",
        "[1]",
        values
    ),
    filter!(
        "pick",
        &[],
        "The map with only these keys.",
        "{{ {'a': 1, 'b': 2}|pick('a') }}",
        "{\"a\":1}",
        pick
    ),
    filter!(
        "without",
        &[],
        "The map without these keys, or the list without these items.",
        "{{ {'a': 1, 'b': 2}|without('a') }}",
        "{\"b\":2}",
        without
    ),
    filter!(
        "merge",
        &[],
        "The map with others laid over it: later values win, maps are merged at every depth, lists are replaced.",
        "{{ {'a': {'b': 1, 'c': 2}}|merge({'a': {'c': 3}}) }}",
        "{\"a\":{\"b\":1,\"c\":3}}",
        merge
    ),
    filter!(
        "flatten",
        &[],
        "The items of a list of lists as one list.",
        "{{ [[1], [2, 3]]|flatten }}",
        "[1,2,3]",
        flatten
    ),
];

type Entries = BTreeMap<String, Value>;

fn entries(state: &State<'_, '_>, map: &Value) -> Result<Entries, Error> {
    if map.kind() != ValueKind::Map {
        return Err(refuse(format!("a map is needed here, not a {}", map.kind())));
    }
    let mut entries = Entries::new();
    for key in map.try_iter()?.checked() {
        let key = key?;
        state.consume_fuel(1)?;
        entries.insert(text(state, &key)?, map.get_item(&key)?);
    }
    Ok(entries)
}

fn made(entries: Entries) -> Value {
    Value::from_pairs(entries)
}

fn keys(state: &mut State<'_, '_>, map: &Value) -> Result<Value, Error> {
    Ok(entries(state, map)?.into_keys().map(Value::from).collect())
}

fn values(state: &mut State<'_, '_>, map: &Value) -> Result<Value, Error> {
    Ok(entries(state, map)?.into_values().collect())
}

/// Names as arguments, or one list of them.
fn named(state: &State<'_, '_>, names: &[Value]) -> Result<BTreeSet<String>, Error> {
    match names {
        [list] if matches!(list.kind(), ValueKind::Seq | ValueKind::Iterable) => {
            list.try_iter()?.checked().map(|name| text(state, &name?)).collect()
        }
        names => names.iter().map(|name| text(state, name)).collect(),
    }
}

fn pick(state: &mut State<'_, '_>, map: &Value, names: &[Value]) -> Result<Value, Error> {
    let names = named(state, names)?;
    Ok(made(entries(state, map)?.into_iter().filter(|(key, _)| names.contains(key)).collect()))
}

fn without(state: &mut State<'_, '_>, value: &Value, names: &[Value]) -> Result<Value, Error> {
    if value.kind() == ValueKind::Map {
        let names = named(state, names)?;
        return Ok(made(
            entries(state, value)?.into_iter().filter(|(key, _)| !names.contains(key)).collect(),
        ));
    }
    let mut kept = Vec::new();
    for item in value.try_iter()?.checked() {
        let item = item?;
        state.consume_fuel(1 + names.len() as u64)?;
        if !names.contains(&item) {
            kept.push(item);
        }
    }
    Ok(Value::from(kept))
}

fn merge(state: &mut State<'_, '_>, map: &Value, others: &[Value]) -> Result<Value, Error> {
    others.iter().try_fold(map.clone(), |merged, other| merged_with(state, &merged, other, 0))
}

/// Deeper maps cannot be printed either.
const MAX_DEPTH: usize = 64;

fn merged_with(
    state: &State<'_, '_>,
    below: &Value,
    above: &Value,
    depth: usize,
) -> Result<Value, Error> {
    if depth > MAX_DEPTH {
        return Err(refuse(format!("a map nests deeper than {MAX_DEPTH}")));
    }
    let mut merged = entries(state, below)?;
    for (key, value) in entries(state, above)? {
        let value = match merged.get(&key) {
            Some(old) if old.kind() == ValueKind::Map && value.kind() == ValueKind::Map => {
                merged_with(state, old, &value, depth + 1)?
            }
            _ => value,
        };
        merged.insert(key, value);
    }
    Ok(made(merged))
}

fn flatten(state: &mut State<'_, '_>, lists: &Value) -> Result<Value, Error> {
    let mut items = Vec::new();
    for list in lists.try_iter()?.checked() {
        let list = list?;
        if !matches!(list.kind(), ValueKind::Seq | ValueKind::Iterable) {
            return Err(refuse("`flatten` needs a list of lists"));
        }
        for item in list.try_iter()?.checked() {
            state.consume_fuel(1)?;
            items.push(item?);
        }
    }
    Ok(Value::from(items))
}
