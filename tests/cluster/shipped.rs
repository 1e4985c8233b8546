//! The shipped rules on a real API server: what each is for, a restart that writes nothing, and what is left at the end.

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

const DEMO: &str = "demo.kubewright.io/v1";

fn demo(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": DEMO, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn is_ready(object: &Value) -> bool {
    condition(object, "Ready").0 == "True"
}

/// What is written after a restart, once everything is at rest.
async fn a_restart_writes_nothing(sandbox: &mut Sandbox) {
    sandbox.settled().await;
    sandbox.stop().await;
    crate::plan::nothing_would_change(sandbox).await;
    let before = sandbox.writes().len();
    sandbox.start();
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    assert!(writes.is_empty(), "a restart writes nothing: {writes:#?}");
}

pub(crate) async fn a_labelled_namespace_gets_its_defaults_and_loses_them_with_the_label() {
    let name = "shipped-defaults";
    let ours = "shipped-defaults.tests.kubewright.io/";
    let replaced = [("defaults.kubewright.io/", ours)];
    let mut sandbox = Sandbox::shipped(name, "namespace-defaults", &replaced).await;
    let profile = format!("{ours}profile");
    sandbox.label_namespace(json!({&profile: "baseline", "theirs": "x"})).await;
    let quota = |cpu: &'static str| move |quota: &Value| quota["spec"]["hard"]["limits.cpu"] == cpu;
    sandbox.until("ResourceQuota", "defaults", "is small", quota("4")).await;
    sandbox.settled().await;
    for policy in ["default-deny", "default-allow-within"] {
        sandbox.get("NetworkPolicy", policy).await;
    }
    sandbox.get("LimitRange", "defaults").await;
    let enforce = "pod-security.kubernetes.io/enforce";
    let labels = |namespace: &Value| namespace["metadata"]["labels"].clone();
    assert_eq!(labels(&sandbox.get("Namespace", name).await)[enforce], "baseline");

    sandbox.label_namespace(json!({format!("{ours}size"): "medium", enforce: "privileged"})).await;
    sandbox.until("ResourceQuota", "defaults", "is medium", quota("16")).await;
    let repaired = |namespace: &Value| labels(namespace)[enforce] == "baseline";
    sandbox.until("Namespace", name, "is repaired", repaired).await;
    a_restart_writes_nothing(&mut sandbox).await;

    sandbox.label_namespace(json!({&profile: null})).await;
    sandbox.until_gone("ResourceQuota", "defaults").await;
    sandbox.until_gone("NetworkPolicy", "default-deny").await;
    let left = |namespace: &Value| labels(namespace).get(enforce).is_none();
    let left = sandbox.until("Namespace", name, "has its own labels only", left).await;
    assert_eq!(labels(&left)["theirs"], "x");
    sandbox.stop().await;
}

pub(crate) async fn a_database_runs_restores_once_and_leaves_its_password() {
    let mut sandbox = Sandbox::shipped("shipped-database", "database", &[]).await;
    let spec = json!({"version": 16, "backup": {}, "restoreFrom": "monday.dump"});
    sandbox.create("Database", demo("Database", "orders", &spec)).await;
    let restored =
        |database: &Value| is_ready(database) && database["status"]["restored"] == "monday.dump";
    let database = sandbox.until("Database", "orders", "is restored", restored).await;
    assert_eq!(database["status"]["phase"], "Running");
    sandbox.settled().await;
    let secret = sandbox.get("Secret", "orders-database").await;
    assert!(secret["data"]["password"].is_string() && secret["data"]["url"].is_string());
    sandbox.get("CronJob", "orders-backup").await;
    // The Job is out of our hands: its own time to live takes it.
    let job = "orders-restore-f9ec0723";
    let free = |job: &Value| job["metadata"].get("ownerReferences").is_none();
    sandbox.until("Job", job, "is free", free).await;
    a_restart_writes_nothing(&mut sandbox).await;

    sandbox.delete("Job", job).await;
    sandbox.until_gone("Job", job).await;
    sandbox.settled().await;
    assert_eq!(sandbox.find("Job", job).await, None, "it does not run again");

    sandbox.delete("Database", "orders").await;
    sandbox.until_gone("Database", "orders").await;
    sandbox.until_gone("StatefulSet", "orders-database").await;
    let left = sandbox.get("Secret", "orders-database").await;
    assert_eq!(left["data"], secret["data"]);
    assert_eq!(left["metadata"]["annotations"].as_object().map_or(0, serde_json::Map::len), 0);
    sandbox.stop().await;
}

pub(crate) async fn a_config_map_is_copied_to_whoever_subscribed() {
    let mut sandbox = Sandbox::shipped("shipped-sync", "config-sync", &[]).await;
    let one = Sandbox::bare("shipped-sync-one").await;
    let two = Sandbox::bare("shipped-sync-two").await;
    let topic = "sync.kubewright.io/topic";
    let source = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "proxy"}, "data": {"a": "1"}});
    sandbox.create("ConfigMap", source).await;
    let spec = json!({"topic": "shipped-sync", "source": {"name": "proxy"}});
    sandbox.create("ConfigSync", demo("ConfigSync", "proxy", &spec)).await;
    one.label_namespace(json!({topic: "shipped-sync"})).await;
    let has = |value: &'static str| move |copy: &Value| copy["data"]["a"] == value;
    one.until("ConfigMap", "proxy", "is copied", has("1")).await;
    assert_eq!(two.find("ConfigMap", "proxy").await, None, "it did not subscribe");
    two.label_namespace(json!({topic: "shipped-sync"})).await;
    two.until("ConfigMap", "proxy", "is copied", has("1")).await;
    sandbox.edit("ConfigMap", "proxy", json!({"data": {"a": "2"}})).await;
    for place in [&one, &two] {
        place.until("ConfigMap", "proxy", "follows", has("2")).await;
    }
    sandbox.until("ConfigSync", "proxy", "is ready", is_ready).await;
    a_restart_writes_nothing(&mut sandbox).await;

    // A source that is lost takes nothing along.
    sandbox.delete("ConfigMap", "proxy").await;
    sandbox.until("ConfigSync", "proxy", "waits", |object| !is_ready(object)).await;
    sandbox.settled().await;
    assert!(has("2")(&one.get("ConfigMap", "proxy").await));
    two.label_namespace(json!({topic: null})).await;
    let source = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "proxy"}, "data": {"a": "3"}});
    sandbox.create("ConfigMap", source).await;
    one.until("ConfigMap", "proxy", "follows again", has("3")).await;
    two.until_gone("ConfigMap", "proxy").await;

    sandbox.delete("ConfigSync", "proxy").await;
    sandbox.until_gone("ConfigSync", "proxy").await;
    one.until_gone("ConfigMap", "proxy").await;
    sandbox.stop().await;
}

