//! One rule and the watches it hangs on.
//!
//! In: a rule. Out: the caches its passes read, and keys in the queue for every change that concerns them. Passes begin
//! when the first lists are complete. Never here: what a change means; that is for the pass.

use super::{Controller, Key, lock};
use crate::fetch::ChildCache;
use crate::marks::{Mark, annotation, label};
use crate::object::{Gvk, ObjectId};
use crate::queue::{Lane, Queue};
use crate::rule::Rule;
use crate::scope::{Scope, Scopes};
use crate::status::{Shape, shape_of};
use crate::store::{Change, Notice, Store, Stored, Subscription};
use crate::watch::{Kind, Watch, WatchKey};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::task::AbortHandle;

/// What is not known is asked for again after this, and then ever less often.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// One rule and the watches it hangs on. Dropping it ends its part in them.
pub(super) struct Attached {
    pub(super) rule: Arc<Rule>,
    ear: Arc<Ear>,
    shape: Mutex<Option<Arc<Shape>>>,
    parents: Mutex<Vec<Hold>>,
    children: Mutex<Vec<Hold>>,
    scopes: Mutex<Arc<Scopes>>,
    task: Mutex<Option<AbortHandle>>,
}

/// A watch and our ear at it. The subscription goes first.
struct Hold {
    _subscription: Subscription,
    watch: Watch,
}

/// What the watches call. It holds nothing that could end a subscription: that must not happen inside a call.
struct Ear {
    rule: Arc<str>,
    queue: Arc<Queue<Key>>,
    ready: AtomicBool,
}

impl Ear {
    /// Before the first lists are complete nothing is passed on: then every parent gets its pass anyway.
    fn wake(&self, parent: ObjectId, lane: Lane) {
        if self.ready.load(Ordering::Acquire) {
            self.queue.add(Key { rule: Arc::clone(&self.rule), parent }, lane);
        }
    }

    fn parent(&self, change: &Change) {
        self.wake(change.id.clone(), Lane::Edit);
    }

    /// Wakes the parent that the child's mark names.
    fn child(&self, change: &Change) {
        let stored = change.after.as_ref().or(change.before.as_ref());
        let mark = stored.and_then(|stored| stored.annotation(annotation::CHILD));
        let Some(mark) = mark.as_deref().and_then(Mark::parse) else { return };
        if *mark.rule == *self.rule
            && let Some(parent) = mark.parent_id()
        {
            self.wake(parent, Lane::Drift);
        }
    }
}

/// Starts attaching a rule. What the one before it created is watched on, so that what the new one does not name is pruned.
pub(super) fn attach(
    controller: &Arc<Controller>,
    rule: Arc<Rule>,
    before: Option<&Arc<Attached>>,
) -> Arc<Attached> {
    let ear = Ear {
        rule: Arc::clone(&rule.name),
        queue: Arc::clone(&controller.queue),
        ready: AtomicBool::new(false),
    };
    let attached = Arc::new(Attached {
        rule,
        ear: Arc::new(ear),
        shape: Mutex::default(),
        parents: Mutex::default(),
        children: Mutex::default(),
        scopes: Mutex::default(),
        task: Mutex::default(),
    });
    let mut kinds: BTreeSet<Gvk> = attached.rule.kinds().cloned().collect();
    if let Some(before) = before {
        let held = lock(&before.children);
        kinds.extend(held.iter().map(|hold| hold.watch.key().resource.gvk.clone()));
    }
    let unknown = Unknown {
        parent: Some(attached.rule.parent.gvk.clone()),
        shape: attached.rule.status.is_some(),
        children: kinds,
        told: BTreeMap::new(),
    };
    let work = run(Arc::downgrade(controller), Arc::downgrade(&attached), unknown, before.cloned());
    *lock(&attached.task) = Some(tokio::spawn(work).abort_handle());
    attached
}

impl Attached {
    /// Whether the first lists are complete.
    pub(super) fn is_ready(&self) -> bool {
        self.ear.ready.load(Ordering::Acquire)
    }

    /// A parent, and the cache it is in.
    pub(super) fn parent(&self, id: &ObjectId) -> Option<(Arc<Store>, Arc<Stored>)> {
        let parents = lock(&self.parents);
        let mut stores = parents.iter().map(|hold| hold.watch.store());
        stores.find_map(|store| Some((Arc::clone(store), store.get(id)?)))
    }

    pub(super) fn children(&self) -> Vec<ChildCache> {
        let cache = |hold: &Hold| ChildCache {
            namespace: hold.watch.key().namespace.clone(),
            store: Arc::clone(hold.watch.store()),
        };
        lock(&self.children).iter().map(cache).collect()
    }

    pub(super) fn scopes(&self) -> Arc<Scopes> {
        Arc::clone(&lock(&self.scopes))
    }

    /// What the parent's status can hold; nothing before that is known.
    pub(super) fn shape(&self) -> Option<Arc<Shape>> {
        lock(&self.shape).clone()
    }

    fn learn(&self, kind: &Kind) {
        let scope = if kind.resource.namespaced { Scope::Namespaced } else { Scope::Cluster };
        let mut scopes = lock(&self.scopes);
        let mut known = Scopes::clone(&scopes);
        known.learn(kind.resource.gvk.group_kind(), scope);
        *scopes = Arc::new(known);
    }

