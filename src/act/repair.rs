//! Makes way for an apply that the server refused although nothing is wrong with what it wants.
//!
//! In: a refusal, the child as it is. Out: the child as it is afterwards, if there was something to do. One patch, only of
//! the version that was judged; the apply that follows is made once.
//! Never here: which refusals can be mended ([`owned::mended`], [`owned::revived`]).

use crate::cluster::Cluster;
use crate::fetch::{Live, Owner};
use crate::owned;
use crate::refusal::{Class, Refusal};
use crate::render::DesiredChild;
use serde_json::{Value, json};

/// What stands in the way is changed. `None` if nothing does, and the refusal stands.
pub(super) async fn after_refusal(
    cluster: &Cluster,
    child: &DesiredChild,
    live: &Live,
    refusal: &Refusal,
    owner: &Owner<'_>,
) -> Result<Option<Live>, Refusal> {
    if refusal.class != Class::Permanent {
        return Ok(None);
    }
    let mends = mends(child, live, refusal, owner);
    if mends.is_empty() {
        return Ok(None);
    }
    let places: Vec<&str> = mends.iter().map(|(place, _)| place.as_str()).collect();
    tracing::info!(rule = owner.rule, parent = %owner.parent, object = %child.id, ?places, "mends a child");
    let change =
        |(place, value): owned::Mend| json!({"op": "replace", "path": place, "value": value});
    let changes = mends.into_iter().map(change).collect();
    let stored = cluster.patch(child, live, changes, owner.manager).await?;
    Ok(Some(Live::new(stored)))
}

fn mends(
    child: &DesiredChild,
    live: &Live,
    refusal: &Refusal,
    owner: &Owner<'_>,
) -> Vec<owned::Mend> {
    let whole = live.whole();
    if let Some(dead) = refusal.dead_version() {
        let entries = whole.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
        let revived = owned::revived(entries, dead, &child.gvk.api_version());
        return revived
            .map(|entries| ("/metadata/managedFields".to_owned(), entries))
            .into_iter()
            .collect();
    }
    let fields = live.entry(owner.manager).and_then(|entry| entry.fields()).unwrap_or_default();
    let wanted = child.body_beside(live, owner.manager);
    owned::mended(&wanted, &fields, &whole, owner.manager, &refusal.message)
}
