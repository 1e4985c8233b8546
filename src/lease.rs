//! Which of several replicas may write: one Lease for each shard, kept by the rules of client-go.
//!
//! In: a client, a name, who we are. Out: a [`Gate`] that is open while the Lease is ours with time to spare. A Lease is ours
//! until two thirds of its duration have passed since *before* the renewal was sent, so that what was sent last has the
//! other third to arrive. Never here: what a leader does.

mod company;
mod gate;
mod record;
mod transport;

pub use company::Company;
pub use gate::{Gate, Moment, Term};
pub use transport::guarded;

use crate::metrics::{LeaseChange, Metrics};
use crate::queue::random;
use crate::refusal::{Class, Refusal};
use futures::future::BoxFuture;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use record::{Candidate, Seen, Step};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// On every Lease of ours: the installation, by which they are found.
const ELECTION: &str = "kubewright.io/election";

/// On every Lease of ours: how many shards its holder thinks there are.
const SHARDS: &str = "kubewright.io/shards";

/// On a Lease whose holder has more than its share: who has less.
const WISHED_BY: &str = "kubewright.io/wished-by";

/// How an election runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of the Lease.
    pub namespace: String,
    /// What all Leases of an installation are labelled with.
    pub installation: String,
    /// The name of the Lease.
    pub name: String,
    /// Which shard it is for, from 0.
    pub shard: usize,
    /// For how long the Lease is believed after each renewal: whole seconds, at least 3.
    pub duration: Duration,
}

impl Options {
    /// Until when we may write after a renewal that was sent at this moment: two thirds of the duration.
    fn may_write(&self, sent: Moment) -> Moment {
        sent.after(self.duration * 2 / 3)
    }

    /// Between two renewals: there are five in the time in which we may write.
    fn renew_every(&self) -> Duration {
        self.duration * 2 / 15
    }

    /// For one renewal, so that there is time for another if a connection is dead.
    fn patience(&self) -> Duration {
        self.duration / 5
    }

    /// Between two looks at somebody else's Lease, about one second by default.
    fn look_every(&self) -> Duration {
        (self.duration / 15).mul_f64(0.8 + 0.4 * random())
    }
}

/// Lets go of what is under way in a shard, before its Lease is given away.
pub type LetGo = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Takes part in an election.
pub struct Election {
    api: Api<Lease>,
    options: Options,
    candidate: Candidate,
    company: Arc<Company>,
    gate: Arc<Gate>,
    let_go: LetGo,
    metrics: Arc<Metrics>,
    seen: Seen,
    /// Leases of replicas that think there are more or fewer shards.
    others: BTreeMap<String, Seen>,
    disputed: bool,
    /// Since when nobody holds the Lease.
    free: Option<Moment>,
    /// The Lease as it was last written by us, while it is ours.
    held: Option<Lease>,
    /// The last trouble, so that it is told once.
    trouble: Option<String>,
}

impl Election {
    /// The client should be one of its own, so that Leases never wait behind anything else.
    pub fn new(
        client: Client,
        options: Options,
        company: Arc<Company>,
        gate: Arc<Gate>,
        (let_go, metrics): (LetGo, Arc<Metrics>),
    ) -> Self {
        let identity = company.identity().to_owned();
        Self {
            api: Api::namespaced(client, &options.namespace),
            candidate: Candidate { identity, duration: options.duration },
            options,
            company,
            gate,
            let_go,
            metrics,
            seen: Seen::default(),
            others: BTreeMap::new(),
            disputed: false,
            free: None,
            held: None,
            trouble: None,
        }
    }

    /// Takes part until `stop` says true. A Lease that is ours then stays so for as long as it was renewed;
    /// [`Election::release`] gives it to others.
    pub async fn run(&mut self, mut stop: watch::Receiver<bool>) {
        let stopped = async move { drop(stop.wait_for(|stop| *stop).await) };
        tokio::select! {
            () = stopped => {}
            () = self.take_part() => {}
        }
    }

    async fn take_part(&mut self) {
        loop {
            let sent = Moment::now();
            match timeout(self.options.patience(), self.attempt()).await {
                Ok(Ok(true)) if Moment::now() < self.options.may_write(sent) => {
                    self.lead(self.options.may_write(sent)).await;
                }
                Ok(Ok(_)) => self.trouble = None,
                Ok(Err(refusal)) => self.complain(&refusal.message),
                Err(_) => self.complain("the API server did not answer in time"),
            }
            sleep(self.options.look_every()).await;
        }
    }

