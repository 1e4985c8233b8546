//! One rule and the watches it hangs on.
//!
//! In: a rule. Out: the caches its passes read, and keys in the queue for every change that concerns them. Passes begin
//! when the first lists are complete; a kind that is not served or cannot be listed holds up only its own objects.
//! Never here: what a change means; that is for the pass.

mod ear;
mod task;

use super::guard::Guard;
use super::unseen::lane_of;
use super::{Controller, lock};
use crate::fetch::{ChildCache, Live};
use crate::input::{self, InputCaches, Inputs, Interests};
use crate::marks::{Mark, annotation};
use crate::metrics::RuleMetrics;
use crate::object::{GroupKind, Gvk, ObjectId};
use crate::queue::Lane;
use crate::reach::Reach;
use crate::record::{self, Record};
use crate::rule::Rule;
use crate::scope::{Scope, Scopes};
use crate::status::Shape;
use crate::store::{Change, ManagedFields, Notice, Store, Stored, Subscription};
use crate::watch::{Kind, Watch, WatchKey};
use ear::Ear;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use task::Task;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// One rule and the watches it hangs on. Dropping it ends its part in them.
pub(super) struct Attached {
    pub(super) rule: Arc<Rule>,
    pub(super) metrics: Arc<RuleMetrics>,
    ear: Arc<Ear>,
    /// What the status of each of its parents' kinds can hold, once that is known.
    shapes: Mutex<BTreeMap<GroupKind, Arc<Shape>>>,
    bells: Arc<Bells>,
    /// Declared status fields that the shape has no place for.
    lacking: Mutex<BTreeMap<GroupKind, BTreeSet<String>>>,
    parents: Mutex<Vec<Hold>>,
    /// Of each shard that is watched, by its number.
    children: Mutex<BTreeMap<usize, Vec<Hold>>>,
    /// The kinds of children that are served.
    served: Mutex<Vec<Arc<Kind>>>,
    /// Kinds of children that are not watched yet, each as a cache that knows nothing.
    missing: Mutex<BTreeMap<Gvk, ChildCache>>,
    /// The watches of inputs, by the position of the input.
    inputs: Mutex<BTreeMap<usize, Vec<Hold>>>,
    namespaces: Mutex<Option<Hold>>,
    /// The watches of what the rule edits without owning it.
    targets: Mutex<BTreeMap<Gvk, Vec<Hold>>>,
    /// Every kind of what this rule and those it replaced edit without owning it: edits that are no longer wanted are there.
    target_kinds: BTreeSet<Gvk>,
    /// Every kind of child of this rule and of those it replaced.
    kinds: BTreeSet<Gvk>,
    scopes: Mutex<Arc<Scopes>>,
    task: Mutex<Option<AbortHandle>>,
    pub(super) guard: Arc<Guard>,
    /// Its parents' kind was asked for in vain.
    tried: AtomicBool,
    /// Lets go of the parents that only the rule before this one reached.
    outside: Mutex<Option<AbortHandle>>,
}

/// What makes the task ask the API server again.
#[derive(Default)]
struct Bells {
    /// The shape may be out of date.
    doubt: Notify,
    /// Kinds came or changed: no need to be patient.
    changed: Notify,
}

/// A watch and our ear at it. The subscription goes first.
struct Hold {
    _subscription: Subscription,
    watch: Watch,
}

impl Hold {
    fn cache(&self) -> ChildCache {
        ChildCache {
            namespace: self.watch.key().namespace.clone(),
            store: Arc::clone(self.watch.store()),
            trouble: unlisted(&self.watch),
        }
    }
}

