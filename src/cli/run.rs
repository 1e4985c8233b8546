//! `kubewright run`: the controller against a real cluster.

use super::{Exit, Folders, Terminal};
use crate::controller::{Controller, Options};
use crate::rule::{self, Loaded};
use crate::supply::{ConfigMaps, Supply};
use crate::watch;
use clap::Args;
use kube::Config;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    folders: Folders,
    /// Names this installation, so that several can share a cluster; part of what every child is found by.
    #[arg(long, default_value = "kubewright", value_name = "NAME")]
    installation: String,
    /// Our own namespace, for what has to outlive the process: a record of each rule. The pod's, else that of the
    /// kubeconfig's context.
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Also takes rules and templates from the ConfigMaps of our own namespace that are labelled `kubewright.io/rules=true`;
    /// one with the annotation `kubewright.io/templates: FOLDER` holds the templates of that folder.
    #[arg(long)]
    rule_configmaps: bool,
    /// So many parents may change in a second because their rule did.
    #[arg(long, default_value_t = 20, value_name = "N")]
    rollout_rate: u32,
    /// Passes at once.
    #[arg(long, default_value_t = 8, value_name = "N")]
    workers: usize,
}

/// Runs until SIGINT or SIGTERM.
pub fn run(arguments: &RunArguments, terminal: &mut Terminal) -> Exit {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            terminal.error(&format!("cannot start: {error}"));
            return Exit::Failed;
        }
    };
    match runtime.block_on(serve(arguments, terminal)) {
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
            terminal.error("there is no rule to run");
            return Ok(Exit::Problems);
        }
    }
    let mut config = Config::infer().await.map_err(|error| {
        format!("no cluster: {error}. Point KUBECONFIG at one, or try `kubewright dev`, which brings its own")
    })?;
    let namespace = arguments.namespace.as_ref().unwrap_or(&config.default_namespace).clone();
    config.headers.push(user_agent());
    let client = watch::client(config).map_err(|error| format!("no client: {error}"))?;
    let version = client.apiserver_version().await.map_err(|error| {
        format!("the cluster does not answer: {error}. `kubectl version` should show the same")
    })?;
    let options = Options {
        installation: arguments.installation.clone(),
        workers: arguments.workers,
        namespace: Some(namespace.clone()),
        rollout_rate: arguments.rollout_rate,
        ..Options::default()
    };
    let controller = Controller::new(client.clone(), options);
    let teller = controller.teller();
    let config_maps = arguments.rule_configmaps;
    let config_maps = config_maps.then(|| Arc::new(ConfigMaps::new(&client, &namespace, teller)));
    let (folders, templates) = (&arguments.folders.rules, arguments.folders.templates());
    let mut supply = Supply::new(folders, &templates, config_maps.clone());
    let loaded = rule::load(&supply.read().await.map_err(|error| error.to_string())?);
    if let Some(config_maps) = &config_maps {
        terminal.problems(&loaded.problems);
        config_maps.tell_problems(&loaded);
    }
    tracing::info!(version = %version.git_version, namespace, rules = loaded.rules.len(), "running");
    controller.begin(&loaded).await;
    let running = controller.start();
    tokio::select! {
        ended = ended() => ended.map_err(|error| format!("cannot listen for signals: {error}"))?,
        () = reload(&controller, &mut supply, config_maps.as_deref(), terminal) => {}
    }
    tracing::info!("stopping");
    running.stop().await;
    Ok(Exit::Fine)
}

/// Takes over every change of the rules, for ever.
async fn reload(
    controller: &Arc<Controller>,
    supply: &mut Supply,
    config_maps: Option<&ConfigMaps>,
    terminal: &mut Terminal,
) {
    loop {
        let loaded = match supply.changed().await {
            Ok(folder) => rule::load(&folder),
            Err(error) => {
                tracing::error!(%error, "the rules cannot be read, they run on as they were");
                continue;
            }
        };
        terminal.problems(&loaded.problems);
        if let Some(config_maps) = config_maps {
            config_maps.tell_problems(&loaded);
        }
        let (rules, problems) = (loaded.rules.len(), loaded.problems.len());
        tracing::info!(rules, problems, "the rules were read anew");
        controller.take_over(&loaded);
    }
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
