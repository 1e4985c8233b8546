//! A hostile template or parent ends in an error, soon.

use super::*;

#[test]
fn work_and_memory_of_a_rendering_are_bounded() {
    let list = vec![1; 20_000];
    let case = Case::new(&json!({"v": "x".repeat(1 << 20), "deep": deep(70), "list": list}));
    let captured = "{% set t %}{{ v }}{% endset %}\n";
    let many = "{% set m %}{% for x in range(1000) %}{{ t }}{% endfor %}{% endset %}\n";
    let doubled = |what: &str, times: usize| {
        let doubling = format!("{{% set x = {what} %}}").repeat(times);
        format!("{{% set x = [1] %}}{doubling}a: {{{{ x }}}}")
    };
    let table = [
        ("a: {{ range(1000000000) }}".to_owned(), "template-error"),
        (
            "{% for x in range(100000) %}{% for y in range(100000) %}{% endfor %}{% endfor %}"
                .to_owned(),
            "template-limit",
        ),
        ("{% set x = 'a' * 1000000000 %}".to_owned(), "template-limit"),
        (
            "{% set x = 'ab' %}".to_owned() + &"{% set x = x ~ x %}".repeat(40) + "a: {{ x }}",
            "template-limit",
        ),
        (doubled("x + x", 24), "template-limit"),
        (doubled("x + x", 40), "template-limit"),
        (doubled("[x, x]", 24), "template-limit"),
        (doubled("x * 2", 40), "template-error"),
        (doubled("{'a': x, 'b': x}", 30), "template-limit"),
        ("a: {{ v }}\n".to_owned() + &numbered("bN: {{ v }}\n", 6), "template-error"),
        ("a: {{ deep }}".to_owned(), "template-error"),
        ("{% macro m() %}{{ m() }}{% endmacro %}a: {{ m() }}".to_owned(), "template-error"),
        ("{% set ns = namespace() %}{% set ns.a = ns %}a: {{ ns }}".to_owned(), "template-error"),
        ("a: {{ ('x' * 100000)|regex_replace('x', 'y' * 1000) }}".to_owned(), "template-limit"),
        ("a: {{ '%1000000000d'|format(1) }}".to_owned(), "template-limit"),
        ("a: {{ 'a\nb'|indent(1000000000000) }}".to_owned(), "template-limit"),
        ("a: {{ v|regex_match('(a|b|ab)*c') }}".to_owned(), "template-limit"),
        ("---\na: 1\n".repeat(101), "template-yaml"),
        ("a: ".to_owned() + &"[".repeat(70) + &"]".repeat(70), "template-yaml"),
        // One value, named again and again: by aliases, and by text that holds its placeholder.
        ("a: &a {{ v }}\n".to_owned() + &numbered("bN: *a\n", 6), "template-limit"),
        (format!("{captured}a: [{}]", "{{ t }}, ".repeat(6)), "template-limit"),
        (format!("{captured}a: \"{}\"", "{{ t }}".repeat(6)), "template-limit"),
        (format!("{captured}{}", numbered("'N{{ t }}': 1\n", 6)), "template-limit"),
        (format!("{captured}{many}a: {{{{ m|length }}}}"), "template-limit"),
        (format!("{captured}{many}a: {{{{ m ~ 'x' }}}}"), "template-limit"),
        (format!("{captured}{many}a: {{{{ m == v }}}}"), "template-limit"),
        ("a: &a {{ list }}\n".to_owned() + &numbered("bN: *a\n", 30), "template-limit"),
        ("a: &a {{ v }}\nb: *a\n".to_owned(), ""),
        ("a: &a [1, 1]\n".to_owned() + &numbered("bN: &bN [*a, *a]\n", 40), ""),
    ];
    for (text, code) in table {
        fails_with(&case, &text, code);
    }
}

#[test]
fn the_documents_of_a_rendering_share_its_bound() {
    let captured = "{% set t %}{{ v }}{% endset %}\n";
    let documents = |count: usize| {
        let text = captured.to_owned() + &numbered("---\na: {{ t }}\n", count);
        let case = Case::new(&json!({"v": "x".repeat(1 << 20)})).file("t.yaml", &text);
        case.documents("t.yaml").map(|documents| documents.len()).map_err(|failure| told(&failure))
    };
    assert_eq!(documents(4), Ok(4));
    let refused = documents(6).unwrap_err();
    assert!(refused.contains("longer than 5242880 bytes together"), "{refused}");
}

/// An empty code expects a value.
fn fails_with(case: &Case, text: &str, code: &str) {
    let shown = &text[..text.len().min(120)];
    match case.body(text) {
        Ok(_) => assert!(code.is_empty(), "{shown}"),
        Err(Failure::Failed(problem)) => assert_eq!(problem.code, code, "{shown}: {problem}"),
        Err(waiting) => panic!("{shown}: {waiting:?}"),
    }
}

fn numbered(line: &str, count: usize) -> String {
    (0..count).map(|n| line.replace('N', &n.to_string())).collect()
}

fn deep(levels: usize) -> Json {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn a_template_that_includes_itself_ends() {
    let case = Case::new(&json!({}))
        .file("a.yaml", "{% include 'b.yaml' %}")
        .file("b.yaml", "{% include 'a.yaml' %}");
    let failure = told(&case.documents("a.yaml").unwrap_err());
    assert!(failure.contains("includes or calls itself without end"), "{failure}");
}

#[test]
fn sources_are_bounded_and_long_chains_do_not_overflow_the_stack() {
    let source = Source::new("t", "");
    let mut builder = Case::new(&json!({"a": {}})).builder();
    let long = format!("a: {}", "x".repeat(200_000));
    let problems = builder.compile_documents(&long, Origin::file(&source)).unwrap_err();
    assert_eq!(problems[0].code, "template-too-long");

    let chains = [
        format!("v: {{{{ a{} }}}}", ".b".repeat(60_000)),
        format!("v: {{{{ a{} is defined }}}}", "[0]".repeat(40_000)),
        format!("v: {{{{ 'a'{} }}}}", " ~ 'a'".repeat(20_000)),
        format!("v: {{{{ 1{} }}}}", "+1".repeat(60_000)),
        format!("v: {{{{ a{} }}}}", "|d(a)".repeat(20_000)),
        format!("v: {{{{ {}1{} }}}}", "(".repeat(100), ")".repeat(100)),
        format!("v: {{{{ {}1 }}}}", "not ".repeat(30_000)),
        format!("{}{}", "{% if a %}".repeat(5_000), "{% endif %}".repeat(5_000)),
        format!("v: {{{{ {} }}}}", "(".repeat(60_000)),
        format!("v: {{{{ {} }}}}", "-".repeat(100_000)),
    ];
    for text in chains {
        let source = Source::new("t", text.as_str());
        let mut builder = Case::new(&json!({})).builder();
        if let Ok(body) = builder.compile_body(&text, Origin::file(&source), Mode::Strict) {
            let _ = builder.build().body(&body, &Context::new());
        }
    }
}

#[test]
fn templates_are_shared_between_threads() {
    let case = Case::new(&json!({"v": {"a": 1}}));
    let text = "x: {{ v.a }}\n";
    let source = Source::new("t", text);
    let mut builder = case.builder();
    let body = builder.compile_body(text, Origin::file(&source), Mode::Strict).unwrap();
    let templates = builder.build();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(
                        templates.body(&body, &case.context).map(Json::Object),
                        Ok(json!({"x": 1}))
                    );
                }
            });
        }
    });
}
