//! Kubernetes Events about a parent: what a person who looks at it wants to know of the last hour.
//!
//! In: what a pass found ([`facts`]), what was told before ([`EventMemory`]). Out: [`Event`]s to send now, and a [`Teller`]
//! that sends them beside the passes. A parent of which nothing is new has none. Never here: a value of a Secret; a time, uid
//! or version in a text; anything that a pass waits for or fails by.
//!
//! They are of `events.k8s.io/v1`, not of the core group: there the server itself holds us to a reason, an action, a
//! controller and at most 1 KB of text, and a repetition is a `series`, the one field that may still change, so that counting
//! up cannot spoil what was told first. `kubectl describe` and `kubectl get events` show both alike.

mod facts;
mod memory;
mod note;
mod rival;
mod send;

pub use facts::{Fact, Pass, of_deletion, of_pass};
pub use memory::EventMemory;
pub use send::Teller;

use crate::marks::hash64;
use crate::object::ObjectId;
use crate::reconcile::Scene;
use crate::store::Stored;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The namespace of Events about objects that live in none.
const DEFAULT_NAMESPACE: &str = "default";

/// As long as the name of an object may be.
const LONGEST_NAME: usize = 253;

/// Why an Event is sent. Stable: people alert on them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Children were created.
    Created,
    /// Children were created that were there before.
    Recreated,
    /// Objects of nobody became children.
    Adopted,
    /// Children that are no longer wanted were deleted.
    Pruned,
    /// Children that are no longer wanted were left behind without our marks.
    LeftBehind,
    /// The API server refused a child, an edit or a deletion.
    ChildFailed,
    /// Rights are missing.
    Forbidden,
    /// An object of that name belongs to somebody else.
    NotOwned,
    /// Somebody else holds fields of a child, or changes them again and again.
    Conflict,
    /// A child with generated values is gone.
    Lost,
    /// A template or the parent has a mistake.
    RenderFailed,
    /// The API server refused the status.
    StatusRefused,
    /// Something has not been there, or not been ready, for some minutes.
    Waiting,
    /// A finalizer has held a deletion for some minutes.
    DeletionHeld,
    /// More would be deleted than the budget of a rule allows.
    DeletionWithheld,
    /// A rule has problems; about the `ConfigMap` that it is in.
    RuleRefused,
    /// Too many parents fail since they saw a changed rule; about the rule's record.
    RolloutHalted,
    /// Every child exists and is ready; where no status can say so.
    Ready,
    /// Children are on their way; where no status can say so.
    Reconciling,
    /// Somebody's help is needed; where no status can say so.
    Stalled,
    /// A condition that the rule declares has changed; where no status can say so.
    Declared(String),
}

impl Reason {
    /// All that the program itself has, in the order in which a person should read them.
    pub const ALL: [Self; 20] = [
        Self::Created,
        Self::Recreated,
        Self::Adopted,
        Self::Pruned,
        Self::LeftBehind,
        Self::ChildFailed,
        Self::Forbidden,
        Self::NotOwned,
        Self::Conflict,
        Self::Lost,
        Self::RenderFailed,
        Self::StatusRefused,
        Self::Waiting,
        Self::DeletionHeld,
        Self::DeletionWithheld,
        Self::RuleRefused,
        Self::RolloutHalted,
        Self::Ready,
        Self::Reconciling,
        Self::Stalled,
    ];

