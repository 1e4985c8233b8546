//! From a scenario as written to one that can run: its rule is found, every name is known.
//!
//! In: one document, the compiled rules. Out: a [`Scenario`], or every mistake with its place.

use super::file::{Expect, ScenarioFile, StepFile};
use super::pass::Act;
use super::server::base;
use super::{Scenario, Seen, Step};
use crate::object::{Gvk, metadata};
use crate::problem::Problem;
use crate::rule::decode::{Decode, Decoder, Spanned, nearest};
use crate::rule::{ChildRule, Rule};
use crate::scope::Scopes;
use crate::source::{Place, Source};
use crate::status::kind;
use crate::yaml::{Kind, Node, Style};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// When passes happen for which nobody says it.
const DEFAULT_NOW: &str = "2026-01-01T00:00:00Z";

/// Binds one document.
pub(super) fn scenario(
    source: &Arc<Source>,
    node: &Node,
    rules: &[Arc<Rule>],
    scopes: &Arc<Scopes>,
) -> Result<Scenario, Vec<Problem>> {
    let mut decoder = Decoder::new(source);
    let Some(file) = ScenarioFile::decode(node, &mut decoder) else {
        return Err(decoder.problems);
    };
    let rule = find_rule(&file, rules, &mut decoder);
    let Some(rule) = rule.filter(|_| decoder.problems.is_empty()) else {
        return Err(decoder.problems);
    };
    let mut binder = Binder { rule: &rule, decoder };
    let steps = binder.steps(&file);
    let place = binder.decoder.place(&file.about.span);
    if !binder.decoder.problems.is_empty() {
        return Err(binder.decoder.problems);
    }
    let inputs = file.inputs.iter().filter_map(|node| binder.input(node)).collect();
    if !binder.decoder.problems.is_empty() {
        return Err(binder.decoder.problems);
    }
    let (about, parent) = (file.about.value, file.parent.to_json());
    Ok(Scenario { about, place, rule, scopes: Arc::clone(scopes), parent, inputs, steps })
}

fn input_object(node: &Node, decoder: &mut Decoder) -> Option<Value> {
    let object = node.to_json();
    if Gvk::of(&object).is_none() || metadata(&object, "name").is_none() {
        let message = "an input has no `apiVersion`, no `kind` or no `metadata.name`";
        let at = decoder.place(&node.span).first_line().span;
        decoder.note("no-object", message, &at);
        return None;
    }
    Some(object)
}

/// The rule that is named, else the only one for the parent's kind.
fn find_rule(file: &ScenarioFile, rules: &[Arc<Rule>], decoder: &mut Decoder) -> Option<Arc<Rule>> {
    let parent = file.parent.to_json();
    let at = decoder.place(&file.parent.span).first_line().span;
    let Some(gvk) = Gvk::of(&parent).filter(|_| metadata(&parent, "name").is_some()) else {
        let message = "the parent has no `apiVersion`, no `kind` or no `metadata.name`";
        decoder.note("no-object", message, &at);
        return None;
    };
    let names = |rules: &[&Arc<Rule>]| {
        rules.iter().map(|rule| rule.name.to_string()).collect::<Vec<_>>().join(", ")
    };
    if let Some(name) = &file.rule {
        let Some(rule) = rules.iter().find(|rule| *rule.name == *name.value) else {
            let known: Vec<&str> = rules.iter().map(|rule| &*rule.name).collect();
            unknown("rule", &name.value, &name.span, &known, decoder);
            return None;
        };
        if !rule.parent.kinds.contains(&gvk) {
            let kinds: Vec<_> = rule.parent.kinds.iter().map(ToString::to_string).collect();
            let kinds = kinds.join(", ");
            let message = format!("rule `{}` is for {kinds}, not for {gvk}", name.value);
            decoder.note("wrong-kind", message, &at);
            return None;
        }
        return Some(Arc::clone(rule));
    }
    let fitting: Vec<_> = rules.iter().filter(|rule| rule.is_for(&parent)).collect();
    match fitting.as_slice() {
        [rule] => Some(Arc::clone(rule)),
        [] => {
            let all: Vec<_> = rules.iter().collect();
            let hint = format!("rules here: {}", names(&all));
            decoder.note_with_hint("no-rule", format!("no rule is for {gvk}"), &at, hint);
            None
        }
        several => {
            let hint = format!("write `rule: …`, one of {}", names(several));
            decoder.note_with_hint("which-rule", format!("several rules are for {gvk}"), &at, hint);
            None
        }
    }
}

