//! What does not exist: tolerated where the language says so, told exactly everywhere else.

use super::*;

fn case() -> Case {
    Case::new(&json!({
        "parent": {
            "metadata": {"name": "web"},
            "spec": {"replicas": 3, "host": null, "list": [{"name": "a"}, {"name": "b", "size": 1}]},
        },
        "children": {"deployment": {"spec": {"replicas": 3}, "list": [{}]}, "other": null},
        "inputs": {},
        "let": {"name": "web"},
    }))
}

#[test]
fn if_default_defined_and_get_tolerate_missing_steps_at_any_depth() {
    let table = [
        ("parent.spec.a is defined", json!(false)),
        ("parent.spec.a.b.c is defined", json!(false)),
        ("parent.spec.a.b.c is undefined", json!(true)),
        ("parent['spec']['a']['b'] is not defined", json!(true)),
        ("parent.spec.list[7].name is defined", json!(false)),
        ("parent.spec.replicas.deeper is defined", json!(false)),
        ("parent.spec.host.deeper is defined", json!(false)),
        ("parent.spec.replicas is defined", json!(true)),
        ("parent.spec.a|default(1)", json!(1)),
        ("parent.spec.a.b.c|default(1)", json!(1)),
        ("parent.spec.a.b|d({})", json!({})),
        ("parent.spec.host|default('x')", json!("x")),
        ("parent.spec.replicas|default(1)", json!(3)),
        ("(parent.spec.a.b)|default(1)", json!(1)),
        ("get(parent, 'spec.a.b', 1)", json!(1)),
        ("get(parent, 'spec.host', 1)", json!(1)),
        ("get(parent, 'spec.list.1.name', 1)", json!("b")),
        ("get(parent, 'spec.list.9.name', none)", json!(null)),
        ("get(parent, ['spec', 'replicas'])", json!(3)),
        ("get(parent.nothing.at.all, 'a.b', 1)", json!(1)),
        ("get(children.gone, 'status.replicas', 0)", json!(0)),
        ("get(parent, 'spec.a.b') is defined", json!(false)),
        ("1 if parent.spec.a.b else 2", json!(2)),
        ("1 if not parent.spec.a.b else 2", json!(1)),
        ("parent.spec.a.b or 'x'", json!("x")),
        ("'y' if parent.spec.a.b and parent.spec.a.b > 3 else 'n'", json!("n")),
        ("'y' if children.gone.status.ready else 'n'", json!("n")),
        ("parent.spec.a.b is none", json!(false)),
        ("parent.status.phase|default('new')", json!("new")),
        ("[parent.spec.a.b|default(1), parent.spec.replicas]", json!([1, 3])),
        ("parent.spec.list|map(attribute='size', default=0)|list", json!([0, 1])),
    ];
    let case = case();
    for (expression, expected) in table {
        let text = format!("v: {{{{ {expression} }}}}");
        assert_eq!(
            case.body(&text).map_err(|f| told(&f)),
            Ok(json!({ "v": expected })),
            "{expression}"
        );
    }
    for condition in
        ["parent.spec.a.b", "children.x.y", "inputs.x", "parent.status.a.b", "not parent.spec.list"]
    {
        let text = format!(
            "v: 1\n{{% if {condition} %}}\nw: 2\n{{% elif parent.q.r %}}\nw: 3\n{{% endif %}}\n"
        );
        assert_eq!(case.body(&text), Ok(json!({"v": 1})), "{condition}");
    }
}

