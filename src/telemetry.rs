//! Logs: for people on a terminal, JSON otherwise, always on standard error.
//!
//! In: the format and level asked for. Out: a global subscriber, whose level can be changed while it runs. Messages are
//! constant, variable parts are fields (`rule`, `parent`, `object`, `error`, ...), and no object bodies or server texts that could
//! carry values are logged below `debug`.

use std::io::IsTerminal;
use std::sync::OnceLock;
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Human on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// One readable line per event.
    Human,
    /// One JSON object per line.
    Json,
}

/// Starts logging; a second call changes nothing.
///
/// # Errors
/// The level is not a filter that `tracing_subscriber` understands; the text says why.
pub fn start(format: LogFormat, level: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(level).map_err(|error| format!("--log {level}: {error}"))?;
    let (filter, handle) = reload::Layer::new(filter);
    let set: Set = Box::new(move |filter| drop(handle.reload(filter)));
    // The client logs whole bodies that do not decode, Secrets included, and refusals without saying of what: we say it. No
    // filter brings that back.
    let filter = filter.and(filter_fn(|metadata| !metadata.target().starts_with("kube_client")));
    let terminal = std::io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(terminal)
        .with_target(false);
    let human = format == LogFormat::Human || (format == LogFormat::Auto && terminal);
    let level = level.to_owned();
    let layer = if human { layer.compact().boxed() } else { layer.json().boxed() };
    let started = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
    // Only a test process gets here twice; the first subscriber stays.
    if started.is_ok() {
        let _ = STARTED.set(Started { level, set });
    }
    Ok(())
}

type Set = Box<dyn Fn(EnvFilter) + Send + Sync>;

/// What was asked for at the start, and how it is changed.
struct Started {
    level: String,
    set: Set,
}

static STARTED: OnceLock<Started> = OnceLock::new();

/// Logs everything that this program does from now on, or what was asked for at the start. Before the start it does nothing.
pub fn verbose(on: bool) {
    let Some(started) = STARTED.get() else { return };
    let level = if on { "info,kubewright=debug" } else { &started.level };
    if let Ok(filter) = EnvFilter::try_new(level) {
        (started.set)(filter);
    }
}
