//! Our finalizer on a parent: it holds the parent until those of its children are gone that no owner reference ties to it.
//!
//! In: a parent, what is desired of it. Out: at most one guarded patch of `metadata.finalizers`. It is there before the first
//! such child is made, and goes when the last one is gone. Never here: a change of somebody else's finalizer.

use super::Scene;
use crate::fetch::{Edited, Live, Observed};
use crate::marks;
use crate::refusal::{Class, Refusal};
use crate::render::Desired;
use crate::rule::Rule;
use crate::store::Stored;
use serde_json::{Value, json};

/// Whether a parent holds our finalizer.
pub(crate) fn is_held(parent: &Stored, rule: &Rule) -> bool {
    let ours = marks::finalizer(&rule.identity);
    parent.finalizers().contains(&ours)
}

/// Whether something is made that would be left behind if the parent just went.
pub(crate) fn needs(desired: &Desired, parent: &Stored) -> bool {
    desired.children.iter().any(|child| child.free)
        || desired.patches.iter().any(|patch| !patch.stays && patch.wanted.id != parent.id)
}

/// Edits that are taken back before the parent goes.
pub(super) fn to_take_back(observed: &Observed) -> impl Iterator<Item = &Edited> {
    let parent = &observed.parent.id;
    observed.edited.iter().filter(move |edited| !edited.mark.stays && edited.live.id != *parent)
}

/// Makes sure that the parent is held if a child needs it. Nothing is asked if it is held already.
pub(super) async fn hold(scene: &Scene<'_>, desired: &Desired) -> Result<(), Refusal> {
    if !needs(desired, &scene.parent) || is_held(&scene.parent, scene.rule) {
        return Ok(());
    }
    let mut finalizers = scene.parent.finalizers();
    finalizers.push(marks::finalizer(&scene.rule.identity));
    set(scene, &finalizers).await
}

/// Lets go of a parent that needs no finalizer any more.
pub(super) async fn release_unneeded(
    scene: &Scene<'_>,
    desired: &Desired,
    after: &Observed,
) -> Result<(), Refusal> {
    let wanted = needs(desired, &scene.parent);
    let is_free = |live: &Live| live.mark.as_ref().is_some_and(|mark| mark.free);
    let left = after.children.values().any(is_free) || to_take_back(after).next().is_some();
    // What waits or failed may have made children that nobody sees now.
    let certain = desired.may_prune() && desired.stuck.is_empty();
    if wanted || left || !certain || !is_held(&scene.parent, scene.rule) {
        return Ok(());
    }
    release(scene).await
}

/// Lets go of the parent, if it is held.
pub(super) async fn release_if_held(scene: &Scene<'_>) -> Result<(), Refusal> {
    if is_held(&scene.parent, scene.rule) { release(scene).await } else { Ok(()) }
}

/// Lets go of the parent.
async fn release(scene: &Scene<'_>) -> Result<(), Refusal> {
    let ours = marks::finalizer(&scene.rule.identity);
    let mut finalizers = scene.parent.finalizers();
    finalizers.retain(|name| *name != ours);
    match set(scene, &finalizers).await {
        Err(Refusal { class: Class::NotFound, .. }) => Ok(()),
        other => other,
    }
}

async fn set(scene: &Scene<'_>, finalizers: &[String]) -> Result<(), Refusal> {
    let parent = Live::new(std::sync::Arc::clone(&scene.parent));
    let list = if finalizers.is_empty() { Value::Null } else { json!(finalizers) };
    let patch = json!({"metadata": {"finalizers": list}});
    let stored = scene.told_of_parent(scene.cluster.merge(&parent, &patch).await)?;
    scene.cluster.metrics.wrote("patch", &scene.parent.id.kind, "metadata");
    if !stored.terminating || !finalizers.is_empty() {
        scene.remember_parent(&Live::new(stored));
    }
    Ok(())
}
