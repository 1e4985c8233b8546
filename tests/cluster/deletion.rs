//! Parents that go, in every way they can: nothing is forgotten, nothing of anybody else is touched.

use crate::sandbox::{Sandbox, condition};
use crate::soundness::Soundness;
use crate::world::{Request, eventually};
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use std::time::Duration;

const KINDS: &[&str] = &["ConfigMap", "Secret", "ClusterRole"];

/// A rule of this name whose children are these lines.
fn rule(name: &str, children: &str, more: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  crossNamespace: true
  parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}
  children:
{children}
{more}"
    )
}

fn config(suffix: &str, namespace: &str) -> String {
    let namespace =
        if namespace.is_empty() { String::new() } else { format!(", namespace: {namespace}") };
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ parent.metadata.name }}}}-{suffix}\"{namespace}}}\ndata: {{a: {{{{ parent.spec.image }}}}}}\n"
    )
}

fn role(prefix: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: \"{prefix}-{{{{ parent.metadata.name }}}}\"}}\nrules: []\n"
    )
}

fn paused(value: &Value) -> Value {
    json!({"metadata": {"annotations": {"kubewright.io/paused": value}}})
}

fn deletions(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| request.verb == "delete").collect()
}

/// Every way in which a child can belong to a parent, an edit of an object of somebody else among them.
const WAYS: &str = "    - {id: near, template: near.yaml}
    - {id: role, template: role.yaml}
    - {id: far, template: far.yaml, needs: [role]}
    - {id: kept, template: kept.yaml, onRemove: {parentDeleted: orphan}}
    - id: edit
      template: edit.yaml
      patch: {target: {apiVersion: v1, kind: ConfigMap, name: theirs}}";

const EDIT: &str = "data: {\"{{ parent.metadata.name }}\": {{ parent.spec.image }}}\n";

/// Ours is gone from an object that stays.
fn is_left_behind(object: &Value) -> bool {
    let marks = ["labels", "annotations"].map(|kind| object["metadata"][kind].to_string());
    marks.iter().all(|text| !text.contains("kubewright.io/"))
}

/// Somebody takes our finalizer off: while we run, and while we do not. What no owner reference reaches goes nevertheless;
/// what was to stay stays; and another parent's children are left alone.
pub(crate) async fn what_a_parent_that_was_forced_away_left_behind_goes() {
    let name = "forced-away";
    let far = Sandbox::bare("forced-away-far").await;
    let (near, farther) = (config("near", ""), config("far", "forced-away-far"));
    let (kept, cluster_role) = (config("kept", ""), role(name));
    let templates = [
        ("near.yaml", near.as_str()),
        ("far.yaml", farther.as_str()),
        ("kept.yaml", kept.as_str()),
        ("role.yaml", cluster_role.as_str()),
        ("edit.yaml", EDIT),
    ];
    let text = rule(name, WAYS, "  status: {}\n");
    let mut sandbox = Sandbox::at_rest_with(name, &text, &templates).await;
    let beside = sandbox.looking_into(name);
    let sound = Soundness::begin(&sandbox, vec![&beside, &far], KINDS).await;
    sandbox.vanished_after = Duration::from_secs(3);
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"x": "y"}});
    sandbox.create("ConfigMap", theirs).await;
    sandbox.start();
    for parent in ["unseen", "seen", "stays"] {
        sandbox.webapp_is(parent, json!({"image": "a"})).await;
        sandbox.until_ready(parent).await;
    }
    sound.check(&sandbox).await;
    assert_eq!(sandbox.get("ConfigMap", "theirs").await["data"]["unseen"], "a");

    sandbox.stop().await;
    sandbox.force_away("WebApp", "unseen").await;
    let before = sandbox.requests().len();
    sandbox.start();
    gone(&sandbox, &far, name, "unseen").await;
    // A paused parent is not taken apart, whatever becomes of it.
    sandbox.edit("WebApp", "seen", paused(&json!("true"))).await;
    sandbox.settled().await;
    sandbox.force_away("WebApp", "seen").await;
    gone(&sandbox, &far, name, "seen").await;
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    assert_eq!(deletions(&requests).len(), 4, "two for each: {requests:#?}");
    assert!(requests.iter().all(|request| !request.uri.contains("stays")), "{requests:#?}");

    sound.check(&sandbox).await;
    let theirs = sandbox.get("ConfigMap", "theirs").await;
    assert_eq!(theirs["data"], json!({"x": "y", "stays": "a"}));
    far.get("ConfigMap", "stays-far").await;
    // It is over.
    let before = sandbox.requests().len();
    sandbox.edit("ConfigMap", "theirs", json!({"data": {"more": "z"}})).await;
    sandbox.settled().await;
    sandbox.stop().await;
    sandbox.start();
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    assert!(!requests.iter().any(Request::is_write), "{requests:#?}");
    assert!(!requests.iter().any(|request| request.uri.contains("seen")), "{requests:#?}");
    sandbox.stop().await;
}

