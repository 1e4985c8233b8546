//! Readiness that comes and goes, and chatter that is no news.

use crate::sandbox::{Sandbox, condition};
use crate::world::Request;
use serde_json::{Value, json};

/// A child that says itself whether it is ready, and one of which the rule says when it is.
const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: comes-and-goes}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: part, template: part.yaml}
    - {id: config, template: config.yaml, ready: [{path: "$.data.ok", equals: "yes", default: "no"}]}
  status:
    fields: |
      phase: {{ "ready" if children.part.status.conditions else "new" }}
"#;

const PART: &str = "\
apiVersion: tests.kubewright.io/v1
kind: ComesAndGoes
metadata: {name: {{ parent.metadata.name }}}
spec: {image: {{ parent.spec.image }}}
";

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data: {image: {{ parent.spec.image }}}
";

fn part_is(ready: bool, message: &str) -> Value {
    let status = if ready { "True" } else { "False" };
    json!({"status": {"observedGeneration": 1, "conditions": [
        {"type": "Ready", "status": status, "reason": "Tested", "message": message}]}})
}

async fn until_told(sandbox: &Sandbox, ready: &str, told: &[&str]) {
    let says = |object: &Value| {
        let (status, message) = condition(object, "Ready");
        status == ready && told.iter().all(|part| message.contains(part))
    };
    sandbox.until("WebApp", "app", &format!("is ready: {ready} {told:?}"), says).await;
}

pub(crate) async fn readiness_that_is_lost_is_told_and_comes_back() {
    let templates = [("part.yaml", PART), ("config.yaml", CONFIG)];
    let mut sandbox = Sandbox::at_rest_with("comes-and-goes", RULE, &templates).await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    sandbox.kind_is("ComesAndGoes", any).await;
    sandbox.start();
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    until_told(&sandbox, "False", &["config: "]).await;
    for _ in 0..2 {
        sandbox.edit_status("ComesAndGoes", "app", part_is(true, "")).await;
        sandbox.edit("ConfigMap", "app", json!({"data": {"ok": "yes"}})).await;
        until_told(&sandbox, "True", &[]).await;
        sandbox.edit_status("ComesAndGoes", "app", part_is(false, "it is broken")).await;
        until_told(&sandbox, "False", &["part: Ready is not true"]).await;
        sandbox.edit_status("ComesAndGoes", "app", part_is(true, "")).await;
        until_told(&sandbox, "True", &[]).await;
        sandbox.edit("ConfigMap", "app", json!({"data": {"ok": "no"}})).await;
        until_told(&sandbox, "False", &["config: "]).await;
    }
    // An answer to an older state of it is none.
    sandbox.edit("ConfigMap", "app", json!({"data": {"ok": "yes"}})).await;
    until_told(&sandbox, "True", &[]).await;
    sandbox.webapp_is("app", json!({"image": "b"})).await;
    until_told(&sandbox, "False", &["part: "]).await;
    let mut seen = part_is(true, "");
    seen["status"]["observedGeneration"] = json!(2);
    sandbox.edit_status("ComesAndGoes", "app", seen).await;
    until_told(&sandbox, "True", &[]).await;
    sandbox.stop().await;
}

pub(crate) async fn chatter_that_no_rule_reads_is_no_news() {
    let templates = [("part.yaml", PART), ("config.yaml", CONFIG)];
    let rule = RULE.replace("comes-and-goes", "chatter");
    let part = PART.replace("ComesAndGoes", "Chatter");
    let templates = [("part.yaml", part.as_str()), templates[1]];
    let mut sandbox = Sandbox::at_rest_with("chatter", &rule, &templates).await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    sandbox.kind_is("Chatter", any).await;
    sandbox.start();
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    sandbox.until("Chatter", "app", "is there", |_| true).await;
    sandbox.until("ConfigMap", "app", "is there", |_| true).await;
    sandbox.edit_status("Chatter", "app", part_is(true, "")).await;
    sandbox.edit("ConfigMap", "app", json!({"data": {"ok": "yes"}})).await;
    until_told(&sandbox, "True", &[]).await;
    sandbox.settled().await;
    let before = sandbox.requests().len();
    for beat in 0..30 {
        let note = json!({"metadata": {"annotations": {"beat": format!("{beat}")}, "labels": {"beat": format!("{beat}")}}});
        sandbox.edit("ConfigMap", "app", note.clone()).await;
        sandbox.edit("Chatter", "app", note.clone()).await;
        sandbox.edit_status("Chatter", "app", json!({"status": {"beat": beat}})).await;
        sandbox.edit("WebApp", "app", note).await;
    }
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    let asked: Vec<&Request> = requests.iter().filter(|request| request.verb != "watch").collect();
    assert!(asked.is_empty(), "{asked:#?}");
    sandbox.stop().await;
}
