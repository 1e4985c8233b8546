//! What is counted, and the page on which Prometheus reads it.
//!
//! In: what happened, told by whoever did it. Out: numbers; text. Never here: a look-up by name or a lock in a pass (a rule
//! finds its numbers once, when it is attached); a label that a parent can choose.

mod family;
mod number;
mod page;

pub use family::{FAMILIES, Family, Kind, reference};
pub use number::{Counter, Gauge, Histogram, Table};
pub use page::CONTENT_TYPE;

use crate::object::GroupKind;
use crate::queue::{Depth, Lane};
use crate::report::{Report, State};
use page::Page;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassOutcome {
    /// Well; an event will bring the parent back.
    Done,
    /// Well; it looks again at a known time.
    Again,
    /// Badly; it is tried again after a backoff.
    Failed,
    /// By a bug.
    Panicked,
}

const OUTCOMES: [&str; 4] = ["done", "again", "failed", "panicked"];
const STATES: [&str; 3] = ["ready", "waiting", "failed"];

/// What is counted of one rule.
#[derive(Debug, Default)]
pub struct RuleMetrics {
    passes: [Counter; OUTCOMES.len()],
    durations: Histogram,
    parents: [Gauge; STATES.len()],
    children: [Gauge; STATES.len()],
    contested: Gauge,
}

impl RuleMetrics {
    /// A pass ended.
    pub fn passed(&self, outcome: PassOutcome, took: Duration) {
        self.passes[outcome as usize].count();
        self.durations.observe(took);
    }

    fn add(&self, tally: &Tally, sign: i64) {
        if let Some(state) = tally.parent {
            self.parents[state as usize].add(sign);
        }
        for (gauge, count) in self.children.iter().zip(tally.children) {
            gauge.add(sign * i64::from(count));
        }
        self.contested.add(sign * i64::from(tally.contested));
    }
}

/// What one parent adds to the numbers of its rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    parent: Option<State>,
    children: [u32; STATES.len()],
    contested: u32,
}

/// A parent that counts in the numbers of its rule, until this is dropped.
#[derive(Debug, Default)]
pub struct Counted {
    of: Arc<RuleMetrics>,
    tally: Tally,
}

impl Counted {
    /// Counts a parent as its last pass found it.
    pub fn new(of: &Arc<RuleMetrics>, report: Option<&Report>, contested: usize) -> Self {
        let mut tally = Tally::default();
        if let Some(report) = report {
            tally.parent = Some(report.state);
            tally.contested = u32::try_from(contested).unwrap_or(u32::MAX);
            for child in &report.children {
                tally.children[child.state as usize] += 1;
            }
        }
        of.add(&tally, 1);
        Self { of: Arc::clone(of), tally }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.of.add(&self.tally, -1);
    }
}

/// What became of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseChange {
    /// We hold it now.
    Acquired,
    /// We gave it up.
    Released,
    /// It ran out, or somebody else has it.
    Lost,
}

const LEASE_CHANGES: [&str; 3] = ["acquired", "released", "lost"];

/// What is counted of one controller.
#[derive(Debug, Default)]
pub struct Metrics {
    rules: Mutex<BTreeMap<Arc<str>, Arc<RuleMetrics>>>,
    writes: Table<(&'static str, GroupKind, &'static str)>,
    requests: Table<(&'static str, &'static str)>,
    request_durations: Histogram,
    restarts: Table<GroupKind>,
    lease_changes: [Counter; LEASE_CHANGES.len()],
    bad_rules: Gauge,
}

impl Metrics {
    /// The numbers of a rule.
    pub fn rule(&self, name: &Arc<str>) -> Arc<RuleMetrics> {
        Arc::clone(self.rules().entry(Arc::clone(name)).or_default())
    }

    /// Forgets the numbers of all other rules.
    pub fn keep_rules(&self, is_kept: impl Fn(&Arc<str>) -> bool) {
        self.rules().retain(|name, _| is_kept(name));
    }

