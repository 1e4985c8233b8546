//! What a pass found that a person may want to know, whether it is news or not.
//!
//! In: what was desired, what came of it, what was said of it. Out: [`Fact`]s in the order in which they should be read. Pure.
//! Never here: whether something was told before.

use super::Reason;
use super::memory::EventMemory;
use super::rival::rivals;
use crate::act::patch::Patched;
use crate::act::{Done, Outcome, Trouble, Write};
use crate::cluster::Deleted;
use crate::fetch::{Live, Observed};
use crate::marks::hash64;
use crate::object::ObjectId;
use crate::refusal::{Class, HeldField, Refusal, Texts};
use crate::render::{Desired, DesiredChild, place_name};
use crate::report::{ChildReport, State};
use crate::rule::Rule;
use crate::status::{Condition, Conditions, Said, Shape, Status, Written, kind};
use serde_json::json;

/// Something that a person may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Why.
    pub reason: Reason,
    /// What it is told by, as long as it is the same fact: the text may change meanwhile.
    pub key: u64,
    /// A part of a sentence.
    pub text: String,
    /// How it is in time.
    pub when: When,
    /// Whether it is told although it may have been so before we looked for the first time.
    pub news: bool,
}

/// How a fact is in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In this pass.
    Happened,
    /// It holds until it is no longer found.
    Holds,
    /// The same, and only worth a word if it lasts.
    Lasting,
}

impl Fact {
    pub(super) fn new(reason: Reason, text: String, when: When) -> Self {
        let key = hash64(json!([reason.as_str(), text]).to_string().as_bytes());
        Self { reason, key, text, when, news: true }
    }

    /// The same fact as long as this is the same, whatever the text says.
    fn about(self, what: &str) -> Self {
        let key = hash64(json!([self.reason.as_str(), what, "about"]).to_string().as_bytes());
        Self { key, ..self }
    }
}

/// A pass that is over.
pub struct Pass<'a> {
    /// Its rule.
    pub rule: &'a Rule,
    /// The field manager of the children.
    pub manager: &'a str,
    /// What the parent's status can hold, if that is known.
    pub shape: Option<&'a Shape>,
    /// What should exist.
    pub desired: &'a Desired,
    /// What became of it.
    pub outcome: &'a Outcome,
    /// What became of the edits of objects that the rule does not own.
    pub edits: &'a Patched,
    /// What exists now.
    pub after: &'a Observed,
    /// What is to be said of it.
    pub said: &'a Said,
    /// Whether that could be said.
    pub written: &'a Written,
}

/// What a pass found.
pub fn of_pass(pass: &Pass<'_>, memory: &mut EventMemory) -> Vec<Fact> {
    let mut facts = Vec::new();
    done(pass, memory, &mut facts);
    troubles(pass, &mut facts);
    let problems = pass.desired.problems().chain(&pass.said.problems);
    facts.extend(
        problems.map(|problem| Fact::new(Reason::RenderFailed, problem.to_string(), When::Holds)),
    );
    if let Err(refusal) = &pass.written.result {
        let told = of_refusal(refusal, "the status");
        facts.extend(told.map(|fact| match fact.reason {
            Reason::Forbidden => fact,
            _ => Fact { reason: Reason::StatusRefused, ..fact },
        }));
    }
    let held: Vec<&Live> = held(pass.after).collect();
    facts.extend(held.iter().map(|live| deletion_held(live)));
    facts.extend(waiting(&pass.said.report.children, &held));
    if !has_conditions(pass) {
        let conditions = &pass.said.conditions;
        facts.extend(
            conditions.iter().filter_map(|one| condition(pass.rule, one, pass.outcome.wrote())),
        );
    }
    facts
}

/// What holds up the deletion of a parent.
pub fn of_deletion(children: &[ChildReport], observed: &Observed) -> Vec<Fact> {
    let held: Vec<&Live> = held(observed).collect();
    let facts = held.iter().map(|live| deletion_held(live)).collect::<Vec<_>>();
    facts.into_iter().chain(waiting(children, &held)).collect()
}

fn done(pass: &Pass<'_>, memory: &mut EventMemory, facts: &mut Vec<Fact>) {
    let Pass { desired, outcome, .. } = pass;
    for (child, result) in desired.children.iter().zip(&outcome.children) {
        let reason = match result {
            Ok(Done::Written(_, Write::Created)) if memory.was_there(&child.id) => {
                Reason::Recreated
            }
            Ok(Done::Written(_, Write::Created)) => Reason::Created,
            Ok(Done::Written(_, Write::Adopted)) => Reason::Adopted,
            _ => continue,
        };
        memory.is_there(&child.id);
        facts.push(Fact::new(reason, named(&child.name(), &child.id), When::Happened));
    }
    for (id, result) in &outcome.pruned {
        let reason = match result {
            Ok(Deleted::Going(Some(stored))) if !stored.terminating => Reason::LeftBehind,
            Ok(_) => Reason::Pruned,
            Err(_) => continue,
        };
        facts.push(Fact::new(reason, id.to_string(), When::Happened));
    }
}

