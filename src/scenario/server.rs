//! What an API server would make of the writes of a pass, and of what people do between passes.
//!
//! In: a parent, applied children, edits. Out: [`Observed`], as the watch caches would have it: identities, uids, versions,
//! generations, managed fields. Never here: schemas, and so neither defaults nor validation nor lists by key; for those
//! there is `kubewright dev` with a real server.
//!
//! Who owns a field is told from who wrote it last: a manager's entry has what it wrote and what still has that value.

mod edits;

use super::shuffle::{self, Order};
use super::{merge, status_of};
use crate::fetch::{Live, Observed, Owner};
use crate::input::{self, Inputs};
use crate::marks;
use crate::object::{Gvk, ObjectId, generation, metadata};
use crate::render::DesiredChild;
use crate::rule::Rule;
use crate::scope::{Scope, Scopes};
use crate::status::{Said, conditions};
use crate::store::{Format, Stored};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The uid of the parent, in the form of real ones, so that it is seen to stand in for one.
const PARENT_UID: &str = "00000000-0000-0000-0000-000000000000";

/// A server with one parent and its children.
#[derive(Clone)]
pub struct Server {
    rule: Arc<str>,
    manager: String,
    parent: Value,
    parent_id: ObjectId,
    /// The status fields that were said last.
    said: Map<String, Value>,
    objects: BTreeMap<ObjectId, Object>,
    /// What the rule reads.
    inputs: Vec<Value>,
    /// Edits by their marks and objects: the object before, and what was set.
    edits: BTreeMap<(String, ObjectId), (Value, Value)>,
    version: u64,
    /// In which order maps and objects are told.
    seed: Option<u64>,
}

#[derive(Clone)]
struct Object {
    gvk: Gvk,
    /// Whose it is, item included (`quota[blue]`); nothing for somebody else's.
    child: Option<Arc<str>>,
    value: Value,
    /// What we wrote last.
    ours: Value,
    /// What others wrote.
    theirs: Value,
}

/// What the server cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no object of that child.
    #[error("nothing of `{0}` exists at this point: the rule does not render it, or it waits")]
    NothingThere(String),
    /// The child has several objects, and none of them was named.
    #[error("`{child}` has several objects: write {{Kind/name: …}}, one of {objects}")]
    Ambiguous {
        /// The child.
        child: String,
        /// Its objects.
        objects: String,
    },
    /// It is no object any more.
    #[error("it would be no legal object: {0}")]
    Illegal(String),
}

