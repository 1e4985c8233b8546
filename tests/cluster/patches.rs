//! Edits of objects that a rule does not own, on a real API server.

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: edits}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - id: shared
      when: [{path: "$.spec.host", exists: true}]
      patch: {target: {apiVersion: v1, kind: ConfigMap, name: shared}}
      template: shared.yaml
    - id: itself
      patch: {target: parent}
      template: itself.yaml
    - id: once
      needs: [shared]
      when: [{path: "$.spec.host", exists: true}]
      patch: {target: {apiVersion: v1, kind: ConfigMap, name: shared}, type: json}
      template: once.yaml
  status: {}
"#;

const SHARED: &str = "\
metadata: {labels: {\"app-{{ parent.metadata.name }}\": \"yes\"}}
data: {\"{{ parent.metadata.name }}\": {{ parent.spec.image }}}
";

const ITSELF: &str = "metadata: {annotations: {seen: {{ parent.spec.image }}}}\n";

const ONCE: &str = "\
operations:
  - {op: test, path: /data/kind, value: shared}
  - {op: add, path: /data/{{ parent.metadata.name }}-once, value: {{ parent.spec.image }}}
";

fn is_edited(object: &Value, name: &str, image: &str) -> bool {
    object["data"][name] == image && object["metadata"]["labels"][format!("app-{name}")] == "yes"
}

pub(crate) async fn an_edit_is_made_kept_and_taken_back_and_nothing_else_is_touched() {
    let templates = [("shared.yaml", SHARED), ("itself.yaml", ITSELF), ("once.yaml", ONCE)];
    let mut sandbox = Sandbox::with("edits", RULE, &templates).await;
    sandbox.webapp_is("one", json!({"image": "a", "host": "x"})).await;
    let waits = sandbox
        .until("WebApp", "one", "waits", |object| condition(object, "Reconciling").0 == "True")
        .await;
    let told = condition(&waits, "Reconciling").1;
    assert!(
        told.contains("shared: it waits for ConfigMap edits/shared, which does not exist"),
        "{told}"
    );
    assert_eq!(waits["metadata"]["annotations"]["seen"], "a");

    let shared = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"},
        "data": {"kind": "shared", "theirs": "x"}});
    sandbox.create("ConfigMap", shared).await;
    sandbox.until("ConfigMap", "shared", "is edited", |o| is_edited(o, "one", "a")).await;
    sandbox.until("ConfigMap", "shared", "is edited once", |o| o["data"]["one-once"] == "a").await;
    sandbox.until_ready("one").await;
    sandbox.webapp_is("two", json!({"image": "b", "host": "x"})).await;
    sandbox.until("ConfigMap", "shared", "is edited by both", |o| is_edited(o, "two", "b")).await;
    sandbox.until_ready("two").await;

    // Somebody else's change of ours is repaired, one of their own is none of our business.
    let edit = json!({"data": {"one": "hand", "theirs": "y"}});
    sandbox.edit("ConfigMap", "shared", edit).await;
    let repaired =
        sandbox.until("ConfigMap", "shared", "is repaired", |o| is_edited(o, "one", "a")).await;
    assert_eq!(repaired["data"]["theirs"], "y");
    sandbox.settled().await;

    sandbox.stop().await;
    let before = sandbox.writes().len();
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.writes().len(), before, "a restart writes nothing");

    // No longer wanted, or without its parent: what we added goes, the rest stays.
    sandbox.webapp_is("one", json!({"image": "a"})).await;
    let left =
        sandbox.until("ConfigMap", "shared", "is left", |o| o["data"].get("one").is_none()).await;
    assert!(is_edited(&left, "two", "b") && left["data"]["theirs"] == "y", "{left}");
    assert_eq!(left["data"]["one-once"], "a", "what a JSON patch did stays");
    assert_eq!(left["data"]["one-once"], "a", "what a JSON patch did stays");
    sandbox.settled().await;
    // Neither is what the rule does not say any more.
    let itself = "    - id: itself\n      patch: {target: parent}\n      template: itself.yaml\n";
    sandbox.edit_rule(itself, "");
    sandbox
        .until("WebApp", "two", "is left alone", |o| {
            o["metadata"]["annotations"].get("seen").is_none()
        })
        .await;
    sandbox.settled().await;
    sandbox.delete("WebApp", "two").await;
    sandbox.until_gone("WebApp", "two").await;
    let left = sandbox.get("ConfigMap", "shared").await;
    assert_eq!(left["data"].get("two"), None, "{left}");
    let marks = left["metadata"]["annotations"].as_object().map_or(0, serde_json::Map::len);
    assert_eq!(marks, 0, "{left}");
    sandbox.stop().await;
}
