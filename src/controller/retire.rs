//! Lets go of the parents of a rule that was taken away, or that its new version does not reach any more.
//!
//! In: a rule that is no longer wanted, with its watches. Out: parents without our finalizer, and without the children that the
//! rule wanted deleted. It goes on until all is done, or the rule comes back. Never here: a rule that was only renamed.

use super::attach::Attached;
use super::sight::Sight;
use super::{Controller, lock};
use crate::object::ObjectId;
use crate::queue::{Backoff, random};
use crate::reconcile::{Memory, Next, retire};
use crate::rule::Rule;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// A moment for the watches to tell what became of it, then ever longer.
const AGAIN: Backoff = Backoff { base: Duration::from_millis(500), cap: Duration::from_mins(1) };

/// Starts to let go.
pub(super) fn start(controller: &Arc<Controller>, attached: Arc<Attached>) -> AbortHandle {
    let rule = &attached.rule;
    tracing::info!(rule = %rule.name, "the rule is gone: its parents are let go");
    tokio::spawn(run(Arc::downgrade(controller), attached, |_| true)).abort_handle()
}

/// The same for those parents alone that a rule does not reach which took the place of another. Nobody would hear of their
/// deletion any more, and so they would be held for ever.
pub(super) fn start_outside(
    controller: &Arc<Controller>,
    before: Arc<Attached>,
    rule: &Arc<Rule>,
) -> Option<AbortHandle> {
    if rule.parent.reaches_all_of(&before.rule.parent) {
        return None;
    }
    tracing::info!(rule = %rule.name, "the rule reaches fewer parents: the others are let go");
    let rule = Arc::clone(rule);
    let outside = move |parent: &ObjectId| !rule.parent.reaches(parent);
    Some(tokio::spawn(run(Arc::downgrade(controller), before, outside)).abort_handle())
}

async fn run(
    controller: Weak<Controller>,
    attached: Arc<Attached>,
    is_concerned: impl Fn(&ObjectId) -> bool,
) {
    let mut memories: BTreeMap<_, Memory> = BTreeMap::new();
    // One that was taken away while the program did not run is only now attached.
    while !attached.is_ready() {
        sleep(AGAIN.base).await;
    }
    for tries in 1_u32.. {
        let Some(controller) = controller.upgrade() else { return };
        // Of parents that cannot be seen none is known to be held.
        let mut done = attached.is_ready() || !attached.sees_parents();
        for parent in attached.each_parent().into_iter().filter(&is_concerned) {
            let memory = memories.entry(parent.clone()).or_default();
            done &= step(&controller, &attached, &parent, memory).await;
        }
        if done {
            done &= forgotten(&controller, &attached.rule).await;
        }
        drop(controller);
        if done {
            return;
        }
        sleep(AGAIN.delay(tries, random())).await;
    }
}

/// Takes the rule's record away, which is the last thing to do.
async fn forgotten(controller: &Controller, rule: &Rule) -> bool {
    let Some(records) = &controller.records else { return true };
    if !controller.shards.owns_shard(0) {
        // Others still let their parents go: one for all takes it away.
        return records.get(&rule.identity).is_none();
    }
    let removed = records.remove(&controller.any_writer().cluster, &rule.identity).await;
    if let Err(error) = &removed {
        tracing::warn!(rule = %rule.name, %error, "the record of a rule that is gone cannot be deleted yet");
    }
    removed.is_ok()
}

/// Whether nothing is left to do for a parent.
async fn step(
    controller: &Controller,
    attached: &Attached,
    id: &ObjectId,
    memory: &mut Memory,
) -> bool {
    let Some(found) = attached.parent(id) else { return true };
    // It sends nothing for the parents of others, who do the same for theirs.
    let sight = Sight::to_take_apart(controller, attached, found);
    let scene = sight.scene(controller, attached, &|_| false);
    retire(&scene, memory).await == Next::default()
}

impl Controller {
    /// Whether some rule is still being let go.
    pub(super) fn is_retiring(&self) -> bool {
        lock(&self.retiring).values().any(|task| !task.is_finished())
    }
}
