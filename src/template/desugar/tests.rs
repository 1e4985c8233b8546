//! What the author wrote and what the engine gets.

use super::super::compile::lexemes;
use super::super::language;
use super::*;
use minijinja::machinery::parse;
use minijinja::{Environment, UndefinedBehavior, Value};
use proptest::prelude::*;

fn translated(source: &str, lenient: bool) -> Desugared {
    desugar(source, &lexemes(source).unwrap(), lenient)
}

#[test]
fn only_what_means_something_else_to_the_engine_changes() {
    let table = [
        ("a {{ b }} c", "a {{ b }} c"),
        ("{{ a.b }}", "{{ (a|__step(0,\"b\")) }}"),
        ("{{ a.b.c|upper }}", "{{ (a|__step(0,\"b\",\"c\"))|upper }}"),
        ("{{ a['b'][c.d][0] }}", "{{ (a|__step(0,'b',(c|__step(1,\"d\")),0)) }}"),
        ("{{ a.0.b }}", "{{ (a|__step(0,0,\"b\")) }}"),
        ("{{ a.b|default(c.d) }}", "{{ (a|__step(none,\"b\"))|default((c|__step(0,\"d\"))) }}"),
        ("{{ a.b is defined }}", "{{ (a|__step(none,\"b\")) is defined }}"),
        ("{{ f(a.b).c }}", "{{ (f((a|__step(0,\"b\")))|__step(1,\"c\")) }}"),
        ("{{ a.b.c(d).e }}", "{{ ((a|__step(0,\"b\")).c(d)|__step(1,\"e\")) }}"),
        ("{{ (a).b }}", "{{ ((a)|__step(0,\"b\")) }}"),
        ("{{ a[1:2].b }}", "{{ ((a|__sliced)[1:2]|__step(0,\"b\")) }}"),
        ("{{ a ~ 'x' ~ b }}", "{{ (a)|__text ~ 'x' ~ (b)|__text }}"),
        ("{{ a ~ b * 2 == c }}", "{{ ((a)|__text ~ (b * 2)|__text)|__plain == (c)|__plain }}"),
        ("{{ a + 1 }}", "{{ (a)|__plain + 1 }}"),
        ("{{ -a - -1 }}", "{{ (-a)|__plain - (-1)|__plain }}"),
        ("{{ a not in b and not c }}", "{{ (a)|__plain not in (b)|__plain and not c }}"),
        ("{{ x is not in [1] }}", "{{ x is not in [1] }}"),
        ("{{ x is divisibleby -3 }}", "{{ x is divisibleby -3 }}"),
        (
            "{% for a, b in c.d if a.e recursive %}",
            "{% for a, b in (c|__step(0,\"d\")) if (a|__step(1,\"e\")) recursive %}",
        ),
        ("{% set a.b = c.d %}", "{% set a.b = (c|__step(0,\"d\")) %}"),
        ("{%- with a = b.c -%}", "{%- with a = (b|__step(0,\"c\")) -%}"),
        (
            "{% include 'a.b' %}{# a.b #}{% raw %}{{ a.b }}{% endraw %}",
            "{% include 'a.b' %}{# a.b #}{% raw %}{{ a.b }}{% endraw %}",
        ),
        ("{{ a\n.b\n  .c }}", "{{ (a|__step(0\n,\"b\"\n,\"c\")) }}"),
    ];
    for (source, expected) in table {
        // Where a skipped line break lands is of no interest.
        let flat = |text: &str| text.replace('\n', "");
        assert_eq!(flat(&translated(source, false).text), flat(expected), "{source}");
    }
}

#[test]
fn expressions_of_a_lenient_body_can_be_switched_off() {
    let table = [
        ("{{ a }}", "{{ ((a)|__soft if __live(0) else omit) }}"),
        ("{% if a %}{% elif b %}", "{% if ((a) if __live(0)) %}{% elif ((b) if __live(1)) %}"),
        ("{% for x in a if b %}", "{% for x in ((a) if __live(0)) if ((b) if __live(1)) %}"),
        ("{% set x = a %}", "{% set x = ((a) if __live(0)) %}"),
    ];
    for (source, expected) in table {
        let desugared = translated(source, true);
        assert_eq!(desugared.text, expected, "{source}");
        for guarded in &desugared.notes.guarded {
            assert!(desugared.text[guarded.clone()].starts_with("(("), "{source}");
            assert!(desugared.text[guarded.clone()].ends_with(')'), "{source}");
        }
    }
}

