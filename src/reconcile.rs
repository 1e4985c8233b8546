//! One pass: fetch, render, compare, act, status; and when to look again.
//!
//! In: what a request names. Out: [`Ended`] for the queue and a [`Report`] for people. Running it twice changes nothing.
//! Never here: what the steps do. A deleted parent never reaches render: garbage collection takes its children, or
//! [`dismantle`] where there are some that it does not reach.

pub(crate) mod dismantle;
pub(crate) mod finalizer;
mod foresee;
mod gate;
mod made;
mod next;
mod seen;

use crate::act::patch::{Patched, Patches, patch};
use crate::act::{Outcome, Remembered, Restraints, Trouble, act};
use crate::cluster::{Cluster, Deleted};
use crate::compare::{Memos, compare};
use crate::event::{self, Event, EventMemory, Fact};
use crate::fetch::{ChildCache, Edited, Live, Observed, Owner, fetch};
use crate::input::Inputs;
use crate::marks::{self, Mark, annotation, hash64};
use crate::object::{Gvk, ObjectId};
use crate::queue::Lane;
use crate::refusal::{Class, Refusal};
use crate::render::{Desired, Setting, render};
use crate::report::Report;
use crate::rule::{OnRuleRemoved, Rule};
use crate::scope::Scopes;
use crate::status::{self, Said, Sent, Shape, StatusMemory, Written};
use crate::store::{Store, Stored};
use dismantle::Cause;
use k8s_openapi::jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub use crate::act::BACKSTOP;
pub(crate) use foresee::foresee;
pub use gate::Gate;
pub use next::Next;
use next::{after_edits, after_outcome, after_refusal, after_status, by_time};
pub use seen::{Around, Seen};

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
    /// The objects that the rule only reads.
    pub inputs: &'a Arc<Inputs>,
    /// Where the objects are found that the rule edits without owning them.
    pub targets: &'a Arc<[ChildCache]>,
    /// Says which objects the parent edits; tells whether these are others than before.
    pub interested: &'a (dyn Fn(&BTreeSet<ObjectId>) -> bool + Sync),
    /// Which kinds live in a namespace.
    pub scopes: &'a Scopes,
    /// What the parent's status can hold.
    pub shape: Option<&'a Shape>,
    /// The installation, for the owner label.
    pub installation: &'a str,
    /// Asked before anything changes, as long as the rule or what it reads has changed.
    pub gate: Option<&'a dyn Gate>,
}

/// What is remembered of a parent between passes. Losing it costs no write.
#[derive(Default)]
pub struct Memory {
    children: Memos,
    restraints: Restraints,
    status: StatusMemory,
    patches: Patches,
    leaving: dismantle::Leaving,
    events: EventMemory,
    /// What the last pass saw, if it left nothing to do.
    seen: Option<Seen>,
}

/// How a pass ended.
#[derive(Default)]
pub struct Ended {
    /// When to look again.
    pub next: Next,
    /// What it found.
    pub report: Option<Report>,
    /// What is news to whoever looks at the parent.
    pub events: Vec<Event>,
    /// Objects that should be ours and are somebody else's.
    pub taken: Vec<ObjectId>,
    /// Whether the status was written: others may read it.
    pub told: bool,
    /// Declared status fields that the kind has no place for, as far as we know the kind.
    pub lacking: BTreeSet<String>,
    /// The server refused a status that should fit the kind.
    pub misfit: bool,
    /// How much of what is wanted was done.
    pub extent: Extent,
    /// Children of which somebody else keeps changing fields.
    pub contested: usize,
}

/// How much of what is wanted a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Something is left to do, or nothing was looked at.
    #[default]
    Part,
    /// Everything that was wanted is there, and everything that was not is deleted or being deleted.
    All,
    /// The gate did not let it change anything now; it is as if it had not been.
    Deferred,
    /// What it saw is what the last one saw, which left nothing to do.
    Same,
}

/// Runs one pass.
pub async fn reconcile(scene: &Scene<'_>, memory: &mut Memory) -> Ended {
    if is_own_child(&scene.parent, scene.rule) {
        return Ended::default();
    }
    if let Some(why) = left_alone(&scene.parent, scene.rule) {
        let report = Report::left_alone(&scene.rule.name, &scene.parent.id, why);
        return Ended { report: Some(report), ..Ended::default() };
    }
    if scene.parent.terminating {
        let ended = dismantle::dismantle(scene, &mut memory.leaving, Cause::ParentDeleted).await;
        return scene.tell_of_deletion(ended, &mut memory.events);
    }
    whole(scene, memory).await
}

