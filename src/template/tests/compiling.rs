//! What is found before anything is rendered.

use super::*;
use crate::yaml::{self, Limits};

fn problems(text: &str) -> Vec<String> {
    let source = Source::new("t", text);
    let mut builder = Case::new(&json!({})).file("known.yaml", "a: 1\n").builder();
    match builder.compile_documents(text, Origin::file(&source)) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

const MISTAKES: &[(&str, &[&str])] = &[
    ("a: {{ x|uper }}", &["t:1:9: unknown filter `uper` (did you mean `upper`?)"]),
    ("a: {{ x|nothing_like_it }}", &["t:1:9: unknown filter `nothing_like_it`"]),
    ("a: {{ x is definde }}", &["t:1:12: unknown test `definde` (did you mean `defined`?)"]),
    ("a: {{ x is not definde }}", &["t:1:16: unknown test `definde` (did you mean `defined`?)"]),
    ("a: {{ gett(x) }}", &["t:1:7: unknown function `gett` (did you mean `get`?)"]),
    (
        "{% filter uper %}{% endfilter %}",
        &["t:1:11: unknown filter `uper` (did you mean `upper`?)"],
    ),
    ("{% set y | uper %}{% endset %}", &["t:1:12: unknown filter `uper` (did you mean `upper`?)"]),
    (
        "a: {{ x|uper }}\nb: {{ y|lowr }}\n",
        &[
            "t:1:9: unknown filter `uper` (did you mean `upper`?)",
            "t:2:9: unknown filter `lowr` (did you mean `lower`?)",
        ],
    ),
    ("a: {{ x|safe }}", &["t:1:9: unknown filter `safe`"]),
    ("a: {{ x|map('uper') }}", &["t:1:13: unknown filter `uper` (did you mean `upper`?)"]),
    (
        "a: {{ x|select('od')|selectattr('a', 'evn') }}",
        &[
            "t:1:16: unknown test `od` (did you mean `odd`?)",
            "t:1:38: unknown test `evn` (did you mean `even`?)",
        ],
    ),
    ("a: {{ x|map(attribute='a')|select }}", &[]),
    (
        "{% autoescape false %}{{ x }}{% endautoescape %}",
        &["t:1:4: values are never escaped, since they are never read again"],
    ),
    (
        "{% include 'gone.yaml' %}",
        &["t:1:12: no template `gone.yaml` (names are relative to the folder of templates)"],
    ),
    (
        "{% include '../known.yaml' %}",
        &[
            "t:1:12: no template `../known.yaml` (did you mean `known.yaml`? names are relative to the folder of templates)",
        ],
    ),
    ("{% include 'gone.yaml' ignore missing %}", &[]),
    ("{% include ['gone.yaml', 'known.yaml'] %}", &[]),
    (
        "{% include x %}",
        &[
            "t:1:4: `include` needs the name of a template in quotes (choose between several with `{% if … %}`)",
        ],
    ),
    (
        "{% extends 'a' ~ x %}",
        &[
            "t:1:4: `extends` needs the name of a template in quotes (choose between several with `{% if … %}`)",
        ],
    ),
    (
        "{% import x as y %}",
        &[
            "t:1:4: `import` needs the name of a template in quotes (choose between several with `{% if … %}`)",
        ],
    ),
    ("{{ __step }}", &["t:1:4: names that begin with `__` are reserved (choose another name)"]),
    ("a: \u{10fe00}", &["t:1:4: this character is reserved for placeholders"]),
    (
        "{% macro m(a) %}{{ caller() }}{% endmacro %}{{ m(1) }}{% for x in y recursive %}{{ loop(x) }}{% endfor %}",
        &[],
    ),
    ("{% import 'known.yaml' as k %}{{ k.f(1) }}{{ x.method() }}", &[]),
];

#[test]
fn mistakes_are_found_with_their_place_all_at_once() {
    for (text, expected) in MISTAKES {
        assert_eq!(problems(text), *expected, "{text}");
    }
}

#[test]
fn what_cannot_be_parsed_has_the_place_of_the_parser() {
    let table = [
        ("a: {{ x", "t:1:"),
        ("a: 1\nb: {{ x.. }}", "t:2:9"),
        ("{% if x %}\na: 1\n", "t:1:4"),
        ("a: 1\n{% endif %}", "t:2:4"),
        ("a: 1\nb: {{ 'x }}", "t:2:"),
        ("a: {% nope %}", "t:1:7"),
        ("a: {{ x|| }}", "t:1:9"),
        ("a: {{ f(a=1, 2) }}", "t:1:"),
    ];
    for (text, place) in table {
        let problems = problems(text);
        assert!(problems.len() == 1 && problems[0].starts_with(place), "{text}: {problems:?}");
    }
}

#[test]
fn mistakes_in_included_files_are_theirs() {
    let case = Case::new(&json!({}))
        .file("a.yaml", "a: {{ x|uper }}\n{% include 'b.yaml' %}")
        .file("main.yaml", "{% include 'a.yaml' %}\n{% include 'b.yaml' %}\n")
        .file("b.yaml", "x: 1\ny: {{ z|lowr }}");
    let mut found: Vec<_> = case
        .builder()
        .compile_file("main.yaml")
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "a.yaml:1:9: unknown filter `uper` (did you mean `upper`?)",
            "b.yaml:2:9: unknown filter `lowr` (did you mean `lower`?)"
        ]
    );
    let unknown = case.builder().compile_file("nope.yaml").unwrap_err();
    assert_eq!(
        unknown[0].to_string(),
        "no template `nope.yaml` (names are relative to the folder of templates)"
    );
}

