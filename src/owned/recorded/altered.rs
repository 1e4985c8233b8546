//! What can happen to an object and to its entry, everywhere once.
//!
//! In: recorded objects and entries. Out: altered copies. Never here: claims.

use crate::owned::fields::FieldSet;
use crate::owned::path::Step;
use serde_json::{Map, Value, json};

/// Every way from the root of a live object to something that is owned as a whole.
pub(super) fn leaves<'a>(
    fields: &'a FieldSet,
    live: &Value,
    pointer: &str,
    found: &mut Vec<(String, &'a FieldSet)>,
) {
    for child in fields.children() {
        let part = match &child.step {
            Step::Field(name) => name.replace('~', "~0").replace('/', "~1"),
            Step::Key(key) => {
                let mut elements = live.as_array().into_iter().flatten();
                elements.position(|element| key.fits(element)).unwrap().to_string()
            }
            Step::Value(value) => {
                let mut elements = live.as_array().into_iter().flatten();
                elements.position(|element| element == &**value).unwrap().to_string()
            }
            Step::Index(index) => index.to_string(),
        };
        let pointer = format!("{pointer}/{part}");
        let below = live.pointer(&format!("/{part}")).unwrap_or(&Value::Null);
        if child.below.is_leaf() {
            found.push((pointer, &child.below));
        } else {
            leaves(&child.below, below, &pointer, found);
        }
    }
}

/// Adds what others may add: keys to maps and elements to lists, wherever we own only parts.
pub(super) fn add_foreign(fields: &FieldSet, live: &mut Value) {
    let mut keyed = None;
    for child in fields.children() {
        match (&child.step, &mut *live) {
            (Step::Field(name), Value::Object(map)) => {
                if let Some(below) = map.get_mut(&**name) {
                    add_foreign(&child.below, below);
                }
            }
            (Step::Key(key), Value::Array(list)) => {
                if let Some(element) = list.iter_mut().find(|element| key.fits(element)) {
                    add_foreign(&child.below, element);
                }
                keyed = Some(key.to_element());
            }
            _ => {}
        }
    }
    match live {
        _ if fields.is_leaf() && !fields.is_presence() => {}
        Value::Object(map) => drop(map.insert("foreign".into(), json!({"x": [1]}))),
        Value::Array(list) => {
            let foreign = |value: &mut Value| {
                let other = if value.is_number() { json!(9999) } else { json!("foreign") };
                *value = other;
            };
            let element = keyed.map_or_else(
                || json!("foreign"),
                |mut key| {
                    key.as_object_mut().unwrap().values_mut().for_each(foreign);
                    key
                },
            );
            list.insert(0, element.clone());
            if element.is_object() {
                list.push(json!({"foreign": 1}));
            }
        }
        _ => {}
    }
}

/// Every copy of `fieldsV1` from which one entry was taken. Containers that are left empty go too, as in the server,
/// but not where the container itself is owned: the recordings of untyped maps show that case. Empty lists need no entry.
pub(super) fn thinned(fields: &Value, desired: &Value) -> Vec<Value> {
    let mut copies = Vec::new();
    for (name, below) in fields.as_object().unwrap() {
        let wanted = match Step::parse(name) {
            None => continue,
            Some(Step::Field(name)) => &desired[&*name],
            Some(Step::Key(key)) => {
                desired.as_array().unwrap().iter().find(|element| key.fits(element)).unwrap()
            }
            Some(_) => &Value::Null,
        };
        if *wanted == json!([]) {
            continue;
        }
        let others = || {
            let others = fields.as_object().unwrap().iter().filter(|(other, _)| *other != name);
            others.map(|(other, below)| (other.clone(), below.clone())).collect::<Map<_, _>>()
        };
        if others().keys().any(|other| other != ".") || fields.get(".").is_none() {
            copies.push(Value::Object(others()));
        }
        for thinner in thinned(below, wanted) {
            let mut copy = others();
            if thinner != json!({}) {
                copy.insert(name.clone(), thinner);
            }
            copies.push(Value::Object(copy));
        }
    }
    copies
}

/// Every copy of the live object in which two neighbouring elements of ours in a keyed list changed places.
pub(super) fn swapped(fields: &FieldSet, live: &Value) -> Vec<Value> {
    let mut copies = Vec::new();
    let keys = fields.children().iter().filter(|child| matches!(child.step, Step::Key(_))).count();
    if let (2.., Value::Array(list)) = (keys, live) {
        let ours = |at: usize| fields.element(at, &list[at]).is_some();
        for at in (1..list.len()).filter(|at| ours(at - 1) && ours(*at)) {
            let mut list = list.clone();
            list.swap(at - 1, at);
            copies.push(Value::Array(list));
        }
    }
    for child in fields.children() {
        match (&child.step, live) {
            (Step::Field(name), Value::Object(map)) => {
                let below = map.get(&**name).unwrap_or(&Value::Null);
                for copy in swapped(&child.below, below) {
                    let mut map = map.clone();
                    map.insert(name.to_string(), copy);
                    copies.push(Value::Object(map));
                }
            }
            (Step::Key(key), Value::Array(list)) => {
                let at = list.iter().position(|element| key.fits(element)).unwrap();
                for copy in swapped(&child.below, &list[at]) {
                    let mut list = list.clone();
                    list[at] = copy;
                    copies.push(Value::Array(list));
                }
            }
            _ => {}
        }
    }
    copies
}
