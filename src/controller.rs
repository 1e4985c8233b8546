//! Runs rules: which change wakes which pass, and who does the passes.
//!
//! In: compiled rules and a client. Out: passes, each for one parent of one rule, never two of one key at once. A rule is
//! attached to its watches by a task of its own, so that a kind that is not served holds up nobody else.
//! Never here: what a pass does.

mod attach;
mod look;
mod retire;
mod shards;
mod turn;

pub use look::Readiness;
pub use shards::MOST_SHARDS;

use crate::cluster::Cluster;
use crate::event::Teller;
use crate::fetch::owner_keys_of;
use crate::input::Interests;
use crate::metrics::{Counted, Metrics, PassOutcome};
use crate::object::{Gvk, ObjectId};
use crate::queue::{Again, Lane, Queue};
use crate::reconcile::{Memory, Next, Scene, reconcile};
use crate::report::Report;
use crate::rule::Rule;
use crate::watch::{Kinds, Watches};
use attach::Attached;
use futures::FutureExt;
use kube::Client;
use shards::{Run, Shards};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::task::{AbortHandle, JoinSet};

/// What a pass is about: a rule and a parent, nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The rule's name.
    pub rule: Arc<str>,
    /// The parent.
    pub parent: ObjectId,
}

/// How a controller runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names this installation in the owner label, so that several can share a cluster: a label value.
    pub installation: String,
    /// Passes at once.
    pub workers: usize,
    /// Whether the last report of every parent is kept for [`Controller::reports`].
    pub reports: bool,
    /// Whether passes begin only with [`Controller::lead`]: until then nothing is written.
    pub waits_to_lead: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { installation: "kubewright".into(), workers: 8, reports: false, waits_to_lead: false }
    }
}

/// Runs rules against one API server.
pub struct Controller {
    /// For what is no object's business, and for documents.
    cluster: Cluster,
    /// Of each shard.
    writers: Vec<Writer>,
    shards: Arc<Shards>,
    watches: Watches,
    queue: Arc<Queue<Key>>,
    options: Options,
    rules: Mutex<BTreeMap<Arc<str>, Arc<Attached>>>,
    /// Rules that were taken away and whose parents are being let go, by identity.
    retiring: Mutex<BTreeMap<Arc<str>, AbortHandle>>,
    memories: Mutex<HashMap<Key, Remembered>>,
    reports: Mutex<BTreeMap<Key, Report>>,
    changed: Notify,
    metrics: Arc<Metrics>,
}

/// What the passes of a shard send, and tell.
struct Writer {
    cluster: Cluster,
    teller: Arc<Teller>,
}

/// What is kept of a parent between passes.
#[derive(Default)]
struct Remembered {
    memory: Memory,
    /// Its part in the numbers of its rule.
    counted: Counted,
}

/// A controller whose workers run.
pub struct Running {
    /// The controller.
    pub controller: Arc<Controller>,
    workers: JoinSet<()>,
    telling: JoinSet<()>,
}

impl Controller {
    /// Without rules and at rest. The client is best made by [`crate::watch::client`].
    pub fn new(client: Client, options: Options) -> Arc<Self> {
        Self::with_writers(client.clone(), vec![client], options, Arc::default())
    }

    /// The same with other clients for all that only the leader of a shard sends, one for each shard
    /// ([`crate::lease::guarded`] makes them), and numbers of somebody else.
    pub fn with_writers(
        client: Client,
        writers: Vec<Client>,
        options: Options,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let kinds = Arc::new(Kinds::new(client.clone()));
        let cluster = Cluster::new(client.clone(), client.clone(), kinds, Arc::clone(&metrics));
        let shards = Shards::new(writers.len());
        if !options.waits_to_lead {
            (0..shards.count()).for_each(|shard| {
                shards.watch(shard);
                shards.begin(shard);
            });
        }
        let writer = |client: Client| Writer {
            cluster: cluster.through(client.clone()),
            teller: Teller::new(client, &options.installation),
        };
        Arc::new(Self {
            writers: writers.into_iter().take(shards.count()).map(writer).collect(),
            shards: Arc::new(shards),
            cluster,
            watches: Watches::new(client, Some(Arc::new(owner_keys_of)), Arc::clone(&metrics)),
            queue: Arc::default(),
            options,
            rules: Mutex::default(),
            retiring: Mutex::default(),
            memories: Mutex::default(),
            reports: Mutex::default(),
            changed: Notify::new(),
            metrics,
        })
    }

