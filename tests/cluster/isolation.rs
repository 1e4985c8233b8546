//! Kinds that go, change or are broken, and rights that are missing: only who needs them notices, and it passes by itself.

use crate::sandbox::{Sandbox, TEST_GROUP, condition, install_crd};
use crate::world::{Request, eventually};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

fn rule(name: &str, version: &str, kind: &str, children: &str, more: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  crossNamespace: true
  parent: {{apiVersion: {TEST_GROUP}/{version}, kind: {kind}}}
  children:
{children}
{more}"
    )
}

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data: {size: {{ parent.spec.size | string }}}
";

/// A status as most kinds declare it.
fn with_conditions() -> Value {
    let condition = json!({"type": "object", "required": ["type", "status"], "properties": {
        "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
        "message": {"type": "string"}, "observedGeneration": {"type": "integer"},
        "lastTransitionTime": {"type": "string", "format": "date-time"}}});
    json!({"type": "object", "properties": {"conditions": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": condition}}})
}

fn is_ready(object: &Value) -> bool {
    condition(object, "Ready").0 == "True"
}

/// The kind of the parents is deleted with all of them, and installed again: their children go, those that no owner reference
/// reaches too, and come back with them; nobody restarts anything.
pub(crate) async fn a_parents_kind_may_go_and_come_back() {
    let name = "parents-kind";
    let far = Sandbox::bare("parents-kind-far").await;
    let farther = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ parent.metadata.name }}, namespace: parents-kind-far}\n";
    let children = "    - {id: config, template: config.yaml}\n    - {id: far, template: far.yaml}";
    let both = format!(
        "{}---\n{}",
        rule(name, "v1", "Passing", children, "  status: {}\n"),
        rule(
            "parents-kind-other",
            "v1",
            "Lasting",
            "    - {id: config, template: other.yaml}",
            "  status: {}\n"
        )
    );
    let other =
        CONFIG.replace("{{ parent.metadata.name }}", "\"{{ parent.metadata.name }}-other\"");
    let templates = [("config.yaml", CONFIG), ("far.yaml", farther), ("other.yaml", &*other)];
    let mut sandbox = Sandbox::with(name, &both, &templates).await;
    for kind in ["Passing", "Lasting"] {
        sandbox.kind_is(kind, with_conditions()).await;
        sandbox.is(kind, "one", json!({"size": 1})).await;
        sandbox.until(kind, "one", "is ready", is_ready).await;
    }
    for size in 2..4 {
        let before = sandbox.requests().len();
        sandbox.kind_is_gone("Passing").await;
        far.until_gone("ConfigMap", "one").await;
        // The other rule does not notice.
        sandbox.is("Lasting", "one", json!({ "size": size })).await;
        let has = |object: &Value| object["data"]["size"] == format!("{size}");
        sandbox.until("ConfigMap", "one-other", "follows", has).await;
        sandbox.settled().await;
        let requests = sandbox.requests().split_off(before);
        assert!(requests.len() <= 60, "no hot loop: {requests:#?}");

        sandbox.kind_is("Passing", with_conditions()).await;
        sandbox.is("Passing", "one", json!({ "size": size })).await;
        sandbox.until("Passing", "one", "is ready", is_ready).await;
        sandbox.until("ConfigMap", "one", "is of the new one", has).await;
        far.get("ConfigMap", "one").await;
    }
    sandbox.stop().await;
    sandbox.kind_is_gone("Lasting").await;
    sandbox.edit("Passing", "one", json!({"metadata": {"finalizers": null}})).await;
    sandbox.kind_is_gone("Passing").await;
}

