//! From a new parent to a deleted one.

use crate::sandbox::{Sandbox, condition};
use crate::world::Request;
use serde_json::json;

pub(crate) async fn a_new_parent_gets_its_children_and_its_status() {
    let mut sandbox = Sandbox::webapp("new-parent").await;
    let spec = json!({"image": "shop:1", "replicas": 2, "host": "shop.example.com",
                      "env": {"ANSWER": "no"}, "files": {"a.conf": "x: 1"}});
    sandbox.webapp_is("shop", spec).await;
    let parent = sandbox.until_ready("shop").await;

    let deployment = sandbox.get("Deployment", "shop").await;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(container["image"], "shop:1");
    assert_eq!(container["env"], json!([{"name": "ANSWER", "value": "no"}]));
    assert_eq!(sandbox.get("ConfigMap", "shop-files").await["data"], json!({"a.conf": "x: 1"}));
    assert_eq!(sandbox.get("Service", "shop").await["spec"]["ports"][0]["port"], 80);
    assert_eq!(
        sandbox.get("Ingress", "shop").await["spec"]["rules"][0]["host"],
        "shop.example.com"
    );
    for child in [&deployment, &sandbox.get("Service", "shop").await] {
        let owner = &child["metadata"]["ownerReferences"][0];
        assert_eq!(
            (&owner["uid"], &owner["controller"]),
            (&parent["metadata"]["uid"], &json!(true))
        );
    }

    let status = &parent["status"];
    assert_eq!(status["phase"], "Running");
    assert_eq!(status["url"], "https://shop.example.com");
    assert_eq!(status["availableReplicas"], 2);
    assert_eq!(condition(&parent, "Serving").0, "True");
    assert_eq!(condition(&parent, "Stalled").0, "False");
    assert_eq!(condition(&parent, "Reconciling").0, "False");
    for condition in status["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], parent["metadata"]["generation"]);
    }
    let creations = sandbox.requests().into_iter().filter(|request| request.code == 201).count();
    assert_eq!(creations, 4, "each child is created with one call");
    assert!(
        !sandbox
            .requests()
            .iter()
            .any(|request| request.verb == "get" && request.uri.contains("/shop"))
    );
    sandbox.stop().await;
}

pub(crate) async fn an_edit_reaches_the_children_and_nothing_else_is_written() {
    let mut sandbox = Sandbox::webapp("edit").await;
    sandbox.webapp_is("shop", json!({"image": "shop:1"})).await;
    sandbox.until_ready("shop").await;
    let before = sandbox.writes().len();

    sandbox.webapp_is("shop", json!({"image": "shop:2"})).await;
    let image = "/spec/template/spec/containers/0/image";
    sandbox
        .until("Deployment", "shop", "has the new image", |object| {
            object.pointer(image) == Some(&json!("shop:2"))
        })
        .await;
    sandbox
        .until("WebApp", "shop", "is ready in generation 2", |object| {
            let conditions = object["status"]["conditions"].as_array();
            condition(object, "Ready").0 == "True"
                && conditions
                    .is_some_and(|all| all.iter().all(|one| one["observedGeneration"] == 2))
        })
        .await;
    sandbox.settled().await;
    let writes: Vec<_> = sandbox.writes().split_off(before);
    let to_children: Vec<_> =
        writes.iter().filter(|write| !write.uri.contains("/webapps/")).collect();
    assert_eq!(to_children.len(), 1, "one apply, of the deployment alone: {writes:#?}");
    assert!(to_children[0].uri.contains("/deployments/shop"), "{to_children:#?}");
    assert!(writes.iter().all(|write| write.code == 200), "{writes:#?}");
    sandbox.stop().await;
}

pub(crate) async fn a_child_that_is_no_longer_wanted_is_pruned_and_only_that_one() {
    let mut sandbox = Sandbox::webapp("prune").await;
    sandbox.webapp_is("shop", json!({"image": "shop:1", "host": "a.example.com"})).await;
    sandbox.webapp_is("other", json!({"image": "shop:1", "host": "b.example.com"})).await;
    sandbox.until_ready("shop").await;
    sandbox.until_ready("other").await;
    // A foreign object with a copy of all marks of a child is not ours to delete.
    let ingress = sandbox.get("Ingress", "shop").await;
    let mut copy = ingress.clone();
    copy["metadata"] = json!({
        "name": "copy",
        "labels": ingress["metadata"]["labels"],
        "annotations": ingress["metadata"]["annotations"],
        "ownerReferences": ingress["metadata"]["ownerReferences"],
    });
    sandbox.create("Ingress", copy).await;

    sandbox.webapp_is("shop", json!({"image": "shop:1"})).await;
    sandbox.until_gone("Ingress", "shop").await;
    sandbox
        .until("WebApp", "shop", "has no url", |object| object["status"].get("url").is_none())
        .await;
    sandbox.settled().await;
    for (kind, name) in
        [("Ingress", "other"), ("Ingress", "copy"), ("Service", "shop"), ("Deployment", "shop")]
    {
        sandbox.get(kind, name).await;
    }

    // The same when the rule itself no longer names a child.
    sandbox.edit_rule("    - id: service\n      template: webapp/service.yaml\n", "");
    sandbox.until_gone("Service", "shop").await;
    sandbox.until_gone("Service", "other").await;
    sandbox.settled().await;
    sandbox.get("Ingress", "other").await;
    let deletions: Vec<Request> =
        sandbox.writes().into_iter().filter(|write| write.verb == "delete").collect();
    assert_eq!(deletions.len(), 3, "{deletions:#?}");
    sandbox.stop().await;
}

pub(crate) async fn the_children_of_a_deleted_parent_go() {
    let mut sandbox = Sandbox::webapp("delete").await;
    sandbox.webapp_is("shop", json!({"image": "shop:1", "files": {"a": "b"}})).await;
    sandbox.webapp_is("stays", json!({"image": "shop:1"})).await;
    sandbox.until_ready("shop").await;
    sandbox.until_ready("stays").await;
    let before = sandbox.writes().len();
    sandbox.delete("WebApp", "shop").await;
    for (kind, name) in [("Deployment", "shop"), ("Service", "shop"), ("ConfigMap", "shop-files")] {
        sandbox.until_gone(kind, name).await;
    }
    sandbox.settled().await;
    sandbox.get("Deployment", "stays").await;
    assert_eq!(
        sandbox.writes().len(),
        before,
        "garbage collection does it: not one request of ours"
    );
    sandbox.stop().await;
}