/// Starts attaching a rule. What the one before it created is watched on, so that what the new one does not name is pruned.
pub(super) fn attach(
    controller: &Arc<Controller>,
    rule: Arc<Rule>,
    before: Option<&Arc<Attached>>,
    record: Option<&Record>,
) -> Arc<Attached> {
    let recorded = |kinds: fn(&Record) -> &BTreeSet<record::Kind>| {
        record.into_iter().flat_map(kinds).filter_map(record::Kind::gvk).collect::<Vec<_>>()
    };
    let unsettled = before
        .is_some_and(|before| before.rule.hash != rule.hash || before.guard.is_unsettled())
        || record.is_some_and(|record| record.settled != record::version(&rule));
    let guard = Arc::new(Guard::new(unsettled));
    let mut kinds: BTreeSet<Gvk> = rule.kinds().cloned().collect();
    kinds.extend(before.iter().flat_map(|before| before.kinds.iter().cloned()));
    kinds.extend(recorded(|record| &record.children));
    let mut target_kinds: BTreeSet<Gvk> = rule.target_kinds().into_iter().cloned().collect();
    target_kinds.extend(before.iter().flat_map(|before| before.target_kinds.iter().cloned()));
    target_kinds.extend(recorded(|record| &record.targets));
    let attached = Arc::new(Attached {
        ear: Arc::new(Ear::new(&rule, controller, &guard)),
        metrics: controller.metrics.rule(&rule.name),
        rule,
        shapes: Mutex::default(),
        bells: Arc::default(),
        lacking: Mutex::default(),
        parents: Mutex::default(),
        children: Mutex::default(),
        served: Mutex::default(),
        missing: Mutex::default(),
        inputs: Mutex::default(),
        namespaces: Mutex::default(),
        targets: Mutex::default(),
        target_kinds,
        kinds,
        scopes: Mutex::default(),
        task: Mutex::default(),
        guard,
        tried: AtomicBool::new(false),
        outside: Mutex::default(),
    });
    let task = Task {
        controller: Arc::downgrade(controller),
        attached: Arc::downgrade(&attached),
        before: before.cloned(),
        parents: attached.rule.parent.kinds.iter().cloned().collect(),
        missing: attached.kinds.clone(),
        targets: attached.target_kinds.clone(),
        inputs: (0..attached.rule.inputs.len()).collect(),
        asked: 0,
        warned: BTreeSet::new(),
    };
    *lock(&attached.task) = Some(tokio::spawn(task.run()).abort_handle());
    attached
}

impl Attached {
    /// Whether the first lists are complete; before that a pass would see half of what there is.
    pub(super) fn is_ready(&self) -> bool {
        self.ear.is_ready()
    }

    /// What is missing before its passes can begin; nothing once they could.
    pub(super) fn is_starting(&self) -> bool {
        !self.is_ready() && !self.tried.load(Ordering::Relaxed)
    }

    /// What it waits for.
    pub(super) fn missing(&self) -> Vec<String> {
        if self.is_ready() {
            return Vec::new();
        }
        let parents = lock(&self.parents);
        let watched =
            |gvk: &&Gvk| parents.iter().any(|hold| hold.watch.key().resource.gvk == **gvk);
        let unserved = self.rule.parent.kinds.iter().filter(|gvk| !watched(gvk));
        let mut missing: Vec<String> =
            unserved.map(|gvk| format!("the parent's kind {gvk} is not served yet")).collect();
        missing.extend(parents.iter().filter_map(|hold| unlisted(&hold.watch)));
        if missing.is_empty() {
            missing.push("its first lists are not complete".into());
        }
        missing
    }

    /// A parent, and the cache it is in.
    pub(super) fn parent(&self, id: &ObjectId) -> Option<(Arc<Store>, Arc<Stored>)> {
        let parents = lock(&self.parents);
        let mut stores = parents.iter().map(|hold| hold.watch.store());
        stores.find_map(|store| Some((Arc::clone(store), store.get(id)?)))
    }

    /// Where the children of a shard's parents are.
    pub(super) fn children(&self, shard: usize) -> Vec<ChildCache> {
        let watched = lock(&self.children);
        let watched: Vec<_> = watched.get(&shard).into_iter().flatten().map(Hold::cache).collect();
        watched.into_iter().chain(lock(&self.missing).values().cloned()).collect()
    }

    /// Where the children of all parents are whose shards are watched.
    pub(super) fn all_children(&self) -> Vec<ChildCache> {
        let watched = lock(&self.children);
        let watched: Vec<_> = watched.values().flatten().map(Hold::cache).collect();
        watched.into_iter().chain(lock(&self.missing).values().cloned()).collect()
    }

    /// Whether the lists of all children are complete, as far as their kinds are served.
    pub(super) fn sees_all_children(&self) -> bool {
        lock(&self.children).values().flatten().all(|hold| hold.watch.store().synced())
    }

    /// Watches the children of every shard that is to be watched, as far as their kinds are served. Gives what is new.
    pub(super) fn watch_children(&self, controller: &Controller) -> Vec<Watch> {
        let (shards, installation) = (&controller.shards, &controller.options.installation);
        let served = lock(&self.served).clone();
        let mut new = Vec::new();
        for shard in shards.watched() {
            let selector = shards.selector(installation, shard);
            let keys =
                |kind: &Arc<Kind>| self.reached(|reach| reach.children_that(kind, &selector));
            for key in served.iter().flat_map(keys) {
                new.extend(self.watch_child(controller, shard, &key));
            }
        }
        new
    }

