//! Every kind of scalar, place and refusal of the YAML reader.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn read(text: &str) -> Value {
    let documents = parse(text, &Limits::FILE).unwrap_or_else(|e| panic!("{text:?}: {e:?}"));
    assert_eq!(documents.len(), 1, "{text:?}");
    documents[0].root.to_json()
}

fn failure(text: &str) -> Error {
    match parse(text, &Limits::FILE) {
        Ok(documents) => panic!("{text:?} was read: {documents:?}"),
        Err(error) => error,
    }
}

fn place(text: &str, error: &Error) -> String {
    let Position { line, column } =
        crate::source::Source::new("f", text).position(error.span.start);
    format!("{line}:{column}")
}

/// Pairs taken from the comparison with `sigs.k8s.io/yaml` 1.6.0.
#[test]
fn plain_scalars_mean_what_kubectl_makes_of_them() {
    let table = [
        ("yes", json!(true)),
        ("no", json!(false)),
        ("on", json!(true)),
        ("off", json!(false)),
        ("y", json!(true)),
        ("n", json!(false)),
        ("True", json!(true)),
        ("FALSE", json!(false)),
        ("yEs", json!("yEs")),
        ("0755", json!(493)),
        ("0o17", json!(15)),
        ("007", json!(7)),
        ("08", json!(8)),
        ("0x1F", json!(31)),
        ("-0x1F", json!(-31)),
        ("0b101", json!(5)),
        ("1_000", json!(1000)),
        ("1_000.5", json!(1000.5)),
        ("_1", json!("_1")),
        ("+1", json!(1)),
        ("-0", json!(0)),
        ("1.0", json!(1)),
        ("1.", json!(1)),
        (".5", json!(0.5)),
        ("1e3", json!(1000)),
        ("-1.5E-2", json!(-0.015)),
        ("1e999", json!("1e999")),
        ("1e", json!("1e")),
        (".", json!(".")),
        ("+", json!("+")),
        ("+-1", json!("+-1")),
        ("0x", json!("0x")),
        ("0x-1", json!("0x-1")),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("18446744073709551615", json!(u64::MAX)),
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("0xffffffffffffffffff", json!("0xffffffffffffffffff")),
        ("9007199254740993", json!(9_007_199_254_740_993_u64)),
        ("~", json!(null)),
        ("Null", json!(null)),
        ("nil", json!("nil")),
        ("", json!(null)),
        ("2026-11-30", json!("2026-11-30")),
        ("2026-11-30T10:00:00Z", json!("2026-11-30T10:00:00Z")),
        ("12:30:45", json!("12:30:45")),
        ("0.1", json!(0.1)),
        ("1.10", json!(1.1)),
        ("v1", json!("v1")),
        ("'no'", json!("no")),
        ("\"1e3\"", json!("1e3")),
        ("!!str 12", json!("12")),
        ("! 12", json!("12")),
        ("|\n  no", json!("no\n")),
        (">-\n  0755", json!("0755")),
    ];
    for (text, value) in table {
        assert_eq!(read(&format!("v: {text}")), json!({ "v": value }), "{text}");
    }
    for text in [".inf", "-.INF", ".nan", "[+.inf]"] {
        assert!(failure(&format!("v: {text}")).message.contains("not-a-number"), "{text}");
    }
}

#[test]
fn keys_are_text_whatever_they_look_like() {
    let value =
        read("yes: 1\non: 2\n0755: 3\n1.0: 4\n~: 5\n2026-11-30: 6\n'': 7\n? |\n  block\n: 8\n");
    let expected = json!({
        "yes": 1, "on": 2, "0755": 3, "1.0": 4, "~": 5, "2026-11-30": 6, "": 7, "block\n": 8
    });
    assert_eq!(value, expected);
}

#[test]
fn merge_keys_give_way_to_own_keys_and_then_to_earlier_maps() {
    let text = "- &a {x: 1, y: 1}\n- &b {y: 2, z: 2}\n- {<<: [*a, *b], x: 0}\n- {z: 9, <<: *b}\n- {<<: {k: v}}\n- {\"<<\": text}\n";
    assert_eq!(
        read(text),
        json!([
            {"x": 1, "y": 1}, {"y": 2, "z": 2}, {"x": 0, "y": 1, "z": 2}, {"y": 2, "z": 9}, {"k": "v"},
            {"<<": "text"}
        ])
    );
    assert_eq!(failure("a: 1\n<<: 2\n").message, "only maps can be merged with `<<`");
    let kept = parse_keeping_merges("<<: {a: 1}", &Limits::FILE).unwrap();
    assert_eq!(kept[0].root.to_json(), json!({"<<": {"a": 1}}));
}

