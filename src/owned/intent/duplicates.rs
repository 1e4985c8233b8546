//! Duplicate keys in the keyed lists of built-in kinds.
//!
//! In: an intent. Out: a mistake for each element whose key was there before: the server answers 500 to those, which
//! looks like its own fault. Never here: lists of custom resources, whose keys only a schema knows.

use super::Mistake;
use crate::owned::path::{Key, Step};
use crate::owned::trail::Trail;
use serde_json::{Map, Value};

/// A list, by the way to it (`*` is every element of a list), and the fields that are its key; from the
/// `listMapKey` markers of the API types of Kubernetes 1.37.
struct Keyed(&'static [&'static str], &'static [&'static str]);

const POD: &[Keyed] = &[
    Keyed(&["containers"], NAME),
    Keyed(&["containers", "*", "env"], NAME),
    Keyed(&["containers", "*", "ports"], &["containerPort", "protocol"]),
    Keyed(&["containers", "*", "volumeMounts"], &["mountPath"]),
    Keyed(&["containers", "*", "volumeDevices"], &["devicePath"]),
    Keyed(&["initContainers"], NAME),
    Keyed(&["initContainers", "*", "env"], NAME),
    Keyed(&["initContainers", "*", "ports"], &["containerPort", "protocol"]),
    Keyed(&["initContainers", "*", "volumeMounts"], &["mountPath"]),
    Keyed(&["initContainers", "*", "volumeDevices"], &["devicePath"]),
    Keyed(&["volumes"], NAME),
    Keyed(&["imagePullSecrets"], NAME),
    Keyed(&["hostAliases"], &["ip"]),
    Keyed(&["topologySpreadConstraints"], &["topologyKey", "whenUnsatisfiable"]),
];
const SERVICE: &[Keyed] = &[Keyed(&["spec", "ports"], &["port", "protocol"])];
const WEBHOOKS: &[Keyed] = &[Keyed(&["webhooks"], NAME)];
const NAME: &[&str] = &["name"];

/// Where the lists of a kind start, and which they are.
fn lists_of(group: &str, kind: &str) -> (&'static [&'static str], &'static [Keyed]) {
    match (group, kind) {
        ("", "Pod") => (&["spec"], POD),
        ("", "PodTemplate") => (&["template", "spec"], POD),
        ("", "ReplicationController")
        | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job") => (&["spec", "template", "spec"], POD),
        ("batch", "CronJob") => (&["spec", "jobTemplate", "spec", "template", "spec"], POD),
        ("", "Service") => (&[], SERVICE),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => (&[], WEBHOOKS),
        _ => (&[], &[]),
    }
}

/// Reports every duplicate.
pub(super) fn find(object: &Value, mistakes: &mut Vec<Mistake>) {
    let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let (start, lists) = lists_of(group, text("kind"));
    for Keyed(way, key) in lists {
        let mut report = |list: &[Value], trail: &Trail<'_>| check(list, key, trail, mistakes);
        each_list(object, start, way, &Trail::ROOT, &mut report);
    }
}

