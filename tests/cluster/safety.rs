//! What a parent contains stays a value, and what belongs to others stays theirs.

use crate::sandbox::{Sandbox, condition};
use crate::world::eventually;
use serde_json::{Value, json};

fn rule(name: &str, template: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}
  children:
    - {{id: child, template: {template}}}
  status: {{}}
"
    )
}

async fn stalled(sandbox: &Sandbox, name: &str) -> String {
    let is_stalled = |object: &Value| condition(object, "Stalled").0 == "True";
    let parent = sandbox.until("WebApp", name, "is stalled", is_stalled).await;
    condition(&parent, "Stalled").1.to_owned()
}

/// A name goes into the path of a request: it must not add a query or another step to it.
pub(crate) async fn a_name_from_a_parent_cannot_become_a_request() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ parent.spec.image }}}\n";
    let rule = rule("names", "child.yaml");
    let mut sandbox = Sandbox::with("names", &rule, &[("child.yaml", template)]).await;
    let names =
        ["x?force=true&y=", "x/status", "../secrets/x", "..", "ü", "a b", "x#", "x%2Fstatus"];
    for (number, image) in names.iter().enumerate() {
        sandbox.webapp_is(&format!("p-{number}"), json!({"image": image})).await;
    }
    sandbox.webapp_is("long", json!({"image": "a".repeat(300)})).await;
    for number in 0..names.len() {
        let message = stalled(&sandbox, &format!("p-{number}")).await;
        assert!(message.contains("is no name for a ConfigMap"), "{message}");
    }
    assert!(stalled(&sandbox, "long").await.contains("longer than 253"));
    sandbox.settled().await;
    let to_children: Vec<_> =
        sandbox.writes().into_iter().filter(|write| !write.uri.contains("/webapps/")).collect();
    assert!(to_children.is_empty(), "{to_children:#?}");
    sandbox.stop().await;
}

/// The server quotes the values that it refuses.
pub(crate) async fn a_secret_stays_out_of_conditions() {
    let template = "\
apiVersion: v1
kind: Secret
metadata: {name: {{ parent.metadata.name }}}
type: kubernetes.io/tls
stringData: {tls.crt: hunter2, \"not a key\": hunter2}
";
    let rule = rule("secretive", "child.yaml");
    let mut sandbox = Sandbox::with("secretive", &rule, &[("child.yaml", template)]).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    let message = stalled(&sandbox, "shop").await;
    assert!(message.contains("data[not a key]"), "{message}");
    let shop = sandbox.get("WebApp", "shop").await.to_string();
    assert!(!shop.contains("hunter2") && !shop.contains("aHVudGVyMg"), "{shop}");
    let (note, _) = sandbox.until_told("shop", "ChildFailed").await;
    assert!(note.contains("data[not a key]"), "{note}");
    let told = format!("{:?}", sandbox.told("shop").await);
    assert!(!told.contains("hunter2") && !told.contains("aHVudGVyMg"), "{told}");
    sandbox.stop().await;
}

/// A field of a Secret that somebody else holds: who and which, never what.
pub(crate) async fn a_contested_secret_stays_out_of_events() {
    let template = "\
apiVersion: v1
kind: Secret
metadata: {name: {{ parent.metadata.name }}}
stringData: {image: {{ parent.spec.image }}}
data: {host: {{ parent.spec.host | b64encode if parent.spec.host }}}
";
    let rule = rule("contested-secret", "child.yaml");
    let mut sandbox = Sandbox::with("contested-secret", &rule, &[("child.yaml", template)]).await;
    sandbox.webapp_is("shop", json!({"image": "hunter2-image"})).await;
    sandbox.until_ready("shop").await;
    // In base64: hunter2-theirs and hunter2-ours.
    sandbox.edit("Secret", "shop", json!({"data": {"host": "aHVudGVyMi10aGVpcnM="}})).await;
    sandbox.webapp_is("shop", json!({"image": "hunter2-image", "host": "hunter2-ours"})).await;
    assert!(stalled(&sandbox, "shop").await.contains(".data.host is held by by-hand"));
    let (note, _) = sandbox.until_told("shop", "Conflict").await;
    assert_eq!(
        note,
        "child (Secret contested-secret/shop) is not written: data.host by by-hand (Update)"
    );
    let told = format!("{:?}", sandbox.told("shop").await);
    assert!(!told.contains("hunter2") && !told.contains("aHVudGVyMi"), "{told}");
    sandbox.stop().await;
}

/// Values that make no legal object of an honest template.
pub(crate) async fn strange_parents_are_told_what_is_wrong() {
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ parent.metadata.name }}
  labels: {{ parent.spec.env if parent.spec.env else parent.spec.image }}
";
    let rule = rule("strange", "child.yaml");
    let mut sandbox = Sandbox::with("strange", &rule, &[("child.yaml", template)]).await;
    sandbox.webapp_is("text", json!({"image": "a"})).await;
    sandbox.webapp_is("marks", json!({"image": "a", "env": {"kubewright.io/owner": "me"}})).await;
    sandbox.webapp_is("illegal", json!({"image": "a", "env": {"not a label": "x"}})).await;
    let long = format!("a{}", ".b".repeat(120));
    sandbox.webapp_is(&long, json!({"image": "a", "env": {"fine": "x"}})).await;
    assert!(stalled(&sandbox, "text").await.contains("`metadata.labels` is not a map"));
    assert!(stalled(&sandbox, "marks").await.contains("`kubewright.io/owner`"));
    assert!(stalled(&sandbox, "illegal").await.contains("not a label"));
    sandbox.until_ready(&long).await;
    sandbox.stop().await;
}