    /// One CamelCase word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Created => "Created",
            Self::Recreated => "Recreated",
            Self::Adopted => "Adopted",
            Self::Pruned => "Pruned",
            Self::LeftBehind => "LeftBehind",
            Self::ChildFailed => "ChildFailed",
            Self::Forbidden => "Forbidden",
            Self::NotOwned => "NotOwned",
            Self::Conflict => "Conflict",
            Self::Lost => "Lost",
            Self::RenderFailed => "RenderFailed",
            Self::StatusRefused => "StatusRefused",
            Self::Waiting => "Waiting",
            Self::DeletionHeld => "DeletionHeld",
            Self::DeletionWithheld => "DeletionWithheld",
            Self::RuleRefused => "RuleRefused",
            Self::RolloutHalted => "RolloutHalted",
            Self::Ready => "Ready",
            Self::Reconciling => "Reconciling",
            Self::Stalled => "Stalled",
            Self::Declared(reason) => reason,
        }
    }

    /// What was done, or could not be done.
    fn action(&self) -> &'static str {
        match self {
            Self::Created | Self::Recreated | Self::Lost => "Create",
            Self::Adopted => "Adopt",
            Self::Pruned | Self::DeletionHeld | Self::DeletionWithheld => "Delete",
            Self::LeftBehind => "Orphan",
            Self::ChildFailed | Self::Forbidden | Self::NotOwned | Self::Conflict => "Apply",
            Self::RenderFailed => "Render",
            Self::RuleRefused => "Load",
            Self::RolloutHalted => "RollOut",
            Self::StatusRefused => "WriteStatus",
            Self::Waiting => "Wait",
            Self::Ready | Self::Reconciling | Self::Stalled | Self::Declared(_) => "Judge",
        }
    }

    /// Whether somebody should look.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::ChildFailed
            | Self::Forbidden
            | Self::NotOwned
            | Self::Conflict
            | Self::Lost
            | Self::RenderFailed
            | Self::StatusRefused
            | Self::Waiting
            | Self::DeletionHeld
            | Self::DeletionWithheld
            | Self::RuleRefused
            | Self::RolloutHalted
            | Self::Stalled => true,
            Self::Created
            | Self::Recreated
            | Self::Adopted
            | Self::Pruned
            | Self::LeftBehind
            | Self::Ready
            | Self::Reconciling
            | Self::Declared(_) => false,
        }
    }
}

/// What one Event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Why.
    pub reason: Reason,
    /// For people: one line, at most 1 KB.
    pub note: String,
}

/// An Event that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is about: a parent.
    parent: ObjectId,
    uid: Box<str>,
    api_version: String,
    rule: String,
    draft: Draft,
    at: Timestamp,
}

/// What is to be told after a pass, and when to look again although nothing changes.
#[derive(Debug, Default)]
pub struct Told {
    /// In the order in which they should be read.
    pub events: Vec<Event>,
    /// When something may have lasted long enough to be told.
    pub look_again: Option<Duration>,
}

/// What is new after a pass. `at` stands in the Events, `now` measures how long something lasts.
pub(crate) fn tell(
    scene: &Scene<'_>,
    facts: Vec<Fact>,
    memory: &mut EventMemory,
    (at, now): (Timestamp, Instant),
) -> Told {
    // An Event about an Event would be a parent again, without end.
    if scene.parent.id.kind.kind == "Event" {
        return Told::default();
    }
    let (drafts, look_again) = memory.tell(facts, now);
    let event = |draft: Draft| Event {
        parent: scene.parent.id.clone(),
        uid: scene.parent.uid.clone(),
        api_version: scene.parent_gvk().api_version(),
        rule: scene.rule.name.to_string(),
        draft,
        at,
    };
    Told { events: drafts.into_iter().map(event).collect(), look_again }
}

impl Event {
    /// About a `ConfigMap` of our own namespace: the record of a rule, or what holds it.
    pub fn about_rule(config_map: &Stored, rule: &str, reason: Reason, note: &str) -> Self {
        Self {
            parent: config_map.id.clone(),
            uid: config_map.uid.clone(),
            api_version: "v1".into(),
            rule: rule.to_owned(),
            draft: Draft { reason, note: note::cut(note, note::LONGEST) },
            at: Timestamp::now(),
        }
    }

