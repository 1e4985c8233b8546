//! `kubewright run`: the controller against a real cluster.

use super::{Exit, Folders, Terminal};
use crate::controller::{Controller, Options};
use crate::rule::{self, Loaded};
use crate::watch;
use clap::Args;
use kube::Config;
use tokio::signal::unix::{SignalKind, signal};

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    folders: Folders,
    /// Names this installation, so that several can share a cluster; part of what every child is found by.
    #[arg(long, default_value = "kubewright", value_name = "NAME")]
    installation: String,
    /// Passes at once.
    #[arg(long, default_value_t = 8, value_name = "N")]
    workers: usize,
}

/// Runs until SIGINT or SIGTERM.
pub fn run(arguments: &RunArguments, terminal: &mut Terminal) -> Exit {
    let loaded = match load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    terminal.problems(&loaded.problems);
    if loaded.rules.is_empty() {
        terminal.error("there is no rule to run");
        return Exit::Problems;
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            terminal.error(&format!("cannot start: {error}"));
            return Exit::Failed;
        }
    };
    match runtime.block_on(serve(arguments, &loaded)) {
        Ok(()) => Exit::Fine,
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

async fn serve(arguments: &RunArguments, loaded: &Loaded) -> Result<(), String> {
    let mut config = Config::infer().await.map_err(|error| {
        format!("no cluster: {error}. Point KUBECONFIG at one, or try `kubewright dev`, which brings its own")
    })?;
    config.headers.push(user_agent());
    let client = watch::client(config).map_err(|error| format!("no client: {error}"))?;
    let version = client.apiserver_version().await.map_err(|error| {
        format!("the cluster does not answer: {error}. `kubectl version` should show the same")
    })?;
    tracing::info!(version = %version.git_version, rules = loaded.rules.len(), "running");
    let options = Options {
        installation: arguments.installation.clone(),
        workers: arguments.workers,
        ..Options::default()
    };
    let controller = Controller::new(client, options);
    controller.set_rules(&loaded.rules);
    let running = controller.start();
    ended().await.map_err(|error| format!("cannot listen for signals: {error}"))?;
    tracing::info!("stopping");
    running.stop().await;
    Ok(())
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
