//! The parent and the children that exist, from the watch caches, never from the API server.
//!
//! In: stores and an identity. Out: [`Observed`], or nothing if the parent is gone (which is no error).
//! Only objects that are proven ours count as children; a label alone proves nothing. Never here: a request.

use crate::input::Inputs;
use crate::marks::{Mark, PatchMark, annotation, parse_id, visible};
use crate::object::{Gvk, ObjectId};
use crate::owned::{self, Entry, FieldSet, IntentMark};
use crate::ready::{self, Readiness};
use crate::store::{OwnerReference, Store, Stored};
use crate::template::{Awaits, Part};
use crate::watch::KindError;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// What exists, for one parent of one rule.
pub struct Observed {
    /// The parent.
    pub parent: Live,
    /// The children that are proven ours, by identity.
    pub children: BTreeMap<ObjectId, Live>,
    /// The objects that the rule only reads.
    pub inputs: Arc<Inputs>,
    /// Where the objects are found that the rule edits without owning them, parents aside.
    pub targets: Arc<[ChildCache]>,
    /// The edits that were made for this parent.
    pub edited: Vec<Edited>,
    /// Objects that carry our marks and our owner reference and lack only our managedFields entry, since somebody reset it or
    /// made a copy. No children yet: they are taken over by the next apply, and never deleted before that.
    pub lost: BTreeMap<ObjectId, Live>,
}

/// An edit of an object that the rule does not own.
pub struct Edited {
    /// What it is for.
    pub mark: PatchMark,
    /// The object.
    pub live: Live,
}

impl Observed {
    /// An object that the rule edits; an error says why nobody can know whether it exists.
    pub fn target(&self, id: &ObjectId) -> Result<Option<Arc<Stored>>, String> {
        if *id == self.parent.id {
            return Ok(Some(Arc::clone(&self.parent.stored)));
        }
        let mut caches = self.targets.iter().filter(|cache| cache.holds(id));
        let cache =
            caches.next().ok_or_else(|| format!("{id} is outside of what the rule watches"))?;
        match (cache.store.get(id), &cache.trouble) {
            (Some(stored), _) => Ok(Some(stored)),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => Ok(None),
        }
    }
}

/// The edits that were made for a parent, wherever they are.
pub fn edited(parent: &Live, targets: &[ChildCache], rule: &str) -> Vec<Edited> {
    let name = parent.id.to_string();
    let key = patch_key(rule, &name);
    let found = targets.iter().flat_map(|cache| cache.store.indexed(&key));
    let mut edited = Vec::new();
    for stored in found.chain([Arc::clone(&parent.stored)]) {
        let ours = |mark: &PatchMark| *mark.rule == *rule && mark.parent == name;
        let marks = PatchMark::all_of(&stored).into_iter().filter(ours);
        edited.extend(marks.map(|mark| Edited { mark, live: Live::new(Arc::clone(&stored)) }));
    }
    edited
}

/// An object as the API server last told it; parsed when somebody looks.
pub struct Live {
    /// Which object.
    pub id: ObjectId,
    /// Its cache entry.
    pub stored: Arc<Stored>,
    /// What it is for, if it carries a mark.
    pub mark: Option<Mark>,
    reading: Arc<Reading>,
    seen: OnceLock<(Value, Part)>,
}

/// An object as a tree, once somebody needs it: shared with templates, which may need it or not.
struct Reading {
    stored: Arc<Stored>,
    /// What nests deeper than we read is left out, and that is an error.
    value: OnceLock<Result<Value, Value>>,
}

impl Reading {
    fn read(&self) -> &Result<Value, Value> {
        self.value.get_or_init(|| {
            self.stored.parse().map_err(|_| {
                let fields: BTreeMap<String, &RawValue> =
                    serde_json::from_str(self.stored.json()).unwrap_or_default();
                let readable = |(name, raw): (String, &RawValue)| {
                    Some((name, serde_json::from_str::<Value>(raw.get()).ok()?))
                };
                fields.into_iter().filter_map(readable).collect()
            })
        })
    }

    fn value(&self) -> &Value {
        match self.read() {
            Ok(whole) => whole,
            Err(part) => part,
        }
    }
}

impl Live {
    /// Wraps a cache entry.
    pub fn new(stored: Arc<Stored>) -> Self {
        let mark = stored.annotation(annotation::CHILD).as_deref().and_then(Mark::parse);
        let id = stored.id.clone();
        let reading = Reading { stored: Arc::clone(&stored), value: OnceLock::new() };
        Self { id, stored, mark, reading: Arc::new(reading), seen: OnceLock::new() }
    }

    /// The object without managedFields. What nests deeper than we read is left out.
    pub fn value(&self) -> &Value {
        self.reading.value()
    }