    /// Renews until that fails for too long, or the Lease is given away.
    async fn lead(&mut self, mut until: Moment) {
        let (lease, identity) = (self.options.name.clone(), &self.candidate.identity);
        tracing::info!(lease, identity, shard = self.options.shard, "this replica leads");
        self.gate.open(until);
        self.metrics.lease(LeaseChange::Acquired);
        let why = loop {
            // Not longer than it is ours, here and below: the gate is closed at that very moment, also if a request hangs.
            sleep(self.options.renew_every().min(Moment::now().until(until))).await;
            let sent = Moment::now();
            let left = sent.until(until);
            if left.is_zero() {
                break "it was not renewed in time";
            }
            match timeout(left.min(self.options.patience()), self.attempt()).await {
                Ok(Ok(true)) if Moment::now() < until => {
                    until = self.options.may_write(sent);
                    self.gate.extend(until);
                    self.trouble = None;
                    if self.is_wished_for() {
                        return self.give_away(until).await;
                    }
                }
                // In the second case somebody wrote into it: it is read again the next time.
                Ok(Ok(true) | Err(Refusal { class: Class::Stale, .. })) | Err(_) => {}
                Ok(Ok(false)) => break "somebody else has it",
                Ok(Err(refusal)) => self.complain(&refusal.message),
            }
        };
        self.gate.close();
        self.company.saw(self.options.shard, None);
        self.metrics.lease(LeaseChange::Lost);
        tracing::warn!(lease, why, "this replica leads no longer");
    }

    /// Whoever has less than its share gets the shard as soon as nothing of it is under way here any more.
    async fn give_away(&mut self, until: Moment) {
        let left = Moment::now().until(until);
        drop(timeout(left, (self.let_go)()).await);
        self.release().await;
        // It is for somebody else now.
        sleep(self.options.look_every() * 3).await;
    }

    fn is_wished_for(&self) -> bool {
        let annotations = self.held.as_ref().and_then(|lease| lease.metadata.annotations.as_ref());
        annotations
            .and_then(|annotations| annotations.get(WISHED_BY))
            .is_some_and(|wisher| self.company.gives(wisher))
    }

    /// Takes or renews the Lease if that is allowed; tells whether it is ours. What changed since it was read is refused by
    /// the API server.
    async fn attempt(&mut self) -> Result<bool, Refusal> {
        let lease = match self.held.take() {
            Some(lease) => Some(lease),
            None => match self.api.get(&self.options.name).await.map_err(Refusal::from) {
                Ok(lease) => Some(lease),
                Err(Refusal { class: Class::NotFound, .. }) => None,
                Err(refusal) => return Err(refusal),
            },
        };
        let Some(lease) = lease else {
            // Somebody deleted it, perhaps from under a leader, which does not know that yet.
            let held = self.seen.is_held(Moment::now(), &self.candidate);
            return if held || !self.may_take().await? { Ok(false) } else { self.create().await };
        };
        let now = (Moment::now(), Timestamp::now());
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
        match self.seen.judge(&lease, now, &self.candidate) {
            Step::Wait => {
                self.free = None;
                self.company.saw(self.options.shard, holder.as_deref());
                self.wish(&lease).await;
                Ok(false)
            }
            Step::Write(spec) if self.gate.term().is_some() => self.write(lease, *spec).await,
            Step::Write(spec) => Ok(self.may_take().await?
                && self.write(lease, *spec).await?
                && self.verify().await?),
        }
    }

    /// Whether a Lease that nobody holds is for us: whoever holds some already leaves it to others for a moment, and nobody
    /// takes one while others think that there are more or fewer shards.
    async fn may_take(&mut self) -> Result<bool, Refusal> {
        self.company.saw(self.options.shard, None);
        let since = *self.free.get_or_insert_with(Moment::now);
        let patience = self.options.duration / 15 * self.company.ours();
        if Moment::now() < since.after(patience) {
            return Ok(false);
        }
        Ok(!self.is_disputed().await?)
    }

