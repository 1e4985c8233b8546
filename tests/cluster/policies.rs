//! What a rule says of updates and removals of its children, on a real API server.

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

const FAR: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: far}
spec:
  crossNamespace: true
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: near, template: near.yaml}
    - {id: role, template: role.yaml}
    - {id: far, template: far.yaml, needs: [role], when: [{path: "$.spec.host", exists: true}]}
  status: {}
"#;

const NEAR: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-near"}
data: {a: b}
"#;

const FAR_CHILD: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-far", namespace: far-elsewhere}
data: {a: b}
"#;

const ROLE: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "far-{{ parent.metadata.name }}"}
rules: []
"#;

fn finalizers(object: &Value) -> &Value {
    &object["metadata"]["finalizers"]
}

pub(crate) async fn children_that_no_owner_reference_reaches_go_before_their_parent() {
    let templates = [("near.yaml", NEAR), ("far.yaml", FAR_CHILD), ("role.yaml", ROLE)];
    let elsewhere = Sandbox::bare("far-elsewhere").await;
    let mut sandbox = Sandbox::with("far", FAR, &templates).await;
    sandbox.webapp_is("app", json!({"image": "a", "host": "x.example"})).await;
    let parent = sandbox.until_ready("app").await;
    assert_eq!(*finalizers(&parent), json!(["kubewright.io/far"]));
    let far = elsewhere.get("ConfigMap", "app-far").await;
    assert_eq!(far["metadata"].get("ownerReferences"), None);
    let near = sandbox.get("ConfigMap", "app-near").await;
    assert_eq!(near["metadata"]["ownerReferences"][0]["name"], "app");
    let first = sandbox.writes().into_iter().find(|write| write.uri.contains("/webapps/app?"));
    let role = sandbox.writes().into_iter().position(|write| write.uri.contains("clusterroles"));
    let held = sandbox.writes().into_iter().position(|write| write.uri.contains("/webapps/app?"));
    assert!(first.is_some() && held < role, "the parent is held before anything needs it");

    // Drift and pruning work for them as for any other.
    elsewhere.edit("ConfigMap", "app-far", json!({"data": {"a": "c"}})).await;
    elsewhere.until("ConfigMap", "app-far", "is repaired", |o| o["data"]["a"] == "b").await;
    sandbox.settled().await;
    sandbox.stop().await;
    let before = sandbox.writes().len();
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.writes().len(), before, "a restart writes nothing");

    // A child that others hold holds the parent, and everything it came after.
    elsewhere
        .edit("ConfigMap", "app-far", json!({"metadata": {"finalizers": ["x.io/hold"]}}))
        .await;
    sandbox.settled().await;
    sandbox.delete("WebApp", "app").await;
    elsewhere
        .until("ConfigMap", "app-far", "is deleted", |o| {
            !o["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
    sandbox.settled().await;
    assert!(sandbox.find("ClusterRole", "far-app").await.is_some(), "it comes before `far`");
    assert!(sandbox.find("WebApp", "app").await.is_some());
    elsewhere.edit("ConfigMap", "app-far", json!({"metadata": {"finalizers": null}})).await;
    sandbox.until_gone("WebApp", "app").await;
    assert_eq!(sandbox.find("ClusterRole", "far-app").await, None);
    assert_eq!(elsewhere.find("ConfigMap", "app-far").await, None);
    sandbox.stop().await;
}

const KEPT: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: kept}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: kept, template: kept.yaml, onRemove: orphan, when: [{path: "$.spec.host", exists: true}]}
    - {id: claim, template: claim.yaml}
    - {id: outlives, template: outlives.yaml, onRemove: {parentDeleted: orphan}}
"#;

fn config(suffix: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ parent.metadata.name }}}}-{suffix}\", labels: {{a: b}}}}\ndata: {{a: b}}\n"
    )
}

const CLAIM: &str = r#"
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "{{ parent.metadata.name }}-claim"}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"#;

fn is_left_behind(object: &Value) -> bool {
    let ours = |kind: &str| {
        let entries = object["metadata"][kind].as_object();
        entries.into_iter().flatten().any(|(name, _)| name.starts_with("kubewright.io/"))
    };
    !ours("labels") && !ours("annotations") && object["metadata"].get("ownerReferences").is_none()
}

