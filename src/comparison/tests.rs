//! Claims about comparisons as a whole: truth tables, sentences, laws. The parts have theirs beside them.

use super::*;
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A comparison in JSON, as a decoder would fill it in.
pub(super) fn written(value: &Value) -> Written {
    let map = value.as_object().unwrap();
    let list = |value: &Value| value.as_array().unwrap().iter().map(written).collect();
    let mut out = Written { reference: reference(value), ..Written::default() };
    for (key, value) in map {
        match key.as_str() {
            "as" => out.meaning = Some(value.as_str().unwrap().to_owned()),
            "some" => out.some = value.as_bool(),
            "allOf" => out.all_of = Some(list(value)),
            "anyOf" => out.any_of = Some(list(value)),
            "not" => out.not = Some(Box::new(written(value))),
            "count" => out.count = Some(operators(value)),
            _ => {}
        }
    }
    out.operators = operators(value);
    out
}

fn operators(value: &Value) -> Vec<(Operator, Operand)> {
    let map = value.as_object().unwrap();
    map.iter().filter_map(|(key, value)| Some((Operator::named(key)?, operand(value)))).collect()
}

fn operand(value: &Value) -> Operand {
    match value.get("path").or(value.get("of")) {
        Some(_) => Operand::Reference(reference(value)),
        None => Operand::Literal(value.clone()),
    }
}

fn reference(value: &Value) -> WrittenReference {
    let text = |key: &str| value.get(key).map(|text| text.as_str().unwrap().to_owned());
    WrittenReference { of: text("of"), path: text("path"), default: value.get("default").cloned() }
}

/// A table: a comparison on one line, what is claimed about it on the next.
pub(super) fn rows<const N: usize>(table: &'static str) -> Vec<(Value, [&'static str; N])> {
    let lines: Vec<_> = table.trim().lines().collect();
    let row = |pair: &[&'static str]| {
        let columns: Vec<_> = pair[1].trim().split(" | ").collect();
        let comparison = serde_json::from_str(pair[0]).unwrap();
        (comparison, columns.try_into().unwrap())
    };
    lines.chunks(2).map(row).collect()
}

fn named(name: &str) -> Truth {
    match name {
        "Holds" => Holds,
        "Fails" => Fails,
        "Unknown" => Unknown,
        other => panic!("{other}"),
    }
}

fn names() -> Names {
    Names::new("parent", RootKind::Parent)
        .with("deployment", RootKind::Child)
        .with("service", RootKind::Child)
        .with("creds", RootKind::Input)
        .with("gone", RootKind::Input)
        .with("ns", RootKind::Item)
}

fn compile(value: &Value) -> Comparison {
    Comparison::compile(&written(value), &names())
        .unwrap_or_else(|mistakes| panic!("{value}: {mistakes:#?}"))
}

struct Objects {
    present: BTreeMap<&'static str, Value>,
    ready: Truth,
}

impl Scope for Objects {
    fn root(&self, name: &str) -> Root<'_> {
        match self.present.get(name) {
            Some(value) if name == "creds" => Root::Secret(value),
            Some(value) => Root::Present(value),
            None => Root::Unknown { why: format!("{name} does not exist yet") },
        }
    }

    fn readiness(&self, name: &str) -> Readiness {
        let reason = match self.ready {
            Truth::Holds => "",
            Truth::Fails => "1 of 3 replicas are available",
            Truth::Unknown => "it does not exist yet",
        };
        assert_ne!(name, "parent", "only what can be ready is asked");
        Readiness { truth: self.ready, reason: reason.to_owned() }
    }
}

fn objects() -> Objects {
    let parent = json!({
        "one": 1, "five": 5, "big": 9_007_199_254_740_993_i64, "half": 0.5, "zero": 0, "yes": true,
        "text": "webapp", "digits": "8080", "port": 8080, "null": null, "list": ["a", "b"], "none": [],
        "map": {"k": 1, "j": [2]}, "same": {"j": [2.0], "k": 1.0},
        "ports": [{"n": 80}, {"n": 443}, {"n": 8080}], "mixed": [{"n": 80}, {}, {"n": null}],
        "memory": "1.5Gi", "cpu": "250m", "version": "v1.10.0", "wait": "90s",
        "born": "2026-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}],
    });
    let present = [
        ("parent", parent),
        (
            "deployment",
            json!({"status": {"availableReplicas": 0, "replicas": 3}, "spec": {"memory": "1536Mi"}}),
        ),
        ("creds", json!({"data": {"password": "hunter2", "n": 3}})),
        ("ns", json!("shop")),
    ];
    Objects { present: present.into_iter().collect(), ready: Truth::Fails }
}

