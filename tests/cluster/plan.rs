//! `plan` on a real API server: it says what a controller then does, and writes nothing.

use crate::sandbox::Sandbox;
use crate::world::{Request as Sent, world};
use kubewright::cli::plan::{Whole, as_json, as_markdown, as_text, whole};
use kubewright::cluster::Cluster;
use kubewright::plan::{Hider, ParentPlan};
use kubewright::rule::Rule;
use kubewright::snapshot::Request;
use serde_json::{Value, json};
use std::sync::Arc;

/// The plan for the rules of a sandbox, read by a client of its own.
pub(crate) async fn planned(sandbox: &Sandbox, rules: &[Arc<Rule>]) -> Whole {
    let client = world().client(&agent(sandbox));
    let cluster = Cluster::of(&client);
    let request =
        Request { rules, installation: &sandbox.namespace, namespace: None, wanted: &|_, _| true };
    whole(&client, &cluster, &request, &Hider::new(&[7; 32])).await
}

fn agent(sandbox: &Sandbox) -> String {
    format!("plan-{}", sandbox.namespace)
}

/// What `plan` asked the API server for.
fn sent(sandbox: &Sandbox) -> Vec<Sent> {
    world().requests(&agent(sandbox))
}

async fn plan_of(sandbox: &Sandbox) -> Whole {
    planned(sandbox, &sandbox.rules()).await
}

/// `child verdict`, a line each.
fn verdicts(whole: &Whole) -> Vec<String> {
    let children = whole.parents.iter().flat_map(|plan| &plan.children);
    children.map(|child| format!("{} {}", child.child, child.verdict.word())).collect()
}

/// That a plan for what a controller brought to rest is empty.
pub(crate) async fn nothing_would_change(sandbox: &Sandbox) {
    let whole = plan_of(sandbox).await;
    assert!(
        is_quiet(&whole) && !whole.parents.is_empty(),
        "{:?}\n{}",
        whole.lacks,
        as_text(&whole)
    );
    assert!(!whole.parents.iter().any(ParentPlan::is_wrong), "{}", as_text(&whole));
}

/// That of each object of the child `all` exactly one value changes, at this place: no default, no spelling of the server.
pub(crate) async fn every_child_would_change(sandbox: &Sandbox, rules: &[Arc<Rule>], place: &str) {
    let whole = planned(sandbox, rules).await;
    let json: Value = serde_json::from_str(&as_json(&whole)).expect("JSON");
    let children = json["parents"][0]["children"].as_array().expect("children");
    let all: Vec<&Value> = children.iter().filter(|child| child["child"] == "all").collect();
    assert!(all.len() > 20, "{}", all.len());
    for child in all {
        let found = child["operations"].as_array().expect("operations").iter();
        let found: Vec<&str> = found.filter_map(|one| one["path"].as_str()).collect();
        assert_eq!(found, [place], "{child:#}");
    }
}

fn is_quiet(whole: &Whole) -> bool {
    whole.lacks.is_empty() && !whole.parents.iter().any(ParentPlan::changes)
}

/// Where the line stands that has this text.
fn line_of(path: &str, text: &str) -> u64 {
    let whole = std::fs::read_to_string(path).expect("a file");
    let at = whole.lines().position(|line| line.contains(text)).expect("the line");
    at as u64 + 1
}

/// Everything that may be printed.
fn printed(whole: &Whole) -> String {
    [as_text(whole), as_json(whole), as_markdown(whole)].join("\n")
}

