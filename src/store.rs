//! The cache of one watch: the objects of one kind, as new as we can know.
//!
//! In: lists and events from the watch, answers to our own writes, in any order. Out: objects by name or by index, and
//! every change once, in order, to subscribers. Never here: a client; a parsed tree; a lock that outlives a call.
//!
//! A watch lags behind our own writes. So that a pass reads what the one before it wrote, the answer to a write goes into
//! the cache at once ([`Store::observe`]), and resourceVersions, which are comparable among the objects of one resource
//! type (KEP-5504), decide who knows better:
//! 1. *Delivered* is the highest version that the stream has passed, by a list, an event or a bookmark.
//! 2. An answer that is not newer than *delivered* is dropped: the stream has told all that happened up to there, perhaps
//!    also that the object was deleted again. (Otherwise the answer would bring it back for ever.)
//! 3. An event or a listed item that is older than what is stored is ignored; so is a deletion.
//! 4. A complete list removes what it does not name, unless that is newer than the list.
//! 5. A list that is older than *delivered* means that the server's history was rewritten; then only the list counts.
//! 6. An answer that says that an object is gone ([`Store::gone`]) names its uid, which never comes back: until the stream
//!    has passed the deletion, whatever it still tells of that uid is ignored.
//!
//! Together: what is shown of an object is a state that it really had, never older than *delivered* and than any answer
//! we got.

mod contents;
mod stored;

pub use stored::{Format, ManagedFields, OwnerReference, Stored, Unreadable};

pub(crate) use contents::{Name, name_of};

use crate::object::{Gvk, ObjectId};
use contents::Contents;
use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};

/// What an object is found by besides its name, for example the parent that a child belongs to. It must always say the
/// same of the same object.
pub type Index = Arc<dyn Fn(&Stored) -> Vec<String> + Send + Sync>;

/// One object changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which object.
    pub id: ObjectId,
    /// As it was shown before; `None` if it was not there.
    pub before: Option<Arc<Stored>>,
    /// As it is shown now; `None` if it is gone, or no longer selected by the watch.
    pub after: Option<Arc<Stored>>,
    /// Whether we learned it from the answer to a write of our own. Not said of a deletion: others may wait for the name.
    pub own: bool,
}

/// What subscribers hear.
#[derive(Clone, Debug)]
pub enum Notice {
    /// One object changed.
    Changed(Change),
    /// The first list is complete: from now on an absent object does not exist. Heard once.
    Synced,
}

type Callback = Box<dyn Fn(&Notice) + Send + Sync>;

/// The cache of one watch. Reading never waits for the network or for a subscriber.
pub struct Store {
    format: Format,
    contents: RwLock<Contents>,
    /// Locked before `contents` by whoever changes something, and until all have heard of it: this puts the changes in
    /// order.
    subscribers: Mutex<Subscribers>,
}

#[derive(Default)]
struct Subscribers {
    last: u64,
    callbacks: BTreeMap<u64, Callback>,
}

/// Ends a subscription when dropped: after that the callback is not called any more.
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    store: Weak<Store>,
    number: u64,
}

impl Store {
    /// An empty cache for a kind.
    pub fn new(gvk: &Gvk, managed_fields: impl Into<ManagedFields>, index: Option<Index>) -> Self {
        Self {
            format: Format::new(gvk, managed_fields),
            contents: RwLock::new(Contents::new(index)),
            subscribers: Mutex::default(),
        }
    }

    /// How the objects of this cache are read; [`Store::observe`] takes what it reads.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Whether the first list is complete, so that an absent object does not exist.
    pub fn synced(&self) -> bool {
        self.read().synced
    }

    /// The object of this name; `None` also for another kind.
    pub fn get(&self, id: &ObjectId) -> Option<Arc<Stored>> {
        if id.kind != *self.format.kind() {
            return None;
        }
        self.read().objects.get(&name_of(id)).cloned()
    }

    /// All objects, sorted by namespace and name.
    pub fn all(&self) -> Vec<Arc<Stored>> {
        self.read().objects.values().cloned().collect()
    }

