//! What a parent's status says when the kind or the server does not want it.

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data: {round: {{ get(parent, \"metadata.labels.round\", \"none\") }}}
";

fn rule(name: &str, kind: &str, status: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: tests.kubewright.io/v1, kind: {kind}}}
  children:
    - {{id: config, template: config.yaml}}
  status:
{status}"
    )
}

fn list(kind: &str, of_condition: &Value) -> Value {
    let mut list =
        json!({"type": "array", "items": {"type": "object", "properties": of_condition}});
    if kind == "keyed" {
        list["items"]["required"] = json!(["type"]);
        list["x-kubernetes-list-type"] = json!("map");
        list["x-kubernetes-list-map-keys"] = json!(["type"]);
    }
    list
}

fn usual() -> Value {
    json!({"type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
           "message": {"type": "string"}, "observedGeneration": {"type": "integer"},
           "lastTransitionTime": {"type": "string", "format": "date-time"}})
}

fn status(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

async fn until_ready(sandbox: &Sandbox, kind: &str) -> Value {
    let is_ready = |object: &Value| condition(object, "Ready").0 == "True";
    let object = sandbox.until(kind, "one", "is ready", is_ready).await;
    sandbox.settled().await;
    object
}

/// Makes a pass, proven by what it writes, and gives the requests about the status since then.
async fn a_pass(sandbox: &Sandbox, kind: &str, round: &str) -> Vec<u64> {
    sandbox.settled().await;
    let before = sandbox.requests().len();
    sandbox.edit(kind, "one", json!({"metadata": {"labels": {"round": round}}})).await;
    let has = |object: &Value| object["data"]["round"] == round;
    sandbox.until("ConfigMap", "one", "follows", has).await;
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    let status = requests.iter().filter(|request| request.uri.contains("/one/status"));
    status.map(|request| request.code).collect()
}

/// One wrong field would have the whole status refused: then the conditions say so, and nothing is sent twice.
pub(crate) async fn a_refused_field_is_told_in_the_conditions_and_sent_once() {
    let fields = "    fields: |\n      size: {{ parent.spec.size }}\n      good: fine\n";
    let rule = rule("refused-status", "Refusing", fields);
    let mut sandbox = Sandbox::with("refused-status", &rule, &[("config.yaml", CONFIG)]).await;
    let properties = json!({"size": {"type": "integer"}, "good": {"type": "string"},
                            "conditions": list("keyed", &usual())});
    sandbox.kind_is("Refusing", status(&properties)).await;
    sandbox.is("Refusing", "one", json!({"size": 1})).await;
    let one = until_ready(&sandbox, "Refusing").await;
    assert_eq!((&one["status"]["size"], &one["status"]["good"]), (&json!(1), &json!("fine")));

    sandbox.is("Refusing", "one", json!({"size": "large"})).await;
    let is_stalled = |object: &Value| condition(object, "Stalled").0 == "True";
    let one = sandbox.until("Refusing", "one", "is stalled", is_stalled).await;
    let message = condition(&one, "Stalled").1;
    assert!(
        message.contains("refuses the declared status fields") && message.contains("size"),
        "{message}"
    );
    assert_eq!(condition(&one, "Ready").0, "False");
    assert_eq!(one["status"]["size"], 1, "the old fields stay");
    for round in ["one", "two"] {
        assert_eq!(a_pass(&sandbox, "Refusing", round).await, [0; 0]);
    }
    sandbox.is("Refusing", "one", json!({"size": 2})).await;
    sandbox.until("Refusing", "one", "has its size", |object| object["status"]["size"] == 2).await;
    until_ready(&sandbox, "Refusing").await;
    sandbox.stop().await;
}

/// Conditions that know neither reason nor message are written without them.
pub(crate) async fn short_conditions_get_what_they_have_a_place_for() {
    let rule = rule("short-conditions", "Short", "    conditions: []\n");
    let mut sandbox = Sandbox::with("short-conditions", &rule, &[("config.yaml", CONFIG)]).await;
    let short = json!({"type": {"type": "string"}, "status": {"type": "string"}});
    sandbox.kind_is("Short", status(&json!({"conditions": list("keyed", &short)}))).await;
    sandbox.is("Short", "one", json!({})).await;
    until_ready(&sandbox, "Short").await;
    assert_eq!(a_pass(&sandbox, "Short", "one").await, [0; 0]);
    sandbox.stop().await;
}

/// A list that is written as a whole keeps the conditions of others, and comes to rest; also after a restart.
pub(crate) async fn a_list_of_conditions_without_keys_is_shared() {
    let rule = rule("atomic", "Atomic", "    fields: |\n      size: {{ parent.spec.size }}\n");
    let mut sandbox = Sandbox::with("atomic", &rule, &[("config.yaml", CONFIG)]).await;
    let properties = json!({"size": {"type": "integer"}, "conditions": list("atomic", &usual())});
    sandbox.kind_is("Atomic", status(&properties)).await;
    sandbox.is("Atomic", "one", json!({"size": 1})).await;
    let one = until_ready(&sandbox, "Atomic").await;
    let mut conditions = one["status"]["conditions"].as_array().unwrap().clone();
    conditions.insert(0, json!({"type": "Theirs", "status": "True"}));
    sandbox.edit_status("Atomic", "one", json!({"status": {"conditions": conditions}})).await;
    sandbox.is("Atomic", "one", json!({"size": 2})).await;
    sandbox.until("Atomic", "one", "has its size", |object| object["status"]["size"] == 2).await;
    let one = until_ready(&sandbox, "Atomic").await;
    assert_eq!(condition(&one, "Theirs").0, "True", "{one}");
    assert_eq!(a_pass(&sandbox, "Atomic", "two").await, [0; 0]);
    sandbox.stop().await;
    sandbox.start();
    assert_eq!(
        a_pass(&sandbox, "Atomic", "three").await,
        [0; 0],
        "nothing is written after a restart"
    );
    sandbox.stop().await;
}

/// Nested fields that the kind does not know, and those that it defaults.
pub(crate) async fn a_status_with_defaults_comes_to_rest() {
    let fields = "    fields: |\n      nested: {a: {{ parent.spec.size }}}\n      list: [{name: x}]\n      ratio: 1.0\n";
    let rule = rule("defaulted", "Defaulted", fields);
    let mut sandbox = Sandbox::with("defaulted", &rule, &[("config.yaml", CONFIG)]).await;
    let nested = json!({"type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"type": "integer", "default": 7}}});
    let item = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "kind": {"type": "string", "default": "k"}}});
    let properties = json!({"nested": nested, "list": {"type": "array", "items": item},
        "ratio": {"type": "number"}, "conditions": list("keyed", &usual())});
    sandbox.kind_is("Defaulted", status(&properties)).await;
    sandbox.is("Defaulted", "one", json!({"size": 1})).await;
    until_ready(&sandbox, "Defaulted").await;
    let one = sandbox.get("Defaulted", "one").await;
    assert_eq!(one["status"]["nested"], json!({"a": 1, "b": 7}));
    assert_eq!(a_pass(&sandbox, "Defaulted", "one").await, [0; 0]);
    sandbox.stop().await;
    sandbox.start();
    assert_eq!(
        a_pass(&sandbox, "Defaulted", "two").await,
        [0; 0],
        "nothing is written after a restart"
    );
    sandbox.stop().await;
}

/// When `let` fails nothing can be said: what was said stays, conditions of the rule included.
pub(crate) async fn a_failed_let_keeps_conditions_and_fields() {
    let text = rule(
        "failed-let",
        "Lettered",
        "    conditions:
      - type: Sized
        when: [{path: \"$.spec.size\", atLeast: 1}]
        then: {reason: Large, message: \"it has size {{ let.size }}\"}
        otherwise: {reason: Small}
    fields: |
      size: {{ let.size }}
",
    );
    let text =
        text.replace("  children:\n", "  let: |\n    size: {{ parent.spec.size }}\n  children:\n");
    let mut sandbox = Sandbox::with("failed-let", &text, &[("config.yaml", CONFIG)]).await;
    let properties = json!({"size": {"type": "integer"}, "conditions": list("keyed", &usual())});
    sandbox.kind_is("Lettered", status(&properties)).await;
    sandbox.is("Lettered", "one", json!({"size": 3})).await;
    let before = until_ready(&sandbox, "Lettered").await;
    sandbox.is("Lettered", "one", json!({"other": 3})).await;
    let is_stalled = |object: &Value| condition(object, "Stalled").0 == "True";
    let one = sandbox.until("Lettered", "one", "is stalled", is_stalled).await;
    let sized = |object: &Value| {
        let all = object["status"]["conditions"].as_array().unwrap().clone();
        all.into_iter().find(|condition| condition["type"] == "Sized")
    };
    assert_eq!(sized(&one), sized(&before));
    assert_eq!(one["status"]["size"], 3);
    sandbox.get("ConfigMap", "one").await;
    sandbox.stop().await;
}

/// Whoever else writes our condition: it is written back once each time.
pub(crate) async fn a_condition_that_somebody_else_wrote_is_written_back_once() {
    let rule = rule("status-fight", "Disputed", "    conditions: []\n");
    let mut sandbox = Sandbox::with("status-fight", &rule, &[("config.yaml", CONFIG)]).await;
    sandbox.kind_is("Disputed", status(&json!({"conditions": list("keyed", &usual())}))).await;
    sandbox.is("Disputed", "one", json!({})).await;
    until_ready(&sandbox, "Disputed").await;
    let before = sandbox.writes().len();
    for round in 0..2 {
        let theirs = json!({"type": "Ready", "status": "False", "reason": format!("R{round}"),
                            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        sandbox.edit_status("Disputed", "one", json!({"status": {"conditions": [theirs]}})).await;
        until_ready(&sandbox, "Disputed").await;
    }
    assert_eq!(sandbox.writes().len() - before, 2);
    sandbox.stop().await;
}