    /// Whether nothing is left out.
    pub fn is_whole(&self) -> bool {
        self.reading.read().is_ok()
    }

    /// As templates see it, who call it `path`. It is read and converted when one of them looks into it.
    pub fn part(&self, path: &str, awaits: Awaits) -> Part {
        let reading = Arc::clone(&self.reading);
        Part::later(path, move |show| show(reading.value()), awaits)
    }

    /// A parent as its rule sees it: for comparisons and for templates.
    pub fn seen(&self) -> (&Value, &Part) {
        let (value, part) = self.seen.get_or_init(|| {
            let value = visible(self.value());
            let part = Part::new("parent", &value, Awaits::Key("status".into()));
            (value, part)
        });
        (value, part)
    }

    /// Whether it is ready, by its kind's rule.
    pub fn readiness(&self) -> &Readiness {
        self.stored.readiness(|| ready::readiness(self.value()))
    }

    /// What `manager` owns of it by server-side apply.
    pub fn entry(&self, manager: &str) -> Option<Entry<'_>> {
        owned::our_entry_in_text(self.managed_fields()?, manager)
    }

    /// What `manager` owns of its status.
    pub fn status_fields(&self, manager: &str) -> Option<FieldSet> {
        let entry = owned::entry_in_text(self.managed_fields()?, manager, "status")?;
        entry.fields()?.field("status").cloned()
    }

    fn managed_fields(&self) -> Option<&RawValue> {
        serde_json::from_str(self.stored.managed_fields()?).ok()
    }

    /// The object with its managedFields.
    pub fn whole(&self) -> Value {
        let mut value = self.value().clone();
        let fields = self.stored.managed_fields().and_then(|text| serde_json::from_str(text).ok());
        if let (Some(fields), Some(metadata)) =
            (fields, value.get_mut("metadata").and_then(Value::as_object_mut))
        {
            metadata.insert("managedFields".into(), fields);
        }
        value
    }

    /// The intent that was last applied, as its annotation says it.
    pub fn intent(&self) -> Option<IntentMark> {
        Some(IntentMark::parse(&self.stored.annotation(annotation::INTENT)?))
    }

    /// Whether this was a child of a former parent of the same name, which garbage collection takes away.
    pub fn is_remains(&self, owner: &Owner<'_>) -> bool {
        let Some(mark) = &self.mark else { return false };
        let names_us = mark.object == self.id.to_string()
            && mark.rule == owner.rule
            && mark.parent == owner.parent.to_string();
        let of_former = |reference: &OwnerReference| {
            reference.kind == owner.parent.kind.kind
                && *reference.name == *owner.parent.name
                && reference.uid != owner.uid
        };
        names_us && matches!(&*self.stored.owners(), [only] if of_former(only))
    }

    /// Why the object is not proven ours, as a sentence fragment; `None` if it is. DESIGN section 6: the mark names
    /// *this* object, managedFields holds our entry, and the owner reference is there where one was set (the mark says so).
    pub fn not_ours(&self, owner: &Owner<'_>) -> Option<String> {
        let Some(mark) = &self.mark else {
            return Some("Kubewright did not create it".into());
        };
        if mark.object != self.id.to_string() {
            return Some("it carries a copy of another object's marks".into());
        }
        if mark.rule != owner.rule || mark.parent != owner.parent.to_string() {
            return Some(format!("it belongs to {} (rule {})", mark.parent, mark.rule));
        }
        if !mark.free && !self.is_owned_by(owner.uid) {
            return Some("it does not refer to this parent as its owner".into());
        }
        if self.entry(owner.manager).is_none() {
            return Some("its managed fields do not show our manager".into());
        }
        None
    }

    /// Whether nothing but our managedFields entry is missing.
    pub fn lacks_entry(&self, owner: &Owner<'_>) -> bool {
        let marked = self.mark.as_ref().is_some_and(|mark| {
            mark.object == self.id.to_string()
                && mark.rule == owner.rule
                && mark.parent == owner.parent.to_string()
        });
        let free = self.mark.as_ref().is_some_and(|mark| mark.free);
        let tied = free || self.is_owned_by(owner.uid);
        marked && tied && self.entry(owner.manager).is_none()
    }

    fn is_owned_by(&self, uid: &str) -> bool {
        self.stored.owners().iter().any(|owner| owner.uid == uid)
    }
}

/// Whose children are looked for.
pub struct Owner<'a> {
    /// The rule's identity.
    pub rule: &'a str,
    /// The parent.
    pub parent: &'a ObjectId,
    /// The parent's uid.
    pub uid: &'a str,
    /// The field manager of this rule and parent.
    pub manager: &'a str,
}