fn now() -> Timestamp {
    "2026-01-01T01:00:00Z".parse().unwrap()
}

fn verdict(value: &Value) -> Verdict {
    compile(value).evaluate(&objects(), now())
}

/// `{path, …rest}` on the parent.
fn at(path: &str, rest: &Value) -> Value {
    let mut value = rest.clone();
    value["path"] = json!(path);
    value
}

use Truth::{Fails, Holds, Unknown};

const OPERATORS: &str = r#"
{"equals": 5}
    $.five | $.one | Fails
{"equals": "webapp"}
    $.text | $.digits | Fails
{"equals": ["a", "b"]}
    $.list | $.none | Fails
{"equals": {"path": "$.five"}}
    $.five | $.one | Fails
{"notEquals": 5}
    $.one | $.five | Holds
{"notEquals": {"path": "$.five"}}
    $.one | $.five | Holds
{"in": [4, 5]}
    $.five | $.one | Fails
{"in": {"path": "$.list"}}
    $.list[1] | $.text | Fails
{"in": {"path": "$.ports[*].n"}}
    $.port | $.one | Fails
{"notIn": [4, 5]}
    $.one | $.five | Holds
{"notIn": {"path": "$.list"}}
    $.text | $.list[0] | Holds
{"exists": true}
    $.zero | $.nothing | Fails
{"atLeast": 5}
    $.five | $.one | Fails
{"atMost": 1}
    $.one | $.five | Fails
{"moreThan": 4}
    $.five | $.one | Fails
{"lessThan": 5}
    $.one | $.five | Fails
{"lessThan": {"path": "$.five"}}
    $.half | $.five | Fails
{"contains": "app"}
    $.text | $.digits | Fails
{"contains": "a"}
    $.list | $.none | Fails
{"contains": "k"}
    $.map | $.map.j | Fails
{"matches": "^web"}
    $.text | $.digits | Fails
{"as": "quantity", "equals": "1536Mi"}
    $.memory | $.cpu | Fails
{"as": "semver", "atLeast": "1.9.0"}
    $.version | $.text | Fails
{"as": "time", "atMost": "2026-01-01T00:00:00+00:00"}
    $.born | $.text | Fails
{"as": "duration", "moreThan": "1m"}
    $.wait | $.text | Fails
{"as": "age", "atLeast": "1h"}
    $.born | $.wait | Fails
"#;

#[test]
fn every_operator_answers_match_mismatch_missing_null_and_the_unknown() {
    for (operator, [matching, mismatching, null]) in rows(OPERATORS) {
        let null = named(null);
        let truth = |path: &str| verdict(&at(path, &operator)).truth;
        assert_eq!(truth(matching), Holds, "{operator} {matching}");
        assert_eq!(truth(mismatching), Fails, "{operator} {mismatching}");
        assert_eq!(truth("$.null"), null, "{operator}");
        for missing in
            ["$.nothing", "$.nothing.deep", "$.list[9]", "$.conditions[?@.type == 'X'].status"]
        {
            assert_eq!(truth(missing), Fails, "{operator} {missing}");
        }
        let mut unknown = at("$.x", &operator);
        unknown["of"] = json!("service");
        assert_eq!(verdict(&unknown).truth, Unknown, "{operator}");
        let denied = |path: &str| verdict(&json!({"not": at(path, &operator)})).truth;
        assert_eq!((denied(matching), denied(mismatching)), (Fails, Holds), "not {operator}");
        assert_eq!(verdict(&json!({"not": unknown})).truth, Unknown, "not {operator}");
    }
}

