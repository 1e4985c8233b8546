//! Marks, statuses and names that somebody made up.

use super::{Sandbox, json};
use crate::sandbox::condition;
use crate::world::eventually;
use serde_json::Value;
use std::time::Duration;

const NAME: &str = "forgery";
const OTHER: &str = "forgery-other";

/// One child per entry of `env`, one in another namespace, so that a finalizer holds the parent, and a Secret with a value that
/// is made once.
const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: forgery}
spec:
  crossNamespace: true
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: far, template: far.yaml}
    - {id: made, template: made.yaml, generate: {password: {length: 20}}}
    - forEach: {path: "$.spec.env", item: one}
      children:
        - {id: each, template: each.yaml}
  status:
    fields: |
      availableReplicas: {{ children.each | length }}
"#;

const TEMPLATES: [(&str, &str); 3] = [
    (
        "far.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ parent.metadata.name }}-far\", namespace: forgery-other}\n",
    ),
    (
        "made.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: \"{{ parent.metadata.name }}-made\"}\nstringData: {a: {{ generated.password }}}\n",
    ),
    (
        "each.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ parent.metadata.name }}-{{ one.key }}\"}\ndata: {a: {{ one.value }}}\n",
    ),
];

/// A `ConfigMap` with marks that name a parent, a child and an object.
fn forged(name: &str, parent: &str, object: &str, more: &Value) -> Value {
    let mut mark = json!({"rule": NAME, "parent": format!("WebApp.demo.kubewright.io {NAME}/{parent}"),
        "child": "each", "items": ["ghost"], "object": object});
    for (key, value) in more.as_object().expect("a map") {
        mark[key] = value.clone();
    }
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"theirs": "x"}, "metadata": {"name": name,
        "labels": {"kubewright.io/owner": NAME, "kubewright.io/rule": NAME, "kubewright.io/parent": parent,
            "kubewright.io/child": "each", "kubewright.io/item": "ghost", "kubewright.io/slot": "0"},
        "annotations": {"kubewright.io/child": mark.to_string(), "kubewright.io/intent": "1.0000000000000000"}}})
}

/// An edit's mark for a parent that never made it.
fn forged_edit(name: &str) -> Value {
    let mark = json!({"rule": NAME, "parent": format!("WebApp.demo.kubewright.io {NAME}/shop"),
        "child": "far", "intent": "1.0000000000000000"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"theirs": "x"}, "metadata": {"name": name,
        "labels": {"kubewright.io/owner": NAME},
        "annotations": {"kubewright.io/patch-0000000000000000": mark.to_string()}}})
}

/// What somebody made up, each with where it is.
struct Forgeries<'a>(Vec<(&'a Sandbox, String, Value)>);

impl<'a> Forgeries<'a> {
    async fn add(&mut self, place: &'a Sandbox, object: Value) {
        let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
        place.create("ConfigMap", object).await;
        let made = place.get("ConfigMap", &name).await;
        self.0.push((place, name, made));
    }

    async fn stand(&self) {
        for (place, name, made) in &self.0 {
            let now = place.get("ConfigMap", name).await;
            assert_eq!(now["metadata"]["uid"], made["metadata"]["uid"], "{now}");
            assert_eq!(now["data"], made["data"], "{now}");
            assert_eq!(
                now["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"],
                "{now}"
            );
        }
    }
}

