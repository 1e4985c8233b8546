//! Claims about paths as a whole; the parts have theirs beside them.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Message and hint of a refused text.
fn refusal(text: &str) -> (String, Option<String>) {
    let error = Path::parse(text).expect_err(text);
    assert!(error.offset <= text.len() && text.is_char_boundary(error.offset), "{text}: {error:?}");
    assert!(error.message.len() < 120 && !error.message.contains('\n'), "{error:?}");
    (error.message, error.hint)
}

#[test]
fn forms_of_other_tools_are_refused_with_the_corrected_path() {
    for (wrong, right) in [
        (".spec.replicas", "$.spec.replicas"),
        ("spec.replicas", "$.spec.replicas"),
        ("{.spec.replicas}", "$.spec.replicas"),
        ("{ .spec.replicas }", "$.spec.replicas"),
        ("{$.spec.replicas}", "$.spec.replicas"),
        ("'{.spec.replicas}'", "$.spec.replicas"),
        ("\"$.spec.replicas\"", "$.spec.replicas"),
        (" $.spec.replicas", "$.spec.replicas"),
        ("$.spec.replicas\n", "$.spec.replicas"),
        ("{{ parent.spec.replicas }}", "$.spec.replicas"),
        ("parent.spec.replicas", "$.spec.replicas"),
        ("@.spec.replicas", "$.spec.replicas"),
        ("$spec.replicas", "$.spec.replicas"),
        ("$.spec.replicas.", "$.spec.replicas"),
        ("/spec/replicas", "$.spec.replicas"),
        ("/metadata/annotations/a.b~1c", "$.metadata.annotations['a.b/c']"),
        ("/spec/ports/0/port", "$.spec.ports[0].port"),
        ("{.items[0].metadata.name}", "$.items[0].metadata.name"),
        ("items.[0].name", "$.items[0].name"),
        ("$.items.0.name", "$.items[0].name"),
        ("{.items[*].name}", "$.items[*].name"),
        ("items.*.name", "$.items[*].name"),
        ("{..name}", "$..name"),
        ("..*", "$..*"),
        ("$.spec.node-name", "$.spec['node-name']"),
        ("$.spec[nodeName]", "$.spec.nodeName"),
        ("$.spec[node-name]", "$.spec['node-name']"),
        (
            "{.metadata.labels.app\\.kubernetes\\.io/name}",
            "$.metadata.labels['app.kubernetes.io/name']",
        ),
        ("$.metadata.annotations.example.com/a.b", "$.metadata.annotations['example.com/a.b']"),
        (
            "$.metadata.labels[app\\.kubernetes\\.io/name]",
            "$.metadata.labels['app.kubernetes.io/name']",
        ),
        ("$.data.tls\\.crt", "$.data['tls.crt']"),
        ("{.items[?(@.name=='x')].port}", "$.items[?(@.name=='x')].port"),
        ("$.items[?(@.name=\"x\")].port", "$.items[?(@.name==\"x\")].port"),
        ("$.items[@.name==\"x\"]", "$.items[?@.name==\"x\"]"),
        ("$.items[(@.length-1)]", "$.items[-1]"),
        ("a['b c'].d", "$.a['b c'].d"),
    ] {
        let (message, hint) = refusal(wrong);
        let expected = Some(format!("write `{right}`"));
        assert_eq!(hint, expected, "{wrong}: {message}");
        path(right);
    }
}

#[test]
fn a_refusal_says_in_our_words_what_is_wrong_and_where() {
    for (text, message, offset) in [
        ("", "the path is empty", 0),
        ("  ", "the path is empty", 2),
        (".a", "a path starts with `$`", 0),
        ("a.b", "a path starts with `$`", 0),
        ("{.a}", "braces belong to kubectl", 0),
        ("{.a}{.b}", "one path is needed, this looks like several", 0),
        ("{range .items[*]}{.name}{end}", "a path has no `range`", 0),
        ("/a/b", "this is a JSON Pointer, not a JSONPath", 0),
        ("{{ a }}", "a path is not a template", 0),
        ("$.a ", "white space around the path", 3),
        ("$.a-b", "`-` cannot stand here", 3),
        ("$.é-b", "`-` cannot stand here", 4),
        ("$.a[", "this bracket is never closed", 3),
        ("$.a[*].b['c", "this quote is never closed", 9),
        ("$.", "the path ends too early", 2),
        ("$.a[?@.b[?@.c]].d", "a filter inside a filter is not supported", 9),
        ("$[?@.a, ?@.b[?@.c]]", "a filter inside a filter is not supported", 13),
        ("$[?$.b[?@.c]]", "a filter inside a filter is not supported", 7),
        ("$[?length(@.a)]", "`length` gives a number, which must be compared", 3),
        ("$[?length(@.*) == 1]", "this function takes one value", 3),
        ("$[?count(1) == 1]", "this function cannot be used like this", 8),
        ("$[?match(@.a, 'x') == true]", "this function cannot be used like this", 8),
        ("$[?match(@.a, @.b)]", "the pattern must be text in quotes", 3),
        ("$[?match(@.a, '(')]", "`(` is not a regular expression", 3),
        ("$[?in(@.a, $.b)]", "there is no function `in`", 5),
        ("$[?length(value(length(length(@.a)))) == 1]", "the functions nest too deep", 29),
        ("$..a..b", "`..` may stand once in a path", 1),
        (
            "$['a','b','c','d','e']['a','b','c','d','e']['a','b','c','d','e']",
            "the path branches into more than 64",
            5,
        ),
    ] {
        let error = Path::parse(text).expect_err(text);
        assert_eq!(error.message, message, "{text}");
        assert_eq!(error.offset, offset, "{text}");
    }
}

