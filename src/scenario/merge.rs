//! Putting JSON values over each other: patches of people, and what server-side apply does.
//!
//! In: a value and what is put over it. Out: the value, changed. Never here: lists by key: a list is one value, as it is in
//! a custom resource that declares no keys.

use serde_json::{Map, Value, json};

/// JSON Merge Patch (RFC 7396): maps are merged, null removes, everything else replaces.
pub(super) fn patch(target: &mut Value, patch_: &Value) {
    let Value::Object(entries) = patch_ else {
        *target = patch_.clone();
        return;
    };
    for (key, value) in entries {
        if value.is_null() {
            if let Some(target) = target.as_object_mut() {
                target.remove(key);
            }
        } else {
            patch(child_of(target, key), value);
        }
    }
    // An empty patch still makes a map of what is none.
    map_of(target);
}

/// Sets every leaf of `body`; what is beside it stays.
pub(super) fn set(target: &mut Value, body: &Value) {
    match body {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                set(child_of(target, key), value);
            }
        }
        _ => *target = body.clone(),
    }
}

/// Takes away what `before` has and `now` has not, as far as nobody else (`others`) wrote it too.
pub(super) fn drop_unset(target: &mut Value, before: &Value, now: &Value, others: &Value) {
    let Some(entries) = before.as_object() else { return };
    for (key, value) in entries {
        let kept = now.get(key).unwrap_or(&Value::Null);
        let shared = others.get(key).unwrap_or(&Value::Null);
        let Some(target) = target.as_object_mut() else { return };
        let Some(inner) = target.get_mut(key) else { continue };
        if value.is_object() {
            drop_unset(inner, value, kept, shared);
            let empty = inner.as_object().is_some_and(Map::is_empty);
            if empty && kept.is_null() && shared.is_null() {
                target.remove(key);
            }
        } else if kept.is_null() && shared.is_null() {
            target.remove(key);
        }
    }
}

/// `FieldsV1` of what somebody wrote and what still has that value; nothing if nothing has.
pub(super) fn fields(wrote: &Value, live: Option<&Value>) -> Option<Value> {
    match (wrote, live) {
        (Value::Object(wrote), Some(Value::Object(live))) if !wrote.is_empty() => {
            let fields: Map<String, Value> = wrote
                .iter()
                .filter_map(|(key, value)| {
                    Some((format!("f:{key}"), fields(value, live.get(key))?))
                })
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        (wrote, Some(live)) if wrote == live => Some(json!({})),
        _ => None,
    }
}

fn map_of(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made a map just now"),
    }
}

fn child_of<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    map_of(value).entry(key).or_insert(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_merges_maps_removes_with_null_and_replaces_lists() {
        let mut value = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1});
        patch(&mut value, &json!({"a": {"b": null, "c": [3]}, "d": {"e": null, "f": 2}, "g": {}}));
        assert_eq!(value, json!({"a": {"c": [3]}, "d": {"f": 2}, "g": {}}));
    }

    #[test]
    fn an_apply_takes_away_only_what_it_set_and_nobody_shares() {
        let mut live = json!({"a": {"ours": 1, "shared": 2, "theirs": 3}, "b": {"ours": 1}});
        let before = json!({"a": {"ours": 1, "shared": 2}, "b": {"ours": 1}});
        drop_unset(&mut live, &before, &json!({}), &json!({"a": {"shared": 2, "theirs": 3}}));
        assert_eq!(live, json!({"a": {"shared": 2, "theirs": 3}}));
    }

    #[test]
    fn whoever_wrote_a_value_owns_it_until_another_changes_it() {
        let wrote = json!({"spec": {"a": 1, "list": [1], "gone": 2}});
        let live = json!({"spec": {"a": 9, "list": [1]}});
        let expected = json!({"f:spec": {"f:list": {}}});
        assert_eq!(fields(&wrote, Some(&live)), Some(expected));
        assert_eq!(fields(&wrote, Some(&json!({"spec": {}}))), None);
    }
}
