//! What is noted of a rule in its record: that it runs, and later that all its parents have seen it.
//!
//! In: a rule that is attached. Out: at most one write when it begins, and one when it is settled. Never here: what a pass may do.

use super::attach::Attached;
use super::rollout::{Progress, Rollout};
use super::{Controller, lock};
use crate::record::{self, Record};
use crate::refusal::Refusal;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

impl Controller {
    /// Sees to it that a rule is remembered, with every kind it may create, before it creates anything.
    pub(super) async fn remember_rule(&self, attached: &Attached) -> Result<(), Refusal> {
        let Some(records) = &self.records else { return Ok(()) };
        if attached.guard.recorded.load(Ordering::Relaxed) {
            return Ok(());
        }
        let unsettled = attached.guard.unsettled;
        let update =
            records.update(&self.any_writer().cluster, &attached.rule.identity, |before| {
                let mut record = attached.record();
                match before {
                    Some(before) if unsettled => {
                        record.settled.clone_from(&before.settled);
                        record.settled_shards.clone_from(&before.settled_shards);
                    }
                    _ => record.settled.clone_from(&record.version),
                }
                if let Some(before) = before {
                    record.children.extend(before.children.iter().cloned());
                    record.targets.extend(before.targets.iter().cloned());
                    record.allowed.clone_from(&before.allowed);
                }
                record
            });
        update.await?;
        attached.guard.recorded.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends a roll-out that is over: every parent has seen the rule. It is settled once nothing of it is left to do. What is no
    /// longer held back is no longer told.
    pub(super) async fn settle_rule(&self, attached: &Attached) {
        if self.records.is_none() {
            return;
        }
        let relieved = lock(&attached.guard.budget).is_relieved();
        if relieved {
            self.tell_withheld(attached, &[]).await;
        }
        let over = {
            let mut rollout = lock(&attached.guard.rollout);
            let is_over = rollout.as_ref().is_some_and(Rollout::is_over);
            if is_over { rollout.take() } else { None }
        };
        let rule = &attached.rule;
        if let Some(over) = over {
            let Progress { parents, changed, failing, .. } = over.progress();
            tracing::info!(rule = %rule.name, parents, changed, failing, "every parent has seen the changed rule");
            attached.guard.seen.store(true, Ordering::Relaxed);
        }
        // Most passes end here. A deletion that is held back now must be so after a restart too.
        let seen = &attached.guard.seen;
        if !seen.load(Ordering::Relaxed)
            || lock(&attached.guard.budget).doubts_rule()
            || !seen.swap(false, Ordering::Relaxed)
        {
            return;
        }
        let Some(records) = &self.records else { return };
        let left = attached.kinds_with_objects();
        let settled = records.update(&self.any_writer().cluster, &rule.identity, |before| {
            let now = attached.record();
            let before = before.cloned().unwrap_or_else(|| now.clone());
            let own: BTreeSet<_> = rule.kinds().chain(&left).map(record::Kind::from).collect();
            let ours = (0..self.shards.count()).filter(|shard| self.shards.owns_shard(*shard));
            Record { children: own, ..before }.settle(&now.version, ours, self.shards.count())
        });
        if let Err(error) = settled.await {
            tracing::warn!(rule = %rule.name, %error, "that the rule is settled could not be noted; it is rolled out once more after a restart");
        }
    }
}