    /// One key per namespace the rule is confined to, or one for all.
    fn keys(&self, kind: &Kind, labels: Option<&str>) -> Vec<WatchKey> {
        let key = |namespace: Option<&String>| WatchKey {
            resource: kind.resource.clone(),
            namespace: namespace.cloned(),
            labels: labels.map(str::to_owned),
            managed_fields: true,
        };
        let namespaces = &self.rule.parent.namespaces;
        if namespaces.is_empty() || !kind.resource.namespaced {
            vec![key(None)]
        } else {
            namespaces.iter().map(|namespace| key(Some(namespace))).collect()
        }
    }

    fn each_parent(&self) -> Vec<ObjectId> {
        let parents = lock(&self.parents);
        parents
            .iter()
            .flat_map(|hold| hold.watch.store().all())
            .map(|stored| stored.id.clone())
            .collect()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

/// Attaches the rule, and goes on asking for what the API server does not tell yet. Ends when all is known, or when the rule
/// or the controller is gone. Until the new one holds the watches they share, `before` keeps them running.
async fn run(
    controller: Weak<Controller>,
    attached: Weak<Attached>,
    mut unknown: Unknown,
    mut before: Option<Arc<Attached>>,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(news) = ask(&controller, &attached, &mut unknown).await else { return };
        if news && unknown.parent.is_none() {
            drop(before.take());
            let Some(rule) = attached.upgrade() else { return };
            synced(&rule.parents).await;
            synced(&rule.children).await;
            rule.ear.ready.store(true, Ordering::Release);
            for parent in rule.each_parent() {
                rule.ear.wake(parent, Lane::Bulk);
            }
        }
        if unknown.is_empty() {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What the API server did not tell yet: a CustomResourceDefinition may be installed later, and its schema is published
/// a moment after it is served.
struct Unknown {
    parent: Option<Gvk>,
    shape: bool,
    children: BTreeSet<Gvk>,
    /// What was found missing before: each thing is told once, at the second try, since a new kind takes a moment.
    told: BTreeMap<String, bool>,
}

impl Unknown {
    fn is_empty(&self) -> bool {
        self.parent.is_none() && !self.shape && self.children.is_empty()
    }

    fn tell(&mut self, rule: &Rule, what: String) {
        match self.told.get_mut(&what) {
            None => drop(self.told.insert(what, false)),
            Some(told) if !*told => {
                tracing::warn!(rule = %rule.name, reason = what, "the rule waits for something");
                *told = true;
            }
            Some(_) => {}
        }
    }
}

/// Asks for everything that is unknown; tells whether anything was learned. `None` if nobody wants to know any more.
async fn ask(
    controller: &Weak<Controller>,
    attached: &Weak<Attached>,
    unknown: &mut Unknown,
) -> Option<bool> {
    let (controller, attached) = (controller.upgrade()?, attached.upgrade()?);
    let before = (unknown.parent.is_some(), unknown.shape, unknown.children.len());
    if unknown.parent.is_some() {
        attach_parents(&controller, &attached, unknown).await;
    }
    if unknown.shape && unknown.parent.is_none() {
        learn_shape(&controller, &attached, unknown).await;
    }
    attach_children(&controller, &attached, unknown).await;
    Some(before != (unknown.parent.is_some(), unknown.shape, unknown.children.len()))
}

async fn synced(holds: &Mutex<Vec<Hold>>) {
    let watches: Vec<Watch> = lock(holds).iter().map(|hold| hold.watch.clone()).collect();
    for watch in watches {
        watch.synced().await;
    }
}

async fn attach_parents(controller: &Controller, attached: &Attached, unknown: &mut Unknown) {
    let kind = match controller.cluster.kinds.resolve(&attached.rule.parent.gvk).await {
        Ok(kind) => kind,
        Err(error) => return unknown.tell(&attached.rule, error.to_string()),
    };
    unknown.parent = None;
    attached.learn(&kind);
    for key in attached.keys(&kind, None) {
        let hold = listen(controller.watches.watch(key), &attached.ear, Ear::parent);
        lock(&attached.parents).push(hold);
    }
}

async fn learn_shape(controller: &Controller, attached: &Attached, unknown: &mut Unknown) {
    match shape_of(&controller.cluster, &attached.rule).await {
        Ok(shape) => {
            unknown.shape = false;
            *lock(&attached.shape) = Some(Arc::new(shape));
        }
        Err(why) => unknown.tell(&attached.rule, why),
    }
}

async fn attach_children(controller: &Controller, attached: &Attached, unknown: &mut Unknown) {
    for gvk in unknown.children.clone() {
        let kind = match controller.cluster.kinds.resolve(&gvk).await {
            Ok(kind) => kind,
            Err(error) => {
                unknown.tell(&attached.rule, error.to_string());
                continue;
            }
        };
        unknown.children.remove(&gvk);
        attached.learn(&kind);
        let owner = format!("{}={}", label::OWNER, controller.options.installation);
        for key in attached.keys(&kind, Some(&owner)) {
            let hold = listen(controller.watches.watch(key), &attached.ear, Ear::child);
            lock(&attached.children).push(hold);
        }
    }
}

/// Passes changes on, except those that we made: the pass that made them has seen them.
fn listen(watch: Watch, ear: &Arc<Ear>, tell: fn(&Ear, &Change)) -> Hold {
    let ear = Arc::clone(ear);
    let subscription = watch.store().subscribe(move |notice| match notice {
        Notice::Changed(change) if !change.own => tell(&ear, change),
        _ => {}
    });
    Hold { _subscription: subscription, watch }
}