#[test]
fn two_filters_beside_or_after_each_other_are_not_nested() {
    let value = json!({"a": [{"b": [{"c": "]?["}, {"c": 2}], "d": 1}, {"d": 2}]});
    for (text, found) in [
        ("$.a[?@.b].b[?@.c == 2].c", json!([2])),
        ("$.a[?@.d == 1, ?@.d == 2].d", json!([1, 2])),
        ("$.a[?@.b].b[?@.c == ']?['].c", json!(["]?["])),
        ("$.a[?(@['d'] == 2)].d", json!([2])),
    ] {
        assert_eq!(json!(path(text).query(&value)), found, "{text}");
    }
}

#[test]
fn hostile_texts_end_quickly_in_an_error() {
    let nested =
        |open: &str, close: &str, n: usize| format!("$[?{}@.a{}]", open.repeat(n), close.repeat(n));
    for text in [
        format!("${}", ".a".repeat(5_000)),
        "(".repeat(50_000),
        nested("(", ")", 50_000),
        nested("(", ")", 1_500),
        nested("!(", ")", 1_000),
        nested("length(", ")", 40),
        nested("match('a',", ")", 40),
        nested("@.a == length(", ")", 40),
        nested("count(@[?", "])", 40),
        nested("@[?", "]", 100),
        format!("$[?{}", "length(".repeat(100)),
        format!("$[?{}%{}]", "length(((((".repeat(3), ")))))".repeat(3)),
        format!("$[?{}%{}]", "!(!(@.a||".repeat(60), ")".repeat(120)),
        format!("$[?{}]", "length(value(count(%))) == 1 && ".repeat(100)),
        "$[".repeat(2_000),
        format!("${}", "[0".repeat(2_000)),
        format!("$['{}']", "a".repeat(1_000_000)),
        format!("${}", "..*".repeat(1_000)),
        format!("${}", "[*,*]".repeat(500)),
        format!("$[?{}]", "@.a||".repeat(700)),
        "{".repeat(4_000),
        "\\".repeat(4_000),
        ".".repeat(4_000),
        "'".repeat(4_000),
        "[".repeat(4_000),
        "é".repeat(2_000),
        "$.a\0b".to_owned(),
        "$['\\uD800']".to_owned(),
        "$[9007199254740992]".to_owned(),
        "$[::-9223372036854775808]".to_owned(),
        "$[?@.a == 1e999]".to_owned(),
    ] {
        refusal(&text);
    }
}

#[test]
fn a_long_path_over_a_deep_or_wide_value_stays_cheap() {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let long = path(&format!("$[*]{}", ".a".repeat(2_000)));
    assert_eq!(long.lookup(&deep), vec![None]);
    assert!(path(&format!("$[?@.a]{}", "[?@.a]".repeat(600))).query(&deep).is_empty());
    // A key that a parent's writer chose, in front of many elements: the text of the way is built for none of them.
    let wide = json!({"k".repeat(100_000): vec![1; 10_000]});
    assert_eq!(path("$.*[*]").query(&wide).len(), 10_000);
    let list: Vec<_> = (0..3_000).map(|n| json!({"n": n})).collect();
    let list = json!({"a": list});
    assert_eq!(path("$.a[?count($.a[*]) > @.n]").query(&list).len(), 3_000);
}

