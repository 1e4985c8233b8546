//! Carries out a plan; the only step that writes children.
//!
//! In: a [`Plan`]. Out: an [`Outcome`], one result per child: every refusal is in it, none is an error of the step.
//! Never here: a forced write without the version that was judged; a delete without uid and version; a forced create.

pub(crate) mod adopt;
pub(crate) mod patch;
pub(crate) mod regain;
pub(crate) mod remove;
mod repair;
mod restraint;
mod takeover;

pub use patch::Patched;
pub use restraint::{BACKSTOP, Restraints};

use crate::cluster::{Cluster, Deleted};
use crate::compare::{Action, Memo, Memos, Plan, Planned, Reason, memo_of};
use crate::fetch::{Live, Owner};
use crate::marks;
use crate::metrics::Metrics;
use crate::object::ObjectId;
use crate::owned;
use crate::refusal::{Class, HeldField, Refusal};
use crate::render::DesiredChild;
use crate::rule::{Adopt, OnImmutable};
use adopt::{Unexpected, taken};
use futures::StreamExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::time::Instant;

/// Children of one parent that are written at once.
const WRITES_AT_ONCE: usize = 8;

/// What became of a plan.
pub struct Outcome {
    /// One result per child of the plan, in its order.
    pub children: Vec<Result<Done, Trouble>>,
    /// Objects that were deleted, or why not.
    pub pruned: Vec<(ObjectId, Result<Deleted, Refusal>)>,
    /// Children that somebody else keeps changing, and which of their fields.
    pub contested: BTreeMap<ObjectId, Vec<HeldField>>,
    /// When a child that is left alone for now is to be looked at again.
    pub look_again: Option<Instant>,
}

/// What was done for one child.
pub enum Done {
    /// Nothing was to be done.
    Kept,
    /// The object as the server answered.
    Written(Box<Live>, Write),
    /// The object as the server has it: it is in order, only the cache did not know it yet.
    Found(Box<Live>),
    /// It was deleted, to be created anew when it is gone.
    Removed(Reason, ObjectId, Deleted),
    /// The object is being deleted by somebody; it is created anew when it is gone.
    WaitingGone,
}

/// Which kind of write it was; a label in logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// It did not exist.
    Created,
    /// It was there.
    Applied(Reason),
    /// It was there, and was nobody's.
    Adopted,
}

impl Write {
    /// One lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "create",
            Self::Adopted => "adopt",
            Self::Applied(reason) => reason.as_str(),
        }
    }
}

/// Why a child could not be brought to where it should be.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// An object of that name exists and is not ours.
    NotOurs(String),
    /// Whether it exists cannot be told: its kind is not served, or cannot be listed.
    Unseen(String),
    /// It is gone, and with it values that are not made anew while the parent lives.
    Lost(String),
    /// Fields the rule newly wants are held by other managers.
    Held(Vec<HeldField>),
    /// Others change these fields again and again: they are taken back ever more rarely.
    Contested(Vec<HeldField>),
    /// The server refused it.
    Refused(Refusal),
}

impl Trouble {
    /// Whether it only means that the object changed since it was judged.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Refused(Refusal { class: Class::Stale, .. }))
    }
}

impl Outcome {
    /// Whether anything was written or deleted.
    pub fn wrote(&self) -> bool {
        let written = |result: &Result<Done, Trouble>| {
            matches!(result, Ok(Done::Written(..) | Done::Removed(..)))
        };
        self.children.iter().any(written) || self.pruned.iter().any(|(_, result)| result.is_ok())
    }

    /// Whether every child is as it should be and every deletion was made.
    pub fn is_complete(&self) -> bool {
        self.children.iter().all(Result::is_ok)
            && self.pruned.iter().all(|(_, result)| result.is_ok())
    }

