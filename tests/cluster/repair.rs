//! Whatever others do to children: what is ours comes back, what is not is left alone.

use crate::sandbox::Sandbox;
use serde_json::json;

pub(crate) async fn a_deleted_child_comes_back() {
    let mut sandbox = Sandbox::webapp("deleted-child").await;
    sandbox.webapp_is("shop", json!({"image": "shop:1"})).await;
    sandbox.until_ready("shop").await;
    let before = sandbox.writes().len();
    let uid = sandbox.get("Service", "shop").await["metadata"]["uid"].clone();
    sandbox.delete("Service", "shop").await;
    sandbox.until("Service", "shop", "is back", |object| object["metadata"]["uid"] != uid).await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    let to_service: Vec<_> =
        writes.iter().filter(|write| write.uri.contains("/services/")).collect();
    assert_eq!(to_service.len(), 1, "{writes:#?}");
    sandbox.stop().await;
}

pub(crate) async fn an_edited_field_is_repaired_with_one_write() {
    let mut sandbox = Sandbox::webapp("edited-child").await;
    let spec = json!({"image": "shop:1", "env": {"A": "1", "B": "2"}, "files": {"a": "b"}});
    sandbox.webapp_is("shop", spec).await;
    sandbox.until_ready("shop").await;
    let name = "app.kubernetes.io/name";
    for (kind, object, pointer, patch, repaired) in [
        (
            "Service",
            "shop",
            "/spec/selector",
            json!({"spec": {"selector": {name: "wrong"}}}),
            json!({name: "shop"}),
        ),
        (
            "Service",
            "shop",
            "/metadata/labels/app.kubernetes.io~1name",
            json!({"metadata": {"labels": {name: null}}}),
            json!("shop"),
        ),
        ("ConfigMap", "shop-files", "/data/a", json!({"data": {"a": "changed"}}), json!("b")),
        ("Deployment", "shop", "/spec/replicas", json!({"spec": {"replicas": 5}}), json!(1)),
    ] {
        let before = sandbox.writes().len();
        sandbox.edit(kind, object, patch.clone()).await;
        sandbox
            .until(kind, object, "is repaired", |object| object.pointer(pointer) == Some(&repaired))
            .await;
        sandbox.until_ready("shop").await;
        let writes = sandbox.writes().split_off(before);
        // The Deployment's controller may write between our judgement and the repair, which is then refused.
        let repairs =
            writes.iter().filter(|write| !write.uri.contains("/webapps/") && write.code == 200);
        assert_eq!(repairs.count(), 1, "{patch}: {writes:#?}");
    }
    sandbox.stop().await;
}

pub(crate) async fn foreign_fields_labels_and_ignored_values_survive() {
    let mut sandbox = Sandbox::webapp("foreign").await;
    let spec = json!({"image": "shop:1", "autoscaled": true, "replicas": 1});
    sandbox.webapp_is("shop", spec).await;
    sandbox.until_ready("shop").await;
    let before = sandbox.writes().len();
    let foreign = json!({
        "metadata": {"labels": {"team": "blue"}, "annotations": {"note": "by hand"}},
        "spec": {"replicas": 3, "minReadySeconds": 1},
    });
    let edited = sandbox.edit("Deployment", "shop", foreign).await;
    assert_eq!(edited["spec"]["replicas"], 3);
    sandbox
        .until("WebApp", "shop", "has three replicas", |object| {
            object["status"]["availableReplicas"] == 3
        })
        .await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    assert!(writes.iter().all(|write| write.uri.contains("/webapps/shop/status")), "{writes:#?}");

    // A repair of what is ours leaves what is theirs, the ignored number of replicas included.
    let owned = json!({"metadata": {"labels": {"app.kubernetes.io/name": "wrong"}}});
    sandbox.edit("Deployment", "shop", owned).await;
    let repaired = sandbox
        .until("Deployment", "shop", "is repaired", |object| {
            object["metadata"]["labels"]["app.kubernetes.io/name"] == "shop"
        })
        .await;
    assert_eq!(repaired["metadata"]["labels"]["team"], "blue");
    assert_eq!(repaired["metadata"]["annotations"]["note"], "by hand");
    assert_eq!(repaired["spec"]["replicas"], 3);
    assert_eq!(repaired["spec"]["minReadySeconds"], 1);
    sandbox.stop().await;
}
