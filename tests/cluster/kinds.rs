//! Kinds that come late, go, or may not be looked at: only their own objects notice.

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

/// A status as most kinds declare it.
fn with_conditions(more: &Value) -> Value {
    let condition = json!({"type": "object", "required": ["type", "status"], "properties": {
        "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
        "message": {"type": "string"}, "observedGeneration": {"type": "integer"},
        "lastTransitionTime": {"type": "string", "format": "date-time"}}});
    let mut properties = json!({"conditions": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": condition}});
    properties.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    json!({"type": "object", "properties": properties})
}

/// A rule for a kind of the test group, with one ConfigMap per parent.
fn rule(name: &str, kind: &str, rest: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: tests.kubewright.io/v1, kind: {kind}}}
  children:
    - {{id: config, template: config.yaml}}
{rest}"
    )
}

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data: {size: {{ parent.spec.size | string }}}
";

/// A kind is served a moment before its schema is: its status must not stay unwritten because of that.
pub(crate) async fn a_parents_kind_may_come_after_its_rule() {
    let rule = rule(
        "late-parent",
        "Late",
        "  status:\n    fields: |\n      size: {{ parent.spec.size }}\n",
    );
    let mut sandbox = Sandbox::with("late-parent", &rule, &[("config.yaml", CONFIG)]).await;
    sandbox.kind_is("Late", with_conditions(&json!({"size": {"type": "integer"}}))).await;
    sandbox.is("Late", "one", json!({"size": 3})).await;
    let one = sandbox
        .until("Late", "one", "is ready", |object| condition(object, "Ready").0 == "True")
        .await;
    assert_eq!(one["status"]["size"], 3);
    sandbox.stop().await;
}

/// A status field that the kind learns of later is written then; until then the rest is.
pub(crate) async fn a_status_field_may_come_after_its_rule() {
    let rule = rule(
        "late-field",
        "Growing",
        "  status:\n    fields: |\n      size: {{ parent.spec.size }}\n",
    );
    let mut sandbox = Sandbox::with("late-field", &rule, &[("config.yaml", CONFIG)]).await;
    sandbox.kind_is("Growing", with_conditions(&json!({}))).await;
    sandbox.is("Growing", "one", json!({"size": 3})).await;
    sandbox
        .until("Growing", "one", "is ready", |object| condition(object, "Ready").0 == "True")
        .await;
    sandbox.kind_is("Growing", with_conditions(&json!({"size": {"type": "integer"}}))).await;
    sandbox.is("Growing", "one", json!({"size": 4})).await;
    sandbox.until("Growing", "one", "has its size", |object| object["status"]["size"] == 4).await;
    sandbox.stop().await;
}

/// A child of a kind that is not there waits, the others do not; when the kind comes, it is created with one call.
pub(crate) async fn a_childs_kind_may_come_after_its_parent() {
    let rest = "    - {id: gadget, template: gadget.yaml}\n  status: {}\n";
    let rule = rule("late-child", "Owner", rest);
    let gadget = "\
apiVersion: tests.kubewright.io/v1
kind: LateGadget
metadata: {name: {{ parent.metadata.name }}}
spec: {size: {{ parent.spec.size }}}
";
    let templates = [("config.yaml", CONFIG), ("gadget.yaml", gadget)];
    let mut sandbox = Sandbox::with("late-child", &rule, &templates).await;
    sandbox.kind_is("Owner", with_conditions(&json!({}))).await;
    sandbox.is("Owner", "one", json!({"size": 3})).await;
    let waits = |object: &Value| {
        condition(object, "Reconciling").1.contains("gadget: the API server serves no")
    };
    sandbox.until("Owner", "one", "waits for the kind", waits).await;
    assert_eq!(sandbox.get("ConfigMap", "one").await["data"]["size"], "3");
    sandbox.settled().await;
    let before = sandbox.requests().len();
    sandbox.kind_is("LateGadget", json!({"type": "object"})).await;
    sandbox
        .until("Owner", "one", "is ready", |object| condition(object, "Ready").0 == "True")
        .await;
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    let about_it: Vec<_> =
        requests.iter().filter(|request| request.uri.contains("/lategadgets/one")).collect();
    assert_eq!(about_it.len(), 1, "{about_it:#?}");
    sandbox.stop().await;
}

/// While a changed rule is being attached, no pass sees half of what there is.
pub(crate) async fn a_rule_may_change_while_its_passes_run() {
    let rule = rule("in-flight", "Edited", "  status: {}\n");
    let more = "    - {id: extra, template: extra.yaml}\n  status: {}\n";
    let extra = "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ parent.metadata.name }}}\n";
    let templates = [("config.yaml", CONFIG), ("extra.yaml", extra)];
    let mut sandbox = Sandbox::with("in-flight", &rule, &templates).await;
    sandbox.kind_is("Edited", with_conditions(&json!({}))).await;
    for number in 0..10 {
        sandbox.is("Edited", &format!("e-{number}"), json!({"size": 0})).await;
    }
    for round in 1..6 {
        let (from, to) =
            if round % 2 == 1 { ("  status: {}\n", more) } else { (more, "  status: {}\n") };
        sandbox.edit_rule(from, to);
        for number in 0..10 {
            sandbox.is("Edited", &format!("e-{number}"), json!({"size": round})).await;
        }
    }
    for number in 0..10 {
        let has = |object: &Value| object["data"]["size"] == "5";
        sandbox.until("ConfigMap", &format!("e-{number}"), "is the last one", has).await;
        sandbox.until("Secret", &format!("e-{number}"), "is there", |_| true).await;
    }
    sandbox.settled().await;
    let refused: Vec<_> = sandbox.writes().into_iter().filter(|write| write.code >= 400).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    sandbox.stop().await;
}

