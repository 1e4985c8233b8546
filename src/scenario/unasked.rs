//! What is checked for every step although nobody asks.
//!
//! In: a pass, the server before and after it. Out: failures. A rule for which one of these fails would write without end
//! on a real cluster, or write something else after a restart.

use super::pass::{Act, Passed, Setting, pass};
use super::show;
use super::{Failure, Server, Step};
use crate::compare::Memos;
use std::collections::BTreeMap;

/// How many other orders are tried for a scenario, spread over its steps.
const SHUFFLES: usize = 100;

/// What was written is not written again: neither by a pass that remembers this one, nor after a restart; and what waited
/// for it comes to an end.
pub(super) fn second_pass(
    setting: &Setting<'_>,
    first: &Passed,
    server: &Server,
    memos: &Memos,
    step: &Step,
) -> Option<Failure> {
    [("the second pass", memos.clone()), ("a pass after a restart", Memos::new())]
        .into_iter()
        .find_map(|(when, memos)| again(setting, first, server, memos, when, step))
}

fn again(
    setting: &Setting<'_>,
    first: &Passed,
    server: &Server,
    mut memos: Memos,
    when: &str,
    step: &Step,
) -> Option<Failure> {
    let fail = |what: String| Some(Failure::said(&step.place, "second pass", what));
    let mut server = server.clone();
    let mut written = first.written();
    // A child that is made of another one follows it, one pass later.
    let waited = first.waits() || setting.rule.children_read_each_other();
    // Each pass lets at least one more child go on, and writes it once.
    for _ in 0..=setting.rule.children.len() {
        let passed = pass(setting, &mut server, &mut memos);
        let now = passed.written();
        if let Some(twice) = now.iter().find(|object| !waited || written.contains(object)) {
            return fail(format!("{when} writes {twice}"));
        }
        if now.is_empty() {
            let (before, after) = (first.trace_of_status(), passed.trace_of_status());
            let what = || format!("{when} says another status:\n{}", show::lines(&before, &after));
            return if waited || before == after { None } else { fail(what()) };
        }
        written.extend(now);
    }
    fail(format!("{when} and those after it never end: {}", written.join(", ")))
}

/// Nothing depends on the order in which maps and objects come in. A scenario of so many steps tries its share at each.
pub(super) fn shuffles(
    setting: &Setting<'_>,
    passed: &Passed,
    (before, memos): (&Server, &Memos),
    steps: usize,
    step: &Step,
) -> Option<Failure> {
    let expected = passed.trace();
    let other = differs(&expected, SHUFFLES.div_ceil(steps.max(1)), |seed| {
        pass(setting, &mut before.shuffled(seed), &mut memos.clone()).trace()
    })?;
    let what = format!(
        "what comes out depends on the order of what goes in:\n{}",
        show::lines(&expected, &other)
    );
    Some(Failure::said(&step.place, "shuffles", what))
}

/// The first of several other orders that gives something else.
fn differs(expected: &str, orders: usize, other: impl Fn(u64) -> String) -> Option<String> {
    (0..).take(orders).map(other).find(|other| other != expected)
}

impl Passed {
    /// `deployment (Deployment/shop)` for everything that was changed on the server.
    fn written(&self) -> Vec<String> {
        let objects = self.actions.iter().flat_map(|(child, objects)| {
            objects.iter().map(move |(object, act)| (child, object, act))
        });
        objects
            .filter(|(_, _, act)| act.writes())
            .map(|(child, object, _)| format!("{child} ({object})"))
            .collect()
    }

    fn waits(&self) -> bool {
        self.actions.values().flat_map(BTreeMap::values).any(|act| *act == Act::Wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_order_of_a_hundred_that_gives_something_else_is_found() {
        assert_eq!(differs("same", 100, |_| "same".into()), None);
        let once = |seed| if seed == 99 { "other".into() } else { "same".into() };
        assert_eq!(differs("same", 100, once), Some("other".to_owned()));
    }
}
