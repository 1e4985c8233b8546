//! One of several replicas: it takes part in the election of each shard, and leads or follows as that goes.
//!
//! In: a cluster, settings. Out: a controller that does the passes of those shards that this replica leads. Never here: rules.

use super::settings::RunArguments;
use crate::controller::{Controller, Options};
use crate::lease::{self, Company, Election, Gate, LetGo};
use crate::marks::hash64;
use crate::metrics::Metrics;
use crate::watch as watching;
use futures::FutureExt;
use kube::Config;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// For passes under way in a shard that is given away.
const LAST_PASSES: Duration = Duration::from_secs(5);

/// A controller, and what decides whether it leads.
pub(super) struct Replica {
    pub(super) controller: Arc<Controller>,
    /// Of each shard; none if there is no election.
    pub(super) gates: Vec<Arc<Gate>>,
    stop: watch::Sender<bool>,
    elections: JoinSet<()>,
}

impl Replica {
    /// Takes part in the elections from now on, if there are any.
    pub(super) fn new(arguments: &RunArguments, config: &Config) -> Result<Self, kube::Error> {
        let shards = usize::from(arguments.shards);
        let elected = arguments.leader_elect || shards > 1;
        let client = watching::client(config.clone())?;
        let own = arguments.namespace.as_ref().unwrap_or(&config.default_namespace).clone();
        let options = Options {
            installation: arguments.installation.clone(),
            namespace: Some(own),
            rollout_rate: arguments.rollout_rate,
            workers: arguments.workers.into(),
            waits_to_lead: elected,
            ..Options::default()
        };
        let (stop, elections) = (watch::channel(false).0, JoinSet::new());
        if !elected {
            let controller = Controller::new(client, options);
            return Ok(Self { controller, gates: Vec::new(), stop, elections });
        }
        let gates: Vec<_> = (0..shards).map(|_| Gate::closed()).collect();
        let writers = gates.iter().map(|gate| lease::guarded(config, gate));
        let writers = writers.collect::<Result<_, _>>()?;
        let metrics = Arc::new(Metrics::default());
        let controller = Controller::with_writers(client, writers, options, metrics);
        let mut replica = Self { controller, gates, stop, elections };
        replica.take_part(arguments, config)?;
        Ok(replica)
    }

    fn take_part(&mut self, arguments: &RunArguments, config: &Config) -> Result<(), kube::Error> {
        let namespace = arguments.namespace.as_ref().unwrap_or(&config.default_namespace);
        let client = watching::client(config.clone())?;
        let identity = lease::identity();
        let company = Arc::new(Company::new(&identity, self.gates.len()));
        tracing::info!(
            namespace,
            identity,
            shards = self.gates.len(),
            "takes part in the election"
        );
        for (shard, gate) in self.gates.iter().enumerate() {
            let options = lease::Options {
                namespace: namespace.clone(),
                installation: arguments.installation.clone(),
                name: lease_name(&arguments.installation, shard),
                shard,
                duration: arguments.lease_duration,
            };
            let controller = Arc::clone(&self.controller);
            let let_go: LetGo = Arc::new(move || {
                let controller = Arc::clone(&controller);
                async move { controller.let_go(shard, LAST_PASSES).await }.boxed()
            });
            let told = (let_go, Arc::clone(self.controller.metrics()));
            let election = Election::new(
                client.clone(),
                options,
                Arc::clone(&company),
                Arc::clone(gate),
                told,
            );
            let turns = take_turns(gate.terms(), shard, Arc::clone(&self.controller));
            self.elections.spawn(run(election, turns, self.stop.subscribe()));
        }
        Ok(())
    }

    /// Gives up the leases that are ours. No pass may be under way any more.
    pub(super) async fn release(mut self) {
        self.stop.send_replace(true);
        // Each ends by itself, at the latest when the API server does not answer.
        while self.elections.join_next().await.is_some() {}
    }
}

async fn run(
    mut election: Election,
    turns: impl Future<Output = ()> + Send + 'static,
    stop: watch::Receiver<bool>,
) {
    let mut turning = JoinSet::new();
    turning.spawn(turns);
    election.run(stop).await;
    election.release().await;
}

/// Leads a shard with each term that begins, and follows with its end.
async fn take_turns(
    mut terms: watch::Receiver<lease::Term>,
    shard: usize,
    controller: Arc<Controller>,
) {
    loop {
        if *terms.borrow_and_update() == 0 {
            controller.follow(shard);
        } else {
            controller.lead(shard).await;
        }
        if terms.changed().await.is_err() {
            return;
        }
    }
}

/// The Lease of an installation, whose name is a label value and may have capitals and underscores.
fn lease_name(installation: &str, shard: usize) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let name: String = installation.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    if name == installation && !name.starts_with('-') {
        return format!("{name}-shard-{shard}");
    }
    format!(
        "{}-{:08x}-shard-{shard}",
        name.trim_matches('-'),
        hash64(installation.as_bytes()) & 0xffff_ffff
    )
    .trim_start_matches('-')
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_installation_has_a_lease_of_its_own_whose_name_the_server_takes() {
        assert_eq!(lease_name("kubewright", 2), "kubewright-shard-2");
        let odd = ["Team_A", "team-a", "Team-a", "team_a", "a.b", "_", "-"]
            .map(|name| lease_name(name, 0));
        for name in &odd {
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(legal) && !name.starts_with('-'), "{name}");
        }
        let different: std::collections::BTreeSet<_> = odd.iter().collect();
        assert_eq!(different.len(), odd.len(), "{odd:?}");
    }
}
