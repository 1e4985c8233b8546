//! When an object of a well-known kind counts as ready.
//!
//! In: an object as the API server has it. Out: a [`Readiness`] with a sentence that is stable while nothing changes.
//! The table follows kstatus (sigs.k8s.io/cli-utils) with these deviations: a Job is ready when it completed, a failed
//! Pod failed, a paused Deployment waits. Pure.

use serde_json::Value;

/// Whether an object is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It is.
    Ready,
    /// Not yet; the sentence says what is missing.
    InProgress(String),
    /// It will not become ready without help.
    Failed(String),
    /// It is being deleted.
    Terminating,
}

use Readiness::{Failed, InProgress, Ready, Terminating};

impl Readiness {
    /// Whether it is [`Readiness::Ready`].
    pub fn is_ready(&self) -> bool {
        *self == Ready
    }

    /// Why it is not ready; empty if it is.
    pub fn sentence(&self) -> &str {
        match self {
            Ready => "",
            InProgress(why) | Failed(why) => why,
            Terminating => "it is being deleted",
        }
    }
}

/// Judges by deletion, generation and the kind's rule.
pub fn readiness(object: &Value) -> Readiness {
    match general(object) {
        Some(verdict) => verdict,
        None => by_kind(object),
    }
}

/// What holds for every kind, a rule's own `ready` included: deletion and the generation the controller has seen.
pub fn general(object: &Value) -> Option<Readiness> {
    if crate::object::terminating(object) {
        return Some(Terminating);
    }
    let seen = object.pointer("/status/observedGeneration").and_then(Value::as_i64);
    match (seen, crate::object::generation(object)) {
        (Some(seen), Some(generation)) if seen < generation => {
            Some(InProgress("its controller has not seen the latest change yet".into()))
        }
        _ => None,
    }
}

fn by_kind(object: &Value) -> Readiness {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    match (group, text("/kind")) {
        ("apps", "Deployment") => deployment(object),
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps", "DaemonSet") => daemon_set(object),
        ("apps", "ReplicaSet") => replica_set(object),
        ("batch", "Job") => job(object),
        ("", "Pod") => pod(object),
        ("", "PersistentVolumeClaim") => claim(object),
        ("", "Namespace") => phase(object, "Active"),
        ("", "Service") => service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            require_condition(object, "Established")
        }
        ("apiregistration.k8s.io", "APIService") => require_condition(object, "Available"),
        ("" | "rbac.authorization.k8s.io" | "storage.k8s.io", _) | ("batch", "CronJob") => Ready,
        _ => by_conditions(object),
    }
}

fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn wanted_replicas(object: &Value) -> i64 {
    object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
}

/// `(status, reason, message)` of a condition; an older generation's condition does not count.
fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let found = conditions.iter().find(|c| c.get("type").and_then(Value::as_str) == Some(kind))?;
    let stale = match (found.get("observedGeneration"), crate::object::generation(object)) {
        (Some(seen), Some(generation)) => seen.as_i64().is_some_and(|seen| seen < generation),
        _ => false,
    };
    let text = |key| found.get(key).and_then(Value::as_str).unwrap_or_default();
    (!stale).then(|| (text("status"), text("reason"), text("message")))
}

fn require_condition(object: &Value, kind: &str) -> Readiness {
    match condition(object, kind) {
        Some(("True", ..)) => Ready,
        Some((_, reason, _)) if !reason.is_empty() => {
            InProgress(format!("{kind} is not true: {reason}"))
        }
        _ => InProgress(format!("{kind} is not true yet")),
    }
}

/// Any other kind: Stalled and Reconciling, then Ready; without conditions existing is enough.
fn by_conditions(object: &Value) -> Readiness {
    if let Some(("True", reason, message)) = condition(object, "Stalled") {
        return Failed(format!("it is stalled: {reason} {message}").trim_end().to_owned());
    }
    if let Some(("True", reason, _)) = condition(object, "Reconciling") {
        return InProgress(format!("it is reconciling: {reason}"));
    }
    match condition(object, "Ready") {
        None | Some(("True", ..)) => Ready,
        Some(_) => require_condition(object, "Ready"),
    }
}

fn short(object: &Value, pointer: &str, wanted: i64, what: &str) -> Option<Readiness> {
    let have = number(object, pointer);
    (have < wanted).then(|| InProgress(format!("{have} of {wanted} replicas are {what}")))
}