    /// What was deleted, or left behind.
    pub fn removals(&self) -> impl Iterator<Item = (&ObjectId, &Deleted)> {
        let pruned =
            self.pruned.iter().filter_map(|(id, result)| Some((id, result.as_ref().ok()?)));
        let removed = self.children.iter().filter_map(|result| match result {
            Ok(Done::Removed(_, id, deleted)) => Some((id, deleted)),
            _ => None,
        });
        pruned.chain(removed)
    }

    /// The objects that the server told us of, newer than the cache may be.
    pub fn answers(&self) -> impl Iterator<Item = &Live> {
        self.children.iter().filter_map(|result| match result {
            Ok(Done::Written(live, _) | Done::Found(live)) => Some(&**live),
            _ => None,
        })
    }
}

/// What an act remembers from pass to pass.
pub struct Remembered<'a> {
    /// Of each child that is in order.
    pub memos: &'a mut Memos,
    /// Of each child that is left alone for now.
    pub restraints: &'a mut Restraints,
    /// Of what a person edits in the parent.
    pub edition: u64,
}

/// Carries the plan out: creations and applies side by side, then, only if all of them went well, deletions.
pub async fn act(
    cluster: &Cluster,
    plan: &Plan<'_>,
    remembered: Remembered<'_>,
    owner: &Owner<'_>,
    may_prune: bool,
) -> Outcome {
    let Remembered { memos, restraints, edition } = remembered;
    let begun = Instant::now();
    restraints.begin(edition, plan, begun);
    let mut work = Vec::new();
    for planned in &plan.children {
        let held = restraints.holds(planned, owner.manager, begun);
        let memo = memos.get(&planned.child.id);
        work.push(async move {
            match held {
                Some(trouble) => (false, Err(trouble)),
                None => (true, one(cluster, planned, memo, owner).await),
            }
        });
    }
    let results: Vec<_> = futures::stream::iter(work).buffered(WRITES_AT_ONCE).collect().await;
    let now = Instant::now();
    let mut children = Vec::new();
    for (planned, (tried, result)) in plan.children.iter().zip(results) {
        if tried {
            tell(planned, &result, owner);
            count(&cluster.metrics, planned.child, &result);
            restraints.note(planned, &result, now);
        }
        if let Ok(Done::Written(live, _) | Done::Found(live)) = &result
            && let Some(memo) = memo_of(planned.child, live, owner.manager)
        {
            memos.insert(planned.child.id.clone(), memo);
        }
        children.push(result);
    }
    let mut pruned = Vec::new();
    if may_prune && children.iter().all(Result::is_ok) {
        for live in &plan.prune {
            let stays = live.mark.as_ref().is_some_and(|mark| mark.stays);
            let held = plan.withheld.get(&live.id).cloned();
            let held = held.or_else(|| restraints.holds_deletion(live, begun));
            let result = if let Some(refusal) = held {
                Err(refusal)
            } else {
                let result = remove::remove(cluster, live, stays).await;
                restraints.note_deletion(live, &result, Instant::now());
                result
            };
            pruned.push((live.id.clone(), result));
        }
    }
    // What became due meanwhile was not tried.
    let look_again = restraints.look_again(begun);
    Outcome { children, pruned, contested: restraints.contested(now), look_again }
}

/// For who runs us; who uses us reads the conditions of the parent.
fn tell(planned: &Planned<'_>, result: &Result<Done, Trouble>, owner: &Owner<'_>) {
    let (rule, parent, object) = (owner.rule, owner.parent, &planned.child.id);
    match result {
        Ok(Done::Written(_, write)) => {
            tracing::debug!(rule, %parent, %object, reason = write.as_str(), "wrote a child");
        }
        Err(Trouble::Refused(refusal)) if !matches!(refusal.class, Class::Stale) => {
            tracing::warn!(rule, %parent, %object, error = %refusal, "a child is refused");
        }
        Ok(_) | Err(_) => {}
    }
}