/// An autoscaler writes between our look and our repair: its number stays, the repair is made again.
pub(crate) async fn ignored_fields_are_never_taken_back() {
    let mut sandbox = Sandbox::webapp("autoscaled").await;
    sandbox.webapp_is("shop", json!({"image": "a", "autoscaled": true, "replicas": 1})).await;
    sandbox.until_ready("shop").await;
    let label = "app.kubernetes.io/name";
    for replicas in 2..8 {
        // Both in a row, so that the repair of the label often meets a Deployment that has changed since.
        let wrong = json!({"metadata": {"labels": {label: format!("wrong-{replicas}")}}});
        sandbox.edit("Deployment", "shop", wrong).await;
        sandbox.edit("Deployment", "shop", json!({"spec": {"replicas": replicas}})).await;
        let is_repaired = |object: &Value| object["metadata"]["labels"][label] == "shop";
        let shop = sandbox.until("Deployment", "shop", "is repaired", is_repaired).await;
        assert_eq!(shop["spec"]["replicas"], replicas);
        if replicas == 4 {
            // A new intent too.
            sandbox
                .webapp_is("shop", json!({"image": "b", "autoscaled": true, "replicas": 1}))
                .await;
            let image = "/spec/template/spec/containers/0/image";
            let is_new = |object: &Value| object.pointer(image) == Some(&json!("b"));
            let shop = sandbox.until("Deployment", "shop", "has the new image", is_new).await;
            assert_eq!(shop["spec"]["replicas"], replicas);
        }
    }
    sandbox.stop().await;
}

/// Fields that others hold are not taken by a rule that newly wants them, not even after a restart.
pub(crate) async fn a_new_intent_takes_nothing_from_others() {
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data:
  image: {{ parent.spec.image }}
  host: {{ parent.spec.host if parent.spec.host }}
";
    let rule = rule("takes-nothing", "child.yaml");
    let mut sandbox = Sandbox::with("takes-nothing", &rule, &[("child.yaml", template)]).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    sandbox.until_ready("shop").await;
    sandbox.stop().await;
    sandbox.edit("ConfigMap", "shop", json!({"data": {"host": "theirs"}})).await;
    sandbox.webapp_is("shop", json!({"image": "b", "host": "ours"})).await;
    sandbox.start();
    assert!(stalled(&sandbox, "shop").await.contains(".data.host is held by by-hand"));
    let child = sandbox.get("ConfigMap", "shop").await;
    assert_eq!(
        child["data"],
        json!({"image": "a", "host": "theirs"}),
        "not a part of it is applied"
    );
    // Who wants what it has agrees with it.
    sandbox.webapp_is("shop", json!({"image": "b", "host": "theirs"})).await;
    sandbox.until_ready("shop").await;
    assert_eq!(sandbox.get("ConfigMap", "shop").await["data"]["image"], "b");
    sandbox.stop().await;
}

/// A parent that nests deeper than we read: it is told so, and nothing is made of half of it.
pub(crate) async fn a_parent_that_cannot_be_read_is_told_so() {
    let text = rule("deep", "child.yaml")
        .replace("demo.kubewright.io/v1, kind: WebApp", "tests.kubewright.io/v1, kind: Deep");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\n";
    let mut sandbox = Sandbox::with("deep", &text, &[("child.yaml", template)]).await;
    let condition_list = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "required": ["type"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "message": {"type": "string"}}}});
    sandbox
        .kind_is("Deep", json!({"type": "object", "properties": {"conditions": condition_list}}))
        .await;
    let deep = (0..200).fold(json!(1), |inner, _| json!({ "a": inner }));
    sandbox.is("Deep", "one", deep).await;
    eventually("the parent is told", || async {
        let text = sandbox.text("Deep", "one").await;
        if text.contains("the parent nests too deep to be read") { Ok(()) } else { Err(text) }
    })
    .await;
    sandbox.settled().await;
    let writes = sandbox.writes();
    assert_eq!(writes.len(), 1, "one status: {writes:#?}");
    assert_eq!(sandbox.find("ConfigMap", "fixed").await, None);
    sandbox.stop().await;
}

/// A rule that creates objects of its parents' kind: its children are no parents.
pub(crate) async fn a_child_is_no_parent_of_its_own_rule() {
    let text = rule("recursive", "child.yaml")
        .replace("demo.kubewright.io/v1, kind: WebApp", "v1, kind: ConfigMap");
    let text = text.replace("  status: {}\n", "");
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-x\"}
";
    let mut sandbox = Sandbox::with("recursive", &text, &[("child.yaml", template)]).await;
    let parent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}});
    sandbox.create("ConfigMap", parent).await;
    sandbox.until("ConfigMap", "one-x", "is there", |_| true).await;
    // Every namespace has one more ConfigMap, which is a parent too.
    sandbox.until("ConfigMap", "kube-root-ca.crt-x", "is there", |_| true).await;
    sandbox.settled().await;
    assert_eq!(sandbox.find("ConfigMap", "one-x-x").await, None);
    assert_eq!(sandbox.writes().len(), 2, "{:#?}", sandbox.writes());
    // A copy of the marks on another object proves nothing: it is a parent.
    let marks = sandbox.get("ConfigMap", "one-x").await["metadata"]["annotations"].clone();
    let copy = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy", "annotations": marks}});
    sandbox.create("ConfigMap", copy).await;
    sandbox.until("ConfigMap", "copy-x", "is there", |_| true).await;
    sandbox.stop().await;
}