#[test]
fn every_value_must_pass_and_with_some_one_is_enough() {
    for (operator, [all_pass, some_pass, none_pass]) in rows(
        r#"
{"atLeast": 80}
    $.ports[*].n | $.mixed[*].n | $.list[*]
{"in": ["a", "b"]}
    $.list[*] | $['list','ports'][*] | $.ports[*].n
{"notEquals": 1}
    $.ports[*].n | $['one','five'] | $.mixed[1:2].n
{"equals": "True"}
    $.conditions[?@.type == 'Ready'].status | $.conditions[0].* | $.list[*]
{"matches": "^.$"}
    $.list[*] | $['list','ports'][*] | $.ports[*].n
{"contains": "n"}
    $.ports[*] | $.mixed[*] | $['list','text']
{"exists": true}
    $.ports[*].n | $.mixed[*].n | $.ports[*].x
{"exists": false}
    $.ports[*].x | $.mixed[*].n | $.ports[*].n
{"as": "quantity", "moreThan": "0"}
    $['cpu','memory'] | $['cpu','text'] | $['text','yes']
"#,
    ) {
        let truth = |path: &str, some: bool| {
            let mut value = at(path, &operator);
            value["some"] = json!(some);
            verdict(&value).truth
        };
        let both = |path: &str| (truth(path, false), truth(path, true));
        assert_eq!(both(all_pass), (Holds, Holds), "{operator} {all_pass}");
        assert_eq!(both(some_pass), (Fails, Holds), "{operator} {some_pass}");
        assert_eq!(both(none_pass), (Fails, Fails), "{operator} {none_pass}");
    }
}

#[test]
fn over_nothing_every_value_passes_and_no_value_does() {
    for path in [
        "$.none[*]",
        "$.none[*].n",
        "$.null[*]",
        "$.nothing[*]",
        "$.list[5:]",
        "$..nothing",
        "$.one[*]",
    ] {
        for operator in [
            json!({"equals": 5}),
            json!({"notEquals": 5}),
            json!({"in": [5]}),
            json!({"notIn": [5]}),
            json!({"atLeast": 5}),
            json!({"atMost": 5}),
            json!({"moreThan": 5}),
            json!({"lessThan": 5}),
            json!({"contains": "x"}),
            json!({"matches": "x"}),
            json!({"as": "age", "atLeast": "1h"}),
            json!({"exists": false}),
        ] {
            let some = |some: bool| {
                let mut value = at(path, &operator);
                value["some"] = json!(some);
                verdict(&value).truth
            };
            assert_eq!((some(false), some(true)), (Holds, Fails), "{path} {operator}");
        }
        assert_eq!(verdict(&at(path, &json!({"exists": true}))).truth, Fails, "{path}");
        assert_eq!(
            verdict(&at(path, &json!({"exists": true, "some": true}))).truth,
            Fails,
            "{path}"
        );
        assert_eq!(verdict(&at(path, &json!({"count": {"equals": 0}}))).truth, Holds, "{path}");
    }
}

#[test]
fn a_default_takes_the_place_of_what_is_missing_but_not_of_null() {
    let truth = |value: Value| verdict(&value).truth;
    assert_eq!(truth(json!({"path": "$.nothing", "default": 0, "atLeast": 1})), Fails);
    assert_eq!(truth(json!({"path": "$.nothing", "default": 1, "atLeast": 1})), Holds);
    assert_eq!(truth(json!({"path": "$.null", "default": 1, "atLeast": 1})), Fails);
    assert_eq!(truth(json!({"path": "$.one", "default": 5, "equals": 1})), Holds);
    assert_eq!(truth(json!({"path": "$.mixed[0:2].n", "default": 90, "atLeast": 80})), Holds);
    assert_eq!(
        truth(
            json!({"path": "$.conditions[?@.type == 'X'].status", "default": "?", "equals": "?"})
        ),
        Holds
    );
    assert_eq!(
        truth(json!({"path": "$.nothing[*]", "default": 1, "equals": 2})),
        Holds,
        "nothing is missing"
    );
    assert_eq!(truth(json!({"of": "service", "path": "$.x", "default": 1, "equals": 1})), Unknown);
    assert_eq!(
        truth(json!({"path": "$.one", "equals": {"path": "$.nothing", "default": 1}})),
        Holds
    );
    assert_eq!(truth(json!({"path": "$.one", "in": {"path": "$.nothing", "default": [1]}})), Holds);
}

#[test]
fn counts_count_what_is_there() {
    let truth = |path: &str, count: Value| verdict(&json!({"path": path, "count": count})).truth;
    assert_eq!(truth("$.ports[*]", json!({"equals": 3})), Holds);
    assert_eq!(truth("$.ports[?@.n > 100]", json!({"atLeast": 2})), Holds);
    assert_eq!(truth("$.mixed[*].n", json!({"equals": 2})), Holds, "null is there, missing is not");
    assert_eq!(truth("$.nothing", json!({"equals": 0})), Holds);
    assert_eq!(truth("$.list", json!({"equals": 1})), Holds, "the list itself is one value");
    assert_eq!(truth("$.ports[*]", json!({"in": [1, 2]})), Fails);
    assert_eq!(truth("$.ports[*]", json!({"lessThan": {"path": "$.five"}})), Holds);
    assert_eq!(
        truth("$.ports[*]", json!({"equals": {"of": "deployment", "path": "$.status.replicas"}})),
        Holds
    );
    let unknown = json!({"of": "service", "path": "$.ports[*]", "count": {"equals": 0}});
    assert_eq!(verdict(&unknown).truth, Unknown);
}

