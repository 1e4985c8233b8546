//! Brings about what a rule wants of objects that it does not own, and takes back what it no longer wants of them.
//!
//! In: edits, what was done before. Out: one result per edit; at most one write each. Never here: an object that does not
//! exist is made; a field that somebody else holds is taken, unless it was ours.

use super::restraint::Restraints;
use super::{Done, Trouble, Write, with_uid, write};
use crate::cluster::Cluster;
use crate::compare::{Action, Memo, Plan, Planned, Reason, differs, memo_of};
use crate::fetch::{Edited, Live, Owner};
use crate::refusal::{Class, Refusal, Texts};
use crate::render::patch::as_json;
use crate::render::{DesiredPatch, Operation, Place};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::time::Instant;

/// What is remembered of the edits of one parent. Losing it costs no write.
#[derive(Default)]
pub(crate) struct Patches {
    by_place: BTreeMap<Place, Remembered>,
}

#[derive(Default)]
struct Remembered {
    memo: Option<Memo>,
    restraints: Restraints,
}

/// What became of the edits.
#[derive(Default)]
pub struct Patched {
    /// One result per edit, in the order of the rule.
    pub results: Vec<Result<Done, Trouble>>,
    /// Edits that were taken back, or why not.
    pub removed: Vec<(Place, Result<(), Refusal>)>,
    /// When an edit that is left alone for now is to be looked at again.
    pub look_again: Option<Instant>,
}

impl Patched {
    /// Nothing is done, for one reason.
    pub fn refused(wanted: &[DesiredPatch], refusal: &Refusal) -> Self {
        let refused = |_: &DesiredPatch| Err(Trouble::Refused(refusal.clone()));
        Self { results: wanted.iter().map(refused).collect(), ..Self::default() }
    }

    /// Whether anything was written.
    pub fn wrote(&self) -> bool {
        let written = |result: &Result<Done, Trouble>| matches!(result, Ok(Done::Written(..)));
        self.results.iter().any(written) || self.removed.iter().any(|(_, result)| result.is_ok())
    }

    /// The objects as the server answered.
    pub fn answers(&self) -> impl Iterator<Item = &Live> {
        self.results.iter().filter_map(|result| match result {
            Ok(Done::Written(live, _)) => Some(&**live),
            _ => None,
        })
    }
}

/// Makes every edit that differs, then takes back those that are not wanted.
pub(crate) async fn patch(
    cluster: &Cluster,
    wanted: &[DesiredPatch],
    unwanted: &[&Edited],
    remembered: &mut Patches,
    edition: u64,
    owner: &Owner<'_>,
) -> Patched {
    let begun = Instant::now();
    remembered.by_place.retain(|place, _| wanted.iter().any(|patch| patch.place() == *place));
    let mut patched = Patched::default();
    for patch in wanted {
        let known = remembered.by_place.entry(patch.place()).or_default();
        patched.results.push(one(cluster, patch, known, edition, owner).await);
        let look_again = known.restraints.look_again(begun);
        patched.look_again = patched.look_again.into_iter().chain(look_again).min();
    }
    for edited in unwanted {
        let place = (edited.mark.child.as_str().into(), edited.mark.items.clone());
        patched.removed.push((place, remove(cluster, edited).await));
    }
    patched
}

async fn one(
    cluster: &Cluster,
    patch: &DesiredPatch,
    known: &mut Remembered,
    edition: u64,
    owner: &Owner<'_>,
) -> Result<Done, Trouble> {
    let (child, live) = (&patch.wanted, &patch.live);
    let (action, memo) = judge(patch, known.memo.as_ref())?;
    if action == Action::WaitGone {
        return Ok(Done::WaitingGone);
    }
    if memo.is_some() {
        known.memo = memo;
    }
    let planned = Planned { child, live: Some(live), action };
    let now = Instant::now();
    let plan = Plan { children: vec![planned], ..Plan::default() };
    known.restraints.begin(edition, &plan, now);
    let Some(planned) = plan.children.first() else { return Ok(Done::Kept) };
    if let Some(trouble) = known.restraints.holds(planned, &patch.manager, now) {
        return Err(trouble);
    }
    let Action::Apply(reason) = planned.action else { return Ok(Done::Kept) };
    let result = if let Some(operations) = &patch.operations {
        operate(cluster, patch, operations, reason).await
    } else {
        let owner = Owner { manager: &patch.manager, ..*owner };
        write(cluster, child, live, reason, known.memo.as_ref(), &owner).await
    };
    known.restraints.note(planned, &result, Instant::now());
    if let Ok(Done::Written(live, _)) = &result {
        known.memo = memo_of(child, live, &patch.manager);
        cluster.metrics.wrote("patch", &child.id.kind, "edited");
        tracing::debug!(rule = owner.rule, parent = %owner.parent, object = %child.id, reason = reason.as_str(), "edited an object");
    }
    result
}

