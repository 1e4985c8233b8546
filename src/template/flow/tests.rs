//! What is said to flow where, against templates whose flows can be seen.

use super::super::{Builder, Origin};
use super::*;
use crate::source::Source as Text;
use std::sync::Arc;

fn study(text: &str, files: &[(&str, &str)]) -> Study {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), Text::new(*name, *text)));
    let mut builder = Builder::new(Arc::new(files.collect()));
    let template = builder.compile_documents(text, Origin::file(&Text::new("t", text))).unwrap();
    builder.build().study(&template)
}

/// `path <- sources`, with `#` in front of what is hashed and `~` in front of what is mixed.
fn flows(text: &str, files: &[(&str, &str)]) -> Vec<String> {
    let said = |sink: &Sink| {
        let source = |source: &Source| {
            let mark = match (source.hashed, source.whole) {
                (true, _) => "#",
                (false, false) => "~",
                (false, true) => "",
            };
            format!("{mark}{}", source.path.join("."))
        };
        let sources: Vec<String> = sink.sources.iter().map(source).collect();
        format!("{} <- {}", sink.spot.path.join("."), sources.join(" "))
    };
    study(text, files).sinks.iter().map(said).collect()
}

#[test]
fn values_flow_through_expressions_and_statements() {
    for (text, expected) in [
        ("a: {{ x.y['z'].w }}", vec!["a <- x.y.z.w"]),
        ("a: {{ x[y].z }}", vec!["a <- x.*.z"]),
        ("a: {{ x ~ y.z|upper }}", vec!["a <- ~x ~y.z"]),
        ("a: {{ x.y|default(z) }}", vec!["a <- x.y z"]),
        ("a: {{ x.y|to_json|sha256 }}", vec!["a <- #x.y"]),
        ("a: {{ (x.y|sha256)[:8] }}", vec!["a <- #x.y"]),
        ("a: {{ get(x, 'y.z', d) }}", vec!["a <- d x.y.z"]),
        ("a: {{ get(x, ['y.z', w]) }}", vec!["a <- x.y.z.*"]),
        ("a: {{ x if y else z }}", vec!["a <- x z"]),
        ("a: {{ x is defined }}{{ not y }}", vec!["a <- ", "a <- "]),
        ("a: {{ x == y }}", vec!["a <- ~x ~y"]),
        ("a: {{ [x, {'k': y}] }}", vec!["a <- ~x ~y"]),
        ("{% set v = x.y %}a: {{ v.z }}", vec!["a <- x.y.z"]),
        (
            "{% if c %}{% set v = x %}{% else %}{% set v = y %}{% endif %}a: {{ v }}",
            vec!["a <- x y"],
        ),
        ("{% for i in x.y %}\n- {{ i.z }}\n{% endfor %}\n", vec!["* <- x.y.*.z"]),
        (
            "{% for k, v in x|items %}\n{{ k }}: {{ v }}\n{% endfor %}\n",
            vec!["* <- x.*", "* <- x.*"],
        ),
        (
            "{% for k, v in x.items() %}\n{{ k }}: {{ v }}\n{% endfor %}\n",
            vec!["* <- x.*", "* <- x.*"],
        ),
        ("{% with v = x %}\na: {{ v.y }}\n{% endwith %}\n", vec!["a <- x.y"]),
        ("{% set v %}b: {{ x.y }}{% endset %}\na: {{ v|upper }}\n", vec!["a <- ~x.y"]),
        ("{% set v %}b: {{ x.y }}{% endset %}\n{{ v }}\n", vec!["b <- x.y"]),
        ("{% set v | sha256 %}{{ x }}{% endset %}\na: {{ v }}\n", vec!["a <- #x"]),
        ("a: {% filter upper %}{{ x }}{% endfilter %}\n", vec!["a <- ~x"]),
        ("{% set ns = namespace(v=1) %}{% set ns.v = x %}a: {{ ns.v }}", vec!["a <- ~x"]),
        (
            "{% macro m(p, q=y) %}{{ p.z }}{{ q }}{% endmacro %}\na: {{ m(x) }}\n",
            vec!["a <- x.z", "a <- y"],
        ),
        (
            "{% macro m() %}{{ caller() }}{% endmacro %}\na: {% call m() %}{{ x }}{% endcall %}\n",
            vec!["a <- x"],
        ),
        ("a: {{ x|default({})|items }}", vec!["a <- x"]),
        ("a: {{ range(3) }}{{ omit }}", vec!["a <- ", "a <- "]),
    ] {
        assert_eq!(flows(text, &[]), expected, "{text}");
    }
}

