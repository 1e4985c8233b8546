//! Why a control plane could not be started, in sentences that say what to do.
//!
//! In: what the parts noticed. Out: one error type. Never here: printing.

use std::path::PathBuf;

/// A control plane that did not come up, or did not stay up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing to start and nothing to build it with.
    #[error(
        "{missing}: neither found nor buildable, since `go` is not on the PATH; install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a folder with {needed}"
    )]
    GoMissing {
        /// The programs that were not found.
        missing: String,
        /// All programs of this control plane.
        needed: String,
    },
    /// `go build` ended with an error.
    #[error(
        "`go build` of {name} failed ({status}); it needs Go 1.26 or newer and a module proxy that answers; its last lines:\n{tail}"
    )]
    Build {
        /// The program.
        name: &'static str,
        /// How `go` ended.
        status: String,
        /// The end of what `go` said.
        tail: String,
    },
    /// `go build` ran out of space.
    #[error(
        "the disk is full: building {name} needs about 4 GB in the folders that `go env GOCACHE GOMODCACHE` and TMPDIR name, and 0.5 GB in {cache}; free some or point them elsewhere",
        cache = cache.display()
    )]
    DiskFull {
        /// The program.
        name: &'static str,
        /// Where the built programs are kept.
        cache: PathBuf,
    },
    /// Nowhere to keep what is built.
    #[error(
        "no folder to keep the built servers in: set HOME, or XDG_CACHE_HOME to an absolute path"
    )]
    NoCacheFolder,
    /// A server ended although nobody stopped it.
    #[error("{name} ended ({status}); the last lines of {log}:\n{tail}", log = log.display())]
    ServerEnded {
        /// The server.
        name: &'static str,
        /// How it ended.
        status: String,
        /// Its whole log; kept when a start fails.
        log: PathBuf,
        /// The end of its log.
        tail: String,
    },
    /// Everything runs, but something did not happen in time.
    #[error(
        "the control plane was not ready after {seconds} s: {waiting_for}; see the logs in {logs}",
        logs = logs.display()
    )]
    NotReady {
        /// What did not happen.
        waiting_for: String,
        /// How long it was waited for.
        seconds: u64,
        /// The folder of logs, which is kept.
        logs: PathBuf,
    },
    /// A mistake in the calling program.
    #[error("`control_plane::child::run_if_asked` must be called first in `main`")]
    NoShim,
    /// The loopback interface gives no port.
    #[error("no free port on 127.0.0.1: {0}")]
    NoPort(#[source] std::io::Error),
    /// A file or a process could not be made.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, with the path.
        action: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// Our own kubeconfig was refused.
    #[error("cannot read the kubeconfig just written: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// The API server refused something that a new control plane needs.
    #[error("cannot {action}: {source}")]
    Api {
        /// What was asked of it.
        action: String,
        /// Its answer.
        source: Box<kube::Error>,
    },
    /// The thread that does the work ended early; only a panic in it can be the cause.
    #[error("a thread of the control plane ended early")]
    Interrupted,
}

impl Error {
    /// For `map_err`: an I/O error with what was tried.
    pub(super) fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// For `map_err`: an API error with what was asked.
    pub(super) fn api(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Api { action, source: Box::new(source) }
    }

    /// Whether other ports may help: somebody took ours between our looking and the server's listening.
    pub(super) fn is_port_taken(&self) -> bool {
        matches!(self, Self::ServerEnded { tail, .. } if tail.contains("address already in use"))
    }
}

/// The last `count` lines that are not empty.
pub(super) fn tail(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_skips_empty_lines_and_survives_short_texts() {
        assert_eq!(tail("a\n\nb\n  \nc\n", 2), "b\nc");
        assert_eq!(tail("a\n", 2), "a");
        assert_eq!(tail("", 2), "");
    }

    #[test]
    fn only_a_taken_port_is_worth_another_try() {
        let ended = |tail: &str| Error::ServerEnded {
            name: "kube-apiserver",
            status: "exit status: 1".into(),
            log: PathBuf::from("/logs/kube-apiserver.log"),
            tail: tail.into(),
        };
        assert!(ended("listen tcp 127.0.0.1:1: bind: address already in use").is_port_taken());
        assert!(!ended("unknown flag: --x").is_port_taken());
        assert!(!Error::NoPort(std::io::ErrorKind::AddrInUse.into()).is_port_taken());
    }
}
