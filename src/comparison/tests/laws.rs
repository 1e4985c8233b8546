//! Lists of comparisons, what they read, and the laws that hold for all of them.

use super::*;

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