fn right(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// A kind that may not be listed holds up its own children only; when the right comes, they do too.
pub(crate) async fn a_childs_kind_may_be_forbidden() {
    let more = "    - {id: secret, template: secret.yaml}\n  status: {}\n";
    let rule = rule("forbidden-list", "Guarded", more);
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ parent.metadata.name }}}\n";
    let templates = [("config.yaml", CONFIG), ("secret.yaml", secret)];
    let rights = json!([
        right(
            "tests.kubewright.io",
            &["guardeds", "guardeds/status"],
            &["get", "list", "watch", "patch"]
        ),
        right("", &["configmaps"], &["get", "list", "watch", "create", "patch", "delete"]),
    ]);
    let mut sandbox = Sandbox::limited("forbidden-list", &rule, &templates, rights).await;
    sandbox.kind_is("Guarded", with_conditions(&json!({}))).await;
    sandbox.is("Guarded", "one", json!({"size": 3})).await;
    let waits = |object: &Value| {
        condition(object, "Reconciling").1.contains("secret: secrets cannot be listed")
    };
    let one = sandbox.until("Guarded", "one", "waits for the right", waits).await;
    assert!(condition(&one, "Reconciling").1.contains("403"), "{one}");
    assert_eq!(sandbox.get("ConfigMap", "one").await["data"]["size"], "3");
    sandbox.settled().await;
    let secrets = |sandbox: &Sandbox| {
        let writes = sandbox.writes();
        writes.into_iter().filter(|write| write.uri.contains("/secrets/")).count()
    };
    assert_eq!(secrets(&sandbox), 0);
    let all = ["get", "list", "watch", "create", "patch"];
    sandbox.allow("secrets", json!([right("", &["secrets"], &all)])).await;
    let is_ready = |object: &Value| condition(object, "Ready").0 == "True";
    sandbox.until("Guarded", "one", "is ready", is_ready).await;
    sandbox.settled().await;
    assert_eq!(secrets(&sandbox), 1);
    sandbox.stop().await;
}

/// A write that is forbidden is tried ever more rarely, at once if somebody asks, and works when the right is there.
pub(crate) async fn a_write_may_be_forbidden() {
    let rule = rule("forbidden-write", "Unwritable", "  status: {}\n");
    let rights = json!([
        right(
            "tests.kubewright.io",
            &["unwritables", "unwritables/status"],
            &["get", "list", "watch", "patch"]
        ),
        right("", &["configmaps"], &["get", "list", "watch"]),
    ]);
    let templates = [("config.yaml", CONFIG)];
    let mut sandbox = Sandbox::limited("forbidden-write", &rule, &templates, rights).await;
    sandbox.kind_is("Unwritable", with_conditions(&json!({}))).await;
    sandbox.is("Unwritable", "one", json!({"size": 3})).await;
    let is_stalled = |object: &Value| condition(object, "Stalled").0 == "True";
    let one = sandbox.until("Unwritable", "one", "is stalled", is_stalled).await;
    let condition_of = |object: &Value| object["status"]["conditions"][0]["reason"].clone();
    assert_eq!(condition_of(&one), "Forbidden", "{one}");
    let before = sandbox.requests().len();
    for round in 0..5 {
        sandbox
            .edit("Unwritable", "one", json!({"metadata": {"labels": {"r": format!("{round}")}}}))
            .await;
        sandbox.settled().await;
    }
    let requests = sandbox.requests().split_off(before);
    let writes = requests.iter().filter(|request| request.is_write()).count();
    assert!(writes <= 3, "the backoff alone decides: {requests:#?}");
    sandbox.allow("writes", json!([right("", &["configmaps"], &["create", "patch"])])).await;
    let now = json!({"metadata": {"annotations": {"kubewright.io/reconcile": "now"}}});
    sandbox.edit("Unwritable", "one", now).await;
    let is_ready = |object: &Value| condition(object, "Ready").0 == "True";
    sandbox.until("Unwritable", "one", "is ready", is_ready).await;
    sandbox.stop().await;
}

