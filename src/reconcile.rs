//! One pass: fetch, render, compare, act, status; and when to look again.
//!
//! In: what a request names. Out: an [`Again`] for the queue and a [`Report`] for people. Running it twice changes nothing.
//! Never here: what the steps do. A deleted parent never reaches render: garbage collection takes its children.

use crate::act::{Outcome, Trouble, act};
use crate::cluster::Cluster;
use crate::compare::{Memos, compare};
use crate::fetch::{ChildCache, Live, Observed, Owner, fetch};
use crate::marks::{self, annotation};
use crate::queue::{Again, Lane};
use crate::refusal::{Class, Refusal};
use crate::render::{Desired, Setting, render};
use crate::report::Report;
use crate::rule::Rule;
use crate::scope::Scopes;
use crate::status::{self, Shape, StatusMemory, Written};
use crate::store::{Store, Stored};
use k8s_openapi::jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// A refusal that only a change can mend is looked at again this late, in case the change was none we watch.
const BACKSTOP: Duration = Duration::from_mins(30);

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
    status: StatusMemory,
}

/// How a pass ended.
pub struct Ended {
    /// When to look again.
    pub again: Again,
    /// What it found, unless it left the parent alone.
    pub report: Option<Report>,
}

/// Runs one pass.
pub async fn reconcile(scene: &Scene<'_>, memory: &mut Memory) -> Ended {
    let paused = scene.parent.annotation(annotation::PAUSED).as_deref() == Some("true");
    if scene.parent.terminating || paused {
        return Ended { again: Again::No, report: None };
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
    let outcome =
        act(scene.cluster, &plan, &mut memory.children, &owner, desired.may_prune()).await;
    scene.remember(&outcome);
    let changed = outcome.wrote().then(|| scene.observe(&manager));
    let after = changed.as_ref().unwrap_or(&observed);
    let said = status::compute(scene.rule, &desired, &outcome, after, now);
    let written = status::write(scene, &said, after, &mut memory.status, now).await;
    let again = soonest([
        after_outcome(&desired, &outcome),
        after_status(&written),
        said.look_again.map_or(Again::No, |at| Again::After(from(now, at), Lane::Drift)),
    ]);
    Ended { again, report: Some(said.report) }
}

impl Scene<'_> {
    fn observe(&self, manager: &str) -> Observed {
        fetch(Arc::clone(&self.parent), self.children, &self.rule.name, manager)
    }

    /// The answer to our own status write.
    pub(crate) fn remember_parent(&self, live: &Live) {
        self.parents.observe(Stored::clone(&live.stored));
    }

    /// Our own writes' answers go into the caches at once, so that the next pass reads what this one wrote.
    fn remember(&self, outcome: &Outcome) {
        for live in outcome.answers() {
            for cache in self.children.iter().filter(|cache| cache.holds(&live.id)) {
                cache.store.observe(Stored::clone(&live.stored));
            }
        }
    }
}

/// When to look at the children again.
fn after_outcome(desired: &Desired, outcome: &Outcome) -> Again {
    let children = outcome.children.iter().filter_map(|result| result.as_ref().err());
    let pruned = outcome.pruned.iter().filter_map(|(_, result)| result.as_ref().err());
    let of_children = children.map(after_trouble);
    let of_pruned = pruned.map(after_refusal);
    // What waits may find now what it waits for.
    let waits = outcome.wrote() && desired.waiting().next().is_some();
    let next = if waits { Again::After(Duration::ZERO, Lane::Finish) } else { Again::No };
    soonest(of_children.chain(of_pruned).chain([next]))
}

fn after_trouble(trouble: &Trouble) -> Again {
    match trouble {
        Trouble::Overtaken(_) => Again::After(Duration::ZERO, Lane::Finish),
        // Its holder may let it go without an event that we see: look again, ever more rarely.
        Trouble::NotOurs(_) | Trouble::Held(_) => Again::Failed,
        Trouble::Refused(refusal) => after_refusal(refusal),
    }
}

fn after_refusal(refusal: &Refusal) -> Again {
    match &refusal.class {
        Class::Permanent => Again::After(BACKSTOP, Lane::Drift),
        Class::Transient(Some(delay)) => Again::After(*delay, Lane::Drift),
        Class::NotFound
        | Class::Stale
        | Class::Held(_)
        | Class::Forbidden
        | Class::Unavailable
        | Class::Transient(None) => Again::Failed,
    }
}

/// When to look at the status again. What is gone needs none.
fn after_status(written: &Written) -> Again {
    match written {
        Written::Same | Written::Now | Written::Refused(Refusal { class: Class::NotFound, .. }) => {
            Again::No
        }
        Written::Later(delay) => Again::After(*delay, Lane::Finish),
        Written::Refused(refusal) => after_refusal(refusal),
    }
}

/// A failure counts as soonest: its backoff starts low.
fn soonest(all: impl IntoIterator<Item = Again>) -> Again {
    let mut soonest = Again::No;
    for again in all {
        soonest = match (soonest, again) {
            (Again::Failed, _) | (_, Again::Failed) => Again::Failed,
            (Again::No, other) | (other, Again::No) => other,
            (Again::After(left, lane), Again::After(right, other)) => {
                if right < left {
                    Again::After(right, other)
                } else {
                    Again::After(left, lane)
                }
            }
        };
    }
    soonest
}

/// How long until a moment; one that has passed means now.
fn from(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}