    /// The same for the same text about the same object by the same rule, so that it is never made twice.
    fn name(&self) -> String {
        let Draft { reason, note } = &self.draft;
        let told = json!([&*self.uid, self.rule, reason.as_str(), note]).to_string();
        let hash = format!("{:016x}", hash64(told.as_bytes()));
        let legal = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '-' };
        let stem: String = self.parent.name.to_lowercase().chars().map(legal).collect();
        let stem: String = stem.chars().take(LONGEST_NAME - 1 - hash.len()).collect();
        // Each part between dots begins and ends with a letter or a digit.
        let parts: Vec<&str> = stem.split('.').map(|part| part.trim_matches('-')).collect();
        let parts = parts.into_iter().filter(|part| !part.is_empty()).chain([hash.as_str()]);
        parts.collect::<Vec<_>>().join(".")
    }

    fn namespace(&self) -> &str {
        if self.parent.namespace.is_empty() { DEFAULT_NAMESPACE } else { &self.parent.namespace }
    }

    /// As Kubernetes writes a moment in Events.
    fn moment(&self) -> String {
        self.at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// The body of its creation.
    fn body(&self, controller: &str, instance: &str) -> Value {
        let Draft { reason, note } = &self.draft;
        let mut regarding = json!({"apiVersion": self.api_version, "kind": self.parent.kind.kind,
            "name": &*self.parent.name, "uid": &*self.uid});
        if !self.parent.namespace.is_empty() {
            regarding["namespace"] = json!(&*self.parent.namespace);
        }
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": self.name(), "namespace": self.namespace()},
            "regarding": regarding,
            "type": if reason.is_warning() { "Warning" } else { "Normal" },
            "reason": reason.as_str(), "action": reason.action(), "note": note,
            "eventTime": self.moment(),
            "reportingController": controller, "reportingInstance": instance,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;

    fn event(parent: &str, note: &str) -> Event {
        Event {
            parent: parse_id(parent).unwrap(),
            uid: "7d6f1294".into(),
            api_version: "demo.kubewright.io/v1".into(),
            rule: "webapp".into(),
            draft: Draft { reason: Reason::ChildFailed, note: note.into() },
            at: "2026-01-02T03:04:05.678901234Z".parse().unwrap(),
        }
    }

    #[test]
    fn a_name_is_legal_and_the_same_for_the_same_text_alone() {
        let one = event("WebApp.demo.kubewright.io shop/web", "no");
        assert_eq!(one.name(), event("WebApp.demo.kubewright.io shop/web", "no").name());
        assert_ne!(one.name(), event("WebApp.demo.kubewright.io shop/web", "yes").name());
        let other = Event { uid: "93259d58".into(), ..one.clone() };
        assert_ne!(one.name(), other.name(), "a parent that came back");
        let other = Event { rule: "other".into(), ..one.clone() };
        assert_ne!(one.name(), other.name());
        assert!(one.name().starts_with("web.") && one.name().len() == "web.".len() + 16);
        let long = "a.".repeat(126) + "a";
        for name in ["system:node", "a-.b", ":", "A_B", "--", &long, &"a".repeat(253)] {
            let name = event(&format!("ClusterRole.x {name}"), "no").name();
            let legal = |part: &str| {
                let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
                part.starts_with(edge)
                    && part.ends_with(edge)
                    && part.chars().all(|c| edge(c) || c == '-')
            };
            assert!(name.split('.').all(legal) && name.len() <= LONGEST_NAME, "{name}");
        }
    }

    #[test]
    fn the_body_is_what_the_server_asks_for() {
        let body = event("WebApp.demo.kubewright.io shop/web", "no").body("kubewright.io/x", "x-0");
        let regarding = json!({"apiVersion": "demo.kubewright.io/v1", "kind": "WebApp", "name": "web",
            "namespace": "shop", "uid": "7d6f1294"});
        assert_eq!(body["regarding"], regarding);
        assert_eq!(body["metadata"]["namespace"], "shop");
        assert_eq!(body["eventTime"], "2026-01-02T03:04:05.678901Z");
        assert_eq!((&body["type"], &body["reason"]), (&json!("Warning"), &json!("ChildFailed")));
        let body = event("Namespace shop", "no").body("kubewright.io/x", "x-0");
        assert_eq!(body["metadata"]["namespace"], "default");
        assert_eq!(body["regarding"].get("namespace"), None);
    }
}
