//! The places of an object whose values are secret, and what may be done with those values.
//!
//! In: places, a wanted object, a live one. Out: the wanted object without those values; whether the live one has them.
//! Never here: a hash, or anything else made of a secret value that leaves the process: whoever reads it could try out
//! values until one fits.

use super::path::order;
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// One step to a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A map's key.
    Key(Box<str>),
    /// Every value of a map, or every element of a list.
    Any,
}

/// Places of an object whose values are secret, each from its root: what is there, and all below. Keys on the way are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPlaces(Vec<Vec<Hop>>);

impl SecretPlaces {
    /// These.
    pub fn new(places: impl IntoIterator<Item = Vec<Hop>>) -> Self {
        Self(places.into_iter().collect())
    }

    /// Those of a Secret: its values, not their names.
    pub fn of_a_secret() -> Self {
        let values = |field: &str| vec![Hop::Key(field.into()), Hop::Any];
        Self::new(["data", "stringData"].map(values))
    }

    /// Every value of an object.
    pub fn everywhere() -> Self {
        Self::new([Vec::new()])
    }

    /// Those of both.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The wanted object with null for each secret value; a canonical map has no null of its own.
    pub(super) fn blanked(&self, wanted: &Value) -> Value {
        blanked(wanted, &self.start())
    }

    /// Whether `live` has the secret values that are wanted. Defaults that the server added do not count, and that a place is
    /// absent is legal where what is wanted is empty, zero, false or null, as in [`super::matches()`].
    pub fn stand(&self, wanted: &Value, live: &Value) -> bool {
        stands(wanted, Some(live), &self.start())
    }

    fn start(&self) -> Vec<&[Hop]> {
        self.0.iter().map(Vec::as_slice).collect()
    }
}

/// Whether one of the places is here.
fn arrived(places: &[&[Hop]]) -> bool {
    places.iter().any(|place| place.is_empty())
}

/// The places behind a key; behind an element without one.
fn below<'p>(places: &[&'p [Hop]], key: Option<&str>) -> Vec<&'p [Hop]> {
    let leads = |hop: &Hop| match hop {
        Hop::Any => true,
        Hop::Key(name) => key == Some(&**name),
    };
    let rest = |place: &&'p [Hop]| match place.split_first() {
        Some((hop, rest)) if leads(hop) => Some(rest),
        _ => None,
    };
    places.iter().filter_map(rest).collect()
}

fn blanked(value: &Value, places: &[&[Hop]]) -> Value {
    if arrived(places) {
        return Value::Null;
    }
    match value {
        _ if places.is_empty() => value.clone(),
        Value::Object(map) => {
            let entry = |(name, value): (&String, _)| {
                (name.clone(), blanked(value, &below(places, Some(name))))
            };
            Value::Object(map.iter().map(entry).collect())
        }
        Value::Array(list) => {
            list.iter().map(|element| blanked(element, &below(places, None))).collect()
        }
        scalar => scalar.clone(),
    }
}

fn stands(wanted: &Value, live: Option<&Value>, places: &[&[Hop]]) -> bool {
    if places.is_empty() {
        return true;
    }
    if arrived(places) {
        return holds(wanted, live);
    }
    match (wanted, live) {
        (Value::Object(wanted), live) => wanted.iter().all(|(name, value)| {
            let there = live.and_then(|live| live.get(name));
            stands(value, there, &below(places, Some(name)))
        }),
        (Value::Array(wanted), Some(Value::Array(live))) => {
            each(wanted, live, |one, other| stands(one, Some(other), &below(places, None)))
        }
        (Value::Array(wanted), _) => {
            wanted.iter().all(|one| stands(one, None, &below(places, None)))
        }
        _ => true,
    }
}

/// Whether everything that is wanted is there.
fn holds(wanted: &Value, live: Option<&Value>) -> bool {
    match (wanted, live) {
        (wanted, None | Some(Value::Null)) => is_nothing(wanted),
        (Value::Object(wanted), Some(Value::Object(live))) => {
            wanted.iter().all(|(name, value)| holds(value, live.get(name)))
        }
        (Value::Array(wanted), Some(Value::Array(live))) => {
            each(wanted, live, |one, other| holds(one, Some(other)))
        }
        (wanted, Some(live)) => order(wanted, live) == Ordering::Equal,
    }
}

