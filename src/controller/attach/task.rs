//! The task that attaches one rule and goes on asking for what the API server does not offer yet.
//!
//! In: a rule that is not attached. Out: watches, a status shape, and a pass for every parent whenever there is more to
//! see than before. It ends with the rule. Never here: a strong reference over a wait without end, which would keep a
//! replaced rule alive.

use super::{Attached, Bells, Ear, unlisted};
use crate::controller::retire::start_outside;
use crate::controller::vanished::named_only;
use crate::controller::{Controller, lock};
use crate::fetch::ChildCache;
use crate::object::Gvk;
use crate::queue::{Backoff, Lane, random};
use crate::reach::Reach;
use crate::status::{Shape, shape_of};
use crate::store::Change;
use crate::watch::{KindError, Watch};
use futures::FutureExt;
use futures::future::{join_all, select_all};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often what the API server does not offer yet (a kind, its schema) is asked for again.
const ASK_AGAIN: Backoff =
    Backoff { base: Duration::from_millis(500), cap: Duration::from_mins(1) };

/// How long the first passes wait for a list that fails: less would make a hiccup at the start look like trouble.
const FIRST_LISTS: Duration = Duration::from_secs(5);

pub(super) struct Task {
    pub(super) controller: Weak<Controller>,
    pub(super) attached: Weak<Attached>,
    /// Keeps the watches that both share running until the new one holds them.
    pub(super) before: Option<Arc<Attached>>,
    /// Kinds of parents that are not watched yet.
    pub(super) parents: BTreeSet<Gvk>,
    /// Kinds of children that are not watched yet.
    pub(super) missing: BTreeSet<Gvk>,
    /// Kinds of what the rule edits without owning it that are not watched yet.
    pub(super) targets: BTreeSet<Gvk>,
    /// Positions of inputs that are not watched yet.
    pub(super) inputs: BTreeSet<usize>,
    /// How often the API server was asked in vain.
    pub(super) asked: u32,
    /// Status fields that somebody was warned of.
    pub(super) warned: BTreeSet<String>,
}

impl Task {
    pub(super) async fn run(mut self) {
        while !self.parents().await {
            if let Some(attached) = self.attached.upgrade() {
                attached.tried.store(true, Ordering::Relaxed);
            }
            self.pause().await;
        }
        self.children().await;
        self.inputs().await;
        self.targets().await;
        self.schema().await;
        self.let_go();
        self.first_lists().await;
        self.open();
        self.asked = 0;
        loop {
            let Some(bells) = self.bells() else { return };
            let (unlisted, lacks) = (self.unlisted(), self.lacks());
            let news = tokio::select! {
                news = self.ask_again(), if lacks => news,
                () = any_listed(&unlisted), if !unlisted.is_empty() => true,
                () = bells.doubt.notified(), if !lacks => self.ask_again().await,
                () = bells.changed.notified(), if !lacks => self.ask().await,
            };
            if news {
                self.asked = 0;
                self.wake_all();
            }
        }
    }

    /// The new one holds the watches that both share; what only the old one reaches is let go by a task of its own.
    fn let_go(&mut self) {
        let before = self.before.take();
        if let (Some(before), Some((controller, attached))) = (before, self.both()) {
            let letting_go = start_outside(&controller, before, &attached.rule);
            *lock(&attached.outside) = letting_go;
        }
    }

    /// Waits until it is time to ask again, or until somebody knows that there is something new.
    async fn pause(&mut self) {
        self.asked = self.asked.saturating_add(1);
        let Some(bells) = self.bells() else { return };
        tokio::select! {
            () = sleep(ASK_AGAIN.delay(self.asked, random())) => {}
            () = bells.changed.notified() => self.asked = 0,
        }
    }

    fn bells(&self) -> Option<Arc<Bells>> {
        Some(Arc::clone(&self.attached.upgrade()?.bells))
    }

