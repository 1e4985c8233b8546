//! What the engine says of values, in the words of authors.
//!
//! In: the engine's error. Out: what is wrong, and what to write instead. Never here: places, values.

use super::language::{self, EntryKind};
use minijinja::Error;

/// What to write instead of something that cannot be computed.
pub(super) fn hint_for(error: &Error) -> Option<String> {
    let detail = error.detail().unwrap_or_default();
    if let Some((_, method)) = detail.split_once(" has no method named ") {
        let is_filter = language::knows(EntryKind::Filter, method);
        let name = if is_filter { method } else { "name" };
        return Some(format!("call it as a filter: `value|{name}`"));
    }
    let hint = match detail {
        _ if detail.starts_with("tried to use + operator") => {
            "`~` joins texts; `|int` makes a number of a text"
        }
        _ if detail.starts_with("tried to use") && detail.contains("string") => {
            "`|int` makes a number of a text"
        }
        _ if detail.ends_with("is not iterable") => {
            "only lists and maps can be looped over; of a map use `|items`"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// The engine's sentence.
pub(super) fn in_our_words(detail: &str) -> String {
    const OPERATOR: &str = " operator on unsupported types ";
    if let Some((operator, kinds)) =
        detail.strip_prefix("tried to use ").and_then(|rest| rest.split_once(OPERATOR))
        && let Some((left, right)) = kinds.split_once(" and ")
    {
        return format!("`{operator}` is not possible with {} and {}", noun(left), noun(right));
    }
    if detail.starts_with("invalid float literal") || detail.starts_with("invalid digit") {
        return "this text is no number".to_owned();
    }
    if let Some(kind) = detail.strip_suffix(" is not iterable") {
        return format!("{} cannot be looped over", noun(kind));
    }
    if let Some((kind, method)) = detail.split_once(" has no method named ") {
        return format!("{} has no method `{method}`", noun(kind));
    }
    detail.to_owned()
}

fn noun(kind: &str) -> String {
    match kind {
        "string" => "a text".to_owned(),
        "bool" => "a boolean".to_owned(),
        "none" => "null".to_owned(),
        "sequence" => "a list".to_owned(),
        "undefined" => "nothing".to_owned(),
        kind => format!("a {kind}"),
    }
}
