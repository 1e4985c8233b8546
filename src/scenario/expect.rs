//! What a pass should have done against what it did.
//!
//! In: the `expect` of a step, a pass, the server after it. Out: failures, each at the expectation's own place and with the
//! edit that `--update` makes. Maps match in part, lists of maps with a `name` by name, other lists and scalars whole;
//! null means absent.

use super::pass::{Act, Passed};
use super::server::{base, short};
use super::update::Edit;
use super::{Failure, Scenario, Server, Step, Wrong};
use crate::render::{self, Stuck, place_name};
use crate::source::{Place, Source};
use crate::status::kind;
use crate::view::Decision;
use crate::yaml::{Kind, Node};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Checks every expectation of a step, and that there is no mistake that none of them names.
pub(super) fn met(
    step: &Step,
    scenario: &Scenario,
    passed: &Passed,
    server: &Server,
    failures: &mut Vec<Failure>,
) {
    let mut matcher = Matcher { source: &step.place.source, failures };
    let mut problems = None;
    let sections = match step.expect.as_ref().map(|node| &node.kind) {
        Some(Kind::Mapping(sections)) => sections.as_slice(),
        _ => &[],
    };
    for (key, value) in sections {
        match key.as_str().unwrap_or_default() {
            "actions" => matcher.actions(key, value, passed),
            "children" => matcher.children(value, scenario, passed),
            "absent" => matcher.absent(key, value, server),
            "conditions" => matcher.conditions(value, passed),
            "status" => {
                let fields = Value::from(passed.said.fields.clone().unwrap_or_default());
                matcher.entries(value, &fields, "status");
            }
            _ => problems = Some((key, value)),
        }
    }
    matcher.problems(problems, passed, &step.place);
}

struct Matcher<'a> {
    source: &'a Arc<Source>,
    failures: &'a mut Vec<Failure>,
}