/// Deletions of children that are not wanted are counted by [`remove`].
fn count(metrics: &Metrics, child: &DesiredChild, result: &Result<Done, Trouble>) {
    let (verb, reason) = match result {
        Ok(Done::Written(_, Write::Created)) => ("create", "created"),
        Ok(Done::Written(_, Write::Adopted)) => ("patch", "adopted"),
        Ok(Done::Written(_, Write::Applied(Reason::Intent))) => ("patch", "updated"),
        Ok(Done::Written(_, Write::Applied(Reason::Drift))) => ("patch", "repaired"),
        Ok(Done::Written(_, Write::Applied(Reason::Version))) => ("patch", "converted"),
        Ok(Done::Removed(..)) => ("delete", "recreated"),
        Ok(Done::Kept | Done::Found(_) | Done::WaitingGone) | Err(_) => return,
    };
    metrics.wrote(verb, &child.id.kind, reason);
}

async fn one(
    cluster: &Cluster,
    planned: &Planned<'_>,
    memo: Option<&Memo>,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    match (&planned.action, planned.live) {
        (Action::Keep, _) => Ok(Done::Kept),
        (Action::WaitGone, _) => Ok(Done::WaitingGone),
        (Action::Taken(_), _) if planned.child.policies.adopt == Adopt::Unowned => {
            create(cluster, planned.child, owner).await
        }
        (Action::Taken(why), _) => Err(Trouble::NotOurs(taken(planned.child, why))),
        (Action::Unseen(why), _) => Err(Trouble::Unseen(why.clone())),
        (Action::Apply(reason), Some(live)) => {
            apply(cluster, planned.child, live, *reason, memo, owner).await
        }
        (Action::Lost, _) => regain::regained(cluster, planned.child, owner).await,
        (Action::Withheld(refusal), _) => Err(Trouble::Refused(refusal.clone())),
        (Action::Recreate(reason), Some(live)) => {
            recreate(cluster, planned.child, live, *reason).await
        }
        (Action::Create | Action::Apply(_) | Action::Recreate(_), _) => {
            create(cluster, planned.child, owner).await
        }
    }
}

/// One call without a read: an apply with resourceVersion "1" creates an absent object and is refused on a present one
/// (DESIGN section 5, measured on 1.37). A refusal that may mean "present" costs one read before it is believed.
async fn create(
    cluster: &Cluster,
    child: &DesiredChild,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    let body = guarded(child.object.clone(), None, "1");
    let refusal = match cluster.apply(child, &body, owner.manager, false).await {
        Ok(stored) => return Ok(Done::Written(Box::new(Live::new(stored)), Write::Created)),
        Err(refusal) => refusal,
    };
    if !matches!(refusal.class, Class::Stale | Class::Held(_) | Class::Permanent) {
        return Err(Trouble::Refused(refusal));
    }
    match cluster.get(child).await {
        Err(Refusal { class: Class::NotFound, .. }) => Err(Trouble::Refused(refusal)),
        Err(unread) => Err(Trouble::Refused(unread)),
        Ok(stored) => found(cluster, child, Live::new(stored), owner).await,
    }
}

/// An object that the cache did not show.
async fn found(
    cluster: &Cluster,
    child: &DesiredChild,
    live: Live,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    match adopt::judged(child, &live, owner) {
        // No cache shows it, so that none would tell us when it is gone.
        Unexpected::Leaving => Err(Trouble::Refused(Refusal::stale("it is being deleted"))),
        Unexpected::NotOurs(why) => Err(Trouble::NotOurs(why)),
        Unexpected::Adopted => adopt::adopt(cluster, child, &live, owner).await,
        Unexpected::Ours(Action::Apply(reason)) => {
            apply(cluster, child, &live, reason, None, owner).await
        }
        Unexpected::Ours(Action::Recreate(reason)) => recreate(cluster, child, &live, reason).await,
        Unexpected::Ours(_) if child.generates => regain::shown(cluster, child, live, owner).await,
        Unexpected::Ours(_) => Ok(Done::Found(Box::new(live))),
    }
}