pub(crate) async fn of_a_fresh_cluster_everything_is_created_and_then_nothing_changes() {
    let mut sandbox = Sandbox::webapp_at_rest("plan-fresh").await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1, "files": {"a": "b"}})).await;
    let fresh = plan_of(&sandbox).await;
    assert!(fresh.lacks.is_empty(), "{:?}", fresh.lacks);
    let found = verdicts(&fresh);
    assert!(found.len() >= 3, "{found:?}");
    let all = found.iter().all(|one| one.ends_with(" create"));
    assert!(all, "{found:?}\n{}", as_text(&fresh));
    let json: Value = serde_json::from_str(&as_json(&fresh)).expect("JSON");
    let child = &json["parents"][0]["children"][0];
    assert_eq!(child["operations"][0]["op"], "add");
    assert_eq!(child["operations"][0]["path"], "");
    let template = &child["operations"][0]["template"];
    assert!(
        template["file"].as_str().is_some_and(|file| file.starts_with("templates/webapp/")),
        "{child:#}"
    );
    assert!(child["rule"]["line"].is_u64(), "{child:#}");

    let writes: Vec<_> =
        sent(&sandbox).into_iter().filter(|one| one.is_write() || one.verb == "watch").collect();
    assert_eq!(writes, [], "it reads once and writes nothing");
    assert!(!sent(&sandbox).is_empty());

    sandbox.start();
    sandbox.until_ready("shop").await;
    let settled = plan_of(&sandbox).await;
    assert!(is_quiet(&settled), "{}", as_text(&settled));
    assert_eq!(as_text(&settled), "no change: 1 parent is as the rules want\n");
    sandbox.stop().await;
}

pub(crate) async fn an_edited_template_is_exactly_that_change_with_its_line() {
    let mut sandbox = Sandbox::webapp("plan-edit").await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    sandbox.until_ready("shop").await;
    sandbox.stop().await;
    let before = sandbox.get("Deployment", "shop").await;

    let template = "webapp/service.yaml";
    let edited = sandbox.with_template(template, "kind: Service", "kind: Service\n# edited");
    assert!(is_quiet(&planned(&sandbox, &edited).await), "a comment is no change");

    let text = std::fs::read_to_string("templates/webapp/deployment.yaml").expect("a template");
    assert!(text.contains("containers:"), "{text}");
    let edited = sandbox.with_template(
        "webapp/deployment.yaml",
        "      containers:",
        "      terminationGracePeriodSeconds: 7\n      containers:",
    );
    let whole = planned(&sandbox, &edited).await;
    let json: Value = serde_json::from_str(&as_json(&whole)).expect("JSON");
    let children = json["parents"][0]["children"].as_array().expect("children");
    let changed: Vec<&Value> = children.iter().filter(|child| child["verdict"] != "keep").collect();
    assert_eq!(changed.len(), 1, "{}", as_text(&whole));
    assert_eq!(changed[0]["child"], "deployment");
    let operations = changed[0]["operations"].as_array().expect("operations");
    assert_eq!(operations.len(), 1, "{}", as_text(&whole));
    let operation = &operations[0];
    assert_eq!(operation["path"], "/spec/template/spec/terminationGracePeriodSeconds");
    assert_eq!((&operation["op"], &operation["value"]), (&json!("replace"), &json!(7)));
    assert_eq!(operation["was"], 30, "the default of the server");
    assert_eq!(operation["template"]["file"], "templates/webapp/deployment.yaml");
    let line = line_of("templates/webapp/deployment.yaml", "      containers:");
    assert_eq!(operation["template"]["line"], line);
    assert_eq!(operation["template"]["column"], 7);
    let shown = "+       terminationGracePeriodSeconds: 7";
    assert!(as_text(&whole).contains(shown), "{}", as_text(&whole));
    assert!(as_text(&whole).contains(&format!("templates/webapp/deployment.yaml:{line}:7")));
    assert_eq!(sandbox.get("Deployment", "shop").await, before, "nothing was written");

    // The same for a value that somebody else holds: it is not ours to take.
    let by_hand = json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 60}}}});
    sandbox.edit("Deployment", "shop", by_hand).await;
    let found = verdicts(&plan_of(&sandbox).await);
    let kept = found.iter().all(|one| one.ends_with(" keep"));
    assert!(kept, "what others add is none of our business: {found:?}");
    let whole = planned(&sandbox, &edited).await;
    let found = verdicts(&whole);
    assert!(found.contains(&"deployment refuse".to_owned()), "{found:?}");
    let told = "spec.template.spec.terminationGracePeriodSeconds is held by by-hand (Update)";
    assert!(as_text(&whole).contains(told), "{}", as_text(&whole));
}

