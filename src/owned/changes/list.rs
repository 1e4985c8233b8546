//! Lists: which wanted element is which live one, and what that makes of the list.
//!
//! In: wanted and live elements, what we own of the list. Out: their deltas. The entries of `managedFields` show how a list
//! is kept: by key, as a set, or as a whole. A list that we do not own yet goes by the names of its elements.

use super::{At, Delta, Walk};
use crate::owned::fields::{Child, FieldSet};
use crate::owned::matching::assign;
use crate::owned::path::{Key, Step, order};
use serde_json::{Map, Value};

impl Walk<'_> {
    pub(super) fn list(
        &mut self,
        wanted: &[Value],
        live: &[Value],
        fields: Option<&FieldSet>,
        at: &At,
    ) -> Delta {
        let owned = fields.filter(|fields| !fields.is_leaf());
        let first = owned.and_then(|owned| owned.children().first());
        match (owned, first.map(|child| &child.step)) {
            (Some(owned), Some(Step::Key(_))) => self.keyed(wanted, live, owned, at),
            (Some(owned), Some(Step::Value(_))) => self.set(wanted, live, owned, at),
            _ if !at.whole && by_name(wanted) && by_name(live) => {
                self.keyed(wanted, live, &FieldSet::default(), at)
            }
            _ => self.whole(wanted, live, at),
        }
    }

    /// Elements by key.
    fn keyed(&mut self, wanted: &[Value], live: &[Value], owned: &FieldSet, at: &At) -> Delta {
        let keys: Vec<Option<usize>> =
            live.iter().enumerate().map(|(index, element)| owned.element(index, element)).collect();
        let assigned = assign(wanted, owned).children;
        let mut taken = vec![false; live.len()];
        let mut places: Vec<(Option<usize>, Option<&Child>)> = Vec::new();
        for (element, child) in wanted.iter().zip(&assigned) {
            let place = match child {
                Some(child) => keys.iter().position(|key| *key == Some(*child)),
                None => foreign(element, live, owned).filter(|place| keys[*place].is_none()),
            };
            if let Some(place) = place {
                taken[place] = true;
            }
            places.push((place, child.map(|child| &owned.children()[child])));
        }
        let ours = places.iter().filter_map(|(place, child)| child.and(*place));
        if !ours.clone().zip(ours.skip(1)).all(|(before, after)| before < after) {
            let (was, is) = (Value::from(live), Value::from(wanted));
            return self.change(Some(&was), Some(&is), at);
        }
        let mut found: Vec<(usize, Delta)> = Vec::new();
        for (index, (element, (place, child))) in wanted.iter().zip(&places).enumerate() {
            if let Some(place) = place {
                let at = at.element(step(*place, element, *child), &place.to_string(), Some(index));
                let below = child.map(|child| &child.below);
                found.push((*place, self.value(element, live.get(*place), below, &at)));
            }
        }
        for (place, element) in live.iter().enumerate().rev().filter(|(place, _)| !taken[*place]) {
            let Some(child) = keys[place].map(|key| &owned.children()[key]) else { continue };
            let at = at.element(child.step.clone(), &place.to_string(), None);
            found.extend(self.unwanted_element(child, element, &at).map(|gone| (place, gone)));
        }
        found.sort_by_key(|(place, _)| *place);
        let mut all: Vec<Delta> = found.into_iter().map(|(_, delta)| delta).collect();
        for (index, element) in wanted.iter().enumerate().filter(|(at, _)| places[*at].0.is_none())
        {
            let at = at.element(step(live.len(), element, places[index].1), "-", Some(index));
            all.push(self.change(None, Some(element), &at));
        }
        Delta::List(all)
    }

    /// An element goes as a whole if nobody else holds a part of it, and else loses what is ours.
    fn unwanted_element(&mut self, child: &Child, element: &Value, at: &At) -> Option<Delta> {
        self.unwanted(&FieldSet::default(), element, at)
            .or_else(|| self.unwanted(&child.below, element, at))
    }

    /// Members of a set.
    fn set(&mut self, wanted: &[Value], live: &[Value], owned: &FieldSet, at: &At) -> Delta {
        let has =
            |list: &[Value], member: &Value| list.iter().any(|one| order(one, member).is_eq());
        let member = |value: &Value| Step::Value(Box::new(value.clone()));
        let mut all = Vec::new();
        for (place, value) in live.iter().enumerate().rev() {
            if has(wanted, value) {
                all.push(Delta::Same(value.clone()));
            } else if owned.children().iter().any(|child| child.step == member(value)) {
                let at = at.element(member(value), &place.to_string(), None);
                all.extend(self.unwanted(&FieldSet::default(), value, &at));
            }
        }
        all.reverse();
        for (index, value) in wanted.iter().enumerate().filter(|(_, value)| !has(live, value)) {
            all.push(self.change(None, Some(value), &at.element(member(value), "-", Some(index))));
        }
        Delta::List(all)
    }

    /// A list that is written as a whole: what is equal at both ends stays, what is between goes and comes.
    fn whole(&mut self, wanted: &[Value], live: &[Value], at: &At) -> Delta {
        let at = &At { whole: true, defaulted: true, ..at.clone() };
        let ours = FieldSet::default();
        let mut all = Vec::new();
        let (before, after) = if wanted.len() == live.len() {
            (live.len(), 0)
        } else {
            let shorter = wanted.len().min(live.len());
            let same = |pair: &(&Value, &Value)| self.covers(pair.0, pair.1);
            let before = wanted.iter().zip(live).take_while(same).count();
            let ends = wanted.iter().rev().zip(live.iter().rev());
            (before, ends.take(shorter - before).take_while(same).count())
        };
        for (index, element) in wanted.iter().enumerate().take(before) {
            let at = at.element(Step::Index(index), &index.to_string(), Some(index));
            all.push(self.value(element, live.get(index), Some(&ours), &at));
        }
        let mut gone = Vec::new();
        for index in (before..live.len() - after).rev() {
            let at = at.element(Step::Index(index), &index.to_string(), None);
            gone.push(self.change(live.get(index), None, &at));
        }
        all.extend(gone.into_iter().rev());
        for (index, element) in wanted.iter().enumerate().skip(before) {
            let at = at.element(Step::Index(index), &index.to_string(), Some(index));
            if index < wanted.len() - after {
                all.push(self.change(None, Some(element), &at));
            } else {
                let place = (live.len() + index).saturating_sub(wanted.len());
                all.push(self.value(element, live.get(place), Some(&ours), &at));
            }
        }
        Delta::List(all)
    }

    /// Whether nothing would change of a live value.
    fn covers(&self, wanted: &Value, live: &Value) -> bool {
        let mut walk = Walk { operations: Vec::new(), ..*self };
        let at = At { whole: true, defaulted: true, ..At::default() };
        walk.value(wanted, Some(live), Some(&FieldSet::default()), &at);
        walk.operations.is_empty()
    }
}

/// The step to an element.
fn step(place: usize, element: &Value, child: Option<&Child>) -> Step {
    child.map_or_else(|| Step::of_element(place, element), |child| child.step.clone())
}

/// The live element that an element becomes a part of although we own nothing of it yet: one with the same key.
fn foreign(element: &Value, live: &[Value], owned: &FieldSet) -> Option<usize> {
    let stated = owned.children().iter().find_map(|child| match &child.step {
        Step::Key(key) => key.stated_by(element),
        _ => None,
    });
    let named = || {
        let name = element.get("name")?.clone();
        Some(Key::from(Map::from_iter([("name".to_owned(), name)])))
    };
    let key = stated.or_else(named)?;
    live.iter().position(|other| key.fits(other))
}

/// Whether every element has a name, and another one.
fn by_name(list: &[Value]) -> bool {
    let names: Vec<&str> =
        list.iter().filter_map(|element| element.get("name")?.as_str()).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.len() == list.len()
}