#[test]
fn readiness_has_three_values() {
    for (ready, wanted, truth, sentence) in [
        (Holds, true, Holds, "deployment is ready"),
        (Holds, false, Fails, "deployment is ready, should not be"),
        (Fails, true, Fails, "deployment is not ready: 1 of 3 replicas are available"),
        (Fails, false, Holds, "deployment is not ready: 1 of 3 replicas are available"),
        (Unknown, true, Unknown, "deployment is not known to be ready: it does not exist yet"),
        (Unknown, false, Unknown, "deployment is not known to be ready: it does not exist yet"),
    ] {
        let scope = Objects { ready, ..objects() };
        let fails = (truth == Fails).then(|| "deployment".to_owned());
        let failing = fails.into_iter().collect();
        let expected = Verdict { failing, ..Verdict::new(truth, sentence) };
        let comparison = json!({"of": "deployment", "ready": wanted});
        assert_eq!(compile(&comparison).evaluate(&scope, now()), expected);
        let denied = json!({"not": {"of": "deployment", "ready": !wanted}});
        assert_eq!(compile(&denied).evaluate(&scope, now()), expected);
    }
}

#[test]
fn a_right_side_that_cannot_be_compared_with_fails_and_says_why() {
    for (value, [truth, sentence]) in rows(
        r#"
{"path": "$.one", "equals": {"path": "$.nothing"}}
    Fails | parent $.nothing is missing, and parent $.one is compared with it
{"not": {"path": "$.one", "equals": {"path": "$.nothing"}}}
    Holds | parent $.nothing is missing, and parent $.one is compared with it
{"path": "$.one", "notEquals": {"of": "gone", "path": "$.x"}}
    Unknown | gone does not exist yet
{"path": "$.one", "in": {"path": "$.text"}}
    Fails | parent $.text is "webapp", which is not a list, and parent $.one is compared with it
{"path": "$.one", "atLeast": {"path": "$.digits"}}
    Fails | parent $.digits is "8080", which is not a number, and parent $.one is compared with it
{"path": "$.cpu", "as": "quantity", "lessThan": {"path": "$.text"}}
    Fails | parent $.text is "webapp", which is not a quantity, and parent $.cpu is compared with it
{"path": "$.cpu", "as": "quantity", "lessThan": {"of": "creds", "path": "$.data.password"}}
    Fails | creds $.data.password is a value of 7 characters, which is not a quantity, and parent $.cpu is compared with it
"#,
    ) {
        let found = verdict(&value);
        assert_eq!((found.truth, found.sentence.as_str()), (named(truth), sentence), "{value}");
    }
}

#[test]
fn numbers_are_exact_and_text_is_no_number() {
    let truth = |value: Value| verdict(&value).truth;
    assert_eq!(truth(json!({"path": "$.one", "equals": 1.0})), Holds);
    assert_eq!(truth(json!({"path": "$.big", "equals": 9_007_199_254_740_992_i64})), Fails);
    assert_eq!(truth(json!({"path": "$.big", "moreThan": 9_007_199_254_740_992_i64})), Holds);
    assert_eq!(truth(json!({"path": "$.big", "moreThan": 9_007_199_254_740_992.0})), Holds);
    assert_eq!(truth(json!({"path": "$.digits", "equals": 8080})), Fails);
    assert_eq!(truth(json!({"path": "$.digits", "notEquals": 8080})), Holds);
    assert_eq!(truth(json!({"path": "$.digits", "atLeast": 1})), Fails);
    assert_eq!(truth(json!({"path": "$.yes", "equals": "true"})), Fails);
    assert_eq!(truth(json!({"path": "$.map", "equals": {"path": "$.same"}})), Holds);
    assert_eq!(
        truth(json!({"path": "$.memory", "equals": {"of": "deployment", "path": "$.spec.memory"}})),
        Fails
    );
    assert_eq!(
        truth(
            json!({"path": "$.memory", "as": "quantity", "equals": {"of": "deployment", "path": "$.spec.memory"}})
        ),
        Holds
    );
}

