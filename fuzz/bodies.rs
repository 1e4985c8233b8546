//! What must hold for every input: the bodies of the fuzz targets, which the tests run over the committed corpus too.
//!
//! In: bytes. Out: nothing; a promise that is broken is a panic. Never here: the fuzzer, files, the clock.

use kubewright::path::Path;
use kubewright::problem::{self, Problem, codes};
use kubewright::rule::{self, Folder};
use kubewright::source::Source;
use kubewright::template::{Awaits, Builder, Context, Failure, Mode, Origin, Part, Templates};
use kubewright::{cli, yaml};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stands between a template or a path and the JSON that it is tried on.
const SEPARATOR: &str = "\n~~~\n";

/// A template may write so much, text by text: twice what the program promises, for keys and for what YAML itself says.
const MOST_OUTPUT: usize = 10 << 20;

/// What the folder of templates holds, whatever the input.
const FILES: [(&str, &str); 4] = [
    (
        "a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ parent.metadata.name }}\ndata: {{ parent.spec.data|default({}) }}\n",
    ),
    (
        "b.yaml",
        "{% from 'm.txt' import labels %}\napiVersion: v1\nkind: Secret\nmetadata:\n  name: b-{{ let.name|default('x') }}\n  labels: {{ labels(parent) }}\n",
    ),
    ("m.txt", "{% macro labels(of) %}{app: {{ of.metadata.name }}}{% endmacro %}"),
    ("loop.yaml", "{% include 'loop.yaml' %}"),
];

fn files() -> Arc<BTreeMap<String, Arc<Source>>> {
    let named = |(name, text): &(&str, &str)| ((*name).to_owned(), Source::new(*name, *text));
    Arc::new(FILES.iter().map(named).collect())
}

/// A rule file: whatever it is, it compiles or says why not, and `check` says the same of it each time.
pub(crate) fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let folder = Folder { rules: vec![Source::new("rule.yaml", text)], templates: files() };
    let loaded = rule::load(&folder);
    let refused = loaded.problems.iter().any(Problem::is_error);
    assert!(loaded.bad.is_empty() || refused, "a rule is refused without a word");
    let problems = cli::check::problems(&folder);
    told(&problems);
    for found in &loaded.problems {
        assert!(problems.contains(found), "`check` keeps quiet of {found}");
    }
    assert_eq!(cli::check::problems(&folder), problems, "the second check says something else");
}

/// Problems are such that their author can find and mend them, and can be shown in every form.
fn told(problems: &[Problem]) {
    for problem in problems {
        assert!(codes::find(problem.code).is_some(), "{} is not explained", problem.code);
        assert!(!problem.message.is_empty(), "{} says nothing", problem.code);
        assert!(problem.message.len() < 4_000, "{} says too much", problem.code);
        if let Some(place) = &problem.place {
            let text = &place.source.text;
            let within = text.get(place.span.clone()).is_some();
            assert!(within, "{problem}: {:?} is no part of the file", place.span);
        }
        assert!(problem.render(false).contains(problem.code), "{problem}");
    }
    let document: Value = serde_json::from_str(&problem::json(problems)).unwrap();
    assert_eq!(document["problems"].as_array().map(Vec::len), Some(problems.len()));
    let nowhere = std::path::Path::new("/");
    let sarif = problem::sarif(problems, nowhere, nowhere);
    assert!(serde_json::from_str::<Value>(&sarif).is_ok(), "{sarif}");
}

/// A template and a parent: whatever they are, the rendering ends, stays small, and gives the same again.
pub(crate) fn templates(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (template, parent) = halves(text);
    // What is no JSON is a text that a parent may have as well.
    let parent = serde_json::from_str(parent).unwrap_or_else(|_| json!({ "x": parent }));
    let context = context(&parent);
    values_survive(parent.get("x").unwrap_or(&parent));
    renders(template, &context);
}

fn halves(text: &str) -> (&str, &str) {
    text.split_once(SEPARATOR)
        .unwrap_or((text, "no\u{10fe00}\u{10fe10}\u{10fe01}\n- {{ 1 }}: \"'#"))
}

fn context(parent: &Value) -> Context {
    let parent = Part::new("parent", parent, Awaits::Key("status".to_owned()));
    let known = json!({"name": "a", "n": 1});
    Context::new()
        .with("parent", parent)
        .with("let", Part::new("let", &known, Awaits::Nothing))
        .with("children", Part::new("children", &json!({}), Awaits::Everything))
}

/// `{{ parent.x }}` is what went in, with its type; in quotes and blocks it is its text, and nothing around it changes.
fn values_survive(x: &Value) {
    const TEXT: &str = "bare: {{ parent.x }}\nlist: [{{ parent.x }}, 1]\nlast: 1\n";
    const QUOTED: &str = "double: \"<{{ parent.x }}>\"\nsingle: '{{ parent.x }}'\nblock: |-\n  {{ parent.x }}\njoined: a{{ parent.x }}b\n{{ parent.x }}: 1\nlast: 1\n";
    let context = &context(&json!({ "x": x }));
    let Some(bare) = body(TEXT, context) else {
        // A value that is too deep is refused, and nothing else is.
        assert!(depth(x) > 60 || x.to_string().len() > 1 << 20, "{x} does not come out");
        return;
    };
    assert_same(&Value::Object(bare), &json!({"bare": x, "list": [x, 1], "last": 1}));
    let spelled = match x {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => x.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            assert!(body(QUOTED, context).is_none(), "{x} has no text");
            return;
        }
    };
    if ["double", "single", "block", "joined", "last"].contains(&spelled.as_str()) {
        return;
    }
    let mut expected = json!({
        "double": format!("<{spelled}>"), "single": spelled, "block": spelled,
        "joined": format!("a{spelled}b"), "last": 1,
    });
    expected[&spelled] = json!(1);
    let found = body(QUOTED, context).unwrap_or_else(|| panic!("{x} does not come out as text"));
    assert_same(&Value::Object(found), &expected);
}