/// The kind `Upgraded`, in these versions, each with whether it is served; the last one is stored.
async fn upgraded(sandbox: &Sandbox, versions: &[(&str, bool)]) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema =
        json!({"type": "object", "properties": {"spec": any, "status": with_conditions()}});
    let last = versions.last().map(|(name, _)| *name);
    let version = |(name, served): &(&str, bool)| {
        json!({"name": name, "served": served, "storage": Some(*name) == last,
            "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}})
    };
    let versions: Vec<Value> = versions.iter().map(version).collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("upgradeds.{TEST_GROUP}")},
        "spec": {"group": TEST_GROUP, "scope": "Namespaced",
            "names": {"plural": "upgradeds", "kind": "Upgraded"}, "versions": versions},
    });
    install_crd(&sandbox.client, &crd).await;
}

/// The kind of the parents gets a new version, which is stored; the rule follows; the old version goes. Its children are the same
/// objects all the time.
pub(crate) async fn a_parents_kind_may_be_upgraded() {
    let name = "upgraded-kind";
    let text =
        rule(name, "v1", "Upgraded", "    - {id: config, template: config.yaml}", "  status: {}\n");
    let mut sandbox = Sandbox::at_rest_with(name, &text, &[("config.yaml", CONFIG)]).await;
    upgraded(&sandbox, &[("v1", true)]).await;
    sandbox.start();
    sandbox.is("Upgraded", "one", json!({"size": 1})).await;
    sandbox.until("Upgraded", "one", "is ready", is_ready).await;
    sandbox.settled().await;
    let uid = sandbox.get("ConfigMap", "one").await["metadata"]["uid"].clone();
    let before = sandbox.writes().len();
    upgraded(&sandbox, &[("v1", true), ("v2", true)]).await;
    sandbox.is("Upgraded", "one", json!({"size": 2})).await;
    let has = |size: &'static str| move |object: &Value| object["data"]["size"] == size;
    sandbox.until("ConfigMap", "one", "follows", has("2")).await;
    sandbox.until("Upgraded", "one", "is ready", is_ready).await;
    sandbox.settled().await;

    sandbox.edit_rule(&format!("{TEST_GROUP}/v1, kind"), &format!("{TEST_GROUP}/v2, kind"));
    let refers = |object: &Value| {
        object["metadata"]["ownerReferences"][0]["apiVersion"] == format!("{TEST_GROUP}/v2")
    };
    sandbox.until("ConfigMap", "one", "refers to the new version", refers).await;
    sandbox.settled().await;
    upgraded(&sandbox, &[("v1", false), ("v2", true)]).await;
    let new = GroupVersionKind::gvk(TEST_GROUP, "v2", "Upgraded");
    let resource = ApiResource::from_gvk_with_plural(&new, "upgradeds");
    let api: Api<DynamicObject> = Api::namespaced_with(sandbox.client.clone(), name, &resource);
    let spec = Patch::Merge(json!({"spec": {"size": 3}}));
    eventually("the new version is served", || async {
        api.patch("one", &PatchParams::default(), &spec).await.map_err(|error| error.to_string())
    })
    .await;
    let child = sandbox.until("ConfigMap", "one", "follows again", has("3")).await;
    assert_eq!(child["metadata"]["uid"], uid, "the same object");
    assert_eq!(child["metadata"]["ownerReferences"].as_array().map(Vec::len), Some(1));
    eventually("it is ready in its third generation", || async {
        let object = api.get("one").await.map_err(|error| error.to_string())?;
        let object = serde_json::to_value(object).unwrap_or_default();
        let seen = object["status"]["conditions"][0]["observedGeneration"]
            == object["metadata"]["generation"];
        if seen && is_ready(&object) { Ok(()) } else { Err(object.to_string()) }
    })
    .await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    assert!(writes.iter().all(|write| write.verb != "delete"), "{writes:#?}");
    sandbox.stop().await;
}