/// An empty expectation is any message about something undefined.
const REFUSED: &[(&str, &str)] = &[
    ("v: {{ parent.spec.a.b }}", "body:1:7: `parent.spec.a.b` is undefined"),
    ("v: \"x{{ parent.spec.a }}\"", "body:1:9: `parent.spec.a` is undefined"),
    ("v: {{ parent.spec.a ~ 'x' }}", "body:1:7: `parent.spec.a` is undefined"),
    ("v: {{ 'x' ~ parent.spec.a.b }}", "body:1:13: `parent.spec.a.b` is undefined"),
    ("v: {{ parent.spec.a + 1 }}", "body:1:7: `parent.spec.a` is undefined"),
    ("v: {{ 1 - parent.spec.a }}", "body:1:11: `parent.spec.a` is undefined"),
    ("v: {{ -parent.spec.a }}", "body:1:8: `parent.spec.a` is undefined"),
    ("v: {{ parent.spec.a == 1 }}", "body:1:7: `parent.spec.a` is undefined"),
    ("v: {{ parent.spec.a > 1 }}", "body:1:7: `parent.spec.a` is undefined"),
    ("v: {{ 1 in parent.spec.a }}", "body:1:12: `parent.spec.a` is undefined"),
    ("v: {{ parent.spec.a in [1] }}", "body:1:7: `parent.spec.a` is undefined"),
    ("v: {{ parent.spec.a|upper }}", "body:1:7: `parent.spec.a` is undefined"),
    ("v: {{ parent.spec.a.b|length }}", "body:1:7: `parent.spec.a.b` is undefined"),
    ("v: {{ [parent.spec.a] }}", "body:1:8: `parent.spec.a` is undefined"),
    ("v: {{ {'k': parent.spec.a} }}", "body:1:13: `parent.spec.a` is undefined"),
    ("v: {{ ['x', parent.spec.a]|join }}", ""),
    ("v: {{ parent.spec.a[0:1] }}", ""),
    ("v: {{ parent['a b'].c }}", "body:1:7: `parent[\"a b\"].c` is undefined"),
    ("v: {{ parent.spec.list[5].name }}", "body:1:7: `parent.spec.list[5].name` is undefined"),
    ("v: {{ parent[let.name] }}", "body:1:7: `parent.web` is undefined"),
    ("{% for x in parent.spec.a %}{% endfor %}", "body:1:13: `parent.spec.a` is undefined"),
    (
        "v: 1\n{% if parent.spec.a > 1 %}\nw: 1\n{% endif %}",
        "body:2:7: `parent.spec.a` is undefined",
    ),
    ("v: {{ nobody }}", "body:1:7: `nobody` is undefined"),
    ("v: {{ nobody.knows }}", "body:1:7: `nobody.knows` is undefined"),
    ("v: {{ [1][5] }}", "body:1:7: `[1][5]` is undefined"),
    ("v: {{ []|first }}", ""),
    ("v: {{ get(parent, 'spec.a') }}", "body:1:7: `parent.spec.a` is undefined"),
    ("v: {{ get(parent, 'spec.a') + 1 }}", "body:1:7: `parent.spec.a` is undefined"),
    // The names come from the data, however the template got there.
    (
        "{% for i in parent.spec.list %}\nv{{ loop.index }}: {{ i.size }}\n{% endfor %}",
        "body:2:23: `parent.spec.list[0].size` is undefined",
    ),
    ("{% set s = parent.spec %}v: {{ s.a.b }}", "body:1:32: `parent.spec.a.b` is undefined"),
    ("{% set s = parent.spec.a %}v: {{ s }}", "body:1:34: `parent.spec.a` is undefined"),
    ("{% set s = parent.spec.a %}v: {{ s.b.c }}", "body:1:34: `parent.spec.a` is undefined"),
    // A gap that did no harm does not take the blame for another.
    ("v: {{ parent.spec.b + parent.spec.a|default(1) }}", "body:1:7: `parent.spec.b` is undefined"),
    (
        "v: {{ parent.spec.a|default(1) + parent.spec.b }}",
        "body:1:34: `parent.spec.b` is undefined",
    ),
    ("{% if parent.spec.a %}{% endif %}\nv: {{ nobody }}", "body:2:7: `nobody` is undefined"),
];

#[test]
fn every_other_use_of_a_missing_value_fails_and_names_it() {
    let case = case();
    for (text, expected) in REFUSED {
        let failure = told(&case.body(text).unwrap_err());
        if expected.is_empty() {
            assert!(failure.contains("undefined"), "{text}: {failure}");
        } else {
            assert_eq!(failure, *expected, "{text}");
        }
    }
}

