//! Stands between a changed rule, or a changed input, and the parents it concerns.
//!
//! In: what passes would do. Out: which of it is done now: as [`Rollout`] and [`Budget`] say. Only rules with a record are
//! guarded: without one nobody could allow anything. Never here: a write to a child.

use super::attach::Attached;
use super::budget::{Answer, Budget, Cause, Census, Withheld};
use super::rollout::{Admission, Progress, Rollout};
use super::sight::Sight;
use super::{Controller, lock};
use crate::event::Reason;
use crate::fetch::Live;
use crate::marks::{annotation, edition};
use crate::object::ObjectId;
use crate::queue::Lane;
use crate::reconcile::{Ended, Extent, Gate, Next, foresee};
use crate::record::{self, Record};
use crate::refusal::{Class, Refusal};
use crate::report::State;
use crate::store::Stored;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

/// What stands between one rule and its parents.
#[derive(Default)]
pub(super) struct Guard {
    /// Whether the rule differs from what its parents have seen.
    pub(super) unsettled: bool,
    pub(super) rollout: Mutex<Option<Rollout>>,
    pub(super) budget: Mutex<Budget>,
    /// Held by whoever looks at all parents.
    looking: tokio::sync::Mutex<()>,
    pub(super) recorded: AtomicBool,
    /// Every parent has seen the rule, and what came of that is not settled yet.
    pub(super) seen: AtomicBool,
}

impl Guard {
    pub(super) fn new(unsettled: bool) -> Self {
        Self { unsettled, ..Self::default() }
    }

    /// Whether some parents have not seen the rule yet, or it has not begun.
    pub(super) fn is_unsettled(&self) -> bool {
        let rollout = lock(&self.rollout);
        match &*rollout {
            Some(rollout) => !rollout.is_over(),
            None => self.unsettled && !self.recorded.load(Ordering::Relaxed),
        }
    }

    /// How far the roll-out is, if there is one.
    pub(super) fn progress(&self) -> Option<Progress> {
        lock(&self.rollout).as_ref().map(Rollout::progress)
    }

    /// How many deletions are held back.
    pub(super) fn withheld(&self) -> usize {
        lock(&self.budget).withheld()
    }

    /// A parent is gone.
    pub(super) fn gone(&self, parent: &ObjectId) {
        if let Some(rollout) = lock(&self.rollout).as_mut() {
            rollout.gone(parent);
        }
        lock(&self.budget).cleared(parent);
    }

    /// Something that may change what these parents want has changed, and it is not the parents.
    pub(super) fn input_changed<'a>(&self, parents: impl IntoIterator<Item = &'a ObjectId>) {
        lock(&self.budget).suspect(parents.into_iter().cloned(), Cause::Input);
    }
}

impl Attached {
    /// Begins to guard those of the parents that become ours, if the rule or what it reads may have changed.
    pub(super) fn guard_parents(&self, controller: &Controller, ours: &dyn Fn(&ObjectId) -> bool) {
        let Some(records) = &controller.records else { return };
        let mut parents = self.each_parent_stored();
        parents.retain(|stored| ours(&stored.id));
        let ids = || parents.iter().map(|stored| stored.id.clone());
        let record = records.get(&self.rule.identity);
        let version = record::version(&self.rule);
        let seen =
            record.is_some_and(|record| record.settled == version && record.version == version);
        if self.guard.unsettled && !seen {
            tracing::info!(rule = %self.rule.name, parents = parents.len(), "the rule has changed: it is rolled out");
            let rate = controller.options.rollout_rate;
            let mut rollout = lock(&self.guard.rollout);
            let rollout = rollout.get_or_insert_with(|| Rollout::new(rate, Instant::now()));
            rollout.add(parents.iter().map(|stored| (stored.id.clone(), edition(stored))));
            lock(&self.guard.budget).suspect(ids(), Cause::Rule);
        } else if self.rule.reads_inputs() {
            // They may have changed while nobody watched.
            lock(&self.guard.budget).suspect(ids(), Cause::Input);
        }
    }

    /// Parents that are no longer ours are looked after by somebody else.
    pub(super) fn guard_no_longer(&self, theirs: impl Fn(&ObjectId) -> bool) {
        if let Some(rollout) = lock(&self.guard.rollout).as_mut() {
            rollout.let_go(theirs);
        }
    }

    /// The deletions that somebody allowed, or no longer allows, may have changed.
    pub(super) fn record_changed(&self) {
        let holds = {
            let mut budget = lock(&self.guard.budget);
            budget.stale();
            budget.withheld() > 0
        };
        if holds {
            self.wake_all();
        }
    }
}