    /// Nothing is locked while it subscribes: a subscriber is called then.
    fn watch_child(&self, controller: &Controller, shard: usize, key: &WatchKey) -> Option<Watch> {
        let is_held = |children: &BTreeMap<usize, Vec<Hold>>| {
            let mut holds = children.get(&shard).into_iter().flatten();
            holds.any(|hold| hold.watch.key() == key)
        };
        if is_held(&lock(&self.children)) {
            return None;
        }
        let hold = self.listen(controller.watches.watch(key.clone()), Ear::child);
        let mut children = lock(&self.children);
        if is_held(&children) {
            // Somebody was faster; ours goes when nothing is locked any more.
            drop(children);
            return None;
        }
        let watch = hold.watch.clone();
        children.entry(shard).or_default().push(hold);
        Some(watch)
    }

    /// Lets go of the children of a shard.
    pub(super) fn ignore_children(&self, shard: usize) {
        let held = lock(&self.children).remove(&shard);
        drop(held);
    }

    pub(super) fn scopes(&self) -> Arc<Scopes> {
        Arc::clone(&lock(&self.scopes))
    }

    /// What the status of a kind of parents can hold; nothing before that is known.
    pub(super) fn shape(&self, kind: &GroupKind) -> Option<Arc<Shape>> {
        lock(&self.shapes).get(kind).cloned()
    }

    /// The inputs of a parent. It is registered for what it reads before it reads it for the last time, so that no change
    /// is missed.
    pub(super) fn inputs_of(&self, parent: &Arc<Stored>, scopes: &Scopes) -> Arc<Inputs> {
        if self.rule.inputs.is_empty() && self.rule.parent.namespace_selector.is_none() {
            return Arc::default();
        }
        let (parent, caches) = (Live::new(Arc::clone(parent)), self.input_caches());
        loop {
            let (inputs, interests) = input::find(&self.rule, &parent, &caches, scopes);
            // Names that depend on other inputs may move between two looks; that ends when the inputs do.
            if !self.ear.is_interested(&parent.id, interests) {
                return Arc::new(inputs);
            }
        }
    }

    /// What a parent reads besides itself and its children.
    pub(super) fn is_interested(&self, parent: &ObjectId, interests: Interests) {
        self.ear.is_interested(parent, interests);
    }

    /// Where the objects are found that the rule edits without owning them.
    pub(super) fn targets(&self) -> Arc<[ChildCache]> {
        let watched = lock(&self.targets);
        let caches = self.target_kinds.iter().flat_map(|gvk| match watched.get(gvk) {
            Some(holds) => holds.iter().map(Hold::cache).collect(),
            None => vec![ChildCache::unserved(gvk)],
        });
        caches.collect()
    }

    /// Which objects a parent edits. Tells whether these are others than before.
    pub(super) fn edits(&self, parent: &ObjectId, objects: &BTreeSet<ObjectId>) -> bool {
        self.ear.edits(parent, objects)
    }

    fn input_caches(&self) -> InputCaches {
        let watched = lock(&self.inputs);
        let by_input =
            self.rule.inputs.iter().enumerate().map(|(at, input)| match watched.get(&at) {
                Some(holds) => holds.iter().map(Hold::cache).collect(),
                None => vec![ChildCache::unserved(&input.gvk)],
            });
        let namespaces = lock(&self.namespaces).as_ref().map(Hold::cache);
        InputCaches { by_input: by_input.collect(), namespaces }
    }

    /// The shape does not fit what the rule says, or what the API server answers: perhaps the kind has changed.
    pub(super) fn doubt_shape(&self, kind: &GroupKind, lacking: BTreeSet<String>) {
        lock(&self.lacking).insert(kind.clone(), lacking);
        self.bells.doubt.notify_one();
    }

    /// Kinds were installed or changed.
    pub(super) fn kinds_changed(&self) {
        self.bells.changed.notify_one();
    }

    /// Looks at a parent again because of something else than a change.
    pub(super) fn wake(&self, parent: &ObjectId, lane: Lane) {
        self.ear.wake(parent.clone(), lane);
    }

    /// Which objects a parent found taken: it is woken when they change.
    pub(super) fn wants(&self, parent: &ObjectId, objects: Vec<ObjectId>) {
        self.ear.wants(parent, objects);
    }

    /// How much is kept of parents, by what it is kept as.
    pub(super) fn kept(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.ear.kept().into_iter().chain([("guarded", self.guard.kept())])
    }