const SENTENCES: &str = r#"
{"of": "deployment", "path": "$.status.availableReplicas", "atLeast": 1}
    deployment $.status.availableReplicas is 0, should be at least 1
{"of": "deployment", "path": "$.status.readyReplicas", "default": 0, "atLeast": 1}
    deployment $.status.readyReplicas is 0 by default, should be at least 1
{"of": "deployment", "path": "$.status.replicas", "atLeast": 1}
    deployment $.status.replicas is 3, which is at least 1
{"of": "deployment", "path": "$.status.replicas", "equals": {"path": "$.five"}}
    deployment $.status.replicas is 3, should be 5 (parent $.five)
{"path": "$.five", "equals": 5}
    parent $.five is 5
{"path": "$.five", "notEquals": 5}
    parent $.five is 5, should not be 5
{"path": "$.five", "notEquals": 4}
    parent $.five is 5, which is not 4
{"not": {"path": "$.five", "equals": 5}}
    parent $.five is 5, should not be 5
{"not": {"path": "$.five", "notEquals": 5}}
    parent $.five is 5
{"not": {"path": "$.five", "atLeast": 9}}
    parent $.five is 5, which is not at least 9
{"path": "$.digits", "equals": 8080}
    parent $.digits is "8080" (text), should be 8080 (number)
{"path": "$.yes", "equals": "true"}
    parent $.yes is true (boolean), should be "true" (text)
{"path": "$.digits", "atLeast": 1}
    parent $.digits is "8080" (text), which is not a number, should be at least 1 (number)
{"path": "$.nothing", "equals": 1}
    parent $.nothing is missing, should be 1
{"not": {"path": "$.nothing", "equals": 1}}
    parent $.nothing is missing
{"path": "$.null", "moreThan": 1}
    parent $.null is null, which is not a number, should be more than 1
{"path": "$.five", "in": [1, "x"]}
    parent $.five is 5, should be one of 1, "x"
{"path": "$.five", "notIn": [5]}
    parent $.five is 5, should not be one of 5
{"path": "$.five", "in": {"path": "$.none"}}
    parent $.five is 5, should be one of an empty list (parent $.none)
{"path": "$.five", "in": [1, 2, 3, 4, 6, 7, 8]}
    parent $.five is 5, should be one of 1, 2, 3, 4, 6, 2 more
{"path": "$.text", "contains": "x"}
    parent $.text is "webapp", should contain "x"
{"path": "$.text", "contains": "app"}
    parent $.text is "webapp", which contains "app"
{"path": "$.one", "contains": "app"}
    parent $.one is 1 (number), which is not text, a list or a map, should contain "app" (text)
{"path": "$.text", "matches": "^x"}
    parent $.text is "webapp", should match "^x"
{"not": {"path": "$.text", "matches": "^w"}}
    parent $.text is "webapp", should not match "^w"
{"path": "$.nothing", "exists": true}
    parent $.nothing is missing, should exist
{"path": "$.null", "exists": true}
    parent $.null is null, should exist
{"path": "$.one", "exists": true}
    parent $.one exists
{"path": "$.one", "exists": false}
    parent $.one exists, should not
{"path": "$.null", "exists": false}
    parent $.null is null
{"not": {"path": "$.one", "exists": true}}
    parent $.one exists, should not
{"path": "$.cpu", "as": "quantity", "atLeast": "1"}
    parent $.cpu is "250m", should be at least "1"
{"path": "$.text", "as": "semver", "atLeast": "1.0.0"}
    parent $.text is "webapp", which is not a semantic version, should be at least "1.0.0"
{"of": "ns", "path": "$", "equals": "x"}
    ns is "shop", should be "x"
{"path": "$.ports[*].n", "atLeast": 100}
    parent $.ports[0].n is 80, should be at least 100
{"path": "$.mixed[*].n", "atLeast": 80}
    parent $.mixed[1].n is missing, should be at least 80
{"path": "$.ports[*].n", "atLeast": 1}
    every parent $.ports[*].n is at least 1
{"not": {"path": "$.ports[*].n", "atLeast": 1}}
    every parent $.ports[*].n is at least 1, one should not
{"not": {"path": "$.ports[*].n", "atLeast": 100}}
    parent $.ports[0].n is 80, which is not at least 100
{"path": "$.ports[*].n", "some": true, "atLeast": 9000}
    no parent $.ports[*].n is at least 9000, one should
{"path": "$.ports[*].n", "some": true, "moreThan": 100}
    parent $.ports[1].n is 443, which is more than 100
{"path": "$.none[*]", "atLeast": 1}
    there is no parent $.none[*], so each is at least 1
{"path": "$.none[*]", "some": true, "atLeast": 1}
    no parent $.none[*] is at least 1, one should
{"path": "$.none[*]", "exists": true}
    there is no parent $.none[*], should be
{"path": "$.none[*]", "exists": false}
    there is no parent $.none[*]
{"path": "$.ports[*].n", "exists": true}
    every parent $.ports[*].n exists
{"path": "$.ports[*].x", "exists": false}
    every parent $.ports[*].x is missing
{"path": "$.ports[*].x", "some": true, "exists": true}
    no parent $.ports[*].x exists, one should
{"path": "$.conditions[?@.type == 'X'].status", "equals": "True"}
    parent $.conditions[?].status is missing, should be "True"
{"path": "$.ports[*]", "count": {"atLeast": 4}}
    the number of parent $.ports[*] is 3, should be at least 4
{"path": "$.ports[*]", "count": {"equals": 3}}
    the number of parent $.ports[*] is 3
{"of": "service", "path": "$.x", "exists": true}
    service does not exist yet
{"allOf": [{"path": "$.one", "equals": 2}, {"path": "$.five", "equals": 5}, {"path": "$.zero", "atLeast": 1}]}
    parent $.one is 1, should be 2; parent $.zero is 0, should be at least 1
{"not": {"allOf": [{"path": "$.one", "equals": 1}, {"path": "$.five", "equals": 5}]}}
    none holds: parent $.one is 1, should not be 1; parent $.five is 5, should not be 5
{"anyOf": [{"path": "$.one", "equals": 2}, {"path": "$.five", "equals": 5}]}
    parent $.five is 5