fn right(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

const ALL: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

/// Six rules, each for a kind of its own, and what they need in rights: of all but the first something is missing.
fn rules_and_templates() -> (String, Vec<(&'static str, String)>) {
    let child = |id: &str, template: &str| format!("    - {{id: {id}, template: {template}}}");
    let input = "  inputs:\n    - {id: account, apiVersion: v1, kind: ServiceAccount, name: default}\n  status: {}\n";
    let rules = [
        rule("rights-well", "v1", "RightWell", &child("config", "config.yaml"), "  status: {}\n"),
        rule("rights-blind", "v1", "RightBlind", &child("config", "config.yaml"), "  status: {}\n"),
        rule("rights-reader", "v1", "RightReader", &child("reader", "reader.yaml"), input),
        rule(
            "rights-writer",
            "v1",
            "RightWriter",
            &child("service", "service.yaml"),
            "  status: {}\n",
        ),
        rule(
            "rights-secret",
            "v1",
            "RightSecret",
            &child("secret", "secret.yaml"),
            "  status: {}\n",
        ),
        rule("rights-mute", "v1", "RightMute", &child("config", "config.yaml"), "  status: {}\n"),
    ];
    let config = CONFIG.replace("{{ parent.metadata.name }}", "\"{{ parent.kind | lower }}\"");
    let reader = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: reader}\ndata: {of: {{ inputs.account.metadata.name }}}\n";
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: writer}\nspec: {ports: [{port: 80}]}\n";
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {a: hunter2}\n";
    let templates = vec![
        ("config.yaml", config),
        ("reader.yaml", reader.to_owned()),
        ("service.yaml", service.to_owned()),
        ("secret.yaml", secret.to_owned()),
    ];
    (rules.join("---\n"), templates)
}

/// A controller that lacks a right for each of five rules: a sixth is well, each of the others says what is missing as far as it
/// can say anything, nobody asks again and again, and once the rights are there all is well within seconds.
pub(crate) async fn a_missing_right_is_told_by_who_needs_it_and_missed_by_nobody_else() {
    let name = "missing-rights";
    let kinds =
        ["RightWell", "RightReader", "RightWriter", "RightSecret", "RightMute", "RightBlind"];
    let plural = |kind: &str| format!("{}s", kind.to_lowercase());
    let look = &["get", "list", "watch"];
    let mut rights = vec![
        right("", &["configmaps"], ALL),
        right("", &["services", "secrets"], look),
        right("events.k8s.io", &["events"], &["create", "get", "patch"]),
        right(TEST_GROUP, &["rightmutes"], look),
    ];
    for kind in kinds.iter().take(4) {
        let status = format!("{}/status", plural(kind));
        rights.push(right(TEST_GROUP, &[&plural(kind), &status], ALL));
    }
    let bare = Sandbox::bare("missing-rights-kinds").await;
    for kind in kinds {
        bare.kind_is(kind, with_conditions()).await;
    }
    let (rules, templates) = rules_and_templates();
    let templates: Vec<_> = templates.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let mut sandbox = Sandbox::limited(name, &rules, &templates, json!(rights)).await;
    for kind in kinds {
        sandbox.is(kind, "one", json!({"size": 1})).await;
    }
    sandbox.until("RightWell", "one", "is ready", is_ready).await;
    sandbox.until("ConfigMap", "rightmute", "is there all the same", |_| true).await;
    for (kind, told) in [
        ("RightReader", &["serviceaccounts cannot be listed", "403"][..]),
        ("RightWriter", &["cannot patch resource \"services\""]),
        ("RightSecret", &["cannot patch resource \"secrets\""]),
    ] {
        let says = |object: &Value| {
            let message = condition(object, "Ready").1;
            told.iter().all(|part| message.contains(part))
        };
        let object = sandbox.until(kind, "one", "says what is missing", says).await;
        assert!(!object.to_string().contains("hunter2"), "{object}");
    }
    let (note, _) = sandbox.until_told("one", "Forbidden").await;
    assert!(note.contains("cannot patch resource"), "{note}");

    // A time of trouble: what is tried is tried ever more rarely.
    let before = sandbox.requests().len();
    sleep(Duration::from_secs(25)).await;
    sandbox.is("RightWell", "one", json!({"size": 2})).await;
    let has = |object: &Value| object["data"]["size"] == "2";
    sandbox.until("ConfigMap", "rightwell", "follows", has).await;
    let requests = sandbox.requests().split_off(before);
    assert!(requests.len() <= 60, "no hot loop: {requests:#?}");

    let mut more = vec![right("", &["services", "secrets", "serviceaccounts"], ALL)];
    for kind in ["RightMute", "RightBlind"] {
        let status = format!("{}/status", plural(kind));
        more.push(right(TEST_GROUP, &[&plural(kind), &status], &["get", "list", "watch", "patch"]));
    }
    sandbox.allow("more", json!(more)).await;
    for kind in kinds {
        sandbox.until(kind, "one", "is ready", is_ready).await;
    }
    sandbox.settled().await;
    let before = sandbox.requests().len();
    sandbox.stop().await;
    sandbox.start();
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    assert!(!requests.iter().any(Request::is_write), "{requests:#?}");
    sandbox.stop().await;
}

