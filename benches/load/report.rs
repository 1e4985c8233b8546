//! The numbers as a table for people and as JSON for machines.
//!
//! In: what was measured. Out: text. Never here: measuring.

use crate::calm::{Edit, Quiet, Repair, Restart};
use crate::flood::Flood;
use crate::world::{Requests, writes};
use serde_json::{Value, json};
use std::fmt::Write;

/// Everything that was measured.
#[derive(Default)]
pub(crate) struct Report {
    parents: usize,
    pub(crate) ours: Vec<Flood>,
    pub(crate) floor: Vec<Flood>,
    pub(crate) paced_ours: Option<Flood>,
    pub(crate) paced_floor: Option<Flood>,
    pub(crate) quiet: Option<Quiet>,
    pub(crate) repair: Option<Repair>,
    pub(crate) restart: Option<Restart>,
    pub(crate) edit: Option<Edit>,
    /// Memory before and after as many parents without children.
    pub(crate) childless: Option<(u64, u64)>,
}

const MIB: f64 = 1_048_576.0;

impl Report {
    pub(crate) fn new(parents: usize) -> Self {
        Self { parents, ..Self::default() }
    }

    fn per_parent(&self, count: u64) -> f64 {
        count as f64 / self.parents as f64
    }

    /// Bytes that one parent takes, and one child.
    fn memory(&self) -> Option<(f64, f64)> {
        let (before, after) = self.childless?;
        let parent = self.per_parent(after.saturating_sub(before));
        let (before, after, _) = self.ours.last()?.memory?;
        let whole = self.per_parent(after.saturating_sub(before));
        Some((parent, (whole - parent) / 3.0))
    }

    /// Rates of ours by those of the floor, round by round.
    fn ratios(&self) -> Vec<f64> {
        self.ours.iter().zip(&self.floor).map(|(ours, floor)| ours.rate / floor.rate).collect()
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        let mut line = |what: &str, said: String| {
            // Writing to a text cannot fail.
            let _ = writeln!(table, "{what:<58} {said}");
        };
        for (round, ((ours, floor), ratio)) in
            self.ours.iter().zip(&self.floor).zip(self.ratios()).enumerate()
        {
            let what = format!("round {round}: {} new parents x 3 children", self.parents);
            line(&what, format!("{ratio:.2} of the floor's rate"));
            let rates = format!("{:.0} and {:.0}", ours.rate, floor.rate);
            line("  parents per second, ours and the floor", rates);
            let both = |flood: &Flood| format!("{:.0} / {:.0} ms", flood.p50_ms, flood.p99_ms);
            line("  created to ready, p50 / p99", format!("{}, floor {}", both(ours), both(floor)));
            line(
                "  writes per parent, ours",
                format!("{:.2}", self.per_parent(writes(&ours.requests))),
            );
            line("  requests, ours", named(&ours.requests));
            line("  requests, floor", named(&floor.requests));
            if let (Some(cpu), Some((before, after, peak))) = (ours.cpu, ours.memory) {
                line("  CPU of ours", format!("{cpu:.2} s"));
                let [before, after, peak] = [before, after, peak].map(|bytes| bytes as f64 / MIB);
                let said = format!("{before:.1}, {after:.1}, {peak:.1} MiB");
                line("  memory of its own before and after, peak with the program", said);
            }
        }
        if let (Some(ours), Some(floor)) = (&self.paced_ours, &self.paced_floor) {
            let both = |flood: &Flood| format!("{:.0} / {:.0} ms", flood.p50_ms, flood.p99_ms);
            let ratio = ours.p99_ms / floor.p99_ms;
            let said = format!("{}, floor {}, p99 x {ratio:.1}", both(ours), both(floor));
            line("one by one, created to ready, p50 / p99", said);
        }
        if let Some(quiet) = &self.quiet {
            let said = format!("{} requests, {:.2} % of a core", quiet.requests, quiet.cpu_percent);
            line(&format!("{} s of silence", quiet.seconds), said);
        }
        if let Some(Repair { edited, deleted, bare }) = &self.repair {
            for (what, (p50, p99)) in [("edited", edited), ("deleted", deleted)] {
                let said = format!(
                    "{p50:.0} / {p99:.0} ms, {:.1} / {:.1} times a bare write",
                    p50 / bare.0,
                    p99 / bare.1
                );
                line(&format!("repair of a child that was {what}, p50 / p99"), said);
            }
            line("  a bare write, p50 / p99", format!("{:.0} / {:.0} ms", bare.0, bare.1));
        }
        if let Some(restart) = &self.restart {
            line("restart", format!("{} writes, {:.2} s of CPU", restart.writes, restart.cpu));
            line("  requests", named(&restart.requests));
            line(
                "  an edit made at the start was served after",
                format!("{:.2} s", restart.edit_served_s),
            );
        }
        if let Some(edit) = &self.edit {
            let said = format!("{} writes, {} expected", edit.writes, edit.expected);
            line("a template that changes one parent in a hundred", said);
        }
        if let Some((parent, child)) = self.memory() {
            line("memory per parent, per child", format!("{parent:.0}, {child:.0} bytes"));
        }
        table
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        let memory = self.memory().map(|(parent, child)| json!({"parent": parent, "child": child}));
        json!({
            "parents": self.parents, "ratios": self.ratios(), "ours": self.ours, "floor": self.floor,
            "paced": {"ours": self.paced_ours, "floor": self.paced_floor}, "quiet": self.quiet,
            "repair": self.repair, "restart": self.restart, "edit": self.edit, "bytes": memory,
        })
    }
}

fn named(requests: &Requests) -> String {
    let named: Vec<String> =
        requests.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
    named.join(", ")
}
