//! Whatever a parent waits for: once it happens, the parent hears of it.

use crate::sandbox::{Sandbox, condition};
use serde_json::json;

/// A rule for `WebApp`s; `children` and `status` are the rest of its spec.
fn rule(name: &str, children: &str, status: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}
  children:
{children}
  status:
{status}
"
    )
}

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.spec.image }}}
data: {from: {{ parent.metadata.name }}}
";

/// The cache selects by our label: without it the child seems to be deleted, and yet it cannot be created.
pub(crate) async fn a_stripped_label_comes_back_with_one_write() {
    let mut sandbox = Sandbox::webapp("stripped-label").await;
    sandbox.webapp_is("shop", json!({"image": "shop:1"})).await;
    sandbox.until_ready("shop").await;
    let before = sandbox.requests().len();
    let label = "kubewright.io/owner";
    sandbox.edit("Service", "shop", json!({"metadata": {"labels": {label: null}}})).await;
    sandbox
        .until("Service", "shop", "has its label", |object| {
            object["metadata"]["labels"][label] == "stripped-label"
        })
        .await;
    sandbox.until_ready("shop").await;
    let requests = sandbox.requests().split_off(before);
    let to_service: Vec<_> =
        requests.iter().filter(|request| request.uri.contains("/services/shop")).collect();
    let codes: Vec<u64> = to_service.iter().map(|request| request.code).collect();
    assert_eq!(codes, [409, 200, 200], "a refused creation, a read, a repair: {to_service:#?}");
    sandbox.stop().await;
}

/// Whoever damages the mark makes the object somebody else's; that must not pass unnoticed.
pub(crate) async fn a_damaged_mark_is_noticed_and_its_repair_too() {
    let mut sandbox = Sandbox::webapp("damaged-mark").await;
    sandbox.webapp_is("shop", json!({"image": "shop:1"})).await;
    sandbox.until_ready("shop").await;
    let mark = "kubewright.io/child";
    let good = sandbox.get("Service", "shop").await["metadata"]["annotations"][mark].clone();
    let annotate = |value| json!({"metadata": {"annotations": {mark: value}}});
    sandbox.edit("Service", "shop", annotate(json!("nonsense"))).await;
    let shop = sandbox
        .until("WebApp", "shop", "is stalled", |object| condition(object, "Stalled").0 == "True")
        .await;
    assert!(condition(&shop, "Stalled").1.contains("Kubewright did not create it"), "{shop}");
    sandbox.edit("Service", "shop", annotate(good)).await;
    sandbox.until_ready("shop").await;
    sandbox.stop().await;
}