"#;

#[test]
fn sentences_say_what_was_found_and_what_was_wanted() {
    for (value, [sentence]) in rows(SENTENCES) {
        assert_eq!(verdict(&value).sentence, sentence, "{value}");
    }
}

#[test]
fn secret_values_appear_in_no_sentence() {
    for (rest, [sentence]) in rows(
        r#"
{"equals": "hunter2"}
    creds $.data.password is a value of 7 characters
{"equals": "x"}
    creds $.data.password is a value of 7 characters, should be the value in the rule
{"notEquals": "hunter2"}
    creds $.data.password is a value of 7 characters, should not be the value in the rule
{"in": ["hunter2"]}
    creds $.data.password is a value of 7 characters, which is one of the value in the rule
{"contains": "hunt"}
    creds $.data.password is a value of 7 characters, which contains the value in the rule
{"matches": "hunter2"}
    creds $.data.password is a value of 7 characters, which matches the pattern in the rule
{"exists": true}
    creds $.data.password exists
{"equals": {"path": "$.text"}}
    creds $.data.password is a value of 7 characters, should be the value of parent $.text
{"equals": 8080}
    creds $.data.password is a value of 7 characters, should be the value in the rule
{"as": "semver", "atLeast": "1.0.0"}
    creds $.data.password is a value of 7 characters, which is not a semantic version, should be at least "1.0.0"
"#,
    ) {
        let mut value = at("$.data.password", &rest);
        value["of"] = json!("creds");
        assert_eq!(verdict(&value).sentence, sentence, "{value}");
        for value in [value.clone(), json!({"not": value})] {
            assert!(!verdict(&value).sentence.contains("hunter2"), "{value}");
        }
    }
    let same = json!({"path": "$.text", "equals": {"of": "creds", "path": "$.data.password"}});
    assert_eq!(
        verdict(&same).sentence,
        "parent $.text is a value of 6 characters, should be a value of 7 characters (creds $.data.password)"
    );
    let number = json!({"of": "creds", "path": "$.data.n", "atLeast": 5});
    assert_eq!(verdict(&number).sentence, "creds $.data.n is a hidden value, should be at least 5");
}