    fn learn(&self, kind: &Kind) {
        let scope = if kind.resource.namespaced { Scope::Namespaced } else { Scope::Cluster };
        let mut scopes = lock(&self.scopes);
        let mut known = Scopes::clone(&scopes);
        known.learn(kind.resource.gvk.group_kind(), scope);
        *scopes = Arc::new(known);
    }

    /// The keys of watches, in the order of what is known by now.
    fn reached<T>(&self, keys: impl FnOnce(&Reach<'_>) -> T) -> T {
        keys(&Reach::of(&self.rule, &self.scopes()))
    }

    /// What is watched of a kind of its parents. Of those that no rule of ours edits, others' entries are never asked for.
    fn parent_keys(&self, kind: &Kind) -> Vec<WatchKey> {
        let is_edited = self.target_kinds.contains(&kind.resource.gvk) || self.rule.edits_parents();
        let fields = if is_edited { ManagedFields::Whole } else { ManagedFields::Ours };
        self.reached(|reach| reach.parents(kind, fields))
    }

    /// What is to be remembered of it.
    pub(super) fn record(&self) -> Record {
        Record::of(&self.rule, &self.kinds, &self.target_kinds)
    }

    /// Kinds of which there are objects that carry a mark of this rule, or may be.
    pub(super) fn kinds_with_objects(&self) -> Vec<Gvk> {
        let of_rule = |stored: &Arc<Stored>| {
            let mark = stored.annotation(annotation::CHILD).as_deref().and_then(Mark::parse);
            mark.is_some_and(|mark| *mark.rule == *self.rule.identity)
        };
        let watched = lock(&self.children);
        let holds = || watched.values().flatten();
        let unlisted = lock(&self.missing);
        let may_have = |gvk: &&Gvk| {
            let of_kind = holds().filter(|hold| hold.watch.key().resource.gvk == **gvk);
            unlisted.contains_key(*gvk)
                || of_kind.into_iter().any(|hold| {
                    !hold.watch.store().synced() || hold.watch.store().all().iter().any(of_rule)
                })
        };
        self.kinds.iter().filter(may_have).cloned().collect()
    }

    /// A pass for every parent, unless all get one anyway when the rule is attached.
    pub(super) fn wake_all(&self) {
        for parent in self.each_parent_stored() {
            self.wake(&parent.id, lane_of(&parent));
        }
    }

    pub(super) fn each_parent_stored(&self) -> Vec<Arc<Stored>> {
        lock(&self.parents).iter().flat_map(|hold| hold.watch.store().all()).collect()
    }

    /// Whether a kind of its parents is watched.
    pub(super) fn sees_parents(&self) -> bool {
        !lock(&self.parents).is_empty()
    }

    pub(super) fn each_parent(&self) -> Vec<ObjectId> {
        self.each_parent_stored().iter().map(|stored| stored.id.clone()).collect()
    }

    fn watches(&self) -> Vec<Watch> {
        let mut watches: Vec<Watch> =
            lock(&self.parents).iter().map(|hold| hold.watch.clone()).collect();
        let children = lock(&self.children);
        watches.extend(children.values().flatten().map(|hold| hold.watch.clone()));
        drop(children);
        let inputs = lock(&self.inputs);
        watches.extend(inputs.values().flatten().map(|hold| hold.watch.clone()));
        let targets = lock(&self.targets);
        watches.extend(targets.values().flatten().map(|hold| hold.watch.clone()));
        watches.extend(lock(&self.namespaces).iter().map(|hold| hold.watch.clone()));
        watches
    }

    /// Passes changes on, those that we made too: what our answer overtook is told by nobody else.
    fn listen(&self, watch: Watch, tell: impl Fn(&Ear, &Change) + Send + Sync + 'static) -> Hold {
        let ear = Arc::clone(&self.ear);
        let subscription = watch.store().subscribe(move |notice| match notice {
            Notice::Changed(change) => tell(&ear, change),
            Notice::Synced => {}
        });
        Hold { _subscription: subscription, watch }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for task in [&self.task, &self.outside] {
            if let Some(task) = lock(task).take() {
                task.abort();
            }
        }
    }
}

/// Why a cache cannot say that an object does not exist, as long as its first list is not complete.
fn unlisted(watch: &Watch) -> Option<String> {
    let state = watch.state();
    let why = || state.last_error.unwrap_or_else(|| "the first list is not complete".into());
    (!state.synced).then(|| format!("{} cannot be listed: {}", watch.key().resource.plural, why()))
}
