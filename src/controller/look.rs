//! How a controller is doing, for probes and metrics.
//!
//! In: a controller. Out: what it is doing now. Never here: a change of anything.

use super::{Controller, lock};
use crate::metrics::{Metrics, Snapshot};
use crate::object::GroupKind;
use crate::store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether a rule runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The rule.
    pub rule: Arc<str>,
    /// What is missing; nothing if it runs, or would if we led.
    pub missing: Vec<String>,
    /// Whether it is still beginning; not of one whose kind is not served, which may be so for long.
    pub starting: bool,
}

impl Controller {
    /// Of every rule whether it is attached and its first lists are in, sorted by name.
    pub fn readiness(&self) -> Vec<Readiness> {
        let rules = lock(&self.rules);
        let readiness = rules.iter().map(|(rule, attached)| Readiness {
            rule: Arc::clone(rule),
            missing: attached.missing(),
            starting: attached.is_starting(),
        });
        readiness.collect()
    }

    /// Whether rules are remembered over restarts; not where the rights for it are missing.
    pub fn remembers(&self) -> bool {
        self.records.as_ref().is_none_or(super::records::Records::is_on)
    }

    /// What is counted.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// How many shards there are.
    pub fn shards(&self) -> usize {
        self.shards.count()
    }

    /// How much is kept of parents and children, by what it is kept as. It is bounded by what there is: without parents and
    /// children nothing is kept.
    pub fn sizes(&self) -> BTreeMap<&'static str, usize> {
        let depth = self.queue.depth();
        let mut kept = BTreeMap::from([
            ("memories", lock(&self.memories).len()),
            ("reports", lock(&self.reports).len()),
            ("vanished", self.vanished.len()),
            ("queued", depth.waiting + depth.running + depth.delayed),
        ]);
        for attached in lock(&self.rules).values() {
            for (what, number) in attached.kept() {
                *kept.entry(what).or_default() += number;
            }
        }
        for watch in self.watches.all() {
            *kept.entry("objects").or_default() += watch.store().len();
            *kept.entry("deletions").or_default() += watch.store().deletions();
        }
        kept
    }

    /// What is not counted but can be seen; `leads` says of each shard whether we may write.
    pub fn snapshot(&self, leads: Vec<bool>) -> Snapshot {
        let rules: Vec<_> = lock(&self.rules).values().cloned().collect();
        let ready = rules.iter().filter(|attached| attached.is_ready()).count();
        let withheld = rules.iter().map(|attached| attached.guard.withheld());
        let withheld = rules.iter().map(|attached| Arc::clone(&attached.rule.name)).zip(withheld);
        let withheld = withheld.collect();
        let (in_flight, in_flight_limit) = self.cluster.in_flight();
        let (watches, caches) = self.caches();
        Snapshot {
            leads,
            rules_ready: ready,
            rules_attaching: rules.len() - ready,
            rules_kept: self.kept().len(),
            rollouts: self.rollouts(),
            withheld,
            in_flight,
            in_flight_limit,
            depth: self.queue.depth(),
            lanes: self.queue.lanes(),
            waits: self.queue.waits(),
            watches,
            caches,
            events_pending: self.events_pending(),
            events_dropped: self.writers.iter().map(|writer| writer.teller.dropped()).sum(),
        }
    }

    /// Watches that are synced, that are not yet, that fail; objects and bytes by kind.
    fn caches(&self) -> ([usize; 3], BTreeMap<GroupKind, (usize, usize)>) {
        let (mut states, mut caches) = ([0; 3], BTreeMap::new());
        for watch in self.watches.all() {
            let state = watch.state();
            let which = if state.last_error.is_some() { 2 } else { usize::from(!state.synced) };
            states[which] += 1;
            let kind = watch.key().resource.gvk.group_kind();
            let (objects, bytes): &mut (usize, usize) = caches.entry(kind).or_default();
            *objects += watch.store().len();
            *bytes += bytes_of(watch.store());
        }
        (states, caches)
    }
}

fn bytes_of(store: &Store) -> usize {
    let bytes = |stored: &Arc<crate::store::Stored>| {
        stored.json().len() + stored.managed_fields().map_or(0, str::len)
    };
    store.all().iter().map(bytes).sum()
}
