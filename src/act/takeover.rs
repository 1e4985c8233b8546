//! Puts right who owns what before an apply that would otherwise not do what it should.
//!
//! In: a child as it is. Out: the child as it is afterwards, if there was something to do. One patch of `managedFields`
//! alone, only of the version that was judged; the object's values stay as they are.
//! Never here: an object that does not carry our marks and our owner reference; what is to be owned by whom
//! ([`owned::taken_over`]).

use crate::cluster::Cluster;
use crate::compare::{Memo, Reason};
use crate::fetch::{Live, Owner};
use crate::owned;
use crate::refusal::Refusal;
use crate::render::DesiredChild;
use serde_json::{Value, json};

/// Needed if our entry is missing, whatever is to be written; and before a new intent, which may drop fields that a previous
/// writer owns as well.
pub(super) async fn before_apply(
    cluster: &Cluster,
    child: &DesiredChild,
    live: &Live,
    reason: Reason,
    memo: Option<&Memo>,
    owner: &Owner<'_>,
) -> Result<Option<Live>, Refusal> {
    if reason != Reason::Intent && live.entry(owner.manager).is_some() {
        return Ok(None);
    }
    let whole = live.whole();
    let entries = whole.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
    let remembered = memo.map(|memo| &*memo.owned.fields);
    let version = child.gvk.api_version();
    let Some(entries) = owned::taken_over(entries, owner.manager, &version, remembered) else {
        return Ok(None);
    };
    tracing::info!(rule = owner.rule, parent = %owner.parent, object = %child.id, "takes over the fields of a child");
    let change = json!({"op": "add", "path": "/metadata/managedFields", "value": entries});
    let stored = cluster.patch(child, live, vec![change], owner.manager).await?;
    Ok(Some(Live::new(stored)))
}