/// Waits until nothing is left of a parent but what stays.
async fn gone(sandbox: &Sandbox, far: &Sandbox, name: &str, parent: &str) {
    far.until_gone("ConfigMap", &format!("{parent}-far")).await;
    sandbox.until_gone("ClusterRole", &format!("{name}-{parent}")).await;
    sandbox.until_gone("ConfigMap", &format!("{parent}-near")).await;
    sandbox.until("ConfigMap", &format!("{parent}-kept"), "is left behind", is_left_behind).await;
    sandbox
        .until("ConfigMap", "theirs", "has no edit", |object| object["data"].get(parent).is_none())
        .await;
}

/// So many parents are gone at once that the mistake is likely ours: nothing is deleted until there are fewer.
pub(crate) async fn of_too_many_parents_that_are_gone_nothing_is_deleted() {
    let name = "too-many-gone";
    let template = role(name);
    let text = rule(name, "    - {id: role, template: role.yaml}", "");
    let mut sandbox = Sandbox::with(name, &text, &[("role.yaml", &template)]).await;
    let parents: Vec<String> = (0..7).map(|number| format!("p-{number}")).collect();
    for parent in &parents {
        sandbox.webapp_is(parent, json!({"image": "a"})).await;
    }
    for parent in &parents {
        sandbox.until("ClusterRole", &format!("{name}-{parent}"), "is there", |_| true).await;
    }
    sandbox.settled().await;
    sandbox.stop().await;
    for parent in &parents {
        sandbox.force_away("WebApp", parent).await;
    }
    sandbox.vanished_after = Duration::from_secs(2);
    let before = sandbox.requests().len();
    sandbox.start();
    let looked_for = |sandbox: &Sandbox, times: usize| {
        let requests = sandbox.requests().split_off(before);
        let of = |parent: &String| {
            let uri = format!("/webapps/{parent}");
            requests
                .iter()
                .filter(|request| request.uri.ends_with(&uri) && request.code == 404)
                .count()
        };
        let all = parents.iter().all(|parent| of(parent) >= times);
        if all { Ok(()) } else { Err(format!("{requests:#?}")) }
    };
    eventually("all were looked for twice", || async { looked_for(&sandbox, 2) }).await;
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    assert!(!requests.iter().any(Request::is_write), "{requests:#?}");
    assert_eq!(sandbox.labelled("ClusterRole").await.len(), 7);

    // Somebody has looked, and takes two away.
    for parent in parents.iter().take(2) {
        sandbox.delete("ClusterRole", &format!("{name}-{parent}")).await;
    }
    for parent in &parents {
        sandbox.until_gone("ClusterRole", &format!("{name}-{parent}")).await;
    }
    sandbox.stop().await;
}