    /// Starts the workers.
    pub fn start(self: &Arc<Self>) -> Running {
        let mut workers = JoinSet::new();
        for _ in 0..self.options.workers.max(1) {
            let controller = Arc::clone(self);
            workers.spawn(async move { controller.work().await });
        }
        let mut telling = JoinSet::new();
        for writer in &self.writers {
            telling.spawn(Arc::clone(&writer.teller).run());
        }
        Running { controller: Arc::clone(self), workers, telling }
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
        for rule in wanted {
            let renamed = || gone.iter().find(|gone| gone.rule.identity == rule.identity);
            let before = rules.get(&rule.name).or_else(renamed);
            if before.is_some_and(|attached| {
                attached.rule.hash == rule.hash && attached.rule.name == rule.name
            }) {
                continue;
            }
            // The old one is let go only when the new one holds the watches they share.
            let attached = attach::attach(self, Arc::clone(rule), before);
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

    /// Kinds were installed or changed: rules that miss something ask for it at once. Without this they notice by
    /// themselves, within a minute.
    pub fn kinds_changed(&self) {
        for attached in lock(&self.rules).values() {
            let inputs = attached.rule.inputs.iter().map(|input| &input.gvk);
            for gvk in attached.rule.kinds().chain(&attached.rule.parent.kinds).chain(inputs) {
                self.cluster.kinds.forget(gvk);
            }
            attached.kinds_changed();
        }
    }

    /// Waits until every rule is attached and nothing is left to do now.
    pub async fn settled(&self) {
        loop {
            let attached: Vec<_> = lock(&self.rules).values().cloned().collect();
            let depth = self.queue.depth();
            let idle = depth.waiting + depth.running + depth.owed + self.events_pending() == 0;
            let idle = idle && !self.is_retiring();
            if idle && attached.iter().all(|attached| attached.is_ready()) {
                return;
            }
            // Nothing tells of every way to become idle, and only `dev` and tests ask.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The last report of every parent, by rule and parent.
    pub fn reports(&self) -> Vec<Report> {
        lock(&self.reports).values().cloned().collect()
    }

    /// Waits for the next change of [`Controller::reports`].
    pub fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    async fn work(&self) {
        while let Some(key) = self.queue.next().await {
            let attached = lock(&self.rules).get(&key.rule).cloned();
            // A rule that is being attached sees half of what there is; every parent gets a pass when it is done.
            let attached = attached.filter(|attached| attached.is_ready());
            // What became somebody else's while it waited is not ours to do.
            let (Some(attached), Some(run)) = (attached, self.shards.run(&key.parent)) else {
                self.queue.done(&key, Again::No);
                continue;
            };
            let begun = Instant::now();
            let pass = AssertUnwindSafe(self.pass(&key, &attached, &run)).catch_unwind().await;
            let panicked = pass.is_err();
            let next = pass.unwrap_or_else(|_| {
                tracing::error!(rule = %key.rule, parent = %key.parent, "a pass panicked, which is a bug");
                Next { failed: true, look: None }
            });
            let outcome = match next {
                _ if panicked => PassOutcome::Panicked,
                Next { failed: true, .. } => PassOutcome::Failed,
                Next { look: Some(_), .. } => PassOutcome::Again,
                Next { .. } => PassOutcome::Done,
            };
            attached.metrics.passed(outcome, begun.elapsed());
            if !run.is_current() {
                self.queue.done(&key, Again::No);
                continue;
            }
            if let Some((delay, lane)) = next.look {
                self.queue.add_after(key.clone(), delay, lane);
            }
            self.queue.done(&key, if next.failed { Again::Failed } else { Again::No });
        }
    }

    /// What the parents of its shard are written through.
    fn writer(&self, parent: &ObjectId) -> &Writer {
        &self.writers[self.shards.of(parent)]
    }

    fn events_pending(&self) -> usize {
        self.writers.iter().map(|writer| writer.teller.pending()).sum()
    }

    async fn pass(&self, key: &Key, attached: &Attached, run: &Run<'_>) -> Next {
        let Some((parents, parent)) = attached.parent(&key.parent) else {
            attached.wants(&key.parent, Vec::new());
            attached.is_interested(&key.parent, Interests::default());
            attached.edits(&key.parent, &BTreeSet::new());
            self.forget(key);
            return Next::default();
        };
        let writer = self.writer(&key.parent);
        let children = attached.children(self.shards.of(&key.parent));
        let (scopes, shape) = (attached.scopes(), attached.shape(&key.parent.kind));
        let inputs = attached.inputs_of(&parent, &scopes);
        let targets = attached.targets();
        let scene = Scene {
            cluster: &writer.cluster,
            rule: &attached.rule,
            parent,
            parents: &parents,
            children: &children,
            inputs: &inputs,
            targets: &targets,
            interested: &|objects| attached.edits(&key.parent, objects),
            scopes: &scopes,
            shape: shape.as_deref(),
            installation: &self.options.installation,
        };
        let Remembered { mut memory, counted } =
            lock(&self.memories).remove(key).unwrap_or_default();
        let ended = reconcile(&scene, &mut memory).await;
        attached.wants(&key.parent, ended.taken);
        if ended.misfit || !ended.lacking.is_empty() {
            attached.doubt_shape(&key.parent.kind, ended.lacking);
        }
        if ended.told {
            self.tell_others(key);
        }
        writer.teller.tell(ended.events);
        let counts = Counted::new(&attached.metrics, ended.report.as_ref(), ended.contested);
        drop(counted);
        // If somebody else may have written meanwhile, nothing of this is worth remembering.
        if run.is_current() {
            self.keep(key, Remembered { memory, counted: counts }, ended.report);
        }
        ended.next
    }

    /// What is remembered between passes, unless rule or parent went meanwhile.
    fn keep(&self, key: &Key, remembered: Remembered, report: Option<Report>) {
        let rules = lock(&self.rules);
        let gone = |attached: &Arc<Attached>| {
            attached.is_ready() && attached.parent(&key.parent).is_none()
        };
        if rules.get(&key.rule).is_none_or(gone) {
            return;
        }
        lock(&self.memories).insert(key.clone(), remembered);
        let report = report.filter(|_| self.options.reports);
        let mut reports = lock(&self.reports);
        let before = match report.clone() {
            Some(report) => reports.insert(key.clone(), report),
            None => reports.remove(key),
        };
        if before != report {
            self.changed.notify_waiters();
        }
    }

    /// We wrote the parent's status, so that its change is no news to us; other rules of the same kind may read it.
    fn tell_others(&self, key: &Key) {
        for (name, attached) in &*lock(&self.rules) {
            let is_for = |gvk: &Gvk| gvk.group_kind() == *key.parent.kind;
            if *name != key.rule && attached.rule.parent.kinds.iter().any(is_for) {
                attached.wake(&key.parent, Lane::Drift);
            }
        }
    }

    /// Parents of which something is remembered for a rule; they may be gone.
    fn remembered(&self, rule: &str) -> Vec<ObjectId> {
        let memories = lock(&self.memories);
        let of_rule = memories.keys().filter(|key| *key.rule == *rule);
        of_rule.map(|key| key.parent.clone()).collect()
    }

    /// The parent is gone; garbage collection takes its children.
    fn forget(&self, key: &Key) {
        lock(&self.memories).remove(key);
        if lock(&self.reports).remove(key).is_some() {
            self.changed.notify_waiters();
        }
    }
}

impl Running {
    /// Hands out no more passes, lets those under way finish and what they told be sent, and lets go of every watch.
    pub async fn stop(self) {
        self.stop_within(Duration::MAX).await;
    }

    /// The same, but passes that are not finished in time are cut off: whoever runs the rules next goes on where they were.
    /// Tells how many those are.
    pub async fn stop_within(mut self, time: Duration) -> usize {
        self.controller.queue.close();
        let finished = async { while self.workers.join_next().await.is_some() {} };
        let in_time = tokio::time::timeout(time, finished).await.is_ok();
        let left = if in_time { 0 } else { self.controller.queue.depth().running };
        self.workers.shutdown().await;
        for writer in &self.controller.writers {
            writer.teller.end();
        }
        // Whatever is not sent in time is not worth waiting for.
        let told = async { while self.telling.join_next().await.is_some() {} };
        drop(tokio::time::timeout(Duration::from_secs(2), told).await);
        left
    }
}

impl Drop for Running {
    /// Lets go of every watch; passes under way are cut off.
    fn drop(&mut self) {
        self.controller.queue.close();
        lock(&self.controller.rules).clear();
        for task in lock(&self.controller.retiring).values() {
            task.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics half-way through a change: what is behind a poisoned lock is sound.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
