//! Powers of the operator that whoever may write a parent gets.
//!
//! In: what flows where in a rule. Out: a warning for each value of the parent that decides rights, service accounts, host
//! paths, privileges or whom the API server calls. Pure.
//!
//! A parent's name, namespace and uid are no such value: rules make names of them. Nor is one of a table that a value of
//! the parent chooses from (`{"small": "a"}[parent.spec.size]`): the rule decides what is in the table. A list or map of
//! the parent that becomes a whole pod, container, volume or security context can have all of that in it; a part that
//! is made of the parent's values one by one is judged by its parts.

use crate::object::Gvk;
use crate::problem::Problem;
use crate::rule::lint::flows::{Flows, kinds_of, landing, said};
use crate::template::{ANY, Sink, Source};

/// What a place decides.
struct Power {
    code: &'static str,
    what: &'static str,
}

const RIGHTS: Power = Power { code: "parent-controls-rbac", what: "who may do what" };
const ACCOUNT: Power =
    Power { code: "parent-controls-service-account", what: "whose rights the pods have" };
const HOST: Power =
    Power { code: "parent-controls-host-path", what: "what of the node is mounted" };
const PRIVILEGES: Power = Power {
    code: "parent-controls-privileges",
    what: "how far the pods are kept apart from the node",
};
const CALLS: Power =
    Power { code: "parent-controls-webhook", what: "whom the API server calls and trusts" };
const POD: Power = Power {
    code: "parent-controls-pod",
    what: "everything in it, host paths and privileges included",
};

/// Every value of the parent that decides more than its writer should.
pub(super) fn given_away(flows: &Flows<'_>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (child, study) in flows.templates() {
        for sink in &study.sinks {
            let kinds = kinds_of(child, study, sink.spot.document);
            let Some((power, needs_whole)) = kinds.iter().find_map(|gvk| power(gvk, sink)) else {
                continue;
            };
            let from_parent = |source: &Source| {
                is_of_parent(source) && !source.hashed && (source.whole || !needs_whole)
            };
            let found = sink.sources.iter().find_map(|written| {
                let mut sources = flows.resolve(written, child.group).into_iter();
                Some((sources.find(from_parent)?, written))
            });
            if let Some((source, written)) = found {
                let kind = &flows.rule.parent.gvk().kind;
                warnings.push(warning(power, &said(&source, written), sink, kind));
            }
        }
    }
    warnings
}

fn warning(power: &Power, what: &str, sink: &Sink, parent: &str) -> Problem {
    let message = format!(
        "whoever may write {parent} objects decides {}: {what} becomes {}",
        power.what,
        landing(sink)
    );
    Problem::warning(power.code, message).at(sink.place.clone()).hint(
        "let the rule decide, and the parent choose: `{{ {\"small\": \"a\", \"large\": \"b\"}[parent.spec.size] }}`",
    )
}

fn is_of_parent(source: &Source) -> bool {
    let Some((root, rest)) = source.path.split_first() else { return false };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    root == "parent" && !matches!(rest.as_slice(), ["metadata", "name" | "namespace" | "uid", ..])
}

/// What a place decides, and whether only a whole list or map does.
fn power(gvk: &Gvk, sink: &Sink) -> Option<(&'static Power, bool)> {
    let path: Vec<&str> = sink.spot.path.iter().map(String::as_str).collect();
    let first = path.first().copied().unwrap_or(ANY);
    if matches!(first, "metadata" | "status" | "data" | "stringData" | "binaryData") {
        return None;
    }
    if gvk.group == "rbac.authorization.k8s.io" {
        let decides = ["rules", "subjects", "roleRef", "aggregationRule", ANY].contains(&first);
        return decides.then_some((&RIGHTS, false));
    }
    let is_webhook =
        gvk.group == "admissionregistration.k8s.io" && gvk.kind.ends_with("WebhookConfiguration");
    if path.contains(&"clientConfig")
        || (is_webhook && matches!(path.as_slice(), ["webhooks"] | ["webhooks", ANY]))
    {
        return Some((&CALLS, false));
    }
    let here = path.last().copied().unwrap_or_default();
    let named = |power| Some((power, false));
    match here {
        "serviceAccountName" | "serviceAccount" => return named(&ACCOUNT),
        "privileged"
        | "hostNetwork"
        | "hostPID"
        | "hostIPC"
        | "allowPrivilegeEscalation"
        | "procMount" => {
            return named(&PRIVILEGES);
        }
        _ if path.contains(&"hostPath") => return named(&HOST),
        _ if path.contains(&"capabilities") => return named(&PRIVILEGES),
        _ => {}
    }
    let in_pod = path.strip_prefix(pod_of(gvk)?);
    let decides_all = match in_pod {
        // Something around the pod's spec.
        None => pod_of(gvk)?.starts_with(&path),
        Some(rest) => matches!(
            rest,
            [] | ["volumes"
                | "containers"
                | "initContainers"
                | "ephemeralContainers"
                | "securityContext"]
                | ["volumes" | "containers" | "initContainers" | "ephemeralContainers", ANY]
                | ["containers" | "initContainers" | "ephemeralContainers", ANY, "securityContext"]
        ),
    };
    decides_all.then_some((&POD, true))
}

/// Where a kind has the spec of its pods.
fn pod_of(gvk: &Gvk) -> Option<&'static [&'static str]> {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => Some(&["spec"]),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => Some(&["spec", "template", "spec"]),
        ("", "PodTemplate") => Some(&["template", "spec"]),
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => None,
    }
}