#[test]
fn an_age_tells_when_it_turns_over_and_no_time_that_moves() {
    // Born one hour before now.
    for (operator, [truth_then, flips, sentence]) in rows(
        r#"
{"atLeast": "1h"}
    Holds | never | parent $.born is at least 1h ago
{"atLeast": "2h"}
    Fails | 2026-01-01T02:00:00Z | parent $.born is less than 2h ago, should be at least 2h ago
{"moreThan": "30m"}
    Holds | never | parent $.born is more than 30m ago
{"moreThan": "1h"}
    Fails | 2026-01-01T01:00:00.000000001Z | parent $.born is at most 1h ago, should be more than 1h ago
{"atMost": "1h"}
    Holds | 2026-01-01T01:00:00.000000001Z | parent $.born is at most 1h ago
{"atMost": "2h"}
    Holds | 2026-01-01T02:00:00.000000001Z | parent $.born is at most 2h ago
{"atMost": "1m"}
    Fails | never | parent $.born is more than 1m ago, should be at most 1m ago
{"lessThan": "2h"}
    Holds | 2026-01-01T02:00:00Z | parent $.born is less than 2h ago
{"lessThan": "1h"}
    Fails | never | parent $.born is at least 1h ago, should be less than 1h ago
{"atLeast": "-1h"}
    Holds | never | parent $.born is at least -1h ago
"#,
    ) {
        let mut value = at("$.born", &operator);
        value["as"] = json!("age");
        let truth = named(truth_then);
        let look_again: Option<Timestamp> = flips.parse().ok();
        assert_eq!(look_again.is_none(), flips == "never");
        let fails = (truth == Fails).then(|| "parent $.born".to_owned());
        let failing = fails.into_iter().collect();
        let expected = Verdict { look_again, failing, ..Verdict::new(truth, sentence) };
        assert_eq!(verdict(&value), expected, "{value}");
        let at_time = |time: Timestamp| compile(&value).evaluate(&objects(), time).truth;
        if let Some(time) = look_again {
            let just_before = Timestamp::from_nanosecond(time.as_nanosecond() - 1).unwrap();
            assert_eq!((at_time(just_before), at_time(time)), (truth, !truth), "{value}");
        }
    }
}

#[test]
fn the_time_to_look_again_passes_through_combinations() {
    let in_an_hour = "2026-01-01T02:00:00Z".parse::<Timestamp>().ok();
    let many = json!({"allOf": [
        {"path": "$.born", "as": "age", "lessThan": "3h"},
        {"path": "$.born", "as": "age", "lessThan": "2h"},
        {"path": "$.born", "as": "time", "atLeast": "2025-01-01T00:00:00Z"},
    ]});
    assert_eq!(verdict(&many).look_again, in_an_hour);
    let denied = json!({"not": {"path": "$.born", "as": "age", "lessThan": "2h"}});
    let sentence = "parent $.born is less than 2h ago, should not be less than 2h ago";
    let failing = ["parent $.born".to_owned()].into();
    let expected = Verdict { look_again: in_an_hour, failing, ..Verdict::new(Fails, sentence) };
    assert_eq!(verdict(&denied), expected);
    let far = json!({
        "path": "$.far", "default": "9999-12-30T22:00:00Z", "as": "age", "atLeast": "2000000h"
    });
    assert_eq!(verdict(&far).look_again, None, "beyond what a time can be");
}

#[test]
fn ages_of_a_future_time_are_negative() {
    let value =
        json!({"path": "$.x", "default": "2026-01-01T03:00:00Z", "as": "age", "atLeast": "0"});
    let found = verdict(&value);
    assert_eq!(found.truth, Fails);
    assert_eq!(found.look_again, "2026-01-01T03:00:00Z".parse().ok());
}

#[test]
fn a_list_of_comparisons_holds_if_all_do() {
    let list = [json!({"path": "$.one", "equals": 1}), json!({"path": "$.five", "equals": 5})];
    let list: Vec<_> = list.iter().map(written).collect();
    let compiled = Comparison::compile_all(&list, &names()).unwrap();
    let verdict = Comparison::evaluate_all(&compiled, &objects(), now());
    assert_eq!(verdict, Verdict::new(Holds, "parent $.one is 1; parent $.five is 5"));
    assert_eq!(Comparison::evaluate_all(&[], &objects(), now()), Verdict::new(Holds, ""));
}

