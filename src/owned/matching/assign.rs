//! Which wanted element of a list is which owned one.
//!
//! In: the elements, the owned children. Out: a child for each element, by elimination. Never here: live values.

use crate::owned::fields::{ByKey, Child, FieldSet};
use crate::owned::path::{Key, Step};
use serde_json::Value;
use std::cmp::Reverse;

/// The owned child of each wanted element.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::owned) struct Assigned {
    /// Per element, the position among the children; nothing if it is not owned or ambiguous.
    pub(in crate::owned) children: Vec<Option<usize>>,
    /// Elements that more than one of the remaining children would fit.
    pub(in crate::owned) ambiguous: Vec<usize>,
}

/// An element that leaves out a key field had it defaulted, and that default is the same for all. So an element that
/// fits a single free key is that one, which frees the next; what the server accepted comes out unique. Those that say
/// most are decided first: if keys were lost, the loss is told of the element that has it.
///
/// Elements with their whole key take a binary search; the others compare with each key a few times.
pub(in crate::owned) fn assign(wanted: &[Value], fields: &FieldSet) -> Assigned {
    let mut children = vec![None; wanted.len()];
    let mut free = vec![true; fields.children().len()];
    let mut open = Vec::new();
    for (index, element) in wanted.iter().enumerate() {
        if fields.by_key(element) == ByKey::Partial {
            open.push(Open { index, choices: 0 });
        } else if let Some(child) = fields.element(index, element) {
            children[index] = Some(child);
            free[child] = false;
        }
    }
    let stated = |open: &Open| {
        let key = fields.children().iter().find_map(key);
        key.map_or(0, |key| key.stated_in(&wanted[open.index]))
    };
    let fits =
        |open: &Open, child: &Child| key(child).is_some_and(|key| key.fits(&wanted[open.index]));
    open.sort_by_key(|open| Reverse(stated(open)));
    for open in &mut open {
        let free = fields.children().iter().zip(&free).filter(|(_, free)| **free);
        open.choices = free.filter(|(child, _)| fits(open, child)).count();
    }
    while let Some(at) = open.iter().position(|open| open.choices == 1) {
        let decided = open.remove(at);
        let mut children_left = fields.children().iter().enumerate().filter(|(at, _)| free[*at]);
        let Some((child, owned)) = children_left.find(|(_, child)| fits(&decided, child)) else {
            break;
        };
        children[decided.index] = Some(child);
        free[child] = false;
        for open in &mut open {
            open.choices -= usize::from(fits(open, owned));
        }
    }
    let ambiguous = open.iter().filter(|open| open.choices > 1);
    let ambiguous = ambiguous.map(|open| open.index).collect();
    Assigned { children, ambiguous }
}

/// An element without a whole key that is not assigned yet.
struct Open {
    index: usize,
    /// How many free keys it fits.
    choices: usize,
}

fn key(child: &Child) -> Option<&Key> {
    match &child.step {
        Step::Key(key) => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    /// For each wanted element, the key it was found to have.
    fn assigned(wanted: &[Value], keys: &[Value]) -> (Vec<String>, Vec<usize>) {
        let fields: Value = keys.iter().map(|key| (format!("k:{key}"), json!({}))).collect();
        let fields = FieldSet::deserialize(fields).unwrap();
        let assigned = assign(wanted, &fields);
        let shown = |child: &Option<usize>| {
            child.map_or_else(String::new, |child| fields.children()[child].step.to_string())
        };
        (assigned.children.iter().map(shown).collect(), assigned.ambiguous)
    }

    #[test]
    fn elements_with_defaulted_key_fields_are_found_by_elimination() {
        let wanted = [json!({"a": 1}), json!({"a": 1, "b": 9}), json!({"a": 1, "c": "y"})];
        let first = json!({"a": 1, "b": 5, "c": "z"});
        let second = json!({"a": 1, "b": 9, "c": "z"});
        let third = json!({"a": 1, "b": 5, "c": "y"});
        let (found, ambiguous) = assigned(&wanted, &[first.clone(), second.clone(), third.clone()]);
        assert_eq!(found, ["[a=1,b=5,c=z]", "[a=1,b=9,c=z]", "[a=1,b=5,c=y]"]);
        assert!(ambiguous.is_empty());
        let (found, _) = assigned(&wanted, &[second, third.clone()]);
        assert_eq!(found, ["", "[a=1,b=9,c=z]", "[a=1,b=5,c=y]"]);
        let (found, _) = assigned(&wanted, &[first, third]);
        assert_eq!(found, ["[a=1,b=5,c=z]", "", "[a=1,b=5,c=y]"]);
    }

    #[test]
    fn whole_keys_go_first() {
        let wanted = [json!({"port": 53}), json!({"port": 53, "protocol": "UDP"})];
        let keys = ["TCP", "UDP"].map(|protocol| json!({"port": 53, "protocol": protocol}));
        let (found, _) = assigned(&wanted, &keys);
        assert_eq!(found, ["[port=53,protocol=TCP]", "[port=53,protocol=UDP]"]);
    }

    #[test]
    fn elements_that_fit_several_free_keys_are_ambiguous() {
        let keys = [json!({"a": 1, "b": 1}), json!({"a": 1, "b": 2}), json!({"a": 2, "b": 1})];
        let (found, ambiguous) = assigned(&[json!({"a": 1}), json!({"a": 2})], &keys);
        assert_eq!(found, ["", "[a=2,b=1]"]);
        assert_eq!(ambiguous, [0]);
    }

    #[test]
    fn a_long_chain_of_eliminations_is_decided() {
        // Each element fits two keys until its neighbour is decided, from the far end.
        let number = 400_usize;
        let keys: Vec<_> =
            (0..number).map(|at| json!({"a": at / 2, "b": at.div_ceil(2)})).collect();
        let element = |at: usize| match at % 2 {
            0 => json!({"b": at / 2}),
            _ => json!({"a": at / 2}),
        };
        let wanted: Vec<_> = (0..number).map(element).collect();
        let (found, ambiguous) = assigned(&wanted, &keys);
        assert!(found.iter().all(|key| !key.is_empty()) && ambiguous.is_empty());
    }
}
