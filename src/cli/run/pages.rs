//! What is on the pages of `run`.
//!
//! In: a controller, whether it leads, whether it stops. Out: texts and status codes, as Kubernetes' own components have them.
//! Never here: a request to the cluster.

use crate::controller::{Controller, Progress};
use crate::lease::Gate;
use crate::metrics::CONTENT_TYPE;
use crate::serve::{Answer, Pages};
use http::StatusCode;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the pages tell of.
pub(super) struct Subject {
    controller: Arc<Controller>,
    /// Of each shard; none if we write without a lease.
    gates: Vec<Arc<Gate>>,
    begun: AtomicBool,
    stopping: AtomicBool,
}

impl Subject {
    /// Of a controller that has no rules yet.
    pub(super) fn new(controller: Arc<Controller>, gates: Vec<Arc<Gate>>) -> Self {
        let (begun, stopping) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { controller, gates, begun, stopping }
    }

    /// The rules are known.
    pub(super) fn begun(&self) {
        self.begun.store(true, Ordering::SeqCst);
    }

    /// The end has begun.
    pub(super) fn stopping(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub(super) fn pages(self: Arc<Self>) -> Pages {
        Arc::new(move |path, query| match path {
            "/healthz" => Some(Answer::plain(StatusCode::OK, "ok\n")),
            "/readyz" => Some(self.readyz(query == Some("verbose"))),
            "/metrics" => Some(Answer {
                status: StatusCode::OK,
                kind: CONTENT_TYPE,
                text: self.controller.metrics().page(&self.controller.snapshot(self.leads())),
            }),
            _ => None,
        })
    }

    /// Of each shard whether we may write.
    fn leads(&self) -> Vec<bool> {
        if self.gates.is_empty() {
            return vec![true; self.controller.shards()];
        }
        self.gates.iter().map(|gate| gate.term().is_some()).collect()
    }

    /// `leads`, `follows`, or which of several shards this replica leads.
    fn role(&self) -> String {
        let leads = self.leads();
        let ours = leads.iter().enumerate().filter(|(_, leads)| **leads);
        let ours: Vec<String> = ours.map(|(shard, _)| shard.to_string()).collect();
        match (&*ours, leads.len()) {
            ([], _) => "follows".to_owned(),
            (_, 1) => "leads".to_owned(),
            (ours, all) => format!("leads shard {} of {all}", ours.join(", ")),
        }
    }

    /// A follower is ready too: it could take over.
    fn readyz(&self, verbose: bool) -> Answer {
        let rules = self.controller.readiness();
        let stopping = self.stopping.load(Ordering::SeqCst);
        let begun = self.begun.load(Ordering::SeqCst);
        // One whose kind is not served waits for it as long as it takes, and the others run.
        let ready = begun && !stopping && !rules.iter().any(|rule| rule.starting);
        let mut text = String::new();
        // Writing to a String cannot fail.
        if stopping {
            let _ = writeln!(text, "[-] stopping");
        }
        if !begun {
            let _ = writeln!(text, "[-] the rules are not read yet");
        }
        // None of these keeps anything from running.
        if !self.controller.remembers() {
            let _ = writeln!(text, "[!] nothing is remembered of rules over restarts: see the log");
        }
        for (rule, why) in self.controller.kept() {
            let _ = writeln!(text, "[!] rule {rule} runs on as it was: {why}");
        }
        for (rule, progress) in self.controller.rollouts() {
            let Progress { parents, pending, failing, halted, .. } = progress;
            let how = if halted { "stands still" } else { "is being rolled out" };
            let _ = writeln!(
                text,
                "[!] rule {rule} {how}: {pending} of {parents} parents have not seen it, {failing} newly fail"
            );
        }
        for rule in rules.iter().filter(|rule| verbose || !rule.missing.is_empty()) {
            let _ = match &*rule.missing {
                [] => writeln!(text, "[+] rule {} ready", rule.rule),
                missing => writeln!(text, "[-] rule {} waits: {}", rule.rule, missing.join("; ")),
            };
        }
        if verbose {
            let _ = writeln!(text, "[+] this replica {}", self.role());
        }
        let (status, end) = if ready {
            (StatusCode::OK, "ready\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
        };
        text.push_str(end);
        Answer::plain(status, text)
    }
}
