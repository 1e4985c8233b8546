//! The items of groups: which there are, and what can be seen within each.
//!
//! In: a rule, the view outside of groups. Out: a [`Frame`] per item, made once per pass.

use super::{Stuck, held_up, holds};
use crate::comparison::{Found, Leaf};
use crate::object::weight;
use crate::path::Path;
use crate::problem::Problem;
use crate::rule::{GroupRule, Rule};
use crate::view::{Item, View};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Items of one list or map; more is a mistake, or an attack.
const MOST_ITEMS: usize = 1_000;

/// What all groups of one parent have together while a pass looks at it: groups within groups multiply.
#[derive(Clone, Copy)]
struct Room {
    items: usize,
    /// Of the items and of the `let` of each.
    bytes: usize,
}

const ROOM: Room = Room { items: 10_000, bytes: 32 << 20 };

impl Room {
    fn take(&mut self, items: usize, bytes: usize, group: &GroupRule) -> Result<(), Stuck> {
        let left = self.items.checked_sub(items).zip(self.bytes.checked_sub(bytes));
        if let Some((items, bytes)) = left {
            *self = Self { items, bytes };
            return Ok(());
        }
        let (items, mebibytes) = (ROOM.items, ROOM.bytes >> 20);
        let message = format!(
            "all groups of the parent have more than {items} items, or more than {mebibytes} MiB in them"
        );
        Err(failed(group, "too-many-items", message, None))
    }
}

/// One item, or everything outside of groups.
pub(super) struct Frame<'a> {
    /// What can be seen there.
    pub(super) view: View<'a>,
    /// Whether its children are wanted at all; an error stands for all items below as well.
    pub(super) wanted: Result<bool, Stuck>,
}

/// The frames of every group that was asked for.
pub(super) struct Items<'a> {
    rule: &'a Rule,
    frames: BTreeMap<Option<usize>, Vec<Frame<'a>>>,
    room: Room,
}

impl<'a> Items<'a> {
    /// Knows what is outside of groups.
    pub(super) fn new(rule: &'a Rule, view: View<'a>, selected: Result<bool, Stuck>) -> Self {
        let wanted = match selected {
            Ok(true) => holds(&rule.parent.when, &view),
            other => other,
        };
        let frames = BTreeMap::from([(None, vec![Frame { view, wanted }])]);
        Self { rule, frames, room: ROOM }
    }

    /// When time alone may change what was decided so far, in whatever frame.
    pub(super) fn look_again(&self) -> Option<Timestamp> {
        self.frames.values().flatten().find_map(|frame| frame.view.look_again())
    }

    /// The frames of a group.
    pub(super) fn of(&mut self, group: Option<usize>) -> &[Frame<'a>] {
        if let Some(index) = group
            && !self.frames.contains_key(&group)
        {
            let rule = &self.rule.groups[index];
            // First the groups around, which take room too.
            self.of(rule.outer);
            let mut room = self.room;
            let outer = self.of(rule.outer);
            let found = outer.iter().flat_map(|outer| frames(outer, index, rule, &mut room));
            let found = found.collect();
            self.room = room;
            self.frames.insert(group, found);
        }
        self.frames.get(&group).map(Vec::as_slice).unwrap_or_default()
    }
}

/// One frame per item within an outer one, or one that says why the items are not known.
fn frames<'a>(
    outer: &Frame<'a>,
    index: usize,
    group: &GroupRule,
    room: &mut Room,
) -> Vec<Frame<'a>> {
    let unknown = |stuck: Stuck| vec![Frame { view: outer.view.again(), wanted: Err(stuck) }];
    match &outer.wanted {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(stuck) => return unknown(stuck.clone()),
    }
    match items(&outer.view, index, group, room) {
        Err(stuck) => unknown(stuck),
        Ok(items) => items.into_iter().map(|item| frame(outer, item, group, room)).collect(),
    }
}

fn frame<'a>(outer: &Frame<'a>, item: Item, group: &GroupRule, room: &mut Room) -> Frame<'a> {
    let mut view = outer.view.within(item);
    if let Some(body) = &group.let_body {
        let more = held_up(body.reads(), view.inputs())
            .and_then(|()| view.render_body(body).map_err(Stuck::from));
        match more {
            Ok(more) => {
                // It is there for templates and for comparisons.
                let bytes =
                    2 * (outer.view.weight_of_let() + more.values().map(weight).sum::<usize>());
                if let Err(stuck) = room.take(0, bytes, group) {
                    return Frame { view, wanted: Err(stuck) };
                }
                view.add_let(more);
            }
            Err(stuck) => return Frame { view, wanted: Err(stuck) },
        }
    }
    let wanted = holds(&group.when, &view);
    Frame { view, wanted }
}

/// The items of a list or a map. What is missing or null has none.
fn items(
    view: &View<'_>,
    index: usize,
    group: &GroupRule,
    room: &mut Room,
) -> Result<Vec<Item>, Stuck> {
    let values = match group.source.find(view) {
        Found::Unknown(why) => return Err(Stuck::Waiting(why)),
        Found::Values(values) => values,
    };
    let mut items = Vec::new();
    // As a value and as what templates read.
    let mut take = |value: &Value| room.take(1, 2 * weight(value), group);
    for value in values.leaves.into_iter().filter_map(Leaf::value) {
        match value {
            Value::Null => {}
            Value::Array(list) => {
                for value in list {
                    let key = key_of(value, group)?;
                    take(value)?;
                    items.push(Item { group: index, key, value: Rc::new(value.clone()) });
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    take(value)?;
                    let value = json!({"key": key, "value": value});
                    let key = match &group.key {
                        Some(_) => key_of(&value, group)?,
                        None => key.clone(),
                    };
                    items.push(Item { group: index, key, value: Rc::new(value) });
                }
            }
            other => {
                let message = format!("`forEach` needs a list or a map, found {}", kind(other));
                return Err(failed(group, "no-items", message, None));
            }
        }
    }
    if items.len() > MOST_ITEMS {
        let message = format!("there are {} items, more than {MOST_ITEMS}", items.len());
        return Err(failed(group, "too-many-items", message, None));
    }
    distinct(&items, group)?;
    Ok(items)
}

fn distinct(items: &[Item], group: &GroupRule) -> Result<(), Stuck> {
    let mut seen = BTreeSet::new();
    match items.iter().find(|item| !seen.insert(&item.key)) {
        None => Ok(()),
        Some(item) => {
            let message = format!("two items have the key `{}`", item.key);
            Err(failed(group, "duplicate-key", message, Some("keys must tell the items apart")))
        }
    }
}

fn key_of(item: &Value, group: &GroupRule) -> Result<String, Stuck> {
    let value = match &group.key {
        Some(path) => path.query(item).into_iter().next().unwrap_or(&Value::Null),
        None => item,
    };
    match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        other => {
            let at = group.key.as_ref().map(Path::as_str);
            let message = match at {
                Some(path) => format!("an item has no key: its `{path}` is {}", kind(other)),
                None => format!("an item has no key: it is {}", kind(other)),
            };
            let hint = match at {
                Some(_) => "a key is a text, a number or a boolean that every item has",
                None => "say with `key` what tells the items apart",
            };
            Err(failed(group, "no-key", message, Some(hint)))
        }
    }
}

fn failed(group: &GroupRule, code: &'static str, message: String, hint: Option<&str>) -> Stuck {
    let problem = Problem::new(code, message).at(group.place.clone());
    Stuck::Failed(match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(text) if text.is_empty() => "an empty text",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