/// Equal in every byte: `1` is not `1.0`, and `-0.0` is not `0.0`.
fn assert_same(left: &Value, right: &Value) {
    assert_eq!(left.to_string(), right.to_string());
}

fn body(text: &str, context: &Context) -> Option<Map<String, Value>> {
    let source = Source::new("body", text);
    let mut builder = Builder::new(files());
    let body = builder.compile_body(text, Origin::file(&source), Mode::Strict).unwrap();
    builder.build().body(&body, context).ok()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// As each of the things that a template can be.
fn renders(text: &str, context: &Context) {
    let source = Source::new("template", text);
    let mut builder = Builder::new(files());
    let documents = compiled(builder.compile_documents(text, Origin::file(&source)));
    let strict = compiled(builder.compile_body(text, Origin::file(&source), Mode::Strict));
    let lenient = compiled(builder.compile_body(text, Origin::file(&source), Mode::Lenient));
    let line = compiled(builder.compile_line(text, Origin::file(&source)));
    let engine = builder.build();
    if let Some(documents) = documents {
        twice(|| engine.documents(&documents, context).map(Value::from));
        let study = engine.study(&documents);
        let within = |bytes: &std::ops::Range<usize>| text.get(bytes.clone()).is_some();
        let own = study.sinks.iter().map(|sink| &sink.place).filter(|place| place.source == source);
        assert!(own.into_iter().all(|place| within(&place.span)), "a value is written nowhere");
    }
    for body in [strict, lenient].into_iter().flatten() {
        twice(|| engine.body(&body, context).map(Value::Object));
    }
    if let Some(line) = line {
        twice(|| engine.line(&line, context).map(Value::from));
    }
    same_in_another_engine(text, context, &engine);
}

fn compiled<T>(result: Result<T, Vec<Problem>>) -> Option<T> {
    result
        .inspect_err(|problems| assert!(!problems.is_empty(), "refused without a word"))
        .map_err(|problems| told(&problems))
        .ok()
}

fn twice(render: impl Fn() -> Result<Value, Failure>) {
    let first = render();
    match &first {
        Ok(value) => assert!(size(value) < MOST_OUTPUT, "{} bytes came out", size(value)),
        Err(Failure::Failed(problem)) => told(std::slice::from_ref(problem)),
        Err(Failure::Waiting { what, .. }) => assert!(!what.is_empty()),
    }
    let second = render();
    if let (Ok(first), Ok(second)) = (&first, &second) {
        assert_same(first, second);
    }
    assert_eq!(first, second, "rendered twice, it differs");
}

/// What an engine has rendered before changes nothing.
fn same_in_another_engine(text: &str, context: &Context, used: &Templates) {
    let render = |engine: Option<&Templates>| {
        let source = Source::new("template", text);
        let mut builder = Builder::new(files());
        let body = builder.compile_documents(text, Origin::file(&source)).ok()?;
        let fresh = builder.build();
        Some(engine.unwrap_or(&fresh).documents(&body, context))
    };
    assert_eq!(render(None), render(Some(used)), "an engine remembers");
}

/// Bytes of all texts and keys, and one for everything else.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => {
            1 + map.iter().map(|(key, value)| key.len() + size(value)).sum::<usize>()
        }
        _ => 1,
    }
}

/// A path and a value: whatever they are, nothing breaks, and what is found is where it is said to be.
pub(crate) fn paths(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, value) =
        text.split_once(SEPARATOR).unwrap_or((text, "{\"a\": [{\"b\": 1}, {}], \"c\": \"x\"}"));
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!({ "a": [value] }));
    let path = match Path::parse(text) {
        Ok(path) => path,
        Err(error) => {
            assert!(text.is_char_boundary(error.offset), "{text:?}: {error:?}");
            assert!(!error.message.is_empty() && error.message.len() < 400, "{error:?}");
            return;
        }
    };
    assert_eq!(path.to_string(), text, "a path is shown as it was written");
    assert_eq!(Path::parse(&path.to_string()).as_ref(), Ok(&path));
    let found = path.query(&value);
    let looked_up = path.lookup(&value);
    assert_eq!(looked_up.iter().flatten().count(), found.len(), "{text}");
    assert!(
        looked_up.into_iter().flatten().zip(&found).all(|(a, b)| std::ptr::eq(a, *b)),
        "{text}"
    );
    let locations = path.locate(&value);
    assert_eq!(locations.len(), found.len(), "{text}");
    assert!(!path.is_singular() || found.len() <= 1, "{text}");
    for nth in 0..found.len().min(20) {
        assert!(std::ptr::eq(locations[nth].of(&value).unwrap(), found[nth]), "{text}");
        let way = locations[nth].to_string();
        if let Ok(back) = Path::parse(&way) {
            assert_eq!(back.plain_steps(), Some(locations[nth].steps()), "{way}");
        } else {
            assert!(way.len() > kubewright::path::MAX_LENGTH, "{way} is no path");
        }
        assert!(path.describe(&value, nth).starts_with('$'), "{text}");
    }
    let _shown = path.describe(&value, found.len() + 1);
    // As a part of a rule file it survives too.
    let printed = yaml::print(&json!({ "path": text }));
    let read = yaml::parse(&printed, &yaml::Limits::FILE).unwrap();
    assert_eq!(read[0].root.to_json(), json!({ "path": text }), "{printed}");
}
