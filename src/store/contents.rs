//! What the cache shows, and in which order it may learn: the rules of the [store](super), without locks.
//!
//! In: lists, events and answers in any interleaving. Out: the objects, and what changed.
//! Never here: locks, subscribers, a client.

use super::stored::Stored;
use super::{Change, Index};
use crate::marks::hash64;
use crate::object::ObjectId;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Namespace and name. The kind is the same for all objects of a store.
pub(crate) type Name = (Arc<str>, Arc<str>);

/// The name of an object.
pub(crate) fn name_of(id: &ObjectId) -> Name {
    (Arc::clone(&id.namespace), Arc::clone(&id.name))
}

#[derive(Clone)]
pub(super) struct Contents {
    pub(super) objects: BTreeMap<Name, Arc<Stored>>,
    /// By the hash of what `index` says of an object.
    indexed: BTreeSet<(u64, Name)>,
    index: Option<Index>,
    /// The highest version that the stream has passed: all before it has been heard.
    pub(super) delivered: u64,
    pub(super) synced: bool,
    /// Objects that we deleted and of which the stream has yet to say so; no list is empty.
    gone: BTreeMap<Name, Vec<Gone>>,
}

/// An object that is not there any more, though the stream may still tell of it.
#[derive(Clone)]
struct Gone {
    uid: Box<str>,
    /// In which it was shown last: it was deleted later than that.
    version: u64,
}

impl Contents {
    pub(super) fn new(index: Option<Index>) -> Self {
        Self {
            objects: BTreeMap::new(),
            indexed: BTreeSet::new(),
            index,
            delivered: 0,
            synced: false,
            gone: BTreeMap::new(),
        }
    }

    /// Items of a list taken at `version`; the list may have more.
    pub(super) fn page(&mut self, version: u64, items: Vec<Stored>) -> Vec<Change> {
        let rewound = self.rewound(version);
        if rewound {
            self.gone.clear();
        }
        let mut changes = Vec::new();
        for item in items {
            if self.is_gone(&item) {
                continue;
            }
            let known = self.objects.get(&name_of(&item.id));
            let keep = |stored: &Arc<Stored>| {
                stored.same(&item) || (!rewound && stored.resource_version > item.resource_version)
            };
            if !known.is_some_and(keep) {
                changes.push(self.put(item));
            }
        }
        changes
    }

    /// The list taken at `version` is complete, and these are all names in it.
    pub(super) fn listed(&mut self, version: u64, names: &HashSet<Name>) -> Vec<Change> {
        let rewound = self.rewound(version);
        let gone = |(name, stored): (&Name, &Arc<Stored>)| {
            let outlives = !rewound && stored.resource_version > version;
            (!outlives && !names.contains(name)).then(|| name.clone())
        };
        let gone: Vec<Name> = self.objects.iter().filter_map(gone).collect();
        // The stream tells of the deletion of what was listed, and of all that was made later.
        self.gone.retain(|name, gone| {
            gone.retain(|gone| gone.version > version || names.contains(name));
            !rewound && !gone.is_empty()
        });
        self.delivered = version;
        self.synced = true;
        gone.iter().filter_map(|name| self.take(name)).collect()
    }

    /// The stream says that an object is there, or has changed.
    pub(super) fn applied(&mut self, object: Stored) -> Option<Change> {
        self.bookmark(object.resource_version);
        if self.is_gone(&object) {
            return None;
        }
        let known = self.objects.get(&name_of(&object.id));
        let news = known.is_none_or(|stored| stored.resource_version < object.resource_version);
        news.then(|| self.put(object))
    }

    /// The stream says that an object is gone since `version`, or no longer selected.
    pub(super) fn deleted(&mut self, name: &Name, version: u64) -> Option<Change> {
        self.bookmark(version);
        if let Some(gone) = self.gone.get_mut(name) {
            gone.retain(|gone| gone.version > version);
            if gone.is_empty() {
                self.gone.remove(name);
            }
        }
        let known = self.objects.get(name)?;
        (known.resource_version <= version).then(|| self.take(name)).flatten()
    }

