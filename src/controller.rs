//! Runs rules: which change wakes which pass, and who does the passes.
//!
//! In: compiled rules and a client. Out: passes, each for one parent of one rule, never two of one key at once. A rule is
//! attached to its watches by a task of its own, so that a kind that is not served holds up nobody else.
//! Never here: what a pass does.

mod attach;
mod budget;
mod guard;
mod look;
mod records;
mod retire;
mod rollout;
mod rules;
mod settle;
mod shards;
mod sight;
mod turn;
mod unseen;
mod vanished;

pub use look::Readiness;
pub use rollout::Progress;
pub use shards::MOST_SHARDS;

use crate::cluster::Cluster;
use crate::event::Teller;
use crate::fetch::owner_keys_of;
use crate::input::Interests;
use crate::metrics::{Counted, Metrics, PassOutcome};
use crate::object::{Gvk, ObjectId};
use crate::queue::{Again, Keyed, Lane, Queue};
use crate::reconcile::{Extent, Gate, Memory, Next, Scene, reconcile};
use crate::report::Report;
use crate::rule::Kept;
use crate::store::{Notice, Subscription};
use crate::watch::{Kinds, Watches};
use attach::Attached;
use futures::FutureExt;
use guard::Passing;
use kube::Client;
use records::Records;
use shards::{Run, Shards};
use sight::Sight;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
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

/// Rules share the passes.
impl Keyed for Key {
    type Flow = Arc<str>;

    fn flow(&self) -> Arc<str> {
        Arc::clone(&self.rule)
    }
}

