//! Where well-known kinds keep what a new rule makes a parameter.
//!
//! In: a manifest's tree. Out: its containers, with names. Pure.

use crate::object::Gvk;
use crate::yaml::{Kind, Node};

/// The pod template of a workload, as keys below the object.
pub(super) fn pod_spec(gvk: &Gvk) -> Option<&'static [&'static str]> {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => {
            Some(&["spec", "template", "spec"])
        }
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        ("", "Pod") => Some(&["spec"]),
        _ => None,
    }
}

/// Whether `spec.replicas` says how many pods there are.
pub(super) fn is_scaled(gvk: &Gvk) -> bool {
    gvk.group == "apps" && ["Deployment", "StatefulSet", "ReplicaSet"].contains(&gvk.kind.as_str())
}

/// A node below others.
pub(super) fn at<'n>(node: &'n Node, keys: &[&str]) -> Option<&'n Node> {
    keys.iter().try_fold(node, |node, key| node.get(key))
}

/// The items of a list, none if it is no list.
pub(super) fn items(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.kind) {
        Some(Kind::Sequence(items)) => items,
        _ => &[],
    }
}

/// The entries of a map, none if it is no map.
pub(super) fn entries(node: Option<&Node>) -> &[(Node, Node)] {
    match node.map(|node| &node.kind) {
        Some(Kind::Mapping(entries)) => entries,
        _ => &[],
    }
}

/// Key and value.
pub(super) fn entry<'n>(node: &'n Node, key: &str) -> Option<&'n (Node, Node)> {
    entries(Some(node)).iter().find(|(name, _)| name.as_str() == Some(key))
}

/// Containers of a workload, init containers first, with their names.
pub(super) fn containers<'n>(root: &'n Node, gvk: &Gvk) -> Vec<(&'n str, &'n Node)> {
    let Some(pod) = pod_spec(gvk).and_then(|keys| at(root, keys)) else { return Vec::new() };
    let lists = [pod.get("initContainers"), pod.get("containers")];
    let all = lists.into_iter().flat_map(items);
    all.filter_map(|container| Some((container.get("name")?.as_str()?, container))).collect()
}