/// One step of letting go of a parent because its rule is gone: its children go first if the rule wanted that, and in any
/// case what holds the parent. It is done when nothing is left to look at again.
pub async fn retire(scene: &Scene<'_>, memory: &mut Memory) -> Next {
    if scene.rule.on_rule_removed == OnRuleRemoved::Delete {
        return dismantle::dismantle(scene, &mut memory.leaving, Cause::RuleRemoved).await.next;
    }
    let released = finalizer::release_if_held(scene).await;
    released.err().map_or(Next::default(), |refusal| after_refusal(&refusal))
}

/// One step of taking away what a parent left behind that does not exist any more; something stands in for it. It is done when
/// nothing is left to look at again.
pub async fn clear(scene: &Scene<'_>, memory: &mut Memory) -> Next {
    dismantle::dismantle(scene, &mut memory.leaving, Cause::ParentDeleted).await.next
}

/// A pass for a parent that is there to stay.
async fn whole(scene: &Scene<'_>, memory: &mut Memory) -> Ended {
    let manager = marks::manager(&scene.rule.identity, &scene.parent.id);
    let observed = scene.observe(&manager);
    if memory.seen.as_ref().is_some_and(|seen| seen.is_same(scene.around(), &observed)) {
        return Ended { extent: Extent::Same, ..Ended::default() };
    }
    let owner = scene.owner(&manager);
    let now = Timestamp::now();
    let Some(desired) = scene.desired(&observed, now) else {
        return Ended { next: Next::FAILED, ..Ended::default() };
    };
    memory.events.look(&memory.children, &observed, &desired);
    let plan = compare(&desired, &observed, &mut memory.children, &owner);
    let mut plan = plan.checked(scene.children, &owner);
    if let Err(next) = gate::ask(scene.gate, &desired, &mut plan).await {
        return Ended { next, extent: Extent::Deferred, ..Ended::default() };
    }
    let held = finalizer::hold(scene, &desired).await;
    if let Err(refusal) = &held {
        // Whatever would be made now would be left behind, or go with the parent and come back with the next pass.
        if refusal.class == Class::NotFound {
            return Ended::default();
        }
        plan.withhold(refusal);
    }
    let (memos, restraints) = (&mut memory.children, &mut memory.restraints);
    let remembered = Remembered { memos, restraints, edition: edition(scene) };
    let outcome = act(scene.cluster, &plan, remembered, &owner, desired.may_prune()).await;
    scene.remember(&outcome);
    let edits = match &held {
        Ok(()) => scene.edits(&desired, &observed, &mut memory.patches, &owner).await,
        Err(refusal) => Patched::refused(&desired.patches, refusal),
    };
    let wrote = outcome.wrote() || edits.wrote();
    let changed = wrote.then(|| scene.observe(&manager));
    let after = changed.as_ref().unwrap_or(&observed);
    let mut said = status::compute(scene.rule, &desired, (&outcome, &edits), after, now);
    let mut written = status::write(scene, &mut said, after, &mut memory.status, now).await;
    written.result = scene.told_of_parent(written.result);
    if let Err(refusal) = &written.result {
        scene.complain("its status", refusal);
    }
    let (did, told) = ((&outcome, &edits), (&said, &written));
    let (events, more) = scene.tell_of_pass(&desired, did, after, told, &mut memory.events);
    let next = after_outcome(scene.rule, &desired, &outcome, wrote)
        .and(after_edits(&edits))
        .and(more)
        .and(remembered_on_parent(scene, &desired, after).await)
        .and(after_status(&written.result))
        .and(Next::at(memory.status.retries()))
        .and(by_time(scene.rule, said.look_again, now));
    let is_permanent = |refusal: &Refusal| refusal.class == Class::Permanent;
    let all = desired.may_prune() && outcome.is_complete();
    let rests = all && !wrote && next == Next::default() && events.is_empty();
    memory.seen = if rests { Seen::of(scene.around(), after) } else { None };
    Ended {
        next,
        // Of what is none of the rule's parents there is nothing to tell once nothing of it is left.
        report: Some(said.report)
            .filter(|report| !desired.unselected || !report.children.is_empty()),
        events,
        taken: taken(&desired, &outcome),
        told: matches!(written.result, Ok(Sent::Now)),
        lacking: written.lacking,
        contested: outcome.contested.len(),
        misfit: written.result.as_ref().is_err_and(is_permanent)
            || memory.status.retries().is_some(),
        extent: if all { Extent::All } else { Extent::Part },
    }
}