/// How a controller runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names this installation in the owner label, so that several can share a cluster: a label value.
    pub installation: String,
    /// Passes at once. Most of them wait for answers, and requests are limited by themselves.
    pub workers: usize,
    /// Whether the last report of every parent is kept for [`Controller::reports`].
    pub reports: bool,
    /// Our own namespace, where what has to outlive the process is remembered of each rule; nothing is if there is none,
    /// and then no change of a rule is rolled out slowly or held back.
    pub namespace: Option<String>,
    /// So many parents may change in a second because their rule did.
    pub rollout_rate: u32,
    /// Whether passes begin only with [`Controller::lead`]: until then nothing is written.
    pub waits_to_lead: bool,
    /// How long a parent must be missing before its children go that nothing else takes away.
    pub vanished_after: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            installation: "kubewright".into(),
            workers: 32,
            reports: false,
            vanished_after: Duration::from_mins(5),
            namespace: None,
            rollout_rate: 20,
            waits_to_lead: false,
        }
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
    /// Rules that run on as they were, and why.
    kept: Mutex<Vec<(Arc<str>, Kept)>>,
    /// Rules that were taken away and whose parents are being let go, by identity.
    retiring: Mutex<BTreeMap<Arc<str>, AbortHandle>>,
    memories: Mutex<HashMap<Key, Remembered>>,
    reports: Mutex<BTreeMap<Key, Report>>,
    changed: Notify,
    vanished: vanished::Vanished,
    records: Option<Records>,
    /// Hears of records that somebody else changed.
    _heard: Option<Subscription>,
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
    watching: JoinSet<()>,
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
            teller: Teller::new(client, &options.installation, cluster.limiter()),
        };
        let writers = writers.into_iter().take(shards.count()).map(writer).collect();
        let watches = Watches::new(client, Some(Arc::new(owner_keys_of)), Arc::clone(&metrics))
            .telling(&cluster.outage);
        let records = options.namespace.as_deref();
        let records = records.map(|own| Records::new(&watches, own, &options.installation));
        Arc::new_cyclic(|controller| Self {
            _heard: records.as_ref().map(|records| hear(records, Weak::clone(controller))),
            records,
            writers,
            shards: Arc::new(shards),
            cluster,
            watches,
            queue: Arc::new(Queue::default().shared_by(options.workers.max(1))),
            options,
            rules: Mutex::default(),
            kept: Mutex::default(),
            retiring: Mutex::default(),
            memories: Mutex::default(),
            reports: Mutex::default(),
            changed: Notify::new(),
            metrics,
            vanished: vanished::Vanished::default(),
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
        let mut watching = JoinSet::new();
        let controller = Arc::clone(self);
        watching.spawn(async move { controller.watch_rights().await });
        let controller = Arc::clone(self);
        watching.spawn(async move { controller.watch_outages().await });
        Running { controller: Arc::clone(self), workers, telling, watching }
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

    /// Who tells Events.
    pub fn teller(&self) -> Arc<Teller> {
        Arc::clone(&self.any_writer().teller)
    }

    /// When a right comes that was missing, every parent gets a pass: whatever it was refused is tried again.
    async fn watch_rights(&self) {
        loop {
            self.cluster.right_came().await;
            for attached in lock(&self.rules).values() {
                attached.wake_all();
            }
        }
    }

    /// When an outage is over, every parent gets a pass: the backoff of what failed may have grown to minutes meanwhile.
    async fn watch_outages(&self) {
        loop {
            self.cluster.outage.over().await;
            tracing::info!("the API server answers again after an outage");
            for attached in lock(&self.rules).values() {
                attached.wake_all();
            }
        }
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

    /// What is ours to write through, whatever it is about.
    fn any_writer(&self) -> &Writer {
        &self.writers[self.shards.first_owned().unwrap_or_default()]
    }

    fn events_pending(&self) -> usize {
        self.writers.iter().map(|writer| writer.teller.pending()).sum()
    }

    async fn pass(&self, key: &Key, attached: &Attached, run: &Run<'_>) -> Next {
        if let Err(error) = self.remember_rule(attached).await {
            tracing::warn!(rule = %key.rule, %error, "the rule's record cannot be written, which comes first");
            return Next::FAILED;
        }
        let next = self.pass_of(key, attached, run).await;
        self.settle_rule(attached).await;
        next
    }

    async fn pass_of(&self, key: &Key, attached: &Attached, run: &Run<'_>) -> Next {
        let Some(sight) = Sight::of(self, attached, &key.parent) else {
            attached.wants(&key.parent, Vec::new());
            attached.is_interested(&key.parent, Interests::default());
            attached.edits(&key.parent, &BTreeSet::new());
            attached.guard.gone(&key.parent);
            self.forget(key);
            return vanished::look(self, attached, key).await;
        };
        self.vanished.forget(key);
        let writer = self.writer(&key.parent);
        let passing = Passing::new(self, attached, &sight.parent);
        let gate = passing.as_ref().map(|passing| passing as &dyn Gate);
        let interested = |objects: &BTreeSet<ObjectId>| attached.edits(&key.parent, objects);
        let lane = self.queue.lane_of(key).unwrap_or(Lane::Drift);
        let cluster = &writer.cluster.for_pass(&key.rule, lane);
        let scene = Scene { cluster, gate, ..sight.scene(self, attached, &interested) };
        let Remembered { mut memory, counted } =
            lock(&self.memories).remove(key).unwrap_or_default();
        let ended = reconcile(&scene, &mut memory).await;
        if let Some(passing) = passing {
            passing.ended(&ended);
        }
        if matches!(ended.extent, Extent::Deferred | Extent::Same) {
            if run.is_current() {
                lock(&self.memories).insert(key.clone(), Remembered { memory, counted });
            }
            return ended.next;
        }
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

    /// The parent is gone; garbage collection takes its children, [`vanished`] the others.
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
        self.watching.abort_all();
        lock(&self.controller.rules).clear();
        for task in lock(&self.controller.retiring).values() {
            task.abort();
        }
    }
}

/// Tells the rule whose record somebody else changed.
fn hear(records: &Records, controller: Weak<Controller>) -> Subscription {
    records.watch().store().subscribe(move |notice| {
        let Notice::Changed(change) = notice else { return };
        let Some(controller) = controller.upgrade().filter(|_| !change.own) else { return };
        let Some(records) = &controller.records else { return };
        let rules = lock(&controller.rules);
        let is_its = |attached: &&Arc<Attached>| records.id(&attached.rule.identity) == change.id;
        if let Some(attached) = rules.values().find(is_its) {
            attached.record_changed();
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics half-way through a change: what is behind a poisoned lock is sound.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
