//! What the templates and comparisons of one pass can see.
//!
//! In: [`Observed`], decisions made so far. Out: a [`Context`] for templates, a [`Scope`] for comparisons, readiness.
//! Our own marks on the parent, its managedFields and its resourceVersion are hidden: what a rule reads must not change
//! because we wrote. Inside a group, `children.x` is the same item's object; outside it is a map by key. Pure.

mod children;

pub use children::Slot;

use crate::comparison::{self, Comparison, Root, Scope, Truth, Verdict};
use crate::fetch::{Live, Observed};
use crate::input::{Input, Inputs};
use crate::object::{Gvk, ObjectId, weight};
use crate::ready::{self, Readiness};
use crate::rule::{ChildRule, Rule};
use crate::template::{Awaits, BodyTemplate, Context, Failure, Part};
use children::Children;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What can be seen, outside of groups or within one item of one.
pub struct View<'a> {
    pass: Rc<Pass<'a>>,
    /// The items around, outermost first.
    items: Vec<Item>,
    /// The same for all items until a group adds to it.
    let_value: Rc<Value>,
    context: Context,
    /// Children that are a map from here, once somebody asked.
    maps: BTreeMap<&'a str, OnceCell<Value>>,
}

/// What is the same for every view of a pass.
struct Pass<'a> {
    rule: &'a Rule,
    parent: &'a Value,
    children: Children<'a>,
    inputs: &'a Inputs,
    now: Timestamp,
    look_again: Cell<Option<Timestamp>>,
}

/// One item of a group.
#[derive(Clone, Debug)]
pub struct Item {
    /// The group.
    pub group: usize,
    /// What tells it apart from the others.
    pub key: String,
    /// What it is.
    pub value: Rc<Value>,
}

/// What was decided about one object of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It should exist.
    Wanted,
    /// It should not.
    Unwanted,
    /// It cannot be told yet.
    Stuck,
}

impl<'a> View<'a> {
    /// Everything that exists; `let` comes later.
    pub fn new(rule: &'a Rule, observed: &'a Observed, now: Timestamp) -> Self {
        let (parent, part) = observed.parent.seen();
        let context = Context::new()
            .with("parent", part.clone())
            .with("rule", Part::new("rule", &json!({"name": &*rule.name}), Awaits::Nothing))
            .with("inputs", observed.inputs.part());
        let children = Children::new(rule, observed);
        let look_again = Cell::new(None);
        let inputs = &*observed.inputs;
        let pass = Rc::new(Pass { rule, parent, children, inputs, now, look_again });
        Self::at(pass, Vec::new(), Rc::new(Value::Object(Map::new())), context)
    }

    fn at(
        pass: Rc<Pass<'a>>,
        items: Vec<Item>,
        let_value: Rc<Value>,
        mut context: Context,
    ) -> Self {
        context.insert("children", pass.children.part(&items));
        let rule = pass.rule;
        let several = rule
            .children
            .iter()
            .filter(|child| children::depth_below(rule, child, &items) > 0 || child.several);
        let maps = several.map(|child| (&*child.id, OnceCell::new())).collect();
        Self { pass, items, let_value, context, maps }
    }

    /// The view within one more item. What it is called is visible, and so is the item of a map as `key` and `value`.
    pub fn within(&self, item: Item) -> Self {
        let name = &*self.pass.rule.groups[item.group].item;
        let mut context = self.context.clone();
        context.insert(name, Part::new(name, &item.value, Awaits::Nothing));
        let items = self.items.iter().cloned().chain([item]).collect();
        Self::at(Rc::clone(&self.pass), items, Rc::clone(&self.let_value), context)
    }

    /// The same view once more.
    pub fn again(&self) -> Self {
        let context = self.context.clone();
        Self::at(Rc::clone(&self.pass), self.items.clone(), Rc::clone(&self.let_value), context)
    }

    /// Renders a body of the rule with what can be seen here.
    pub fn render_body(&self, body: &BodyTemplate) -> Result<Map<String, Value>, Failure> {
        self.pass.rule.templates.body(body, &self.context())
    }

    /// Adds to `let`; a name that was there before is replaced.
    pub fn add_let(&mut self, more: Map<String, Value>) {
        if let Value::Object(known) = Rc::make_mut(&mut self.let_value) {
            known.extend(more);
        }
        self.context.insert("let", Part::new("let", &self.let_value, Awaits::Nothing));
    }

