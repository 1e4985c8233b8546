//! Conditions: what is said of a parent, and how it is told from what was said before.
//!
//! In: conditions wanted now, conditions the parent has. Out: the list to write. Pure; the time comes as data.

use serde_json::{Map, Value, json};

/// Messages are cut here: a status is read by people and copied by tools.
const LONGEST_MESSAGE: usize = 1024;

/// When a condition last changed its status: the one thing in a status that depends on the time of the pass.
pub(super) const TRANSITION: &str = "lastTransitionTime";

/// The condition types that Kubewright itself writes, in the sense of kstatus.
pub mod kind {
    /// Everything the rule wants exists and is ready.
    pub const READY: &str = "Ready";
    /// Something is on its way.
    pub const RECONCILING: &str = "Reconciling";
    /// Something needs help.
    pub const STALLED: &str = "Stalled";
}

/// True, False or Unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It cannot be told yet.
    Unknown,
}

impl Truth {
    /// As Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

/// One condition as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// For example `Ready`.
    pub kind: String,
    /// Whether it holds.
    pub truth: Truth,
    /// One CamelCase word.
    pub reason: String,
    /// For people; stable while nothing changes.
    pub message: String,
}

/// The list to write: `lastTransitionTime` moves only when the status of a condition does.
pub(crate) fn conditions(
    wanted: &[Condition],
    previous: &[Value],
    generation: Option<i64>,
    now: &str,
) -> Vec<Value> {
    wanted.iter().map(|condition| written(condition, previous, generation, now)).collect()
}

/// Those of these types as they stand, for what cannot be said now.
pub(super) fn kept(kinds: &[String], previous: &[Value]) -> Vec<Value> {
    let is_kept = |value: &&Value| kinds.iter().any(|kind| value["type"] == *kind.as_str());
    previous.iter().filter(is_kept).cloned().collect()
}

fn written(condition: &Condition, previous: &[Value], generation: Option<i64>, now: &str) -> Value {
    let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    let before = previous
        .iter()
        .find(|value| text(value, "type").as_deref() == Some(condition.kind.as_str()))
        .filter(|value| text(value, "status").as_deref() == Some(condition.truth.as_str()))
        .and_then(|value| text(value, TRANSITION));
    let mut value = Map::new();
    value.insert("type".into(), json!(condition.kind));
    value.insert("status".into(), json!(condition.truth.as_str()));
    value.insert("reason".into(), json!(condition.reason));
    value.insert("message".into(), json!(cut(&condition.message)));
    value.insert(TRANSITION.into(), json!(before.as_deref().unwrap_or(now)));
    if let Some(generation) = generation {
        value.insert("observedGeneration".into(), json!(generation));
    }
    Value::Object(value)
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(truth: Truth, message: &str) -> Condition {
        Condition { kind: kind::READY.into(), truth, reason: "R".into(), message: message.into() }
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let first = conditions(&[ready(Truth::False, "a")], &[], Some(1), "t1");
        assert_eq!(first[0]["lastTransitionTime"], "t1");
        let reworded = conditions(&[ready(Truth::False, "b")], &first, Some(2), "t2");
        assert_eq!(reworded[0]["lastTransitionTime"], "t1");
        assert_eq!(
            (&reworded[0]["message"], &reworded[0]["observedGeneration"]),
            (&json!("b"), &json!(2))
        );
        let turned = conditions(&[ready(Truth::True, "b")], &reworded, Some(2), "t3");
        assert_eq!(turned[0]["lastTransitionTime"], "t3");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let long = "ü".repeat(5000);
        let written = conditions(&[ready(Truth::True, &long)], &[], None, "t");
        assert_eq!(written[0]["message"].as_str().unwrap().chars().count(), LONGEST_MESSAGE + 1);
        assert_eq!(written[0].get("observedGeneration"), None);
    }
}
