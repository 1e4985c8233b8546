//! Lets go of the parents of a rule that was taken away.
//!
//! In: a rule that is no longer wanted, with its watches. Out: parents without our finalizer, and without the children that the
//! rule wanted deleted. It goes on until all is done, or the rule comes back. Never here: a rule that was only renamed.

use super::attach::Attached;
use super::{Controller, lock};
use crate::object::ObjectId;
use crate::queue::{Backoff, random};
use crate::reconcile::{Memory, Next, Scene, retire};
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
    tokio::spawn(run(Arc::downgrade(controller), attached)).abort_handle()
}

async fn run(controller: Weak<Controller>, attached: Arc<Attached>) {
    let mut memories: BTreeMap<_, Memory> = BTreeMap::new();
    for tries in 1_u32.. {
        let Some(controller) = controller.upgrade() else { return };
        let mut done = true;
        for parent in attached.each_parent() {
            let memory = memories.entry(parent.clone()).or_default();
            done &= step(&controller, &attached, &parent, memory).await;
        }
        drop(controller);
        if done {
            return;
        }
        sleep(AGAIN.delay(tries, random())).await;
    }
}

/// Whether nothing is left to do for a parent.
async fn step(
    controller: &Controller,
    attached: &Attached,
    id: &ObjectId,
    memory: &mut Memory,
) -> bool {
    let Some((parents, parent)) = attached.parent(id) else { return true };
    let children = attached.children(controller.shards.of(id));
    let (scopes, targets) = (attached.scopes(), attached.targets());
    let scene = Scene {
        // It sends nothing for the parents of others, who do the same for theirs.
        cluster: &controller.writer(id).cluster,
        rule: &attached.rule,
        parent,
        parents: &parents,
        children: &children,
        inputs: &Arc::default(),
        targets: &targets,
        interested: &|_| false,
        scopes: &scopes,
        shape: None,
        installation: &controller.options.installation,
    };
    retire(&scene, memory).await == Next::default()
}

impl Controller {
    /// Whether some rule is still being let go.
    pub(super) fn is_retiring(&self) -> bool {
        lock(&self.retiring).values().any(|task| !task.is_finished())
    }
}
