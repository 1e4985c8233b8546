//! Lists, and that what tells their elements apart does so.

use super::Checker;
use crate::path::Location;
use crate::schema::shape::{Keyed, Schema, Shape};
use serde_json::Value;
use std::collections::HashMap;

impl Checker {
    pub(super) fn list(&mut self, each: &Schema, keyed: &Keyed, list: &[Value]) {
        let mut seen: HashMap<Vec<&Value>, usize> = HashMap::new();
        for (index, element) in list.iter().enumerate() {
            self.below(index, |checker| {
                if element.is_null() && *keyed != Keyed::No {
                    checker.note("wrong-type", "is null, should be an element", None);
                    return;
                }
                checker.value(each, element);
                let Some(key) = key_of(each, keyed, element) else { return };
                match seen.get(&key) {
                    Some(first) => checker.duplicate(keyed, *first),
                    None => drop(seen.insert(key, index)),
                }
            });
        }
    }

    fn duplicate(&mut self, keyed: &Keyed, first: usize) {
        let message = match keyed {
            Keyed::By(keys) => {
                let list = self.at.split_last().map(|(_, list)| list.to_vec()).unwrap_or_default();
                let first = Location::from(list).child(first);
                format!("has the same {} as {first}", keys.join(" and "))
            }
            _ => "is there more than once".to_owned(),
        };
        self.note("duplicate-key", message, None);
    }
}

/// What tells an element apart. A key field that is absent counts as its default, as in the API server; without one
/// nothing is known.
fn key_of<'v>(each: &'v Schema, keyed: &Keyed, element: &'v Value) -> Option<Vec<&'v Value>> {
    match keyed {
        Keyed::No => None,
        Keyed::ByValue => Some(vec![element]),
        Keyed::By(keys) => {
            let Shape::Fields(fields) = each.resolved() else { return None };
            let default = |key: &String| fields.known.get(key.as_str())?.default.as_ref();
            let value = |key: &String| element.as_object()?.get(key).or_else(|| default(key));
            keys.iter().map(value).collect()
        }
    }
}