struct Binder<'a> {
    rule: &'a Arc<Rule>,
    decoder: Decoder,
}

impl Binder<'_> {
    /// The steps; a scenario without `steps` is one itself.
    fn steps(&mut self, file: &ScenarioFile) -> Vec<Step> {
        let Some(steps) = &file.steps else {
            let only = StepFile {
                about: None,
                now: file.now.clone(),
                parent: None,
                inputs: None,
                foreign: file.foreign.clone(),
                observed: file.observed.clone(),
                expect: file.expect.clone(),
            };
            return vec![self.step(&only, file, file.about.span.clone())];
        };
        let misplaced = [
            file.foreign.first().map(|node| ("foreign", node.span.clone())),
            file.observed.as_ref().map(|node| ("observed", node.span.clone())),
            file.expect.as_ref().map(|expect| ("expect", expect.node.span.clone())),
        ];
        for (key, span) in misplaced.into_iter().flatten() {
            let message = format!("`{key}` beside `steps`: it belongs to one of them");
            self.decoder.note("beside-steps", message, &(span.start..span.start + 1));
        }
        steps
            .iter()
            .map(|Spanned { value, span }| {
                let about = value.about.as_ref().map(|about| about.span.clone());
                let start = about.unwrap_or(span.start..span.start + 1);
                self.step(value, file, start)
            })
            .collect()
    }

    fn step(&mut self, step: &StepFile, file: &ScenarioFile, span: Range<usize>) -> Step {
        let parent = step.parent.as_ref().map_or(Value::Null, Node::to_json);
        if let Some(node) =
            step.parent.as_ref().filter(|node| !matches!(node.kind, Kind::Mapping(_)))
        {
            self.decoder.wrong_type(node, "a mapping to merge over the parent");
        }
        Step {
            about: step.about.as_ref().map(|about| about.value.clone()).unwrap_or_default(),
            now: self.time(step.now.as_ref().or(file.now.as_ref())),
            parent,
            inputs: step
                .inputs
                .as_ref()
                .map(|inputs| inputs.iter().filter_map(|node| self.input(node)).collect()),
            foreign: step.foreign.iter().map(|node| (node.to_json(), self.line(node))).collect(),
            observed: step.observed.as_ref().map(|node| self.observed(node)).unwrap_or_default(),
            expect: step.expect.as_ref().map(|expect| self.expect(expect)),
            place: self.decoder.place(&span),
        }
    }

    /// An object that the rule may read.
    fn input(&mut self, node: &Node) -> Option<Value> {
        input_object(node, &mut self.decoder)
    }

    fn line(&self, node: &Node) -> Place {
        self.decoder.place(&node.span).first_line()
    }

    fn time(&mut self, written: Option<&Spanned<String>>) -> Timestamp {
        let text = written.map_or(DEFAULT_NOW, |now| &now.value);
        text.parse().unwrap_or_else(|_| {
            let span = written.map_or(0..0, |now| now.span.clone());
            let hint = format!("write it as `{DEFAULT_NOW}`");
            self.decoder.note_with_hint("no-time", format!("`{text}` is no time"), &span, hint);
            Timestamp::UNIX_EPOCH
        })
    }

    /// What happened to children; one entry per object.
    fn observed(&mut self, node: &Node) -> Vec<Seen> {
        let mut seen = Vec::new();
        for (key, value) in self.entries(node, "a mapping of children") {
            let Some(child) = self.child(key) else { continue };
            let id: Arc<str> = key.as_str().unwrap_or_default().into();
            if !child.several || matches!(value.kind, Kind::Null { .. }) {
                seen.extend(self.seen(id, None, value));
                continue;
            }
            for (object, value) in self.entries(value, "a mapping of `Kind/name`") {
                let name = object.as_str().map(str::to_owned);
                seen.extend(self.seen(Arc::clone(&id), name, value));
            }
        }
        seen
    }

    fn seen(&mut self, child: Arc<str>, object: Option<String>, node: &Node) -> Option<Seen> {
        let place = self.line(node);
        let mut patch = node.to_json();
        if !patch.is_object() && !patch.is_null() {
            self.decoder
                .wrong_type(node, "a mapping to merge over the object, or `~` if it is gone");
            return None;
        }
        let ready = patch.as_object_mut().and_then(|fields| fields.remove("ready"));
        if let Some(node) = node.get("ready").filter(|_| ready != Some(Value::Bool(true))) {
            self.decoder.wrong_type(node, "`true`");
        }
        Some(Seen { child, object, patch, ready: ready.is_some(), place })
    }

    /// Checks every name in an `expect`.
    fn expect(&mut self, expect: &Expect) -> Node {
        let Expect { file, node } = expect;
        for (key, value) in self.section(file.actions.as_ref(), "a mapping of children") {
            self.child(key);
            match &value.kind {
                Kind::Mapping(objects) => {
                    for (_, word) in objects {
                        self.action(word);
                    }
                }
                Kind::Null { .. } => {}
                _ => self.action(value),
            }
        }
        for (key, _) in self.section(file.children.as_ref(), "a mapping of children") {
            self.child(key);
        }
        for id in &file.absent {
            self.child_named(&id.value, &id.span);
        }
        for (key, value) in self.section(file.conditions.as_ref(), "a mapping of types") {
            self.condition(key, value);
        }
        if let Some(node) = &file.status {
            self.entries(node, "a mapping of status fields");
        }
        with_truths_as_text(node)
    }

    fn action(&mut self, word: &Node) {
        let known = word.as_str().is_some_and(|word| Act::WORDS.contains(&word));
        if !known && let Some(wrong) = word.as_str() {
            unknown("action", wrong, &word.span, &Act::WORDS, &mut self.decoder);
        } else if !known {
            self.decoder.wrong_type(word, &format!("one of {}", Act::WORDS.join(", ")));
        }
    }

    fn condition(&mut self, key: &Node, value: &Node) {
        let status = self.rule.status.as_ref();
        let prefix = status.map_or("", |status| status.prefix.as_str());
        let usual = [kind::READY, kind::RECONCILING, kind::STALLED];
        let usual: Vec<String> = usual.iter().map(|kind| format!("{prefix}{kind}")).collect();
        let own = status.into_iter().flat_map(|status| &status.conditions);
        let own = own.map(|condition| condition.kind.as_str());
        let known: Vec<&str> = usual.iter().map(String::as_str).chain(own).collect();
        let name = key.as_str().unwrap_or_default();
        if !known.contains(&name) {
            unknown("condition", name, &key.span, &known, &mut self.decoder);
        }
        if let Kind::Mapping(_) = &value.kind {
            self.decoder.fields(value, &["status", "reason", "message"]);
        }
    }

    fn child(&mut self, key: &Node) -> Option<&ChildRule> {
        self.child_named(key.as_str().unwrap_or_default(), &key.span)
    }

    fn child_named(&mut self, name: &str, span: &Range<usize>) -> Option<&ChildRule> {
        // `quota[blue]` is one item's; its key is only known to the pass.
        let found = self.rule.child(base(name));
        if found.is_none() {
            let known: Vec<&str> = self.rule.children.iter().map(|child| &*child.id).collect();
            unknown("child", name, span, &known, &mut self.decoder);
        }
        found
    }

    fn section<'n>(&mut self, node: Option<&'n Node>, expected: &str) -> &'n [(Node, Node)] {
        node.map(|node| self.entries(node, expected)).unwrap_or_default()
    }

    fn entries<'n>(&mut self, node: &'n Node, expected: &str) -> &'n [(Node, Node)] {
        if let Kind::Mapping(entries) = &node.kind {
            return entries;
        }
        self.decoder.wrong_type(node, expected);
        &[]
    }
}