    /// The stream has passed `version`.
    pub(super) fn bookmark(&mut self, version: u64) {
        self.delivered = self.delivered.max(version);
    }

    /// The answer to a write of our own.
    pub(super) fn observe(&mut self, answer: Stored) -> Option<Change> {
        if answer.resource_version <= self.delivered || self.is_gone(&answer) {
            return None;
        }
        let known = self.objects.get(&name_of(&answer.id));
        let news = known.is_none_or(|stored| stored.resource_version < answer.resource_version);
        news.then(|| Change { own: true, ..self.put(answer) })
    }

    /// The answer to a deletion of our own: the object with this uid is gone for good. Of what is not shown there is nothing
    /// to know: the stream has told of its end, or will tell of it from beginning to end.
    pub(super) fn gone(&mut self, name: &Name, uid: &str) -> Option<Change> {
        let shown = self.objects.get(name).filter(|stored| *stored.uid == *uid)?;
        let gone = Gone { uid: uid.into(), version: shown.resource_version };
        self.gone.entry(name.clone()).or_default().push(gone);
        self.take(name)
    }

    pub(super) fn deletions(&self) -> usize {
        self.gone.values().map(Vec::len).sum()
    }

    /// All objects of which `index` says this.
    pub(super) fn indexed(&self, key: &str) -> Vec<Arc<Stored>> {
        let empty: Arc<str> = "".into();
        let key = hash64(key.as_bytes());
        let first = (key, (Arc::clone(&empty), empty));
        let range = self.indexed.range(first..).take_while(|(other, _)| *other == key);
        range.filter_map(|(_, name)| self.objects.get(name).cloned()).collect()
    }

    /// Whether this is a state from before an object of its name went that we deleted.
    fn is_gone(&self, told: &Stored) -> bool {
        let gone = self.gone.get(&name_of(&told.id)).map(Vec::as_slice).unwrap_or_default();
        gone.iter().any(|gone| gone.uid == told.uid || told.resource_version < gone.version)
    }

    /// A list is a consistent read that begins after all that was delivered. If it is older, the server's history was
    /// rewritten (etcd restored from a backup), and versions from before say nothing any more.
    fn rewound(&self, version: u64) -> bool {
        version < self.delivered
    }

    fn put(&mut self, mut object: Stored) -> Change {
        let before = self.objects.get(&name_of(&object.id)).cloned();
        if let Some(before) = &before {
            // One allocation of the name per object, however often it changes.
            object.id = before.id.clone();
        } else if let Some(namespace) = self.namespace_beside(&object.id) {
            object.id.namespace = namespace;
        }
        let name = name_of(&object.id);
        let after = Arc::new(object);
        self.reindex(&name, before.as_ref(), Some(&after));
        self.objects.insert(name, Arc::clone(&after));
        Change { id: after.id.clone(), before, after: Some(after), own: false }
    }

    /// The text of a namespace that a neighbour of an object has already.
    fn namespace_beside(&self, id: &ObjectId) -> Option<Arc<str>> {
        let ((namespace, _), _) = self.objects.range(..name_of(id)).next_back()?;
        (*namespace == id.namespace).then(|| Arc::clone(namespace))
    }

    fn take(&mut self, name: &Name) -> Option<Change> {
        let before = self.objects.remove(name)?;
        self.reindex(name, Some(&before), None);
        Some(Change { id: before.id.clone(), before: Some(before), after: None, own: false })
    }

    fn reindex(&mut self, name: &Name, before: Option<&Arc<Stored>>, after: Option<&Arc<Stored>>) {
        let Some(index) = &self.index else { return };
        let keys = |object: Option<&Arc<Stored>>| -> Vec<u64> {
            let keys = object.map(|object| index(object)).unwrap_or_default();
            keys.iter().map(|key| hash64(key.as_bytes())).collect()
        };
        let (before, after) = (keys(before), keys(after));
        if before != after {
            for key in before {
                self.indexed.remove(&(key, name.clone()));
            }
            self.indexed.extend(after.into_iter().map(|key| (key, name.clone())));
        }
    }
}

#[cfg(test)]
mod tests;
