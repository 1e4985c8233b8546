//! The children that should exist for one parent.
//!
//! In: a [`Rule`], [`Observed`]. Out: [`Desired`]: objects ready to be sent, and what cannot be said yet or at all.
//! Pure: no client, no clock, no environment. A mistake in one child leaves the others alone.

mod child;
pub(crate) mod generate;
mod items;
mod origin;
pub(crate) mod patch;
mod reserved;

pub use child::DesiredChild;
pub use origin::{Origins, Part, origins};
pub use patch::{DesiredPatch, Operation};

use crate::comparison::{Comparison, Truth};
use crate::fetch::{Edited, Live, Observed};
use crate::input::Inputs;
use crate::object::{GroupKind, Gvk, ObjectId, weight};
use crate::problem::Problem;
use crate::rule::{ChildRule, Need, PatchRule, Rule, Until};
use crate::scope::Scopes;
use crate::source::Place as SourcePlace;
use crate::template::{Failure, Read};
use crate::view::{Decision, View};
use crate::yaml::Limits;
use items::{Frame, Items};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What render needs to know besides rule and objects.
pub struct Setting<'a> {
    /// Which kinds live in a namespace.
    pub scopes: &'a Scopes,
    /// The installation, for the owner label.
    pub installation: &'a str,
    /// The time of the request.
    pub now: Timestamp,
    /// Whether a child waits for those that it `needs`. Where nothing is made it would wait for ever, and nobody would see
    /// what it will be.
    pub in_order: bool,
    /// Randomness of the request, for values that are made once; offline there is none.
    pub randomness: Option<&'a [u8; 32]>,
}

/// What should exist.
#[derive(Default)]
pub struct Desired {
    /// The objects, in the order of the rule.
    pub children: Vec<DesiredChild>,
    /// What should be true of objects that the rule does not own.
    pub patches: Vec<DesiredPatch>,
    /// The objects that are edited, whether they exist or not.
    pub targets: BTreeSet<ObjectId>,
    /// Children whose objects are not known now, by id and the keys of items around, and why. Keys may be missing at the end:
    /// then it is about all items below.
    pub stuck: BTreeMap<Place, Stuck>,
    /// Every decision that was made, for those who look at the children afterwards.
    pub decisions: Vec<(Place, Decision)>,
    /// Why nothing at all could be rendered.
    pub failed: Option<Problem>,
    /// Whether the parent is not one that the rule is for, as far as labels say.
    pub unselected: bool,
    /// When time alone may change what is wanted.
    pub look_again: Option<Timestamp>,
    /// What `let` came out as.
    pub let_value: Map<String, Value>,
    ids: BTreeSet<ObjectId>,
    /// What the objects take so far, as text.
    bytes: usize,
    /// Why nothing more is rendered: there is too much already.
    full: Option<Problem>,
    /// Kinds of children that are stuck, and the ids of the whole rule: see [`Desired::protects`].
    unclear: BTreeSet<GroupKind>,
    named: BTreeSet<Arc<str>>,
}

/// A child's id and the keys of the items around it.
pub type Place = (Arc<str>, Vec<String>);

/// `quota[blue]`, or the id alone outside of groups.
pub fn place_name(child: &str, items: &[String]) -> String {
    if items.is_empty() { child.to_owned() } else { format!("{child}[{}]", items.join("/")) }
}

/// Why a child's objects are not known now.
#[derive(Clone, Debug, PartialEq)]
pub enum Stuck {
    /// Something does not exist yet, or is not ready yet.
    Waiting(String),
    /// A mistake, in the rule or in the parent.
    Failed(Problem),
}

impl From<Failure> for Stuck {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Failed(problem) => Self::Failed(problem),
            Failure::Waiting { what, .. } => Self::Waiting(format!("it waits for {what}")),
        }
    }
}

impl Desired {
    /// Whether an object should exist.
    pub fn wants(&self, id: &ObjectId) -> bool {
        self.ids.contains(id)
    }

    /// Whether an object must stay although it is not wanted now: its child waits or failed. Where the rule does not name its
    /// child any more, that may have another id now, which is known once no child of that kind waits.
    pub fn protects(&self, live: &Live) -> bool {
        live.mark.as_ref().is_none_or(|mark| {
            let renamed = !self.named.contains(&*mark.child);
            self.protects_place(&mark.child, &mark.items)
                || (renamed && self.unclear.contains(&live.id.kind))
        })
    }