/// One pass, as the guard sees it.
pub(super) struct Passing<'a> {
    controller: &'a Controller,
    attached: &'a Attached,
    parent: Arc<Stored>,
    /// Whether it asked to change something.
    changes: AtomicBool,
    withheld: AtomicBool,
    failed_before: bool,
}

impl<'a> Passing<'a> {
    /// Nothing for a rule that is not guarded now.
    pub(super) fn new(
        controller: &'a Controller,
        attached: &'a Attached,
        parent: &Arc<Stored>,
    ) -> Option<Self> {
        controller.records.as_ref().filter(|records| records.is_on())?;
        let pending = lock(&attached.guard.rollout).as_ref().map(|all| all.is_pending(&parent.id));
        if pending.is_none() && !lock(&attached.guard.budget).is_suspect(&parent.id) {
            return None;
        }
        Some(Self {
            controller,
            attached,
            parent: Arc::clone(parent),
            changes: AtomicBool::new(false),
            withheld: AtomicBool::new(false),
            failed_before: pending == Some(true) && is_stalled(parent),
        })
    }

    /// The pass is over.
    pub(super) fn ended(&self, ended: &Ended) {
        if ended.extent == Extent::Deferred {
            return;
        }
        let id = &self.parent.id;
        if matches!(ended.extent, Extent::All | Extent::Same)
            && !self.withheld.load(Ordering::Relaxed)
        {
            lock(&self.attached.guard.budget).cleared(id);
        }
        let mut rollout = lock(&self.attached.guard.rollout);
        let Some(rollout) = rollout.as_mut() else { return };
        let failed = ended.report.as_ref().is_some_and(|report| report.state == State::Failed);
        let changed = self.changes.load(Ordering::Relaxed);
        rollout.passed(id, changed, failed, self.failed_before);
        if let Some(news) = rollout.news() {
            self.controller.tell_progress(self.attached, &news);
        }
    }

    fn admission(&self) -> Admission {
        let edition = edition(&self.parent);
        let mut rollout = lock(&self.attached.guard.rollout);
        let rollout = rollout.as_mut();
        rollout.map_or(Admission::Go, |all| all.admit(&self.parent.id, edition, Instant::now()))
    }

    fn ask(&self, doomed: &[ObjectId]) -> Answer {
        let edition = edition(&self.parent);
        let mut budget = lock(&self.attached.guard.budget);
        budget.ask(&self.parent.id, edition, doomed, Instant::now())
    }

    /// Looks at all parents first if nobody did since the last change.
    async fn answer(&self, doomed: &[ObjectId]) -> Answer {
        if let answer @ (Answer::All | Answer::Not(_)) = self.ask(doomed) {
            return answer;
        }
        let _alone = self.attached.guard.looking.lock().await;
        // Somebody else may have looked while we waited.
        if let answer @ (Answer::All | Answer::Not(_)) = self.ask(doomed) {
            return answer;
        }
        self.controller.look_at_all(self.attached).await;
        self.ask(doomed)
    }

    async fn withheld(&self, doomed: &[ObjectId]) -> BTreeMap<ObjectId, Refusal> {
        let refusal = |message: String| Refusal { class: Class::Withheld, message };
        let withheld: BTreeMap<_, _> = match self.answer(doomed).await {
            Answer::All => return BTreeMap::new(),
            Answer::Not(withheld) => {
                let why = |(id, withheld): (ObjectId, Withheld)| {
                    (id, refusal(self.controller.why_withheld(self.attached, &withheld)))
                };
                withheld.into_iter().map(why).collect()
            }
            // What all parents want changed while they were looked at.
            Answer::Unknown => {
                let refusal = Refusal::stale("what else would be deleted has changed meanwhile");
                doomed.iter().map(|id| (id.clone(), refusal.clone())).collect()
            }
        };
        self.withheld.store(true, Ordering::Relaxed);
        withheld
    }
}

impl Gate for Passing<'_> {
    fn admit(&self) -> Result<(), Next> {
        match self.admission() {
            Admission::Go => {
                self.changes.store(true, Ordering::Relaxed);
                Ok(())
            }
            Admission::Later(delay) | Admission::Halted(delay) => {
                Err(Next::after(delay, Lane::Bulk))
            }
        }
    }

    fn withholds<'a>(
        &'a self,
        doomed: &'a [ObjectId],
    ) -> BoxFuture<'a, BTreeMap<ObjectId, Refusal>> {
        self.withheld(doomed).boxed()
    }
}

