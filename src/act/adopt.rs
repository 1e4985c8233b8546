//! Makes an object that somebody else made a child, where the rule allows that.
//!
//! In: an object that is there under a child's name and not ours. Out: the child, or why not. What previous writers owned
//! becomes ours, so that what the rule does not want goes away. Never here: an object that has an owner, or that a rule made;
//! an object without a namespace, or in a namespace of Kubernetes itself; a write without uid and version.

use super::{Done, Trouble, Write, guarded};
use crate::cluster::Cluster;
use crate::compare::{Action, judge};
use crate::fetch::{Live, Owner};
use crate::owned;
use crate::render::DesiredChild;
use crate::rule::Adopt;
use serde_json::{Value, json};

/// Whether an object that somebody else made becomes a child.
enum Adoption {
    /// It does.
    Allowed,
    /// The rule does not ask for it.
    NotAsked,
    /// The rule asks for it, but it must not, for this reason.
    Refused(String),
}

/// What an object is that the cache did not show and that is there under a child's name.
pub(crate) enum Unexpected {
    /// It is being deleted.
    Leaving,
    /// It is nobody's, and becomes the child.
    Adopted,
    /// It is not ours, and stays so.
    NotOurs(String),
    /// It is ours: this is to be done with it.
    Ours(Action),
}

/// Judges such an object: it is somebody else's, or the cache is late, or it lost the label that the cache selects by. What is
/// ours is judged like any other, else the cache might never show it.
pub(crate) fn judged(child: &DesiredChild, live: &Live, owner: &Owner<'_>) -> Unexpected {
    if live.is_remains(owner) {
        return Unexpected::Leaving;
    }
    if let Some(why) = live.not_ours(owner).filter(|_| !live.lacks_entry(owner)) {
        return match adoption(child, live) {
            Adoption::Allowed => Unexpected::Adopted,
            Adoption::NotAsked => Unexpected::NotOurs(taken(child, &why)),
            Adoption::Refused(objection) => {
                Unexpected::NotOurs(taken(child, &format!("{why}, and {objection}")))
            }
        };
    }
    if child.generates {
        // Its values are in there: the next pass renders it with them.
        return Unexpected::Ours(Action::Keep);
    }
    match judge(child, live, None, owner.manager).0 {
        Action::WaitGone => Unexpected::Leaving,
        action => Unexpected::Ours(action),
    }
}

/// That somebody else's object has a child's name.
pub(crate) fn taken(child: &DesiredChild, why: &str) -> String {
    format!("{} exists and {why}", child.id)
}

/// Decides about an object that is there under a child's name.
fn adoption(child: &DesiredChild, live: &Live) -> Adoption {
    if child.policies.adopt == Adopt::Never {
        return Adoption::NotAsked;
    }
    let owners = live.value()["metadata"]["ownerReferences"].as_array();
    let owner = owners.and_then(|owners| owners.first());
    let why = if child.id.namespace.is_empty() {
        "an object without a namespace is never adopted".to_owned()
    } else if child.id.namespace.starts_with("kube-") {
        format!("nothing in `{}` is ever adopted", child.id.namespace)
    } else if live.stored.terminating {
        "it is being deleted".to_owned()
    } else if let Some(mark) = live.mark.as_ref().filter(|mark| mark.object == live.id.to_string())
    {
        format!("it is a child of {} already", mark.parent)
    } else if let Some(owner) = owner {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        format!("it has an owner, {} {}", text("kind"), text("name"))
    } else {
        return Adoption::Allowed;
    };
    Adoption::Refused(why)
}

/// First who owns what, then the values: both only of the version that was judged.
pub(super) async fn adopt(
    cluster: &Cluster,
    child: &DesiredChild,
    live: &Live,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    let whole = live.whole();
    let entries = whole.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
    let version = child.gvk.api_version();
    let entries = owned::inherited(entries, owner.manager, &version);
    let change = json!({"op": "add", "path": "/metadata/managedFields", "value": entries});
    let inherited = cluster.patch(child, live, vec![change], owner.manager).await;
    let live = Live::new(inherited.map_err(Trouble::Refused)?);
    tracing::info!(rule = owner.rule, parent = %owner.parent, object = %child.id, "adopts an object");
    let version = live.stored.resource_version.to_string();
    let body = guarded(child.body_beside(&live, owner.manager), Some(&live.stored.uid), &version);
    match cluster.apply(child, &body, owner.manager, true).await {
        Ok(stored) => Ok(Done::Written(Box::new(Live::new(stored)), Write::Adopted)),
        Err(refusal) => Err(Trouble::Refused(refusal)),
    }
}