pub(crate) async fn a_hand_edit_and_a_foreign_object_are_told_with_who_did_it() {
    let mut sandbox = Sandbox::webapp("plan-foreign").await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    sandbox.until_ready("shop").await;
    sandbox.stop().await;
    sandbox.edit("Service", "shop", json!({"spec": {"selector": {"by": "hand"}}})).await;
    let whole = plan_of(&sandbox).await;
    let found = verdicts(&whole);
    assert!(found.contains(&"service update".to_owned()), "{found:?}");
    assert_eq!(found.iter().filter(|one| !one.ends_with("keep")).count(), 1, "{found:?}");
    let text = as_text(&whole);
    assert!(text.contains("by-hand (Update)"), "{text}");
    assert!(text.contains("by: hand"), "{text}");

    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "taken"},
        "spec": {"ports": [{"port": 1}]}});
    sandbox.create("Service", theirs).await;
    sandbox.webapp_is("taken", json!({"image": "nginx", "replicas": 1})).await;
    let whole = plan_of(&sandbox).await;
    let found = verdicts(&whole);
    assert!(found.contains(&"service refuse".to_owned()), "{found:?}");
    let text = as_text(&whole);
    assert!(
        text.contains("Service plan-foreign/taken exists and Kubewright did not create it"),
        "{text}"
    );
    assert!(whole.parents.iter().any(ParentPlan::is_wrong));
}

/// Runs the program; gives exit code and both outputs.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(arguments)
        .args(["-n", &sandbox.namespace, "--installation", &sandbox.namespace])
        .env("KUBECONFIG", world().kubeconfig())
        .output()
        .expect("kubewright runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

pub(crate) async fn the_program_says_by_its_exit_code_whether_anything_would_change() {
    let mut sandbox = Sandbox::webapp_at_rest("plan-program").await;
    let rules = "rules/webapp.yaml";
    let (code, out, error) = run(&sandbox, &["plan", rules]);
    assert_eq!((code, out.as_str()), (Some(0), "no parents\n"), "{error}");
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    let (code, out, error) = run(&sandbox, &["plan", rules]);
    assert_eq!(code, Some(4), "{out}{error}");
    assert!(out.contains("+ create deployment Deployment.apps plan-program/shop"), "{out}");
    assert!(!out.contains('\u{1b}'), "no colour where nobody looks");
    let (code, out, _) = run(&sandbox, &["plan", rules, "webapps/shop", "-o", "json"]);
    assert_eq!(code, Some(4));
    assert!(serde_json::from_str::<Value>(&out).is_ok(), "{out}");
    let (code, _, error) = run(&sandbox, &["plan", rules, "WebApp/other"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("webapp/other"), "{error}");

    sandbox.start();
    sandbox.until_ready("shop").await;
    let (code, out, error) = run(&sandbox, &["plan", rules]);
    assert_eq!(code, Some(0), "{out}{error}");
    let (code, out, error) = run(&sandbox, &["explain", "WebApp/shop", rules]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.contains("deployment Deployment.apps plan-program/shop: in sync, ready"), "{out}");
    let (code, _, error) = run(&sandbox, &["explain", "WebApp/other", rules]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("there is no `WebApp/other`"), "{error}");
    let (code, _, error) = run(&sandbox, &["explain", "Tenant/other", rules]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("there are rules for WebApp"), "{error}");
    sandbox.stop().await;

    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "taken"},
        "spec": {"ports": [{"port": 1}]}});
    sandbox.create("Service", theirs).await;
    sandbox.webapp_is("taken", json!({"image": "nginx", "replicas": 1})).await;
    let (code, out, error) = run(&sandbox, &["plan", rules]);
    assert_eq!(code, Some(3), "{out}{error}");
}

const SECRETIVE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: secretive}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  inputs:
    - {id: creds, apiVersion: v1, kind: Secret, name: "{{ parent.metadata.name }}-creds"}
  children:
    - id: copy
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: {{ parent.metadata.name }}-copy}
        stringData: {password: {{ inputs.creds.data.password | b64decode }}, mark: "one"}
"#;

