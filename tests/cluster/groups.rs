//! Groups on a real API server: one object per item, and one write per changed item.

use crate::sandbox::Sandbox;
use serde_json::{Map, Value, json};

const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: files}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - forEach: {path: "$.spec.files", item: entry}
      children:
        - {id: file, template: file.yaml}
        - {id: link, template: link.yaml, needs: [file]}
  status:
    conditions:
      - type: Complete
        when: [{of: link, path: "$.*", count: {atLeast: 20}}]
        then: {reason: All}
        otherwise: {reason: Some}
"#;

const FILE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-{{ entry.key }}"}
data: {text: {{ entry.value }}}
"#;

const LINK: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ children.file.metadata.name }}-link"}
data: {to: {{ children.file.metadata.name }}}
"#;

fn spec(files: impl Iterator<Item = usize>, text: &str) -> Value {
    let files: Map<String, Value> = files.map(|n| (format!("f{n:02}"), json!(text))).collect();
    json!({"image": "a", "files": files})
}

pub(crate) async fn each_item_has_its_objects_and_a_change_writes_only_what_it_concerns() {
    let templates = [("file.yaml", FILE), ("link.yaml", LINK)];
    let mut sandbox = Sandbox::with("groups", RULE, &templates).await;
    sandbox.webapp_is("app", spec(1..21, "x")).await;
    sandbox.until("ConfigMap", "app-f20-link", "exists", |_| true).await;
    let parent = sandbox.until_ready("app").await;
    assert_eq!(crate::sandbox::condition(&parent, "Complete").0, "True");
    let link = sandbox.get("ConfigMap", "app-f07-link").await;
    assert_eq!(link["data"]["to"], "app-f07");
    assert_eq!(link["metadata"]["labels"]["kubewright.io/item"], "f07");

    // One in front, one out of the middle.
    let before = sandbox.writes().len();
    sandbox.webapp_is("app", spec((0..21).filter(|n| *n != 9), "x")).await;
    sandbox.until("ConfigMap", "app-f00-link", "exists", |_| true).await;
    sandbox.until_gone("ConfigMap", "app-f09").await;
    sandbox.until_gone("ConfigMap", "app-f09-link").await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    let children: Vec<_> =
        writes.iter().filter(|write| write.uri.contains("/configmaps/")).collect();
    assert_eq!(children.len(), 4, "two created, two deleted: {writes:#?}");

    sandbox.stop().await;
    let before = sandbox.writes().len();
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.writes().len(), before, "a restart writes nothing");
    sandbox.stop().await;
}