    /// Whether what was made at a place must stay although it is not wanted now.
    pub fn protects_place(&self, child: &str, items: &[String]) -> bool {
        self.stuck.keys().any(|(stuck, keys)| **stuck == *child && items.starts_with(keys))
    }

    /// Edits that were made for the parent and are taken back, once everything else went well.
    pub fn unwanted_edits<'o>(
        &'o self,
        observed: &'o Observed,
    ) -> impl Iterator<Item = &'o Edited> {
        let is_wanted = |edited: &Edited| {
            let mark = &edited.mark;
            let is_it = |patch: &DesiredPatch| {
                *patch.wanted.child == *mark.child
                    && patch.wanted.items == mark.items
                    && patch.wanted.id == edited.live.id
            };
            self.patches.iter().any(is_it) || self.protects_place(&mark.child, &mark.items)
        };
        observed.edited.iter().filter(move |edited| !edited.mark.stays && !is_wanted(edited))
    }

    /// Objects are pruned only if the whole parent rendered: a mistake must never look like an absence.
    pub fn may_prune(&self) -> bool {
        self.failed.is_none() && self.problems().next().is_none()
    }

    /// What can be seen outside of groups once everything is decided, of objects that exist by then.
    pub fn view<'a>(&self, rule: &'a Rule, observed: &'a Observed, now: Timestamp) -> View<'a> {
        let mut view = View::new(rule, observed, now);
        view.add_let(self.let_value.clone());
        for ((child, keys), decision) in &self.decisions {
            view.note(child, keys.clone(), *decision);
            let edits = rule.child(child).is_some_and(|child| child.patch.is_some());
            if *decision == Decision::Wanted && !edits {
                view.keep(child, keys, &|id| self.wants(id));
            }
        }
        view
    }

    /// Every mistake.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        let of_children = self.stuck.values().filter_map(|stuck| match stuck {
            Stuck::Failed(problem) => Some(problem),
            Stuck::Waiting(_) => None,
        });
        self.failed.iter().chain(of_children)
    }

    /// Children that wait, and for what.
    pub fn waiting(&self) -> impl Iterator<Item = (String, &str)> {
        self.stuck.iter().filter_map(|((child, items), stuck)| match stuck {
            Stuck::Waiting(why) => Some((place_name(child, items), why.as_str())),
            Stuck::Failed(_) => None,
        })
    }
}

/// Objects of one parent, edits included; more is a mistake, or an attack.
const MOST_CHILDREN: usize = 2_000;

/// What all of them may take together, as text.
const MOST_BYTES: usize = Limits::RENDERED.bytes;

/// Renders every child, in an order in which each finds what it needs decided.
pub fn render(rule: &Rule, observed: &Observed, setting: &Setting<'_>) -> Desired {
    walk(rule, observed, setting, &mut |_, _| {})
}

