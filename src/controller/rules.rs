//! Which rules run: taken over when they change, let go when they are gone, remembered over restarts.
//!
//! In: what was loaded. Out: attached rules. Whatever is not certainly gone stays as it was. Never here: reading files.

use super::attach::{self, Attached};
use super::rollout::Progress;
use super::{Controller, lock, retire};
use crate::record::Record;
use crate::rule::{Kept, Loaded, Rule, renew};
use std::sync::Arc;

impl Controller {
    /// Begins with what ran before the last end of the program, and then takes over what was loaded: a restart is a reload.
    /// Rules that are bad now run on as they were, and those that were taken away meanwhile are let go.
    pub async fn begin(self: &Arc<Self>, loaded: &Loaded) {
        let before = self.remembered_rules().await;
        self.set_rules(&before);
        self.take_over(loaded);
    }

    /// Takes over what was loaded. Gives the rules that run on as they were, and why.
    pub fn take_over(self: &Arc<Self>, loaded: &Loaded) -> Vec<(Arc<str>, Kept)> {
        let running: Vec<_> =
            lock(&self.rules).values().map(|attached| Arc::clone(&attached.rule)).collect();
        let renewed = renew(&running, loaded);
        self.set_rules(&renewed.rules);
        let before = std::mem::replace(&mut *lock(&self.kept), renewed.kept.clone());
        for (rule, why) in renewed.kept.iter().filter(|kept| !before.contains(kept)) {
            tracing::error!(%rule, "the rule runs on as it was: {why}");
        }
        renewed.kept
    }

    /// Rules that run on as they were, and why.
    pub fn kept(&self) -> Vec<(Arc<str>, Kept)> {
        lock(&self.kept).clone()
    }

    /// The rules that ran before the last end of the program, as they were then, as far as they are remembered.
    async fn remembered_rules(&self) -> Vec<Arc<Rule>> {
        let Some(records) = &self.records else { return Vec::new() };
        records.listed().await;
        let rule = |record: Record| {
            let compiled = record.source.and_then(|source| source.rule(&record.rule));
            if compiled.is_none() {
                tracing::warn!(
                    rule = record.rule,
                    "the rule is remembered, but not what it said, or it is not understood any more"
                );
            }
            compiled
        };
        records.all().into_iter().filter_map(rule).collect()
    }

    /// How far the rules are rolled out that have changed.
    pub fn rollouts(&self) -> Vec<(Arc<str>, Progress)> {
        let rules = lock(&self.rules);
        let of = |attached: &Arc<Attached>| {
            Some((Arc::clone(&attached.rule.name), attached.guard.progress()?))
        };
        rules.values().filter_map(of).collect()
    }

    /// Makes these the rules that run: new and changed ones are attached, others let go, with what their parents hold. What
    /// is not in the list is taken for removed on purpose: a folder that cannot be read must not come here.
    pub fn set_rules(self: &Arc<Self>, wanted: &[Arc<Rule>]) {
        let mut rules = lock(&self.rules);
        let names: Vec<&Arc<str>> = wanted.iter().map(|rule| &rule.name).collect();
        let gone: Vec<Arc<str>> = rules.keys().filter(|n| !names.contains(n)).cloned().collect();
        let gone: Vec<Arc<Attached>> = gone.iter().filter_map(|name| rules.remove(name)).collect();
        self.retire(&gone, wanted);
        lock(&self.memories).retain(|key, _| names.contains(&&key.rule));
        self.metrics.keep_rules(|name| names.contains(&name));
        lock(&self.reports).retain(|key, _| names.contains(&&key.rule));
        self.vanished.retain(&names);
        for rule in wanted {
            let renamed = || gone.iter().find(|gone| gone.rule.identity == rule.identity);
            let before = rules.get(&rule.name).or_else(renamed);
            if before.is_some_and(|attached| {
                attached.rule.hash == rule.hash && attached.rule.name == rule.name
            }) {
                continue;
            }
            // The old one is let go only when the new one holds the watches they share.
            let record = self.records.as_ref().and_then(|all| all.get(&rule.identity));
            let attached = attach::attach(self, Arc::clone(rule), before, record.as_ref());
            rules.insert(Arc::clone(&rule.name), attached);
        }
    }

    /// Lets go of the parents of rules that are gone, and no longer of those of rules that came back.
    fn retire(self: &Arc<Self>, gone: &[Arc<Attached>], wanted: &[Arc<Rule>]) {
        let mut retiring = lock(&self.retiring);
        let is_wanted = |identity: &Arc<str>| wanted.iter().any(|rule| rule.identity == *identity);
        retiring.retain(|identity, task| {
            let back = is_wanted(identity);
            if back {
                task.abort();
            }
            !back && !task.is_finished()
        });
        for attached in gone.iter().filter(|gone| !is_wanted(&gone.rule.identity)) {
            let task = retire::start(self, Arc::clone(attached));
            retiring.insert(Arc::clone(&attached.rule.identity), task);
        }
    }
}
