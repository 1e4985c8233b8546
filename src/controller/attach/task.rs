//! The task that attaches one rule and goes on asking for what the API server does not offer yet.
//!
//! In: a rule that is not attached. Out: watches, a status shape, and a pass for every parent whenever there is more to
//! see than before. It ends with the rule. Never here: a strong reference over a wait without end, which would keep a
//! replaced rule alive.

use super::{Attached, Bells, Ear, unlisted};
use crate::controller::{Controller, lock};
use crate::fetch::ChildCache;
use crate::marks::label;
use crate::object::Gvk;
use crate::queue::{Backoff, Lane, random};
use crate::status::{Shape, shape_of};
use crate::store::Store;
use crate::watch::{KindError, Watch};
use futures::FutureExt;
use futures::future::{join_all, select_all};
use std::collections::BTreeSet;
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
    /// Kinds of children that are not watched yet.
    pub(super) missing: BTreeSet<Gvk>,
    /// How often the API server was asked in vain.
    pub(super) asked: u32,
    /// Status fields that somebody was warned of.
    pub(super) warned: BTreeSet<String>,
}

impl Task {
    pub(super) async fn run(mut self) {
        while !self.parents().await {
            self.pause().await;
        }
        self.children().await;
        self.schema().await;
        drop(self.before.take());
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

    /// Whether the parent's kind is served, so that its objects are watched from now on.
    async fn parents(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return true };
        let rule = &attached.rule;
        let kind = match controller.cluster.kinds.resolve(&rule.parent.gvk).await {
            Ok(kind) => kind,
            Err(error) => {
                if self.asked == 0 {
                    tracing::warn!(rule = %rule.name, %error, "the rule waits for its parent's kind");
                }
                return false;
            }
        };
        attached.learn(&kind);
        for key in attached.keys(&kind, None) {
            let hold = attached.listen(controller.watches.watch(key), Ear::parent);
            lock(&attached.parents).push(hold);
        }
        true
    }

    /// Watches the kinds that are served, and leaves the others in `missing`. Tells whether there are more than before.
    async fn children(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return false };
        let mut news = false;
        for gvk in self.missing.clone() {
            match controller.cluster.kinds.resolve(&gvk).await {
                Ok(kind) => {
                    attached.learn(&kind);
                    let owner = format!("{}={}", label::OWNER, controller.options.installation);
                    for key in attached.keys(&kind, Some(&owner)) {
                        let hold = attached.listen(controller.watches.watch(key), Ear::child);
                        lock(&attached.children).push(hold);
                    }
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
        let nothing = ChildCache {
            namespace: None,
            store: Arc::new(Store::new(&gvk, false, None)),
            trouble: Some(error.to_string()),
        };
        if lock(&attached.missing).insert(gvk, nothing).is_none() {
            tracing::warn!(rule = %attached.rule.name, %error, "a kind of child is not served");
        }
    }

    /// Learns what the parent's status can hold. Tells whether that is more than before.
    async fn schema(&mut self) -> bool {
        let Some((controller, attached)) = self.both() else { return false };
        let rule = &attached.rule;
        if rule.status.is_none() {
            return false;
        }
        if self.asked > 0 {
            // Whether there is a status subresource may have changed too.
            controller.cluster.kinds.forget(&rule.parent.gvk);
        }
        let Ok(kind) = controller.cluster.kinds.resolve(&rule.parent.gvk).await else {
            return false;
        };
        match shape_of(&controller.cluster, &kind).await {
            Ok(shape) => {
                let shape = Some(Arc::new(shape));
                let before = std::mem::replace(&mut *lock(&attached.shape), shape.clone());
                let news = before != shape;
                if let Some(lack) = shape.as_deref().and_then(Shape::lack).filter(|_| news) {
                    tracing::warn!(rule = %rule.name, gvk = %rule.parent.gvk, "{lack}");
                }
                let has = |field: &String| shape.as_ref().is_some_and(|shape| shape.has(field));
                self.warn_of(&attached, &has);
                news
            }
            Err(error) => {
                // That it takes a moment after the kind was made is no news.
                if self.asked == 3 {
                    let gvk = &rule.parent.gvk;
                    tracing::warn!(rule = %rule.name, %gvk, %error, "the kind's schema is not known, its status waits");
                }
                false
            }
        }
    }

    /// Says once of each declared field that the status has no place for it.
    fn warn_of(&mut self, attached: &Attached, has: &dyn Fn(&String) -> bool) {
        for field in lock(&attached.lacking).iter().filter(|field| !has(field)) {
            if self.warned.insert(field.clone()) {
                let (rule, gvk) = (&attached.rule.name, &attached.rule.parent.gvk);
                tracing::warn!(%rule, %gvk, field, "the status has no such field, it is not written");
            }
        }
    }

    /// Whether something is to be asked for again.
    fn lacks(&self) -> bool {
        let Some(attached) = self.attached.upgrade() else { return false };
        let writable = || attached.shape().is_some_and(|shape| shape.subresource);
        !self.missing.is_empty() || (attached.rule.status.is_some() && !writable())
    }

    async fn ask_again(&mut self) -> bool {
        self.pause().await;
        self.ask().await
    }

    async fn ask(&mut self) -> bool {
        let children = self.children().await;
        self.schema().await || children
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
        if let Some(attached) = self.attached.upgrade() {
            attached.ear.open();
        }
        self.wake_all();
    }

    /// A pass for every parent, and for those that are remembered and may be gone.
    fn wake_all(&self) {
        let Some((controller, attached)) = self.both() else { return };
        let known = controller.remembered(&attached.rule.name);
        for parent in attached.each_parent().into_iter().chain(known) {
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