/// What a parent's writer makes up about it: its status, and our annotations.
async fn lies_are_corrected(sandbox: &Sandbox, other: &Sandbox) {
    let secret = sandbox.get("Secret", "shop-made").await;
    let lies = json!({"status": {"availableReplicas": 77, "conditions": [{"type": "Ready", "status": "False",
        "reason": "Forged", "message": "x", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}});
    sandbox.edit_status("WebApp", "shop", lies).await;
    let annotations = json!({"metadata": {"annotations": {"kubewright.io/generated": "each,far",
        "kubewright.io/child": "{}", "kubewright.io/allow-deletions": "all"}}});
    sandbox.edit("WebApp", "shop", annotations).await;
    sandbox
        .until("WebApp", "shop", "tells the truth", |o| o["status"]["availableReplicas"] == 1)
        .await;
    sandbox.until("WebApp", "shop", "is ready", |o| condition(o, "Ready").0 == "True").await;
    sandbox.settled().await;
    let now = sandbox.get("Secret", "shop-made").await;
    assert_eq!(
        (&now["data"], &now["metadata"]["uid"]),
        (&secret["data"], &secret["metadata"]["uid"])
    );
    assert!(sandbox.find("ConfigMap", "shop-a").await.is_some());
    assert!(other.find("ConfigMap", "shop-far").await.is_some());
    let told = format!(
        "{} {:?}",
        sandbox.get("WebApp", "shop").await["status"],
        sandbox.told("shop").await
    );
    let value = secret["data"]["a"].as_str().expect("a text");
    assert!(!told.contains(value), "{told}");
}

/// Whoever may write `ConfigMaps` puts our labels, annotations and owner references on objects of their own, in the parent's
/// namespace and elsewhere, and whoever may write a parent makes up its status and our annotations on it.
pub(crate) async fn forged_marks_delete_nothing_and_are_read_as_nothing() {
    let mut sandbox = Sandbox::at_rest_with(NAME, RULE, &TEMPLATES).await;
    sandbox.vanished_after = Duration::from_secs(2);
    sandbox.namespace(OTHER).await;
    let other = sandbox.looking_into(OTHER);
    let here = sandbox.looking_into(NAME);
    sandbox.webapp_is("shop", json!({"image": "a", "env": {"a": "x", "b": "y"}})).await;
    sandbox.start();
    sandbox.until_ready("shop").await;
    let counted = |count: u64| move |o: &Value| o["status"]["availableReplicas"] == count;
    let shop = sandbox.until("WebApp", "shop", "counts two", counted(2)).await;
    let uid = shop["metadata"]["uid"].clone();
    let owner = json!([{"apiVersion": "demo.kubewright.io/v1", "kind": "WebApp", "name": "shop", "uid": uid, "controller": true}]);

    let mut forgeries = Forgeries(Vec::new());
    let mut copy = sandbox.get("ConfigMap", "shop-a").await;
    copy["metadata"] = json!({"name": "copy", "labels": copy["metadata"]["labels"],
        "annotations": copy["metadata"]["annotations"], "ownerReferences": owner});
    let mut tied = forged("tied", "shop", &format!("ConfigMap {NAME}/tied"), &json!({}));
    tied["metadata"]["ownerReferences"] = owner.clone();
    let object = |name: &str| format!("ConfigMap {OTHER}/{name}");
    let free = json!({"free": true});
    forgeries.add(&here, copy).await;
    forgeries.add(&here, tied).await;
    forgeries.add(&other, forged("free", "shop", &object("free"), &free)).await;
    forgeries.add(&other, forged("ghost", "ghost", &object("ghost"), &free)).await;
    forgeries.add(&other, forged("not-this", "shop", &object("shop-far"), &free)).await;
    forgeries.add(&other, forged_edit("edit")).await;
    // A pass that prunes, with all of them in the cache.
    sandbox.webapp_is("shop", json!({"image": "a", "env": {"a": "x"}})).await;
    sandbox.until_gone("ConfigMap", "shop-b").await;
    sandbox.until("WebApp", "shop", "counts one", counted(1)).await;
    // Parents are missed for two seconds; whether they are gone is asked after that.
    tokio::time::sleep(Duration::from_secs(6)).await;
    sandbox.settled().await;
    forgeries.stand().await;

    lies_are_corrected(&sandbox, &other).await;

    // None of them holds the parent when it goes, and none goes with it but what garbage collection takes.
    forgeries.0.retain(|(_, name, _)| !["copy", "tied"].contains(&name.as_str()));
    sandbox.delete("WebApp", "shop").await;
    sandbox.until_gone("WebApp", "shop").await;
    eventually("the child in the other namespace is gone", || async {
        match other.find("ConfigMap", "shop-far").await {
            None => Ok(()),
            Some(object) => Err(object.to_string()),
        }
    })
    .await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    sandbox.settled().await;
    forgeries.stand().await;
    sandbox.stop().await;
}
