//! One pass: fetch, render, compare, act, status; and when to look again.
//!
//! In: what a request names. Out: [`Ended`] for the queue and a [`Report`] for people. Running it twice changes nothing.
//! Never here: what the steps do. A deleted parent never reaches render: garbage collection takes its children.

use crate::act::{Outcome, Remembered, Restraints, Trouble, act};
use crate::cluster::{Cluster, Deleted};
use crate::compare::{Memos, compare};
use crate::fetch::{ChildCache, Live, Observed, Owner, fetch};
use crate::marks::{self, Mark, annotation, hash64};
use crate::object::ObjectId;
use crate::queue::Lane;
use crate::refusal::{Class, Refusal};
use crate::render::{Desired, Setting, render};
use crate::report::Report;
use crate::rule::Rule;
use crate::scope::Scopes;
use crate::status::{self, Sent, Shape, StatusMemory};
use crate::store::{Store, Stored};
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub use crate::act::BACKSTOP;

/// What a pass works with.
pub struct Scene<'a> {
    /// The API server.
    pub cluster: &'a Cluster,
    /// The rule.
    pub rule: &'a Rule,
    /// The parent, as the cache has it.
    pub parent: Arc<Stored>,
    /// The cache it is in.
    pub parents: &'a Store,
    /// The caches of the kinds the rule creates.
    pub children: &'a [ChildCache],
    /// Which kinds live in a namespace.
    pub scopes: &'a Scopes,
    /// What the parent's status can hold.
    pub shape: Option<&'a Shape>,
    /// The installation, for the owner label.
    pub installation: &'a str,
}

/// What is remembered of a parent between passes. Losing it costs no write.
#[derive(Default)]
pub struct Memory {
    children: Memos,
    restraints: Restraints,
    status: StatusMemory,
}

/// How a pass ended.
#[derive(Default)]
pub struct Ended {
    /// When to look again.
    pub next: Next,
    /// What it found.
    pub report: Option<Report>,
    /// Objects that should be ours and are somebody else's.
    pub taken: Vec<ObjectId>,
    /// Whether the status was written: others may read it.
    pub told: bool,
    /// Declared status fields that the kind has no place for, as far as we know the kind.
    pub lacking: BTreeSet<String>,
    /// The server refused a status that should fit the kind.
    pub misfit: bool,
}

/// When to look again: both may be said, and the earlier counts. An event always counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Next {
    /// Something failed that may pass by itself: after the backoff.
    pub failed: bool,
    /// After this time, in this lane.
    pub look: Option<(Duration, Lane)>,
}

impl Next {
    const FAILED: Self = Self { failed: true, look: None };

    fn after(delay: Duration, lane: Lane) -> Self {
        Self { failed: false, look: Some((delay, lane)) }
    }

    fn at(moment: Option<Instant>) -> Self {
        let delay = |at: Instant| (at.saturating_duration_since(Instant::now()), Lane::Drift);
        Self { failed: false, look: moment.map(delay) }
    }

    fn and(self, other: Self) -> Self {
        let look = self.look.into_iter().chain(other.look).min();
        Self { failed: self.failed || other.failed, look }
    }
}

/// Runs one pass.
pub async fn reconcile(scene: &Scene<'_>, memory: &mut Memory) -> Ended {
    if is_own_child(scene) {
        return Ended::default();
    }
    if let Some(why) = left_alone(&scene.parent) {
        let report = Report::left_alone(&scene.rule.name, &scene.parent.id, why);
        return Ended { report: Some(report), ..Ended::default() };
    }
    let manager = marks::manager(&scene.rule.name, &scene.parent.id);
    let observed = scene.observe(&manager);
    let owner = Owner {
        rule: &scene.rule.name,
        parent: &scene.parent.id,
        uid: &scene.parent.uid,
        manager: &manager,
    };
    let now = Timestamp::now();
    let setting = Setting { scopes: scene.scopes, installation: scene.installation, now };
    let desired = render(scene.rule, &observed, &setting);
    let plan = compare(&desired, &observed, &mut memory.children, &owner);
    let plan = plan.checked(scene.children, &owner);
    let remembered = Remembered {
        memos: &mut memory.children,
        restraints: &mut memory.restraints,
        edition: edition(&scene.parent),
    };
    let outcome = act(scene.cluster, &plan, remembered, &owner, desired.may_prune()).await;
    scene.remember(&outcome);
    let changed = outcome.wrote().then(|| scene.observe(&manager));
    let after = changed.as_ref().unwrap_or(&observed);
    let mut said = status::compute(scene.rule, &desired, &outcome, after, now);
    let written = status::write(scene, &mut said, after, &mut memory.status, now).await;
    let next = after_outcome(&desired, &outcome)
        .and(after_status(&written.result))
        .and(Next::at(memory.status.retries()))
        .and(said.look_again.map_or(Next::default(), |at| Next::after(from(now, at), Lane::Drift)));
    let is_permanent = |refusal: &Refusal| refusal.class == Class::Permanent;
    Ended {
        next,
        report: Some(said.report),
        taken: taken(&desired, &outcome),
        told: matches!(written.result, Ok(Sent::Now)),
        lacking: written.lacking,
        misfit: written.result.as_ref().is_err_and(is_permanent)
            || memory.status.retries().is_some(),
    }
}