/// Texts, the place of the mistake, and parts of the message and of the advice.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("a: 1\nb: 2\na: 3\n", "3:1", "the key `a` appears twice", "the first one is in line 1"),
    (
        "<<: {}\n<<: {}\n",
        "2:1",
        "the key `<<` appears twice",
        "merge several maps with `<<: [a, b]`",
    ),
    ("a: !foo x\n", "1:4", "an unknown tag", "only `!!str` is read here"),
    ("a: !!binary x\n", "1:4", "an unknown tag", ""),
    ("a: *nobody\n", "1:4", "unknown anchor", ""),
    ("&a [*a]\n", "1:5", "inside of what it stands for", ""),
    ("? [a]\n: b\n", "1:3", "a key must be a single text", ""),
    (": b\n", "1:1", "a key is missing", ""),
    ("%YAML 1.1\n---\na: 1\n", "1:1", "directives are disallowed", ""),
    ("a:\n\tb: 1\n", "2:1", "a tab cannot stand here", "indent with spaces, never with tabs"),
    ("a: @b\n", "1:4", "unexpected character", "quote a text that begins with `@`"),
    ("a: b: c\n", "1:5", "a `:` cannot stand here", "quote a text that contains `: `"),
    ("a: \"b\n", "1:4", "this quote is never closed", "is written twice"),
    ("a: b\n  c: d\n", "2:4", "the one above it has a value already", "indent it like the line"),
    ("a: b\n  c: d: e\n", "2:4", "the one above it has a value already", ""),
    ("a:\n  - b\n - c\n", "3:2", "not in line with", "starts in the same column"),
    ("a: {b: c\n", "1:4", "this `{` is never closed", ""),
    ("name: {{ parent.metadata.name }}\n", "1:8", "", "quote it: \"{{ parent.metadata.name }}\""),
    (
        "name: {{ parent.metadata.name }}-x\n",
        "1:8",
        "",
        "quote it: \"{{ parent.metadata.name }}-x\"",
    ),
    (
        "m: {message: {{ a }} and {{ b }} there, x: 1}\n",
        "1:15",
        "YAML reads this `{{` as the start of a mapping",
        "quote it: \"{{ a }} and {{ b }} there\"",
    ),
    ("m: {{ a|default(\"x\") }} y # z\n", "1:5", "", "quote it: '{{ a|default(\"x\") }} y'"),
    (
        "when: [{path: $.a[*].b, exists: true}]\n",
        "1:19",
        "this path stands in no quotes",
        "quote the path: \"$.a[*].b\"",
    ),
    (
        "when: [{path: $.a[?(@.b == \"c\")], exists: true}]\n",
        "1:18",
        "",
        "quote the path: '$.a[?(@.b == \"c\")]'",
    ),
];

#[test]
fn mistakes_have_an_exact_place_and_advice() {
    for (text, at, message, hint) in MISTAKES {
        let error = failure(text);
        assert_eq!(place(text, &error), *at, "{text:?}: {error:?}");
        assert!(error.message.contains(message), "{text:?}: {error:?}");
        let advice = error.hint.clone().unwrap_or_default();
        assert!(advice.contains(hint), "{text:?}: {error:?}");
    }
}

#[test]
fn every_node_knows_its_bytes() {
    let text = "a: &x [1, \"two\"]\nb:\n  c: |\n    line\n  d: é\ne: *x\nf:\n";
    let root = parse(text, &Limits::FILE).unwrap().remove(0).root;
    let slice = |node: &Node| &text[node.span.clone()];
    assert_eq!(slice(root.get("a").unwrap()), "[1, \"two\"]");
    assert_eq!(slice(root.get("b").unwrap()), "c: |\n    line\n  d: é");
    assert_eq!(slice(root.get("b").unwrap().get("c").unwrap()).trim_end(), "line");
    assert_eq!(slice(root.get("b").unwrap().get("d").unwrap()), "é");
    assert_eq!(slice(root.get("e").unwrap()), "*x");
    assert_eq!(root.get("f").unwrap().kind, Kind::Null { explicit: false });
    assert_eq!(slice(&root), &text[..text.len() - 2]);
}

#[test]
fn the_content_of_a_text_is_found_in_its_file() {
    let table = [
        ("a: plain", 1, 4, 0),
        ("a: 'quoted'", 1, 5, 0),
        ("b: 1\na: !!str tagged", 2, 10, 0),
        ("a: |\n  first\n  second", 2, 3, 2),
        ("a:\n  - x\n", 2, 5, 0),
        ("a: |\n\n\n    first\n    second", 2, 5, 4),
        ("a: |2\n    deep\n  flat", 2, 3, 2),
        ("a: |-  # why\n   first", 2, 4, 3),
        ("a: >\n  folded\n  text", 2, 3, 2),
    ];
    for (text, line, column, indent) in table {
        let root = parse(text, &Limits::FILE).unwrap().remove(0).root;
        let mut node = root.get("a").unwrap();
        if let Kind::Sequence(items) = &node.kind {
            node = &items[0];
        }
        let expected = ContentOrigin { start: Position { line, column }, indent };
        assert_eq!(node.content_origin(text), Some(expected), "{text:?}");
    }
    assert_eq!(parse("1", &Limits::FILE).unwrap()[0].root.content_origin("1"), None);
}