    /// All objects of a namespace, sorted by name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<Stored>> {
        let contents = self.read();
        let first: Name = (namespace.into(), "".into());
        let range = contents.objects.range(first..).take_while(|((ns, _), _)| &**ns == namespace);
        range.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// All objects of which the index says this, sorted by namespace and name.
    pub fn indexed(&self, key: &str) -> Vec<Arc<Stored>> {
        self.read().indexed(key)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// How many deletions of ours the stream has yet to tell of.
    pub fn deletions(&self) -> usize {
        self.read().deletions()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The answer to a write of our own to an object that this watch selects. Tells whether it was news; if not, the cache
    /// already knew as much or more.
    pub fn observe(&self, answer: Stored) -> bool {
        let answer = self.format.trimmed(answer);
        self.change(|contents| contents.observe(answer).into_iter().collect()) > 0
    }

    /// The answer to a deletion of our own: the object of this uid does not exist any more. Tells whether that was news.
    pub fn gone(&self, id: &ObjectId, uid: &str) -> bool {
        self.change(|contents| contents.gone(&name_of(id), uid).into_iter().collect()) > 0
    }

    /// Calls back for every stored object, then for every change, in order, and once when the store is synced. It is
    /// called in the watch task or in that of an [`observe`](Store::observe), while other changes wait: it must be quick.
    /// It may read the store, but not subscribe, observe or end a subscription (that would never return). If it panics,
    /// only this call of it is lost.
    pub fn subscribe(
        self: &Arc<Self>,
        callback: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Subscription {
        let mut subscribers = self.subscribers();
        let callback: Callback = Box::new(callback);
        for object in self.all() {
            let id = object.id.clone();
            call(
                &callback,
                &Notice::Changed(Change { id, before: None, after: Some(object), own: false }),
            );
        }
        if self.synced() {
            call(&callback, &Notice::Synced);
        }
        subscribers.last += 1;
        let number = subscribers.last;
        subscribers.callbacks.insert(number, callback);
        Subscription { store: Arc::downgrade(self), number }
    }

    /// The version from which the stream goes on.
    pub(crate) fn delivered(&self) -> u64 {
        self.read().delivered
    }

    /// Items of a list taken at `version`.
    pub(crate) fn page(&self, version: u64, items: Vec<Stored>) {
        self.change(|contents| contents.page(version, items));
    }

    /// The list taken at `version` is complete, and these are all names in it.
    pub(crate) fn listed(&self, version: u64, names: &HashSet<Name>) {
        self.change(|contents| contents.listed(version, names));
    }

    /// The stream says that an object is there, or has changed.
    pub(crate) fn applied(&self, object: Stored) {
        self.change(|contents| contents.applied(object).into_iter().collect());
    }

    /// The stream says that an object is gone.
    pub(crate) fn deleted(&self, object: &Stored) {
        let (name, version) = (name_of(&object.id), object.resource_version);
        self.change(|contents| contents.deleted(&name, version).into_iter().collect());
    }

    /// The stream has passed `version`.
    pub(crate) fn bookmark(&self, version: u64) {
        self.change(|contents| {
            contents.bookmark(version);
            Vec::new()
        });
    }

    /// Changes the contents and tells everyone; the number of changes.
    fn change(&self, edit: impl FnOnce(&mut Contents) -> Vec<Change>) -> usize {
        let subscribers = self.subscribers();
        let (changes, first) = {
            let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
            let synced = contents.synced;
            (edit(&mut contents), contents.synced && !synced)
        };
        let count = changes.len();
        for change in changes {
            subscribers.tell(&Notice::Changed(change));
        }
        if first {
            subscribers.tell(&Notice::Synced);
        }
        count
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents> {
        // Nothing panics half-way through a change: the contents behind a poisoned lock are sound.
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscribers(&self) -> MutexGuard<'_, Subscribers> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscribers {
    fn tell(&self, notice: &Notice) {
        for callback in self.callbacks.values() {
            call(callback, notice);
        }
    }
}

/// A subscriber that panics must not stop the watch for the others.
fn call(callback: &Callback, notice: &Notice) {
    if catch_unwind(AssertUnwindSafe(|| callback(notice))).is_err() {
        tracing::error!("a subscriber of a watch panicked");
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade() {
            // Unlocked again at the end of this line: dropping a callback may do anything.
            let removed = store.subscribers().callbacks.remove(&self.number);
            drop(removed);
        }
    }
}

#[cfg(test)]
mod tests;