/// What a rule says in the status is read by its own children and by other rules.
pub(crate) async fn a_status_that_we_wrote_wakes_whoever_reads_it() {
    let children = "    - {id: reader, template: reader.yaml}";
    let status = "    fields: |\n      phase: {{ \"of-\" ~ parent.metadata.name }}\n      url: {{ parent.status.phase }}";
    let reader = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-reader\"}
data: {phase: {{ parent.status.phase }}}
";
    let other = "    - {id: other, template: other.yaml}";
    let templates =
        [("reader.yaml", reader), ("other.yaml", &*reader.replace("-reader", "-other"))];
    let writes_status = rule("writes-status", children, status);
    let reads_status = rule("reads-status", other, "").replace("  status:\n", "");
    let both = format!("{writes_status}---\n{reads_status}");
    let mut sandbox = Sandbox::with("own-status", &both, &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    for name in ["shop-reader", "shop-other"] {
        let is = |object: &serde_json::Value| object["data"]["phase"] == "of-shop";
        sandbox.until("ConfigMap", name, "has the phase", is).await;
    }
    let shop = sandbox.until_ready("shop").await;
    assert_eq!(shop["status"]["url"], "of-shop");
    sandbox.stop().await;
}

/// The second parent asks nothing while the first one has the child, and gets it when the first one lets go.
pub(crate) async fn a_taken_child_costs_no_request_and_is_had_when_it_is_free() {
    let children =
        "    - {id: config, template: config.yaml, when: [{path: \"$.spec.host\", exists: true}]}";
    let rule = rule("taken", children, "    conditions: []");
    let mut sandbox = Sandbox::with("taken-child", &rule, &[("config.yaml", CONFIG)]).await;
    sandbox.webapp_is("first", json!({"image": "one", "host": "h"})).await;
    sandbox.until_ready("first").await;
    let before = sandbox.requests().len();
    sandbox.webapp_is("second", json!({"image": "one", "host": "h"})).await;
    sandbox
        .until("WebApp", "second", "is stalled", |object| condition(object, "Stalled").0 == "True")
        .await;
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    let about_child: Vec<_> =
        requests.iter().filter(|request| request.uri.contains("/configmaps/one")).collect();
    assert!(about_child.is_empty(), "the cache knows whose it is: {about_child:#?}");

    // The first one no longer wants it.
    sandbox.webapp_is("first", json!({"image": "one"})).await;
    sandbox
        .until("ConfigMap", "one", "is the second's", |object| object["data"]["from"] == "second")
        .await;
    sandbox.until_ready("second").await;
    sandbox.stop().await;
}

/// The children of the former parent go; that is no trouble, and no reason to ask again and again.
pub(crate) async fn a_parent_that_comes_back_gets_new_children() {
    let mut sandbox = Sandbox::webapp("comes-back").await;
    let spec = json!({"image": "shop:1", "files": {"a": "b"}});
    sandbox.webapp_is("shop", spec.clone()).await;
    let old = sandbox.until_ready("shop").await["metadata"]["uid"].clone();
    let before = sandbox.writes().len();
    sandbox.delete("WebApp", "shop").await;
    sandbox.webapp_is("shop", spec).await;
    sandbox
        .until("WebApp", "shop", "is another one and ready", |object| {
            object["metadata"]["uid"] != old && condition(object, "Ready").0 == "True"
        })
        .await;
    sandbox.settled().await;
    let parent = sandbox.get("WebApp", "shop").await;
    for (kind, name) in [("Deployment", "shop"), ("Service", "shop"), ("ConfigMap", "shop-files")] {
        let child = sandbox.get(kind, name).await;
        assert_eq!(child["metadata"]["ownerReferences"][0]["uid"], parent["metadata"]["uid"]);
    }
    let writes = sandbox.writes().split_off(before);
    let refused: Vec<_> = writes.iter().filter(|write| write.code >= 400).collect();
    assert!(refused.len() <= 3, "at most one creation per child came too early: {refused:#?}");
    sandbox.stop().await;
}

/// A child that somebody deletes and a finalizer holds: nothing is asked until it is gone.
pub(crate) async fn a_child_held_by_a_foreign_finalizer_is_waited_for_in_silence() {
    let mut sandbox = Sandbox::webapp("held-child").await;
    sandbox.webapp_is("shop", json!({"image": "shop:1", "files": {"a": "b"}})).await;
    sandbox.until_ready("shop").await;
    let finalizers = |list: serde_json::Value| json!({"metadata": {"finalizers": list}});
    sandbox.edit("ConfigMap", "shop-files", finalizers(json!(["tests.kubewright.io/hold"]))).await;
    sandbox.settled().await;
    let before = sandbox.writes().len();
    sandbox.delete("ConfigMap", "shop-files").await;
    let is_waiting = |object: &serde_json::Value| {
        condition(object, "Ready").1.contains("config: it is being deleted")
    };
    sandbox.until("WebApp", "shop", "says that it waits", is_waiting).await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    assert!(writes.iter().all(|write| write.uri.contains("/status")), "{writes:#?}");
    sandbox.edit("ConfigMap", "shop-files", finalizers(json!(null))).await;
    sandbox.until_ready("shop").await;
    sandbox.get("ConfigMap", "shop-files").await;
    sandbox.stop().await;
}

/// A child that gets another name is another object: the former one no longer speaks for it, even if it cannot go.
pub(crate) async fn a_renamed_child_is_the_new_object() {
    let children =
        "    - {id: config, template: config.yaml}\n    - {id: reader, template: reader.yaml}";
    let status = "    fields: |\n      phase: {{ children.config.metadata.name }}";
    let reader = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: reader}
data: {reads: {{ children.config.metadata.name }}}
";
    let rule = rule("renamed", children, status);
    let templates = [("config.yaml", CONFIG), ("reader.yaml", reader)];
    let mut sandbox = Sandbox::with("renamed", &rule, &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a-first"})).await;
    sandbox.until_ready("shop").await;
    let hold = json!({"metadata": {"finalizers": ["tests.kubewright.io/hold"]}});
    sandbox.edit("ConfigMap", "a-first", hold).await;
    sandbox.webapp_is("shop", json!({"image": "b-second"})).await;
    let reads = |object: &serde_json::Value| object["data"]["reads"] == "b-second";
    sandbox.until("ConfigMap", "reader", "reads the new one", reads).await;
    let is_going =
        |object: &serde_json::Value| object["metadata"].get("deletionTimestamp").is_some();
    sandbox.until("ConfigMap", "a-first", "is on its way", is_going).await;
    let tells = |object: &serde_json::Value| object["status"]["phase"] == "b-second";
    sandbox.until("WebApp", "shop", "tells of the new one", tells).await;
    sandbox.until_ready("shop").await;
    sandbox.edit("ConfigMap", "a-first", json!({"metadata": {"finalizers": null}})).await;
    sandbox.until_gone("ConfigMap", "a-first").await;
    sandbox.stop().await;
}
