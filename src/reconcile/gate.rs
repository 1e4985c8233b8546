//! Who is asked before a pass changes anything: as long as a changed rule is rolled out, or an input has changed.
//!
//! In: what a pass would do. Out: the same with some deletions taken out, or when to come again. Never here: the reasons.

use super::Next;
use crate::compare::Plan;
use crate::object::ObjectId;
use crate::refusal::Refusal;
use crate::render::Desired;
use futures::future::BoxFuture;
use std::collections::BTreeMap;

/// What a pass may do.
pub trait Gate: Sync {
    /// Whether it may change something now; else when it is to come again.
    fn admit(&self) -> Result<(), Next>;

    /// Which of these objects are not deleted now, and why.
    fn withholds<'a>(
        &'a self,
        doomed: &'a [ObjectId],
    ) -> BoxFuture<'a, BTreeMap<ObjectId, Refusal>>;
}

/// Asks for a pass that has something to ask for. What it edits without owning it counts as a change.
pub(super) async fn ask(
    gate: Option<&dyn Gate>,
    desired: &Desired,
    plan: &mut Plan<'_>,
) -> Result<(), Next> {
    let Some(gate) = gate else { return Ok(()) };
    let fails = desired.problems().next().is_some();
    if fails || !plan.is_empty() || !desired.patches.is_empty() {
        gate.admit()?;
    }
    let doomed = plan.doomed(desired.may_prune());
    if !doomed.is_empty() {
        plan.withhold_deletions(gate.withholds(&doomed).await);
    }
    Ok(())
}