    /// About how many bytes `let` takes.
    pub fn weight_of_let(&self) -> usize {
        weight(&self.let_value)
    }

    /// What the rule only reads.
    pub fn inputs(&self) -> &'a Inputs {
        self.pass.inputs
    }

    /// The keys of the items around.
    pub fn keys(&self) -> Vec<String> {
        self.items.iter().map(|item| item.key.clone()).collect()
    }

    /// Says what was decided about a child here. Comparisons find nothing at one that is not wanted, instead of waiting.
    pub fn decide(&self, child: &'a str, decision: Decision) {
        self.pass.children.decide(child, self.keys(), decision);
    }

    /// What `let` is.
    pub fn let_value(&self) -> Map<String, Value> {
        self.let_value.as_object().cloned().unwrap_or_default()
    }

    /// Says what was decided about a child at any item.
    pub fn note(&self, child: &str, keys: Vec<String>, decision: Decision) {
        if let Some(child) = self.pass.rule.child(child) {
            self.pass.children.decide(&child.id, keys, decision);
        }
    }

    /// A child was rendered at these items: of its objects only the wanted ones count from now on.
    pub fn keep(&self, child: &str, keys: &Vec<String>, wanted: &dyn Fn(&ObjectId) -> bool) {
        if let Some(child) = self.pass.rule.child(child) {
            self.pass.children.keep(&child.id, keys, wanted);
        }
    }

    /// For templates.
    pub fn context(&self) -> Cow<'_, Context> {
        let children = &self.pass.children;
        if !children.dropped() {
            return Cow::Borrowed(&self.context);
        }
        Cow::Owned(self.context.clone().with("children", children.part(&self.items)))
    }

    /// Judges comparisons that must all hold, and remembers when time may change the verdict.
    pub fn evaluate(&self, all: &[Comparison]) -> Verdict {
        self.noted(Comparison::evaluate_all(all, self, self.pass.now))
    }

    /// When time alone may change a verdict.
    pub fn look_again(&self) -> Option<Timestamp> {
        self.pass.look_again.get()
    }

    /// Why a needed child holds up the one that needs it. A child that is not wanted holds up nobody.
    pub fn missing(&self, need: &str, ready: bool) -> Option<String> {
        if let Some(input) = self.pass.inputs.get(need) {
            return missing_input(need, input, ready);
        }
        let children = &self.pass.children;
        let slots = children.slots(need, &self.items);
        let waiting = slots.into_iter().find_map(|slot| match slot {
            Slot::Unwanted => None,
            Slot::Stuck => Some(", which waits itself".to_owned()),
            Slot::Missing => Some(", which does not exist yet".to_owned()),
            Slot::There(_) if !ready => None,
            Slot::There(live) => {
                let readiness = self.readiness(self.pass.rule.child(need), live);
                (!readiness.is_ready()).then(|| format!(": {}", readiness.sentence()))
            }
        })?;
        Some(format!("it waits for `{need}`{waiting}"))
    }

    /// Whether an object of a child is ready: by the rule's own comparisons, else by its kind.
    pub fn readiness(&self, child: Option<&ChildRule>, live: &Live) -> Readiness {
        let Some(own) = child.and_then(|child| child.ready.as_ref()) else {
            return live.readiness().clone();
        };
        if let Some(verdict) = ready::general(live.value()) {
            return verdict;
        }
        let scope = WithSelf { view: self, object: live.value() };
        let verdict = self.noted(Comparison::evaluate_all(own, &scope, self.pass.now));
        match verdict.truth {
            Truth::Holds => Readiness::Ready,
            Truth::Fails | Truth::Unknown => Readiness::InProgress(verdict.sentence),
        }
    }

    fn noted(&self, verdict: Verdict) -> Verdict {
        let known = &self.pass.look_again;
        known.set([known.get(), verdict.look_again].into_iter().flatten().min());
        verdict
    }

    fn item(&self, name: &str) -> Option<&Value> {
        let is = |item: &&Item| *self.pass.rule.groups[item.group].item == *name;
        self.items.iter().find(is).map(|item| &*item.value)
    }

    /// A child as comparisons see it: one object, or a map of them.
    fn child(&self, id: &str) -> Root<'_> {
        let slots = self.pass.children.slots(id, &self.items);
        if slots.iter().any(|slot| matches!(slot, Slot::Missing | Slot::Stuck)) {
            return Root::Unknown { why: format!("{id} does not exist yet") };
        }
        let child = self.pass.rule.child(id);
        let is_secret = child.is_some_and(|child| child.kinds.iter().any(Gvk::is_secret));
        if let Some(map) = self.maps.get(id) {
            let whole = || self.pass.children.map(id, &self.items);
            return present(map.get_or_init(whole), is_secret);
        }
        match slots.first() {
            Some(Slot::There(live)) => present(live.value(), is_secret),
            _ => Root::Present(&Value::Null),
        }
    }
}