/// What a pass leaves on the parent besides its status.
async fn remembered_on_parent(scene: &Scene<'_>, desired: &Desired, after: &Observed) -> Next {
    // What it edits may have changed before somebody was told to watch it.
    let unwatched = (scene.interested)(&desired.targets);
    let again = if unwatched { Next::after(Duration::ZERO, Lane::Finish) } else { Next::default() };
    let noted = made::note(scene, desired, after).await;
    let released = finalizer::release_unneeded(scene, desired, after).await;
    let refusals = [("its annotation", noted), ("its finalizer", released)];
    let refusals = refusals.into_iter().filter_map(|(what, done)| Some((what, done.err()?)));
    refusals.fold(again, |next, (what, refusal)| {
        scene.complain(what, &refusal);
        next.and(after_refusal(&refusal))
    })
}

/// A rule that creates objects of its parents' kind would go on for ever if these were parents too.
pub(crate) fn is_own_child(parent: &Stored, rule: &Rule) -> bool {
    let mark = parent.annotation(annotation::CHILD);
    mark.as_deref()
        .and_then(Mark::parse)
        .is_some_and(|mark| *mark.rule == *rule.identity && mark.object == parent.id.to_string())
}

/// Why nothing is to be done about a parent, whatever its rule says.
pub(crate) fn left_alone(parent: &Stored, rule: &Rule) -> Option<&'static str> {
    let is_paused = || parent.annotation(annotation::PAUSED).as_deref() == Some("true");
    if parent.terminating && !finalizer::is_held(parent, rule) {
        return Some("it is being deleted");
    }
    is_paused().then_some("it is paused")
}

/// What a person edits in a parent; and when a missing right came, everything is worth another try too.
fn edition(scene: &Scene<'_>) -> u64 {
    let (parent, came) = (&scene.parent, scene.cluster.missing.came());
    let asked = parent.annotation(annotation::RECONCILE);
    hash64(format!("{:?} {asked:?} {came}", parent.generation).as_bytes())
}

fn taken(desired: &Desired, outcome: &Outcome) -> Vec<ObjectId> {
    let all = desired.children.iter().zip(&outcome.children);
    let taken = all.filter(|(_, result)| matches!(result, Err(Trouble::NotOurs(_))));
    taken.map(|(child, _)| child.id.clone()).collect()
}