pub(crate) async fn a_tenants_namespaces_outlive_it_and_its_people_do_not() {
    let mut sandbox = Sandbox::shipped("shipped-tenant", "tenant", &[]).await;
    let spaces = json!([{"name": "a"}, {"name": "b", "size": "large"}]);
    let spec = json!({"namespaces": spaces});
    sandbox.create("Tenant", demo("Tenant", "shipped-acme", &spec)).await;
    let tenant = sandbox.until("Tenant", "shipped-acme", "is ready", is_ready).await;
    assert_eq!(tenant["status"]["namespaces"], 2);
    assert_eq!(condition(&tenant, "Complete").0, "True");
    let (a, b) = (sandbox.looking_into("shipped-acme-a"), sandbox.looking_into("shipped-acme-b"));
    let quota = b.get("ResourceQuota", "tenant").await;
    assert_eq!(quota["spec"]["hard"]["requests.cpu"], "32");
    for place in [&a, &b] {
        let admins = place.get("RoleBinding", "tenant-admins").await;
        assert_eq!(admins["subjects"][0]["name"], "tenant:shipped-acme:admins");
        place.get("NetworkPolicy", "tenant-default").await;
    }
    a_restart_writes_nothing(&mut sandbox).await;

    sandbox.edit("Tenant", "shipped-acme", json!({"spec": {"namespaces": [{"name": "b"}]}})).await;
    a.until_gone("RoleBinding", "tenant-admins").await;
    sandbox.until("Tenant", "shipped-acme", "is ready again", is_ready).await;
    sandbox.settled().await;
    a.get("ResourceQuota", "tenant").await;
    sandbox.delete("Tenant", "shipped-acme").await;
    sandbox.until_gone("Tenant", "shipped-acme").await;
    b.until_gone("RoleBinding", "tenant-viewers").await;
    for (place, name) in [(&a, "shipped-acme-a"), (&b, "shipped-acme-b")] {
        let namespace = sandbox.get("Namespace", name).await;
        assert_eq!(namespace["status"]["phase"], "Active", "{namespace}");
        place.get("NetworkPolicy", "tenant-default").await;
    }
    sandbox.stop().await;
    for name in ["shipped-acme-a", "shipped-acme-b"] {
        sandbox.namespace_is_gone(name).await;
    }
}

pub(crate) async fn an_environment_goes_when_its_time_is_over() {
    let mut sandbox = Sandbox::shipped("shipped-preview", "preview", &[]).await;
    let environments = json!([
        {"name": "short", "image": "a", "ttl": "2s"}, {"name": "long", "image": "b"}]);
    let spec = json!({"domain": "example.com", "environments": environments});
    sandbox.create("PreviewSet", demo("PreviewSet", "shop", &spec)).await;
    let ended = |set: &Value| {
        set["status"]["started"]["short"].is_string() && set["status"]["running"] == 1
    };
    let set = sandbox.until("PreviewSet", "shop", "is past the end of one", ended).await;
    sandbox.until_gone("Deployment", "shop-short").await;
    sandbox.until_gone("Ingress", "shop-short").await;
    sandbox.until("PreviewSet", "shop", "is ready", is_ready).await;
    sandbox.get("Service", "p-shop-long").await;
    a_restart_writes_nothing(&mut sandbox).await;
    let after = sandbox.get("PreviewSet", "shop").await;
    assert_eq!(after["status"]["started"], set["status"]["started"]);

    // A time that has passed ends all of it.
    sandbox.edit("PreviewSet", "shop", json!({"spec": {"expires": "2026-01-01T00:00:00Z"}})).await;
    sandbox.until_gone("Deployment", "shop-long").await;
    sandbox.stop().await;
}

pub(crate) async fn an_autoscaler_of_ours_keeps_the_number_that_it_set() {
    let mut sandbox = Sandbox::webapp("shipped-autoscaler").await;
    let spec = json!({"image": "a", "replicas": 2, "maxUnavailable": 1,
        "autoscaling": {"minReplicas": 2, "maxReplicas": 9}});
    sandbox.webapp_is("busy", spec).await;
    sandbox.until_ready("busy").await;
    sandbox.get("PodDisruptionBudget", "busy").await;
    let autoscaler = sandbox.get("HorizontalPodAutoscaler", "busy").await;
    assert_eq!(autoscaler["spec"]["maxReplicas"], 9);
    sandbox.edit("Deployment", "busy", json!({"spec": {"replicas": 3}})).await;
    sandbox.until_ready("busy").await;
    a_restart_writes_nothing(&mut sandbox).await;
    assert_eq!(sandbox.get("Deployment", "busy").await["spec"]["replicas"], 3);
    sandbox.stop().await;
}