/// A rule whose author lets values of Secrets go anywhere.
const REVEALING: &str = r#"
    - id: shown
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-shown}
        data: {of: the password is {{ inputs.creds.data.password | b64decode }}}
    - id: broken
      when: [{path: "$.spec.replicas", atLeast: 5}]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-broken}
        data: {x: {{ fail("no good: " ~ (inputs.creds.data.password | b64decode)) }}}
"#;

/// Values that must never be seen, plain and as they are stored.
fn leaks(text: &str) -> Vec<&'static str> {
    let values = [
        "hunter2-correct-horse",
        "aHVudGVyMi1jb3JyZWN0LWhvcnNl",
        "hunter3-battery-staple",
        "aHVudGVyMy1iYXR0ZXJ5LXN0YXBsZQ==",
    ];
    values.into_iter().filter(|value| text.contains(value)).collect()
}

pub(crate) async fn values_of_secrets_are_in_no_output() {
    let mut sandbox = Sandbox::at_rest_with("plan-secret", SECRETIVE, &[]).await;
    let secret = |password: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop-creds"},
            "stringData": {"password": password}})
    };
    sandbox.create("Secret", secret("hunter2-correct-horse")).await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    let fresh = plan_of(&sandbox).await;
    let text = printed(&fresh);
    assert_eq!(leaks(&text), [""; 0], "{text}");
    assert!(text.contains("<hidden: 21 bytes, "), "{text}");

    sandbox.start();
    sandbox.until("Secret", "shop-copy", "is there", |_| true).await;
    sandbox.settled().await;
    sandbox.stop().await;
    sandbox
        .edit("Secret", "shop-creds", json!({"stringData": {"password": "hunter3-battery-staple"}}))
        .await;
    let changed = plan_of(&sandbox).await;
    let text = printed(&changed);
    assert_eq!(leaks(&text), [""; 0], "{text}");
    assert!(text.contains("/data/password") && text.contains("<hidden: 22 bytes, "), "{text}");
    assert!(text.contains("stringData") || text.contains("rule.yaml:"), "the line is told: {text}");
}

pub(crate) async fn a_rule_that_reveals_secrets_does_not_reveal_them_in_plans() {
    let rule = SECRETIVE.replace("  inputs:", "  reveal: true\n  inputs:")
        + REVEALING.trim_start_matches('\n');
    let sandbox = Sandbox::at_rest_with("plan-reveal", &rule, &[]).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop-creds"},
        "stringData": {"password": "hunter2-correct-horse"}});
    sandbox.create("Secret", secret).await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 5})).await;
    let whole = plan_of(&sandbox).await;
    let told = crate::explain::explained(&sandbox, &sandbox.rules(), "shop").await;
    let text = printed(&whole) + &crate::explain::printed(&told);
    assert_eq!(leaks(&text), [""; 0], "{text}");
    // What a template says in its own words.
    assert!(text.contains("no good: <hidden>"), "{text}");
    assert!(text.contains("ConfigMap plan-reveal/shop-shown"), "{text}");
}

const EVERYTHING: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: everything}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - id: kept
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-kept}
        data: {replicas: "{{ parent.spec.replicas }}", other: "x"}
    - id: extra
      when: [{path: "$.spec.replicas", atLeast: 2}]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-extra}
    - id: anew
      update: recreate
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-anew}
        data: {replicas: "{{ parent.spec.replicas }}"}
    - id: note
      when: [{path: "$.spec.replicas", atLeast: 2}]
      patch: {target: {apiVersion: v1, kind: ConfigMap, name: "theirs"}}
      inline: |
        metadata: {labels: {note: "{{ parent.spec.replicas }}"}}
    - id: last
      needs: [missing]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-last}
    - id: missing
      when: [{path: "$.spec.image", equals: "never"}]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-missing}
"#;

