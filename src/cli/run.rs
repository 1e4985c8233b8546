//! `kubewright run`: the controller against a real cluster.

pub mod config;
mod pages;
mod replica;
mod rules;
mod settings;

pub use settings::RunArguments;

use super::connect::{no_client, reach};
use super::{Exit, Folders, Terminal, no_rule};
use crate::rule::{self, Loaded};
use crate::{serve, telemetry};
use pages::Subject;
use replica::Replica;
use rules::Rules;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// For passes under way at the end. Kubernetes kills a pod 30 seconds after it asked it to stop; the rest is for the lease.
const LAST_PASSES: Duration = Duration::from_secs(20);

/// For giving up the lease.
const LAST_LEASE: Duration = Duration::from_secs(5);

/// Runs until SIGINT or SIGTERM.
pub fn run(arguments: &RunArguments, terminal: &mut Terminal) -> Exit {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            terminal.error(&format!("cannot start: {error}"));
            return Exit::Failed;
        }
    };
    let ended = runtime.block_on(serve(arguments, terminal));
    // A task that does not end by itself holds nobody up.
    runtime.shutdown_timeout(Duration::from_secs(1));
    match ended {
        Ok(exit) => exit,
        Err(error) => {
            terminal.error(&error);
            Exit::Failed
        }
    }
}

/// Reads and compiles the folders.
pub(super) fn load(folders: &Folders) -> Result<Loaded, rule::Error> {
    Ok(rule::load(&rule::read(&folders.rules, &folders.templates())?))
}

async fn serve(arguments: &RunArguments, terminal: &mut Terminal) -> Result<Exit, String> {
    // Mistakes in files are told whether there is a cluster or not.
    if !arguments.rule_configmaps {
        let loaded = load(&arguments.folders).map_err(|error| error.to_string())?;
        terminal.problems(&loaded.problems);
        if loaded.rules.is_empty() {
            terminal.error(&no_rule(&loaded, &arguments.folders));
            return Ok(Exit::Problems);
        }
    }
    let (config, client, version) = reach().await?;
    let namespace = arguments.namespace.as_ref().unwrap_or(&config.default_namespace).clone();
    let no_signals = |error| format!("cannot listen for signals: {error}");
    let mut beside = JoinSet::new();
    beside.spawn(levels().map_err(no_signals)?);
    let replica = Replica::new(arguments, &config).map_err(|error| no_client(&error))?;
    let controller = Arc::clone(&replica.controller);
    let subject = Arc::new(Subject::new(Arc::clone(&controller), replica.gates.clone()));
    if let Some(wanted) = arguments.address.0 {
        let (listener, address) = serve::listen(wanted).await.map_err(|error| {
            format!("--address {wanted}: {error}. Another one, or `none`, would do")
        })?;
        tracing::info!(%address, "serves /metrics, /healthz and /readyz");
        beside.spawn(serve::serve(listener, Arc::clone(&subject).pages()));
    }
    let mut rules = Rules::new(arguments, &client, &namespace, &controller);
    tokio::select! {
        begun = rules.begin(terminal) => begun?,
        ended = ended() => return ended.map(|()| Exit::Fine).map_err(no_signals),
    }
    tracing::info!(version = %version.git_version, namespace, "running");
    subject.begun();
    let running = controller.start();
    tokio::select! {
        ended = ended() => ended.map_err(no_signals)?,
        () = rules.follow(terminal) => {}
    }
    tracing::info!("stopping: passes under way are finished; a second signal ends at once");
    subject.stopping();
    let stopped = async {
        let left = running.stop_within(LAST_PASSES).await;
        if left > 0 {
            tracing::warn!(
                passes = left,
                "passes were cut off; they are done anew at the next start"
            );
        }
        drop(tokio::time::timeout(LAST_LEASE, replica.release()).await);
    };
    tokio::select! {
        () = stopped => {}
        again = ended() => again.map_err(no_signals)?,
    }
    tracing::info!("stopped");
    Ok(Exit::Fine)
}

/// SIGUSR1 makes the log tell everything that this program does, SIGUSR2 what was asked for. Whoever may send a signal to the process
/// could also read its memory, so that nobody gets more this way than they had.
fn levels() -> std::io::Result<impl Future<Output = ()>> {
    let mut more = signal(SignalKind::user_defined1())?;
    let mut usual = signal(SignalKind::user_defined2())?;
    Ok(async move {
        loop {
            let verbose = tokio::select! {
                _ = more.recv() => true,
                _ = usual.recv() => false,
            };
            telemetry::verbose(verbose);
            tracing::info!(verbose, "the log level was changed");
        }
    })
}

/// How one finds us in an audit log.
pub(super) fn user_agent() -> (http::HeaderName, http::HeaderValue) {
    let value = concat!("kubewright/", env!("CARGO_PKG_VERSION"));
    (http::header::USER_AGENT, http::HeaderValue::from_static(value))
}

/// Waits for SIGINT, SIGTERM or SIGHUP.
pub(super) async fn ended() -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}
