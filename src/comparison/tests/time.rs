//! When a verdict changes by time alone.

use super::*;

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
fn a_clock_that_jumps_changes_the_answer_and_never_asks_for_the_past() {
    let old = compile(&json!({"path": "$.born", "as": "age", "atLeast": "2h"}));
    let turns: Timestamp = "2026-01-01T02:00:00Z".parse().unwrap();
    // Forward by a day, back to before the birth, and to where it was.
    for (now, truth) in [
        ("2026-01-01T01:00:00Z", Fails),
        ("2026-01-02T01:00:00Z", Holds),
        ("2025-12-31T00:00:00Z", Fails),
        ("2026-01-01T02:00:00Z", Holds),
        ("2026-01-01T01:59:59Z", Fails),
    ] {
        let now: Timestamp = now.parse().unwrap();
        let verdict = old.evaluate(&objects(), now);
        assert_eq!((verdict.truth, verdict.look_again), (truth, (now < turns).then_some(turns)));
        assert!(verdict.look_again.is_none_or(|at| at > now), "no circle without a pause");
    }
}
