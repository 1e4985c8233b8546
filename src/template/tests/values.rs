//! What goes in comes out: the same value, of the same type, whatever it looks like.

use super::hostile::hostile_texts;
use super::*;
use proptest::prelude::*;

#[test]
fn keys_are_the_text_of_texts_numbers_and_booleans() {
    for v in hostile_texts() {
        let text = "{{ v }}: 1\n'q{{ v }}': 2\nflow: { {{ v }}: 3}\n";
        let mut expected = json!({ "flow": {} });
        expected[&v] = json!(1);
        expected[&format!("q{v}")] = json!(2);
        expected["flow"][&v] = json!(3);
        // A long key is only too long for YAML when it stands in the text.
        assert_eq!(body_with(&json!(v), text), expected);
    }
    assert_eq!(body_with(&json!(8080), "{{ v }}: a"), json!({"8080": "a"}));
    assert_eq!(body_with(&json!(true), "{{ v }}: a"), json!({"true": "a"}));
    for v in [json!(null), json!([]), json!({})] {
        let failure = Case::new(&json!({ "v": v })).body("{{ v }}: a").unwrap_err();
        assert_eq!(told(&failure), "body:1:4: a key must be a text, a number or a boolean");
    }
    let failure = Case::new(&json!({"v": "a"})).body("a: 1\nb: 2\n{{ v }}: 3\n").unwrap_err();
    assert_eq!(told(&failure), "body:3:4: the key `a` appears twice");
}

#[test]
fn maps_are_merged_and_own_keys_win() {
    let v = json!({"a": 1, "b": {"c": "no"}, "<<": "x"});
    assert_eq!(
        body_with(&v, "a: own\n<<: {{ v }}\n"),
        json!({"a": "own", "b": {"c": "no"}, "<<": "x"})
    );
    assert_eq!(
        body_with(&v, "m: {<<: [{{ v }}, {a: 2, d: 3}], e: 4}\n"),
        json!({"m": {"a": 1, "b": {"c": "no"}, "<<": "x", "d": 3, "e": 4}})
    );
    assert_eq!(
        body_with(&json!([{"a": 1}, {"a": 2, "b": 3}]), "<<: {{ v }}\n"),
        json!({"a": 1, "b": 3})
    );
    assert_eq!(body_with(&json!(null), "a: 1\n<<: {{ v if v }}\n"), json!({"a": 1}));
    assert_eq!(body_with(&json!(null), "a: 1\n<<: {{ v|default({}) }}\n"), json!({"a": 1}));
    for v in [json!(null), json!("x"), json!([1])] {
        let failure = Case::new(&json!({ "v": v })).body("a: 1\n<<: {{ v }}\n").unwrap_err();
        assert_eq!(told(&failure), "body:2:8: only maps can be merged with `<<`");
    }
}

#[test]
fn what_authors_write_without_expressions_means_what_it_means_to_kubectl() {
    let text = "a: no\nb: 0755\nc: '0755'\nd: 1e3\ne: ~\nf: null\ng: [yes, \"yes\"]\nh: |\n  no\ni: {}\nj: []\n\"on\": x\n";
    let expected = json!({
        "a": false, "b": 493, "c": "0755", "d": 1000, "e": null, "f": null, "g": [true, "yes"], "h": "no\n", "i": {},
        "j": [], "on": "x"
    });
    assert_eq!(body_with(&json!(null), text), expected);
}

#[test]
fn what_came_out_as_nothing_is_a_mistake_and_never_null() {
    let case = Case::new(&json!({ "v": [] }));
    let table = [
        (
            "env:\n{% for e in v %}\n- {{ e }}\n{% endfor %}\nb: 1\n",
            "body:1:1: the value of `env` came out as nothing",
        ),
        (
            "a: 1\nb:\n  c: {% if v %}x{% endif %}\n",
            "body:3:3: the value of `c` came out as nothing",
        ),
        ("a:\n-\n- 1\n", "body:2:2: an item came out as nothing"),
        ("a: [1, {b: }]", "body:1:9: the value of `b` came out as nothing"),
        ("a:\n", "body:1:1: the value of `a` came out as nothing"),
        ("a: {% set x %}{% endset %}{{ x }}\n", "body:1:1: the value of `a` came out as nothing"),
    ];
    for (text, expected) in table {
        let failure = case.body(text).unwrap_err();
        assert_eq!(told(&failure), expected, "{text:?}");
        assert!(failure.summary().contains("write `[]`, `{}` or `null`"), "{failure:?}");
    }
    assert_eq!(
        case.body("a: {{ none }}\nb: ~\nc: null\n").unwrap(),
        json!({"a": null, "b": null, "c": null})
    );
    assert_eq!(case.body("a: ''\nb: \"\"\n").unwrap(), json!({"a": "", "b": ""}));
}

