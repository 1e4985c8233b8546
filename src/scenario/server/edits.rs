//! What the simulated server makes of edits of objects that a rule does not own.
//!
//! In: edits. Out: the objects among the inputs, or the parent, as they are afterwards. Never here: who else edits them.

use super::{Server, merge, settle};
use crate::fetch::ChildCache;
use crate::input;
use crate::marks::PatchMark;
use crate::object::{Gvk, ObjectId, metadata};
use crate::render::DesiredPatch;
use crate::rule::Rule;
use crate::scope::Scopes;
use serde_json::Value;
use std::sync::Arc;

impl Server {
    /// Where the objects are that a rule edits without owning them: among what it reads.
    pub(in crate::scenario) fn targets(&self, rule: &Rule, scopes: &Scopes) -> Arc<[ChildCache]> {
        input::targets_among(rule, &self.inputs, scopes)
    }

    /// An edit of an object that the rule does not own. Tells whether it changes anything.
    pub(in crate::scenario) fn patch(&mut self, patch: &DesiredPatch) -> bool {
        self.version += 1;
        let version = self.version;
        let Some(object) = self.target(&patch.wanted.id) else { return false };
        let before = object.clone();
        match &patch.operations {
            None => merge::set(object, &patch.wanted.object),
            Some(operations) => {
                for operation in operations.iter().filter(|operation| !operation.is_test()) {
                    set_at(object, &operation.path, &operation.value);
                }
            }
        }
        let wrote = *object != before;
        if wrote {
            settle(object, &before, version);
            if patch.operations.is_none() {
                let edit = (before, patch.wanted.object.clone());
                self.edits.entry((patch.mark_key(), patch.wanted.id.clone())).or_insert(edit);
            }
        }
        wrote
    }

    /// Takes an edit back; what was there before, others hold.
    pub(in crate::scenario) fn unpatch(&mut self, mark: &PatchMark, id: &ObjectId) {
        let key = (PatchMark::key(&mark.manager()), id.clone());
        let Some((theirs, ours)) = self.edits.remove(&key) else { return };
        if let Some(object) = self.target(id) {
            merge::drop_unset(object, &ours, &Value::Null, &theirs);
        }
    }

    fn target(&mut self, id: &ObjectId) -> Option<&mut Value> {
        if *id == self.parent_id {
            return Some(&mut self.parent);
        }
        self.inputs.iter_mut().find(|object| {
            let same_kind = Gvk::of(object).is_some_and(|gvk| gvk.group_kind() == *id.kind);
            let namespace = metadata(object, "namespace");
            let own = if id.namespace.is_empty() { "" } else { "default" };
            same_kind
                && metadata(object, "name") == Some(&*id.name)
                && namespace.unwrap_or(own) == &*id.namespace
        })
    }
}

fn set_at(object: &mut Value, pointer: &str, value: &Value) {
    let steps: Vec<String> =
        pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let mut place = object;
    for step in &steps {
        place = match place {
            Value::Array(list) => {
                match step.parse::<usize>().ok().and_then(|at| list.get_mut(at)) {
                    Some(element) => element,
                    None => return,
                }
            }
            map => &mut map[step.as_str()],
        };
    }
    place.clone_from(value);
}
