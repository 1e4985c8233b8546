//! What `plan` and `explain` print, on fixtures, and what they say where there is no cluster.

use crate::program::{folder, run};
use crate::shipped::shipped;
use k8s_openapi::jiff::Timestamp;
use kubewright::cli::plan::{Whole, as_json, as_markdown, as_text};
use kubewright::plan::{Case, Hider, ParentPlan, Verdict, plan};
use kubewright::rule::Rule;
use kubewright::scenario::Server;
use kubewright::schema::Types;
use kubewright::scope::Scopes;
use kubewright::snapshot::RuleState;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn rule(name: &str) -> Arc<Rule> {
    shipped().rules.iter().find(|rule| *rule.name == *name).unwrap().clone()
}

fn parent(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "demo.kubewright.io/v1", "kind": "WebApp",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

fn planned(rule: &Arc<Rule>, objects: &[Value]) -> Whole {
    let scopes = Scopes::offline(&Types::builtin());
    let state = RuleState::among(rule, objects, &scopes, BTreeMap::new());
    let hider = Hider::new(&[1; 32]);
    let case = |parent| Case {
        state: &state,
        parent,
        installation: "kubewright",
        now: Timestamp::UNIX_EPOCH,
        hider: &hider,
    };
    let parents = state.parents.iter().map(|parent| plan(&case(parent), &BTreeMap::new()));
    Whole { parents: parents.collect(), lacks: Vec::new() }
}

/// A parent and its children as a server has them after a pass.
fn converged(rule: &Arc<Rule>, parent: &Value) -> Vec<Value> {
    let scopes = Scopes::offline(&Types::builtin());
    let mut server = Server::new(rule, &scopes, parent).unwrap();
    let state = RuleState::among(rule, std::slice::from_ref(parent), &scopes, BTreeMap::new());
    let manager = server.owner().manager.to_owned();
    let hider = Hider::new(&[1; 32]);
    let (installation, now) = ("kubewright", Timestamp::UNIX_EPOCH);
    let case = Case { state: &state, parent: &state.parents[0], installation, now, hider: &hider };
    let observed = case.observed(&manager);
    let setting = kubewright::render::Setting {
        scopes: &scopes,
        installation,
        now,
        in_order: false,
        randomness: None,
    };
    let desired = kubewright::render::render(rule, &observed, &setting);
    for child in &desired.children {
        server.apply(child, &child.object, now).unwrap();
    }
    let children = server.observed().unwrap().children.into_values().map(|live| live.whole());
    children.chain([parent.clone()]).collect()
}

fn verdicts(plan: &ParentPlan) -> Vec<(String, Verdict)> {
    plan.children.iter().map(|child| (child.child.clone(), child.verdict)).collect()
}

#[test]
fn what_does_not_exist_is_created_and_what_is_in_order_is_kept() {
    let webapp = rule("webapp");
    let spec = json!({"image": "nginx:1", "replicas": 2, "port": 80, "files": {"a": "b"}});
    let parent = parent("shop", &spec);
    let fresh = planned(&webapp, std::slice::from_ref(&parent));
    let found = verdicts(&fresh.parents[0]);
    assert!(
        found.len() >= 3 && found.iter().all(|(_, verdict)| *verdict == Verdict::Create),
        "{found:?}"
    );
    let settled = planned(&webapp, &converged(&webapp, &parent));
    assert!(!settled.parents[0].changes(), "{}", as_text(&settled));
    assert_eq!(as_text(&settled), "no change: 1 parent is as the rules want\n");
    assert!(as_markdown(&settled).contains("no change"));
}

#[test]
fn an_edit_of_the_parent_is_one_operation_with_its_template_line_in_every_output() {
    let webapp = rule("webapp");
    let spec = |image: &str| json!({"image": image, "replicas": 2, "port": 80});
    let mut objects = converged(&webapp, &parent("shop", &spec("nginx:1")));
    for object in objects.iter_mut().filter(|object| object["kind"] == "WebApp") {
        object["spec"] = spec("nginx:2");
    }
    let whole = planned(&webapp, &objects);
    let json: Value = serde_json::from_str(&as_json(&whole)).unwrap();
    assert_eq!(json["summary"]["verdicts"]["update"], 1, "{}", as_text(&whole));
    let children = json["parents"][0]["children"].as_array().unwrap();
    let changed = children.iter().find(|child| child["verdict"] == "update").unwrap();
    let operations = changed["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 1, "{changed:#}");
    let template = std::fs::read_to_string("templates/webapp/deployment.yaml").unwrap();
    let line = template.lines().position(|line| line.contains("image:")).unwrap() + 1;
    assert_eq!(operations[0]["template"]["line"], line);
    assert_eq!(
        (&operations[0]["value"], &operations[0]["was"]),
        (&json!("nginx:2"), &json!("nginx:1"))
    );
    let place = format!("templates/webapp/deployment.yaml:{line}:");
    for text in [as_text(&whole), as_markdown(&whole)] {
        assert!(text.contains(&place) && text.contains("nginx:2"), "{text}");
    }
    assert!(as_markdown(&whole).contains("```diff\n"), "{}", as_markdown(&whole));
}

#[test]
fn markdown_is_bounded_and_says_what_is_cut() {
    let webapp = rule("webapp");
    let spec = json!({"image": "nginx:1", "replicas": 2, "port": 80, "files": {"a": "line\n".repeat(500)}});
    let parents: Vec<Value> = (0..150).map(|n| parent(&format!("shop-{n}"), &spec)).collect();
    let text = as_markdown(&planned(&webapp, &parents));
    assert!(text.len() < 61_000, "{} bytes", text.len());
    assert!(text.contains("more rows are cut") && text.contains("more diffs are cut"));
}

#[test]
fn a_name_from_the_cluster_does_not_become_markdown() {
    let webapp = rule("webapp");
    let mut odd = parent(
        "shop",
        &json!({"image": "nginx:1", "replicas": 2, "files": {"a": "```\n</details>"}}),
    );
    odd["metadata"]["annotations"] = json!({"kubewright.io/paused": "true"});
    let text = as_markdown(&planned(&webapp, &[odd.clone()]));
    assert!(text.contains("left alone | it is paused"), "{text}");
    odd["metadata"]["annotations"] = json!({});
    let text = as_markdown(&planned(&webapp, &[odd]));
    assert!(text.contains("````diff\n"), "the fence is longer than what is in it: {text}");
}

#[test]
fn without_a_cluster_the_next_command_is_told() {
    let folder = folder(&[(
        "rules/a.yaml",
        "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: a}\nspec:\n  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}\n  children: []\n",
    )]);
    for arguments in [
        &["plan"][..],
        &["plan", "WebApp/shop"],
        &["plan", "rules", "-o", "json"],
        &["explain", "WebApp/shop"],
    ] {
        let (code, out, error) = run(folder.path(), arguments);
        assert_eq!((code, out.as_str()), (1, ""), "{arguments:?}: {error}");
        assert!(error.contains("kubewright dev"), "{arguments:?}: {error}");
    }
}

#[test]
fn what_is_typed_wrong_is_told_before_anything_is_read() {
    let folder = folder(&[(
        "rules/a.yaml",
        "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: a}\nspec:\n  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}\n  children: []\n",
    )]);
    for (arguments, code, told) in [
        (&["plan", "rules", "webapp"][..], 1, "`webapp` is no KIND/NAME such as `WebApp/shop`"),
        (&["plan", "nowhere"], 1, "nowhere"),
        (&["plan", "--rule", "b"], 1, "there is no rule `b`; there are a"),
        (&["explain", "webapp"], 1, "`webapp` is no KIND/NAME"),
        (&["explain"], 2, "KIND/NAME"),
        (&["plan", "-o", "xml"], 2, "xml"),
    ] {
        let (found, _, error) = run(folder.path(), arguments);
        assert_eq!(found, code, "{arguments:?}: {error}");
        assert!(error.contains(told), "{arguments:?}: {error}");
    }
}
