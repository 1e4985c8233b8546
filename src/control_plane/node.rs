//! What a new cluster has before anybody uses it: nodes and a storage class, on paper.
//!
//! In: a client. Out: two nodes that pods can be scheduled to, a default storage class. Never here: pods; kwok's
//! stages (`control-plane/stages.yaml`) bring all of it to life.

use super::error::Error;
use super::program::VERSION;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

/// Two, so that anti-affinity, spreading and `DaemonSets` have something to show.
pub(super) const NODES: [&str; 2] = ["paper-1", "paper-2"];

/// Creates nodes and storage class.
pub(super) async fn create(client: &Client) -> Result<(), Error> {
    for name in NODES {
        post::<Node>(client, node(name)).await?;
    }
    post::<StorageClass>(client, storage_class()).await
}

async fn post<K>(client: &Client, object: Value) -> Result<(), Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let action = format!("create a {}", K::kind(&()));
    let created = async {
        let object: K = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        Api::<K>::all(client.clone()).create(&PostParams::default(), &object).await
    };
    created.await.map(drop).map_err(Error::api(action))
}

/// Whether pods can be scheduled to all nodes: healthy, and no longer tainted as new.
pub(super) async fn are_ready(client: &Client) -> bool {
    let nodes = Api::<Node>::all(client.clone());
    for name in NODES {
        let Ok(node) = nodes.get(name).await else {
            return false;
        };
        let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
        let healthy = conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
        let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        if !healthy || !taints.is_empty() {
            return false;
        }
    }
    true
}

/// Big enough that nothing is ever unschedulable for lack of room.
fn node(name: &str) -> Value {
    let size =
        json!({ "cpu": "1000", "memory": "4Ti", "ephemeral-storage": "10Ti", "pods": "10000" });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/region": "paper",
                "topology.kubernetes.io/zone": name,
            },
        },
        "status": {
            "capacity": size,
            "allocatable": size,
            "addresses": [
                { "type": "InternalIP", "address": "192.0.2.2" },
                { "type": "Hostname", "address": name },
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kubeletVersion": VERSION,
                "kubeProxyVersion": "",
                "osImage": "paper",
                "kernelVersion": "",
                "containerRuntimeVersion": "kwok://",
                "bootID": "",
                "machineID": "",
                "systemUUID": "",
            },
        },
    })
}

fn storage_class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "standard",
            "annotations": { "storageclass.kubernetes.io/is-default-class": "true" },
        },
        "provisioner": "kubewright.local/paper",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_serve_the_storage_class() {
        let stages = include_str!("../../control-plane/stages.yaml");
        let class: StorageClass = serde_json::from_value(storage_class()).expect("a class");
        let name = class.metadata.name.expect("a name");
        assert!(stages.contains(&format!("storageClassName: {name}\n")));
        assert!(stages.contains(&format!("provisioned-by: {}}}", class.provisioner)));
    }

    #[test]
    fn the_nodes_are_nodes() {
        let node: Node = serde_json::from_value(node(NODES[0])).expect("a node");
        let status = node.status.expect("a status");
        assert_eq!(status.allocatable, status.capacity);
        assert_eq!(status.conditions, None, "health is what kwok says");
    }
}