/// An API server behind this one that does not answer: rules with its kinds wait and say so, the others do not notice.
pub(crate) async fn a_broken_api_group_hurts_only_who_needs_it() {
    let name = "broken-group";
    let broken = "broken.tests.example";
    let children =
        "    - {id: config, template: config.yaml}\n    - {id: gadget, template: gadget.yaml}";
    let both = format!(
        "{}---\n{}",
        rule("broken-needs", "v1", "NeedsBroken", children, "  status: {}\n"),
        rule(
            "broken-not",
            "v1",
            "NeedsNothing",
            "    - {id: config, template: config.yaml}",
            "  status: {}\n"
        ),
    );
    let config = CONFIG.replace("{{ parent.metadata.name }}", "\"{{ parent.kind | lower }}\"");
    let gadget = format!("apiVersion: {broken}/v1\nkind: Gadget\nmetadata: {{name: one}}\n");
    let templates = [("config.yaml", config.as_str()), ("gadget.yaml", gadget.as_str())];
    let mut sandbox = Sandbox::at_rest_with(name, &both, &templates).await;
    let gvk = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
    let services: Api<DynamicObject> =
        Api::all_with(sandbox.client.clone(), &ApiResource::from_gvk(&gvk));
    let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1.{broken}")},
        "spec": {"group": broken, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": {"namespace": name, "name": "nowhere"}}});
    let applied = services
        .patch(&format!("v1.{broken}"), &PatchParams::apply("tests"), &Patch::Apply(&service))
        .await;
    applied.expect("it is accepted");
    for kind in ["NeedsBroken", "NeedsNothing"] {
        sandbox.kind_is(kind, with_conditions()).await;
    }
    sandbox.start();
    for kind in ["NeedsBroken", "NeedsNothing"] {
        sandbox.is(kind, "one", json!({"size": 1})).await;
    }
    sandbox.until("NeedsNothing", "one", "is ready", is_ready).await;
    let says = |object: &Value| condition(object, "Ready").1.contains(broken);
    let one = sandbox.until("NeedsBroken", "one", "says what it waits for", says).await;
    assert!(condition(&one, "Ready").1.contains("gadget: "), "{one}");
    sandbox.get("ConfigMap", "needsbroken").await;
    let before = sandbox.requests().len();
    for size in 2..5 {
        sandbox.is("NeedsBroken", "one", json!({ "size": size })).await;
        let has = |object: &Value| object["data"]["size"] == format!("{size}");
        sandbox.until("ConfigMap", "needsbroken", "follows", has).await;
    }
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    let about: Vec<_> = requests.iter().filter(|request| request.uri.contains(broken)).collect();
    assert!(about.len() <= 10, "{about:#?}");

    // A namespace goes only once every group answers.
    services.delete(&format!("v1.{broken}"), &DeleteParams::default()).await.expect("a delete");
    sandbox.stop().await;
}