#[test]
fn the_way_back_leads_to_the_chain() {
    let source = "{{ x }}{{ a.b ~ c['d'].e }}";
    let desugared = translated(source, false);
    for (engine, written) in
        [("(a|__step(0,\"b\"))", "a.b"), ("__step(1", "c['d'].e"), ("x", "x"), ("~", "~")]
    {
        let at = desugared.text.find(engine).unwrap();
        assert_eq!(&source[desugared.map.back(&(at..at + engine.len()))], written, "{engine}");
    }
    assert_eq!(&source[desugared.notes.sites[0].clone()], "a.b");
    assert_eq!(&source[desugared.notes.sites[1].clone()], "c['d'].e");
}

/// An expression of numbers, texts and lists, of which most can be evaluated.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("n".to_owned()),
        Just("m.a".to_owned()),
        Just("m['b']".to_owned()),
        Just("m.c.d".to_owned()),
        Just("l[0]".to_owned()),
        Just("l[m.a]".to_owned()),
        Just("'text'".to_owned()),
        Just("2".to_owned()),
        Just("1.5".to_owned()),
        Just("[1, n]".to_owned()),
        Just("{'k': n}.k".to_owned()),
        Just("true".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let binary = prop::sample::select(vec![
            "+", "-", "*", "//", "%", "==", "!=", "<", ">=", "in", "not in", "and", "or", "**",
        ]);
        prop_oneof![
            (inner.clone(), binary, inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("-{a}")),
            inner.clone().prop_map(|a| format!("not {a}")),
            inner.clone().prop_map(|a| format!("[{a}, 7][0]")),
            inner.clone().prop_map(|a| format!("({a})|string")),
            inner.clone().prop_map(|a| format!("[{a}]|length")),
            inner.clone().prop_map(|a| format!("({a}) is odd")),
            inner.clone().prop_map(|a| format!("{a} is not eq 2")),
            inner.clone().prop_map(|a| format!("({a})[0:2]")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("{a} if {b} else {c}")),
        ]
    })
}

fn engine() -> Environment<'static> {
    let mut engine = language::engine();
    engine.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    engine
}

fn evaluate(engine: &Environment<'static>, expression: &str) -> Option<Value> {
    let context = minijinja::context! {
        n => 3, m => minijinja::context! { a => 1, b => "b", c => minijinja::context! { d => 2.5 } }, l => vec![4, 5, 6],
    };
    engine.compile_expression(expression).ok()?.eval(context).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_translated_expression_has_the_same_value(expression in expression()) {
        let engine = engine();
        let Some(expected) = evaluate(&engine, &expression) else { return Ok(()) };
        prop_assume!(!expected.to_string().contains("NaN"));
        let source = format!("{{{{ {expression} }}}}");
        let text = translated(&source, false).text;
        let inner = text.strip_prefix("{{").and_then(|t| t.strip_suffix("}}")).unwrap();
        let got = evaluate(&engine, inner);
        prop_assert!(got.as_ref() == Some(&expected), "{} became {} and {:?} became {:?}", expression, inner, expected, got);
    }

    #[test]
    fn what_the_parser_takes_it_takes_after_translation(words in prop::collection::vec(
        prop::sample::select(vec![
            "a", "b", ".", ".c", "[", "]", "(", ")", "{", "}", "0", "1.5", "'s'", "|", "|upper", "|default(1)", " is ", " is not ",
            "defined", " not ", " in ", " and ", " or ", " if ", " else ", "~", "+", "-", "*", "/", "**", "==", "<", ",", ":", "=",
            "f(", "x.y(", "\n", " ",
        ]),
        1..12,
    ), lenient in any::<bool>(), statement in 0..4_usize) {
        let (before, after) = [("{{ ", " }}"), ("{% if ", " %}{% endif %}"), ("{% for x in ", " %}{% endfor %}"), ("{% set z = ", " %}")][statement];
        let source = format!("{before}{}{after}", words.concat());
        let engine = engine();
        let reads = engine.template_from_named_str("t", &source).map(|t| t.undeclared_variables(false));
        // The parser would even take an operator for a name: `{{ and }}`.
        let operators = ["if", "else", "and", "or", "not", "in", "is"];
        if reads.is_ok_and(|reads| operators.iter().all(|word| !reads.contains(*word))) {
            let text = translated(&source, lenient).text;
            prop_assert!(parse(&text, "t", language::syntax()).is_ok(), "{} became {}", source, text);
        }
    }
}
