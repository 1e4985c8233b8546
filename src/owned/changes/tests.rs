//! Tables of what an apply changes, and that the operations lead there.

use super::*;
use serde_json::json;

const US: &str = "us";

/// An object with our entry, and perhaps an update by `them`.
fn object(spec: &Value, ours: &Value, theirs: &Value) -> Value {
    let entry = |manager: &str, operation: &str, fields: &Value| json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields});
    let mut entries = vec![entry(US, "Apply", &json!({"f:spec": ours}))];
    if !theirs.is_null() {
        entries.push(entry("them", "Update", &json!({"f:spec": theirs})));
    }
    json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "uid": "u", "managedFields": entries},
        "spec": spec, "status": {"s": 1}})
}

fn found(wanted: &Value, live: &Value) -> Changes {
    let body = json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": wanted});
    let entry = crate::owned::our_entry(&live["metadata"]["managedFields"], US).unwrap();
    let changes = changes(&body, live, entry.fields().as_ref(), US);
    let mut applied = live.clone();
    for operation in &changes.operations {
        apply(&mut applied, operation);
    }
    let again = Walk::over(&body, &applied, entry.fields().as_ref(), (US, false));
    let left: Vec<_> = again.operations.iter().filter(|one| one.held_by.is_empty()).collect();
    assert!(left.is_empty(), "not there yet: {applied}: {left:?}");
    changes
}

/// Carries one operation out, as RFC 6902 says.
fn apply(object: &mut Value, operation: &Operation) {
    let (above, step) = operation.pointer.rsplit_once('/').unwrap();
    let name = step.replace("~1", "/").replace("~0", "~");
    let place = object.pointer_mut(above).unwrap_or_else(|| panic!("no {above}"));
    match (place, operation.word(), operation.is.clone()) {
        (Value::Object(map), "remove", _) => assert!(map.remove(&name).is_some(), "{name}"),
        (Value::Object(map), word, Some(value)) => {
            assert_eq!(map.insert(name, value).is_some(), word == "replace");
        }
        (Value::Array(items), "remove", _) => drop(items.remove(name.parse().unwrap())),
        (Value::Array(items), "replace", Some(value)) => {
            items[name.parse::<usize>().unwrap()] = value;
        }
        (Value::Array(items), _, Some(value)) if name == "-" => items.push(value),
        (Value::Array(items), _, Some(value)) => items.insert(name.parse().unwrap(), value),
        other => panic!("{other:?}"),
    }
}

fn told(wanted: &Value, live: &Value) -> Vec<String> {
    let shown = |value: &Option<Value>| value.as_ref().map_or("-".into(), Value::to_string);
    let one = |one: &Operation| {
        let held = if one.held_by.is_empty() {
            String::new()
        } else {
            format!(" ({})", one.held_by.join(", "))
        };
        format!("{} {} {} {}{held}", one.word(), one.pointer, shown(&one.was), shown(&one.is))
    };
    found(wanted, live).operations.iter().map(one).collect()
}

