//! Walks a general path over a value.
//!
//! In: a program and a value. Out: what it leads to, in the order of RFC 9535, one result at a time with the trail
//! to it. Never here: results as text; memory beyond the depth of the value (the trail costs nothing to keep).
//!
//! A walk also says where it looked for something in vain, see [`Path::lookup`](super::Path::lookup).

use super::filter;
use super::program::{Program, Segment, Selector};
use serde_json::Value;
use std::ops::ControlFlow;

/// One step of the trail to a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hop<'t> {
    Key(&'t str),
    Index(usize),
    /// A negative index beyond the list, or a filter that found nothing: only on the trail of something missing.
    Sought,
}

/// Takes one result and the trail to it, and says whether to go on.
type Emit<'e, 't, 'v> = dyn FnMut(Option<&'v Value>, &[Hop<'t>]) -> ControlFlow<()> + 'e;

/// Calls `emit` for each result: a value, or nothing where a name, an index or a filter found nothing.
pub(super) fn walk<'t, 'v: 't>(program: &'t Program, root: &'v Value, emit: &mut Emit<'_, 't, 'v>) {
    let shared: Vec<_> = program.shared.iter().map(|segments| found(segments, root, &[])).collect();
    let mut walker = Walker { shared: &shared, trail: Vec::new(), emit };
    // Stopping early is the caller's wish and no result.
    let _stopped = walker.run(Some(root), &program.segments);
}

/// The values that segments lead to from `start`.
pub(super) fn found<'v>(
    segments: &[Segment],
    start: &'v Value,
    shared: &[Vec<&'v Value>],
) -> Vec<&'v Value> {
    let mut values = Vec::new();
    let mut emit = |value: Option<&'v Value>, _: &[Hop<'_>]| {
        values.extend(value);
        ControlFlow::Continue(())
    };
    let _stopped = Walker { shared, trail: Vec::new(), emit: &mut emit }.run(Some(start), segments);
    values
}

/// Whether segments lead anywhere from `start`.
pub(super) fn leads_anywhere<'v>(
    segments: &[Segment],
    start: &'v Value,
    shared: &[Vec<&'v Value>],
) -> bool {
    if segments.iter().all(Segment::is_singular) {
        return only(segments, start).is_some();
    }
    let mut any = false;
    let mut emit = |value: Option<&'v Value>, _: &[Hop<'_>]| {
        any = value.is_some();
        if any { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let _stopped = Walker { shared, trail: Vec::new(), emit: &mut emit }.run(Some(start), segments);
    any
}

/// The value that singular segments lead to, without any allocation; nothing for others.
pub(super) fn only<'v>(segments: &[Segment], start: &'v Value) -> Option<&'v Value> {
    segments.iter().try_fold(start, |value, segment| match segment {
        Segment::Children(selectors) => match selectors.as_slice() {
            [Selector::Key(key)] => value.as_object()?.get(key),
            [Selector::Index(index)] => at(value.as_array()?, *index).map(|(_, value)| value),
            _ => None,
        },
        Segment::Descendants(_) => None,
    })
}

struct Walker<'w, 't, 'v> {
    shared: &'w [Vec<&'v Value>],
    trail: Vec<Hop<'t>>,
    emit: &'w mut Emit<'w, 't, 'v>,
}

impl<'t, 'v: 't> Walker<'_, 't, 'v> {
    /// Follows `segments` from `node`. Recursion goes only down the value, never along the path: a long path over
    /// nothing is a loop.
    fn run(&mut self, mut node: Option<&'v Value>, mut segments: &'t [Segment]) -> ControlFlow<()> {
        let depth = self.trail.len();
        let flow = loop {
            let Some((segment, rest)) = segments.split_first() else {
                break (self.emit)(node, &self.trail);
            };
            let selectors = match (segment, node) {
                (Segment::Children(selectors), _) => selectors,
                (Segment::Descendants(selectors), Some(value)) => {
                    break self.descend(value, selectors, rest);
                }
                (Segment::Descendants(_), None) => break ControlFlow::Continue(()),
            };
            match (selectors.as_slice(), node) {
                ([Selector::Key(key)], _) => {
                    self.trail.push(Hop::Key(key));
                    node = node.and_then(|value| value.as_object()?.get(key));
                }
                ([Selector::Index(index)], _) => {
                    let child = node.and_then(|value| at(value.as_array()?, *index));
                    self.trail.push(hop_to(*index, child));
                    node = child.map(|(_, value)| value);
                }
                ([Selector::Filter(_)], None) => self.trail.push(Hop::Sought),
                (selectors, _) => {
                    break selectors
                        .iter()
                        .try_for_each(|selector| self.select(node, selector, rest, true));
                }
            }
            segments = rest;
        };
        self.trail.truncate(depth);
        flow
    }

