//! What goes wrong for one parent is said there and stays there.

use crate::sandbox::{Sandbox, condition};
use serde_json::json;

pub(crate) async fn a_template_error_names_its_place_and_stops_only_its_parent() {
    let rule = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: strict}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: first, template: first.yaml}
    - {id: second, template: second.yaml}
  status: {}
";
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-";
    let first = format!("{template}first\"}}\ndata: {{image: {{{{ parent.spec.image }}}}}}\n");
    let second = format!("{template}second\"}}\ndata:\n  host: {{{{ parent.spec.host }}}}\n");
    let templates = [("first.yaml", first.as_str()), ("second.yaml", second.as_str())];
    let mut sandbox = Sandbox::with("template-error", rule, &templates).await;
    sandbox.webapp_is("good", json!({"image": "a", "host": "h"})).await;
    sandbox.webapp_is("bad", json!({"image": "a"})).await;
    sandbox.until_ready("good").await;
    let bad = sandbox
        .until("WebApp", "bad", "is stalled", |object| condition(object, "Stalled").0 == "True")
        .await;
    let message = condition(&bad, "Stalled").1;
    assert!(message.contains("second.yaml:5:12: "), "{message}");
    assert!(message.contains("parent.spec.host"), "{message}");
    assert_eq!(condition(&bad, "Ready").0, "False");
    sandbox.get("ConfigMap", "bad-first").await;

    // A parent that rendered before and fails now keeps what it has.
    sandbox.webapp_is("good", json!({"image": "b"})).await;
    sandbox
        .until("WebApp", "good", "is stalled", |object| condition(object, "Stalled").0 == "True")
        .await;
    sandbox.settled().await;
    assert_eq!(sandbox.get("ConfigMap", "good-second").await["data"]["host"], "h");
    assert_eq!(sandbox.get("ConfigMap", "good-first").await["data"]["image"], "b");

    // Mending the parent mends everything.
    sandbox.webapp_is("bad", json!({"image": "a", "host": "h"})).await;
    sandbox.until_ready("bad").await;
    sandbox.stop().await;
}

pub(crate) async fn of_two_parents_the_first_keeps_the_child_and_the_second_says_who_has_it() {
    let rule = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: shared}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: config, template: config.yaml}
  status: {}
";
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.spec.image }}}
data: {from: {{ parent.metadata.name }}}
";
    let mut sandbox = Sandbox::with("same-child", rule, &[("config.yaml", template)]).await;
    sandbox.webapp_is("first", json!({"image": "wanted-by-both"})).await;
    sandbox.until_ready("first").await;
    sandbox.webapp_is("second", json!({"image": "wanted-by-both"})).await;
    let second = sandbox
        .until("WebApp", "second", "is stalled", |object| condition(object, "Stalled").0 == "True")
        .await;
    let message = condition(&second, "Stalled").1;
    let holder = "it belongs to WebApp.demo.kubewright.io same-child/first (rule shared)";
    assert!(message.contains(holder), "{message}");
    sandbox.until_ready("first").await;
    let child = sandbox.get("ConfigMap", "wanted-by-both").await;
    assert_eq!(child["data"]["from"], "first");
    assert_eq!(child["metadata"]["ownerReferences"].as_array().map(Vec::len), Some(1));

    // A stranger's object is not taken either.
    sandbox
        .create(
            "ConfigMap",
            json!({"apiVersion": "v1", "kind": "ConfigMap",
                                    "metadata": {"name": "strangers"}, "data": {"x": "y"}}),
        )
        .await;
    sandbox.webapp_is("third", json!({"image": "strangers"})).await;
    let third = sandbox
        .until("WebApp", "third", "is stalled", |object| condition(object, "Stalled").0 == "True")
        .await;
    assert!(condition(&third, "Stalled").1.contains("Kubewright did not create it"), "{third}");
    assert_eq!(sandbox.get("ConfigMap", "strangers").await["data"], json!({"x": "y"}));

    // When the first one goes, the second gets it.
    sandbox.delete("WebApp", "first").await;
    sandbox
        .until("ConfigMap", "wanted-by-both", "is the second's", |object| {
            object["data"]["from"] == "second"
        })
        .await;
    sandbox.until_ready("second").await;
    sandbox.stop().await;
}
