//! `kubewright dev`: rules on a local control plane that comes and goes with the command.
//!
//! In: folders of rules, CRDs, example parents and templates. Out: a tree of parents and children; with `--once` an exit
//! code that says whether all became ready. Whatever end it meets, no process stays behind.

mod install;
mod live;

use super::run::{ended, load, user_agent};
use super::{Exit, Folders, Terminal, no_rule};
use crate::control_plane::{self, ControlPlane};
use crate::controller::{Controller, Options, Running};
use crate::object::ObjectId;
use crate::report::{Report, State, tree};
use crate::rule::Loaded;
use crate::watch;
use clap::Args;
use install::Installer;
use std::sync::Arc;
use std::time::Duration;

/// Options of `dev`.
#[derive(Debug, Args)]
pub struct DevArguments {
    #[command(flatten)]
    folders: Folders,
    /// Stop when every example parent is ready, or cannot become so.
    #[arg(long)]
    once: bool,
    /// With --once: how long the parents may take, in seconds.
    #[arg(long, default_value_t = 180, value_name = "SECONDS")]
    timeout: u64,
}

/// Why a session ended early.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{0}")]
    ControlPlane(#[from] control_plane::Error),
    #[error("no client: {0}")]
    Client(#[from] kube::Error),
    #[error("{0}")]
    Install(#[from] install::Error),
}

/// Runs until everything is ready (`--once`), or until SIGINT, SIGTERM or SIGHUP.
pub fn dev(arguments: &DevArguments, terminal: &mut Terminal) -> Exit {
    let loaded = match load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    terminal.problems(&loaded.problems);
    if arguments.once && !loaded.problems.is_empty() {
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&no_rule(&loaded, &arguments.folders));
        return Exit::Problems;
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            terminal.error(&format!("cannot start: {error}"));
            return Exit::Failed;
        }
    };
    runtime.block_on(interruptible(arguments, loaded, terminal))
}

/// A signal drops the session, and with it the control plane and every process of it.
async fn interruptible(arguments: &DevArguments, loaded: Loaded, terminal: &mut Terminal) -> Exit {
    let outcome = tokio::select! {
        outcome = session(arguments, loaded, terminal) => Some(outcome),
        _ = ended() => None,
    };
    match outcome {
        Some(Ok(exit)) => exit,
        Some(Err(error)) => {
            terminal.error(&error.to_string());
            Exit::Failed
        }
        None if arguments.once => {
            terminal.note("interrupted; everything is stopped");
            Exit::Failed
        }
        None => {
            terminal.note("stopped");
            Exit::Fine
        }
    }
}

/// What runs while the command does; dropped in this order.
struct Session {
    running: Running,
    installer: Installer,
    plane: ControlPlane,
}

async fn session(
    arguments: &DevArguments,
    loaded: Loaded,
    terminal: &mut Terminal,
) -> Result<Exit, Error> {
    let plane = start(terminal).await?;
    let mut config = plane.client_config();
    config.headers.push(user_agent());
    let client = watch::client(config)?;
    let installer = Installer::new(client.clone());
    terminal.note("installing CRDs and example parents");
    installer.install(&loaded).await?;
    let controller = Controller::new(client, Options { reports: true, ..Options::default() });
    controller.begin(&loaded).await;
    let running = controller.start();
    let session = Session { running, installer, plane };
    if arguments.once {
        let ready = once(&session, &loaded, Duration::from_secs(arguments.timeout), terminal).await;
        session.running.stop().await;
        session.plane.stop().await?;
        return Ok(if ready { Exit::Fine } else { Exit::Failed });
    }
    live::live(session, arguments, terminal).await
}

async fn start(terminal: &mut Terminal) -> Result<ControlPlane, control_plane::Error> {
    terminal.note("starting a local control plane");
    let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
    let started = control_plane::start(control_plane::Options::default(), move |note| {
        // Nobody listens any more once the start is over.
        let _ = say.send(note.to_owned());
    });
    tokio::pin!(started);
    loop {
        tokio::select! {
            plane = &mut started => {
                let plane = plane?;
                terminal.note(&format!(
                    "Kubernetes {} is up; to look around: export KUBECONFIG={}",
                    plane.version(),
                    plane.kubeconfig().display(),
                ));
                return Ok(plane);
            }
            Some(note) = said.recv() => terminal.note(&format!("  {note}")),
        }
    }
}

/// Waits for the example parents; tells whether all became ready.
async fn once(
    session: &Session,
    loaded: &Loaded,
    timeout: Duration,
    terminal: &mut Terminal,
) -> bool {
    let wanted = wanted(loaded);
    let controller = &session.running.controller;
    let in_time = tokio::time::timeout(timeout, converged(controller, &wanted)).await.is_ok();
    let reports = controller.reports();
    terminal.print(&tree(&reports, terminal.style));
    let count = |state| reports.iter().filter(|report| report.state == state).count();
    let ready = count(State::Ready);
    for wanted in &wanted {
        if !reports.iter().any(|report| wanted.is_of(report)) {
            terminal.error(&format!("rule {} never got to {}", wanted.rule, wanted.parent));
        }
    }
    if !in_time {
        terminal.error(&format!("not everything was ready after {} s", timeout.as_secs()));
    }
    // Children of one rule may be parents of another, and then there are more than there are examples.
    let missing = wanted.iter().filter(|wanted| !reports.iter().any(|report| wanted.is_of(report)));
    let all = reports.len() + missing.count();
    terminal.note(&format!("{ready} of {all} parents ready"));
    if wanted.is_empty() {
        terminal.note("there is no example parent: put one beside the rule to see it work");
    }
    in_time && ready == all
}

/// A rule and an example parent of it.
struct Wanted {
    rule: Arc<str>,
    parent: ObjectId,
}

impl Wanted {
    /// An example of a cluster-scoped kind has no namespace, which only the API server knows.
    fn is_of(&self, report: &Report) -> bool {
        let (wanted, parent) = (&self.parent, &report.parent);
        report.rule == *self.rule
            && (&parent.kind, &parent.name) == (&wanted.kind, &wanted.name)
            && (parent.namespace.is_empty() || parent.namespace == wanted.namespace)
    }
}

fn wanted(loaded: &Loaded) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for example in &loaded.examples {
        for rule in loaded.rules.iter().filter(|rule| rule.is_for(&example.object)) {
            let parent = install::id_of(&example.object);
            wanted.push(Wanted { rule: Arc::clone(&rule.name), parent });
        }
    }
    wanted
}

/// Waits until every parent is ready, or failed with nothing left to do.
async fn converged(controller: &Arc<Controller>, wanted: &[Wanted]) {
    loop {
        // Made before looking, so that a change in between is not missed.
        let changed = controller.changed();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let reports = controller.reports();
        let state = |wanted: &Wanted| {
            let report = reports.iter().find(|report| wanted.is_of(report));
            report.map_or(State::InProgress, |report| report.state)
        };
        let all_told = reports.iter().all(|report| report.state != State::InProgress);
        if all_told && wanted.iter().all(|wanted| state(wanted) != State::InProgress) {
            controller.settled().await;
            let settled = controller.reports();
            if settled == reports {
                return;
            }
            continue;
        }
        changed.await;
    }
}