fn each_list(
    value: &Value,
    start: &[&str],
    way: &[&str],
    trail: &Trail<'_>,
    report: &mut dyn FnMut(&[Value], &Trail<'_>),
) {
    let (step, start, way) = match (start, way) {
        ([step, start @ ..], way) => (*step, start, way),
        ([], [step, way @ ..]) => (*step, start, way),
        ([], []) => {
            let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
            return report(list, trail);
        }
    };
    if step == "*" {
        for (index, element) in value.as_array().into_iter().flatten().enumerate() {
            let name = Step::of_element(index, element);
            each_list(element, start, way, &trail.step(&name), report);
        }
    } else if let Some(below) = value.get(step) {
        each_list(below, start, way, &trail.field(step), report);
    }
}

fn check(list: &[Value], key: &[&str], trail: &Trail<'_>, mistakes: &mut Vec<Mistake>) {
    let mut seen = std::collections::HashSet::new();
    for key in list.iter().filter_map(|element| key_of(element, key)) {
        if seen.contains(&key) {
            let step = Step::Key(key);
            let hint = Some("what tells elements apart must differ: change one, or leave it out");
            mistakes.push(Mistake::new(trail.step(&step).path(), "is there more than once", hint));
        } else {
            seen.insert(key);
        }
    }
}

/// The element's key; none if a field is missing, which the server tells well.
fn key_of(element: &Value, fields: &[&str]) -> Option<Key> {
    let mut key = Map::new();
    for field in fields {
        let default = || (*field == "protocol").then(|| Value::from("TCP"));
        key.insert((*field).to_owned(), element.get(field).cloned().or_else(default)?);
    }
    Some(Key::from(key))
}

#[cfg(test)]
mod tests {
    use crate::owned::canonical;
    use serde_json::{Value, json};

    fn messages(rendered: Value) -> Vec<String> {
        let mistakes = canonical(rendered).err().unwrap_or_default();
        mistakes.into_iter().map(|mistake| mistake.message).collect()
    }

    fn pod() -> Value {
        json!({
            "containers": [
                {"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y"}, {"name": "X"}],
                 "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"},
                           {"containerPort": 80, "protocol": "TCP"}],
                 "volumeMounts": [{"mountPath": "/x", "name": "v"}, {"mountPath": "/x", "name": "w"}]},
                {"name": "a"}],
            "initContainers": [{"name": "i", "env": [{"name": "Z"}, {"name": "Z"}]}],
            "volumes": [{"name": "v"}, {"name": "w"}, {"name": "v"}],
            "tolerations": [{"key": "same"}, {"key": "same"}]})
    }

    fn in_pod(prefix: &str) -> Vec<String> {
        [
            "containers[name=a]",
            "containers[name=a].env[name=X]",
            "containers[name=a].ports[containerPort=80,protocol=TCP]",
            "containers[name=a].volumeMounts[mountPath=/x]",
            "initContainers[name=i].env[name=Z]",
            "volumes[name=v]",
        ]
        .map(|path| format!("{prefix}.{path} is there more than once"))
        .to_vec()
    }

    #[test]
    fn duplicates_in_pod_specs_are_found_in_every_kind_that_has_one() {
        let template = json!({"template": {"spec": pod()}});
        for (api_version, kind, spec, prefix) in [
            ("v1", "Pod", pod(), "spec"),
            ("apps/v1", "Deployment", template.clone(), "spec.template.spec"),
            ("apps/v1", "DaemonSet", template.clone(), "spec.template.spec"),
            ("batch/v1", "Job", template.clone(), "spec.template.spec"),
            (
                "batch/v1",
                "CronJob",
                json!({"jobTemplate": {"spec": template}}),
                "spec.jobTemplate.spec.template.spec",
            ),
        ] {
            let object = json!({"apiVersion": api_version, "kind": kind, "spec": spec});
            assert_eq!(messages(object), in_pod(prefix), "{kind}");
        }
    }

    #[test]
    fn service_ports_differ_by_number_or_protocol() {
        let service =
            |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": ports}});
        let fine = json!([{"port": 53}, {"port": 53, "protocol": "UDP"}, {"port": 54}]);
        assert!(messages(service(fine)).is_empty());
        let double =
            json!([{"port": 53, "name": "a"}, {"port": 53, "protocol": "TCP", "name": "b"}]);
        assert_eq!(
            messages(service(double)),
            ["spec.ports[port=53,protocol=TCP] is there more than once"]
        );
    }

    #[test]
    fn elements_without_a_key_and_other_kinds_are_left_to_the_server() {
        let nameless =
            json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{}, {}, 1, 1]}});
        assert!(messages(nameless).is_empty());
        let other = json!({"apiVersion": "example.com/v1", "kind": "Deployment", "spec": {"template": {"spec": pod()}}});
        assert!(messages(other).is_empty());
    }
}
