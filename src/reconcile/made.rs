//! The parent's memory of which children with generated values were made, so that none is made anew while it lives.
//!
//! In: what is desired and what exists. Out: at most one guarded patch of one annotation of the parent. Never here: a value.

use super::Scene;
use crate::fetch::{Live, Observed};
use crate::marks::annotation;
use crate::refusal::Refusal;
use crate::render::generate::remembered;
use crate::render::{Desired, place_name};
use crate::rule::WhenGone;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Brings the annotation up to date. A child that is no longer wanted is forgotten; one that waits or failed is not.
pub(super) async fn note(
    scene: &Scene<'_>,
    desired: &Desired,
    after: &Observed,
) -> Result<(), Refusal> {
    let parent = Live::new(Arc::clone(&scene.parent));
    let before: BTreeSet<String> = remembered(&parent).into_iter().collect();
    let held = |policy| policy == WhenGone::Hold;
    let generating =
        desired.children.iter().filter(|child| child.generates && held(child.policies.when_gone));
    let mut made: BTreeSet<String> = BTreeSet::new();
    for child in generating {
        if after.children.contains_key(&child.id) || before.contains(&child.name()) {
            made.insert(child.name());
        }
    }
    let stuck: Vec<String> =
        desired.stuck.keys().map(|(child, items)| place_name(child, items)).collect();
    let is_stuck = |place: &&String| {
        desired.failed.is_some()
            || stuck
                .iter()
                .any(|stuck| *stuck == **place || place.starts_with(&format!("{stuck}[")))
    };
    made.extend(before.iter().filter(is_stuck).cloned());
    if made == before {
        return Ok(());
    }
    let list = made.into_iter().collect::<Vec<_>>().join(",");
    let list = if list.is_empty() { Value::Null } else { json!(list) };
    let patch = json!({"metadata": {"annotations": {annotation::GENERATED: list}}});
    // The finalizer may have been set in this pass: the version in the cache is the latest.
    let latest = scene.parents.get(&scene.parent.id).unwrap_or_else(|| Arc::clone(&scene.parent));
    let stored = scene.told_of_parent(scene.cluster.merge(&Live::new(latest), &patch).await)?;
    scene.cluster.metrics.wrote("patch", &scene.parent.id.kind, "metadata");
    scene.remember_parent(&Live::new(stored));
    Ok(())
}
