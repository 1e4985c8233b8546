//! Status fields: what does not exist yet is left out, and nothing else is.

use super::*;

fn case() -> Case {
    Case::new(&json!({
        "parent": {"spec": {"host": "example.org", "port": null}, "status": {"first": "kept"}},
        "children": {"deployment": {"status": {"replicas": 2}}, "list": [{"a": 1}, {}]},
        "conditions": {"Serving": false},
    }))
}

/// Bodies, and the JSON of what is left of them.
const LEFT_OUT: &[(&str, &str)] = &[
    ("a: {{ children.gone.status.x }}\nb: 1", r#"{"b": 1}"#),
    ("a: {{ children.deployment.status.replicas }}", r#"{"a": 2}"#),
    ("a: {{ parent.spec.typo }}\nb: 1", r#"{"b": 1}"#),
    ("a: \"x{{ children.gone.x }}y\"\nb: 1", r#"{"b": 1}"#),
    ("a: http://{{ parent.spec.gone }}/\nb: 1", r#"{"b": 1}"#),
    ("a: |\n  {{ children.gone.x }}\nb: 1", r#"{"b": 1}"#),
    ("a: {{ children.gone.x + 1 }}\nb: 1", r#"{"b": 1}"#),
    ("a: {{ 'x' ~ children.gone.x }}\nb: 1", r#"{"b": 1}"#),
    ("a: {{ children.gone.x|upper }}\nb: 1", r#"{"b": 1}"#),
    ("a: {{ 'y' if children.gone.x > 1 else 'n' }}\nb: 1", r#"{"b": 1}"#),
    ("a: {{ [children.gone.x] }}\nb: 1", r#"{"b": 1}"#),
    (
        "a: {{ children.gone.x + 1 }}\nb: {{ children.gone.y + 1 }}\nc: {{ parent.spec.gone|upper }}\nd: 1",
        r#"{"d": 1}"#,
    ),
    ("a:\n  b: {{ children.gone.x }}\n  c: 1", r#"{"a": {"c": 1}}"#),
    ("a: [{{ children.gone.x }}, 1]", r#"{"a": [1]}"#),
    ("{{ children.gone.x }}: 1\nb: 2", r#"{"b": 2}"#),
    ("<<: {{ children.gone.x }}\nb: 2", r#"{"b": 2}"#),
    ("a: {{ children.gone.x|default(0) }}", r#"{"a": 0}"#),
    ("a: {{ get(children.gone, 'x', 0) }}", r#"{"a": 0}"#),
    ("a: {{ 'Running' if conditions.Serving else 'Pending' }}", r#"{"a": "Pending"}"#),
    (
        "a: {{ 'https://' ~ parent.spec.host if parent.spec.host }}",
        r#"{"a": "https://example.org"}"#,
    ),
    ("a: {{ 'https://' ~ parent.spec.gone if parent.spec.gone }}\nb: 1", r#"{"b": 1}"#),
    ("a: x{{ ':' ~ parent.spec.port if parent.spec.port }}", r#"{"a": "x"}"#),
    ("a: {{ parent.spec.port }}", r#"{"a": null}"#),
    ("a: {{ parent.status.first|default('now') }}", r#"{"a": "kept"}"#),
    ("{% if children.gone.x > 1 %}\na: 1\n{% else %}\na: 2\n{% endif %}", r#"{"a": 2}"#),
    (
        "{% if children.gone.x %}\na: 1\n{% elif children.gone.y == 2 %}\na: 2\n{% else %}\na: 3\n{% endif %}",
        r#"{"a": 3}"#,
    ),
    ("a:\n- 0\n{% for x in children.gone %}\n- {{ x }}\n{% endfor %}", r#"{"a": [0]}"#),
    ("a:\n{% for x in children.list if x.a > 0 %}\n- {{ x.a }}\n{% endfor %}\nb: 1", r#"{"b": 1}"#),
    ("{% set x = children.gone.x + 1 %}\na: {{ x }}\nb: 1", r#"{"b": 1}"#),
    (
        "{% macro m(x) %}{{ x + 1 }}{% endmacro %}\na: \"{{ m(children.gone.x) }}\"\nb: 1",
        r#"{"b": 1}"#,
    ),
    ("", "{}"),
];

#[test]
fn a_key_whose_expression_meets_something_missing_disappears() {
    let case = case();
    for (text, expected) in LEFT_OUT {
        // A loop that comes out empty is the one mistake in the table.
        match case.lenient(text) {
            Ok(value) => assert_eq!(value.to_string(), expected.replace(' ', ""), "{text}"),
            Err(failure) => assert!(
                text.contains("x.a > 0") && told(&failure).contains("came out as nothing"),
                "{text}: {}",
                told(&failure)
            ),
        }
    }
}

#[test]
fn other_mistakes_are_told_at_their_place() {
    let table = [
        ("a: 1\nb: {{ 1 / 0 }}", "body:2:7: "),
        ("a: 1\nb: {{ fail('no') }}", "body:2:7: no"),
        (
            "a: 1\nb: {{ conditions.Serving }}{{ parent.spec.port }}",
            "body:2:7: null has no text of its own",
        ),
        ("a: 1\nb:\n", "body:2:1: the value of `b` came out as nothing"),
        ("a: {{ children.gone.x }}\nb: c: d\n", "body:2:5: "),
    ];
    let case = case();
    for (text, expected) in table {
        let failure = told(&case.lenient(text).unwrap_err());
        assert!(failure.starts_with(expected), "{text}: {failure}");
    }
}

#[test]
fn a_macro_of_another_file_that_meets_something_missing_leaves_its_caller_out() {
    let case = case()
        .file("lib.yaml", "{% macro url(child) %}https://{{ child.status.host }}{% endmacro %}");
    let text = "{% from 'lib.yaml' import url %}\na: {{ url(children.gone) }}\nb: \"{{ url(children.deployment) }}\"\nc: 1\n";
    assert_eq!(case.lenient(text), Ok(json!({"c": 1})));
    let case = case.file("part.yaml", "x: {{ children.gone.y }}\n");
    let failure = told(&case.lenient("a: 1\n{% include 'part.yaml' %}\n").unwrap_err());
    assert_eq!(failure, "part.yaml:1:7: waiting for children.gone.y");
}
