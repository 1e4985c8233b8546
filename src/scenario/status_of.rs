//! The status that the controller of a well-known kind would give an object once it is ready.
//!
//! In: an object. Out: a status that [`crate::ready`] takes for ready. For `ready: true` in scenarios, whose authors care
//! that a child is ready and not how its kind says so.

use serde_json::{Value, json};

/// The status; for a kind that is not well known, conditions in the sense of kstatus.
pub(super) fn ready(object: &Value) -> Value {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let wanted = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    let mut status = match (group, text("/kind")) {
        ("apps", "Deployment" | "ReplicaSet") => json!({
            "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": wanted,
            "availableReplicas": wanted, "conditions": [holds("Available")]}),
        ("apps", "StatefulSet") => json!({
            "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": wanted,
            "availableReplicas": wanted, "currentRevision": "1", "updateRevision": "1"}),
        ("apps", "DaemonSet") => json!({
            "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "updatedNumberScheduled": 1,
            "numberAvailable": 1, "numberReady": 1}),
        ("batch", "Job") => json!({"succeeded": 1, "conditions": [holds("Complete")]}),
        ("", "Pod") => json!({"phase": "Running", "conditions": [holds("Ready")]}),
        ("", "PersistentVolumeClaim") => json!({"phase": "Bound"}),
        ("", "Namespace") => json!({"phase": "Active"}),
        ("", "Service") => json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}),
        ("apiextensions.k8s.io", _) => json!({"conditions": [holds("Established")]}),
        ("apiregistration.k8s.io", _) => json!({"conditions": [holds("Available")]}),
        _ => json!({"conditions": [holds("Ready")]}),
    };
    if let Some(generation) = crate::object::generation(object) {
        status["observedGeneration"] = json!(generation);
    }
    status
}

fn holds(condition: &str) -> Value {
    json!({"type": condition, "status": "True", "reason": "Simulated"})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ready::{Readiness, readiness};

    #[test]
    fn every_well_known_kind_can_be_made_ready() {
        for (api_version, kind) in [
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("apps/v1", "DaemonSet"),
            ("apps/v1", "ReplicaSet"),
            ("batch/v1", "Job"),
            ("v1", "Pod"),
            ("v1", "PersistentVolumeClaim"),
            ("v1", "Namespace"),
            ("v1", "Service"),
            ("v1", "ConfigMap"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("apiregistration.k8s.io/v1", "APIService"),
            ("example.com/v1", "Anything"),
        ] {
            let mut object = json!({"apiVersion": api_version, "kind": kind,
                "metadata": {"generation": 7}, "spec": {"replicas": 3, "type": "LoadBalancer"}});
            object["status"] = ready(&object);
            assert_eq!(readiness(&object), Readiness::Ready, "{kind}");
        }
    }
}