/// A rule that creates objects of its parents' kind would go on for ever if these were parents too.
fn is_own_child(scene: &Scene<'_>) -> bool {
    let mark = scene.parent.annotation(annotation::CHILD);
    mark.as_deref().and_then(Mark::parse).is_some_and(|mark| {
        *mark.rule == *scene.rule.name && mark.object == scene.parent.id.to_string()
    })
}

/// Why nothing is to be done about a parent, whatever its rule says.
fn left_alone(parent: &Stored) -> Option<&'static str> {
    let is_paused = || parent.annotation(annotation::PAUSED).as_deref() == Some("true");
    if parent.terminating {
        return Some("it is being deleted");
    }
    is_paused().then_some("it is paused")
}

/// What a person edits in a parent.
fn edition(parent: &Stored) -> u64 {
    let asked = parent.annotation(annotation::RECONCILE);
    hash64(format!("{:?} {asked:?}", parent.generation).as_bytes())
}

fn taken(desired: &Desired, outcome: &Outcome) -> Vec<ObjectId> {
    let all = desired.children.iter().zip(&outcome.children);
    let taken = all.filter(|(_, result)| matches!(result, Err(Trouble::NotOurs(_))));
    taken.map(|(child, _)| child.id.clone()).collect()
}

impl Scene<'_> {
    fn observe(&self, manager: &str) -> Observed {
        fetch(Arc::clone(&self.parent), self.children, &self.rule.name, manager)
    }

    /// The answer to our own status write.
    pub(crate) fn remember_parent(&self, live: &Live) {
        self.parents.observe(Stored::clone(&live.stored));
    }

    /// Our own writes' answers go into the caches at once, so that the next pass reads what this one wrote, and does not see
    /// what this one deleted.
    fn remember(&self, outcome: &Outcome) {
        for live in outcome.answers() {
            self.each_cache(&live.id, &|store| {
                store.observe(Stored::clone(&live.stored));
            });
        }
        for (id, result) in &outcome.pruned {
            self.each_cache(id, &|store| match result {
                Ok(Deleted::Gone(uid)) => {
                    store.gone(id, uid);
                }
                Ok(Deleted::Going(Some(stored))) => {
                    store.observe(Stored::clone(stored));
                }
                Ok(Deleted::Going(None)) | Err(_) => {}
            });
        }
    }

    fn each_cache(&self, id: &ObjectId, tell: &dyn Fn(&Store)) {
        for cache in self.children.iter().filter(|cache| cache.holds(id)) {
            tell(&cache.store);
        }
    }
}

/// When to look at the children again.
fn after_outcome(desired: &Desired, outcome: &Outcome) -> Next {
    let children = outcome.children.iter().filter_map(|result| result.as_ref().err());
    let pruned = outcome.pruned.iter().filter_map(|(_, result)| result.as_ref().err());
    let all = children.map(after_trouble).chain(pruned.map(after_write));
    // What waits may find now what it waits for.
    let waits = outcome.wrote() && desired.waiting().next().is_some();
    let waiting = if waits { Next::after(Duration::ZERO, Lane::Finish) } else { Next::default() };
    all.fold(waiting.and(Next::at(outcome.look_again)), Next::and)
}

fn after_trouble(trouble: &Trouble) -> Next {
    match trouble {
        // We may have missed how it became free. No request is sent before its time.
        Trouble::NotOurs(_) => Next::FAILED,
        // Whoever watches the lists wakes all parents when there is more to see; the time of the others comes with the
        // outcome.
        Trouble::Unseen(_) | Trouble::Held(_) | Trouble::Contested(_) => Next::default(),
        Trouble::Refused(refusal) => after_write(refusal),
    }
}

/// After a refused write or deletion of a child.
fn after_write(refusal: &Refusal) -> Next {
    match refusal.class {
        Class::Permanent
        | Class::Forbidden
        | Class::Unavailable
        | Class::NotServed
        | Class::Held(_) => Next::default(),
        Class::NotFound | Class::Stale | Class::Transient(_) => after_refusal(refusal),
    }
}

fn after_refusal(refusal: &Refusal) -> Next {
    match &refusal.class {
        Class::Permanent => Next::after(BACKSTOP, Lane::Drift),
        Class::Transient(Some(delay)) => Next::after(*delay, Lane::Drift),
        Class::NotFound
        | Class::Stale
        | Class::Held(_)
        | Class::Forbidden
        | Class::Unavailable
        | Class::NotServed
        | Class::Transient(None) => Next::FAILED,
    }
}

/// When to look at the status again. What is gone needs none; a rule may read the status that it wrote itself.
fn after_status(written: &Result<Sent, Refusal>) -> Next {
    match written {
        Ok(Sent::Same) | Err(Refusal { class: Class::NotFound, .. }) => Next::default(),
        Ok(Sent::Now) => Next::after(Duration::ZERO, Lane::Finish),
        Ok(Sent::Later(delay)) => Next::after(*delay, Lane::Finish),
        Err(refusal) => after_refusal(refusal),
    }
}

/// How long until a moment; one that has passed means now.
fn from(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}