#[test]
fn a_comparison_names_what_it_reads() {
    let comparison = compile(&json!({"allOf": [
        {"of": "deployment", "path": "$.a", "equals": {"path": "$.b"}},
        {"of": "deployment", "path": "$.a", "exists": true},
        {"not": {"of": "deployment", "path": "$.c[*]", "count": {"atMost": {"of": "creds", "path": "$.n"}}}},
        {"anyOf": [{"of": "service", "ready": true}]},
    ]}));
    assert_eq!(
        comparison.roots().collect::<Vec<_>>(),
        ["creds", "deployment", "parent", "service"]
    );
    assert_eq!(comparison.ready_roots().collect::<Vec<_>>(), ["service"]);
    let paths: Vec<_> = comparison
        .paths_by_root()
        .into_iter()
        .map(|(root, paths)| (root, paths.into_iter().map(Path::as_str).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        paths,
        [("creds", vec!["$.n"]), ("deployment", vec!["$.a", "$.c[*]"]), ("parent", vec!["$.b"])]
    );
}

#[test]
fn a_reference_alone_tells_values_missing_ones_and_the_unknown() {
    let scope = objects();
    let find = |value: Value| {
        let reference = Reference::compile(&reference(&value), &names()).unwrap();
        match reference.find(&scope) {
            Found::Unknown(why) => json!(why),
            Found::Values(values) => {
                json!(values.leaves.iter().map(|leaf| leaf.value().cloned()).collect::<Vec<_>>())
            }
        }
    };
    assert_eq!(find(json!({"path": "$.list"})), json!([["a", "b"]]));
    assert_eq!(find(json!({"path": "$.list[*]"})), json!(["a", "b"]));
    assert_eq!(find(json!({"path": "$.nothing"})), json!([null]));
    assert_eq!(find(json!({"path": "$.nothing", "default": []})), json!([[]]));
    assert_eq!(find(json!({"of": "gone", "path": "$.x"})), json!("gone does not exist yet"));
}

/// Comparisons over the objects above, of all three values.
fn comparison() -> impl Strategy<Value = Value> {
    let leaf = proptest::sample::select(vec![
        json!({"path": "$.one", "equals": 1}),
        json!({"path": "$.one", "equals": 2}),
        json!({"path": "$.nothing", "notEquals": 2}),
        json!({"path": "$.ports[*].n", "atLeast": 100}),
        json!({"path": "$.ports[*].n", "atLeast": 100, "some": true}),
        json!({"path": "$.none[*]", "exists": true}),
        json!({"path": "$.born", "as": "age", "lessThan": "2h"}),
        json!({"path": "$.text", "as": "quantity", "lessThan": "2"}),
        json!({"of": "service", "path": "$.x", "exists": true}),
        json!({"of": "deployment", "ready": true}),
        json!({"path": "$.ports[*]", "count": {"in": [1, 3]}}),
    ]);
    leaf.prop_recursive(4, 20, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| json!({"allOf": parts})),
            proptest::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| json!({"anyOf": parts})),
            inner.prop_map(|part| json!({"not": part})),
        ]
    })
}

proptest! {
    #[test]
    fn not_not_is_nothing_at_all(value in comparison()) {
        prop_assert_eq!(verdict(&json!({"not": {"not": value}})), verdict(&value));
    }

    #[test]
    fn not_turns_the_truth_and_keeps_the_time(value in comparison()) {
        let (plain, denied) = (verdict(&value), verdict(&json!({"not": value})));
        prop_assert_eq!(denied.truth, !plain.truth);
        prop_assert_eq!(denied.look_again, plain.look_again);
    }

    #[test]
    fn the_laws_of_de_morgan_hold_in_three_values(parts in proptest::collection::vec(comparison(), 1..4)) {
        let denied: Vec<_> = parts.iter().map(|part| json!({"not": part})).collect();
        prop_assert_eq!(verdict(&json!({"not": {"allOf": parts}})), verdict(&json!({"anyOf": denied})));
        prop_assert_eq!(verdict(&json!({"not": {"anyOf": parts}})), verdict(&json!({"allOf": denied})));
    }

    #[test]
    fn sentences_are_one_bounded_line(value in comparison(), text in any::<String>()) {
        let sentence = verdict(&value).sentence;
        prop_assert!(!sentence.is_empty() && !sentence.contains('\n') && sentence.len() < 10_000);
        let mut scope = objects();
        scope.present.insert("ns", json!({"x": text}));
        let sentence = compile(&json!({"of": "ns", "path": "$.x", "equals": "y"})).evaluate(&scope, now()).sentence;
        prop_assert!(sentence.chars().count() < 150 && !sentence.contains(char::is_control), "{}", sentence);
    }
}