/// What an edit needs; and what to remember of its target, if that changed.
pub(crate) fn judge(
    patch: &DesiredPatch,
    memo: Option<&Memo>,
) -> Result<(Action, Option<Memo>), Trouble> {
    let live = &patch.live;
    match &patch.operations {
        _ if live.stored.terminating => Ok((Action::WaitGone, None)),
        Some(operations) => Ok((judge_operations(operations, live, patch.wanted.texts)?, None)),
        None => Ok(differs(&patch.wanted, live, memo, &patch.manager, patch.marked())),
    }
}

/// What is there already needs nothing; what a test does not find is waited for.
fn judge_operations(
    operations: &[Operation],
    live: &Live,
    texts: Texts,
) -> Result<Action, Trouble> {
    let object = live.value();
    let there = |operation: &Operation| object.pointer(&operation.path) == Some(&operation.value);
    let asked = operations.iter().filter(|operation| operation.is_test());
    if let Some(failed) = asked.into_iter().find(|operation| !there(operation)) {
        // It stands in conditions and Events.
        let value = match texts {
            Texts::Hidden => "as tested".into(),
            Texts::Shown => failed.value.to_string(),
        };
        return Err(Trouble::Unseen(format!("`{}` is not {value} yet", failed.path)));
    }
    let done = operations.iter().filter(|operation| !operation.is_test()).all(there);
    Ok(if done { Action::Keep } else { Action::Apply(Reason::Drift) })
}

async fn operate(
    cluster: &Cluster,
    patch: &DesiredPatch,
    operations: &[Operation],
    reason: Reason,
) -> Result<Done, Trouble> {
    let Value::Array(changes) = as_json(operations) else { return Ok(Done::Kept) };
    match cluster.patch(&patch.wanted, &patch.live, changes, &patch.manager).await {
        Ok(stored) => Ok(Done::Written(Box::new(Live::new(stored)), Write::Applied(reason))),
        Err(refusal) => Err(Trouble::Refused(refusal)),
    }
}

/// Takes an edit back: an apply of nothing by its manager leaves what others hold too. Gone already is as good.
pub(crate) async fn remove(cluster: &Cluster, edited: &Edited) -> Result<(), Refusal> {
    let live = &edited.live;
    let object = live.value();
    let body = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "metadata": {"name": &*live.id.name},
    });
    let mut body = with_uid(body, &live.stored.uid);
    if !live.id.namespace.is_empty() {
        body["metadata"]["namespace"] = json!(&*live.id.namespace);
    }
    match cluster.apply_to(live, &body, &edited.mark.manager()).await {
        Err(Refusal { class: Class::NotFound, .. }) => Ok(()),
        other => {
            other?;
            cluster.metrics.wrote("patch", &live.id.kind, "edited");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Gvk;
    use crate::store::Format;
    use std::sync::Arc;

    #[test]
    fn what_is_waited_for_is_told_but_not_the_value_of_a_secret() {
        let why = |kind: &str| {
            let object = json!({"metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7"},
                "data": {"k": "x"}});
            let gvk = Gvk::parse("v1", kind).unwrap();
            let format = Format::new(&gvk, true);
            let live = Live::new(Arc::new(format.read(&object.to_string()).unwrap()));
            let value = json!("hunter2");
            let test = Operation { op: "test", path: "/data/k".into(), value };
            match judge_operations(&[test], &live, Texts::about(&gvk, false)) {
                Err(Trouble::Unseen(why)) => why,
                other => format!("{other:?}"),
            }
        };
        assert_eq!(why("ConfigMap"), "`/data/k` is not \"hunter2\" yet");
        assert_eq!(why("Secret"), "`/data/k` is not as tested yet");
    }
}
