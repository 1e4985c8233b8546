//! The walk of [`super::matches()`].
//!
//! In: the intent, our fields, the live object, side by side. Out: mismatches. Never here: comparing values.

use super::entries::Entries;
use super::{Mismatch, assign};
use crate::owned::fields::{Child, FieldSet};
use crate::owned::ignore::Cursor;
use crate::owned::path::{FieldPath, Step};
use crate::owned::trail::Trail;
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Everything that keeps our entry from covering the intent.
pub(super) fn mismatches(
    intent: &Value,
    fields: &FieldSet,
    live: &Value,
    cursor: &Cursor<'_>,
) -> Vec<Mismatch> {
    let mut walk = Walk { entries: Entries::of(live), found: Vec::new() };
    let nothing = Map::new();
    let at = At { fields, live: Some(live), trail: &Trail::ROOT, cursor };
    walk.map(intent.as_object().unwrap_or(&nothing), at);
    walk.found
}

struct Walk<'a> {
    entries: Entries<'a>,
    found: Vec<Mismatch>,
}

/// Where the walk stands: the same place in our entry, in the live object, in the path and in the ignored paths.
#[derive(Clone, Copy)]
struct At<'a> {
    fields: &'a FieldSet,
    live: Option<&'a Value>,
    trail: &'a Trail<'a>,
    cursor: &'a Cursor<'a>,
}

impl Walk<'_> {
    fn report(&mut self, mismatch: fn(FieldPath) -> Mismatch, trail: &Trail<'_>) {
        self.found.push(mismatch(trail.path()));
    }

    fn value(&mut self, wanted: &Value, at: At<'_>) {
        match wanted {
            _ if at.fields.is_leaf() => self.leaf(wanted, at),
            Value::Object(map) => self.map(map, at),
            Value::Array(list) => self.list(list, at),
            // The entry has parts of a map or list where the intent has a scalar.
            _ => self.report(Mismatch::NotOwned, at.trail),
        }
    }

    /// Both sides are sorted by name, so this is one merge.
    fn map(&mut self, wanted: &Map<String, Value>, at: At<'_>) {
        let mut owned = at.fields.children().iter().peekable();
        for (name, value) in wanted {
            let name_of_mine = |child: &&Child| match &child.step {
                Step::Field(field) => (**field).cmp(name.as_str()),
                _ => Ordering::Greater,
            };
            while let Some(child) = owned.next_if(|child| name_of_mine(child).is_lt()) {
                self.unwanted(child, at);
            }
            let mine = owned.next_if(|child| name_of_mine(child).is_eq());
            let Some(cursor) = &at.cursor.field(name) else {
                continue;
            };
            let trail = &at.trail.field(name);
            let live = at.live.and_then(|live| live.get(name));
            if let Some(Child { below: fields, .. }) = mine {
                let at = At { fields, live, trail, cursor };
                self.value(value, at);
            } else {
                self.unowned(value, live, trail, cursor);
            }
        }
        for child in owned {
            self.unwanted(child, at);
        }
    }

    /// Something wanted that has no entry. Told as deep as maps go. A list without elements needs none, nor does a map of
    /// only such; but if the live list has elements and is owned as a whole, it was taken from us.
    fn unowned(
        &mut self,
        wanted: &Value,
        live: Option<&Value>,
        trail: &Trail<'_>,
        cursor: &Cursor<'_>,
    ) {
        match wanted {
            Value::Object(map) if !map.is_empty() => {
                for (name, value) in map {
                    if let Some(cursor) = cursor.field(name) {
                        let live = live.and_then(|live| live.get(name));
                        self.unowned(value, live, &trail.field(name), &cursor);
                    }
                }
            }
            // Where an empty map is stored as nothing, whoever puts something into it takes the empty one from us.
            Value::Object(_) => {
                let filled = live.and_then(Value::as_object).is_some_and(|map| !map.is_empty());
                if !(filled && self.entries.own_parts(&trail.path())) {
                    self.report(Mismatch::NotOwned, trail);
                }
            }
            Value::Array(list) => {
                let mut elements = list.iter().enumerate();
                let wanted = elements.any(|(at, item)| cursor.element(at, item).is_some());
                let filled = || live.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
                if wanted || (list.is_empty() && filled() && self.entries.own_whole(&trail.path()))
                {
                    self.report(Mismatch::NotOwned, trail);
                }
            }
            _ => self.report(Mismatch::NotOwned, trail),
        }
    }

    fn list(&mut self, wanted: &[Value], at: At<'_>) {
        let (fields, trail) = (at.fields, at.trail);
        let assigned = assign(wanted, fields);
        let live = at.live.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let positions = positions(fields, live);
        let (mut last, mut ordered) = (None, true);
        for (index, (element, child)) in wanted.iter().zip(&assigned.children).enumerate() {
            let Some(cursor) = at.cursor.element(index, element) else {
                continue;
            };
            let Some(child) = *child else {
                if !assigned.ambiguous.contains(&index) {
                    let step = name_unowned(fields, index, element);
                    self.report(Mismatch::NotOwned, &trail.step(&step));
                }
                continue;
            };
            let owned = &fields.children()[child];
            let trail = &trail.step(&owned.step);
            let Some(position) = positions[child] else {
                self.report(Mismatch::Absent, trail);
                continue;
            };
            if let Step::Key(_) = owned.step {
                ordered &= last.is_none_or(|last| last < position);
                last = Some(position);
            }
            let live = live.get(position);
            self.value(element, At { fields: &owned.below, live, trail, cursor: &cursor });
        }
        if !ordered {
            self.report(Mismatch::OrderDiffers, trail);
        }
        if !assigned.ambiguous.is_empty() {
            // Elements that could be several of the rest: the rest is not "unwanted" then.
            return self.report(Mismatch::Ambiguous, trail);
        }
        let mut used = vec![false; fields.children().len()];
        assigned.children.iter().flatten().for_each(|&child| used[child] = true);
        for (child, _) in fields.children().iter().zip(used).filter(|(_, used)| !used) {
            self.unwanted(child, at);
        }
    }

    /// A leaf, where the whole value is ours. Values are not compared.
    fn leaf(&mut self, wanted: &Value, at: At<'_>) {
        match (wanted, at.live) {
            (Value::Object(map), Some(live)) => self.inside_leaf(map, live, at),
            (Value::Array(list), Some(Value::Array(live)))
                if live.is_empty() && !list.is_empty() =>
            {
                self.report(Mismatch::Absent, at.trail);
            }
            // The same of a list in an untyped map: others own elements of it.
            (Value::Array(list), Some(_))
                if !list.is_empty() && self.entries.own_parts(&at.trail.path()) =>
            {
                self.report(Mismatch::NotOwned, at.trail);
            }
            (wanted, None) if !hollow(wanted) => self.report(Mismatch::Absent, at.trail),
            _ => {}
        }
    }

    /// A leaf that was wanted as a map is either atomic, or what is left of an untyped map after others took every key
    /// of ours in it. In the second case somebody owns such a key by itself, or it is gone.
    fn inside_leaf(&mut self, wanted: &Map<String, Value>, live: &Value, at: At<'_>) {
        for (name, value) in wanted {
            if at.cursor.field(name).is_none() {
                continue;
            }
            let trail = &at.trail.field(name);
            if self.entries.own(&trail.path()) {
                self.report(Mismatch::NotOwned, trail);
            } else if live.get(name).is_none() && !hollow(value) {
                self.report(Mismatch::Absent, trail);
            }
        }
    }

    /// Something owned that the intent does not have; told as one path unless parts of it are ignored.
    fn unwanted(&mut self, owned: &Child, at: At<'_>) {
        let Child { step, below: fields } = owned;
        let trail = &at.trail.step(step);
        let (live, cursor) = match step {
            Step::Field(name) => {
                (at.live.and_then(|live| live.get(&**name)), at.cursor.field(name))
            }
            _ if at.cursor.is_idle() => return self.report(Mismatch::OwnedNotDesired, trail),
            element => {
                let list = at.live.and_then(Value::as_array);
                let mut found = list.into_iter().flatten().enumerate();
                let found = found.find(|(index, live)| is_element(element, *index, live));
                let (index, live) = found.unzip();
                let probe = || probe(element);
                let seen = live.map_or_else(probe, Value::clone);
                (live, at.cursor.element(index.unwrap_or(usize::MAX), &seen))
            }
        };
        match cursor {
            None => {}
            Some(cursor) if fields.is_leaf() || cursor.is_idle() => {
                self.report(Mismatch::OwnedNotDesired, trail);
            }
            Some(cursor) => {
                for child in fields.children() {
                    let at = At { fields, live, trail, cursor: &cursor };
                    self.unwanted(child, at);
                }
            }
        }
    }
}

