//! The objects of each child that exist, by the keys of their items, and what was decided about them.
//!
//! In: [`Observed`], decisions. Out: one object where the items around say which, a map by key where they do not.

use super::{Decision, Item};
use crate::fetch::{Edited, Live, Observed};
use crate::object::ObjectId;
use crate::rule::{ChildRule, Rule};
use crate::template::{Awaits, Part};
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

type Keys = Vec<String>;

/// The objects of every child.
pub(super) struct Children<'a> {
    rule: &'a Rule,
    objects: RefCell<BTreeMap<&'a str, BTreeMap<Keys, Rc<Objects<'a>>>>>,
    /// Whether some of them no longer count.
    dropped: Cell<bool>,
    decisions: RefCell<BTreeMap<&'a str, BTreeMap<Keys, Decision>>>,
}

/// What exists of a child for one item.
struct Objects<'a> {
    lives: Vec<&'a Live>,
    part: Part,
    /// For a child of several documents: a map by `Kind/name`.
    together: Option<Value>,
}

/// What is known of a child at one item.
pub enum Slot<'a> {
    /// This exists.
    There(&'a Live),
    /// It does not exist yet.
    Missing,
    /// It should not exist.
    Unwanted,
    /// Whether it should exist is not known yet.
    Stuck,
}

impl<'a> Slot<'a> {
    /// The object, if there is one.
    pub fn live(&self) -> Option<&'a Live> {
        match self {
            Self::There(live) => Some(live),
            Self::Missing | Self::Unwanted | Self::Stuck => None,
        }
    }
}

/// How many keys the items around leave open for a child: 0 means that they say which object.
pub(super) fn depth_below(rule: &Rule, child: &ChildRule, items: &[Item]) -> usize {
    let nesting = rule.nesting(child.group);
    nesting.len() - shared(&nesting, items)
}

fn shared(nesting: &[usize], items: &[Item]) -> usize {
    nesting.iter().zip(items).take_while(|(group, item)| **group == item.group).count()
}

impl<'a> Children<'a> {
    pub(super) fn new(rule: &'a Rule, observed: &'a Observed) -> Self {
        let mut lives: BTreeMap<&str, BTreeMap<Keys, Vec<&Live>>> = BTreeMap::new();
        for live in observed.children.values() {
            let Some(mark) = &live.mark else { continue };
            let Some(child) = rule.child(&mark.child) else { continue };
            if mark.items.len() == rule.nesting(child.group).len() {
                lives
                    .entry(&child.id)
                    .or_default()
                    .entry(mark.items.clone())
                    .or_default()
                    .push(live);
            }
        }
        // An edit is the object that it was made of.
        for Edited { mark, live } in &observed.edited {
            let edits = |child: &&ChildRule| child.patch.is_some();
            if let Some(child) = rule.child(&mark.child).filter(edits) {
                let by_keys = lives.entry(&child.id).or_default();
                by_keys.entry(mark.items.clone()).or_default().push(live);
            }
        }
        let objects = lives.into_iter().map(|(id, by_keys)| {
            let several = rule.child(id).is_some_and(|child| child.several);
            let objects = |(keys, lives)| (keys, Rc::new(Objects::new(id, lives, several)));
            (id, by_keys.into_iter().map(objects).collect())
        });
        let objects = RefCell::new(objects.collect());
        Self { rule, objects, dropped: Cell::new(false), decisions: RefCell::default() }
    }

    /// Of the objects of a child, only those that are wanted count from now on. One of a former name may still be there,
    /// and must not pass for the child.
    pub(super) fn keep(&self, child: &'a str, keys: &Keys, wanted: &dyn Fn(&ObjectId) -> bool) {
        let mut objects = self.objects.borrow_mut();
        let Some(by_keys) = objects.get_mut(child) else { return };
        let Some(known) = by_keys.get(keys) else { return };
        let lives: Vec<&Live> =
            known.lives.iter().copied().filter(|live| wanted(&live.id)).collect();
        if lives.len() == known.lives.len() {
            return;
        }
        self.dropped.set(true);
        if lives.is_empty() {
            by_keys.remove(keys);
        } else {
            let several = known.together.is_some();
            by_keys.insert(keys.clone(), Rc::new(Objects::new(child, lives, several)));
        }
    }

    /// Whether what templates see was made before some objects ceased to count.
    pub(super) fn dropped(&self) -> bool {
        self.dropped.get()
    }

    pub(super) fn decide(&self, child: &'a str, keys: Keys, decision: Decision) {
        self.decisions.borrow_mut().entry(child).or_default().insert(keys, decision);
    }

    /// `children` as templates see it from here.
    pub(super) fn part(&self, items: &[Item]) -> Part {
        let parts = self.rule.children.iter().filter_map(|child| {
            let below = depth_below(self.rule, child, items);
            let path = format!("children.{}", child.id);
            let found = self.below(child, items);
            if below == 0 {
                return found
                    .first()
                    .map(|(_, objects)| (child.id.to_string(), objects.part.clone()));
            }
            let at = self.rule.nesting(child.group).len() - below;
            Some((child.id.to_string(), nested_part(&path, &found, at)))
        });
        Part::group("children", parts, Awaits::Everything)
    }