/// Notes a name that is not known, with the nearest one, else all.
fn unknown(what: &str, name: &str, span: &Range<usize>, known: &[&str], decoder: &mut Decoder) {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    decoder.note_with_hint("unknown-name", format!("unknown {what} `{name}`"), span, hint);
}

/// `Ready: True` without quotes is a boolean in YAML, but everybody writes it and means the text.
fn with_truths_as_text(expect: &Node) -> Node {
    let mut expect = expect.clone();
    if let Kind::Mapping(sections) = &mut expect.kind
        && let Some((_, conditions)) =
            sections.iter_mut().find(|(key, _)| key.as_str() == Some("conditions"))
        && let Kind::Mapping(conditions) = &mut conditions.kind
    {
        for (_, condition) in conditions {
            truth_as_text(condition);
            if let Kind::Mapping(fields) = &mut condition.kind {
                let status = fields.iter_mut().find(|(key, _)| key.as_str() == Some("status"));
                if let Some((_, status)) = status {
                    truth_as_text(status);
                }
            }
        }
    }
    expect
}

fn truth_as_text(node: &mut Node) {
    if let Kind::Bool(truth) = node.kind {
        let text = if truth { "True" } else { "False" };
        node.kind = Kind::String { text: text.to_owned(), style: Style::Plain };
    }
}