/// Where each owned child first stands in the live list.
fn positions(fields: &FieldSet, live: &[Value]) -> Vec<Option<usize>> {
    let mut positions = vec![None; fields.children().len()];
    for (position, element) in live.iter().enumerate() {
        if let Some(child) = fields.element(position, element) {
            positions[child].get_or_insert(position);
        }
    }
    positions
}

/// Whether the server may store this value as nothing.
fn hollow(wanted: &Value) -> bool {
    match wanted {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(hollow),
    }
}

/// Names a wanted element that is not ours as its list names the others, so that no other value is shown.
fn name_unowned(fields: &FieldSet, index: usize, element: &Value) -> Step {
    let mut steps = fields.children().iter().map(|child| &child.step);
    let as_key = steps.find_map(|step| match step {
        Step::Key(key) => Some(key.stated_by(element).map(Step::Key)),
        Step::Value(_) => Some(Some(Step::Value(Box::new(element.clone())))),
        _ => None,
    });
    as_key.flatten().unwrap_or_else(|| Step::of_element(index, element))
}

fn is_element(step: &Step, index: usize, element: &Value) -> bool {
    match step {
        Step::Key(key) => key.fits(element),
        Step::Value(value) => **value == *element,
        Step::Index(position) => *position == index,
        Step::Field(_) => false,
    }
}

/// What an owned element that is no longer live looks like, to see whether it is ignored.
fn probe(step: &Step) -> Value {
    match step {
        Step::Key(key) => key.to_element(),
        Step::Value(value) => (**value).clone(),
        _ => Value::Null,
    }
}
