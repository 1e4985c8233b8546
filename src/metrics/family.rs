//! The names of all metrics: what the page of metrics and its documentation are made of.
//!
//! In: nothing. Out: names, labels and what they mean; `docs/METRICS.md`. Names are stable: a changed one is told in the
//! changelog. Never here: numbers.

use std::fmt::Write;

/// All samples of one name.
#[derive(Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What can be done with it.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
}

/// What can be done with the samples of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only rise; ask for their rate.
    Counter,
    /// They are as they are now.
    Gauge,
    /// They are a distribution.
    Histogram,
}

impl Kind {
    /// As Prometheus calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

macro_rules! families {
    ($($constant:ident $kind:ident $name:literal [$($label:literal),*] $help:literal)+) => {
        $(pub(super) static $constant: Family =
            Family { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help };)+
        /// All of them, in the order of the page.
        pub static FAMILIES: &[&Family] = &[$(&$constant),+];
    };
}

families! {
    BUILD_INFO Gauge "kubewright_build_info" ["version"]
        "1, with the version of the program."
    LEADER Gauge "kubewright_leader" ["shard"]
        "1 while this process may write for a shard: it holds its lease, or runs without one. Else 0. Without --shards there is one, 0."
    LEASE_CHANGES Counter "kubewright_lease_changes_total" ["change"]
        "How often this process began to lead (acquired), gave a lease up by itself (released) or lost one (lost)."
    RULES Gauge "kubewright_rules" ["state"]
        "Rules that run (ready), that wait for kinds or first lists (attaching), that were loaded with problems (bad), and that run on in an older version since what is there now cannot be used (kept)."
    ROLLOUT_PARENTS Gauge "kubewright_rollout_parents" ["rule", "state"]
        "While a changed rule is rolled out, its parents: pending (they have not seen it), changed (something changed for them), failing (they do since)."
    ROLLOUT_HALTED Gauge "kubewright_rollout_halted" ["rule"]
        "1 while a roll-out stands still, since too many parents newly fail. Else 0, or nothing without a roll-out."
    WITHHELD Gauge "kubewright_deletions_withheld" ["rule"]
        "Objects that a change of the rule or of an input would delete, and that are held back until somebody allows it."
    PASSES Counter "kubewright_passes_total" ["rule", "outcome"]
        "Passes: done; again (well, and it looks again at a known time); failed (tried again after a backoff); panicked (a bug)."
    PASS_SECONDS Histogram "kubewright_pass_duration_seconds" ["rule"]
        "How long a pass takes, its calls to the API server included."
    PARENTS Gauge "kubewright_parents" ["rule", "state"]
        "Parents after their last pass: ready, waiting, failed (it needs somebody's help)."
    CHILDREN Gauge "kubewright_children" ["rule", "state"]
        "Children after their parent's last pass: ready, waiting, failed."
    CONTESTED Gauge "kubewright_children_contested" ["rule"]
        "Children of which somebody else keeps changing fields that the rule wants."
    WRITES Counter "kubewright_writes_total" ["verb", "kind", "reason"]
        "Objects that were written. Children: created, updated (the rule wants something else), repaired (somebody changed it), converted (another API version), adopted, recreated, deleted, orphaned. Others: status, edited (objects that a rule only edits), metadata (finalizers and annotations of parents)."
    REQUESTS Counter "kubewright_requests_total" ["verb", "result"]
        "Requests of passes to the API server by HTTP method: ok, or the class of the refusal: not_found, stale, held, permanent, forbidden, unavailable, not_served, transient."
    REQUEST_SECONDS Histogram "kubewright_request_duration_seconds" []
        "How long a request of a pass takes, from when it may be sent to its answer."
    IN_FLIGHT Gauge "kubewright_requests_in_flight" []
        "Requests of passes and for Events that are under way."
    IN_FLIGHT_LIMIT Gauge "kubewright_requests_in_flight_limit" []
        "How many may be: 16 at the start, up to 32 while they are needed, half each time the API server says that it is busy."
    QUEUE_KEYS Gauge "kubewright_queue_keys" ["lane"]
        "Parents that wait for a pass, by lane: finish (begun), edit (somebody edited the parent), drift (something else changed), bulk (many at once)."
    QUEUE_OLDEST Gauge "kubewright_queue_oldest_seconds" ["lane"]
        "How long the one who waited longest has been waiting."
    QUEUE_WAIT Histogram "kubewright_queue_wait_seconds" ["lane"]
        "How long parents waited for the passes that began."
    QUEUE_RUNNING Gauge "kubewright_queue_running" []
        "Passes under way, those that wait for a request included."
    QUEUE_DELAYED Gauge "kubewright_queue_delayed" []
        "Parents that are looked at again at a later time: failed ones, and those that rest since they change too often."
    WATCHES Gauge "kubewright_watches" ["state"]
        "Watches: synced, listing (the first list is not complete), failing (the last try failed)."
    WATCH_RESTARTS Counter "kubewright_watch_restarts_total" ["kind"]
        "Tries of a list or a stream that failed and were begun again."
    CACHE_OBJECTS Gauge "kubewright_cache_objects" ["kind"]
        "Objects in the watch caches."
    CACHE_BYTES Gauge "kubewright_cache_bytes" ["kind"]
        "Bytes of their text, managedFields included."
    EVENTS_PENDING Gauge "kubewright_events_pending" []
        "Events that wait to be sent."
    EVENTS_DROPPED Counter "kubewright_events_dropped_total" []
        "Events that were dropped: too many, refused, or no right to send them."
}

/// `docs/METRICS.md`.
pub fn reference() -> String {
    let mut text = String::from(INTRODUCTION);
    for Family { name, kind, labels, help } in FAMILIES {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| `{name}` | {} | {} | {help} |", kind.as_str(), labels.join(", "));
    }
    text
}

const INTRODUCTION: &str = "\
# Metrics

`kubewright run` serves these at `/metrics` of `--address` in the format of Prometheus. This page is written by a program
(`KUBEWRIGHT_UPDATE=1 cargo test --test offline`), so that it says what is served. Names and labels are stable: a change of one is told in
the changelog.

Labels come from rules and from the program, never from parents: `rule` is a rule's name, `kind` is `Kind.group`. Durations are in
seconds. A dashboard and alerts that are made of them are in `charts/kubewright/files`.

| name | type | labels | meaning |
|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_habits_of_prometheus() {
        let mut names = std::collections::BTreeSet::new();
        for family in FAMILIES {
            let name = family.name;
            assert!(names.insert(name), "{name} twice");
            assert!(name.starts_with("kubewright_"), "{name}");
            assert_eq!(name.ends_with("_total"), family.kind == Kind::Counter, "{name}");
            assert!(family.kind != Kind::Histogram || name.ends_with("_seconds"), "{name}");
            assert!(family.help.ends_with('.') && !family.help.contains(['|', '\n']), "{name}");
        }
    }
}