impl Scene<'_> {
    /// Nothing if there is no randomness: a placeholder must never reach a cluster.
    fn desired(&self, observed: &Observed, now: Timestamp) -> Option<Desired> {
        Some(render(self.rule, observed, &self.setting(now, &randomness()?)))
    }

    fn around(&self) -> Around<'_> {
        let (rule, shape, scopes) = (self.rule, self.shape, self.scopes);
        Around { rule, shape, scopes, came: self.cluster.missing.came() }
    }

    /// Logs that a change of the parent itself is refused: where it is the status, no condition can say so.
    fn complain(&self, what: &'static str, refusal: &Refusal) {
        if !matches!(refusal.class, Class::NotFound | Class::Stale) {
            let (rule, parent) = (&self.rule.name, &self.parent.id);
            tracing::warn!(%rule, %parent, what, error = %refusal, "a change of a parent is refused");
        }
    }

    /// Whose children are looked for.
    fn owner<'o>(&'o self, manager: &'o str) -> Owner<'o> {
        let (rule, parent, uid) = (&self.rule.identity, &self.parent.id, &self.parent.uid);
        Owner { rule, parent, uid, manager }
    }

    fn setting<'s>(&'s self, now: Timestamp, randomness: &'s [u8; 32]) -> Setting<'s> {
        let (scopes, installation) = (self.scopes, self.installation);
        Setting { scopes, installation, now, in_order: true, randomness: Some(randomness) }
    }

    /// The parent's kind, in the version in which the rule speaks of it.
    pub(crate) fn parent_gvk(&self) -> &Gvk {
        let is = |gvk: &&Gvk| gvk.group_kind() == *self.parent.id.kind;
        self.rule.parent.kinds.iter().find(is).unwrap_or(self.rule.parent.gvk())
    }

    fn observe(&self, manager: &str) -> Observed {
        let parent = Arc::clone(&self.parent);
        let read = (Arc::clone(self.inputs), Arc::clone(self.targets));
        fetch(parent, self.children, read, &self.rule.identity, manager)
    }

    /// The answer to a write of the parent itself. That it does not exist is known from then on, however far behind its watch
    /// may be: nothing more is made for it.
    pub(crate) fn told_of_parent<T>(&self, answer: Result<T, Refusal>) -> Result<T, Refusal> {
        if let Err(Refusal { class: Class::NotFound, .. }) = &answer {
            self.parents.gone(&self.parent.id, &self.parent.uid);
        }
        answer
    }

    /// The answer to our own status write.
    pub(crate) fn remember_parent(&self, live: &Live) {
        self.parents.observe(Stored::clone(&live.stored));
    }

    /// What is to be told now, and when there may be more.
    fn tell(&self, facts: Vec<Fact>, memory: &mut EventMemory) -> (Vec<Event>, Next) {
        let now = (Timestamp::now(), Instant::now().into_std());
        let told = event::tell(self, facts, memory, now);
        let next = told.look_again.map_or(Next::default(), |delay| Next::after(delay, Lane::Drift));
        (told.events, next)
    }

    fn tell_of_pass(
        &self,
        desired: &Desired,
        (outcome, edits): (&Outcome, &Patched),
        after: &Observed,
        (said, written): (&Said, &Written),
        memory: &mut EventMemory,
    ) -> (Vec<Event>, Next) {
        let manager = &marks::manager(&self.rule.identity, &self.parent.id);
        let (rule, shape) = (self.rule, self.shape);
        let pass =
            event::Pass { rule, manager, shape, desired, outcome, edits, after, said, written };
        self.tell(event::of_pass(&pass, memory), memory)
    }

    fn tell_of_deletion(&self, ended: Ended, memory: &mut EventMemory) -> Ended {
        let observed = self.observe(&marks::manager(&self.rule.identity, &self.parent.id));
        let children = ended.report.as_ref().map(|report| &*report.children).unwrap_or_default();
        let facts = event::of_deletion(children, &observed);
        let (events, told) = self.tell(facts, memory);
        Ended { next: ended.next.and(told), events, ..ended }
    }

    /// Makes the edits that are wanted, and takes back the others. As for children, a mistake never looks like an absence.
    async fn edits(
        &self,
        desired: &Desired,
        observed: &Observed,
        patches: &mut Patches,
        owner: &Owner<'_>,
    ) -> Patched {
        let unwanted: Vec<&Edited> =
            desired.unwanted_edits(observed).filter(|_| desired.may_prune()).collect();
        let edition = edition(self);
        let made = patch(self.cluster, &desired.patches, &unwanted, patches, edition, owner).await;
        for live in made.answers() {
            let caches = self.targets.iter().filter(|cache| cache.holds(&live.id));
            for store in caches.map(|cache| &*cache.store).chain([self.parents]) {
                if *store.format().kind() == live.id.kind {
                    store.observe(Stored::clone(&live.stored));
                }
            }
        }
        made
    }

    /// Our own writes' answers go into the caches at once, so that the next pass reads what this one wrote, and does not see
    /// what this one deleted.
    fn remember(&self, outcome: &Outcome) {
        for live in outcome.answers() {
            self.each_cache(&live.id, &|store| {
                store.observe(Stored::clone(&live.stored));
            });
        }
        for (id, deleted) in outcome.removals() {
            self.remember_removal(id, deleted);
        }
    }

    /// The answer to a deletion.
    pub(crate) fn remember_removal(&self, id: &ObjectId, deleted: &Deleted) {
        self.each_cache(id, &|store| match deleted {
            Deleted::Gone(uid) => {
                store.gone(id, uid);
            }
            Deleted::Going(Some(stored)) => {
                store.observe(Stored::clone(stored));
            }
            Deleted::Going(None) => {}
        });
    }

    fn each_cache(&self, id: &ObjectId, tell: &dyn Fn(&Store)) {
        for cache in self.children.iter().filter(|cache| cache.holds(id)) {
            tell(&cache.store);
        }
    }
}

/// For values that are made once.
fn randomness() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok().map(|()| bytes)
}
