//! Every filter, function and test, by its own example.

use super::super::{Builder, Context, Mode, Origin};
use super::*;
use crate::source::Source;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// What `v` gets in a body, or the failure in one line.
fn value(template: &str) -> Result<Option<Json>, String> {
    let text = format!("{{% set items = [1, 2] %}}v: {template}\n");
    let source = Source::new("body", text.as_str());
    let mut builder = Builder::new(Arc::default());
    let body = builder
        .compile_body(&text, Origin::file(&source), Mode::Strict)
        .map_err(|problems| problems[0].to_string())?;
    let map = builder.build().body(&body, &Context::new()).map_err(|failure| failure.summary())?;
    Ok(map.get("v").cloned())
}

#[test]
fn every_entry_does_what_its_example_says() {
    for entry in entries() {
        let Example { template, output } = entry.example;
        let expected = (!output.is_empty()).then(|| serde_json::from_str(output).expect(output));
        assert_eq!(value(template), Ok(expected), "{}: {template}", entry.name);
        assert!(template.contains(entry.name), "{} is not in its example", entry.name);
        assert!(entry.doc.ends_with('.'), "{}", entry.name);
    }
}

#[test]
fn names_are_unique_within_their_kind() {
    for kind in [EntryKind::Filter, EntryKind::Function, EntryKind::Test, EntryKind::Global] {
        let mut seen: Vec<_> = names(kind).collect();
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count, "{kind:?}");
    }
}

#[test]
fn what_would_let_values_in_as_yaml_or_break_determinism_does_not_exist() {
    for name in ["safe", "escape", "e", "urlencode", "pprint", "chain", "attr"] {
        assert!(!knows(EntryKind::Filter, name), "{name}");
    }
    for name in ["now", "random", "env", "debug", "lipsum"] {
        assert!(!knows(EntryKind::Function, name), "{name}");
    }
    assert!(!knows(EntryKind::Test, "safe"));
}

#[test]
fn no_filter_takes_a_missing_value_but_default() {
    for filter in
        entries().filter(|entry| entry.kind == EntryKind::Filter && entry.name != "default")
    {
        let arguments = match filter.name {
            "replace" | "regex_replace" => "('a', 'b')",
            "map" => "('upper')",
            "select" => "('odd')",
            "selectattr" | "rejectattr" => "('a', 'odd')",
            "regex_match" | "split" | "format" | "batch" | "groupby" | "quantity_add"
            | "quantity_sub" | "quantity_cmp" => "('1')",
            "quantity_mul" => "(1)",
            _ => "",
        };
        let failure =
            value(&format!("{{{{ items.nobody|{}{arguments} }}}}", filter.name)).unwrap_err();
        assert!(failure.contains("`items.nobody` is undefined"), "{}: {failure}", filter.name);
    }
}

