//! What is said to flow where, against templates whose flows can be seen.

use super::super::{Awaits, Builder, Context, Mode, Origin, Part, token};
use super::*;
use crate::source::Source as Text;
use crate::yaml::{Kind, Node};
use minijinja::OutputSpanKind;
use serde_json::{Value as Json, json};
use std::ops::Range;
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
        ("{% for i in x.y %}\n- {{ i.z }}\n{% endfor %}\n", vec!["* <- x.y.#.z"]),
        (
            "{% for k, v in x|items %}\n{{ k }}: {{ v }}\n{% endfor %}\n",
            vec!["* <- x.#", "* <- x.*"],
        ),
        (
            "{% for k, v in x.items() %}\n{{ k }}: {{ v }}\n{% endfor %}\n",
            vec!["* <- x.#", "* <- x.*"],
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
        ("a: {{ x|map(attribute='y.z')|join(',') }}", vec!["a <- ~x.*.y.z"]),
        ("a: {{ x|map('upper')|list }}", vec!["a <- ~x"]),
        (
            "a: {{ x|length }}{{ x|keys }}{{ x|values|first }}",
            vec!["a <- ", "a <- x.#", "a <- x.*.*"],
        ),
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
    assert!(study("a:\n{% include 'part.yaml' %}", &files).complete);
    let place = study("a:\n{% include 'part.yaml' %}", &files).sinks[0].place.to_string();
    assert_eq!(place, "part.yaml:1:9");
}

#[test]
fn what_a_template_names_itself_is_no_read() {
    let files = [("part.yaml", "b: {{ port.name }}{{ nowhere }}\n")];
    let reads = |text: &str| -> Vec<String> {
        let said = |read: &Reading| {
            let mark = if read.optional { "?" } else { "" };
            format!("{} {}{mark}", read.place, read.path.join("."))
        };
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
        ("{% if x is defined and y[z] %}{% endif %}", vec!["t:1:7 x?", "t:1:26 z?", "t:1:24 y?"]),
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
    assert!(!study(twice, &[]).complete);
    let files = [("loop.yaml", "{% include 'loop.yaml' %}{% include 'loop.yaml' %}")];
    assert!(!study("{% include 'loop.yaml' %}", &files).complete);
    let mut doubling = "{% set v %}{{ x }}{% endset %}".to_owned();
    for _ in 0..40 {
        doubling += "{% set v %}{{ v }}{{ v }}{% endset %}";
    }
    assert_eq!(flows(&(doubling + "a: {{ v|upper }}"), &[]), ["a <- ~x"]);
}

/// Where the values of a real rendering land: the source and bytes of each expression, the document, and the path.
fn rendered(
    text: &str,
    files: &[(&str, &str)],
    values: &Json,
) -> Vec<(String, Range<usize>, Spot)> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), Text::new(*name, *text)));
    let mut builder = Builder::new(Arc::new(files.collect()));
    let template = builder.compile_documents(text, Origin::file(&Text::new("t", text))).unwrap();
    let templates = builder.build();
    let context =
        values.as_object().unwrap().iter().fold(Context::new(), |context, (name, value)| {
            context.with(name, Part::new(name, value, Awaits::Nothing))
        });
    let name = &template.name;
    let rendered = templates.render(name, &context, Mode::Strict).unwrap();
    let tree = templates.read(name, &context, &rendered).unwrap();
    let spans = templates.spans(name, &context, &rendered);
    let mut landed = Vec::new();
    for span in spans.iter().filter(|span| span.kind() != OutputSpanKind::Raw) {
        let sheet = &templates.parts.sheets[span.name()];
        let place = sheet.place(&sheet.written(&span.source_range()));
        for (at, document) in tree.iter().enumerate() {
            let mut spot = Spot { document: at, ..Spot::default() };
            if find(&document.root, &span.output_range(), &mut spot) {
                landed.push((place.source.name.clone(), place.span.clone(), spot));
            }
        }
    }
    landed
}

/// Whether some bytes are in a node; the way to them.
fn find(node: &Node, bytes: &Range<usize>, spot: &mut Spot) -> bool {
    let contains = |node: &Node| node.span.start <= bytes.start && bytes.end <= node.span.end;
    match &node.kind {
        Kind::Mapping(entries) => entries.iter().any(|(key, value)| {
            let name = key.as_str().unwrap_or_default();
            let step = if token::is_in(name) { ANY } else { name };
            let before = spot.clone();
            spot.path.extend((step != "<<").then(|| step.to_owned()));
            spot.is_key = contains(key);
            if spot.is_key || find(value, bytes, spot) {
                return true;
            }
            *spot = before;
            false
        }),
        Kind::Sequence(items) => items.iter().any(|item| {
            spot.path.push(ANY.to_owned());
            find(item, bytes, spot) || {
                spot.path.pop();
                false
            }
        }),
        _ => contains(node),
    }
}

#[test]
fn values_land_where_a_real_rendering_puts_them() {
    let webapp = |name: &str| std::fs::read_to_string(format!("templates/webapp/{name}")).unwrap();
    let part = "{% macro port(n, v) %}\n- name: {{ n }}\n  port: {{ v }}\n{% endmacro %}\n";
    let texts = [
        webapp("deployment.yaml"),
        webapp("configmap.yaml"),
        webapp("service.yaml"),
        webapp("ingress.yaml"),
        "a:\n  {% for k, v in parent.spec.env|items %}\n  {{ k }}: [{{ v }}, {x: \"{{ v }}-{{ k }}\"}]\n  {% endfor %}\nb:\n\
         {% for v in parent.spec.list %}\n- {{ v }}\n- c: {{ v }}\n  d:\n  - - {{ v }}\n    - e: {{ v }}\n{% endfor %}\n"
            .to_owned(),
        "# {{ let.name }}\na: >-\n  text {{ let.name }}\n  more {{ let.name }}: x\nb: {\n  c: {{ let.name }}, # {{ let.name }}\n  \"d: e\": {{ let.name }}}\n\
         ---\n<<: {{ let.labels }}\nf: 'it''s: {{ let.name }}'\n---\n{{ let.name }}: {g: [{{ let.name }}]}\n"
            .to_owned(),
        "{% import 'part.yaml' as part %}\nports:\n  {% filter indent(2, true) %}\n- {name: {{ let.name }}}\n{% endfilter %}\n{{ part.port(let.name, let.name)|indent(2, true) }}{% set v = let.name ~ 'x' %}\nv: {{ v }}\n\
         {% if parent.spec.port %}\nw: {{ 1 }}\n{% else %}\nw: {{ parent.spec.host }}\n{% endif %}\n{% include 'more.yaml' %}\n"
            .to_owned(),
    ];
    let values = json!({
        "parent": {"spec": {"image": "i", "host": "h", "env": {"A": "b", "C": "d"}, "list": ["e", "f"],
            "files": {"g": "h"}}},
        "let": {"name": "n", "labels": {"l": "m"}}});
    let files = [("part.yaml", part), ("more.yaml", "more:\n  x: {{ parent.spec.host }}\n")];
    let mut seen = 0;
    for text in texts {
        let study = study(&text, &files);
        for (source, bytes, spot) in rendered(&text, &files, &values) {
            let is_same = |sink: &&Sink| {
                let span = &sink.place.span;
                sink.place.source.name == source && span.start < bytes.end && bytes.start < span.end
            };
            let sink = study.sinks.iter().find(is_same);
            assert_eq!(sink.map(|sink| &sink.spot), Some(&spot), "{source} {bytes:?}\n{text}");
            seen += 1;
        }
    }
    assert!(seen >= 50, "{seen}");
}
