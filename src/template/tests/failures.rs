//! Failures of a rendering, at the place of their author.

use super::*;

#[test]
fn text_that_is_no_yaml_is_found_in_the_template_that_wrote_it() {
    let case = Case::new(&json!({"m": {"a": 1}, "s": "x", "n": null}))
        .file("bad.yaml", "a: 1\n{% if s %}\nb: c: d\n{% endif %}\n")
        .file("map.yaml", "kind: A\nmetadata:\n  labels:\n    app: x\n    {{ m }}\n")
        .file("dup.yaml", "kind: A\n{% for x in [1, 2] %}\nkey: {{ x }}\n{% endfor %}\n")
        .file("list.yaml", "- 1\n- 2\n")
        .file("text.yaml", "kind: A\n---\njust text\n")
        .file("tab.yaml", "a:\n\tb: 1\n")
        .file("null.yaml", "a: 1\nb: \"x{{ n }}\"\n")
        .file("nothing.yaml", "kind: A\n{% set empty = [] %}\nspec:\n  env:\n  {% for x in empty %}\n  - {{ x }}\n  {% endfor %}\n")
        .file("outer.yaml", "kind: A\n{% include 'inner.yaml' %}\n")
        .file("inner.yaml", "spec:\n  ok: {{ s }}\n  bad: \"{{ n }}\"\n")
        .file("macro.yaml", "{% macro m() %}\nx: [\n{% endmacro %}\nkind: A\n{{ m() }}\n");
    let table = [
        ("bad.yaml", "bad.yaml:3:5: "),
        ("map.yaml", "map.yaml:5:"),
        ("dup.yaml", "dup.yaml:3:1: the key `key` appears twice"),
        ("list.yaml", "list.yaml:1:1: this must be one map of keys and values"),
        ("text.yaml", "text.yaml:3:1: this must be one map of keys and values"),
        ("tab.yaml", "tab.yaml:2:"),
        ("null.yaml", "null.yaml:2:4: null has no text of its own"),
        ("nothing.yaml", "nothing.yaml:4:3: the value of `env` came out as nothing"),
        ("outer.yaml", "inner.yaml:3:8: null has no text of its own"),
        ("macro.yaml", "macro.yaml:5:"),
    ];
    for (name, expected) in table {
        let failure = told(&case.documents(name).unwrap_err());
        assert!(failure.starts_with(expected), "{name}: {failure}");
    }
    let advice = case.documents("map.yaml").unwrap_err().summary();
    assert!(advice.contains("put a map into a map with `<<: {{ … }}`"), "{advice}");
}

#[test]
fn errors_of_the_engine_have_the_innermost_place() {
    let case = Case::new(&json!({"parent": {"spec": {"x": "a"}}, "l": [1]}))
        .file("outer.yaml", "kind: A\n{% include 'middle.yaml' %}\n")
        .file("middle.yaml", "a: 1\n{% include 'inner.yaml' %}\n")
        .file("inner.yaml", "b: 1\nc: {{ parent.spec.y.z }}\n")
        .file("macro.yaml", "{% from 'lib.yaml' import m %}\nkind: A\nx: {{ m(1) }}\n")
        .file("lib.yaml", "{% macro m(x) %}\n{{ x.y.z }}\n{% endmacro %}\n")
        .file("type.yaml", "kind: A\nx: {{ parent.spec.x + 1 }}\n")
        .file(
            "fail.yaml",
            "kind: A\n{% if parent.spec.x == 'a' %}\n{{ fail('x must not be a') }}\n{% endif %}\n",
        )
        .file("undefined.yaml", "x: {{ fail('x is undefined') }}\n")
        .file("method.yaml", "x: {{ parent.spec.x.upper() }}\n")
        .file("filter.yaml", "x: 1\ny: {{ (parent.spec.x ~ '%')|b64decode }}\n")
        .file("field.yaml", "x: {{ parent.spec.x\n  .y\n  .z }}\n");
    let table = [
        ("outer.yaml", "inner.yaml:2:7: `parent.spec.y.z` is undefined"),
        ("macro.yaml", "lib.yaml:2:4: `x.y.z` is undefined"),
        ("type.yaml", "type.yaml:2:7: `+` is not possible with a text and a number"),
        ("fail.yaml", "fail.yaml:3:4: x must not be a"),
        ("method.yaml", "method.yaml:1:20: a text has no method `upper`"),
        ("filter.yaml", "filter.yaml:2:29: this is no base64"),
        ("field.yaml", "field.yaml:1:7: `parent.spec.x.y.z` is undefined"),
    ];
    for (name, expected) in table {
        let failure = told(&case.documents(name).unwrap_err());
        assert!(failure.starts_with(expected), "{name}: {failure}");
    }
    let Err(Failure::Failed(problem)) = case.documents("fail.yaml") else { panic!() };
    assert_eq!(problem.code, "template-fail");
}

#[test]
fn the_place_is_the_chain_that_met_the_gap() {
    let case =
        Case::new(&json!({"parent": {}})).file("a.yaml", "é: \"ü {{ 'y' ~ parent.spec.x }}\"\n");
    let Err(Failure::Failed(problem)) = case.documents("a.yaml") else { panic!() };
    let place = problem.place.unwrap();
    assert_eq!(&place.source.text[place.span.clone()], "parent.spec.x");
    assert_eq!(place.to_string(), "a.yaml:1:16");
}
