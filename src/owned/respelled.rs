//! Whether somebody only spelled anew what we want: `1h` as `1h0m0s`, as controllers with typed fields do.
//!
//! In: the intent, the live object, what we lost of it. Out: the places, if nothing else was lost. Never here: anything
//! outside of `spec` (a text in a `ConfigMap` is a text), an element of a list, texts that are equal but for their case.

use super::fields::FieldSet;
use super::matching::Mismatch;
use super::path::{FieldPath, Step};
use crate::comparison::{GoDuration, Quantity};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// The places where others spelled our values anew, if that is all that `mismatches` say.
pub(super) fn respelled(
    intent: &Value,
    live: &Value,
    mismatches: &[Mismatch],
) -> Option<Vec<FieldPath>> {
    let place = |mismatch: &Mismatch| {
        let Mismatch::NotOwned(path) = mismatch else { return None };
        let in_spec = matches!(path.steps().first(), Some(Step::Field(name)) if **name == *"spec");
        let (ours, theirs) = (at(intent, path)?, at(live, path)?);
        (in_spec && same_worth(ours, theirs)).then(|| path.clone())
    };
    mismatches.iter().map(place).collect()
}

/// `wanted` in the spelling of others where we do not own a value and theirs is of the same worth: applied without force,
/// another spelling would be a conflict.
pub fn spelled_as_found(mut wanted: Value, owned: &FieldSet, live: &Value) -> Value {
    if let (Some(spec), Some(live)) = (wanted.get_mut("spec"), live.get("spec")) {
        spell(spec, owned.field("spec"), live);
    }
    wanted
}

fn spell(wanted: &mut Value, owned: Option<&FieldSet>, live: &Value) {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            for (name, value) in wanted {
                if let Some(live) = live.get(name) {
                    spell(value, owned.and_then(|owned| owned.field(name)), live);
                }
            }
        }
        (wanted, live) if owned.is_none() && same_worth(wanted, live) => *wanted = live.clone(),
        _ => {}
    }
}

/// The value at a path of fields alone.
pub(super) fn at<'a>(object: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    path.steps().iter().try_fold(object, |value, step| match step {
        Step::Field(name) => value.get(&**name),
        _ => None,
    })
}

/// The same to write to.
pub(super) fn at_mut<'a>(object: &'a mut Value, path: &FieldPath) -> Option<&'a mut Value> {
    path.steps().iter().try_fold(object, |value, step| match step {
        Step::Field(name) => value.get_mut(&**name),
        _ => None,
    })
}

/// Durations, times and quantities of the same worth.
pub(super) fn same_worth(ours: &Value, theirs: &Value) -> bool {
    if let (Some(ours), Some(theirs)) = (ours.as_str(), theirs.as_str()) {
        if let (Ok(ours), Ok(theirs)) = (ours.parse::<GoDuration>(), theirs.parse::<GoDuration>()) {
            return ours.nanoseconds() == theirs.nanoseconds();
        }
        if let (Ok(ours), Ok(theirs)) = (ours.parse::<Timestamp>(), theirs.parse::<Timestamp>()) {
            return ours == theirs;
        }
    }
    // Two numbers without a unit may be anything, for example versions.
    let has_unit = |value: &Value| {
        value.as_str().is_some_and(|text| text.ends_with(|c: char| c.is_ascii_alphabetic()))
    };
    (has_unit(ours) || has_unit(theirs))
        && matches!((Quantity::of(ours), Quantity::of(theirs)), (Ok(ours), Ok(theirs)) if ours == theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn spellings_of_the_same_worth_are_the_same() {
        for (ours, theirs) in [
            (json!("1h"), json!("1h0m0s")),
            (json!("90m"), json!("1h30m")),
            (json!("2026-01-01T00:00:00+00:00"), json!("2026-01-01T00:00:00Z")),
            (json!("1000m"), json!("1")),
            (json!("1024Mi"), json!("1Gi")),
            (json!(0.5), json!("500m")),
        ] {
            assert!(same_worth(&ours, &theirs), "{ours} {theirs}");
        }
        for (ours, theirs) in [
            (json!("1h"), json!("2h")),
            (json!("1.0"), json!("1")),
            (json!("1"), json!(1)),
            (json!("web"), json!("Web")),
            (json!("1m"), json!("60")),
            (json!(true), json!("true")),
            (json!("2026-01-01T00:00:00Z"), json!("2026-01-02T00:00:00Z")),
        ] {
            assert!(!same_worth(&ours, &theirs), "{ours} {theirs}");
        }
    }

    #[test]
    fn the_spelling_of_others_is_taken_where_the_value_is_theirs() {
        use serde::Deserialize;
        let owned = FieldSet::deserialize(json!({"f:spec": {"f:mine": {}}})).unwrap();
        let wanted = json!({"spec": {"every": "1h", "mine": "1h", "other": "1h", "a": {"b": "1Gi"}}, "data": {"x": "1h"}});
        let live = json!({"spec": {"every": "60m", "mine": "60m", "other": "2h", "a": {"b": "1024Mi"}}, "data": {"x": "60m"}});
        let sent = json!({"spec": {"every": "60m", "mine": "1h", "other": "1h", "a": {"b": "1024Mi"}}, "data": {"x": "1h"}});
        assert_eq!(spelled_as_found(wanted, &owned, &live), sent);
    }

    #[test]
    fn all_that_was_lost_must_be_spelled_anew() {
        let path = |steps: &[&str]| FieldPath::new(steps.iter().map(|step| Step::field(step)));
        let lost = |steps: &[&str]| Mismatch::NotOwned(path(steps));
        let intent = json!({"spec": {"a": {"every": "1h"}, "b": "x"}, "data": {"every": "1h"}});
        let live =
            json!({"spec": {"a": {"every": "1h0m0s"}, "b": "y"}, "data": {"every": "1h0m0s"}});
        let every = ["spec", "a", "every"];
        let found = |mismatches: &[Mismatch]| respelled(&intent, &live, mismatches);
        assert_eq!(found(&[lost(&every)]), Some(vec![path(&every)]));
        assert_eq!(found(&[lost(&every), lost(&["spec", "b"])]), None);
        assert_eq!(found(&[lost(&["data", "every"])]), None, "a text is a text");
        assert_eq!(found(&[Mismatch::Absent(path(&every))]), None);
        assert_eq!(found(&[lost(&["spec", "gone"])]), None);
    }
}
