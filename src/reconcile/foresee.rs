//! What a pass would delete, without doing anything.
//!
//! In: what a request names. Out: the objects of each child, and which of them would go. Never here: a request.

use super::{Scene, is_own_child, left_alone};
use crate::compare::{Memos, compare};
use crate::fetch::Live;
use crate::marks;
use crate::object::ObjectId;
use crate::render::render;
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;

/// What a pass would find and delete.
#[derive(Default)]
pub(crate) struct Foreseen {
    /// The child's id in the rule, for each object that exists.
    pub(crate) objects: Vec<(String, ObjectId)>,
    /// Which of them would go, to be created anew or not, with their uids.
    pub(crate) doomed: BTreeMap<ObjectId, Box<str>>,
}

/// Looks at a parent as a pass would. Of one that is left alone nothing goes.
pub(crate) fn foresee(scene: &Scene<'_>) -> Foreseen {
    let manager = marks::manager(&scene.rule.identity, &scene.parent.id);
    let observed = scene.observe(&manager);
    let child = |live: &Live| Some((live.mark.as_ref()?.child.clone(), live.id.clone()));
    let objects = observed.children.values().filter_map(child).collect();
    let alone = left_alone(&scene.parent, scene.rule).is_some();
    if alone || scene.parent.terminating || is_own_child(&scene.parent, scene.rule) {
        return Foreseen { objects, doomed: BTreeMap::new() };
    }
    let owner = scene.owner(&manager);
    // Nothing is made of it, so that no value has to be random.
    let desired = render(scene.rule, &observed, &scene.setting(Timestamp::now(), &[0; 32]));
    let plan = compare(&desired, &observed, &mut Memos::default(), &owner);
    let uid = |id: &ObjectId| observed.children.get(id).map(|live| live.stored.uid.clone());
    let doomed = plan.doomed(desired.may_prune()).into_iter();
    let doomed = doomed.filter_map(|id| Some((uid(&id)?, id))).map(|(uid, id)| (id, uid)).collect();
    Foreseen { objects, doomed }
}
