//! Where the inputs of a rule are looked up.
//!
//! In: caches by the position of the input. Out: objects, or why nobody can know. Never here: a request.

use super::Selection;
use crate::fetch::{ChildCache, owner_keys_of};
use crate::object::{Gvk, ObjectId};
use crate::rule::Rule;
use crate::scope::{Scope, Scopes};
use crate::selector::Selector;
use crate::store::{Format, Store, Stored, name_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The caches of the inputs of one rule.
#[derive(Clone, Default)]
pub struct InputCaches {
    /// By the position of the input: one cache, or one per namespace.
    pub by_input: Vec<Vec<ChildCache>>,
    /// The namespaces, if anything asks for their labels.
    pub namespaces: Option<ChildCache>,
}

impl InputCaches {
    /// Of these objects and no others, where there is no cluster. What a server would add to them is added; what is no
    /// object at all is left out.
    pub fn of_objects(rule: &Rule, objects: &[Value], scopes: &Scopes) -> Self {
        let holding = |gvk: &Gvk| holding(gvk, objects, scopes);
        let namespace =
            Gvk { group: String::new(), version: "v1".into(), kind: "Namespace".into() };
        Self {
            by_input: rule.inputs.iter().map(|input| vec![holding(&input.gvk)]).collect(),
            namespaces: rule.asks_for_namespaces().then(|| holding(&namespace)),
        }
    }

    /// One object; an error says why nobody can know whether it exists.
    pub(super) fn object(
        &self,
        input: usize,
        id: &ObjectId,
    ) -> Result<Option<Arc<Stored>>, String> {
        let mut caches = self.of(input).iter().filter(|cache| cache.holds(id));
        let Some(cache) = caches.next() else {
            return Err(format!("{id} is outside of what the rule watches"));
        };
        known(cache)?;
        Ok(cache.store.get(id))
    }

    /// The objects of a list.
    pub(super) fn select(&self, selection: &Selection) -> Result<Vec<Arc<Stored>>, String> {
        let mut objects = Vec::new();
        for cache in self.of(selection.input) {
            known(cache)?;
            match &selection.namespaces {
                None => objects.extend(cache.store.all()),
                Some(names) => {
                    objects.extend(names.iter().flat_map(|name| cache.store.in_namespace(name)));
                }
            }
        }
        objects.retain(|stored| selection.has(stored));
        objects.sort_by(|left, right| left.id.cmp(&right.id));
        Ok(objects)
    }

    /// One namespace.
    pub(super) fn namespace(&self, id: &ObjectId) -> Result<Option<Arc<Stored>>, String> {
        let cache = self.namespaces.as_ref().ok_or("no namespace is watched")?;
        known(cache)?;
        Ok(cache.store.get(id))
    }

    /// The namespaces with these labels.
    pub(super) fn namespaces(&self, selector: &Selector) -> Result<BTreeSet<Arc<str>>, String> {
        let cache = self.namespaces.as_ref().ok_or("no namespace is watched")?;
        known(cache)?;
        let selected = |stored: &Arc<Stored>| selector.matches(&stored.labels());
        let all = cache.store.all().into_iter().filter(selected);
        Ok(all.map(|stored| Arc::clone(&stored.id.name)).collect())
    }

    fn of(&self, input: usize) -> &[ChildCache] {
        self.by_input.get(input).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A cache of those objects that are of a kind.
pub(crate) fn holding(gvk: &Gvk, objects: &[Value], scopes: &Scopes) -> ChildCache {
    let store = Store::new(gvk, true, Some(Arc::new(owner_keys_of)));
    let of_kind = objects.iter().filter(|object| Gvk::of(object).as_ref() == Some(gvk));
    let items: Vec<Stored> = of_kind.filter_map(|object| completed(object, gvk, scopes)).collect();
    let names = items.iter().map(|item| name_of(&item.id)).collect();
    store.page(1, items);
    store.listed(1, &names);
    ChildCache { namespace: None, store: Arc::new(store), trouble: None }
}

/// An object with what only the API server gives it.
fn completed(object: &Value, gvk: &Gvk, scopes: &Scopes) -> Option<Stored> {
    let mut object = object.clone();
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.entry("uid").or_insert(json!("00000000-0000-0000-0000-000000000000"));
    metadata.insert("resourceVersion".into(), json!("1"));
    if scopes.of(&gvk.group_kind()) == Scope::Namespaced {
        metadata.entry("namespace").or_insert(json!("default"));
    }
    Format::new(gvk, true).read(&object.to_string()).ok()
}

/// What is not in a cache does not exist only once its first list is complete.
fn known(cache: &ChildCache) -> Result<(), String> {
    cache.trouble.clone().map_or(Ok(()), Err)
}
