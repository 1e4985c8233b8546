//! One of several replicas: it takes part in the election, and leads or follows as that goes.
//!
//! In: a cluster, settings. Out: a controller that does passes only while this replica leads. Never here: rules.

use super::settings::RunArguments;
use crate::controller::{Controller, Options};
use crate::lease::{self, Election, Gate};
use crate::marks::hash64;
use crate::metrics::Metrics;
use crate::watch as watching;
use kube::Config;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A controller, and what decides whether it leads.
pub(super) struct Replica {
    pub(super) controller: Arc<Controller>,
    /// Nothing if there is no election.
    pub(super) gate: Option<Arc<Gate>>,
    election: Option<(watch::Sender<bool>, JoinHandle<()>)>,
}

impl Replica {
    /// Takes part in the election from now on, if there is one.
    pub(super) fn new(arguments: &RunArguments, config: &Config) -> Result<Self, kube::Error> {
        let client = watching::client(config.clone())?;
        let own = arguments.namespace.as_ref().unwrap_or(&config.default_namespace).clone();
        let options = Options {
            installation: arguments.installation.clone(),
            namespace: Some(own.clone()),
            rollout_rate: arguments.rollout_rate,
            workers: arguments.workers.into(),
            waits_to_lead: arguments.leader_elect,
            ..Options::default()
        };
        if !arguments.leader_elect {
            let controller = Controller::new(client, options);
            return Ok(Self { controller, gate: None, election: None });
        }
        let (gate, metrics) = (Gate::closed(), Arc::new(Metrics::default()));
        let writer = lease::guarded(config, &gate)?;
        let controller = Controller::with_writer(client, writer, options, Arc::clone(&metrics));
        let options = lease::Options {
            namespace: own,
            name: lease_name(&arguments.installation),
            identity: lease::identity(),
            duration: arguments.lease_duration,
        };
        tracing::info!(
            lease = options.name,
            namespace = options.namespace,
            identity = options.identity,
            "takes part in the election"
        );
        let election =
            Election::new(watching::client(config.clone())?, options, Arc::clone(&gate), metrics);
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(run(election, Arc::clone(&gate), Arc::clone(&controller), stopped));
        Ok(Self { controller, gate: Some(gate), election: Some((stop, task)) })
    }

    /// Gives the lease up, if it is ours. No pass may be under way any more.
    pub(super) async fn release(self) {
        let Some((stop, task)) = self.election else { return };
        stop.send_replace(true);
        // It ends by itself, at the latest when the API server does not answer.
        drop(task.await);
    }
}

async fn run(
    mut election: Election,
    gate: Arc<Gate>,
    controller: Arc<Controller>,
    stop: watch::Receiver<bool>,
) {
    let turns = tokio::spawn(take_turns(gate.terms(), controller));
    election.run(stop).await;
    election.release().await;
    turns.abort();
}

/// Leads with each term that begins and follows with its end.
async fn take_turns(mut terms: watch::Receiver<lease::Term>, controller: Arc<Controller>) {
    loop {
        if *terms.borrow_and_update() == 0 {
            controller.follow();
        } else {
            controller.lead().await;
        }
        if terms.changed().await.is_err() {
            return;
        }
    }
}

/// The Lease of an installation, whose name is a label value and may have capitals and underscores.
fn lease_name(installation: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let name: String = installation.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    if name == installation && !name.starts_with('-') {
        return format!("{name}-leader");
    }
    format!(
        "{}-{:08x}-leader",
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
        assert_eq!(lease_name("kubewright"), "kubewright-leader");
        let odd = ["Team_A", "team-a", "Team-a", "team_a", "a.b", "_", "-"].map(lease_name);
        for name in &odd {
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(legal) && !name.starts_with('-'), "{name}");
        }
        let different: std::collections::BTreeSet<_> = odd.iter().collect();
        assert_eq!(different.len(), odd.len(), "{odd:?}");
    }
}