/// Renders, and lets somebody look at each child at each item with what its template could see there.
fn walk(
    rule: &Rule,
    observed: &Observed,
    setting: &Setting<'_>,
    look: &mut dyn FnMut(&ChildRule, &View<'_>),
) -> Desired {
    let mut desired = Desired::default();
    if !observed.parent.is_whole() {
        let message = "the parent nests too deep to be read";
        desired.failed = Some(Problem::new("deep-parent", message));
        return desired;
    }
    let selected = selected(rule, observed);
    if selected == Ok(false) {
        desired.nothing(rule);
        return desired;
    }
    if let Some(problem) = &observed.inputs.failed {
        desired.failed = Some(problem.clone());
        return desired;
    }
    let mut view = View::new(rule, observed, setting.now);
    if let Some(body) = &rule.let_body {
        if let Err(stuck) = held_up(body.reads(), &observed.inputs) {
            desired.all_wait(rule, &stuck);
            return desired;
        }
        match view.render_body(body) {
            Ok(value) => view.add_let(value),
            Err(failure) => {
                desired.without_let(rule, failure);
                return desired;
            }
        }
    }
    desired.let_value = view.let_value();
    let mut items = Items::new(rule, view, selected);
    for index in &rule.order {
        let child = &rule.children[*index];
        for frame in items.of(child.group) {
            desired.child(rule, child, frame, observed, setting);
            look(child, &frame.view);
        }
    }
    desired.look_again = items.look_again();
    let order: BTreeMap<_, _> = rule.children.iter().map(|child| &child.id).zip(0..).collect();
    desired.children.sort_by_key(|child| order.get(&child.child).copied().unwrap_or(usize::MAX));
    desired
}

impl Desired {
    /// The rule is not for this parent: nothing is wanted, and nothing is asked that its author never meant for it.
    fn nothing(&mut self, rule: &Rule) {
        self.unselected = true;
        let unwanted =
            |child: &ChildRule| ((Arc::clone(&child.id), Vec::new()), Decision::Unwanted);
        self.decisions = rule.children.iter().map(unwanted).collect();
    }

    /// What fails in `let` fails for the whole parent, and so does everything wait when `let` waits for an input. Children are
    /// made from `let`: it cannot wait for them.
    fn without_let(&mut self, rule: &Rule, failure: Failure) {
        match failure {
            Failure::Failed(problem) => self.failed = Some(problem),
            Failure::Waiting { what, place } if what.starts_with("children") => {
                let message = format!("`let` cannot wait for `{what}`");
                let hint = "read it in the template of a child, which can wait, or give a value with `default`";
                self.failed = Some(Problem::new("let-waits", message).at(place).hint(hint));
            }
            Failure::Waiting { .. } => self.all_wait(rule, &failure.into()),
        }
    }

    fn all_wait(&mut self, rule: &Rule, stuck: &Stuck) {
        let Stuck::Waiting(why) = stuck else { return };
        for child in &rule.children {
            let place = (Arc::clone(&child.id), Vec::new());
            let why = format!("{why}, which `let` reads");
            self.hold(rule, child, place.clone(), Stuck::Waiting(why));
            self.decisions.push((place, Decision::Stuck));
        }
    }

    /// Decides about one child at one item, and renders it if it is wanted.
    fn child<'a>(
        &mut self,
        rule: &Rule,
        child: &'a ChildRule,
        frame: &Frame<'a>,
        observed: &Observed,
        setting: &Setting<'_>,
    ) {
        let view = &frame.view;
        if let Some(patch) = &child.patch {
            self.patch(rule, (child, patch), frame, observed, setting);
            return;
        }
        let objects = frame.wanted.clone().and_then(|wanted| {
            if wanted && wants(child, view, setting)? {
                self.has_room(&child.place)?;
                child::objects(rule, child, view, observed, setting).map(Some)
            } else {
                Ok(None)
            }
        });
        let decision = match objects {
            Ok(None) => Decision::Unwanted,
            Ok(Some(objects)) => {
                self.add(rule, child, view, objects);
                view.keep(&child.id, &view.keys(), &|id| self.wants(id));
                Decision::Wanted
            }
            Err(stuck) => self.is_stuck(rule, child, view, stuck),
        };
        self.decide(child, view, decision);
    }

    fn is_stuck(
        &mut self,
        rule: &Rule,
        child: &ChildRule,
        view: &View<'_>,
        stuck: Stuck,
    ) -> Decision {
        self.hold(rule, child, (Arc::clone(&child.id), view.keys()), stuck);
        Decision::Stuck
    }

    fn hold(&mut self, rule: &Rule, child: &ChildRule, place: Place, stuck: Stuck) {
        self.unclear.extend(child.kinds.iter().map(Gvk::group_kind));
        if self.named.is_empty() {
            self.named = rule.children.iter().map(|child| Arc::clone(&child.id)).collect();
        }
        self.stuck.insert(place, stuck);
    }

    fn decide<'a>(&mut self, child: &'a ChildRule, view: &View<'a>, decision: Decision) {
        view.decide(&child.id, decision);
        self.decisions.push(((Arc::clone(&child.id), view.keys()), decision));
    }

    /// Decides about one edit at one item.
    fn patch<'a>(
        &mut self,
        rule: &Rule,
        (child, patch): (&'a ChildRule, &PatchRule),
        frame: &Frame<'a>,
        observed: &Observed,
        setting: &Setting<'_>,
    ) {
        let view = &frame.view;
        let wanted =
            frame.wanted.clone().and_then(|wanted| Ok(wanted && wants(child, view, setting)?));
        let made = match wanted {
            Ok(false) => Ok(None),
            Ok(true) if self.full.is_some() => self.has_room(&child.place).map(|()| None),
            Ok(true) => {
                let made = patch::patch(rule, (child, patch), view, observed, setting);
                self.targets.extend(made.target);
                made.patch.map(Some)
            }
            Err(stuck) => Err(stuck),
        };
        let decision = match made {
            Ok(None) => Decision::Unwanted,
            Ok(Some(made)) => match self.counted(weight(&made.wanted.object)) {
                Ok(()) => {
                    self.patches.push(made);
                    Decision::Wanted
                }
                Err(problem) => {
                    let stuck = Stuck::Failed(problem.at(child.place.clone()));
                    self.is_stuck(rule, child, view, stuck)
                }
            },
            Err(stuck) => self.is_stuck(rule, child, view, stuck),
        };
        self.decide(child, view, decision);
    }

    /// Counts one more object, of so many bytes.
    fn counted(&mut self, bytes: usize) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(bytes);
        let problem = if self.children.len() + self.patches.len() >= MOST_CHILDREN {
            let message = format!("the parent has more than {MOST_CHILDREN} children");
            Problem::new("too-many-children", message)
        } else if self.bytes > MOST_BYTES {
            let message =
                format!("the parent's objects are longer than {MOST_BYTES} bytes together");
            Problem::new("template-limit", message)
        } else {
            return Ok(());
        };
        self.full = Some(problem.clone());
        Err(problem)
    }

    /// Once there is too much, nothing more is rendered: that would only cost.
    fn has_room(&self, place: &SourcePlace) -> Result<(), Stuck> {
        let full = self.full.clone();
        full.map_or(Ok(()), |problem| Err(Stuck::Failed(problem.at(place.clone()))))
    }

    fn add(&mut self, rule: &Rule, child: &ChildRule, view: &View<'_>, objects: Vec<DesiredChild>) {
        for (nth, object) in objects.into_iter().enumerate() {
            let mut place = None;
            let problem = if let Err(problem) = self.counted(weight(&object.object)) {
                problem
            } else if self.ids.insert(object.id.clone()) {
                self.children.push(object);
                continue;
            } else {
                place = child::place_of_name(rule, child, view, nth);
                let other = self.children.iter().find(|other| other.id == object.id);
                let other = other.map_or_else(String::new, DesiredChild::name);
                let message = format!(
                    "`{}` renders {}, which `{other}` renders too",
                    object.name(),
                    object.id
                );
                Problem::new("same-object", message).hint("give one of them another name")
            };
            let place = place.unwrap_or_else(|| child.place.clone());
            let stuck = Stuck::Failed(problem.at(place));
            self.stuck.insert((Arc::clone(&child.id), view.keys()), stuck);
        }
    }
}