impl Matcher<'_> {
    /// A map: every expected entry must be there.
    fn entries(&mut self, expected: &Node, found: &Value, path: &str) {
        let Kind::Mapping(entries) = &expected.kind else { return };
        for (key, value) in entries {
            let name = key.as_str().unwrap_or_default();
            self.entry(key, value, found.get(name), &join(path, name));
        }
    }

    /// One entry of a map.
    fn entry(&mut self, key: &Node, expected: &Node, found: Option<&Value>, path: &str) {
        let found = found.filter(|found| !found.is_null());
        match (&expected.kind, found) {
            (Kind::Null { .. }, None) => {}
            (Kind::Mapping(_), Some(found @ Value::Object(_))) => {
                self.entries(expected, found, path);
            }
            (Kind::Sequence(items), Some(Value::Array(found_items))) if named(items) => {
                self.list(key, expected, (items, found_items), path);
            }
            (_, found) if found == Some(&expected.to_json()) => {}
            (_, found) => {
                let edit = Edit::of_entry(self.source, key, expected, found);
                let wanted = Some(expected.to_json()).filter(|value| !value.is_null());
                self.differs(expected, path, wanted, found.cloned(), Some(edit));
            }
        }
    }

    /// A list whose items have names: every expected one must be there.
    fn list(&mut self, key: &Node, expected: &Node, lists: (&[Node], &[Value]), path: &str) {
        let (items, found) = lists;
        for item in items {
            let name = item.get("name").map(Node::to_json).unwrap_or_default();
            let path = format!("{path}[{}]", name.as_str().unwrap_or_default());
            if let Some(found) = found.iter().find(|found| found.get("name") == Some(&name)) {
                self.entries(item, found, &path);
            } else {
                let whole = Value::from(found.to_vec());
                let edit = Edit::of_entry(self.source, key, expected, Some(&whole));
                self.differs(item, &path, Some(item.to_json()), None, Some(edit));
            }
        }
    }

    fn differs(
        &mut self,
        node: &Node,
        path: &str,
        expected: Option<Value>,
        found: Option<Value>,
        edit: Option<Edit>,
    ) {
        let wrong = Wrong::Different { expected, found };
        let place = Place::new(self.source, node.span.clone());
        self.failures.push(Failure { place, path: path.to_owned(), wrong, edit });
    }

    /// What was done, by child. What is done and not expected is wrong too, unless it is nothing.
    fn actions(&mut self, key: &Node, expected: &Node, passed: &Passed) {
        let Kind::Mapping(entries) = &expected.kind else { return };
        let mut all = Map::new();
        for (child, value) in entries {
            let name = child.as_str().unwrap_or_default();
            let found = done(passed, name, matches!(value.kind, Kind::Mapping(_)));
            self.entry(child, value, found.as_ref(), &join("actions", name));
            all.insert(name.to_owned(), found.unwrap_or_default());
        }
        let listed = all.clone();
        let unlisted = |child: &&Arc<str>| !listed.contains_key(&***child);
        let idle = |found: &Value| *found == Act::Keep.word();
        let mut unexpected = Vec::new();
        for child in passed.actions.keys().filter(unlisted) {
            let found = done(passed, child, false).filter(|found| !idle(found));
            if let Some(found) = found {
                all.insert(child.to_string(), found.clone());
                unexpected.push((child, found));
            }
        }
        all.retain(|_, found| !found.is_null());
        let edit = Edit::of_entry(self.source, key, expected, Some(&Value::Object(all)));
        for (child, found) in unexpected {
            self.differs(key, &join("actions", child), None, Some(found), Some(edit.clone()));
        }
    }

    /// Parts of rendered objects.
    fn children(&mut self, expected: &Node, scenario: &Scenario, passed: &Passed) {
        let Kind::Mapping(entries) = &expected.kind else { return };
        for (key, value) in entries {
            let child = key.as_str().unwrap_or_default();
            let several = scenario.rule.child(base(child)).is_some_and(|child| child.several);
            let edits = passed.desired.patches.iter().map(|patch| &patch.wanted);
            let all = passed.desired.children.iter().chain(edits);
            let mut objects = all.filter(|object| object.name() == child).peekable();
            let found = if several && objects.peek().is_some() {
                let named = objects.map(|object| (short(&object.id), object.object.clone()));
                Some(Value::Object(named.collect()))
            } else {
                objects.next().map(|object| object.object.clone())
            };
            let before = self.failures.len();
            self.entry(key, value, found.as_ref(), &join("children", child));
            if found.is_none() && self.failures.len() > before {
                let why = format!("is not rendered: {}", not_rendered(passed, child));
                self.failures.truncate(before);
                let edit = Edit::of_entry(self.source, key, value, None);
                let place = Place::new(self.source, key.span.clone());
                let failure = Failure::said(&place, join("children", child), why);
                self.failures.push(Failure { edit: Some(edit), ..failure });
            }
        }
    }

    /// Children of which nothing exists after the pass.
    fn absent(&mut self, key: &Node, expected: &Node, server: &Server) {
        let Kind::Sequence(items) = &expected.kind else { return };
        let exists = |item: &&Node| item.as_str().is_some_and(|child| server.has(child));
        let absent: Value = items.iter().filter(|item| !exists(item)).map(Node::to_json).collect();
        for item in items.iter().filter(exists) {
            let edit = Edit::of_entry(self.source, key, expected, Some(&absent));
            let path = join("absent", item.as_str().unwrap_or_default());
            let failure = Failure::said(
                &Place::new(self.source, item.span.clone()),
                path,
                "exists after the pass",
            );
            self.failures.push(Failure { edit: Some(edit), ..failure });
        }
    }

    /// Conditions by type: their status alone, or several of their fields.
    fn conditions(&mut self, expected: &Node, passed: &Passed) {
        let Kind::Mapping(entries) = &expected.kind else { return };
        for (key, value) in entries {
            let name = key.as_str().unwrap_or_default();
            let condition = passed.said.conditions.iter().find(|other| other.kind == name);
            let found = condition.map(|found| match value.kind {
                Kind::Mapping(_) => json!({"status": found.truth.as_str(),
                    "reason": found.reason, "message": found.message}),
                _ => json!(found.truth.as_str()),
            });
            self.entry(key, value, found.as_ref(), &join("conditions", name));
        }
    }

    /// Mistakes: each must be expected, and each that is expected must be there.
    fn problems(&mut self, section: Option<(&Node, &Node)>, passed: &Passed, step: &Place) {
        let found = problems(passed);
        let edit = section.map(|(key, expected)| {
            let messages = found.iter().map(|problem| json!(problem.brief)).collect();
            Edit::of_entry(self.source, key, expected, Some(&messages))
        });
        let items = match section.map(|(_, expected)| &expected.kind) {
            Some(Kind::Sequence(items)) => items.as_slice(),
            _ => &[],
        };
        for item in items {
            let text = item.as_str().unwrap_or_default();
            if !found.iter().any(|problem| problem.whole.contains(text)) {
                let all: Value = found.iter().map(|problem| json!(problem.whole)).collect();
                let all = Some(all).filter(|_| !found.is_empty());
                self.differs(item, "problems", Some(item.to_json()), all, edit.clone());
            }
        }
        for problem in &found {
            let expected =
                |item: &Node| item.as_str().is_some_and(|text| problem.whole.contains(text));
            if !items.iter().any(expected) {
                let place = section.map(|(key, _)| Place::new(self.source, key.span.clone()));
                let failure = Failure::said(
                    place.as_ref().unwrap_or(step),
                    "problems",
                    format!("nobody expects this mistake: {}", problem.whole),
                );
                self.failures.push(Failure { edit: edit.clone(), ..failure });
            }
        }
    }
}