/// Goes over two lists side by side. Where others have added elements, an element is any that says the same of what it is.
fn each(wanted: &[Value], live: &[Value], same: impl Fn(&Value, &Value) -> bool) -> bool {
    if wanted.len() == live.len() {
        return wanted.iter().zip(live).all(|(one, other)| same(one, other));
    }
    wanted.iter().all(|one| live.iter().any(|other| is_named_alike(one, other) && same(one, other)))
}

/// Whether nothing tells two elements apart by name. What has none is told apart by its values.
fn is_named_alike(one: &Value, other: &Value) -> bool {
    let name = |element: &Value| element.get("name").filter(|name| name.is_string()).cloned();
    name(one) == name(other)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => Map::is_empty(map),
        Value::Bool(true) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn places(written: &[&str]) -> SecretPlaces {
        let hop = |step: &str| if step == "*" { Hop::Any } else { Hop::Key(step.into()) };
        SecretPlaces::new(written.iter().map(|place| place.split('.').map(hop).collect()))
    }

    #[test]
    fn names_stay_and_values_go() {
        let secret =
            json!({"kind": "Secret", "data": {"a": "eA==", "b": "eQ=="}, "type": "Opaque"});
        assert_eq!(
            SecretPlaces::of_a_secret().blanked(&secret),
            json!({"kind": "Secret", "data": {"a": null, "b": null}, "type": "Opaque"})
        );
        let pod = json!({"env": [{"name": "A", "value": "x"}, {"name": "B", "value": "y"}], "args": ["a"]});
        assert_eq!(
            places(&["env.*.value", "args.*"]).blanked(&pod),
            json!({"env": [{"name": "A", "value": null}, {"name": "B", "value": null}], "args": [null]})
        );
        assert_eq!(places(&["other"]).blanked(&pod), pod);
        assert_eq!(SecretPlaces::everywhere().blanked(&pod), json!(null));
    }

    #[test]
    fn a_secret_value_stands_if_the_object_has_it() {
        let all = SecretPlaces::of_a_secret();
        let wanted = json!({"data": {"a": "eA==", "empty": ""}, "type": "ours"});
        for (live, expected) in [
            (json!({"data": {"a": "eA==", "empty": ""}}), true),
            (json!({"data": {"a": "eA==", "theirs": "eg=="}, "type": "other"}), true),
            (json!({"data": {"a": "eQ==", "empty": ""}}), false),
            (json!({"data": {"empty": ""}}), false),
            (json!({}), false),
        ] {
            assert_eq!(all.stand(&wanted, &live), expected, "{live}");
        }
    }

    #[test]
    fn elements_of_lists_are_found_beside_those_of_others() {
        let at = places(&["env.*.value", "args.*"]);
        let wanted = json!({"env": [{"name": "A", "value": "x"}, {"name": "B", "value": "y"}], "args": ["p", "q"]});
        let added = json!({"name": "Z", "value": "x"});
        for (env, args, expected) in [
            (
                json!([{"name": "A", "value": "x"}, {"name": "B", "value": "y"}]),
                json!(["p", "q"]),
                true,
            ),
            (
                json!([added, {"name": "A", "value": "x", "more": 1}, {"name": "B", "value": "y"}]),
                json!(["p", "q"]),
                true,
            ),
            (
                json!([added, {"name": "A", "value": "y"}, {"name": "B", "value": "x"}]),
                json!(["p", "q"]),
                false,
            ),
            (
                json!([{"name": "A", "value": "x"}, {"name": "B", "value": "y"}]),
                json!(["q", "p"]),
                false,
            ),
            (json!([{"name": "A", "value": "x"}]), json!(["p", "q"]), false),
        ] {
            let live = json!({"env": env, "args": args});
            assert_eq!(at.stand(&wanted, &live), expected, "{live}");
        }
    }

    #[test]
    fn everything_stands_where_defaults_were_only_added() {
        let wanted =
            json!({"spec": {"ports": [{"port": 80}], "size": 1.0, "off": false, "none": []}});
        let live =
            json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}], "size": 1, "mode": "x"}});
        assert!(SecretPlaces::everywhere().stand(&wanted, &live));
        let other = json!({"spec": {"ports": [{"port": 81}], "size": 1}});
        assert!(!SecretPlaces::everywhere().stand(&wanted, &other));
    }
}