const AWAITED: &[(&str, &str)] = &[
    (
        "v: {{ children.deployment.status.replicas }}",
        "body:1:7: waiting for children.deployment.status.replicas",
    ),
    ("v: {{ children.gone.spec.x }}", "body:1:7: waiting for children.gone.spec.x"),
    ("v: {{ children.gone }}", "body:1:7: waiting for children.gone"),
    ("v: {{ children.other.spec }}", "body:1:7: waiting for children.other.spec"),
    ("v: {{ inputs.db.data.password|b64decode }}", "body:1:7: waiting for inputs.db.data.password"),
    ("v: {{ parent.status.phase }}", "body:1:7: waiting for parent.status.phase"),
    (
        "v: {{ children.deployment.status.replicas + 1 }}",
        "body:1:7: waiting for children.deployment.status.replicas",
    ),
    (
        "v: {{ children.deployment.status.replicas > 1 }}",
        "body:1:7: waiting for children.deployment.status.replicas",
    ),
    ("v: {{ 'x' ~ children.gone.a }}", "body:1:13: waiting for children.gone.a"),
    ("v: {{ [children.gone.a] }}", "body:1:8: waiting for children.gone.a"),
    ("{% for p in inputs.pods %}\n{% endfor %}", "body:1:13: waiting for inputs.pods"),
    ("{% if children.gone.a == 1 %}{% endif %}", "body:1:7: waiting for children.gone.a"),
    ("v: {{ get(children, 'gone.a') }}", "body:1:7: waiting for children.gone.a"),
    (
        "v: {{ get(children.deployment, 'status.x') }}",
        "body:1:7: waiting for children.deployment.status.x",
    ),
    (
        "{% set d = children.deployment %}\nv: {{ d.status.replicas }}",
        "body:2:7: waiting for children.deployment.status.replicas",
    ),
    ("{% set d = children.gone.spec %}\nv: {{ d }}", "body:2:7: waiting for children.gone.spec"),
    ("{% set d = children.gone %}\nv: {{ d.spec.x }}", "body:2:7: waiting for children.gone"),
    ("{% set p = parent %}\nv: {{ p.status.phase }}", "body:2:7: waiting for parent.status.phase"),
    (
        "{% for name, c in children|items if name == 'deployment' %}\nv: {{ c.status.x }}\n{% endfor %}",
        "body:2:7: waiting for children.deployment.status.x",
    ),
    (
        "{% for i in children.deployment.list %}\nv: {{ i.x }}\n{% endfor %}",
        "body:2:7: waiting for children.deployment.list[0].x",
    ),
    (
        "{% macro m(x) %}{{ x }}{% endmacro %}v: {{ m(children.gone.a) }}",
        "body:1:20: waiting for children.gone.a",
    ),
    (
        "v: {{ children.deployment.spec.replicas.deeper }}",
        "body:1:7: waiting for children.deployment.spec.replicas.deeper",
    ),
];

#[test]
fn what_may_still_appear_means_to_wait() {
    let case = case();
    for (text, expected) in AWAITED {
        assert_eq!(told(&case.body(text).unwrap_err()), *expected, "{text}");
    }
    assert_eq!(
        told(&case.line("{{ children.gone.a }}").unwrap_err()),
        "line:1:4: waiting for children.gone.a"
    );
    // The parent itself has to be complete, but for its status.
    assert!(matches!(case.body("v: {{ parent.spec.x }}"), Err(Failure::Failed(_))));
}

#[test]
fn an_undefined_value_comes_with_advice() {
    let failure = case().body("v: {{ parent.spec.a.b }}").unwrap_err();
    assert!(failure.summary().contains("`get(parent, \"spec.a.b\", default)`"), "{failure:?}");
    assert!(failure.summary().contains("`{% if parent.spec.a.b %}`"), "{failure:?}");
}

#[test]
fn an_unknown_name_is_not_excused_by_something_awaited() {
    let text = "{% if children.gone.x %}{% endif %}\nv: {{ nobody }}";
    assert_eq!(told(&case().body(text).unwrap_err()), "body:2:7: `nobody` is undefined");
}