pub(crate) async fn updates_deletions_recreations_and_edits_are_told_apart() {
    let mut sandbox = Sandbox::at_rest_with("plan-all", EVERYTHING, &[]).await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}});
    sandbox.create("ConfigMap", theirs).await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 2})).await;
    let fresh = plan_of(&sandbox).await;
    let expected = ["kept create", "extra create", "anew create", "last create", "note edit"];
    assert_eq!(verdicts(&fresh), expected, "{}", as_text(&fresh));
    let text = as_text(&fresh);
    assert!(text.contains("+     note: '2'") || text.contains("+     note: \"2\""), "{text}");
    let edit = EVERYTHING.lines().position(|line| line.contains("{labels: {note")).expect("a line");
    assert!(text.contains(&format!("rule.yaml:{}:", edit + 1)), "the line of the edit: {text}");
    sandbox.start();
    sandbox.until("ConfigMap", "shop-last", "is there", |_| true).await;
    sandbox.settled().await;
    nothing_would_change(&sandbox).await;
    sandbox.stop().await;

    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    let whole = plan_of(&sandbox).await;
    let expected = ["kept update", "anew recreate", "last keep", "extra delete", "note unedit"];
    assert_eq!(verdicts(&whole), expected, "{}", as_text(&whole));
    let json: Value = serde_json::from_str(&as_json(&whole)).expect("JSON");
    let kept = &json["parents"][0]["children"][0];
    let operations = json!([{"op": "replace", "path": "/data/replicas", "value": "1", "was": "2",
        "template": {"file": "rule.yaml", "line": 13, "column": 16}}]);
    assert_eq!(kept["operations"], operations, "{kept:#}");
    assert_eq!(
        json["parents"][0]["children"][3]["operations"],
        json!([{"op": "remove", "path": ""}])
    );
    // It does what was told.
    sandbox.start();
    sandbox.until_gone("ConfigMap", "shop-extra").await;
    sandbox
        .until("ConfigMap", "shop-anew", "is anew", |anew| anew["data"]["replicas"] == "1")
        .await;
    sandbox
        .until("ConfigMap", "theirs", "is as it was", |map| map["metadata"].get("labels").is_none())
        .await;
    sandbox.settled().await;
    nothing_would_change(&sandbox).await;
    sandbox.stop().await;
}

pub(crate) async fn a_kind_that_is_not_served_is_named_and_holds_up_only_its_own_objects() {
    let rule = EVERYTHING.replace(
        "    - id: extra\n",
        "    - id: odd\n      inline: |\n        apiVersion: tests.kubewright.io/v1\n        kind: PlanOdd\n        metadata: {name: odd}\n    - id: extra\n",
    );
    let sandbox = Sandbox::at_rest_with("plan-kinds", &rule, &[]).await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    let whole = plan_of(&sandbox).await;
    let found = verdicts(&whole);
    assert!(
        found.contains(&"odd wait".to_owned()) && found.contains(&"kept create".to_owned()),
        "{found:?}"
    );
    let told = "the API server serves no tests.kubewright.io/v1 PlanOdd";
    assert!(whole.lacks.iter().any(|lack| lack.what.contains(told)), "{:?}", whole.lacks);
    assert!(whole.lacks.iter().any(|lack| lack.remedy.contains("kubectl api-resources")));
}

pub(crate) async fn a_missing_right_is_named_with_its_verb_and_resource() {
    let mut sandbox = Sandbox::webapp_at_rest("plan-rights").await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    sandbox.limit("plan-reader");
    let reads =
        json!([{"apiGroups": ["demo.kubewright.io"], "resources": ["webapps"], "verbs": ["list"]}]);
    sandbox.allow("first", reads).await;
    let client = world().client_as("plan-reader-agent", Some("plan-reader"));
    let cluster = Cluster::of(&client);
    let rules = sandbox.rules();
    let request =
        Request { rules: &rules, installation: "x", namespace: None, wanted: &|_, _| true };
    let whole = whole(&client, &cluster, &request, &Hider::new(&[7; 32])).await;
    let lacks: Vec<&str> = whole.lacks.iter().map(|lack| lack.what.as_str()).collect();
    let named = lacks.iter().any(|what| {
        what.starts_with("the right to list deployments.apps in namespace `plan-rights` is missing")
    });
    assert!(named, "{lacks:#?}");
    let found = verdicts(&whole);
    assert!(found.contains(&"deployment wait".to_owned()), "what cannot be seen waits: {found:?}");
}
