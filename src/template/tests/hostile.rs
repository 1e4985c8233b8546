//! Texts and values that look like something else in YAML: they come out as they went in.

use super::*;

const HOSTILE: &[&str] = &[
    "no",
    "yes",
    "on",
    "y",
    "true",
    "null",
    "~",
    "1e3",
    "007",
    "0755",
    "0x1F",
    "1_000",
    "1.0",
    ".inf",
    "2026-11-30",
    "a: b",
    "- x",
    "a: b\n- c",
    "{{ x }}",
    "{% raw %}",
    "{{ 7*7 }}",
    "x\"\n- injected: true\n# {{ 7*7 }}",
    "'",
    "\"",
    "\\",
    "\\n",
    "#",
    "a #b",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    "%",
    "@",
    "`",
    "?",
    ":",
    "-",
    "---",
    "...",
    "--- a",
    "<<",
    "[",
    "]",
    "{",
    "}",
    ",",
    "a,b",
    "",
    " ",
    "  lead",
    "trail  ",
    "\n",
    "\n\n",
    "line\nline",
    "line\n",
    "\r\n",
    "\t",
    "a\tb",
    "\u{0}",
    "\u{7}",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}",
    "é",
    "😀",
    "👩‍👩‍👧",
    "\u{10ffff}",
    // Placeholders as this engine writes them, whole and cut.
    "\u{10fe00}\u{10fe10}\u{10fe01}",
    "\u{10fe00}",
    "\u{10fe02}",
    "\u{10fe03}",
    "\u{10fe00}\u{10fe10}",
];

pub(super) fn hostile_texts() -> Vec<String> {
    let mut texts: Vec<String> = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    texts.push("x".repeat(60 << 10));
    texts.push("é\n: - ".repeat(10_000));
    texts
}

fn hostile_values() -> Vec<Json> {
    let mut values: Vec<Json> = hostile_texts().into_iter().map(Json::from).collect();
    values.extend([
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(9_007_199_254_740_993_u64),
        json!(0.1),
        json!(1.0),
        json!(-0.5),
        json!(1e300),
        json!(1e-7),
        json!([]),
        json!({}),
        json!([[], {}, null, [null]]),
        json!({"a": {"b": {"c": [1, {"d": null}]}}}),
        json!({"app.kubernetes.io/name": "no", "a b": 1, "": 2, "a: b": 3, "<<": 4, "- x": 5, "\n": 6}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "kube-system"}}),
    ]);
    values
}

#[test]
fn a_bare_expression_becomes_its_value_in_every_place() {
    for v in hostile_values() {
        let text = "plain: {{ v }}\nlist:\n- {{ v }}\n-   {{v}}\nflow: {a: {{ v }}, b: [{{ v }}, {{ v }}]}\n\
                    deep:\n  deeper:\n    {{ 'key' }}: {{ v }} # {{ v }}\n";
        let expected = json!({
            "plain": v, "list": [v, v], "flow": {"a": v, "b": [v, v]}, "deep": {"deeper": {"key": v}}
        });
        assert_eq!(body_with(&v, text), expected);
    }
}

#[test]
fn quotes_and_blocks_make_text_of_whatever_has_one() {
    for v in hostile_values() {
        let spelled = match &v {
            Json::String(text) => text.clone(),
            Json::Bool(_) | Json::Number(_) => v.to_string(),
            _ => continue,
        };
        let text = "double: \"{{ v }}\"\nsingle: '{{ v }}'\nliteral: |\n  {{ v }}\nfolded: >-\n  {{ v }}\n\
                    tagged: !!str {{ v }}\nparts: a{{ v }}b{{ v }}\nurl: http://{{ v }}:{{ v }}/x\nescaped: \"\\t{{ v }}\\n\"\n\
                    block: |\n  first {{ v }}\n    second {{ v }}\n";
        let expected = json!({
            "double": spelled,
            "single": spelled,
            "literal": format!("{spelled}\n"),
            "folded": spelled,
            "tagged": spelled,
            "parts": format!("a{spelled}b{spelled}"),
            "url": format!("http://{spelled}:{spelled}/x"),
            "escaped": format!("\t{spelled}\n"),
            "block": format!("first {spelled}\n  second {spelled}\n"),
        });
        assert_eq!(body_with(&v, text), expected);
        assert_eq!(
            Case::new(&json!({ "v": v })).line("<{{ v }}>").unwrap(),
            format!("<{spelled}>")
        );
    }
}

#[test]
fn a_text_of_a_megabyte_goes_through_every_style() {
    let v = json!("é: \n".repeat(200_000));
    for text in ["a: {{ v }}", "a: \"{{ v }}\"", "a: |-\n  {{ v }}", "{{ v }}: {{ 1 }}"] {
        let result = body_with(&v, text);
        assert!(result["a"] == v || result == json!({v.as_str().unwrap(): 1}), "{text}");
    }
}

#[test]
fn null_lists_and_maps_have_no_text() {
    for v in [json!(null), json!([]), json!({}), json!([1]), json!({"a": 1})] {
        let case = Case::new(&json!({ "v": v }));
        for text in [
            "a: \"{{ v }}\"",
            "a: |\n  {{ v }}\n",
            "a: x{{ v }}",
            "a: {{ 'x' ~ v }}",
            "a: {{ v|upper }}",
        ] {
            let failure = told(&case.body(text).unwrap_err());
            assert!(failure.contains("has no text of its own"), "{text}: {failure}");
        }
        assert!(told(&case.line("{{ v }}").unwrap_err()).contains("has no text of its own"));
    }
}