/// Whether the parent's labels, and those of its namespace, are such that the rule is for it.
fn selected(rule: &Rule, observed: &Observed) -> Result<bool, Stuck> {
    let labels = || observed.parent.stored.labels();
    if rule.parent.label_selector.as_ref().is_some_and(|selector| !selector.matches(&labels())) {
        return Ok(false);
    }
    let told = observed.inputs.selected.clone().unwrap_or(Ok(true));
    told.map_err(Stuck::Waiting)
}

/// Whoever reads an input that is not there waits for it.
fn held_up(reads: &[Read], inputs: &Inputs) -> Result<(), Stuck> {
    match inputs.missing_among(reads) {
        None => Ok(()),
        Some(what) => Err(Stuck::Waiting(format!("it waits for {what}"))),
    }
}

/// Whether a child should exist now; an error says what it waits for.
fn wants(child: &ChildRule, view: &View<'_>, setting: &Setting<'_>) -> Result<bool, Stuck> {
    if !holds(&child.when, view)? {
        return Ok(false);
    }
    if !setting.in_order {
        return Ok(true);
    }
    let missing = |need: &Need| view.missing(&need.id, need.until == Until::Ready);
    match child.needs.iter().find_map(missing) {
        Some(why) => Err(Stuck::Waiting(why)),
        None => Ok(true),
    }
}

fn holds(when: &[Comparison], view: &View<'_>) -> Result<bool, Stuck> {
    let verdict = view.evaluate(when);
    match verdict.truth {
        Truth::Holds => Ok(true),
        Truth::Fails => Ok(false),
        Truth::Unknown => Err(Stuck::Waiting(verdict.sentence)),
    }
}
