//! The children that should exist for one parent.
//!
//! In: a [`Rule`], [`Observed`]. Out: [`Desired`]: objects ready to be sent, and what cannot be said yet or at all.
//! Pure: no client, no clock, no environment. A mistake in one child leaves the others alone.

mod child;

pub use child::DesiredChild;

use crate::comparison::Truth;
use crate::fetch::{Live, Observed};
use crate::object::ObjectId;
use crate::problem::Problem;
use crate::rule::{ChildRule, Rule, Until};
use crate::scope::Scopes;
use crate::template::Failure;
use crate::view::View;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
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
}

/// What should exist.
#[derive(Default)]
pub struct Desired {
    /// The objects, in the order of the rule.
    pub children: Vec<DesiredChild>,
    /// Children whose objects are not known now, by id, and why.
    pub stuck: BTreeMap<Arc<str>, Stuck>,
    /// Ids of children whose `when` fails.
    pub unwanted: BTreeSet<Arc<str>>,
    /// Why nothing at all could be rendered.
    pub failed: Option<Problem>,
    /// What `let` came out as.
    pub let_value: Value,
    ids: BTreeSet<ObjectId>,
}

/// Why a child's objects are not known now.
#[derive(Clone, Debug, PartialEq)]
pub enum Stuck {
    /// Something does not exist yet, or is not ready yet.
    Waiting(String),
    /// A mistake, in the rule or in the parent.
    Failed(Problem),
}

impl Desired {
    /// Whether an object should exist.
    pub fn wants(&self, id: &ObjectId) -> bool {
        self.ids.contains(id)
    }

    /// Whether an object must stay although it is not wanted now: its child waits or failed.
    pub fn protects(&self, live: &Live) -> bool {
        live.mark.as_ref().is_none_or(|mark| self.stuck.contains_key(mark.child.as_str()))
    }

    /// Objects are pruned only if the whole parent rendered: a mistake must never look like an absence.
    pub fn may_prune(&self) -> bool {
        self.failed.is_none() && self.problems().next().is_none()
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
    pub fn waiting(&self) -> impl Iterator<Item = (&str, &str)> {
        self.stuck.iter().filter_map(|(child, stuck)| match stuck {
            Stuck::Waiting(why) => Some((&**child, why.as_str())),
            Stuck::Failed(_) => None,
        })
    }
}

/// Renders every child, in an order in which each finds what it needs decided.
pub fn render(rule: &Rule, observed: &Observed, setting: &Setting<'_>) -> Desired {
    let mut desired = Desired::default();
    let mut view = View::new(rule, observed, setting.now);
    if let Some(body) = &rule.let_body {
        match rule.templates.body(body, view.context()) {
            Ok(value) => view.set_let(Value::Object(value)),
            Err(failure) => {
                desired.failed = Some(whole(failure));
                return desired;
            }
        }
    }
    desired.let_value = view.let_value().clone();
    let concerned = view.evaluate(&rule.parent.when);
    for index in &rule.order {
        let child = &rule.children[*index];
        let wanted = match concerned.truth {
            Truth::Holds => wanted(child, &view),
            Truth::Fails => Ok(false),
            Truth::Unknown => Err(concerned.sentence.clone()),
        };
        match wanted {
            Err(why) => drop(desired.stuck.insert(Arc::clone(&child.id), Stuck::Waiting(why))),
            Ok(false) => {
                view.unwanted(&child.id);
                desired.unwanted.insert(Arc::clone(&child.id));
            }
            Ok(true) => match child::objects(rule, child, &view, observed, setting) {
                Ok(objects) => desired.add(child, objects),
                Err(stuck) => drop(desired.stuck.insert(Arc::clone(&child.id), stuck)),
            },
        }
    }
    let order: BTreeMap<_, _> = rule.children.iter().map(|child| &child.id).zip(0..).collect();
    desired.children.sort_by_key(|child| order.get(&child.child).copied().unwrap_or(usize::MAX));
    desired
}

impl Desired {
    fn add(&mut self, child: &ChildRule, objects: Vec<DesiredChild>) {
        for object in objects {
            if self.ids.insert(object.id.clone()) {
                self.children.push(object);
                continue;
            }
            let other = self.children.iter().find(|other| other.id == object.id);
            let other = other.map_or("another child", |other| &other.child);
            let message = format!("renders {}, which `{other}` renders too", object.id);
            let problem = Problem::new("same-object", message).at(child.place.clone());
            self.stuck.insert(Arc::clone(&child.id), Stuck::Failed(problem));
        }
    }
}

/// What fails in `let` fails for the whole parent; there is nothing yet that it could wait for.
fn whole(failure: Failure) -> Problem {
    match failure {
        Failure::Failed(problem) => problem,
        Failure::Waiting { what, place } => {
            Problem::new("let-waits", format!("`let` cannot wait for {what}")).at(place)
        }
    }
}

/// Whether a child should exist now; an error says what it waits for.
fn wanted(child: &ChildRule, view: &View<'_>) -> Result<bool, String> {
    let verdict = view.evaluate(&child.when);
    match verdict.truth {
        Truth::Holds => {}
        Truth::Fails => return Ok(false),
        Truth::Unknown => return Err(verdict.sentence),
    }
    for need in &child.needs {
        if let Some(why) = view.missing(&need.id, need.until == Until::Ready) {
            return Err(why);
        }
    }
    Ok(true)
}