    fn rules(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<RuleMetrics>>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object was written: how (a verb of RBAC), of which kind, and why.
    pub fn wrote(&self, verb: &'static str, kind: &GroupKind, reason: &'static str) {
        self.writes.count((verb, kind.clone(), reason));
    }

    /// A request was answered.
    pub fn answered(&self, method: &http::Method, result: &'static str, took: Duration) {
        let known = ["GET", "POST", "PATCH", "PUT", "DELETE"];
        let method = known.iter().find(|known| method.as_str() == **known).unwrap_or(&"OTHER");
        self.requests.count((method, result));
        self.request_durations.observe(took);
    }

    /// A watch failed and is begun again.
    pub fn restarted(&self, kind: &GroupKind) {
        self.restarts.count(kind.clone());
    }

    /// The lease was acquired, released or lost.
    pub fn lease(&self, change: LeaseChange) {
        self.lease_changes[change as usize].count();
    }

    /// So many rules were loaded with problems and do not run.
    pub fn bad_rules(&self, count: usize) {
        self.bad_rules.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The page of metrics, with what is counted only when somebody asks.
    pub fn page(&self, now: &Snapshot) -> String {
        let mut page = Page::default();
        page.family(&family::BUILD_INFO).sample(&[env!("CARGO_PKG_VERSION")], 1);
        let mut samples = page.family(&family::LEADER);
        for (shard, leads) in now.leads.iter().enumerate() {
            samples.sample(&[&shard.to_string()], u8::from(*leads));
        }
        let mut samples = page.family(&family::LEASE_CHANGES);
        for (change, counter) in LEASE_CHANGES.iter().zip(&self.lease_changes) {
            samples.sample(&[change], counter.get());
        }
        let mut samples = page.family(&family::RULES);
        samples.sample(&["ready"], now.rules_ready);
        samples.sample(&["attaching"], now.rules_attaching);
        samples.sample(&["bad"], self.bad_rules.get());
        self.of_rules(&mut page);
        self.of_requests(&mut page, now);
        of_queue(&mut page, now);
        self.of_watches(&mut page, now);
        page.single(&family::EVENTS_PENDING, now.events_pending);
        page.single(&family::EVENTS_DROPPED, now.events_dropped);
        page.into_text()
    }

    fn of_rules(&self, page: &mut Page) {
        let rules = self.rules().clone();
        let mut samples = page.family(&family::PASSES);
        for (rule, metrics) in &rules {
            for (outcome, counter) in OUTCOMES.iter().zip(&metrics.passes) {
                samples.sample(&[rule, outcome], counter.get());
            }
        }
        let mut samples = page.family(&family::PASS_SECONDS);
        for (rule, metrics) in &rules {
            samples.histogram(&[rule], &metrics.durations);
        }
        for (family, of_children) in [(&family::PARENTS, false), (&family::CHILDREN, true)] {
            let mut samples = page.family(family);
            for (rule, metrics) in &rules {
                let gauges = if of_children { &metrics.children } else { &metrics.parents };
                for (state, gauge) in STATES.iter().zip(gauges) {
                    samples.sample(&[rule, state], gauge.get());
                }
            }
        }
        let mut samples = page.family(&family::CONTESTED);
        for (rule, metrics) in &rules {
            samples.sample(&[rule], metrics.contested.get());
        }
    }

    fn of_requests(&self, page: &mut Page, now: &Snapshot) {
        let mut samples = page.family(&family::WRITES);
        for ((verb, kind, reason), count) in self.writes.all() {
            samples.sample(&[verb, &kind.to_string(), reason], count);
        }
        let mut samples = page.family(&family::REQUESTS);
        for ((method, result), count) in self.requests.all() {
            samples.sample(&[method, result], count);
        }
        page.family(&family::REQUEST_SECONDS).histogram(&[], &self.request_durations);
        page.single(&family::IN_FLIGHT, now.in_flight);
        page.single(&family::IN_FLIGHT_LIMIT, now.in_flight_limit);
    }

    fn of_watches(&self, page: &mut Page, now: &Snapshot) {
        let mut samples = page.family(&family::WATCHES);
        for (state, count) in ["synced", "listing", "failing"].iter().zip(now.watches) {
            samples.sample(&[state], count);
        }
        let mut samples = page.family(&family::WATCH_RESTARTS);
        for (kind, count) in self.restarts.all() {
            samples.sample(&[&kind.to_string()], count);
        }
        let mut samples = page.family(&family::CACHE_OBJECTS);
        for (kind, (objects, _)) in &now.caches {
            samples.sample(&[&kind.to_string()], objects);
        }
        let mut samples = page.family(&family::CACHE_BYTES);
        for (kind, (_, bytes)) in &now.caches {
            samples.sample(&[&kind.to_string()], bytes);
        }
    }
}

fn of_queue(page: &mut Page, now: &Snapshot) {
    let mut samples = page.family(&family::QUEUE_KEYS);
    for (lane, (waiting, _)) in Lane::ALL.iter().zip(now.lanes) {
        samples.sample(&[lane.as_str()], waiting);
    }
    let mut samples = page.family(&family::QUEUE_OLDEST);
    for (lane, (_, oldest)) in Lane::ALL.iter().zip(now.lanes) {
        samples.sample(&[lane.as_str()], oldest.as_secs_f64());
    }
    let mut samples = page.family(&family::QUEUE_WAIT);
    for (lane, histogram) in Lane::ALL.iter().zip(&*now.waits) {
        samples.histogram(&[lane.as_str()], histogram);
    }
    page.single(&family::QUEUE_RUNNING, now.depth.running);
    page.single(&family::QUEUE_DELAYED, now.depth.delayed);
}

/// What can be seen at any time, and is not counted before.
pub struct Snapshot {
    /// Of each shard whether we may write.
    pub leads: Vec<bool>,
    /// Rules whose first lists are in.
    pub rules_ready: usize,
    /// Rules that are not there yet.
    pub rules_attaching: usize,
    /// Requests under way.
    pub in_flight: usize,
    /// Requests that may be under way.
    pub in_flight_limit: usize,
    /// What the queue holds.
    pub depth: Depth,
    /// Of each lane how many wait, and how long the first one has.
    pub lanes: [(usize, Duration); Lane::ALL.len()],
    /// Of each lane how long those waited who had their turn.
    pub waits: Arc<[Histogram; Lane::ALL.len()]>,
    /// Watches that are synced, that are not yet, and that fail.
    pub watches: [usize; 3],
    /// Objects and bytes by kind.
    pub caches: BTreeMap<GroupKind, (usize, usize)>,
    /// Events that wait to be sent.
    pub events_pending: usize,
    /// Events that were dropped.
    pub events_dropped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let depth = Depth { waiting: 0, running: 0, delayed: 0, owed: 0, oldest: Duration::ZERO };
        Snapshot {
            leads: vec![true],
            rules_ready: 1,
            rules_attaching: 0,
            in_flight: 0,
            in_flight_limit: 16,
            depth,
            lanes: [(0, Duration::ZERO); 4],
            waits: Arc::default(),
            watches: [1, 0, 0],
            caches: BTreeMap::from([(kind(), (1, 2))]),
            events_pending: 0,
            events_dropped: 0,
        }
    }

    fn kind() -> GroupKind {
        GroupKind { group: "apps".into(), kind: "Deployment".into() }
    }

    /// A metrics with at least one sample of everything.
    fn busy() -> Metrics {
        let metrics = Metrics::default();
        metrics.rule(&"r".into()).passed(PassOutcome::Done, Duration::ZERO);
        metrics.wrote("create", &kind(), "created");
        metrics.answered(&http::Method::PATCH, "ok", Duration::ZERO);
        metrics.restarted(&kind());
        metrics
    }

    #[test]
    fn every_documented_family_is_on_the_page_once_and_nothing_else_is() {
        let page = busy().page(&snapshot());
        let named: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split_whitespace().next())
            .collect();
        let documented: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!(named, documented);
        for family in FAMILIES {
            let has_samples = page.lines().any(|line| line.starts_with(family.name));
            assert!(has_samples, "{} has samples", family.name);
        }
    }

    #[test]
    fn a_parent_counts_once_and_no_longer_than_it_is_remembered() {
        let metrics = Metrics::default();
        let rule = metrics.rule(&"r".into());
        let parent = crate::marks::parse_id("WebApp.demo.kubewright.io shop/a").unwrap();
        let mut report = Report::left_alone("r", &parent, "");
        let first = Counted::new(&rule, Some(&report), 2);
        let waiting = State::InProgress as usize;
        assert_eq!((rule.parents[waiting].get(), rule.contested.get()), (1, 2));
        report.state = State::Ready;
        let second = Counted::new(&rule, Some(&report), 0);
        drop(first);
        assert_eq!(rule.parents.each_ref().map(Gauge::get), [1, 0, 0]);
        assert_eq!(rule.contested.get(), 0);
        drop(second);
        assert_eq!(rule.parents.each_ref().map(Gauge::get), [0, 0, 0]);
    }

    #[test]
    fn a_rule_that_is_gone_is_not_on_the_page() {
        let metrics = busy();
        metrics.keep_rules(|_| false);
        assert!(!metrics.page(&snapshot()).contains("rule=\"r\""));
    }
}