    /// Watches the kinds of parents that are served from now on. Tells whether these are all.
    async fn parents(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return true };
        let rule = &attached.rule;
        let mut found = Vec::new();
        for gvk in self.parents.clone() {
            match controller.cluster.kinds.resolve(&gvk).await {
                Ok(kind) => found.push((gvk, kind)),
                Err(error) if self.asked == 0 => {
                    tracing::warn!(rule = %rule.name, %error, "the rule waits for its parent's kind: it begins once the CRD is there");
                }
                Err(_) => {}
            }
        }
        // Where one of them lives in no namespace, nothing can be confined to some.
        for (_, kind) in &found {
            attached.learn(kind);
        }
        for (gvk, kind) in found {
            for key in attached.parent_keys(&kind) {
                let hold = attached.listen(controller.watches.watch(key), Ear::parent);
                lock(&attached.parents).push(hold);
            }
            self.parents.remove(&gvk);
        }
        self.parents.is_empty()
    }

    /// Watches the inputs whose kinds are served, and the namespaces if the rule asks for their labels. Tells whether there
    /// are more than before.
    async fn inputs(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return false };
        let rule = &attached.rule;
        if rule.asks_for_namespaces() && lock(&attached.namespaces).is_none() {
            self.namespaces(&controller, &attached).await;
        }
        let mut news = false;
        for index in self.inputs.clone() {
            let Some(input) = rule.inputs.get(index) else { continue };
            match controller.cluster.kinds.resolve(&input.gvk).await {
                Ok(kind) => {
                    attached.learn(&kind);
                    let tell = move |ear: &Ear, change: &Change| ear.input(index, change);
                    let keys = attached.reached(|reach| reach.input(input, &kind)).into_iter();
                    let holds =
                        keys.map(|key| attached.listen(controller.watches.watch(key), tell));
                    let holds = holds.collect();
                    lock(&attached.inputs).insert(index, holds);
                    self.inputs.remove(&index);
                    news = true;
                }
                Err(error) if self.asked == 0 => {
                    tracing::warn!(rule = %rule.name, input = %input.id, %error, "an input's kind is not served");
                }
                Err(_) => {}
            }
        }
        news
    }

    /// Watches the kinds of what the rule edits, as far as they are served. Tells whether there are more than before.
    async fn targets(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return false };
        let mut news = false;
        for gvk in self.targets.clone() {
            match controller.cluster.kinds.resolve(&gvk).await {
                Ok(kind) => {
                    attached.learn(&kind);
                    let keys = attached.reached(|reach| reach.targets(&kind)).into_iter();
                    let watches = keys.map(|key| controller.watches.watch(key));
                    let holds = watches.map(|watch| attached.listen(watch, Ear::target)).collect();
                    lock(&attached.targets).insert(gvk.clone(), holds);
                    self.targets.remove(&gvk);
                    news = true;
                }
                Err(error) if self.asked == 0 => {
                    let rule = &attached.rule.name;
                    tracing::warn!(%rule, %error, "the kind of an object that is edited is not served");
                }
                Err(_) => {}
            }
        }
        news
    }

    async fn namespaces(&self, controller: &Controller, attached: &Attached) {
        let gvk = Gvk { group: String::new(), version: "v1".into(), kind: "Namespace".into() };
        let Ok(kind) = controller.cluster.kinds.resolve(&gvk).await else { return };
        let watch = controller.watches.watch(Reach::namespaces(&kind));
        let hold = attached.listen(watch, Ear::namespace);
        *lock(&attached.namespaces) = Some(hold);
    }

    /// Watches the kinds that are served, and leaves the others in `missing`. Tells whether there are more than before.
    async fn children(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return false };
        let mut news = false;
        for gvk in self.missing.clone() {
            match controller.cluster.kinds.resolve(&gvk).await {
                Ok(kind) => {
                    attached.learn(&kind);
                    // First known, then watched: a shard that comes meanwhile does the same in the other order.
                    lock(&attached.served).push(kind);
                    attached.watch_children(&controller);
                    lock(&attached.missing).remove(&gvk);
                    self.missing.remove(&gvk);
                    news = true;
                }
                Err(error) => Self::note_missing(&attached, gvk, &error),
            }
        }
        news
    }

    fn note_missing(attached: &Attached, gvk: Gvk, error: &KindError) {
        let nothing = ChildCache { trouble: Some(error.to_string()), ..ChildCache::unserved(&gvk) };
        if lock(&attached.missing).insert(gvk, nothing).is_none() {
            tracing::warn!(rule = %attached.rule.name, %error, "a kind of child is not served");
        }
    }

    /// Learns what the status of each kind of parents can hold. Tells whether that is more than before.
    async fn schema(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return false };
        if attached.rule.status.is_none() {
            return false;
        }
        let mut news = false;
        for gvk in &attached.rule.parent.kinds {
            news |= self.schema_of(gvk, &controller, &attached).await;
        }
        news
    }

    async fn schema_of(&mut self, gvk: &Gvk, controller: &Controller, attached: &Attached) -> bool {
        let rule = &attached.rule;
        if self.asked > 0 {
            // Whether there is a status subresource may have changed too.
            controller.cluster.kinds.forget(gvk);
        }
        let Ok(kind) = controller.cluster.kinds.resolve(gvk).await else {
            return false;
        };
        match shape_of(&controller.cluster, &kind).await {
            Ok(shape) => {
                let shape = Arc::new(shape);
                let before = lock(&attached.shapes).insert(gvk.group_kind(), Arc::clone(&shape));
                let news = before.as_ref() != Some(&shape);
                if let Some(lack) = shape.lack().filter(|_| news) {
                    tracing::warn!(rule = %rule.name, %gvk, "{lack}");
                }
                self.warn_of(attached, gvk, &shape);
                news
            }
            Err(error) => {
                // That it takes a moment after the kind was made is no news.
                if self.asked == 3 {
                    tracing::warn!(rule = %rule.name, %gvk, %error, "the kind's schema is not known, its status waits");
                }
                false
            }
        }
    }

    /// Says once of each declared field that the status has no place for it.
    fn warn_of(&mut self, attached: &Attached, gvk: &Gvk, shape: &Shape) {
        let lacking = lock(&attached.lacking);
        let lacking = lacking.get(&gvk.group_kind()).into_iter().flatten();
        for field in lacking.filter(|field| !shape.has(field)) {
            if self.warned.insert(field.clone()) {
                let rule = &attached.rule.name;
                tracing::warn!(%rule, %gvk, field, "the status has no such field, it is not written");
            }
        }
    }

    /// Whether something is to be asked for again.
    fn lacks(&self) -> bool {
        let Some(attached) = self.attached.upgrade() else { return false };
        let kinds = &attached.rule.parent.kinds;
        let shape = |gvk: &Gvk| attached.shape(&gvk.group_kind());
        let writable = |gvk| shape(gvk).is_some_and(|shape| shape.subresource);
        !self.missing.is_empty()
            || !self.inputs.is_empty()
            || !self.targets.is_empty()
            || (attached.rule.status.is_some() && !kinds.iter().all(writable))
    }

    async fn ask_again(&mut self) -> bool {
        self.pause().await;
        self.ask().await
    }

    async fn ask(&mut self) -> bool {
        let children = self.children().await;
        let inputs = self.inputs().await;
        let targets = self.targets().await;
        self.schema().await || children || inputs || targets
    }

    /// Waits for the first complete lists: of the parents in any case, of children as long as they do not fail.
    async fn first_lists(&self) {
        let Some(attached) = self.attached.upgrade() else { return };
        let parents: Vec<Watch> =
            lock(&attached.parents).iter().map(|hold| hold.watch.clone()).collect();
        let all = attached.watches();
        drop(attached);
        let begun = tokio::time::Instant::now();
        join_all(all.iter().map(Watch::tried)).await;
        let rest = FIRST_LISTS.saturating_sub(begun.elapsed());
        // Those that failed may come about yet.
        let _ = timeout(rest, join_all(all.iter().map(Watch::synced))).await;
        join_all(parents.iter().map(Watch::synced)).await;
    }

    fn unlisted(&self) -> Vec<Watch> {
        let watches = self.attached.upgrade().map(|attached| attached.watches());
        let mut watches = watches.unwrap_or_default();
        watches.retain(|watch| unlisted(watch).is_some());
        watches
    }

    fn open(&self) {
        if let Some((controller, attached)) = self.both() {
            attached.guard_parents(&controller, &|parent| controller.shards.owns(parent));
            attached.ear.open();
        }
        self.wake_all();
    }

    /// A pass for every parent, and for those that are remembered or named by children and may be gone.
    fn wake_all(&self) {
        let Some((controller, attached)) = self.both() else { return };
        attached.wake_all();
        let known = controller.remembered(&attached.rule.name);
        for parent in known.into_iter().chain(named_only(&attached)) {
            attached.ear.wake(parent, Lane::Bulk);
        }
    }

    fn both(&self) -> Option<(Arc<Controller>, Arc<Attached>)> {
        Some((self.controller.upgrade()?, self.attached.upgrade()?))
    }
}

async fn any_listed(watches: &[Watch]) {
    select_all(watches.iter().map(|watch| watch.synced().boxed())).await;
}