pub(crate) async fn what_a_rule_keeps_is_left_behind_without_our_marks() {
    let (kept, outlives) = (config("kept"), config("outlives"));
    let templates =
        [("kept.yaml", kept.as_str()), ("outlives.yaml", outlives.as_str()), ("claim.yaml", CLAIM)];
    let mut sandbox = Sandbox::with("kept", KEPT, &templates).await;
    sandbox.webapp_is("app", json!({"image": "a", "host": "x.example"})).await;
    sandbox.until("ConfigMap", "app-kept", "exists", |_| true).await;
    sandbox.until("PersistentVolumeClaim", "app-claim", "exists", |_| true).await;
    sandbox.settled().await;
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    let kept = sandbox.until("ConfigMap", "app-kept", "is left behind", is_left_behind).await;
    assert_eq!((&kept["data"]["a"], &kept["metadata"]["labels"]["a"]), (&json!("b"), &json!("b")));
    sandbox.settled().await;
    let before = sandbox.requests().len();
    sandbox.edit("ConfigMap", "app-kept", json!({"data": {"a": "c"}})).await;
    sandbox.settled().await;
    assert_eq!(sandbox.requests().len(), before, "it is none of ours any more");

    sandbox.delete("WebApp", "app").await;
    sandbox.until_gone("WebApp", "app").await;
    assert!(is_left_behind(&sandbox.get("ConfigMap", "app-outlives").await));
    assert!(is_left_behind(&sandbox.get("PersistentVolumeClaim", "app-claim").await));
    sandbox.stop().await;
}

const UPDATES: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: updates}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: never, template: never.yaml, update: never}
    - {id: anew, template: anew.yaml, update: recreate}
    - {id: secret, template: secret.yaml, onImmutable: recreate}
    - {id: firm, template: firm.yaml}
  status: {}
";

fn text(suffix: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ parent.metadata.name }}}}-{suffix}\"}}\ndata: {{a: {{{{ parent.spec.image }}}}}}\n"
    )
}

fn immutable(suffix: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: \"{{{{ parent.metadata.name }}}}-{suffix}\"}}\nimmutable: true\nstringData: {{a: {{{{ parent.spec.image }}}}}}\n"
    )
}

pub(crate) async fn children_are_updated_as_their_rule_says() {
    let (never, anew) = (text("never"), text("anew"));
    let (secret, firm) = (immutable("secret"), immutable("firm"));
    let templates = [
        ("never.yaml", never.as_str()),
        ("anew.yaml", anew.as_str()),
        ("secret.yaml", secret.as_str()),
        ("firm.yaml", firm.as_str()),
    ];
    let mut sandbox = Sandbox::with("updates", UPDATES, &templates).await;
    sandbox.webapp_is("app", json!({"image": "one"})).await;
    sandbox.until_ready("app").await;
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let first = uid(&sandbox.get("ConfigMap", "app-anew").await);
    let secret = uid(&sandbox.get("Secret", "app-secret").await);

    let before = sandbox.writes().len();
    sandbox.webapp_is("app", json!({"image": "two"})).await;
    let anew = sandbox
        .until("ConfigMap", "app-anew", "is new", |object| object["data"]["a"] == "two")
        .await;
    assert_ne!(uid(&anew), first);
    let two = json!("dHdv");
    let renewed =
        sandbox.until("Secret", "app-secret", "is new", |object| object["data"]["a"] == two).await;
    assert_ne!(uid(&renewed), secret);
    let parent = sandbox
        .until("WebApp", "app", "tells", |object| condition(object, "Stalled").0 == "True")
        .await;
    let told = condition(&parent, "Stalled").1;
    assert!(told.starts_with("firm: ") && !told.contains("secret:"), "{told}");
    sandbox.settled().await;
    assert_eq!(sandbox.get("ConfigMap", "app-never").await["data"]["a"], "one");
    let writes = sandbox.writes().split_off(before);
    let of = |name: &str| writes.iter().filter(|write| write.uri.contains(name)).count();
    assert_eq!(of("app-never"), 0, "{writes:#?}");
    assert_eq!(of("app-firm"), 1, "refused once: {writes:#?}");

    // Somebody's edit is left alone, or answered with a new object.
    let second = uid(&anew);
    for name in ["app-never", "app-anew"] {
        sandbox.edit("ConfigMap", name, json!({"data": {"a": "by hand"}})).await;
    }
    let anew = sandbox
        .until("ConfigMap", "app-anew", "is new", |object| object["data"]["a"] == "two")
        .await;
    assert_ne!(uid(&anew), second);
    sandbox.settled().await;
    assert_eq!(sandbox.get("ConfigMap", "app-never").await["data"]["a"], "by hand");
    sandbox.delete("ConfigMap", "app-never").await;
    sandbox.until("ConfigMap", "app-never", "is back", |object| object["data"]["a"] == "two").await;
    sandbox.stop().await;
}