/// The namespace of a parent takes it along, its children in it and those elsewhere; it is neither fought nor held up.
pub(crate) async fn the_namespace_of_a_parent_goes_and_its_children_everywhere_with_it() {
    let name = "whole-namespace";
    let far = Sandbox::bare("whole-namespace-far").await;
    let (near, farther, role) =
        (config("near", ""), config("far", "whole-namespace-far"), role(name));
    let templates = [
        ("near.yaml", near.as_str()),
        ("far.yaml", farther.as_str()),
        ("role.yaml", role.as_str()),
    ];
    let children = "    - {id: near, template: near.yaml}
    - {id: role, template: role.yaml}
    - {id: far, template: far.yaml, needs: [role]}";
    let mut sandbox =
        Sandbox::at_rest_with(name, &rule(name, children, "  status: {}\n"), &templates).await;
    let sound = Soundness::begin(&sandbox, vec![&far], KINDS).await;
    sandbox.start();
    for parent in ["one", "two"] {
        sandbox.webapp_is(parent, json!({"image": "a"})).await;
        sandbox.until_ready(parent).await;
    }
    let before = sandbox.requests().len();
    sandbox.namespace_is_gone(name).await;
    sandbox.settled().await;
    for parent in ["one", "two"] {
        assert_eq!(far.find("ConfigMap", &format!("{parent}-far")).await, None);
        assert_eq!(sandbox.find("ClusterRole", &format!("{name}-{parent}")).await, None);
    }
    sound.check(&sandbox).await;
    let requests = sandbox.requests().split_off(before);
    let about: Vec<_> = requests.iter().filter(|request| request.verb != "watch").collect();
    assert!(about.len() <= 40, "it is not fought: {about:#?}");
    sandbox.stop().await;
}

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: \"{{ parent.metadata.name }}\", annotations: {note: ours}}
spec: {selector: {app: \"{{ parent.metadata.name }}\"}, ports: [{port: 80}]}
";

const SLICE: &str = "\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: \"{{ parent.metadata.name }}-own\"}
addressType: IPv4
endpoints: []
";

const ENDPOINTS: &str = "\
apiVersion: v1
kind: Endpoints
metadata: {name: \"{{ parent.metadata.name }}-own\"}
";

/// Kubernetes copies the labels and annotations of a Service to what it makes for it: that is no child, though a rule that makes
/// objects of those kinds too sees it.
pub(crate) async fn what_kubernetes_copies_our_marks_to_is_no_child() {
    let name = "copied-marks";
    let children = "    - {id: service, template: service.yaml}
    - {id: slice, template: slice.yaml, when: [{path: \"$.spec.host\", exists: true}]}
    - {id: endpoints, template: endpoints.yaml, when: [{path: \"$.spec.host\", exists: true}]}";
    let templates =
        [("service.yaml", SERVICE), ("slice.yaml", SLICE), ("endpoints.yaml", ENDPOINTS)];
    let mut sandbox =
        Sandbox::with(name, &rule(name, children, "  status: {}\n"), &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a", "host": "h"})).await;
    sandbox.until_ready("shop").await;
    let find = |sandbox: &Sandbox| {
        let sandbox = sandbox.looking_into(name);
        async move {
            // The same labels, by which the sandbox's own installation would select.
            let mut found = Vec::new();
            for kind in ["EndpointSlice", "Endpoints"] {
                let (resource, _) = Sandbox::resource(kind);
                let api: Api<DynamicObject> =
                    Api::namespaced_with(sandbox.client.clone(), name, &resource);
                let selected = format!("kubewright.io/owner={name}");
                let list = kube::api::ListParams::default().labels(&selected);
                let list = api.list(&list).await.expect("a list").items;
                let ours =
                    |object: &DynamicObject| object.metadata.name.as_deref() != Some("shop-own");
                found.extend(list.into_iter().filter(ours));
            }
            found
        }
    };
    let copied = eventually("both are copied to", || async {
        let found = find(&sandbox).await;
        if found.len() >= 2 { Ok(found) } else { Err(format!("{found:#?}")) }
    })
    .await;
    // This version copies labels; others copied annotations too.
    let service = sandbox.get("Service", "shop").await;
    let (annotations, owner) = (
        service["metadata"]["annotations"].clone(),
        service["metadata"]["ownerReferences"].clone(),
    );
    let slice = copied.iter().filter_map(|object| object.metadata.name.as_deref());
    let slice = slice.max_by_key(|name| name.len()).expect("a slice").to_owned();
    sandbox.edit("EndpointSlice", &slice, json!({"metadata": {"annotations": annotations}})).await;
    let mut copy = json!({"apiVersion": "v1", "kind": "Endpoints"});
    copy["metadata"] = json!({"name": "copy", "labels": service["metadata"]["labels"],
        "annotations": service["metadata"]["annotations"], "ownerReferences": owner});
    sandbox.create("Endpoints", copy).await;
    sandbox.settled().await;
    let copied = find(&sandbox).await;
    assert!(copied.len() >= 3, "{copied:#?}");
    let before = sandbox.requests().len();
    sandbox.webapp_is("shop", json!({"image": "b"})).await;
    sandbox.until_gone("EndpointSlice", "shop-own").await;
    sandbox.until_gone("Endpoints", "shop-own").await;
    sandbox.until_ready("shop").await;
    assert_eq!(find(&sandbox).await.len(), copied.len(), "the copies are left alone");
    let requests = sandbox.requests().split_off(before);
    let deleted = deletions(&requests);
    assert_eq!(deleted.len(), 2, "{deleted:#?}");
    sandbox.stop().await;
}

/// Two parents of different kinds with one name: each has its own children, and only those go with it.
pub(crate) async fn two_parents_of_different_kinds_may_have_one_name() {
    let name = "namesakes";
    let far = Sandbox::bare("namesakes-far").await;
    let of_kind = |text: &str| {
        text.replace(
            "{{ parent.metadata.name }}",
            "{{ parent.kind | lower }}-{{ parent.metadata.name }}",
        )
    };
    let near = of_kind(&config("near", ""));
    let farther = of_kind(&config("far", "namesakes-far"));
    let templates = [("near.yaml", near.as_str()), ("far.yaml", farther.as_str())];
    let children = "    - {id: near, template: near.yaml}\n    - {id: far, template: far.yaml}";
    let rule = rule(name, children, "").replace(
        "parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}",
        "parent: {kinds: [{apiVersion: demo.kubewright.io/v1, kind: WebApp}, {apiVersion: tests.kubewright.io/v1, kind: Namesake}]}",
    );
    let mut sandbox = Sandbox::at_rest_with(name, &rule, &templates).await;
    sandbox.kind_is("Namesake", Value::Null).await;
    let beside = sandbox.looking_into(name);
    let sound = Soundness::begin(&sandbox, vec![&beside, &far], KINDS).await;
    sandbox.start();
    sandbox.webapp_is("one", json!({"image": "a"})).await;
    sandbox.is("Namesake", "one", json!({"image": "b"})).await;
    for (kind, image) in [("webapp", "a"), ("namesake", "b")] {
        let has = |object: &Value| object["data"]["a"] == image;
        sandbox.until("ConfigMap", &format!("{kind}-one-near"), "is its own", has).await;
        far.until("ConfigMap", &format!("{kind}-one-far"), "is its own", has).await;
    }
    sandbox.settled().await;
    sound.check(&sandbox).await;
    sandbox.delete("Namesake", "one").await;
    sandbox.until_gone("Namesake", "one").await;
    sandbox.until_gone("ConfigMap", "namesake-one-near").await;
    sandbox.settled().await;
    assert_eq!(far.find("ConfigMap", "namesake-one-far").await, None);
    sandbox.get("ConfigMap", "webapp-one-near").await;
    far.get("ConfigMap", "webapp-one-far").await;
    sound.check(&sandbox).await;

    // A rule that is not for the kind any more lets its parents go.
    sandbox.is("Namesake", "two", json!({"image": "b"})).await;
    far.until("ConfigMap", "namesake-two-far", "is there", |_| true).await;
    sandbox.settled().await;
    sandbox.edit_rule(", {apiVersion: tests.kubewright.io/v1, kind: Namesake}", "");
    let free = |object: &Value| object["metadata"]["finalizers"].is_null();
    sandbox.until("Namesake", "two", "is let go", free).await;
    sandbox.delete("Namesake", "two").await;
    sandbox.until_gone("Namesake", "two").await;
    assert!(!free(&sandbox.get("WebApp", "one").await));
    sandbox.stop().await;
    sandbox.kind_is_gone("Namesake").await;
}

/// A parent that is deleted, or forced away, and made anew at once ends with children of its own, all of them.
pub(crate) async fn a_parent_that_is_made_anew_at_once_has_its_own_children() {
    let name = "made-anew";
    let far = Sandbox::bare("made-anew-far").await;
    let (near, farther, role) = (config("near", ""), config("far", "made-anew-far"), role(name));
    let templates = [
        ("near.yaml", near.as_str()),
        ("far.yaml", farther.as_str()),
        ("role.yaml", role.as_str()),
    ];
    let children = "    - {id: near, template: near.yaml}
    - {id: role, template: role.yaml}
    - {id: far, template: far.yaml, needs: [role]}";
    let mut sandbox =
        Sandbox::at_rest_with(name, &rule(name, children, "  status: {}\n"), &templates).await;
    let beside = sandbox.looking_into(name);
    let sound = Soundness::begin(&sandbox, vec![&beside, &far], KINDS).await;
    sandbox.vanished_after = Duration::from_secs(1);
    sandbox.start();
    sandbox.webapp_is("app", json!({"image": "first"})).await;
    sandbox.until_ready("app").await;
    for (image, forced) in [("second", false), ("third", true), ("fourth", false)] {
        let old = sandbox.get("WebApp", "app").await["metadata"]["uid"].clone();
        if forced {
            sandbox.edit("WebApp", "app", paused(&json!("true"))).await;
            sandbox.settled().await;
            sandbox.force_away("WebApp", "app").await;
        } else {
            sandbox.delete("WebApp", "app").await;
            sandbox.until_gone("WebApp", "app").await;
        }
        sandbox.webapp_is("app", json!({"image": image})).await;
        sandbox
            .until("WebApp", "app", "is another one and ready", |object| {
                object["metadata"]["uid"] != old && condition(object, "Ready").0 == "True"
            })
            .await;
        let has = |object: &Value| object["data"]["a"] == image;
        sandbox.until("ConfigMap", "app-near", "is its own", has).await;
        far.until("ConfigMap", "app-far", "is its own", has).await;
        sandbox.settled().await;
        sound.check(&sandbox).await;
    }
    // Nobody remembers the former ones.
    let before = sandbox.requests().len();
    let uid = far.get("ConfigMap", "app-far").await["metadata"]["uid"].clone();
    sandbox.stop().await;
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(far.get("ConfigMap", "app-far").await["metadata"]["uid"], uid);
    let requests = sandbox.requests().split_off(before);
    assert!(!requests.iter().any(Request::is_write), "{requests:#?}");
    sandbox.stop().await;
}

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: \"{{ parent.metadata.name }}\", namespace: slow-pods}
spec:
  nodeName: nowhere
  terminationGracePeriodSeconds: 600
  containers: [{name: c, image: i}]
";

/// A child that takes its time is waited for in silence, and what it comes after stays until then.
pub(crate) async fn a_child_that_takes_its_time_is_waited_for_in_silence() {
    let name = "slow-child";
    let far = Sandbox::bare("slow-pods").await;
    let role = role(name);
    let templates = [("role.yaml", role.as_str()), ("pod.yaml", POD)];
    let children = "    - {id: role, template: role.yaml}
    - {id: pod, template: pod.yaml, needs: [role]}";
    let mut sandbox = Sandbox::with(name, &rule(name, children, ""), &templates).await;
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    far.until("Pod", "app", "is there", |_| true).await;
    sandbox.settled().await;
    let before = sandbox.requests().len();
    sandbox.delete("WebApp", "app").await;
    let going = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
    far.until("Pod", "app", "is on its way", going).await;
    sandbox.settled().await;
    // Somebody's chatter about it wakes us, and still nothing is asked.
    for round in 0..5 {
        let labels = json!({"metadata": {"labels": {"round": format!("{round}")}}});
        far.edit("Pod", "app", labels).await;
        sandbox.settled().await;
    }
    let requests = sandbox.requests().split_off(before);
    assert_eq!(requests.len(), 1, "one deletion: {requests:#?}");
    assert!(sandbox.find("ClusterRole", "slow-child-app").await.is_some(), "the pod goes first");
    let now = kube::api::DeleteParams { grace_period_seconds: Some(0), ..Default::default() };
    let (resource, _) = Sandbox::resource("Pod");
    let pods: Api<DynamicObject> = Api::namespaced_with(far.client.clone(), "slow-pods", &resource);
    pods.delete("app", &now).await.expect("a delete");
    sandbox.until_gone("WebApp", "app").await;
    assert_eq!(sandbox.find("ClusterRole", "slow-child-app").await, None);
    sandbox.stop().await;
}

const LEVELS: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: nest-top}
spec:
  parent: {apiVersion: tests.kubewright.io/v1, kind: GlobalNest}
  children:
    - {id: middle, template: middle.yaml}
    - {id: role, template: role.yaml}
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: nest-middle}
spec:
  crossNamespace: true
  parent: {apiVersion: tests.kubewright.io/v1, kind: NestMiddle}
  children:
    - {id: low, template: low.yaml}
    - {id: config, template: config.yaml}
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: nest-low}
spec:
  crossNamespace: true
  parent: {apiVersion: tests.kubewright.io/v1, kind: NestLow}
  children:
    - {id: leaf, template: leaf.yaml}
";

fn nest(kind: &str, namespace: &str) -> String {
    format!(
        "apiVersion: tests.kubewright.io/v1\nkind: {kind}\nmetadata: {{name: {{{{ parent.metadata.name }}}}, namespace: {namespace}}}\nspec: {{image: {{{{ parent.spec.image }}}}}}\n"
    )
}

/// Three levels, each in another place than the one above: the deletion of the top runs down all of them.
pub(crate) async fn the_deletion_of_the_top_runs_down_every_level() {
    let name = "nest-low-place";
    let middle_place = Sandbox::bare("nest-middle-place").await;
    let leaf_place = Sandbox::bare("nest-leaf-place").await;
    for kind in ["GlobalNest", "NestMiddle", "NestLow"] {
        middle_place.kind_is(kind, Value::Null).await;
    }
    let (middle, low) = (nest("NestMiddle", "nest-middle-place"), nest("NestLow", name));
    let (leaf, config) = (config("leaf", "nest-leaf-place"), config("config", ""));
    let role = role("nest");
    let templates = [
        ("middle.yaml", middle.as_str()),
        ("low.yaml", low.as_str()),
        ("leaf.yaml", leaf.as_str()),
        ("config.yaml", config.as_str()),
        ("role.yaml", role.as_str()),
    ];
    let mut sandbox = Sandbox::at_rest_with(name, LEVELS, &templates).await;
    let beside = sandbox.looking_into(name);
    let kinds = &["ConfigMap", "ClusterRole", "NestMiddle", "NestLow"];
    let sound = Soundness::begin(&sandbox, vec![&beside, &middle_place, &leaf_place], kinds).await;
    sandbox.anywhere = true;
    sandbox.start();
    sandbox.is("GlobalNest", "one", json!({"image": "a"})).await;
    sandbox.is("GlobalNest", "two", json!({"image": "a"})).await;
    for parent in ["one", "two"] {
        leaf_place.until("ConfigMap", &format!("{parent}-leaf"), "is there", |_| true).await;
    }
    sandbox.settled().await;
    sound.check(&sandbox).await;
    sandbox.delete("GlobalNest", "one").await;
    leaf_place.until_gone("ConfigMap", "one-leaf").await;
    sandbox.until_gone("NestLow", "one").await;
    middle_place.until_gone("NestMiddle", "one").await;
    middle_place.until_gone("ConfigMap", "one-config").await;
    sandbox.until_gone("ClusterRole", "nest-one").await;
    sandbox.settled().await;
    sound.check(&sandbox).await;
    leaf_place.get("ConfigMap", "two-leaf").await;
    sandbox.get("NestLow", "two").await;
    sandbox.stop().await;
}

/// A rule that does not reach a parent any more lets it go: nobody would hear of its deletion, and it would stay for ever.
pub(crate) async fn a_parent_that_its_rule_no_longer_reaches_can_go() {
    let name = "out-of-reach";
    let outside = Sandbox::bare("out-of-reach-too").await;
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"out-of-reach-{{ parent.metadata.namespace }}-{{ parent.metadata.name }}\"}\nrules: []\n";
    let children = "    - {id: role, template: role.yaml}";
    let text = rule(name, children, "")
        .replace("parent: {", "parent:  {namespaces: [out-of-reach, out-of-reach-too], ");
    let mut sandbox = Sandbox::at_rest_with(name, &text, &[("role.yaml", role)]).await;
    sandbox.anywhere = true;
    sandbox.start();
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    outside.webapp_is("app", json!({"image": "a"})).await;
    for namespace in [name, "out-of-reach-too"] {
        sandbox
            .until("ClusterRole", &format!("out-of-reach-{namespace}-app"), "is there", |_| true)
            .await;
    }
    sandbox.settled().await;
    sandbox.edit_rule("[out-of-reach, out-of-reach-too]", "[out-of-reach]");
    let free = |object: &Value| object["metadata"]["finalizers"].is_null();
    outside.until("WebApp", "app", "is let go", free).await;
    sandbox.settled().await;
    assert!(!free(&sandbox.get("WebApp", "app").await), "this one is still the rule's");
    // As if the rule were gone for it: its child stays, as the rule says.
    sandbox.get("ClusterRole", "out-of-reach-out-of-reach-too-app").await;
    outside.delete("WebApp", "app").await;
    outside.until_gone("WebApp", "app").await;

    // It comes back, and finds what it had.
    outside.webapp_is("app", json!({"image": "b"})).await;
    sandbox.edit_rule("[out-of-reach]", "[out-of-reach, out-of-reach-too]");
    outside.until("WebApp", "app", "is held", |object| !free(object)).await;
    sandbox.settled().await;
    outside.delete("WebApp", "app").await;
    outside.until_gone("WebApp", "app").await;
    assert_eq!(sandbox.find("ClusterRole", "out-of-reach-out-of-reach-too-app").await, None);
    sandbox.stop().await;
}