    /// A child as a map: by key, nested like the groups, or by `Kind/name`.
    pub(super) fn map(&self, id: &str, items: &[Item]) -> Value {
        let Some(child) = self.rule.child(id) else { return Value::Null };
        let at = self.rule.nesting(child.group).len() - depth_below(self.rule, child, items);
        let mut map = Value::Object(Map::new());
        for (keys, objects) in self.below(child, items) {
            let mut place = &mut map;
            for key in &keys[at..] {
                place = &mut place[key.as_str()];
            }
            *place = objects.value();
        }
        map
    }

    /// What is known of a child here: of one object, or of one for each item that was decided or exists.
    pub(super) fn slots(&self, id: &str, items: &[Item]) -> Vec<Slot<'a>> {
        let Some(child) = self.rule.child(id) else { return Vec::new() };
        let prefix = self.prefix(child, items);
        let whole = depth_below(self.rule, child, items) == 0;
        let decisions = self.decisions.borrow();
        let decided = decisions.get(id);
        let mut keys: Vec<&Keys> = decided
            .into_iter()
            .flat_map(|by_keys| starting(by_keys, &prefix))
            .map(|(keys, _)| keys)
            .collect();
        if whole && keys.is_empty() {
            keys.push(&prefix);
        }
        let slot = |keys: &Keys| -> Vec<Slot<'a>> {
            let known = self.objects.borrow();
            let objects = known.get(id).and_then(|by_keys| by_keys.get(keys));
            match (decided.and_then(|by_keys| by_keys.get(keys)), objects) {
                (Some(Decision::Unwanted), _) => vec![Slot::Unwanted],
                (_, Some(objects)) => objects.lives.iter().map(|live| Slot::There(live)).collect(),
                (Some(Decision::Stuck), None) => vec![Slot::Stuck],
                (Some(Decision::Wanted) | None, None) => vec![Slot::Missing],
            }
        };
        keys.into_iter().flat_map(slot).collect()
    }

    fn prefix(&self, child: &ChildRule, items: &[Item]) -> Keys {
        let shared = shared(&self.rule.nesting(child.group), items);
        items[..shared].iter().map(|item| item.key.clone()).collect()
    }

    fn below(&self, child: &ChildRule, items: &[Item]) -> Vec<(Keys, Rc<Objects<'a>>)> {
        let prefix = self.prefix(child, items);
        let objects = self.objects.borrow();
        let Some(by_keys) = objects.get(&*child.id) else { return Vec::new() };
        starting(by_keys, &prefix).map(|(keys, known)| (keys.clone(), Rc::clone(known))).collect()
    }
}

/// The entries whose keys start with a prefix.
fn starting<'m, T>(
    by_keys: &'m BTreeMap<Keys, T>,
    prefix: &Keys,
) -> impl Iterator<Item = (&'m Keys, &'m T)> {
    let range = by_keys.range((Bound::Included(prefix.clone()), Bound::Unbounded));
    range.take_while({
        let prefix = prefix.clone();
        move |(keys, _)| keys.starts_with(&prefix)
    })
}

fn nested_part(path: &str, found: &[(Keys, Rc<Objects<'_>>)], at: usize) -> Part {
    let mut by_key: BTreeMap<&str, Vec<(Keys, Rc<Objects<'_>>)>> = BTreeMap::new();
    for (keys, objects) in found {
        by_key.entry(&keys[at]).or_default().push((keys.clone(), Rc::clone(objects)));
    }
    let parts = by_key.into_iter().map(|(key, found)| {
        let part = match found.as_slice() {
            [(keys, objects)] if keys.len() == at + 1 => objects.part.clone(),
            found => nested_part(&format!("{path}[{key:?}]"), found, at + 1),
        };
        (key.to_owned(), part)
    });
    Part::group(path, parts, Awaits::Everything)
}

impl<'a> Objects<'a> {
    fn new(id: &str, lives: Vec<&'a Live>, several: bool) -> Self {
        let named = |live: &&Live| {
            (format!("{}/{}", live.id.kind.kind, live.id.name), live.value().clone())
        };
        let together = several.then(|| Value::Object(lives.iter().map(named).collect()));
        let path = format!("children.{id}");
        let part = match (&together, lives.first()) {
            (None, Some(live)) => live.part(&path, Awaits::Everything),
            (value, _) => {
                let value = value.as_ref().unwrap_or(&Value::Null);
                Part::new(&path, value, Awaits::Everything)
            }
        };
        Self { lives, part, together }
    }

    fn value(&self) -> Value {
        let first = || self.lives.first().map(|live| live.value().clone());
        self.together.clone().or_else(first).unwrap_or_default()
    }
}