#[test]
fn names_and_indexes_from_zero_are_plain_and_negative_ones_are_still_singular() {
    let steps = |text: &str| path(text).plain_steps().map(<[Step]>::to_vec);
    assert_eq!(steps("$"), Some(vec![]));
    assert_eq!(
        steps("$.a[0]['c d'].é"),
        Some(vec!["a".into(), 0.into(), "c d".into(), "é".into()])
    );
    assert_eq!(steps("$['it\\'s']"), Some(vec!["it's".into()]));
    for (text, singular) in [
        ("$", true),
        ("$.a[0]", true),
        ("$.a[-1]", true),
        ("$.a[*]", false),
        ("$.a[0,1]", false),
        ("$.a[0:1]", false),
        ("$..a", false),
        ("$[?@.a]", false),
    ] {
        assert_eq!(path(text).is_singular(), singular, "{text}");
        assert!(steps(text).is_none() || singular, "{text}");
    }
    let value = json!([1, 2]);
    assert_eq!(path("$[-1]").query(&value), [&json!(2)]);
    assert_eq!(path("$[-3]").lookup(&value), [None]);
}

#[test]
fn a_lookup_tells_what_is_missing_from_what_is_empty() {
    let value = json!({
        "a": [{"b": 1}, {}], "empty": [], "null": null, "text": "x",
        "pods": [{"c": [{"t": "Ready", "s": 1}]}, {"c": []}, {}],
    });
    let missing = json!("missing");
    for (text, leaves) in [
        ("$.a[*].b", json!([1, missing])),
        ("$.a[*].b.c", json!([missing, missing])),
        ("$.x", json!([missing])),
        ("$.x.y.z", json!([missing])),
        ("$.x[0]", json!([missing])),
        ("$.text.x", json!([missing])),
        ("$.a.b", json!([missing])),
        ("$.null", json!([null])),
        ("$.empty", json!([[]])),
        ("$.empty[*]", json!([])),
        ("$.empty[*].b", json!([])),
        ("$.empty[0]", json!([missing])),
        ("$.empty[:1]", json!([])),
        ("$.x[*].b", json!([])),
        ("$.null[*]", json!([])),
        ("$.text[*]", json!([])),
        ("$..zzz", json!([])),
        ("$.a[0]['b','c']", json!([1, missing])),
        ("$.a[?@.b == 2].b", json!([missing])),
        ("$.x[?@.b == 2].b", json!([missing])),
        ("$.pods[*].c[?@.t == 'Ready'].s", json!([1, missing, missing])),
        ("$.pods[*].c[*].s", json!([1])),
    ] {
        let path = path(text);
        let found = path.lookup(&value);
        let shown: Vec<_> = found.iter().map(|leaf| leaf.unwrap_or(&missing)).collect();
        assert_eq!(json!(shown), leaves, "{text}");
        assert_eq!(path.query(&value), found.into_iter().flatten().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn a_leaf_is_described_by_the_way_to_it() {
    let value = json!({"a": [{"b": 1}, {"c d": [1]}], "pods": [{}, {"c": []}]});
    for (text, nth, place) in [
        ("$.a[*].b", 1, "$.a[1].b"),
        ("$.a[*]['c d'][0]", 1, "$.a[1]['c d'][0]"),
        ("$.a[*]['c d'][-1]", 0, "$.a[0]['c d'][?]"),
        ("$.pods[*].c[?@.t == 'Ready'].s", 1, "$.pods[1].c[?].s"),
        ("$.a[-1]", 0, "$.a[-1]"),
        ("$['a']", 0, "$['a']"),
        ("$.a[*].b", 9, "$.a[*].b"),
    ] {
        assert_eq!(path(text).describe(&value, nth), place, "{text}");
    }
}

#[test]
fn results_come_in_the_order_of_the_rfc() {
    let value = json!({"x": [{"a": 1, "d": 2}, {"a": 3, "d": 4}], "a": 5, "d": 6});
    for (text, found) in [
        ("$.x[*]['d','a']", json!([2, 1, 4, 3])),
        ("$..['a','d']", json!([5, 6, 1, 2, 3, 4])),
        ("$..[1,0].a", json!([3, 1])),
        ("$.x[::-1].a", json!([3, 1])),
        ("$.x[0:2,0].a", json!([1, 3, 1])),
        ("$['d','a','d']", json!([6, 5, 6])),
    ] {
        assert_eq!(json!(path(text).query(&value)), found, "{text}");
    }
}

#[test]
fn filters_compare_numbers_exactly() {
    let value = json!([{"n": 9_007_199_254_740_991_i64, "m": 9_007_199_254_740_992_i64, "tiny": 1e-20, "t": "1"}]);
    for (text, found) in [
        ("$[?@.n == @.m]", 0),
        ("$[?@.n < @.m]", 1),
        ("$[?@.tiny == 0]", 0),
        ("$[?@.tiny > 0]", 1),
        ("$[?@.n == 9007199254740991.0]", 1),
        ("$[?@.t == 1]", 0),
        ("$[?@.x == @.y]", 1),
        ("$[?@.x == null]", 0),
    ] {
        assert_eq!(path(text).query(&value).len(), found, "{text}");
    }
}

#[test]
fn paths_are_equal_if_they_are_written_the_same() {
    assert_eq!(path("$.a"), path("$.a"));
    assert_ne!(path("$.a"), path("$['a']"));
    assert_eq!(path("$['a']").to_string(), "$['a']");
    assert_eq!("$.a".parse::<Path>().unwrap().as_str(), "$.a");
}

/// Small trees over few keys, so that random paths hit.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn plain_text() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        "[abc]".prop_map(|key| format!(".{key}")),
        "[abc]".prop_map(|key| format!("['{key}']")),
        (0..4).prop_map(|index| format!("[{index}]")),
    ];
    proptest::collection::vec(step, 0..4).prop_map(|steps| format!("${}", steps.concat()))
}

fn general_text() -> impl Strategy<Value = String> {
    let operand = prop_oneof!["@(\\.[abc])?", "-?[1-3]", "'[ab]'", Just("null".to_owned())];
    let filter = prop_oneof![
        (operand.clone(), "(==|!=|<|<=|>|>=)", operand)
            .prop_map(|(left, relation, right)| format!("[?{left} {relation} {right}]")),
        "@\\.[abc]".prop_map(|test| format!("[?{test}]")),
        "@\\.[abc]".prop_map(|test| format!("[?!{test}]")),
        Just("[?count(@.*) > 1]".to_owned()),
        Just("[?length(@.a) > 0 || @.b && @.c]".to_owned()),
        Just("[?match(@.a, 'a.?')]".to_owned()),
    ];
    let step = prop_oneof![
        "\\.[abc]",
        (-3..3).prop_map(|index| format!("[{index}]")),
        Just("[*]".to_owned()),
        Just(".*".to_owned()),
        (-3..3, -3..3, -2..3).prop_map(|(start, end, step)| format!("[{start}:{end}:{step}]")),
        "\\['[abc]','[abc]'\\]",
        filter,
    ];
    let descent =
        prop_oneof![3 => Just(""), 1 => Just("..a"), 1 => Just("..*"), 1 => Just("..[0]")];
    (proptest::collection::vec(step, 1..4), descent)
        .prop_map(|(steps, descent)| format!("${descent}{}", steps.concat()))
}

proptest! {
    #[test]
    fn a_plain_path_finds_what_the_general_engine_finds(text in plain_text(), value in tree()) {
        let plain = path(&text);
        prop_assert!(plain.plain_steps().is_some());
        let model = jsonpath_rust::parser::parse_json_path(&text).unwrap();
        let program = lower::lower(&model).unwrap();
        prop_assert_eq!(plain.query(&value), collect(&program, &value, |found, _| found));
        prop_assert_eq!(plain.lookup(&value), collect(&program, &value, |found, _| Some(found)));
        prop_assert_eq!(plain.locate(&value).len(), plain.query(&value).len());
    }

    #[test]
    fn our_walk_finds_what_the_engine_of_the_parser_finds(text in general_text(), value in tree()) {
        let model = jsonpath_rust::parser::parse_json_path(&text).unwrap();
        let theirs = jsonpath_rust::query::js_path_process(&model, &value).unwrap();
        // Their order is not always that of the RFC, see the test of the order.
        let sorted = |found: Vec<&Value>| {
            let mut places: Vec<_> = found.into_iter().map(std::ptr::from_ref).collect();
            places.sort_unstable();
            places
        };
        let theirs = theirs.into_iter().map(jsonpath_rust::query::QueryRef::val).collect();
        prop_assert_eq!(sorted(path(&text).query(&value)), sorted(theirs), "{}", text);
    }

    #[test]
    fn locations_lead_back_to_the_values(text in general_text(), value in tree()) {
        let path = path(&text);
        let values = path.query(&value);
        let locations = path.locate(&value);
        prop_assert_eq!(locations.len(), values.len());
        for (location, found) in locations.iter().zip(values) {
            prop_assert!(std::ptr::eq(location.of(&value).unwrap(), found));
            prop_assert_eq!(Path::parse(&location.to_string()).unwrap().query(&value), vec![found]);
        }
    }

    #[test]
    fn no_text_breaks_the_parser_or_its_hints(text in "\\PC{0,40}|[$.\\[\\]{}'\"?@*/\\\\a0 =-]{0,30}") {
        if let Err(error) = Path::parse(&text) {
            prop_assert!(text.is_char_boundary(error.offset), "{:?}", error);
        }
    }
}