#[test]
fn omit_and_a_one_armed_if_remove_the_key_or_the_item() {
    let case = Case::new(&json!({ "v": {"yes": true, "no": false} }));
    for absent in
        ["omit", "'x' if v.no", "omit if v.yes", "1 if v.no else omit", "v.gone|default(omit)"]
    {
        let text = format!(
            "a: {{{{ {absent} }}}}\nb: [1, {{{{ {absent} }}}}, 2]\nc:\n- {{{{ {absent} }}}}\nd: {{k: {{{{ {absent} }}}}}}\n\
             {{{{ {absent} }}}}: 1\n<<: {{{{ {absent} }}}}\n"
        );
        assert_eq!(case.body(&text).unwrap(), json!({"b": [1, 2], "c": [], "d": {}}), "{absent}");
    }
    assert_eq!(
        case.body("a: {{ {'k': omit, 'l': [omit, 1]} }}").unwrap(),
        json!({"a": {"l": [1]}})
    );
    assert_eq!(
        case.body("a: \"{{ 'x' if v.no }}\"\nb: x{{ 'y' if v.no }}z\n").unwrap(),
        json!({"a": "", "b": "xz"})
    );
    for text in
        ["a: \"{{ omit }}\"", "a: x{{ omit }}", "a: {{ 'x' ~ omit }}", "a: |\n  {{ omit }}\n"]
    {
        let failure = told(&case.body(text).unwrap_err());
        assert!(failure.contains("omit`"), "{text}: {failure}");
    }
    assert!(
        told(&case.line("a{{ omit }}").unwrap_err()).contains("`omit` cannot be a part of a text")
    );
    assert_eq!(case.line("a{{ 'x' if v.no }}").unwrap(), "a");
}

#[test]
fn operators_and_filters_work_on_values_and_keep_their_types() {
    let case = Case::new(
        &json!({ "v": {"n": 3, "big": u64::MAX, "s": "Web", "l": [1, 2], "m": {"a": 1}} }),
    );
    let table = [
        ("v.n + 1", json!(4)),
        ("v.n / 2", json!(1.5)),
        ("v.n // 2", json!(1)),
        ("v.n * 2 - 1", json!(5)),
        ("-v.n", json!(-3)),
        ("v.n ** 2 % 5", json!(4)),
        ("v.big", json!(u64::MAX)),
        ("v.big - 1", json!(u64::MAX - 1)),
        ("v.s|lower", json!("web")),
        ("v.s ~ '-' ~ v.n", json!("Web-3")),
        ("v.s + 'x'", json!("Webx")),
        ("v.l + [3]", json!([1, 2, 3])),
        ("v.l * 2", json!([1, 2, 1, 2])),
        ("v.l[-1]", json!(2)),
        ("v.l[0:1]", json!([1])),
        ("v.l|length", json!(2)),
        ("v['m']['a']", json!(1)),
        ("v[('m')].a", json!(1)),
        ("v.l.0", json!(1)),
        ("{'a': v.n, v.s: [v.l]}", json!({"a": 3, "Web": [[1, 2]]})),
        ("(v.n, 'x')", json!([3, "x"])),
        ("v.n == 3 and v.n != 4 and not v.n > 3", json!(true)),
        ("1 < v.n <= 3", json!(true)),
        ("2 in v.l and 3 not in v.l and 'a' in v.m and 'We' in v.s", json!(true)),
        ("v.n is odd and v.n is not even and v.n is divisibleby 3", json!(true)),
        ("v.n is divisibleby -3", json!(true)),
        ("(v.n if v.n > 5 else 5) + 1", json!(6)),
        ("v.m.items()|list", json!([["a", 1]])),
        ("[v.m.keys(), v.m.values()]", json!([["a"], [1]])),
        ("v.m|merge({'b': v.n})", json!({"a": 1, "b": 3})),
        ("v.s.missing.deeper is defined", json!(false)),
        ("(v).n", json!(3)),
        ("[v.l][0][1]", json!(2)),
        ("{'x': v}.x.n", json!(3)),
        ("'abc'[1]", json!("b")),
        ("v.l|map('string')|join('+')", json!("1+2")),
        ("v.n\n  .real is defined", json!(false)),
        ("v\n  .n", json!(3)),
    ];
    for (expression, expected) in table {
        let text = format!("v: {{{{ {expression} }}}}");
        assert_eq!(
            case.body(&text).map_err(|f| told(&f)),
            Ok(json!({ "v": expected })),
            "{expression}"
        );
    }
}

