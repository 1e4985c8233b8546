//! Claims about comparisons as a whole: truth tables, sentences, laws. The parts have theirs beside them.

mod laws;
mod operators;
mod sentences;
mod time;

use super::*;
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A comparison in JSON, as a decoder would fill it in.
pub(super) fn written(value: &Value) -> Written {
    let map = value.as_object().unwrap();
    let list = |value: &Value| value.as_array().unwrap().iter().map(written).collect();
    let mut out = Written { reference: reference(value), ..Written::default() };
    for (key, value) in map {
        match key.as_str() {
            "as" => out.meaning = Some(value.as_str().unwrap().to_owned()),
            "some" => out.some = value.as_bool(),
            "allOf" => out.all_of = Some(list(value)),
            "anyOf" => out.any_of = Some(list(value)),
            "not" => out.not = Some(Box::new(written(value))),
            "count" => out.count = Some(operators(value)),
            _ => {}
        }
    }
    out.operators = operators(value);
    out
}

fn operators(value: &Value) -> Vec<(Operator, Operand)> {
    let map = value.as_object().unwrap();
    map.iter().filter_map(|(key, value)| Some((Operator::named(key)?, operand(value)))).collect()
}

fn operand(value: &Value) -> Operand {
    match value.get("path").or(value.get("of")) {
        Some(_) => Operand::Reference(reference(value)),
        None => Operand::Literal(value.clone()),
    }
}

fn reference(value: &Value) -> WrittenReference {
    let text = |key: &str| value.get(key).map(|text| text.as_str().unwrap().to_owned());
    WrittenReference { of: text("of"), path: text("path"), default: value.get("default").cloned() }
}

/// A table: a comparison on one line, what is claimed about it on the next.
pub(super) fn rows<const N: usize>(table: &'static str) -> Vec<(Value, [&'static str; N])> {
    let lines: Vec<_> = table.trim().lines().collect();
    let row = |pair: &[&'static str]| {
        let columns: Vec<_> = pair[1].trim().split(" | ").collect();
        let comparison = serde_json::from_str(pair[0]).unwrap();
        (comparison, columns.try_into().unwrap())
    };
    lines.chunks(2).map(row).collect()
}

fn named(name: &str) -> Truth {
    match name {
        "Holds" => Holds,
        "Fails" => Fails,
        "Unknown" => Unknown,
        other => panic!("{other}"),
    }
}

fn names() -> Names {
    Names::new("parent", RootKind::Parent)
        .with("deployment", RootKind::Child)
        .with("service", RootKind::Child)
        .with("creds", RootKind::Input)
        .with("gone", RootKind::Input)
        .with("ns", RootKind::Item)
}

fn compile(value: &Value) -> Comparison {
    Comparison::compile(&written(value), &names())
        .unwrap_or_else(|mistakes| panic!("{value}: {mistakes:#?}"))
}

struct Objects {
    present: BTreeMap<&'static str, Value>,
    ready: Truth,
}

impl Scope for Objects {
    fn root(&self, name: &str) -> Root<'_> {
        match self.present.get(name) {
            Some(value) if name == "creds" => Root::Secret(value),
            Some(value) => Root::Present(value),
            None => Root::Unknown { why: format!("{name} does not exist yet") },
        }
    }

    fn readiness(&self, name: &str) -> Readiness {
        let reason = match self.ready {
            Truth::Holds => "",
            Truth::Fails => "1 of 3 replicas are available",
            Truth::Unknown => "it does not exist yet",
        };
        assert_ne!(name, "parent", "only what can be ready is asked");
        Readiness { truth: self.ready, reason: reason.to_owned() }
    }
}

fn objects() -> Objects {
    let parent = json!({
        "one": 1, "five": 5, "big": 9_007_199_254_740_993_i64, "half": 0.5, "zero": 0, "yes": true,
        "text": "webapp", "digits": "8080", "port": 8080, "null": null, "list": ["a", "b"], "none": [],
        "map": {"k": 1, "j": [2]}, "same": {"j": [2.0], "k": 1.0},
        "ports": [{"n": 80}, {"n": 443}, {"n": 8080}], "mixed": [{"n": 80}, {}, {"n": null}],
        "memory": "1.5Gi", "cpu": "250m", "version": "v1.10.0", "wait": "90s",
        "born": "2026-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}],
    });
    let present = [
        ("parent", parent),
        (
            "deployment",
            json!({"status": {"availableReplicas": 0, "replicas": 3}, "spec": {"memory": "1536Mi"}}),
        ),
        ("creds", json!({"data": {"password": "hunter2", "n": 3}})),
        ("ns", json!("shop")),
    ];
    Objects { present: present.into_iter().collect(), ready: Truth::Fails }
}

fn now() -> Timestamp {
    "2026-01-01T01:00:00Z".parse().unwrap()
}

fn verdict(value: &Value) -> Verdict {
    compile(value).evaluate(&objects(), now())
}

/// `{path, …rest}` on the parent.
fn at(path: &str, rest: &Value) -> Value {
    let mut value = rest.clone();
    value["path"] = json!(path);
    value
}

use Truth::{Fails, Holds, Unknown};
