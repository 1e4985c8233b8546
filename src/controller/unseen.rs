//! Whether somebody changed a parent since a pass last looked at it, as far as its status tells.
//!
//! In: a parent as it is. Out: yes or no. Never here: a rule; reading all of the parent.

use crate::queue::Lane;
use crate::store::Stored;
use serde::Deserialize;

/// The lane in which a parent waits when all parents get a pass. Whoever edited or made one while nobody ran waits for that one,
/// and not for the others.
pub(super) fn lane_of(parent: &Stored) -> Lane {
    if parent.terminating || is_unseen(parent.json(), parent.generation) {
        Lane::Edit
    } else {
        Lane::Bulk
    }
}

/// Its conditions say of which generation they are. Where there are none nothing is known: a rule may write no status.
fn is_unseen(json: &str, generation: Option<i64>) -> bool {
    #[derive(Deserialize)]
    struct Parent {
        #[serde(default)]
        status: Status,
    }
    #[derive(Default, Deserialize)]
    struct Status {
        #[serde(default)]
        conditions: Vec<Condition>,
    }
    #[derive(Deserialize)]
    struct Condition {
        #[serde(rename = "observedGeneration")]
        generation: Option<i64>,
    }
    let Some(generation) = generation else { return false };
    let Ok(Parent { status }) = serde_json::from_str(json) else { return false };
    let seen = status.conditions.iter().filter_map(|condition| condition.generation).max();
    seen.is_some_and(|seen| seen < generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_tell_which_generation_was_seen() {
        let of = |status: serde_json::Value, generation| {
            is_unseen(&json!({"spec": {"a": 1}, "status": status}).to_string(), generation)
        };
        let seen = |generation: i64| json!({"type": "Ready", "observedGeneration": generation});
        assert!(of(json!({"conditions": [seen(2), seen(1)]}), Some(3)));
        assert!(!of(json!({"conditions": [seen(2), seen(3)]}), Some(3)), "one of them is enough");
        for unknown in [
            json!({}),
            json!({"conditions": [{"type": "Ready"}]}),
            json!({"conditions": {"odd": 1}}),
            json!({"conditions": [{"observedGeneration": "odd"}]}),
            json!("odd"),
        ] {
            assert!(!of(unknown.clone(), Some(3)), "{unknown}");
        }
        assert!(!of(json!({"conditions": [seen(2)]}), None), "a kind without generations");
    }
}
