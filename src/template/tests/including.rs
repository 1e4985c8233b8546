//! Includes, imports, macros and captured text.

use super::*;

#[test]
fn files_include_import_and_extend_each_other() {
    let case = Case::new(&json!({"parent": {"metadata": {"name": "no"}, "spec": {"labels": {"a": "1e3"}}}}))
        .file(
            "app/main.yaml",
            "{% import 'lib/names.yaml' as names %}\n{% from 'lib/names.yaml' import port as p %}\n\
             kind: A\nmetadata:\n  name: {{ names.full(parent.metadata.name) }}\n  labels:\n\
             {% include 'lib/labels.yaml' %}\nspec:\n  ports:\n  {{ p(80)|indent(2) }}\n",
        )
        .file(
            "lib/names.yaml",
            "{% macro full(name) %}{{ name }}-{{ parent.spec.labels.a }}{% endmacro %}\n\
             {% macro port(number) %}- port: {{ number }}\n  name: \"{{ number }}\"{% endmacro %}\n",
        )
        .file("lib/labels.yaml", "    app: {{ parent.metadata.name }}\n    <<: {{ parent.spec.labels }}\n")
        .file("base.yaml", "kind: B\nname: {% block name %}base{% endblock %}\n")
        .file("child.yaml", "{% extends 'base.yaml' %}\n{% block name %}{{ parent.metadata.name }}{% endblock %}\n");
    let expected = json!([{
        "kind": "A",
        "metadata": {"name": "no-1e3", "labels": {"app": "no", "a": "1e3"}},
        "spec": {"ports": [{"port": 80, "name": "80"}]},
    }]);
    assert_eq!(case.documents("app/main.yaml").map(Json::from), Ok(expected));
    assert_eq!(
        case.documents("child.yaml").map(Json::from),
        Ok(json!([{"kind": "B", "name": "no"}]))
    );
    let body = "{% include 'lib/labels.yaml' %}\nx: 1\n";
    assert!(case.body(body).is_err(), "the indentation of an included file is its own");
}

#[test]
fn captured_text_brings_structure_and_its_values_stay_values() {
    let v = json!("x\"\n- injected: true");
    let text = "\
{% macro item(x) %}
- value: {{ x }}
  text: \"{{ x }}\"
{% endmacro %}
{% set block %}
a: {{ v }}
b: [{{ v }}]
{% endset %}
items:
{{ item(v) }}
{{ item(1) }}
nested:
  {{ block|indent(2) }}
quoted: \"{{ block }}\"
{% call(x) wrap() %}{{ x }}{% endcall %}
";
    let text = text.replace(
        "{% set block %}",
        "{% macro wrap() %}called: {{ caller(v) }}{% endmacro %}\n{% set block %}",
    );
    let result = body_with(&v, &text);
    assert_eq!(result["items"][0], json!({"value": v, "text": v}));
    assert_eq!(result["items"][1], json!({"value": 1, "text": "1"}));
    assert_eq!(result["nested"], json!({"a": v, "b": [v]}));
    let text = v.as_str().unwrap();
    assert_eq!(result["quoted"], json!(format!("a: {text} b: [{text}] ")));
    assert_eq!(result["called"], v);
}

#[test]
fn captured_text_can_be_put_into_a_block_as_text() {
    let case = Case::new(&json!({"v": "a: b"})).file("run.sh", "#!/bin/sh\necho {{ v }}\n");
    let text = "{% set script %}{% include 'run.sh' %}{% endset %}\nrun: |\n  {{ script|string }}\nplain: {{ script|string }}\n";
    let script = "#!/bin/sh\necho a: b\n";
    assert_eq!(case.body(text), Ok(json!({"run": format!("{script}\n"), "plain": script})));
}

#[test]
fn windows_line_ends_change_nothing() {
    let text =
        "a:\r\n{% for x in v %}\r\n- {{ x }}\r\n{% endfor %}\r\nb: |\r\n  {{ v[0] }}\r\n  x\r\n";
    assert_eq!(body_with(&json!([1, 2]), text), json!({"a": [1, 2], "b": "1\nx\n"}));
}

#[test]
fn foreign_template_text_can_be_written() {
    let text =
        "a: \"{{ '{{ x }}' }}\"\nb: {% raw %}\"{{ y }} {% if %}\"{% endraw %}\n\nc: {# gone #}1\n";
    assert_eq!(
        body_with(&json!(null), text),
        json!({"a": "{{ x }}", "b": "{{ y }} {% if %}", "c": 1})
    );
}

#[test]
fn several_documents_are_several_objects_and_empty_ones_are_none() {
    let case = Case::new(&json!({"v": [1, 2], "none": []})).file(
        "many.yaml",
        "{% for x in v %}\n---\nkind: A\nx: {{ x }}\n{% endfor %}\n---\n# nothing\n---\n{{ {'kind': 'B'} }}\n---\n{{ 1 if none }}\n---\n{{ omit }}\n",
    );
    assert_eq!(
        case.documents("many.yaml").map(Json::from),
        Ok(json!([{"kind": "A", "x": 1}, {"kind": "A", "x": 2}, {"kind": "B"}]))
    );
    let case = Case::new(&json!({}))
        .file("none.yaml", "{% if false %}\nkind: A\n{% endif %}\n")
        .file("empty.yaml", "");
    assert_eq!(case.documents("none.yaml"), Ok(Vec::new()));
    assert_eq!(case.documents("empty.yaml"), Ok(Vec::new()));
}

#[test]
fn what_a_template_reads_is_known_without_rendering() {
    let case = Case::new(&json!({}))
        .file("a.yaml", "{% include 'b.yaml' %}\nx: {{ children.db.status['phase'].a[i].b }}\n{% set y = parent.spec %}{{ y.z }}{{ range(1) }}{{ omit }}")
        .file("b.yaml", "{% for c in inputs.pods %}{{ c.name }}{% endfor %}\n{{ get(children.web, 'a', 1) }}");
    let mut builder = case.builder();
    let template = builder.compile_file("a.yaml").unwrap();
    let mut reads: Vec<_> = template
        .reads()
        .iter()
        .map(|read| format!("{} {}", read.path.join("."), read.place))
        .collect();
    reads.sort();
    assert_eq!(
        reads,
        [
            "children.db.status.phase.a a.yaml:2:7",
            "children.web b.yaml:2:8",
            "i a.yaml:2:37",
            "inputs.pods b.yaml:1:13",
            "parent.spec a.yaml:3:12",
        ]
    );
}
