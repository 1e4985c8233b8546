//! `explain` on a real API server: one parent, and why it stands as it does.

use crate::sandbox::Sandbox;
use crate::world::{Request, world};
use kubewright::cli::explain::{Told, as_json, as_text, told};
use kubewright::cluster::Cluster;
use kubewright::plan::Hider;
use kubewright::rule::Rule;
use kubewright::snapshot;
use serde_json::{Value, json};
use std::sync::Arc;

/// What there is to say of a parent, read by a client of its own.
pub(crate) async fn explained(sandbox: &Sandbox, rules: &[Arc<Rule>], name: &str) -> Told {
    let client = world().client(&agent(sandbox));
    let cluster = Cluster::of(&client);
    let request = snapshot::Request {
        rules,
        installation: &sandbox.namespace,
        namespace: None,
        wanted: &|_, id| *id.name == *name,
    };
    told(&client, &cluster, &request, &Hider::new(&[7; 32])).await
}

fn agent(sandbox: &Sandbox) -> String {
    format!("explain-{}", sandbox.namespace)
}

/// Everything that may be printed.
pub(crate) fn printed(told: &Told) -> String {
    as_text(told) + &as_json(told)
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

pub(crate) async fn a_ready_parent_a_hand_edit_and_a_foreign_object() {
    let mut sandbox = Sandbox::webapp("explain-usual").await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    sandbox.until_ready("shop").await;
    sandbox.stop().await;
    let rules = sandbox.rules();
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(
        &text,
        &[
            "WebApp.demo.kubewright.io explain-usual/shop (rule webapp)\n  ready\n",
            "deployment Deployment.apps explain-usual/shop: in sync, ready\n",
            "wanted by rules/webapp.yaml:",
            "template templates/webapp/deployment.yaml",
            "condition Ready is True",
        ],
    );
    sandbox.edit("Service", "shop", json!({"spec": {"selector": {"by": "hand"}}})).await;
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(
        &text,
        &["service Service explain-usual/shop: would change spec.selector", "by-hand (Update)"],
    );

    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "taken"},
        "spec": {"ports": [{"port": 1}]}});
    sandbox.create("Service", theirs).await;
    sandbox.webapp_is("taken", json!({"image": "nginx", "replicas": 1})).await;
    let text = as_text(&explained(&sandbox, &rules, "taken").await);
    has(
        &text,
        &[
            "  failed: service: ",
            "service Service explain-usual/taken: refused",
            "Kubewright did not create it",
        ],
    );
    let writes = world().requests(&agent(&sandbox)).into_iter().filter(Request::is_write);
    assert_eq!(writes.count(), 0, "it writes nothing");
}

const ELSEWHERE: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: elsewhere}
spec:
  crossNamespace: true
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - id: first
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-first, namespace: explain-other}
    - id: second
      needs: [first]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-second, namespace: explain-other}
";

pub(crate) async fn how_far_a_deletion_is() {
    let mut sandbox = Sandbox::at_rest_with("explain-deletion", ELSEWHERE, &[]).await;
    let other = Sandbox::bare("explain-other").await;
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    sandbox.start();
    other.until("ConfigMap", "shop-second", "is there", |_| true).await;
    sandbox.settled().await;
    sandbox.stop().await;
    let rules = sandbox.rules();
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(&text, &["finalizer kubewright.io/elsewhere (ours"]);
    sandbox.delete("WebApp", "shop").await;
    let hold = json!({"metadata": {"finalizers": ["tests.kubewright.io/held"]}});
    other.edit("ConfigMap", "shop-second", hold).await;
    other.delete("ConfigMap", "shop-second").await;
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(
        &text,
        &[
            "  it is being deleted, and its children go first",
            "first ConfigMap explain-other/shop-first: waits\n      it goes after `second`",
            "second ConfigMap explain-other/shop-second: waits\n      it is being deleted and held by tests.kubewright.io/held",
        ],
    );
    other.edit("ConfigMap", "shop-second", json!({"metadata": {"finalizers": null}})).await;
    sandbox.start();
    sandbox.until_gone("WebApp", "shop").await;
    sandbox.stop().await;
}

const PICKY: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: picky}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp, labelSelector: {matchLabels: {pick: "me"}}, when: [{path: "$.spec.replicas", atLeast: 2}]}
  inputs:
    - {id: settings, apiVersion: v1, kind: ConfigMap, name: "{{ parent.metadata.name }}-settings"}
  children:
    - id: first
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-first}
        data: {x: {{ inputs.settings.data.x }}}
    - id: second
      needs: [first]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}-second}
"#;

pub(crate) async fn why_a_rule_is_not_for_a_parent_and_what_waits_for_what() {
    let sandbox = Sandbox::at_rest_with("explain-picky", PICKY, &[]).await;
    let rules = sandbox.rules();
    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 1})).await;
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(
        &text,
        &[
            "the rule is not for it: the rule's `labelSelector` (pick in (me)) does not select its labels",
        ],
    );

    sandbox.edit("WebApp", "shop", json!({"metadata": {"labels": {"pick": "me"}}})).await;
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(&text, &["the rule is not for it: the rule's `when` fails: ", "spec.replicas"]);

    sandbox.webapp_is("shop", json!({"image": "nginx", "replicas": 2})).await;
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(
        &text,
        &[
            "first: waits\n      it waits for inputs.settings.data.x",
            "input settings: missing: settings (ConfigMap explain-picky/shop-settings) does not exist",
            "second ConfigMap explain-picky/shop-second: would be created",
            "it waits for `first`",
        ],
    );
    assert!(!text.contains("a moment ago"), "nothing was written: {text}");
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-settings"}, "data": {"x": "1"}});
    sandbox.create("ConfigMap", settings).await;
    let told = explained(&sandbox, &rules, "shop").await;
    let json: Value = serde_json::from_str(&as_json(&told)).expect("JSON");
    let one = &json["explanations"][0];
    assert_eq!(one["inputs"][0]["found"], "ConfigMap explain-picky/shop-settings");
    assert_eq!(one["children"][0]["verdict"], "create", "{one:#}");

    sandbox
        .edit(
            "WebApp",
            "shop",
            json!({"metadata": {"annotations": {"kubewright.io/paused": "true"}}}),
        )
        .await;
    let text = as_text(&explained(&sandbox, &rules, "shop").await);
    has(&text, &["  paused: "]);
}
