//! Lets go of a child: deletes it, or leaves it behind without our marks.
//!
//! In: a child that was judged. Out: nothing, or why not. Never here: a request without the uid and version that were
//! judged.

use crate::cluster::{Cluster, Deleted};
use crate::fetch::Live;
use crate::marks::{Mark, PREFIX};
use crate::refusal::{Class, Refusal};
use serde_json::{Map, Value, json};

/// Lets go of a child that is no longer wanted, or whose parent goes. Gone already is as good.
pub(crate) async fn remove(
    cluster: &Cluster,
    live: &Live,
    stays: bool,
) -> Result<Deleted, Refusal> {
    let removed = if stays { orphan(cluster, live).await } else { delete(cluster, live).await };
    if removed.is_ok() {
        let (verb, reason) = if stays { ("patch", "orphaned") } else { ("delete", "deleted") };
        cluster.metrics.wrote(verb, &live.id.kind, reason);
    }
    removed
}

/// Deletes exactly the object that was judged. Gone already is as good.
pub(super) async fn delete(cluster: &Cluster, live: &Live) -> Result<Deleted, Refusal> {
    match cluster.delete(live).await {
        Err(Refusal { class: Class::NotFound, .. }) => Ok(Deleted::Gone(live.stored.uid.clone())),
        other => other,
    }
}

/// The answer goes into the cache: the object is not ours any more.
async fn orphan(cluster: &Cluster, live: &Live) -> Result<Deleted, Refusal> {
    match cluster.merge(live, &without_marks(live)).await {
        Err(Refusal { class: Class::NotFound, .. }) => Ok(Deleted::Gone(live.stored.uid.clone())),
        other => other.map(|stored| Deleted::Going(Some(stored))),
    }
}

/// A merge patch that takes our labels, annotations and owner reference off, and nothing else.
fn without_marks(live: &Live) -> Value {
    let object = live.value();
    let marks = |kind: &str| -> Map<String, Value> {
        let entries = object["metadata"][kind].as_object();
        let ours = entries.into_iter().flatten().filter(|(name, _)| name.starts_with(PREFIX));
        ours.map(|(name, _)| (name.clone(), Value::Null)).collect()
    };
    let mut metadata = json!({"labels": marks("labels"), "annotations": marks("annotations")});
    let owners = object["metadata"]["ownerReferences"].as_array();
    let parent = live.mark.as_ref().and_then(Mark::parent_id);
    let is_parent = |owner: &&Value| {
        parent.as_ref().is_some_and(|parent| {
            owner["kind"] == *parent.kind.kind.as_str() && owner["name"] == *parent.name
        })
    };
    let others: Vec<&Value> = owners.into_iter().flatten().filter(|o| !is_parent(o)).collect();
    if owners.is_some_and(|owners| owners.len() > others.len()) {
        metadata["ownerReferences"] = json!(others);
    }
    json!({ "metadata": metadata })
}
