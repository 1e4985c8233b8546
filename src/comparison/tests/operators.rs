//! What each operator answers, over one value, several, none, and what is missing or unknown.

use super::*;

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
