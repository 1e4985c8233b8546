//! Children whose values are made once, where the cache does not show them.
//!
//! In: such a child. Out: the object as the server has it, under our label again, or that it is lost. Never here: a value; a
//! change of anything but the label, and only of the version that was read.

use super::{Done, Trouble};
use crate::cluster::Cluster;
use crate::fetch::{Live, Owner};
use crate::marks::{annotation, label};
use crate::refusal::{Class, Refusal};
use crate::render::DesiredChild;
use serde_json::json;

/// That the cache does not show a child may only mean that it lost the label which the cache selects by: what cannot be made
/// again is asked for before it counts as lost.
pub(super) async fn regained(
    cluster: &Cluster,
    child: &DesiredChild,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    let is_ours = |live: &Live| live.not_ours(owner).is_none() || live.lacks_entry(owner);
    match cluster.get(child).await.map(Live::new) {
        Ok(live) if is_ours(&live) && !live.stored.terminating => {
            shown(cluster, child, live, owner).await
        }
        Ok(_) | Err(Refusal { class: Class::NotFound, .. }) => Err(Trouble::Lost(lost(child))),
        Err(refusal) => Err(Trouble::Refused(refusal)),
    }
}

/// A child that has its generated values: the next pass renders it with them, as soon as the cache shows it. Without the label
/// it never does, since it believes no answer that is older than its list.
pub(super) async fn shown(
    cluster: &Cluster,
    child: &DesiredChild,
    live: Live,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    let wanted = &child.object["metadata"]["labels"][label::OWNER];
    let labels = &live.value()["metadata"]["labels"];
    if labels[label::OWNER] == *wanted {
        return Ok(Done::Found(Box::new(live)));
    }
    let change = if labels.is_object() {
        let path = format!("/metadata/labels/{}", label::OWNER.replace('/', "~1"));
        json!({"op": "add", "path": path, "value": wanted})
    } else {
        json!({"op": "add", "path": "/metadata/labels", "value": {label::OWNER: wanted}})
    };
    let stored = cluster.patch(child, &live, vec![change], owner.manager).await;
    stored.map(|stored| Done::Found(Box::new(Live::new(stored)))).map_err(Trouble::Refused)
}

/// That a child is gone, and with it what is not made anew.
pub(crate) fn lost(child: &DesiredChild) -> String {
    format!(
        "{} is gone, and with it the values that were generated for it; restore it, or take `{}` out of the parent's \
         annotation {}",
        child.id,
        child.name(),
        annotation::GENERATED
    )
}