const GENERATE: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: generate}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: credentials, template: secret.yaml, generate: {password: {length: 24}}}
  status: {}
";

const CREDENTIALS: &str = r#"
apiVersion: v1
kind: Secret
metadata: {name: "{{ parent.metadata.name }}-credentials"}
stringData: {user: {{ parent.spec.image }}, url: "db://{{ generated.password }}@host"}
"#;

pub(crate) async fn generated_values_are_made_once() {
    let templates = [("secret.yaml", CREDENTIALS)];
    let mut sandbox = Sandbox::with("generate", GENERATE, &templates).await;
    for name in ["app", "other"] {
        sandbox.webapp_is(name, json!({"image": "one"})).await;
        sandbox.until_ready(name).await;
    }
    let of = |secret: &Value| secret["data"]["password"].as_str().unwrap().to_owned();
    let password = of(&sandbox.get("Secret", "app-credentials").await);
    assert_eq!(password.len(), 32, "24 characters in base64");
    assert_ne!(password, of(&sandbox.get("Secret", "other-credentials").await));
    let parent = sandbox.get("WebApp", "app").await;
    assert_eq!(parent["metadata"]["annotations"]["kubewright.io/generated"], "credentials");

    // They stay through edits of the parent, of the Secret, and a restart.
    sandbox.webapp_is("app", json!({"image": "two"})).await;
    let two = json!("dHdv");
    let secret =
        sandbox.until("Secret", "app-credentials", "is new", |s| s["data"]["user"] == two).await;
    assert_eq!(of(&secret), password);
    sandbox.edit("Secret", "app-credentials", json!({"data": {"url": "eA=="}})).await;
    sandbox.until("Secret", "app-credentials", "is repaired", |s| s["data"]["url"] != "eA==").await;
    sandbox.settled().await;
    sandbox.stop().await;
    let before = sandbox.writes().len();
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.writes().len(), before, "a restart writes nothing");
    assert_eq!(of(&sandbox.get("Secret", "app-credentials").await), password);

    // A lost one is told, and not made anew, not even after a restart.
    sandbox.delete("Secret", "app-credentials").await;
    let parent = sandbox
        .until("WebApp", "app", "tells", |object| condition(object, "Stalled").0 == "True")
        .await;
    let told = condition(&parent, "Stalled").1;
    assert!(told.contains("is gone, and with it the values"), "{told}");
    sandbox.settled().await;
    sandbox.stop().await;
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.find("Secret", "app-credentials").await, None);
    // Whoever knows what it means lets it be made anew.
    let annotation = json!({"metadata": {"annotations": {"kubewright.io/generated": null}}});
    sandbox.edit("WebApp", "app", annotation).await;
    let renewed = sandbox.until("Secret", "app-credentials", "is made anew", |_| true).await;
    assert_ne!(of(&renewed), password);
    sandbox.until_ready("app").await;
    sandbox.stop().await;
}

const ADOPT: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: adopt}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: taken, template: taken.yaml, adopt: unowned}
    - {id: owned, template: owned.yaml, adopt: unowned}
    - {id: left, template: left.yaml}
  status: {}
";