fn deployment(object: &Value) -> Readiness {
    // The message names a ReplicaSet, which is another one each time.
    if let Some((_, "ProgressDeadlineExceeded", _)) = condition(object, "Progressing") {
        return Failed("its progress deadline is exceeded".into());
    }
    if object.pointer("/spec/paused").and_then(Value::as_bool) == Some(true) {
        return InProgress("it is paused".into());
    }
    let wanted = wanted_replicas(object);
    let updated = number(object, "/status/updatedReplicas");
    if object.pointer("/status/observedGeneration").is_none() {
        return InProgress("its controller has not seen it yet".into());
    }
    short(object, "/status/updatedReplicas", wanted, "updated")
        .or_else(|| {
            (number(object, "/status/replicas") > updated)
                .then(|| InProgress("old replicas are still there".into()))
        })
        .or_else(|| short(object, "/status/readyReplicas", wanted, "ready"))
        .or_else(|| short(object, "/status/availableReplicas", wanted, "available"))
        .or_else(|| Some(require_condition(object, "Available")))
        .unwrap_or(Ready)
}

fn stateful_set(object: &Value) -> Readiness {
    if object.pointer("/spec/updateStrategy/type").and_then(Value::as_str) == Some("OnDelete") {
        return Ready;
    }
    let wanted = wanted_replicas(object);
    let partition = number(object, "/spec/updateStrategy/rollingUpdate/partition");
    let rolled = short(object, "/status/readyReplicas", wanted, "ready")
        .or_else(|| short(object, "/status/updatedReplicas", wanted - partition, "updated"));
    if let Some(waiting) = rolled {
        return waiting;
    }
    if number(object, "/status/replicas") > wanted {
        return InProgress("surplus replicas are still there".into());
    }
    let revision =
        |field: &str| object.pointer(&format!("/status/{field}")).and_then(Value::as_str);
    if partition == 0 && wanted > 0 && revision("currentRevision") != revision("updateRevision") {
        return InProgress("an update is rolling out".into());
    }
    Ready
}

fn daemon_set(object: &Value) -> Readiness {
    let Some(wanted) = object.pointer("/status/desiredNumberScheduled").and_then(Value::as_i64)
    else {
        return InProgress("its controller has not seen it yet".into());
    };
    if object.pointer("/spec/updateStrategy/type").and_then(Value::as_str) == Some("OnDelete") {
        return Ready;
    }
    short(object, "/status/currentNumberScheduled", wanted, "scheduled")
        .or_else(|| short(object, "/status/updatedNumberScheduled", wanted, "updated"))
        .or_else(|| short(object, "/status/numberAvailable", wanted, "available"))
        .or_else(|| short(object, "/status/numberReady", wanted, "ready"))
        .unwrap_or(Ready)
}

fn replica_set(object: &Value) -> Readiness {
    let wanted = wanted_replicas(object);
    // The message counts what a quota has left.
    if let Some(("True", reason, _)) = condition(object, "ReplicaFailure") {
        return InProgress(format!("creating pods fails: {reason}").trim_end().to_owned());
    }
    short(object, "/status/availableReplicas", wanted, "available")
        .or_else(|| short(object, "/status/readyReplicas", wanted, "ready"))
        .or_else(|| {
            (number(object, "/status/replicas") > wanted)
                .then(|| InProgress("surplus replicas are still there".into()))
        })
        .unwrap_or(Ready)
}

fn job(object: &Value) -> Readiness {
    if let Some(("True", reason, message)) = condition(object, "Failed") {
        return Failed(format!("it failed: {reason} {message}").trim_end().to_owned());
    }
    if let Some(("True", ..)) = condition(object, "Complete") {
        return Ready;
    }
    match condition(object, "Suspended") {
        Some(("True", ..)) => InProgress("it is suspended".into()),
        _ => InProgress("it has not completed yet".into()),
    }
}

fn pod(object: &Value) -> Readiness {
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or("Pending");
    match phase {
        "Succeeded" => Ready,
        "Failed" => Failed("its phase is Failed".into()),
        "Running" => require_condition(object, "Ready"),
        other => InProgress(format!("its phase is {other}")),
    }
}

/// A claim counts once it is bound; a lost volume will not come back by itself.
fn claim(object: &Value) -> Readiness {
    match object.pointer("/status/phase").and_then(Value::as_str) {
        Some("Bound") => Ready,
        Some("Lost") => Failed("its volume is lost".into()),
        _ => InProgress("it is not bound yet".into()),
    }
}