fn troubles(pass: &Pass<'_>, facts: &mut Vec<Fact>) {
    let Pass { desired, outcome, edits, after, .. } = pass;
    for (child, result) in desired.children.iter().zip(&outcome.children) {
        let live = after.children.get(&child.id);
        let trouble = match (result, outcome.contested.get(&child.id)) {
            (Err(trouble), _) => trouble,
            (Ok(_), Some(fields)) => &Trouble::Contested(fields.clone()),
            (Ok(_), None) => continue,
        };
        facts.extend(of_trouble(child, live, pass.manager, trouble));
    }
    for (patch, result) in desired.patches.iter().zip(&edits.results) {
        if let Err(trouble) = result {
            let (child, live) = (&patch.wanted, Some(&patch.live));
            facts.extend(of_trouble(child, live, &patch.manager, trouble));
        }
    }
    for (id, result) in &outcome.pruned {
        if let Err(refusal) = result {
            facts.extend(of_refusal(refusal, &format!("{id} cannot be deleted")));
        }
    }
    for ((child, items), result) in &edits.removed {
        if let Err(refusal) = result {
            let what = format!("{}: the edit cannot be taken back", place_name(child, items));
            facts.extend(of_refusal(refusal, &what));
        }
    }
}

/// What may pass by itself is none: it is told when it lasts.
fn of_trouble(
    child: &DesiredChild,
    live: Option<&Live>,
    manager: &str,
    trouble: &Trouble,
) -> Option<Fact> {
    let name = child.name();
    let told = |reason, why: &str| Some(Fact::new(reason, format!("{name}: {why}"), When::Holds));
    let conflict = |fields: &[HeldField], how: &str| {
        let shown = child.texts == Texts::Shown && !child.generates;
        let text = rivals(child, live, manager, fields, shown);
        let text = format!("{} {how}: {text}", named(&name, &child.id));
        let mut over: Vec<String> =
            fields.iter().map(|held| format!("{} {}", held.field, held.holder)).collect();
        over.sort();
        let about = format!("{} {how} {}", child.id, over.join(" "));
        Some(Fact::new(Reason::Conflict, text, When::Holds).about(&about))
    };
    match trouble {
        Trouble::NotOurs(why) => told(Reason::NotOwned, why),
        Trouble::Lost(why) => told(Reason::Lost, why),
        Trouble::Held(fields) => conflict(fields, "is not written"),
        Trouble::Contested(fields) => conflict(fields, "is changed again and again"),
        Trouble::Unseen(_) => None,
        Trouble::Refused(refusal) => of_refusal(refusal, &name),
    }
}

fn of_refusal(refusal: &Refusal, what: &str) -> Option<Fact> {
    let reason = match refusal.class {
        Class::Permanent | Class::Held(_) => Reason::ChildFailed,
        Class::Forbidden => Reason::Forbidden,
        Class::Withheld => Reason::DeletionWithheld,
        Class::NotFound
        | Class::Stale
        | Class::Unavailable
        | Class::NotServed
        | Class::Transient(_) => return None,
    };
    Some(Fact::new(reason, format!("{what}: {refusal}"), When::Holds))
}

/// Objects that are being deleted and that somebody's finalizer holds.
fn held(observed: &Observed) -> impl Iterator<Item = &Live> {
    let is_held = |live: &&Live| live.stored.terminating && !live.stored.finalizers().is_empty();
    observed.children.values().filter(is_held)
}

fn deletion_held(live: &Live) -> Fact {
    let finalizers = live.stored.finalizers().join(", ");
    let text = format!("{} is being deleted and held by {finalizers}", live.id);
    Fact::new(Reason::DeletionHeld, text, When::Lasting)
}

/// Children that are on their way; each is the same fact whatever it waits for.
fn waiting<'a>(
    children: &'a [ChildReport],
    held: &'a [&'a Live],
) -> impl Iterator<Item = Fact> + 'a {
    let is_held = |child: &ChildReport| {
        held.iter().any(|live| child.object.as_ref().is_some_and(|object| *object == live.id))
    };
    let waits = move |child: &&ChildReport| child.state == State::InProgress && !is_held(child);
    children.iter().filter(waits).map(|child| {
        let text = format!("{}: {}", child.child, child.message);
        let object = child.object.as_ref().map(ToString::to_string).unwrap_or_default();
        let about = format!("{} {object}", child.child);
        Fact::new(Reason::Waiting, text, When::Lasting).about(&about)
    })
}

/// Whether the parent's own status tells how it stands. As long as nothing is known of its kind that is supposed.
fn has_conditions(pass: &Pass<'_>) -> bool {
    let can = |shape: &Shape| shape.subresource && shape.conditions != Conditions::Absent;
    pass.rule.status.is_some() && pass.shape.is_none_or(can)
}

/// A condition that nobody can read. Of Ready, Reconciling and Stalled one is true. Several rules may have one parent.
fn condition(rule: &Rule, condition: &Condition, wrote: bool) -> Option<Fact> {
    let Condition { kind: name, truth, reason, message } = condition;
    let (reason, text, news) = match name.as_str() {
        kind::READY | kind::RECONCILING | kind::STALLED if *truth != Status::True => return None,
        kind::READY => (Reason::Ready, message.clone(), wrote),
        // That there is something to do is told by what is done.
        kind::RECONCILING => (Reason::Reconciling, format!("{reason}: {message}"), false),
        kind::STALLED => (Reason::Stalled, format!("{reason}: {message}"), true),
        _ => {
            let text = format!("{name} is {}: {message}", truth.as_str());
            (Reason::Declared(reason.clone()), text, wrote)
        }
    };
    let text = format!("rule {}: {text}", rule.name);
    let about = format!("{name} {}", condition.reason);
    let about = format!("{about} {}", truth.as_str());
    Some(Fact { news, ..Fact::new(reason, text, When::Holds).about(&about) })
}

/// `config (ConfigMap shop/web-files)`.
fn named(name: &str, object: &ObjectId) -> String {
    format!("{name} ({object})")
}

#[cfg(test)]
mod tests;
