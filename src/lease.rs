//! Who of several replicas may write: one Lease, kept by the rules of client-go.
//!
//! In: a client, a name, who we are. Out: a [`Gate`] that is open while the Lease is ours with time to spare. A Lease is ours
//! until two thirds of its duration have passed since *before* the renewal was sent, so that what was sent last has the
//! other third to arrive. Never here: what a leader does.

mod gate;
mod record;
mod transport;

pub use gate::{Gate, Moment, Term};
pub use transport::guarded;

use crate::metrics::{LeaseChange, Metrics};
use crate::queue::random;
use crate::refusal::{Class, Refusal};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use record::{Candidate, Seen, Step};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How an election runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are: no other replica may have this name, nor this one after a restart.
    pub identity: String,
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

/// Takes part in an election.
pub struct Election {
    api: Api<Lease>,
    options: Options,
    candidate: Candidate,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
    seen: Seen,
    /// The Lease as it was last written by us, while it is ours.
    held: Option<Lease>,
    /// The last trouble, so that it is told once.
    trouble: Option<String>,
}

impl Election {
    /// The client should be one of its own, so that the Lease never waits behind anything else.
    pub fn new(client: Client, options: Options, gate: Arc<Gate>, metrics: Arc<Metrics>) -> Self {
        let candidate =
            Candidate { identity: options.identity.clone(), duration: options.duration };
        Self {
            api: Api::namespaced(client, &options.namespace),
            options,
            candidate,
            gate,
            metrics,
            seen: Seen::default(),
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

    /// Renews until that fails for too long.
    async fn lead(&mut self, mut until: Moment) {
        self.gate.open(until);
        self.metrics.lease(LeaseChange::Acquired);
        let (lease, identity) = (&self.options.name, &self.options.identity);
        tracing::info!(lease, identity, "this replica leads");
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
                }
                Ok(Ok(true)) | Err(_) => {}
                Ok(Ok(false)) => break "somebody else has it",
                Ok(Err(refusal)) => self.complain(&refusal.message),
            }
        };
        self.gate.close();
        self.metrics.lease(LeaseChange::Lost);
        tracing::warn!(lease = self.options.name, why, "this replica leads no longer");
    }

    /// Takes or renews the Lease if that is allowed; tells whether it is ours. What changed since it was read is refused by
    /// the API server.
    async fn attempt(&mut self) -> Result<bool, Refusal> {
        let now = || (Moment::now(), Timestamp::now());
        let lease = match self.held.take() {
            Some(lease) => lease,
            None => match self.api.get(&self.options.name).await.map_err(Refusal::from) {
                Ok(lease) => lease,
                // Somebody deleted it, perhaps from under a leader, which does not know that yet.
                Err(Refusal { class: Class::NotFound, .. })
                    if self.seen.is_held(Moment::now(), &self.candidate) =>
                {
                    return Ok(false);
                }
                Err(Refusal { class: Class::NotFound, .. }) => return self.create().await,
                Err(refusal) => return Err(refusal),
            },
        };
        let Step::Write(spec) = self.seen.judge(&lease, now(), &self.candidate) else {
            return Ok(false);
        };
        self.write(&lease, *spec).await
    }

    async fn create(&mut self) -> Result<bool, Refusal> {
        let metadata =
            ObjectMeta { name: Some(self.options.name.clone()), ..ObjectMeta::default() };
        let spec = Some(self.candidate.spec(Timestamp::now()));
        let lease = Lease { metadata, spec };
        let created = self.api.create(&PostParams::default(), &lease).await;
        self.wrote(created.map_err(Refusal::from))
    }

    async fn write(&mut self, lease: &Lease, spec: LeaseSpec) -> Result<bool, Refusal> {
        // Everything else that is in it stays; the resourceVersion makes it an exchange.
        let lease = Lease { spec: Some(spec), ..lease.clone() };
        let written = self.api.replace(&self.options.name, &PostParams::default(), &lease).await;
        self.wrote(written.map_err(Refusal::from))
    }

    fn wrote(&mut self, written: Result<Lease, Refusal>) -> Result<bool, Refusal> {
        match written {
            Ok(lease) => {
                let ours = self.candidate.holds(&lease);
                self.held = ours.then_some(lease);
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
        let Ok(lease) = self.api.get(&self.options.name).await else { return };
        if !self.candidate.holds(&lease) {
            return;
        }
        let spec = Some(record::released(&lease, Timestamp::now()));
        let free = Lease { spec, ..lease };
        let released = self.api.replace(&self.options.name, &PostParams::default(), &free).await;
        match released.map_err(Refusal::from) {
            Ok(_) => {
                self.metrics.lease(LeaseChange::Released);
                tracing::info!(lease = self.options.name, "the lease is released");
            }
            // It runs out by itself.
            Err(error) => {
                tracing::warn!(lease = self.options.name, %error, "the lease is not released")
            }
        }
    }

    fn complain(&mut self, trouble: &str) {
        if self.trouble.as_deref() != Some(trouble) {
            tracing::warn!(
                lease = self.options.name,
                error = trouble,
                "the lease cannot be read or written"
            );
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