    fn enter(
        &mut self,
        hop: Hop<'t>,
        node: Option<&'v Value>,
        rest: &'t [Segment],
    ) -> ControlFlow<()> {
        self.trail.push(hop);
        let flow = self.run(node, rest);
        self.trail.pop();
        flow
    }

    /// Follows one selector and then `rest`. With `lookup`, a name, index or filter that finds nothing goes on as
    /// something missing.
    fn select(
        &mut self,
        node: Option<&'v Value>,
        selector: &'t Selector,
        rest: &'t [Segment],
        lookup: bool,
    ) -> ControlFlow<()> {
        match selector {
            Selector::Key(key) => {
                let child = node.and_then(|value| value.as_object()?.get(key));
                self.enter_if(child.is_some() || lookup, Hop::Key(key), child, rest)
            }
            Selector::Index(index) => {
                let child = node.and_then(|value| at(value.as_array()?, *index));
                let hop = hop_to(*index, child);
                self.enter_if(child.is_some() || lookup, hop, child.map(|(_, value)| value), rest)
            }
            Selector::Wildcard => {
                children(node).try_for_each(|(hop, child)| self.enter(hop, Some(child), rest))
            }
            Selector::Slice { start, end, step } => {
                let Some(list) = node.and_then(Value::as_array) else {
                    return ControlFlow::Continue(());
                };
                slice(list.len(), *start, *end, *step)
                    .filter_map(|index| Some((index, list.get(index)?)))
                    .try_for_each(|(index, child)| self.enter(Hop::Index(index), Some(child), rest))
            }
            Selector::Filter(filter) => {
                let mut any = false;
                for (hop, child) in children(node) {
                    if filter::accepts(filter, child, self.shared) {
                        any = true;
                        self.enter(hop, Some(child), rest)?;
                    }
                }
                self.enter_if(!any && lookup, Hop::Sought, None, rest)
            }
        }
    }

    fn enter_if(
        &mut self,
        condition: bool,
        hop: Hop<'t>,
        node: Option<&'v Value>,
        rest: &'t [Segment],
    ) -> ControlFlow<()> {
        if condition { self.enter(hop, node, rest) } else { ControlFlow::Continue(()) }
    }

    /// The value itself, then everything below it, parents first.
    fn descend(
        &mut self,
        node: &'v Value,
        selectors: &'t [Selector],
        rest: &'t [Segment],
    ) -> ControlFlow<()> {
        selectors.iter().try_for_each(|selector| self.select(Some(node), selector, rest, false))?;
        for (hop, child) in children(Some(node)) {
            self.trail.push(hop);
            self.descend(child, selectors, rest)?;
            self.trail.pop();
        }
        ControlFlow::Continue(())
    }
}

fn hop_to<'t>(index: i64, child: Option<(usize, &Value)>) -> Hop<'t> {
    child
        .map(|(index, _)| index)
        .or_else(|| usize::try_from(index).ok())
        .map_or(Hop::Sought, Hop::Index)
}

/// The elements of a list, or the values of a map in the order of their keys.
fn children(value: Option<&Value>) -> impl Iterator<Item = (Hop<'_>, &Value)> {
    let list = value.and_then(Value::as_array).into_iter().flatten().enumerate();
    let map = value.and_then(Value::as_object).into_iter().flatten();
    list.map(|(index, child)| (Hop::Index(index), child))
        .chain(map.map(|(key, child)| (Hop::Key(key.as_str()), child)))
}

/// An element by index; negative counts from the end.
fn at(list: &[Value], index: i64) -> Option<(usize, &Value)> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    let index = if index < 0 { list.len().checked_sub(distance)? } else { distance };
    list.get(index).map(|value| (index, value))
}

/// The indexes of a slice (RFC 9535, section 2.3.4.2.2).
fn slice(
    len: usize,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> impl Iterator<Item = usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let from_start = |index: i64| {
        if index < 0 { index.saturating_add(len) } else { index }
    };
    let (first, past_last) = if step < 0 {
        let first = start.map_or(len - 1, |start| from_start(start).clamp(-1, len - 1));
        (first, end.map_or(-1, |end| from_start(end).clamp(-1, len - 1)))
    } else {
        let first = start.map_or(0, |start| from_start(start).clamp(0, len));
        (first, end.map_or(len, |end| from_start(end).clamp(0, len)))
    };
    // A step of 0 selects nothing.
    std::iter::successors((step != 0).then_some(first), move |index| index.checked_add(step))
        .take_while(move |index| if step < 0 { *index > past_last } else { *index < past_last })
        .filter_map(|index| usize::try_from(index).ok())
}
