//! What the templates and comparisons of one pass can see.
//!
//! In: [`Observed`], decisions made so far. Out: a [`Context`] for templates, a [`Scope`] for comparisons, readiness.
//! Our own marks on the parent, its managedFields and its resourceVersion are hidden: what a rule reads must not change
//! because we wrote. Pure.

use crate::comparison::{self, Comparison, Root, Scope, Truth, Verdict};
use crate::fetch::{Live, Observed};
use crate::marks;
use crate::object::ObjectId;
use crate::ready::{self, Readiness};
use crate::rule::{ChildRule, Rule};
use crate::template::{Awaits, Context, Part};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// What can be seen.
pub struct View<'a> {
    rule: &'a Rule,
    parent: Value,
    let_value: Value,
    children: BTreeMap<&'a str, Child<'a>>,
    unwanted: BTreeSet<&'a str>,
    context: Context,
    now: Timestamp,
    look_again: Cell<Option<Timestamp>>,
}

/// The objects of one child that exist.
struct Child<'a> {
    objects: Vec<&'a Live>,
    /// A map by `Kind/name`, for a child of several objects.
    together: Option<Value>,
}

impl Child<'_> {
    fn value(&self) -> Option<&Value> {
        self.together.as_ref().or_else(|| self.objects.first().map(|live| live.value()))
    }
}

impl<'a> View<'a> {
    /// Everything that exists; `let` comes later.
    pub fn new(rule: &'a Rule, observed: &'a Observed, now: Timestamp) -> Self {
        let parent = visible(observed.parent.value());
        let mut children: BTreeMap<&str, Child<'_>> = BTreeMap::new();
        for live in observed.children.values() {
            let Some(child) = live.mark.as_ref().and_then(|mark| rule.child(&mark.child)) else {
                continue;
            };
            let none = || Child { objects: Vec::new(), together: None };
            children.entry(&child.id).or_insert_with(none).objects.push(live);
        }
        for (id, child) in &mut children {
            if rule.child(id).is_some_and(|rule| rule.several) {
                child.together = Some(together(&child.objects));
            }
        }
        let parts = children.iter().filter_map(|(id, child)| {
            let part = Part::new(&format!("children.{id}"), child.value()?, Awaits::Everything);
            Some(((*id).to_owned(), part))
        });
        let context = Context::new()
            .with("parent", Part::new("parent", &parent, Awaits::Key("status".into())))
            .with("children", Part::group("children", parts, Awaits::Everything));
        Self {
            rule,
            parent,
            let_value: Value::Object(Map::new()),
            children,
            unwanted: BTreeSet::new(),
            context,
            now,
            look_again: Cell::new(None),
        }
    }

    /// From now on `let` is this.
    pub fn set_let(&mut self, value: Value) {
        self.context.insert("let", Part::new("let", &value, Awaits::Nothing));
        self.let_value = value;
    }

    /// What `let` is.
    pub fn let_value(&self) -> &Value {
        &self.let_value
    }

    /// A child's `when` fails: comparisons find nothing there, instead of waiting for it.
    pub fn unwanted(&mut self, child: &str) {
        if let Some(child) = self.rule.child(child) {
            self.unwanted.insert(&child.id);
        }
    }

    /// For templates.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Judges comparisons that must all hold, and remembers when time may change the verdict.
    pub fn evaluate(&self, all: &[Comparison]) -> Verdict {
        self.noted(Comparison::evaluate_all(all, self, self.now))
    }

    /// When time alone may change a verdict.
    pub fn look_again(&self) -> Option<Timestamp> {
        self.look_again.get()
    }

    /// Why a needed child holds up the one that needs it. A child that is not wanted holds up nobody.
    pub fn missing(&self, need: &str, ready: bool) -> Option<String> {
        if self.unwanted.contains(need) {
            return None;
        }
        let Some(child) = self.children.get(need) else {
            return Some(format!("it waits for `{need}`, which does not exist yet"));
        };
        let rule = self.rule.child(need);
        let waiting =
            child.objects.iter().map(|live| self.readiness(rule, live)).find(|r| !r.is_ready());
        let waiting = waiting.filter(|_| ready)?;
        Some(format!("it waits for `{need}`: {}", waiting.sentence()))
    }

    /// Whether an object of a child is ready: by the rule's own comparisons, else by its kind.
    pub fn readiness(&self, child: Option<&ChildRule>, live: &Live) -> Readiness {
        let Some(own) = child.and_then(|child| child.ready.as_ref()) else {
            return ready::readiness(live.value());
        };
        if let Some(verdict) = ready::general(live.value()) {
            return verdict;
        }
        let scope = WithSelf { view: self, object: live.value() };
        let verdict = self.noted(Comparison::evaluate_all(own, &scope, self.now));
        match verdict.truth {
            Truth::Holds => Readiness::Ready,
            Truth::Fails | Truth::Unknown => Readiness::InProgress(verdict.sentence),
        }
    }

    fn noted(&self, verdict: Verdict) -> Verdict {
        let soonest = [self.look_again.get(), verdict.look_again].into_iter().flatten().min();
        self.look_again.set(soonest);
        verdict
    }
}

impl Scope for View<'_> {
    fn root(&self, name: &str) -> Root<'_> {
        match name {
            "parent" => Root::Present(&self.parent),
            "let" => Root::Present(&self.let_value),
            child => match self.children.get(child).and_then(Child::value) {
                Some(value) => Root::Present(value),
                None if self.unwanted.contains(child) => Root::Present(&Value::Null),
                None => Root::Unknown { why: format!("{child} does not exist yet") },
            },
        }
    }

    fn readiness(&self, name: &str) -> comparison::Readiness {
        let Some(child) = self.children.get(name) else {
            let (truth, reason) = if self.unwanted.contains(name) {
                (Truth::Fails, format!("{name} is not wanted"))
            } else {
                (Truth::Unknown, format!("{name} does not exist yet"))
            };
            return comparison::Readiness { truth, reason };
        };
        let rule = self.rule.child(name);
        let waiting = child
            .objects
            .iter()
            .map(|live| View::readiness(self, rule, live))
            .find(|r| !r.is_ready());
        comparison::Readiness {
            truth: Truth::from(waiting.is_none()),
            reason: waiting.map(|why| why.sentence().to_owned()).unwrap_or_default(),
        }
    }
}

/// A view in which `self` is one object.
struct WithSelf<'v> {
    view: &'v View<'v>,
    object: &'v Value,
}

impl Scope for WithSelf<'_> {
    fn root(&self, name: &str) -> Root<'_> {
        if name == "self" { Root::Present(self.object) } else { self.view.root(name) }
    }

    fn readiness(&self, name: &str) -> comparison::Readiness {
        Scope::readiness(self.view, name)
    }
}

fn together(objects: &[&Live]) -> Value {
    let named = |live: &&Live| {
        let ObjectId { kind, name, .. } = &live.id;
        (format!("{}/{name}", kind.kind), live.value().clone())
    };
    Value::Object(objects.iter().map(named).collect())
}

/// The parent without what must not influence a rule.
fn visible(parent: &Value) -> Value {
    let mut parent = parent.clone();
    if let Some(metadata) = parent.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
        for kind in ["labels", "annotations"] {
            if let Some(entries) = metadata.get_mut(kind).and_then(Value::as_object_mut) {
                entries.retain(|name, _| !name.starts_with(marks::PREFIX));
            }
        }
    }
    parent
}
