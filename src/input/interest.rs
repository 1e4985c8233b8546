//! In what a parent is interested besides itself and its children.
//!
//! In: what was looked up. Out: an index from a changed object to the parents that read it. Never here: caches.

use crate::object::ObjectId;
use crate::selector::Selector;
use crate::store::Stored;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What one parent looked up, whether it was there or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interests {
    /// Objects by name.
    pub objects: BTreeSet<ObjectId>,
    /// Lists.
    pub selections: BTreeSet<Selection>,
    /// Namespaces by their labels.
    pub namespaces: BTreeSet<Selector>,
}

/// Which objects are in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// The position of the input in the rule.
    pub input: usize,
    /// The namespaces; none means all.
    pub namespaces: Option<BTreeSet<Arc<str>>>,
    /// The labels.
    pub selector: Selector,
}

impl Selection {
    /// Whether an object is in the list.
    pub fn has(&self, stored: &Stored) -> bool {
        let inside = |names: &BTreeSet<Arc<str>>| names.contains(&*stored.id.namespace);
        self.namespaces.as_ref().is_none_or(inside)
            && (self.selector.is_empty() || self.selector.matches(&stored.labels()))
    }
}

/// The parents by what they are interested in.
#[derive(Debug, Default)]
pub struct Index {
    interests: BTreeMap<ObjectId, Interests>,
    objects: BTreeMap<ObjectId, BTreeSet<ObjectId>>,
    selections: BTreeMap<Selection, BTreeSet<ObjectId>>,
    namespaces: BTreeMap<Selector, BTreeSet<ObjectId>>,
}

/// An object before and after a change; nothing where it was not, or is not, there.
type Versions<'a> = [Option<&'a Arc<Stored>>; 2];

impl Index {
    /// Remembers what a parent is interested in, instead of what it was before. Tells whether that is something else.
    pub fn set(&mut self, parent: &ObjectId, interests: Interests) -> bool {
        let before = self.interests.get(parent);
        if before == Some(&interests) || (before.is_none() && interests == Interests::default()) {
            return false;
        }
        let before = self.interests.remove(parent).unwrap_or_default();
        drop_from(&mut self.objects, before.objects, parent);
        drop_from(&mut self.selections, before.selections, parent);
        drop_from(&mut self.namespaces, before.namespaces, parent);
        add_to(&mut self.objects, &interests.objects, parent);
        add_to(&mut self.selections, &interests.selections, parent);
        add_to(&mut self.namespaces, &interests.namespaces, parent);
        if interests != Interests::default() {
            self.interests.insert(parent.clone(), interests);
        }
        true
    }

    /// How many parents, and things that they are interested in, it has.
    pub fn len(&self) -> usize {
        self.interests.len() + self.objects.len() + self.selections.len() + self.namespaces.len()
    }

    /// Whether nobody is interested in anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Who reads an object as the input at this position.
    pub fn readers(
        &self,
        input: usize,
        id: &ObjectId,
        versions: Versions<'_>,
    ) -> BTreeSet<ObjectId> {
        let mut readers = self.objects.get(id).cloned().unwrap_or_default();
        let of_input = self.selections.iter().filter(|(selection, _)| selection.input == input);
        for (selection, parents) in of_input {
            if versions.iter().flatten().any(|stored| selection.has(stored)) {
                readers.extend(parents.iter().cloned());
            }
        }
        readers
    }

    /// Who is concerned by a change of a namespace: those in it that ask for its labels, and those for whom it comes or goes.
    pub fn readers_of_namespace(
        &self,
        id: &ObjectId,
        versions: Versions<'_>,
    ) -> BTreeSet<ObjectId> {
        let mut readers = self.objects.get(id).cloned().unwrap_or_default();
        let [before, after] = versions.map(|stored| stored.map(|stored| stored.labels()));
        for (selector, parents) in &self.namespaces {
            let selected =
                |labels: &Option<_>| labels.as_ref().is_some_and(|l| selector.matches(l));
            if selected(&before) != selected(&after) {
                readers.extend(parents.iter().cloned());
            }
        }
        readers
    }
}

fn drop_from<K: Ord>(
    index: &mut BTreeMap<K, BTreeSet<ObjectId>>,
    keys: BTreeSet<K>,
    parent: &ObjectId,
) {
    for key in keys {
        if let Some(parents) = index.get_mut(&key) {
            parents.remove(parent);
            if parents.is_empty() {
                index.remove(&key);
            }
        }
    }
}

fn add_to<K: Ord + Clone>(
    index: &mut BTreeMap<K, BTreeSet<ObjectId>>,
    keys: &BTreeSet<K>,
    parent: &ObjectId,
) {
    for key in keys {
        index.entry(key.clone()).or_default().insert(parent.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;
    use crate::object::Gvk;
    use crate::store::Format;
    use serde_json::{Value, json};

    fn id(text: &str) -> ObjectId {
        parse_id(text).unwrap()
    }

    fn config(name: &str, labels: &Value) -> Arc<Stored> {
        let metadata = json!({"name": name, "namespace": "shop", "uid": "u", "resourceVersion": "1", "labels": labels});
        let text = json!({"metadata": metadata}).to_string();
        Arc::new(Format::new(&Gvk::parse("v1", "ConfigMap").unwrap(), false).read(&text).unwrap())
    }

    fn all(input: usize, namespace: Option<&str>) -> Interests {
        let namespaces = namespace.map(|name| BTreeSet::from([Arc::from(name)]));
        let selection = Selection { input, namespaces, selector: Selector::default() };
        Interests { selections: BTreeSet::from([selection]), ..Interests::default() }
    }

    #[test]
    fn a_change_is_told_to_those_who_read_the_object_and_to_nobody_else() {
        let (named, listing, elsewhere) =
            (id("A shop/named"), id("A shop/listing"), id("A x/else"));
        let mut index = Index::default();
        let objects = BTreeSet::from([id("ConfigMap shop/one")]);
        assert!(index.set(&named, Interests { objects: objects.clone(), ..Interests::default() }));
        assert!(index.set(&listing, all(1, Some("shop"))));
        assert!(index.set(&elsewhere, all(1, Some("x"))));
        assert!(!index.set(&listing, all(1, Some("shop"))), "the same again");
        let one = config("one", &json!({}));
        let told = |index: &Index, input, stored: &Arc<Stored>| {
            let all: Vec<String> = index
                .readers(input, &stored.id, [None, Some(stored)])
                .iter()
                .map(ToString::to_string)
                .collect();
            all.join(" ")
        };
        assert_eq!(told(&index, 1, &one), "A shop/listing A shop/named");
        assert_eq!(told(&index, 0, &one), "A shop/named", "another input's list");
        assert_eq!(told(&index, 1, &config("two", &json!({}))), "A shop/listing");
        assert!(index.set(&named, Interests::default()));
        assert_eq!(told(&index, 0, &one), "");
        assert!(index.objects.is_empty() && index.interests.len() == 2, "nothing is left behind");
    }
}