    /// Looks again after a Lease was taken: two who took overlapping shards at the same time both see that here, at the latest.
    async fn verify(&mut self) -> Result<bool, Refusal> {
        if self.is_disputed().await? {
            self.release().await;
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether somebody holds a Lease of this installation who counts its shards differently.
    async fn is_disputed(&mut self) -> Result<bool, Refusal> {
        let selected =
            ListParams::default().labels(&format!("{ELECTION}={}", self.options.installation));
        let leases = self.api.list(&selected).await.map_err(Refusal::from)?;
        let shards = self.company.shards().to_string();
        let now = (Moment::now(), Timestamp::now());
        let mut disputed = false;
        let mut others = BTreeMap::new();
        for lease in leases.items {
            let annotations = lease.metadata.annotations.as_ref();
            let counts = annotations.and_then(|annotations| annotations.get(SHARDS));
            let name = lease.metadata.name.clone().unwrap_or_default();
            if counts != Some(&shards) && name != self.options.name {
                let mut seen = self.others.remove(&name).unwrap_or_default();
                disputed |= seen.judge(&lease, now, &self.candidate) == Step::Wait;
                others.insert(name, seen);
            }
        }
        self.others = others;
        if disputed && !std::mem::replace(&mut self.disputed, disputed) {
            let lease = &self.options.name;
            tracing::warn!(
                lease,
                "other replicas run with another number of shards: this one waits for their end"
            );
        }
        self.disputed = disputed;
        Ok(disputed)
    }

    /// Asks a holder that has more than its share. That it is refused or lost costs nothing but time.
    async fn wish(&mut self, lease: &Lease) {
        let annotations = lease.metadata.annotations.clone().unwrap_or_default();
        let wished = annotations.get(WISHED_BY) == Some(&self.candidate.identity);
        if wished || !self.company.wishes(self.options.shard) {
            return;
        }
        let mut lease = lease.clone();
        let identity = self.candidate.identity.clone();
        lease.metadata.annotations.get_or_insert_default().insert(WISHED_BY.into(), identity);
        drop(self.api.replace(&self.options.name, &PostParams::default(), &lease).await);
    }

    async fn create(&mut self) -> Result<bool, Refusal> {
        let metadata =
            ObjectMeta { name: Some(self.options.name.clone()), ..ObjectMeta::default() };
        let spec = Some(self.candidate.spec(Timestamp::now()));
        let lease = self.marked(Lease { metadata, spec });
        let created = self.api.create(&PostParams::default(), &lease).await;
        Ok(self.wrote(created.map_err(Refusal::from))? && self.verify().await?)
    }

    async fn write(&mut self, lease: Lease, spec: LeaseSpec) -> Result<bool, Refusal> {
        // Everything else that is in it stays; the resourceVersion makes it an exchange.
        let mut lease = self.marked(Lease { spec: Some(spec), ..lease });
        if self.gate.term().is_none() {
            lease.metadata.annotations.get_or_insert_default().remove(WISHED_BY);
        }
        let written = self.api.replace(&self.options.name, &PostParams::default(), &lease).await;
        self.wrote(written.map_err(Refusal::from))
    }

    fn marked(&self, mut lease: Lease) -> Lease {
        let labels = lease.metadata.labels.get_or_insert_default();
        labels.insert(ELECTION.into(), self.options.installation.clone());
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.insert(SHARDS.into(), self.company.shards().to_string());
        lease
    }

    fn wrote(&mut self, written: Result<Lease, Refusal>) -> Result<bool, Refusal> {
        match written {
            Ok(lease) => {
                let ours = self.candidate.holds(&lease);
                let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
                self.company.saw(self.options.shard, holder);
                self.held = ours.then_some(lease);
                self.free = None;
                Ok(ours)
            }
            // Somebody was faster, or edited it: it is read again.
            Err(Refusal { class: Class::Stale | Class::NotFound, .. })
                if self.gate.term().is_none() =>
            {
                Ok(false)
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Gives the Lease up, so that another replica leads at once. Nothing may be under way any more that a leader sends.
    pub async fn release(&mut self) {
        self.gate.close();
        self.held = None;
        self.company.saw(self.options.shard, None);
        let Ok(lease) = self.api.get(&self.options.name).await else { return };
        if !self.candidate.holds(&lease) {
            return;
        }
        let name = &self.options.name;
        let spec = Some(record::released(&lease, Timestamp::now()));
        let free = Lease { spec, ..lease };
        let released = self.api.replace(name, &PostParams::default(), &free).await;
        match released.map_err(Refusal::from) {
            Ok(_) => {
                self.metrics.lease(LeaseChange::Released);
                tracing::info!(lease = name, "the lease is released");
            }
            // It runs out by itself.
            Err(error) => tracing::warn!(lease = name, %error, "the lease is not released"),
        }
    }

    fn complain(&mut self, trouble: &str) {
        if self.trouble.as_deref() != Some(trouble) {
            let lease = &self.options.name;
            tracing::warn!(lease, error = trouble, "the lease cannot be had or kept");
            self.trouble = Some(trouble.to_owned());
        }
    }
}

/// A name that no other process has: that of the pod or host, and something random.
pub fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
    // Of a float between 0 and 1 that is random in its last bits too.
    let unique = random().to_bits() ^ u64::from(std::process::id()).rotate_left(40);
    format!("{}_{unique:016x}", host.as_deref().unwrap_or("kubewright"))
}