impl Scope for View<'_> {
    fn root(&self, name: &str) -> Root<'_> {
        match name {
            "parent" => present(self.pass.parent, is_secret(self.pass.parent)),
            "let" => Root::Present(&self.let_value),
            name => match self.item(name) {
                Some(value) => Root::Present(value),
                None => self.pass.inputs.get(name).map_or_else(|| self.child(name), input),
            },
        }
    }

    fn readiness(&self, name: &str) -> comparison::Readiness {
        let answer =
            |truth, reason: &str| comparison::Readiness { truth, reason: reason.to_owned() };
        if let Some(input) = self.pass.inputs.get(name) {
            return match readiness_of_input(input) {
                Ok(Readiness::Ready) => answer(Truth::Holds, ""),
                Ok(waiting) => answer(Truth::Fails, waiting.sentence()),
                Err(why) => answer(Truth::Unknown, &why),
            };
        }
        let slots = self.pass.children.slots(name, &self.items);
        if slots.iter().any(|slot| matches!(slot, Slot::Missing | Slot::Stuck)) {
            return answer(Truth::Unknown, &format!("{name} does not exist yet"));
        }
        let rule = self.pass.rule.child(name);
        let mut there = slots.iter().filter_map(Slot::live).peekable();
        if there.peek().is_none() && !self.maps.contains_key(name) {
            return answer(Truth::Fails, &format!("{name} is not wanted"));
        }
        match there.map(|live| View::readiness(self, rule, live)).find(|found| !found.is_ready()) {
            Some(waiting) => answer(Truth::Fails, waiting.sentence()),
            None => answer(Truth::Holds, ""),
        }
    }
}

/// An input as comparisons see it.
fn input(input: &Input) -> Root<'_> {
    match (input, input.value()) {
        (Input::Missing(why), _) => Root::Unknown { why: why.clone() },
        (Input::Object(live, _), Some(value)) if live.id.is_secret() => Root::Secret(value),
        (Input::List(_), Some(value)) if any_secret(value) => Root::Secret(value),
        (_, value) => Root::Present(value.unwrap_or(&Value::Null)),
    }
}

fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

fn any_secret(list: &Value) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(is_secret))
}

fn missing_input(need: &str, input: &Input, ready: bool) -> Option<String> {
    match (readiness_of_input(input), input) {
        (Err(why), _) => Some(format!("it waits for {why}")),
        (Ok(_), Input::Absent) => Some(format!("it waits for `{need}`, which does not exist yet")),
        (Ok(found), _) if ready && !found.is_ready() => {
            Some(format!("it waits for `{need}`: {}", found.sentence()))
        }
        _ => None,
    }
}

/// The objects of a list are ready when all of them are; what is absent is not.
fn readiness_of_input(input: &Input) -> Result<Readiness, String> {
    match input {
        Input::Missing(why) => Err(why.clone()),
        Input::Absent => Ok(Readiness::InProgress("it does not exist".into())),
        Input::Object(live, _) => Ok(live.readiness().clone()),
        Input::List(list) => {
            let mut all = list.as_array().into_iter().flatten().map(ready::readiness);
            Ok(all.find(|found| !found.is_ready()).unwrap_or(Readiness::Ready))
        }
    }
}

/// A view in which `self` is one object.
struct WithSelf<'v, 'a> {
    view: &'v View<'a>,
    object: &'v Value,
}

impl Scope for WithSelf<'_, '_> {
    fn root(&self, name: &str) -> Root<'_> {
        let is_secret = || Gvk::of(self.object).is_some_and(|gvk| gvk.is_secret());
        if name == "self" { present(self.object, is_secret()) } else { self.view.root(name) }
    }

    fn readiness(&self, name: &str) -> comparison::Readiness {
        Scope::readiness(self.view, name)
    }
}

/// An object for comparisons, whose sentences quote no value of a Secret.
fn present(object: &Value, is_secret: bool) -> Root<'_> {
    if is_secret { Root::Secret(object) } else { Root::Present(object) }
}