/// The key under which a child store groups the children of one parent of one rule.
pub fn owner_key(rule: &str, parent: &str) -> String {
    format!("{rule} {parent}")
}

/// The key under which a store groups the objects that a rule edits for one parent.
pub fn patch_key(rule: &str, parent: &str) -> String {
    format!("patch {rule} {parent}")
}

/// The children of a parent that no owner reference ties to it, as far as their marks say.
pub fn free_children(store: &Store, rule: &str, parent: &ObjectId) -> impl Iterator<Item = Live> {
    let marked = store.indexed(&owner_key(rule, &parent.to_string())).into_iter().map(Live::new);
    marked.filter(|live| live.mark.as_ref().is_some_and(|mark| mark.free))
}

/// Whether there are edits for a parent that are taken back when it goes.
pub fn edited_by(store: &Store, rule: &str, parent: &ObjectId) -> bool {
    let name = parent.to_string();
    let ours = |mark: &PatchMark| *mark.rule == *rule && mark.parent == name && !mark.stays;
    let edited = store.indexed(&patch_key(rule, &name)).into_iter();
    edited
        .filter(|stored| stored.id != *parent)
        .any(|stored| PatchMark::all_of(&stored).iter().any(ours))
}

/// Every parent that the marks of a rule name, each once. It reads every mark, so that it is nothing for each pass.
pub fn parents_named(store: &Store, rule: &str) -> BTreeSet<ObjectId> {
    let named = |stored: &Stored| {
        let child = stored.annotation(annotation::CHILD).as_deref().and_then(Mark::parse);
        let child = child.into_iter().map(|mark| (mark.rule, mark.parent));
        let edits = PatchMark::all_of(stored).into_iter().map(|mark| (mark.rule, mark.parent));
        child.chain(edits).collect::<Vec<_>>()
    };
    let all = store.all();
    let marks = all.iter().flat_map(|stored| named(stored)).filter(|(owner, _)| owner == rule);
    marks.filter_map(|(_, parent)| parse_id(&parent)).collect()
}

/// The keys of one cache entry, for the store's index.
pub fn owner_keys_of(stored: &Stored) -> Vec<String> {
    let mark = stored.annotation(annotation::CHILD).as_deref().and_then(Mark::parse);
    let child = mark.map(|mark| owner_key(&mark.rule, &mark.parent));
    let patches = PatchMark::all_of(stored);
    let mut patches: Vec<String> =
        patches.iter().map(|mark| patch_key(&mark.rule, &mark.parent)).collect();
    patches.sort();
    patches.dedup();
    child.into_iter().chain(patches).collect()
}

/// The cache of one kind of children, of all namespaces or of one.
#[derive(Clone)]
pub struct ChildCache {
    /// The only namespace it holds.
    pub namespace: Option<String>,
    /// What it holds.
    pub store: Arc<Store>,
    /// Why what it does not hold may exist nevertheless; nothing once its first list is complete.
    pub trouble: Option<String>,
}

impl ChildCache {
    /// Of a kind that the API server does not serve yet.
    pub fn unserved(gvk: &Gvk) -> Self {
        let trouble = KindError::Unknown(gvk.clone()).to_string();
        Self {
            namespace: None,
            store: Arc::new(Store::new(gvk, false, None)),
            trouble: Some(trouble),
        }
    }

    /// Whether an object, if it is one of ours, belongs in here.
    pub fn holds(&self, id: &ObjectId) -> bool {
        *self.store.format().kind() == id.kind
            && self.namespace.as_deref().is_none_or(|namespace| *namespace == *id.namespace)
    }
}

/// Collects what exists. `parent` is what the parents' cache has, `rule` the rule's identity.
pub fn fetch(
    parent: Arc<Stored>,
    children: &[ChildCache],
    (inputs, targets): (Arc<Inputs>, Arc<[ChildCache]>),
    rule: &str,
    manager: &str,
) -> Observed {
    let parent = Live::new(parent);
    let owner = Owner { rule, parent: &parent.id, uid: &parent.stored.uid, manager };
    let key = owner_key(rule, &parent.id.to_string());
    let marked = children.iter().flat_map(|cache| cache.store.indexed(&key)).map(Live::new);
    let named = |live: Live| (live.id.clone(), live);
    let (ours, others): (Vec<_>, Vec<_>) = marked.partition(|live| live.not_ours(&owner).is_none());
    let lost = others.into_iter().filter(|live| live.lacks_entry(&owner)).map(named).collect();
    let children = ours.into_iter().map(named).collect();
    let edited = edited(&parent, &targets, rule);
    Observed { parent, children, inputs, targets, edited, lost }
}