#[test]
fn statements_see_the_same_values() {
    let v = json!({"l": [{"name": "a", "n": 1}, {"name": "b", "n": 2}], "m": {"x": 1, "y": 2}});
    let text = "\
{% set first = v.l[0] %}
{% set ns = namespace(total=0) %}
list:
{% for item in v.l if item.n > 0 %}
  - name: {{ item.name }}-{{ loop.index }}
    last: {{ loop.last }}
{% set ns.total = ns.total + item.n %}
{% else %}
  - none
{% endfor %}
map:
{% for key, value in v.m|items %}
  {{ key }}: {{ value }}
{% endfor %}
keys: [{% for key in v.m %}{{ key }}, {% endfor %}]
{% with a = first.name, b = v.l[1].name %}
joined: {{ a }}{{ b }}
{% endwith %}
{% if v.l|length > 5 %}
size: big
{% elif v.m.x == 1 %}
size: one
{% endif %}
total: {{ ns.total }}
";
    let expected = json!({
        "list": [{"name": "a-1", "last": false}, {"name": "b-2", "last": true}],
        "map": {"x": 1, "y": 2},
        "keys": ["x", "y"],
        "joined": "ab",
        "size": "one",
        "total": 3,
    });
    assert_eq!(body_with(&v, text), expected);
}

#[test]
fn a_thousand_renderings_give_the_same_bytes() {
    let case = Case::new(&json!({"v": {"z": [1, {"b": "no", "a": "{{ x }}"}], "a": {"k": 0.1}}}));
    let text = "a: {{ v }}\n{% for k, x in v|items %}\n{{ k }}-x: \"{{ k }}\"\n{% endfor %}\nb: {{ v|to_json }}\n";
    let source = Source::new("body", text);
    let mut builder = case.builder();
    let body = builder.compile_body(text, Origin::file(&source), Mode::Strict).unwrap();
    let templates = builder.build();
    let first = serde_json::to_string(&templates.body(&body, &case.context).unwrap()).unwrap();
    for _ in 0..1_000 {
        let again = serde_json::to_string(&templates.body(&body, &case.context).unwrap()).unwrap();
        assert_eq!(again, first);
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Json::from),
        any::<String>().prop_map(Json::from),
        "[-~:#'\" \n\t0-9a-f_.{}%\u{10fe00}-\u{10fe1f}]{0,12}".prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_survives_any_place(v in any_json()) {
        let text = "a: {{ v }}\nb: [{{ v }}, {c: {{ v }}}]\n{% set w = v %}\nd: {{ w }}\ne: {{ v|to_json }}\n";
        let expected = json!({"a": v, "b": [v, {"c": v}], "d": v, "e": v.to_string()});
        prop_assert_eq!(body_with(&v, text), expected);
    }

    #[test]
    fn any_text_survives_any_style(v in any::<String>()) {
        let text = "a: \"{{ v }}\"\nb: '{{ v }}'\nc: |-\n  {{ v }}\nd: >-\n  {{ v }}\ne: x{{ v }}\n{{ v }}-key: f\ng: {{ 'x' ~ v }}\n";
        let mut expected = json!({"a": v, "b": v, "c": v, "d": v, "e": format!("x{v}"), "g": format!("x{v}")});
        expected[format!("{v}-key")] = json!("f");
        prop_assert_eq!(body_with(&json!(v), text), expected);
    }
}