#[test]
fn documents_are_kept_apart_and_anchors_inside_them() {
    let documents = parse("a: 1\n---\n---\n# nothing\n---\nb: 2\n...\n", &Limits::FILE).unwrap();
    let values: Vec<_> = documents.iter().map(|document| document.root.to_json()).collect();
    assert_eq!(values, [json!({"a": 1}), json!(null), json!(null), json!({"b": 2})]);
    assert_eq!(parse("", &Limits::FILE).unwrap(), []);
    assert!(failure("a: &x 1\n---\nb: *x\n").message.contains("unknown anchor"));
}

#[test]
fn nothing_grows_beyond_the_limits() {
    let small = Limits { bytes: 200, nodes: 20, depth: 3, documents: 2 };
    let table = [
        ("x".repeat(201), "longer than 200 bytes"),
        ("[[[[1]]]]".to_owned(), "nest deeper than 3"),
        ("a:\n b:\n  c:\n   d: 1\n".to_owned(), "nest deeper than 3"),
        ("[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1]".to_owned(), "more than 20 values"),
        ("1\n---\n2\n---\n3\n".to_owned(), "more than 2 documents"),
        ("- &a [1, 2, 3, 4]\n- [*a, *a, *a]\n".to_owned(), "more than 20 values"),
        (format!("- &a {}\n- [*a, *a, *a]\n", "x".repeat(60)), "longer than 200 bytes"),
        ("- &a [[1]]\n- [[*a]]\n".to_owned(), "nest deeper than 3"),
    ];
    for (text, message) in table {
        let error = parse(&text, &small).unwrap_err();
        assert!(error.message.contains(message), "{text:?}: {error:?}");
    }
    assert!(parse("[[[1]]]", &small).is_ok());

    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let uses = vec![format!("*a{}", n - 1); 9].join(", ");
        bomb.push_str(&["a", &n.to_string(), ": &a", &n.to_string(), " [", &uses, "]\n"].concat());
    }
    assert!(failure(&bomb).message.contains("more than 200000 values"));
    for hostile in [
        "[".repeat(20_000),
        "{a: ".repeat(20_000),
        "- ".repeat(20_000),
        format!("{}: 1", "k".repeat(200_000)),
    ] {
        failure(&hostile);
    }
    let nested: String = (0..3_000).map(|n| " ".repeat(n) + "a:\n").collect();
    failure(&nested);
}

const WORDS: &[&str] = &[
    "no",
    "yes",
    "y",
    "n",
    "on",
    "off",
    "~",
    "null",
    "true",
    "1_000",
    "0755",
    "0x1F",
    "1e3",
    ".5",
    "1.0",
    ".inf",
    ".nan",
    "",
    " ",
    "- x",
    "a: b",
    "a #b",
    "# a",
    "{a}",
    "[a]",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a`",
    "'",
    "\"",
    "|",
    ">",
    "?",
    "? a",
    "-",
    "---",
    "...",
    "<<",
    "=",
    "2026-11-30",
    "12:30",
    "line\nline",
    "line\n",
    "\n",
    " lead",
    "trail ",
    "tab\t",
    "\u{0}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "é",
    "😀",
    "\r\n",
];

#[test]
fn printed_text_is_quoted_wherever_another_reader_would_see_a_value() {
    for &word in WORDS {
        for value in [json!(word), json!({ word: word }), json!([word, { "k": [word] }])] {
            let text = print(&value);
            assert_eq!(read(&text), value, "{word:?} printed as {text:?}");
        }
        // Our reader and kubectl's agree on plain scalars, so a bare word may only be one that both take for text.
        let bare = print(&json!({ "k": word })) == format!("k: {word}\n");
        assert!(!bare || matches!(scalar::resolve(word), Ok(Kind::String { .. })), "{word}");
        let bare_key = print(&json!({ word: 1 })) == format!("{word}: 1\n");
        assert!(!bare_key || matches!(scalar::resolve(word), Ok(Kind::String { .. })), "{word}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e9..1.0e9_f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[-~:#'\" \n\t0-9a-f_.]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Whole fractions are integers to the reader, as they are to kubectl.
fn whole(value: &Value) -> Value {
    match value {
        Value::Number(n) if n.is_f64() => read(&format!("v: {n}"))["v"].clone(),
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), whole(v))).collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(value in any_json()) {
        prop_assert_eq!(read(&print(&value)), whole(&value));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[-a-c:{}\\[\\]&*!|>%@'\" \n\t#?,<0-9]{0,60}") {
        if let Err(error) = parse(&text, &Limits::FILE) {
            prop_assert!(text.get(error.span.clone()).is_some(), "{:?}", error);
        }
    }
}
