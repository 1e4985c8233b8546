//! What happens over the life of parents: time, levels of parents, large collections, copies of our marks.

use crate::sandbox::Sandbox;
use serde_json::{Map, Value, json};

const EXPIRES: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: expires}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - id: short
      when: [{path: "$.metadata.creationTimestamp", as: age, lessThan: 6s}]
      template: short.yaml
"#;

const SHORT: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-short"}
data: {a: b}
"#;

pub(crate) async fn a_child_goes_when_its_time_has_come_and_nobody_asks_before() {
    let mut sandbox = Sandbox::with("expires", EXPIRES, &[("short.yaml", SHORT)]).await;
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    sandbox.until("ConfigMap", "app-short", "exists", |_| true).await;
    sandbox.settled().await;
    let before = sandbox.requests().len();
    sandbox.until_gone("ConfigMap", "app-short").await;
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    assert_eq!(requests.len(), 1, "one deletion: {requests:#?}");
    sandbox.stop().await;
}

const LEVELS: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: top}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: middle, template: middle.yaml}
  status: {}
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: middle}
spec:
  parent: {apiVersion: tests.kubewright.io/v1, kind: LevelMiddle}
  children:
    - {id: low, template: low.yaml}
  status: {}
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: low}
spec:
  parent: {apiVersion: tests.kubewright.io/v1, kind: LevelLow}
  children:
    - {id: leaf, template: leaf.yaml}
  status: {}
"#;

fn level(kind: &str) -> String {
    format!(
        "apiVersion: tests.kubewright.io/v1\nkind: {kind}\nmetadata: {{name: {{{{ parent.metadata.name }}}}}}\nspec: {{image: {{{{ parent.spec.image }}}}}}\n"
    )
}

const LEAF: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-leaf"}
data: {image: {{ parent.spec.image }}}
"#;

pub(crate) async fn an_edit_runs_down_three_levels_and_readiness_runs_up() {
    let keyed = json!({"type": "object", "properties": {
        "observedGeneration": {"type": "integer"},
        "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type"], "properties": {
                "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
                "message": {"type": "string"}, "lastTransitionTime": {"type": "string"},
                "observedGeneration": {"type": "integer"}}}}}});
    let kinds = Sandbox::bare("levels-kinds").await;
    for kind in ["LevelMiddle", "LevelLow"] {
        kinds.kind_is(kind, keyed.clone()).await;
    }
    let (middle, low) = (level("LevelMiddle"), level("LevelLow"));
    let templates =
        [("middle.yaml", middle.as_str()), ("low.yaml", low.as_str()), ("leaf.yaml", LEAF)];
    let mut sandbox = Sandbox::with("levels", LEVELS, &templates).await;
    sandbox.webapp_is("app", json!({"image": "one"})).await;
    sandbox.until("ConfigMap", "app-leaf", "exists", |o| o["data"]["image"] == "one").await;
    sandbox.until_ready("app").await;
    sandbox.webapp_is("app", json!({"image": "two"})).await;
    sandbox.until("ConfigMap", "app-leaf", "is edited", |o| o["data"]["image"] == "two").await;
    sandbox.until_ready("app").await;
    sandbox.delete("WebApp", "app").await;
    sandbox.until_gone("ConfigMap", "app-leaf").await;
    sandbox.settled().await;
    sandbox.stop().await;
}

const THOUSAND: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: thousand}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - forEach: {path: "$.spec.files", item: entry}
      children:
        - {id: file, template: file.yaml}
  status: {}
"#;

const FILE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-{{ entry.key }}"}
data: {text: {{ entry.value }}}
"#;

fn files(numbers: impl Iterator<Item = usize>) -> Value {
    let files: Map<String, Value> = numbers.map(|n| (format!("f{n:04}"), json!("x"))).collect();
    json!({"image": "a", "files": files})
}

pub(crate) async fn of_a_thousand_items_one_more_writes_one_object() {
    let mut sandbox = Sandbox::with("thousand", THOUSAND, &[("file.yaml", FILE)]).await;
    sandbox.webapp_is("app", files(1..1000)).await;
    sandbox.until("ConfigMap", "app-f0999", "exists", |_| true).await;
    sandbox.until_ready("app").await;
    let before = sandbox.writes().len();
    sandbox.webapp_is("app", files(0..1000)).await;
    sandbox.until("ConfigMap", "app-f0000", "exists", |_| true).await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    let children = writes.iter().filter(|write| write.uri.contains("/configmaps/")).count();
    assert_eq!(children, 1, "{writes:#?}");
    // One too many is told, and nothing is pruned for it.
    sandbox.webapp_is("app", files(0..1001)).await;
    let parent = sandbox
        .until("WebApp", "app", "tells", |o| crate::sandbox::condition(o, "Stalled").0 == "True")
        .await;
    let told = crate::sandbox::condition(&parent, "Stalled").1;
    assert!(told.contains("there are 1001 items, more than 1000"), "{told}");
    assert!(sandbox.find("ConfigMap", "app-f0500").await.is_some());
    sandbox.stop().await;
}
