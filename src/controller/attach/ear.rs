//! What the watches call: which parent a change concerns.
//!
//! In: changes of parents and children. Out: keys in the queue. It holds nothing that could end a subscription, since
//! that must not happen inside a call. Never here: caches; what a change means.

use crate::controller::guard::Guard;
use crate::controller::shards::Shards;
use crate::controller::{Controller, Key, lock};
use crate::input::{Index, Interests};
use crate::marks::{Mark, PatchMark, annotation, parse_id};
use crate::object::ObjectId;
use crate::queue::{Lane, Queue};
use crate::rule::Rule;
use crate::store::{Change, Stored};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// One rule's ear.
pub(super) struct Ear {
    rule: Arc<str>,
    /// What the rule is called in marks.
    identity: Arc<str>,
    queue: Arc<Queue<Key>>,
    shards: Arc<Shards>,
    ready: AtomicBool,
    wanted: Mutex<Wanted>,
    /// Who reads which input.
    readers: Mutex<Index>,
    /// Who edits which object.
    editors: Mutex<Index>,
    guard: Arc<Guard>,
}

/// Who waits for which object to become free. Only objects that carry our label are seen to go.
#[derive(Default)]
struct Wanted {
    by_object: BTreeMap<ObjectId, BTreeSet<ObjectId>>,
    by_parent: BTreeMap<ObjectId, Vec<ObjectId>>,
}

impl Ear {
    pub(super) fn new(rule: &Rule, controller: &Controller, guard: &Arc<Guard>) -> Self {
        Self {
            rule: Arc::clone(&rule.name),
            identity: Arc::clone(&rule.identity),
            queue: Arc::clone(&controller.queue),
            shards: Arc::clone(&controller.shards),
            ready: AtomicBool::new(false),
            wanted: Mutex::default(),
            readers: Mutex::default(),
            editors: Mutex::default(),
            guard: Arc::clone(guard),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// From now on changes are passed on. Before, every parent gets its pass anyway.
    pub(super) fn open(&self) {
        self.ready.store(true, Ordering::Release);
    }

    pub(super) fn wake(&self, parent: ObjectId, lane: Lane) {
        if self.is_ready() && self.shards.owns(&parent) {
            self.queue.add(Key { rule: Arc::clone(&self.rule), parent }, lane);
        }
    }

    /// Wakes the parent, unless we made the change: the pass that made it has seen it, and looks again after a status.
    pub(super) fn parent(&self, change: &Change) {
        if !change.own {
            self.wake(change.id.clone(), Lane::Edit);
        }
    }

    /// Wakes the parent that the child's mark names, the one it named before (a mark can be damaged), and those who
    /// want the object but found it to be somebody else's. The pass that made a change has seen it.
    pub(super) fn child(&self, change: &Change) {
        if change.own {
            return;
        }
        let (before, after) =
            (self.parent_of(change.before.as_ref()), self.parent_of(change.after.as_ref()));
        let other = before.filter(|before| after.as_ref() != Some(before));
        let waiting = lock(&self.wanted).by_object.get(&change.id).cloned().unwrap_or_default();
        for parent in other.into_iter().chain(after).chain(waiting) {
            self.wake(parent, Lane::Drift);
        }
    }

    /// Wakes the parents that read the object as the input at this position, before or after the change.
    pub(super) fn input(&self, input: usize, change: &Change) {
        let versions = [change.before.as_ref(), change.after.as_ref()];
        let parents = lock(&self.readers).readers(input, &change.id, versions);
        self.input_changed(parents);
    }

    /// Wakes the parents for which the labels of a namespace make a difference.
    pub(super) fn namespace(&self, change: &Change) {
        let versions = [change.before.as_ref(), change.after.as_ref()];
        let parents = lock(&self.readers).readers_of_namespace(&change.id, versions);
        self.input_changed(parents);
    }

    fn input_changed(&self, parents: BTreeSet<ObjectId>) {
        if self.is_ready() {
            self.guard.input_changed(&parents);
        }
        for parent in parents {
            self.wake(parent, Lane::Drift);
        }
    }

    /// Remembers what a parent reads. Tells whether that is something else than before.
    pub(super) fn is_interested(&self, parent: &ObjectId, interests: Interests) -> bool {
        lock(&self.readers).set(parent, interests)
    }

    /// Wakes the parents that edit an object, and those that did. What one of them wrote may show what happened to the edits
    /// of the others, which no later event tells any more.
    pub(super) fn target(&self, change: &Change) {
        let versions = [change.before.as_ref(), change.after.as_ref()];
        let mut parents = lock(&self.editors).readers(0, &change.id, [None, None]);
        for stored in versions.into_iter().flatten() {
            let marks = PatchMark::all_of(stored).into_iter();
            let ours = marks.filter(|mark| *mark.rule == *self.identity);
            parents.extend(ours.filter_map(|mark| parse_id(&mark.parent)));
        }
        for parent in parents {
            self.wake(parent, Lane::Drift);
        }
    }

    /// Remembers what a parent edits. Tells whether that is something else than before.
    pub(super) fn edits(&self, parent: &ObjectId, objects: &BTreeSet<ObjectId>) -> bool {
        let interests = Interests { objects: objects.clone(), ..Interests::default() };
        lock(&self.editors).set(parent, interests)
    }

    fn parent_of(&self, stored: Option<&Arc<Stored>>) -> Option<ObjectId> {
        let mark = Mark::parse(&stored?.annotation(annotation::CHILD)?)?;
        if *mark.rule == *self.identity { mark.parent_id() } else { None }
    }

    /// How much is kept of parents: what they want, read and edit.
    pub(super) fn kept(&self) -> [(&'static str, usize); 3] {
        let wanted = lock(&self.wanted);
        [
            ("wanted", wanted.by_object.len() + wanted.by_parent.len()),
            ("read", lock(&self.readers).len()),
            ("edited", lock(&self.editors).len()),
        ]
    }

    /// Which objects this parent found taken in its last pass.
    pub(super) fn wants(&self, parent: &ObjectId, objects: Vec<ObjectId>) {
        let mut wanted = lock(&self.wanted);
        for object in wanted.by_parent.remove(parent).unwrap_or_default() {
            if let Some(parents) = wanted.by_object.get_mut(&object) {
                parents.remove(parent);
                if parents.is_empty() {
                    wanted.by_object.remove(&object);
                }
            }
        }
        for object in &objects {
            wanted.by_object.entry(object.clone()).or_default().insert(parent.clone());
        }
        if !objects.is_empty() {
            wanted.by_parent.insert(parent.clone(), objects);
        }
    }
}