pub(crate) async fn an_object_that_is_nobodys_is_adopted_if_the_rule_says_so() {
    let template = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: ours}}\n")
    };
    let (taken, owned, left) = (template("taken"), template("owned"), template("left"));
    let templates = [
        ("taken.yaml", taken.as_str()),
        ("owned.yaml", owned.as_str()),
        ("left.yaml", left.as_str()),
    ];
    let mut sandbox = Sandbox::with("adopt", ADOPT, &templates).await;
    sandbox.webapp_is("holder", json!({"image": "a"})).await;
    // The first parent would take them; it is made before they are, and paused.
    sandbox
        .edit(
            "WebApp",
            "holder",
            json!({"metadata": {"annotations": {"kubewright.io/paused": "true"}}}),
        )
        .await;
    sandbox.settled().await;
    for name in ["taken", "owned", "left"] {
        if sandbox.find("ConfigMap", name).await.is_some() {
            sandbox.delete("ConfigMap", name).await;
            sandbox.until_gone("ConfigMap", name).await;
        }
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"old": "yes"}}, "data": {"a": "theirs", "b": "theirs"}});
        sandbox.create("ConfigMap", object).await;
    }
    let holder = sandbox.get("WebApp", "holder").await;
    let by_holder = json!([{"apiVersion": "demo.kubewright.io/v1", "kind": "WebApp", "name": "holder",
        "uid": holder["metadata"]["uid"]}]);
    sandbox.edit("ConfigMap", "owned", json!({"metadata": {"ownerReferences": by_holder}})).await;
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    let adopted = sandbox
        .until("ConfigMap", "taken", "is adopted", |object| object["data"]["a"] == "ours")
        .await;
    assert_eq!(adopted["data"], json!({"a": "ours"}), "what the rule does not want is gone");
    assert_eq!(adopted["metadata"]["labels"].get("old"), None);
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["name"], "app");
    let parent = sandbox
        .until("WebApp", "app", "tells", |object| condition(object, "Stalled").0 == "True")
        .await;
    let told = condition(&parent, "Stalled").1;
    assert!(told.contains("left: ") && told.contains("it has an owner, WebApp holder"), "{told}");
    sandbox.settled().await;
    for name in ["owned", "left"] {
        assert_eq!(sandbox.get("ConfigMap", name).await["data"]["b"], "theirs");
    }
    sandbox.stop().await;
}

const REMOVED: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: removed}
spec:
  crossNamespace: true
  onRuleRemoved: delete
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: near, template: near.yaml}
    - {id: kept, template: kept.yaml, onRemove: {unwanted: orphan}}
    - {id: role, template: role.yaml}
";

pub(crate) async fn a_rule_may_be_renamed_and_taken_away() {
    let role = ROLE.replace("far-", "removed-");
    let kept = config("kept");
    let templates =
        [("near.yaml", NEAR), ("role.yaml", role.as_str()), ("kept.yaml", kept.as_str())];
    let mut sandbox = Sandbox::with("removed", REMOVED, &templates).await;
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    sandbox.until("ClusterRole", "removed-app", "exists", |_| true).await;
    sandbox.settled().await;

    // Under another name it goes on as if nothing had happened.
    let before = sandbox.writes().len();
    sandbox.edit_rule(
        "metadata: {name: removed}\nspec:",
        "metadata: {name: other}\nspec:\n  formerly: [removed]",
    );
    sandbox.settled().await;
    sandbox.edit("ConfigMap", "app-near", json!({"data": {"a": "hand"}})).await;
    sandbox.until("ConfigMap", "app-near", "is repaired", |o| o["data"]["a"] == "b").await;
    sandbox.settled().await;
    assert_eq!(sandbox.writes().len(), before + 1, "{:#?}", sandbox.writes().split_off(before));

    // Taken away, it takes its children with it, as it said, and lets its parents go.
    sandbox.controller().set_rules(&[]);
    sandbox.until_gone("ClusterRole", "removed-app").await;
    sandbox.until_gone("ConfigMap", "app-near").await;
    sandbox.settled().await;
    assert!(is_left_behind(&sandbox.get("ConfigMap", "app-kept").await));
    assert!(finalizers(&sandbox.get("WebApp", "app").await).is_null());
    sandbox.stop().await;
}