/// A kind that is deleted takes its objects with it; when it comes back, so do they.
pub(crate) async fn a_childs_kind_may_go_and_come_back() {
    let more = "    - {id: gadget, template: gadget.yaml}\n  status: {}\n";
    let rule = rule("returning", "Returning", more);
    let gadget = "\
apiVersion: tests.kubewright.io/v1
kind: Fleeting
metadata: {name: {{ parent.metadata.name }}}
spec: {size: {{ parent.spec.size }}}
";
    let templates = [("config.yaml", CONFIG), ("gadget.yaml", gadget)];
    let mut sandbox = Sandbox::with("returning", &rule, &templates).await;
    sandbox.kind_is("Returning", with_conditions(&json!({}))).await;
    sandbox.kind_is("Fleeting", json!({"type": "object"})).await;
    sandbox.is("Returning", "one", json!({"size": 3})).await;
    let is_ready = |object: &Value| condition(object, "Ready").0 == "True";
    sandbox.until("Returning", "one", "is ready", is_ready).await;
    sandbox.settled().await;
    let before = sandbox.writes().len();
    sandbox.kind_is_gone("Fleeting").await;
    let waits = |object: &Value| condition(object, "Ready").1.contains("gadget: the API server");
    sandbox.until("Returning", "one", "waits for the kind", waits).await;
    let writes = sandbox.writes().split_off(before);
    let tries = writes.iter().filter(|write| write.uri.contains("/fleetings/one")).count();
    assert!(tries <= 5, "{writes:#?}");
    sandbox.kind_is("Fleeting", json!({"type": "object"})).await;
    let now = json!({"metadata": {"annotations": {"kubewright.io/reconcile": "now"}}});
    sandbox.edit("Returning", "one", now).await;
    sandbox.until("Returning", "one", "is ready", is_ready).await;
    sandbox.get("Fleeting", "one").await;
    sandbox.stop().await;
}

/// A rule with a status on a kind without the subresource writes none, which would change the generation each time; when
/// the subresource comes, the status does too.
pub(crate) async fn a_status_subresource_may_come_after_its_rule() {
    let rule = rule("late-subresource", "Plain", "  status: {}\n");
    let mut sandbox = Sandbox::with("late-subresource", &rule, &[("config.yaml", CONFIG)]).await;
    sandbox.kind_is("Plain", Value::Null).await;
    sandbox.is("Plain", "one", json!({"size": 3})).await;
    sandbox.until("ConfigMap", "one", "is there", |_| true).await;
    sandbox.settled().await;
    let to_parents: Vec<_> =
        sandbox.writes().into_iter().filter(|write| write.uri.contains("/plains/")).collect();
    assert!(to_parents.is_empty(), "{to_parents:#?}");
    sandbox.kind_is("Plain", with_conditions(&json!({}))).await;
    let is_ready = |object: &Value| condition(object, "Ready").0 == "True";
    sandbox.until("Plain", "one", "is ready", is_ready).await;
    sandbox.stop().await;
}

/// The namespace of a child may come after its cluster-scoped parent, go, and never be fought over.
pub(crate) async fn a_childs_namespace_may_come_after_its_parent() {
    let rule = rule("late-namespace", "GlobalOwner", "  status: {}\n");
    let config = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}, namespace: {{ parent.spec.namespace }}}
";
    let mut sandbox = Sandbox::with("late-namespace", &rule, &[("config.yaml", config)]).await;
    sandbox.kind_is("GlobalOwner", with_conditions(&json!({}))).await;
    sandbox.is("GlobalOwner", "one", json!({"namespace": "late-namespace-child"})).await;
    sandbox.is("GlobalOwner", "escapes", json!({"namespace": "../late-namespace"})).await;
    let waits = |object: &Value| {
        condition(object, "Reconciling").1.contains("\"late-namespace-child\" not found")
    };
    sandbox.until("GlobalOwner", "one", "waits for the namespace", waits).await;
    let escapes = sandbox
        .until("GlobalOwner", "escapes", "is stalled", |object| {
            condition(object, "Stalled").0 == "True"
        })
        .await;
    assert!(condition(&escapes, "Stalled").1.contains("is no name for a namespace"), "{escapes}");
    sandbox.namespace("late-namespace-child").await;
    let is_ready = |object: &Value| condition(object, "Ready").0 == "True";
    sandbox.until("GlobalOwner", "one", "is ready", is_ready).await;
    sandbox.settled().await;

    // It goes again, and takes the child with it.
    let before = sandbox.writes().len();
    sandbox.namespace_is_gone("late-namespace-child").await;
    let is_waiting = |object: &Value| condition(object, "Reconciling").0 == "True";
    sandbox.until("GlobalOwner", "one", "waits again", is_waiting).await;
    let writes = sandbox.writes().split_off(before);
    let tries = writes.iter().filter(|write| write.uri.contains("/configmaps/one")).count();
    assert!(tries <= 6, "a terminating namespace is not fought: {writes:#?}");
    sandbox.namespace("late-namespace-child").await;
    let now = json!({"metadata": {"annotations": {"kubewright.io/reconcile": "now"}}});
    sandbox.edit("GlobalOwner", "one", now).await;
    sandbox.until("GlobalOwner", "one", "is ready", is_ready).await;
    sandbox.stop().await;
}