/// A mistake that the pass found.
struct Found {
    /// Without place and hint.
    brief: String,
    whole: String,
}

/// Mistakes of children, of the whole parent, or else of the status fields, which only a condition tells of.
fn problems(passed: &Passed) -> Vec<Found> {
    let of = |problem: &crate::problem::Problem| Found {
        brief: problem.message.clone(),
        whole: problem.to_string(),
    };
    let found: Vec<_> = passed.desired.problems().map(of).collect();
    if !found.is_empty() {
        return found;
    }
    let stalled =
        passed.said.conditions.iter().find(|condition| {
            condition.kind == kind::STALLED && condition.reason == "RenderFailed"
        });
    let of = |message: &String| Found { brief: message.clone(), whole: message.clone() };
    stalled.map(|stalled| of(&stalled.message)).into_iter().collect()
}

/// What was done for a child: one word if it is the same for all of its objects, else by object.
fn done(passed: &Passed, child: &str, by_object: bool) -> Option<Value> {
    let objects = passed.actions.get(child)?;
    let mut words = objects.values().map(|act| act.word());
    let first = words.next()?;
    if !by_object && words.all(|word| word == first) {
        return Some(json!(first));
    }
    Some(objects.iter().map(|(object, act)| (object.clone(), json!(act.word()))).collect())
}

fn not_rendered(passed: &Passed, child: &str) -> String {
    let named = |(id, items): &render::Place| place_name(id, items) == child;
    let unwanted = |(place, decision): &(render::Place, Decision)| {
        named(place) && *decision == Decision::Unwanted
    };
    let stuck = passed.desired.stuck.iter().find(|(place, _)| named(place));
    match stuck.map(|(_, stuck)| stuck) {
        Some(Stuck::Waiting(why)) => why.clone(),
        Some(Stuck::Failed(problem)) => problem.to_string(),
        None if passed.desired.decisions.iter().any(unwanted) => "its `when` fails".to_owned(),
        None => "nothing of it is wanted".to_owned(),
    }
}

/// Whether every item is a map with a `name`: such lists are matched by name, and in part.
fn named(items: &[Node]) -> bool {
    !items.is_empty()
        && items.iter().all(|item| item.get("name").is_some_and(|name| name.as_str().is_some()))
}

/// A path as people write it: `a.b`, and `a["b.c"]` where a key is no word.
fn join(path: &str, key: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(word) {
        format!("{path}.{key}")
    } else {
        format!("{path}[{}]", json!(key))
    }
}