#[test]
fn values_flow_through_files() {
    let files = [
        ("part.yaml", "  b: {{ x.y }}\n  c: {{ outer.z }}\n"),
        ("lib.yaml", "{% macro m(p) %}\n  d: {{ p }}\n{% endmacro %}\n{% set v = x.v %}\n"),
        ("base.yaml", "a:\n  {% block body %}\n  old: {{ x.old }}\n  {% endblock %}\n"),
    ];
    for (text, expected) in [
        (
            "{% set outer = w %}\na:\n{% include 'part.yaml' %}\ne: {{ x }}\n",
            vec!["a.b <- x.y", "a.c <- w.z", "e <- x"],
        ),
        (
            "{% import 'lib.yaml' as lib %}\na:\n{{ lib.m(x.z) }}\nb: {{ lib.v.w }}\n",
            vec!["a.d <- x.z", "b <- x.v.w"],
        ),
        ("{% from 'lib.yaml' import m as n %}\na:\n{{ n(x.z) }}\n", vec!["a.d <- x.z"]),
        (
            "{% extends 'base.yaml' %}{% block body %}  new: {{ x.new }}\n{% endblock %}",
            vec!["a.new <- x.new", "a.old <- x.old"],
        ),
    ] {
        assert_eq!(flows(text, &files), expected, "{text}");
    }
    let place = study("a:\n{% include 'part.yaml' %}", &files).sinks[0].place.to_string();
    assert_eq!(place, "part.yaml:1:9");
}

#[test]
fn what_a_template_names_itself_is_no_read() {
    let files = [("part.yaml", "b: {{ port.name }}{{ nowhere }}\n")];
    let reads = |text: &str| -> Vec<String> {
        let said = |read: &Read| format!("{} {}", read.place, read.path.join("."));
        study(text, &files).reads.iter().map(said).collect()
    };
    for (text, expected) in [
        ("a: {{ x.y }}{{ x.y }}", vec!["t:1:7 x.y", "t:1:16 x.y"]),
        (
            "{% for i in x %}{{ i.y }}{{ loop.index }}{% endfor %}{{ i }}",
            vec!["t:1:13 x", "t:1:57 i"],
        ),
        ("{% macro m(p) %}{{ p }}{{ q }}{% endmacro %}", vec!["t:1:27 q"]),
        ("{% macro m(p) %}{{ p }}{{ q }}{% endmacro %}{% set q = 1 %}{{ m(2) }}", vec![]),
        (
            "{% for port in x %}{% include 'part.yaml' %}{% endfor %}",
            vec!["t:1:16 x", "part.yaml:1:22 nowhere"],
        ),
        ("{% if x is defined and y[z] %}{% endif %}", vec!["t:1:7 x", "t:1:26 z", "t:1:24 y"]),
    ] {
        assert_eq!(reads(text), expected, "{text}");
    }
}

#[test]
fn plain_texts_have_their_place() {
    let text = "kind: {% if x %}A{% else %}B{% endif %} \n{% if x %}\nmetadata:\n  name: 'my_name'\n{% endif %}\nb: x{{ y }}\n";
    let said = |literal: &Literal| {
        format!("{} {}={}", literal.place, literal.spot.path.join("."), literal.text)
    };
    let studied = study(text, &[]);
    let found: Vec<String> =
        studied.literals.iter().filter(|literal| !literal.spot.is_key).map(said).collect();
    // A text that two branches wrote is nobody's.
    assert_eq!(found, ["t:4:9 metadata.name=my_name"]);
    assert_eq!(studied.literal(0, "kind"), None);
    assert_eq!(study("kind: A\n---\nkind: B\n", &[]).literal(1, "kind"), Some("B"));
}

#[test]
fn a_walk_ends_whatever_the_template_does() {
    let twice = "{% macro m(x) %}{{ m(x) }}{{ m(x) }}{% endmacro %}a: {{ m(y) }}";
    study(twice, &[]);
    let files = [("loop.yaml", "{% include 'loop.yaml' %}{% include 'loop.yaml' %}")];
    study("{% include 'loop.yaml' %}", &files);
    let mut doubling = "{% set v %}{{ x }}{% endset %}".to_owned();
    for _ in 0..40 {
        doubling += "{% set v %}{{ v }}{{ v }}{% endset %}";
    }
    assert_eq!(flows(&(doubling + "a: {{ v|upper }}"), &[]), ["a <- ~x"]);
}