/// Whether a parent's own status says that it fails.
fn is_stalled(parent: &Arc<Stored>) -> bool {
    let live = Live::new(Arc::clone(parent));
    let conditions = live.value().pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let text = |key: &str| condition.get(key).and_then(Value::as_str);
        text("type").is_some_and(|kind| kind.ends_with("Stalled")) && text("status") == Some("True")
    })
}

/// What is told of a roll-out that stands still.
const HALTED: &str = "the roll-out of the rule stands still, since too many parents fail that did not before they saw it; mend \
                      the rule, or the parents";

impl Controller {
    fn tell_progress(&self, attached: &Attached, news: &Progress) {
        let Progress { parents, pending, changed, failing, halted } = *news;
        let rule = &attached.rule;
        if !halted {
            tracing::info!(rule = %rule.name, parents, pending, changed, failing, "the rule is being rolled out");
            return;
        }
        tracing::error!(rule = %rule.name, parents, pending, changed, failing, "{HALTED}");
        self.tell_on_record(&rule.identity, Reason::RolloutHalted, HALTED);
    }

    fn tell_on_record(&self, identity: &str, reason: Reason, note: &str) {
        let event = self.records.as_ref().and_then(|all| all.event(identity, reason, note));
        self.any_writer().teller.tell(event.into_iter().collect());
    }

    /// What a person reads on a parent: the same for all of them, and for as long as it holds.
    fn why_withheld(&self, attached: &Attached, withheld: &Withheld) -> String {
        let record = self.records.as_ref().map(|records| records.id(&attached.rule.identity));
        let record = record.map(|id| id.to_string()).unwrap_or_default();
        format!(
            "since the rule or an input changed, more objects of `{}` would go than may go unasked (5, or a tenth of them); \
             {record} says how to allow it",
            withheld.child
        )
    }

    /// Looks at all parents of a rule, and judges what would be deleted over all of them.
    async fn look_at_all(&self, attached: &Attached) {
        if !attached.sees_all_children() {
            // Who counts what is listed so far counts too little.
            return;
        }
        let mut census: BTreeMap<String, Census> = BTreeMap::new();
        for (at, id) in attached.each_parent().iter().enumerate() {
            if at % 16 == 15 {
                tokio::task::yield_now().await;
            }
            if !self.shards.owns(id) {
                continue;
            }
            let Some(sight) = Sight::of(self, attached, id) else { continue };
            let foreseen = foresee(&sight.scene(self, attached, &|_| false));
            for (child, object) in foreseen.objects {
                let census = census.entry(child).or_default();
                census.objects += 1;
                if let Some(uid) = foreseen.doomed.get(&object) {
                    census.doomed.insert(object, uid.clone());
                }
            }
        }
        let record = self.records.as_ref().and_then(|all| all.get(&attached.rule.identity));
        let allowed = record.and_then(|record| record.allowed);
        let news = {
            let mut budget = lock(&attached.guard.budget);
            budget.judge(census, allowed.as_deref(), Instant::now())
        };
        if let Some(news) = news {
            self.tell_withheld(attached, &news).await;
        }
    }

    /// Says what is held back in the log and, with the command that allows it, in the record.
    pub(super) async fn tell_withheld(&self, attached: &Attached, withheld: &[Withheld]) {
        let Some(records) = &self.records else { return };
        let identity = &attached.rule.identity;
        let id = records.id(identity);
        let line = |withheld: &Withheld| {
            let Withheld { child, doomed, objects, token } = withheld;
            format!(
                "{doomed} of {objects} objects of `{child}` would be deleted; to allow it: kubectl annotate configmap \
                 --overwrite -n {} {} {}={token}",
                id.namespace,
                id.name,
                annotation::ALLOW
            )
        };
        let lines: Vec<String> = withheld.iter().map(line).collect();
        for line in &lines {
            tracing::error!(rule = %attached.rule.name, "held back, since a rule or an input changed: {line}");
            self.tell_on_record(identity, Reason::DeletionWithheld, line);
        }
        let noted = records.update(&self.any_writer().cluster, identity, |before| {
            let now = before.cloned().unwrap_or_else(|| attached.record());
            Record { withheld: lines, ..now }
        });
        if let Err(error) = noted.await {
            tracing::warn!(rule = %attached.rule.name, %error, "what is held back could not be noted");
        }
    }
}