impl Server {
    /// With the parent of a scenario, completed by what a server adds.
    pub fn new(rule: &Rule, scopes: &Scopes, parent: &Value) -> Result<Self, Refused> {
        let mut value = json!({});
        merge::patch(&mut value, parent);
        let scope = scopes.of(&rule.parent.gvk().group_kind());
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.entry("uid").or_insert(json!(PARENT_UID));
            metadata.entry("resourceVersion").or_insert(json!("1"));
            metadata.entry("generation").or_insert(json!(1));
            if scope == Scope::Namespaced {
                metadata.entry("namespace").or_insert(json!("default"));
            }
        }
        let id = read(&value, false)?.id;
        Ok(Self {
            rule: Arc::clone(&rule.identity),
            manager: marks::manager(&rule.identity, &id),
            parent: value,
            parent_id: id,
            said: Map::new(),
            objects: BTreeMap::new(),
            inputs: Vec::new(),
            edits: BTreeMap::new(),
            version: 1,
            seed: None,
        })
    }

    /// Whose children are looked for.
    pub fn owner(&self) -> Owner<'_> {
        Owner {
            rule: &self.rule,
            parent: &self.parent_id,
            uid: metadata(&self.parent, "uid").unwrap_or(PARENT_UID),
            manager: &self.manager,
        }
    }

    /// What the watch caches have: the parent, and what is proven to be its children.
    pub fn observed(&self) -> Result<Observed, Refused> {
        let mut order = self.seed.map(Order::new);
        let parent = live(&self.parent, &mut order, false)?;
        let mut objects: Vec<_> = self.objects.values().collect();
        if let Some(order) = &mut order {
            order.shuffle(&mut objects);
        }
        let mut children = BTreeMap::new();
        for object in objects {
            let live = live(&object.whole(&self.manager), &mut order, true)?;
            if live.not_ours(&self.owner()).is_none() {
                children.insert(live.id.clone(), live);
            }
        }
        Ok(Observed {
            parent,
            children,
            lost: BTreeMap::new(),
            inputs: Arc::default(),
            targets: Arc::default(),
            edited: Vec::new(),
        })
    }

    /// From now on these are the objects that the rule reads.
    pub fn set_inputs(&mut self, inputs: Vec<Value>) {
        self.inputs = inputs;
    }

    /// What a rule reads, for the parent.
    pub(super) fn inputs(&self, rule: &Rule, parent: &Live, scopes: &Scopes) -> Inputs {
        let mut inputs: Vec<Value> = self.inputs.clone();
        if let Some(mut order) = self.seed.map(Order::new) {
            order.shuffle(&mut inputs);
        }
        input::find_among(rule, parent, &inputs, scopes)
    }

    /// The same server, telling everything in another order.
    pub(super) fn shuffled(&self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self.clone() }
    }

    /// Somebody changes the parent: a merge patch.
    pub fn edit_parent(&mut self, patch: &Value) -> Result<(), Refused> {
        if patch.is_null() {
            return Ok(());
        }
        let mut value = self.parent.clone();
        merge::patch(&mut value, patch);
        self.version += 1;
        settle(&mut value, &self.parent, self.version);
        if read(&value, false)?.id != self.parent_id {
            return Err(Refused::Illegal("a parent keeps its name and namespace".into()));
        }
        self.parent = value;
        Ok(())
    }

    /// Somebody else creates an object.
    pub fn put_foreign(&mut self, object: &Value) -> Result<(), Refused> {
        let Some(gvk) = Gvk::of(object) else {
            return Err(Refused::Illegal("no apiVersion or no kind".into()));
        };
        let mut value = object.clone();
        self.version += 1;
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.entry("uid").or_insert(json!(format!("foreign-{}", self.version)));
            if !self.parent_id.namespace.is_empty() {
                metadata.entry("namespace").or_insert(json!(&*self.parent_id.namespace));
            }
        }
        settle(&mut value, &Value::Null, self.version);
        let id = read(&value, true)?.id;
        let theirs = object.clone();
        self.objects.insert(id, Object { gvk, child: None, value, ours: Value::Null, theirs });
        Ok(())
    }

    /// Somebody else changes a child: a merge patch. With `ready`, its controller reports that it is ready.
    pub fn edit(
        &mut self,
        child: &str,
        object: Option<&str>,
        patch: &Value,
        ready: bool,
    ) -> Result<(), Refused> {
        let id = self.find(child, object)?;
        let Some(object) = self.objects.get(&id) else { return Ok(()) };
        let mut edited = object.clone();
        merge::patch(&mut edited.value, patch);
        merge::patch(&mut edited.theirs, patch);
        self.version += 1;
        settle(&mut edited.value, &object.value, self.version);
        if ready {
            edited.value["status"] = status_of::ready(&edited.value);
        }
        if read(&edited.whole(&self.manager), true)?.id != id {
            return Err(Refused::Illegal("an object keeps its name and namespace".into()));
        }
        self.objects.insert(id, edited);
        Ok(())
    }

    /// Somebody takes a child away; what is not there is no mistake.
    pub fn remove(&mut self, child: &str, object: Option<&str>) {
        let named = |id: &ObjectId| object.is_none_or(|object| object == short(id));
        self.objects.retain(|id, object| object.child.as_deref() != Some(child) || !named(id));
    }

    /// Whether anything of a child exists; the id alone means all items of its group.
    pub fn has(&self, child: &str) -> bool {
        let of_child = |name: &str| name == child || base(name) == child;
        self.objects.values().any(|object| object.child.as_deref().is_some_and(of_child))
    }

    /// Why an object cannot be created: one that is not ours has its name.
    pub(super) fn taken(&self, id: &ObjectId) -> Option<String> {
        let object = self.objects.get(id)?;
        live(&object.whole(&self.manager), &mut None, true).ok()?.not_ours(&self.owner())
    }

    /// A server-side apply by our manager, forced: what it set before and sets no more goes, unless others set it too.
    pub fn apply(
        &mut self,
        child: &DesiredChild,
        body: &Value,
        now: Timestamp,
    ) -> Result<Live, Refused> {
        self.version += 1;
        let version = self.version;
        let object = self.objects.entry(child.id.clone()).or_insert_with(|| Object {
            gvk: child.gvk.clone(),
            child: Some(child.name().into()),
            value: json!({"metadata": {
                "uid": format!("uid-{version}"),
                "creationTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            }}),
            ours: Value::Null,
            theirs: Value::Null,
        });
        let before = object.value.clone();
        merge::drop_unset(&mut object.value, &object.ours, body, &object.theirs);
        merge::set(&mut object.value, body);
        object.ours = body.clone();
        settle(&mut object.value, &before, version);
        live(&object.whole(&self.manager), &mut None, true)
    }

    /// A delete by us.
    pub fn delete(&mut self, id: &ObjectId) {
        self.objects.remove(id);
    }

    /// We leave an object behind: it is somebody else's from now on.
    pub fn orphan(&mut self, id: &ObjectId) {
        let Some(object) = self.objects.get_mut(id) else { return };
        object.child = None;
        object.theirs = object.ours.take();
        for pointer in ["/metadata/labels", "/metadata/annotations"] {
            if let Some(entries) = object.value.pointer_mut(pointer).and_then(Value::as_object_mut)
            {
                entries.retain(|name, _| !name.starts_with(marks::PREFIX));
            }
        }
    }

    /// The status write of a pass, if the rule has a status. Fields that could not be said stay as they were.
    pub(super) fn say(&mut self, rule: &Rule, said: &Said, now: Timestamp) {
        if rule.status.is_none() {
            return;
        }
        let mut status = self.parent.get("status").cloned().unwrap_or_default();
        if let Some(fields) = &said.fields {
            let (before, after) = (Value::from(self.said.clone()), Value::from(fields.clone()));
            merge::drop_unset(&mut status, &before, &after, &Value::Null);
            for (field, value) in fields {
                status[field.as_str()] = value.clone();
            }
            self.said.clone_from(fields);
        }
        let previous = status.get("conditions").and_then(Value::as_array).cloned();
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let previous = previous.unwrap_or_default();
        let generation = generation(&self.parent);
        let kept = previous.iter().filter(|condition| {
            let kind = condition.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| said.kept.iter().any(|kept| kept == kind))
        });
        let mut all = conditions(&said.conditions, &previous, generation, &now);
        all.extend(kept.cloned());
        status["conditions"] = all.into();
        if self.parent.get("status") != Some(&status) {
            self.version += 1;
            self.parent["status"] = status;
            self.parent["metadata"]["resourceVersion"] = json!(self.version.to_string());
        }
    }

    fn find(&self, child: &str, object: Option<&str>) -> Result<ObjectId, Refused> {
        let own = self.objects.iter().filter(|(_, other)| other.child.as_deref() == Some(child));
        let ids: Vec<&ObjectId> = own.map(|(id, _)| id).collect();
        match (object, ids.as_slice()) {
            (None, [only]) => Ok((*only).clone()),
            (None, [_, ..]) => Err(Refused::Ambiguous {
                child: child.to_owned(),
                objects: ids.iter().map(|id| short(id)).collect::<Vec<_>>().join(", "),
            }),
            (Some(name), ids) => match ids.iter().find(|id| short(id) == name) {
                Some(id) => Ok((*id).clone()),
                None => Err(Refused::NothingThere(format!("{child}: {name}"))),
            },
            (None, []) => Err(Refused::NothingThere(child.to_owned())),
        }
    }
}

/// The id of a child, without the items around it.
pub(super) fn base(name: &str) -> &str {
    name.split_once('[').map_or(name, |(id, _)| id)
}

/// `Kind/name`: how an object is told from the others of its child.
pub(super) fn short(id: &ObjectId) -> String {
    format!("{}/{}", id.kind.kind, id.name)
}

impl Object {
    /// With its managed fields.
    fn whole(&self, manager: &str) -> Value {
        let mut entries = Vec::new();
        for (name, operation, wrote) in
            [(manager, "Apply", &self.ours), ("somebody-else", "Update", &self.theirs)]
        {
            if let Some(fields) = merge::fields(&owned(wrote), Some(&self.value)) {
                entries.push(json!({
                    "manager": name, "operation": operation, "apiVersion": self.gvk.api_version(),
                    "fieldsType": "FieldsV1", "fieldsV1": fields,
                }));
            }
        }
        let mut whole = self.value.clone();
        if whole["metadata"].is_object() {
            whole["metadata"]["managedFields"] = Value::Array(entries);
        }
        whole
    }
}

/// What can be owned of an object: not its identity, and not the status, which has entries of its own.
fn owned(wrote: &Value) -> Value {
    let mut owned = wrote.clone();
    if let Some(fields) = owned.as_object_mut() {
        fields.retain(|field, _| !["apiVersion", "kind", "status"].contains(&field.as_str()));
    }
    if let Some(fields) = owned.get_mut("metadata").and_then(Value::as_object_mut) {
        let server_set = ["name", "namespace", "uid", "resourceVersion", "generation"];
        fields.retain(|field, _| !server_set.contains(&field.as_str()));
    }
    owned
}

/// A new version, and a new generation if the spec changed.
fn settle(value: &mut Value, before: &Value, version: u64) {
    let spec_changed = value.get("spec") != before.get("spec");
    let changed = value != before;
    let next = generation(before).unwrap_or(0) + i64::from(spec_changed);
    let has_spec = value.get("spec").is_some();
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if has_spec {
        metadata.insert("generation".into(), json!(next));
    }
    if changed {
        metadata.insert("resourceVersion".into(), json!(version.to_string()));
    }
}

fn live(value: &Value, order: &mut Option<Order>, fields: bool) -> Result<Live, Refused> {
    let text = match order {
        Some(order) => shuffle::text(value, order),
        None => value.to_string(),
    };
    Ok(Live::new(Arc::new(stored(value, &text, fields)?)))
}

fn read(value: &Value, fields: bool) -> Result<Stored, Refused> {
    stored(value, &value.to_string(), fields)
}

fn stored(value: &Value, text: &str, fields: bool) -> Result<Stored, Refused> {
    let Some(gvk) = Gvk::of(value) else {
        return Err(Refused::Illegal("no apiVersion or no kind".into()));
    };
    Format::new(&gvk, fields).read(text).map_err(|fault| Refused::Illegal(fault.fault.into()))
}