#[test]
fn a_template_inside_of_a_rule_file_has_places_of_that_file() {
    let file = "spec:\n  let: |\n    name: {{ parent.metadata.name }}\n    bad: {{ x|uper }}\n  name: \"{{ parent.gone }}\"\n";
    let source = Source::new("rule.yaml", file);
    let root = yaml::parse(file, &Limits::FILE).unwrap().remove(0).root;
    let at = |key: &str| {
        let node = root.get("spec").unwrap().get(key).unwrap();
        (
            node.as_str().unwrap().to_owned(),
            Origin::inside(&source, node.content_origin(file).unwrap()),
        )
    };
    let case = Case::new(&json!({"parent": {"metadata": {}}}));

    let (text, origin) = at("let");
    let problems = case.builder().compile_body(&text, origin.clone(), Mode::Strict).unwrap_err();
    assert_eq!(problems[0].place.as_ref().unwrap().to_string(), "rule.yaml:4:15");

    let mut builder = case.builder();
    let good = text.replace("|uper", "");
    let body = builder.compile_body(&good, origin, Mode::Strict).unwrap();
    let (text, origin) = at("name");
    let line = builder.compile_line(&text, origin).unwrap();
    let templates = builder.build();
    let failure = templates.body(&body, &case.context).unwrap_err();
    assert_eq!(told(&failure), "rule.yaml:3:14: `parent.metadata.name` is undefined");
    let failure = templates.line(&line, &case.context).unwrap_err();
    assert_eq!(told(&failure), "rule.yaml:5:13: `parent.gone` is undefined");
}

#[test]
fn a_line_without_expressions_is_literal() {
    let source = Source::new("t", "");
    let mut builder = Case::new(&json!({})).builder();
    let literal = builder.compile_line("no", Origin::file(&source)).unwrap();
    assert_eq!(literal.literal(), Some("no"));
    let computed = builder.compile_line("{{ 'no' }}", Origin::file(&source)).unwrap();
    assert_eq!(computed.literal(), None);
    let templates = builder.build();
    assert_eq!(templates.line(&literal, &Context::new()), Ok("no".to_owned()));
    assert_eq!(templates.line(&computed, &Context::new()), Ok("no".to_owned()));
}
