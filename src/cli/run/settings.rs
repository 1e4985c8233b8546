//! The settings of `run`: flags, environment and defaults. The file is in [`super::config`].

use crate::cli::Folders;
use crate::comparison::GoDuration;
use crate::controller::MOST_SHARDS;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Options of `run`. Each can also be given in the environment and in a file; where several say something, the flag counts
/// before the environment, and that before the file.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A YAML file with settings, one a line, named as the flags are (`lease-duration: 30s`).
    #[arg(long, env = "KUBEWRIGHT_CONFIG", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) folders: Folders,
    /// Names this installation, so that several can share a cluster; part of what every child is found by.
    #[arg(
        long,
        env = "KUBEWRIGHT_INSTALLATION",
        default_value = "kubewright",
        value_name = "NAME"
    )]
    pub(super) installation: String,
    /// Our own namespace, for Leases and records: by default that of the pod, else of the kubeconfig's context.
    #[arg(long, env = "KUBEWRIGHT_NAMESPACE", value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
    /// Also takes rules and templates from the ConfigMaps of our own namespace that are labelled `kubewright.io/rules=true`;
    /// one with the annotation `kubewright.io/templates: FOLDER` holds the templates of that folder.
    #[arg(
        long, env = "KUBEWRIGHT_RULE_CONFIGMAPS", default_value_t = false, value_name = "BOOL",
        num_args = 0..=1, require_equals = true, default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(super) rule_configmaps: bool,
    /// So many parents may change in a second because their rule did.
    #[arg(
        long, env = "KUBEWRIGHT_ROLLOUT_RATE", default_value_t = 20, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(super) rollout_rate: u32,
    /// Where /metrics, /healthz and /readyz are served, or `none`.
    #[arg(
        long,
        env = "KUBEWRIGHT_ADDRESS",
        default_value = "0.0.0.0:8080",
        value_name = "IP:PORT"
    )]
    pub(super) address: Address,
    /// Of several replicas only the one that holds a Lease does passes; the others keep their caches warm.
    #[arg(
        long, env = "KUBEWRIGHT_LEADER_ELECT", default_value_t = false, value_name = "BOOL",
        num_args = 0..=1, require_equals = true, default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(super) leader_elect: bool,
    /// How long a leader that says nothing is believed: whole seconds, 3s to 10m.
    #[arg(
        long, env = "KUBEWRIGHT_LEASE_DURATION", default_value = "15s", value_name = "TIME",
        value_parser = lease_duration
    )]
    pub(super) lease_duration: Duration,
    /// Spreads the parents over so many shards, each with a Lease of its own, so that several replicas share the work and the
    /// memory; more than one implies --leader-elect.
    #[arg(
        long, env = "KUBEWRIGHT_SHARDS", default_value_t = 1, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_SHARDS))
    )]
    pub(super) shards: u16,
    /// Passes at once; most of them wait for the API server, and requests are limited by themselves.
    #[arg(
        long, env = "KUBEWRIGHT_WORKERS", default_value_t = 32, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=256)
    )]
    pub(super) workers: u16,
}

/// Where something is served, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address(pub(super) Option<SocketAddr>);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let address = text
            .parse()
            .map_err(|_| "write an address and a port, such as 0.0.0.0:8080, or `none`");
        Ok(Self(Some(address?)))
    }
}

fn lease_duration(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    let seconds = duration.nanoseconds() / 1_000_000_000;
    if duration.nanoseconds() % 1_000_000_000 != 0 || !(3..=600).contains(&seconds) {
        return Err("write whole seconds, from 3s to 10m".into());
    }
    Ok(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, CommandFactory};

    fn run() -> Command {
        let mut command = crate::cli::Arguments::command();
        command.build();
        command.find_subcommand("run").expect("a command").clone()
    }

    #[test]
    fn every_setting_is_also_in_the_environment_under_the_same_name() {
        for argument in
            run().get_arguments().filter(|a| !["help", "version"].contains(&a.get_id().as_str()))
        {
            let name = argument.get_long().unwrap_or(argument.get_id().as_str());
            let expected = format!("KUBEWRIGHT_{}", name.replace('-', "_").to_uppercase());
            let found = argument.get_env().and_then(|name| name.to_str());
            assert_eq!(found, Some(&*expected), "{name}");
        }
    }

    #[test]
    fn addresses_and_durations_say_what_is_wrong_with_them() {
        assert_eq!("none".parse(), Ok(Address(None)));
        assert_eq!("[::]:80".parse(), Ok(Address(Some("[::]:80".parse().unwrap()))));
        assert!("8080".parse::<Address>().is_err_and(|why| why.contains("0.0.0.0:8080")));
        assert_eq!(lease_duration("1m"), Ok(Duration::from_mins(1)));
        for wrong in ["2s", "1500ms", "11m", "-15s", "15"] {
            assert!(lease_duration(wrong).is_err(), "{wrong}");
        }
    }
}