#[test]
fn only_what_is_ours_or_wanted_is_told() {
    let ours = json!({"f:a": {}, "f:b": {}, "f:m": {"f:x": {}, "f:y": {}}});
    let live = object(
        &json!({"a": 1, "b": "t", "m": {"x": 1, "y": 2, "theirs": 3}, "defaulted": 7}),
        &ours,
        &Value::Null,
    );
    for (wanted, expected) in [
        (json!({"a": 1, "b": "t", "m": {"x": 1, "y": 2}}), vec![]),
        (json!({"a": 2, "b": "t", "m": {"x": 1, "y": 2}}), vec!["replace /spec/a 1 2"]),
        (json!({"a": 1.0, "b": "t", "m": {"x": 1, "y": 2}}), vec![]),
        (json!({"a": 1, "b": "t", "m": {"x": 1}}), vec!["remove /spec/m/y 2 -"]),
        (json!({"a": 1, "b": "t"}), vec!["remove /spec/m/x 1 -", "remove /spec/m/y 2 -"]),
        (json!({"a": 1, "b": "t", "m": {"x": 1, "y": 2, "z/~": 0}}), vec!["add /spec/m/z~1~0 - 0"]),
        (
            json!({"a": 1, "b": {"c": 1}, "m": {"x": 1, "y": 2}}),
            vec![r#"replace /spec/b "t" {"c":1}"#],
        ),
    ] {
        assert_eq!(told(&wanted, &live), expected, "{wanted}");
    }
}

#[test]
fn a_map_of_ours_goes_as_a_whole_and_what_others_hold_too_stays() {
    let ours = json!({"f:m": {"f:x": {}, "f:y": {}}, "f:n": {}});
    let live = object(&json!({"m": {"x": 1, "y": 2}, "n": 1}), &ours, &json!({"f:n": {}}));
    assert_eq!(told(&json!({}), &live), [r#"remove /spec/m {"x":1,"y":2} -"#]);
    let shared =
        object(&json!({"m": {"x": 1, "y": 2}, "n": 1}), &ours, &json!({"f:m": {"f:x": {}}}));
    assert_eq!(told(&json!({}), &shared), ["remove /spec/m/y 2 -", "remove /spec/n 1 -"]);
}

#[test]
fn who_else_holds_a_value_is_named() {
    let live = object(&json!({"a": 5}), &json!({"f:b": {}}), &json!({"f:a": {}}));
    assert_eq!(told(&json!({"a": 1}), &live), ["replace /spec/a 5 1 (them (Update))"]);
}

#[test]
fn elements_are_matched_by_their_keys_whatever_the_server_added() {
    let c = |name: &str| format!(r#"k:{{"name":"{name}"}}"#);
    let ours =
        json!({"f:l": {c("a"): {".": {}, "f:name": {}, "f:image": {}}, c("b"): {"f:name": {}}}});
    let list =
        json!([{"name": "theirs"}, {"name": "a", "image": "1", "policy": "d"}, {"name": "b"}]);
    let live = object(&json!({ "l": list }), &ours, &json!({"f:l": {c("theirs"): {"f:name": {}}}}));
    for (wanted, expected) in [
        (json!([{"name": "a", "image": "1"}, {"name": "b"}]), vec![]),
        (
            json!([{"name": "a", "image": "2"}, {"name": "b"}]),
            vec![r#"replace /spec/l/1/image "1" "2""#],
        ),
        (
            json!([{"name": "a", "image": "2"}, {"name": "c"}]),
            vec![
                r#"replace /spec/l/1/image "1" "2""#,
                r#"remove /spec/l/2 {"name":"b"} -"#,
                r#"add /spec/l/- - {"name":"c"}"#,
            ],
        ),
        (
            json!([{"name": "b"}]),
            vec![r#"remove /spec/l/1 {"image":"1","name":"a","policy":"d"} -"#],
        ),
    ] {
        assert_eq!(told(&json!({ "l": wanted }), &live), expected, "{wanted}");
    }
    let swapped = found(&json!({"l": [{"name": "b"}, {"name": "a", "image": "1"}]}), &live);
    assert_eq!(swapped.operations[0].pointer, "/spec/l");
    assert_eq!(swapped.operations.len(), 1, "another order is the list as a whole");
}

#[test]
fn defaulted_parts_of_keys_are_no_change() {
    let key = r#"k:{"port":80,"protocol":"TCP"}"#;
    let ours = json!({"f:ports": {key: {".": {}, "f:port": {}, "f:targetPort": {}}}});
    let live = object(
        &json!({"ports": [{"port": 80, "protocol": "TCP", "targetPort": 1, "nodePort": 30}]}),
        &ours,
        &Value::Null,
    );
    assert_eq!(told(&json!({"ports": [{"port": 80, "targetPort": 1}]}), &live), [""; 0]);
    assert_eq!(
        told(&json!({"ports": [{"port": 80, "targetPort": 2}]}), &live),
        ["replace /spec/ports/0/targetPort 1 2"]
    );
}

#[test]
fn lists_that_are_written_as_a_whole_are_told_element_by_element() {
    let live = |list: Value| {
        object(&json!({"l": list, "x": 1}), &json!({"f:l": {}, "f:x": {}}), &Value::Null)
    };
    let rules = json!([{"verbs": ["get"], "d": 1}, {"verbs": ["list"]}, {"verbs": ["watch"]}]);
    for (wanted, expected) in [
        (
            json!([{"verbs": ["get"]}, {"verbs": ["*"]}, {"verbs": ["watch"]}]),
            vec![r#"replace /spec/l/1/verbs/0 "list" "*""#],
        ),
        (
            json!([{"verbs": ["get"]}, {"verbs": ["watch"]}]),
            vec![r#"remove /spec/l/1 {"verbs":["list"]} -"#],
        ),
        (
            json!([{"verbs": ["get"]}, {"verbs": ["list"]}, {"verbs": ["new"]}, {"verbs": ["watch"]}]),
            vec![r#"add /spec/l/2 - {"verbs":["new"]}"#],
        ),
        (
            json!([]),
            vec![
                r#"remove /spec/l/2 {"verbs":["watch"]} -"#,
                r#"remove /spec/l/1 {"verbs":["list"]} -"#,
                r#"remove /spec/l/0 {"d":1,"verbs":["get"]} -"#,
            ],
        ),
    ] {
        assert_eq!(told(&json!({"l": wanted, "x": 1}), &live(rules.clone())), expected, "{wanted}");
    }
}

#[test]
fn what_may_be_the_servers_own_is_told_only_where_nothing_else_explains_the_write() {
    let ours = json!({"f:cpu": {}, "f:l": {}, "f:x": {}});
    let live =
        object(&json!({"cpu": "1", "l": [{"a": 1, "defaulted": 2}], "x": 1}), &ours, &Value::Null);
    let wanted = |x: i64| json!({"cpu": "1000m", "l": [{"a": 1}], "x": x});
    assert_eq!(told(&wanted(2), &live), ["replace /spec/x 1 2"]);
    assert_eq!(
        told(&wanted(1), &live),
        [r#"replace /spec/cpu "1" "1000m""#, "remove /spec/l/0/defaulted 2 -"]
    );
}

#[test]
fn keys_in_a_map_that_is_written_as_a_whole_go_unless_the_server_may_have_put_them_there() {
    let wanted =
        |x: i64| json!({"selector": {"matchLabels": {"a": "b"}}, "reference": {"a": "b"}, "x": x});
    let spec = |selector: Value, reference: Value| json!({"selector": {"matchLabels": selector}, "reference": reference, "x": 1});
    let (usual, more) = (json!({"a": "b"}), json!({"a": "b", "by": "hand"}));
    let selector = r#"remove /spec/selector/matchLabels/by "hand" -"#;
    let reference = r#"remove /spec/reference/by "hand" -"#;
    let ours = json!({"f:x": {}, "f:selector": {}, "f:reference": {}});
    let of_ours = |selector: &Value, reference: &Value| {
        object(&spec(selector.clone(), reference.clone()), &ours, &Value::Null)
    };
    assert_eq!(told(&wanted(2), &of_ours(&more, &usual)), [selector, "replace /spec/x 1 2"]);
    assert_eq!(told(&wanted(2), &of_ours(&usual, &more)), ["replace /spec/x 1 2"]);
    assert_eq!(told(&wanted(1), &of_ours(&usual, &more)), [reference], "nothing else explains it");
    let left = json!({"f:x": {}, "f:selector": {}});
    let taken = object(&spec(usual, more), &left, &json!({"f:reference": {}}));
    assert_eq!(
        told(&wanted(2), &taken),
        [&format!("{reference} (them (Update))"), "replace /spec/x 1 2"]
    );
}

#[test]
fn members_of_sets_come_and_go() {
    let ours = json!({"f:s": {r#"v:"a""#: {}, r#"v:"b""#: {}}});
    let live =
        object(&json!({"s": ["theirs", "a", "b"]}), &ours, &json!({"f:s": {r#"v:"theirs""#: {}}}));
    assert_eq!(
        told(&json!({"s": ["a", "c"]}), &live),
        [r#"remove /spec/s/2 "b" -"#, r#"add /spec/s/- - "c""#]
    );
}

#[test]
fn empty_values_that_the_server_stores_as_nothing_are_no_change() {
    let ours = json!({"f:e": {}, "f:z": {}, "f:m": {}});
    let live = object(&json!({}), &ours, &Value::Null);
    assert_eq!(told(&json!({"e": "", "z": 0, "m": {}}), &live), [""; 0]);
    let absent = object(&json!({"x": 1, "n": null}), &json!({"f:x": {}}), &Value::Null);
    assert_eq!(told(&json!({"x": 2, "l": [], "n": []}), &absent), ["replace /spec/x 1 2"]);
    assert_eq!(
        told(&json!({"x": 1, "l": []}), &absent),
        ["add /spec/l - []"],
        "nothing else explains it"
    );
    assert_eq!(told(&json!({"x": 1, "n": {"a": 1}}), &absent), [r#"replace /spec/n null {"a":1}"#]);
    let filled = object(&json!({"m": {"theirs": 1}}), &ours, &json!({"f:m": {"f:theirs": {}}}));
    assert_eq!(told(&json!({"e": "", "z": 0, "m": {}}), &filled), [""; 0]);
}

#[test]
fn identity_bookkeeping_and_status_are_never_told() {
    let live = object(&json!({}), &json!({}), &Value::Null);
    assert_eq!(told(&json!({}), &live), [""; 0]);
}