#[test]
fn captured_text_is_plain_text_to_every_filter() {
    let captured = "{% set word = 'ab' %}{% set text %}{{ word }}c{% endset %}";
    let table = [
        ("text|length", json!(3)),
        ("text|upper", json!("ABC")),
        ("text|replace('b', 'x')", json!("axc")),
        ("text|reverse", json!("cba")),
        ("text|list", json!(["a", "b", "c"])),
        ("text|b64encode", json!("YWJj")),
        ("text|sha256", json!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")),
        ("text|to_json", json!("\"abc\"")),
        ("[text, text]|join('-')", json!("abc-abc")),
        ("[text]", json!(["abc"])),
        ("{'k': text}", json!({"k": "abc"})),
        ("{text: 1}", json!({"abc": 1})),
        ("text == 'abc'", json!(true)),
        ("'abc' == text", json!(true)),
        ("text ~ 'd' == 'abcd'", json!(true)),
        ("text in ['abc']", json!(true)),
        ("'bc' in text", json!(true)),
        ("text not in ['abc']", json!(false)),
        ("text is eq('abc')", json!(true)),
        ("text is startingwith('ab')", json!(true)),
        ("text[0:2]", json!("ab")),
        ("text[0]", json!("a")),
        ("text[::-1]", json!("cba")),
        ("text + 'd'", json!("abcd")),
        ("{'abc': 1}[text]", json!(1)),
        ("get({'abc': 1}, [text])", json!(1)),
        ("'%s!'|format(text)", json!("abc!")),
        ("text|regex_match('^abc$')", json!(true)),
        ("text|dns_label", json!("abc")),
        ("text|int if false else 1", json!(1)),
    ];
    for (expression, expected) in table {
        let got = value(&format!("{captured}{{{{ {expression} }}}}"));
        assert_eq!(got, Ok(Some(expected)), "{expression}");
    }
}

#[test]
fn booleans_and_null_never_get_pythons_spelling() {
    let table = [
        ("'x' ~ true", json!("xtrue")),
        ("true ~ false", json!("truefalse")),
        ("1 ~ 2.5", json!("12.5")),
        ("'a' ~ 1 + 1 ~ 'b'", json!("a11b")),
        ("true|string", json!("true")),
        ("true|upper", json!("TRUE")),
        ("[true, false, 1]|join", json!("truefalse1")),
        ("'%s'|format(true)", json!("true")),
        ("{true: 1}", json!({"true": 1})),
        ("[true]|to_json", json!("[true]")),
        ("[none]|to_json", json!("[null]")),
    ];
    for (expression, expected) in table {
        let got = value(&format!("{{{{ {expression} }}}}"));
        assert_eq!(got, Ok(Some(expected)), "{expression}");
    }
    for expression in
        ["'x' ~ none", "[none]|join", "none|string", "'x' ~ []", "'x' ~ {}", "'%s'|format(none)"]
    {
        let failure = value(&format!("{{{{ {expression} }}}}")).unwrap_err();
        assert!(failure.contains("has no text of its own"), "{expression}: {failure}");
    }
}

#[test]
fn dns_labels_are_valid_and_different_for_different_texts() {
    let label = |text: &str| match value(&format!("{{{{ {text:?}|dns_label }}}}")) {
        Ok(Some(Json::String(label))) => label,
        other => panic!("{text}: {other:?}"),
    };
    let long = "x".repeat(64);
    for text in [
        "web",
        "a-b",
        "a.b",
        "a_b",
        "A",
        "a",
        "-a",
        "a-",
        "",
        "é",
        "a b",
        &long,
        &"y".repeat(63),
        "---",
    ] {
        let label = label(text);
        assert!((1..=63).contains(&label.len()), "{text} -> {label}");
        assert!(
            label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{label}"
        );
        assert!(!label.starts_with('-') && !label.ends_with('-'), "{text} -> {label}");
    }
    assert_eq!(label("web-1"), "web-1");
    assert_eq!(label("Web.1"), format!("web-1-{}", &core_hash("Web.1")));
    assert_ne!(label("a.b"), label("a_b"));
    assert_ne!(label(&long), label(&"x".repeat(65)));
    assert_eq!(value("{{ 'abcdefghijklmnop'|dns_label(12) }}"), Ok(Some(json!("abc-f39dac6c"))));
    assert!(value("{{ 'a'|dns_label(3) }}").unwrap_err().contains("9 to 63 characters"));
}

fn core_hash(text: &str) -> String {
    encode::sha256_hex(text)[..8].to_owned()
}

#[test]
fn wrong_arguments_are_told_in_our_words() {
    let table = [
        ("'x'|quantity", "this is no amount such as `500m` or `1.5Gi`"),
        ("'['|regex_match('[')", "the regular expression cannot be read"),
        ("'a'|regex_match('(a{1000}){1000}')", "the regular expression"),
        ("'{'|from_json", "this is no JSON"),
        ("'a: ['|from_yaml", "this is no YAML"),
        ("'%%%'|b64decode", "this is no base64"),
        ("'/w=='|b64decode", "not text"),
        ("[1]|keys", "a map is needed here, not a sequence"),
        ("{}|merge([])", "a map is needed here, not a sequence"),
        ("[1]|flatten", "`flatten` needs a list of lists"),
        ("'a'|join", "`join` needs a list, not a text"),
        ("fail('size ' ~ 3)", "size 3"),
        ("get({}, 'a', 1, 2)", "`get` takes a map, a path and a default"),
        ("2 ** 70", "is too large for Kubernetes"),
        ("1 / 0", "unable to calculate 1 / 0"),
        ("range", "a function has no form in YAML"),
        ("'a'|int", ""),
    ];
    for (expression, message) in table {
        let failure = value(&format!("{{{{ {expression} }}}}")).unwrap_err();
        assert!(failure.contains(message), "{expression}: {failure}");
    }
}