fn phase(object: &Value, wanted: &str) -> Readiness {
    match object.pointer("/status/phase").and_then(Value::as_str) {
        Some(phase) if phase == wanted => Ready,
        Some(phase) => InProgress(format!("its phase is {phase}")),
        None => InProgress("it has no phase yet".into()),
    }
}

fn service(object: &Value) -> Readiness {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let addresses = object.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
    if text("/spec/type") == "LoadBalancer" && addresses.is_none_or(Vec::is_empty) {
        return InProgress("its load balancer has no address yet".into());
    }
    Ready
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ready(object: impl std::borrow::Borrow<Value>) -> bool {
        readiness(object.borrow()).is_ready()
    }

    fn deployment_with(status: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
               "metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status})
    }

    fn available(updated: i64, replicas: i64) -> Value {
        json!({"observedGeneration": 2, "updatedReplicas": updated, "replicas": replicas,
               "readyReplicas": 2, "availableReplicas": 2,
               "conditions": [{"type": "Available", "status": "True"}]})
    }

    #[test]
    fn a_deployment_is_ready_when_every_replica_is_new_and_available() {
        assert!(ready(deployment_with(&available(2, 2))));
        assert!(!ready(deployment_with(&available(1, 2))), "an old replica");
        assert!(!ready(deployment_with(&available(2, 3))), "a surplus replica");
        assert!(!ready(deployment_with(&json!({}))), "never seen");
        let mut stale = deployment_with(&available(2, 2));
        stale["metadata"]["generation"] = json!(3);
        assert!(!ready(stale), "a later change is not seen yet");
    }

    #[test]
    fn a_deployment_past_its_deadline_failed() {
        let object = deployment_with(&json!({"observedGeneration": 2, "conditions": [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
             "message": "timed out"}]}));
        let expected = Failed("its progress deadline is exceeded".into());
        assert_eq!(readiness(&object), expected);
    }

    #[test]
    fn a_job_is_ready_only_when_complete() {
        let job = |kind: &str| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"startTime": "x",
                   "conditions": [{"type": kind, "status": "True", "reason": "R"}]}})
        };
        assert!(ready(job("Complete")));
        assert!(!ready(job("Suspended")));
        assert_eq!(readiness(&job("Failed")), Failed("it failed: R".into()));
        assert!(!ready(
            json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"startTime": "x"}})
        ));
    }

    #[test]
    fn a_custom_resource_without_conditions_is_ready_and_with_them_they_decide() {
        let custom = |conditions: Value| {
            json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generation": 2},
                   "status": {"conditions": conditions}})
        };
        assert!(ready(json!({"apiVersion": "example.com/v1", "kind": "Thing"})));
        assert!(ready(custom(json!([{"type": "Ready", "status": "True"}]))));
        assert!(!ready(custom(json!([{"type": "Ready", "status": "Unknown"}]))));
        assert!(!ready(custom(json!([{"type": "Reconciling", "status": "True", "reason": "R"}]))));
        let stalled = custom(json!([{"type": "Stalled", "status": "True", "reason": "R"}]));
        assert_eq!(readiness(&stalled), Failed("it is stalled: R".into()));
    }

    #[test]
    fn pods_claims_services_and_namespaces_follow_their_own_rules() {
        let core = |kind: &str, rest: Value| {
            let mut object = json!({"apiVersion": "v1", "kind": kind});
            object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            object
        };
        assert!(ready(core("ConfigMap", json!({}))));
        assert!(ready(core("Service", json!({"spec": {"type": "ClusterIP"}}))));
        assert!(!ready(core("Service", json!({"spec": {"type": "LoadBalancer"}}))));
        assert!(!ready(core("PersistentVolumeClaim", json!({"status": {"phase": "Pending"}}))));
        assert!(ready(core("PersistentVolumeClaim", json!({"status": {"phase": "Bound"}}))));
        assert!(!ready(core("Namespace", json!({"status": {"phase": "Terminating"}}))));
        assert!(!ready(core("Pod", json!({"status": {"phase": "Running"}}))));
        assert!(matches!(
            readiness(&core("Pod", json!({"status": {"phase": "Failed"}}))),
            Failed(_)
        ));
        let deleted = core("ConfigMap", json!({"metadata": {"deletionTimestamp": "now"}}));
        assert_eq!(readiness(&deleted), Terminating);
    }
}