/// An apply, and around it what an apply cannot do by itself; each of that at most once.
async fn apply(
    cluster: &Cluster,
    child: &DesiredChild,
    live: &Live,
    reason: Reason,
    memo: Option<&Memo>,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    let refused = Trouble::Refused;
    let taken = takeover::before_apply(cluster, child, live, reason, memo, owner).await;
    let taken = taken.map_err(refused)?;
    let live = taken.as_ref().unwrap_or(live);
    let written = match write(cluster, child, live, reason, memo, owner).await {
        Err(Trouble::Refused(refusal)) => {
            let mended = repair::after_refusal(cluster, child, live, &refusal, owner).await;
            match mended.map_err(refused)? {
                Some(mended) => write(cluster, child, &mended, reason, memo, owner).await,
                None => Err(Trouble::Refused(refusal)),
            }
        }
        done => done,
    };
    let done = match written {
        // The server refuses the change. That the new object itself is valid must be known before the old one goes.
        Err(Trouble::Refused(refusal)) if may_recreate(child, &refusal) => {
            recreate(cluster, child, live, reason).await
        }
        written => written,
    }?;
    match done {
        Done::Written(live, _) if owned::emptied_to_null(&child.object, live.value()) => {
            write(cluster, child, &live, reason, memo, owner).await
        }
        done => Ok(done),
    }
}

async fn write(
    cluster: &Cluster,
    child: &DesiredChild,
    live: &Live,
    reason: Reason,
    memo: Option<&Memo>,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    let uid = &*live.stored.uid;
    let version = live.stored.resource_version.to_string();
    let body = child.body_beside(live, owner.manager);
    let forced = guarded(body.clone(), Some(uid), &version);
    let force = reason != Reason::Intent;
    let written = if force {
        cluster.apply(child, &forced, owner.manager, true).await
    } else {
        let fields = live.entry(owner.manager).and_then(|entry| entry.fields()).unwrap_or_default();
        let body = owned::spelled_as_found(body, &fields, live.value());
        match cluster.apply(child, &with_uid(body, uid), owner.manager, false).await {
            // Fields that were ours and that somebody changed meanwhile are drift; others are not ours to take.
            Err(Refusal { class: Class::Held(fields), .. }) => {
                let ours = |held: &HeldField| {
                    let applied = memo.is_some_and(|memo| memo.owned.fields.owns(&held.field));
                    applied || marks::is_ours(&held.field)
                };
                if !fields.iter().all(ours) {
                    return Err(Trouble::Held(fields));
                }
                cluster.apply(child, &forced, owner.manager, true).await
            }
            written => written,
        }
    };
    match written {
        Ok(stored) => Ok(Done::Written(Box::new(Live::new(stored)), Write::Applied(reason))),
        Err(refusal) => Err(Trouble::Refused(refusal)),
    }
}

fn may_recreate(child: &DesiredChild, refusal: &Refusal) -> bool {
    child.policies.on_immutable == OnImmutable::Recreate && refusal.class == Class::Permanent
}

/// Deletes a child, which is created anew when it is gone; only once the server has said that it would take the new one.
async fn recreate(
    cluster: &Cluster,
    child: &DesiredChild,
    live: &Live,
    reason: Reason,
) -> Result<Done, Trouble> {
    let gone = async {
        cluster.would_create(child).await?;
        remove::delete(cluster, live).await
    };
    gone.await
        .map(|deleted| Done::Removed(reason, live.id.clone(), deleted))
        .map_err(Trouble::Refused)
}

/// The body with the uid and version it must still have.
fn guarded(body: Value, uid: Option<&str>, version: &str) -> Value {
    let mut body = match uid {
        Some(uid) => with_uid(body, uid),
        None => body,
    };
    set_metadata(&mut body, "resourceVersion", version);
    body
}

fn with_uid(mut body: Value, uid: &str) -> Value {
    set_metadata(&mut body, "uid", uid);
    body
}

fn set_metadata(body: &mut Value, field: &str, value: &str) {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(field.to_owned(), json!(value));
    }
}
