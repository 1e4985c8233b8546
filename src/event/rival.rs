//! Whom a child's fields are contested with, and over which values.
//!
//! In: a child as it should be and as it is. Out: a sentence per field with its path, both values and the manager. Pure.
//! Never here: a value of a Secret, or of a child that may hold one: `shown` says so.

use super::note::cut;
use crate::compare::lost_paths;
use crate::fetch::Live;
use crate::owned::FieldPath;
use crate::refusal::HeldField;
use crate::render::DesiredChild;
use serde_json::Value;

/// Fields that are told.
const FIELDS: usize = 5;

/// A value is cut after so many bytes.
const LONGEST_VALUE: usize = 100;

/// Fields that somebody else holds and wants otherwise than we do, sorted. Where the object does not show them any more it
/// is told what is known.
pub(super) fn rivals(
    child: &DesiredChild,
    live: Option<&Live>,
    manager: &str,
    known: &[HeldField],
    shown: bool,
) -> String {
    let lost = live.map(|live| lost_paths(child, live, manager)).unwrap_or_default();
    let theirs = |path: &FieldPath| live.and_then(|live| value_at(path, live.value()));
    let mut told: Vec<String> = lost
        .iter()
        .filter(|(path, holder)| {
            !holder.is_empty() && theirs(path) != value_at(path, &child.object)
        })
        .map(|(path, holder)| {
            if !shown {
                return format!("{path} by {holder}");
            }
            let (ours, theirs) = (text(value_at(path, &child.object)), text(theirs(path)));
            format!("{path} is {theirs} by {holder}, not {ours}")
        })
        .collect();
    if told.is_empty() {
        told = known.iter().map(|held| format!("{} by {}", held.field, held.holder)).collect();
    }
    told.sort();
    let more = told.len().saturating_sub(FIELDS);
    told.truncate(FIELDS);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    if told.is_empty() { "its fields".to_owned() } else { told.join(", ") }
}

/// The value at exactly this place.
fn value_at<'a>(path: &FieldPath, object: &'a Value) -> Option<&'a Value> {
    let location = path.locate(object);
    let whole = location.steps().len() == path.steps().len();
    if whole { location.of(object) } else { None }
}

fn text(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| cut(&value.to_string(), LONGEST_VALUE))
}
