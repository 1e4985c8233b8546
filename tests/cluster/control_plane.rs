//! The control plane itself: workloads come to life and go away, and no server outlives its parent.
//!
//! In: a running control plane. Out: panics. Never here: rules.
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Far more than anything here takes; a hang must end some time.
const PATIENCE: Duration = Duration::from_mins(1);

const NAMESPACE: &str = "control-plane";

/// Every kind of workload becomes ready, and its namespace terminates with everything in it.
pub(crate) async fn workloads_come_to_life_and_go_away() {
    let client = crate::world::world().client("control-plane-test");
    let namespaces = Api::<Namespace>::all(client.clone());
    create(&namespaces, json!({ "metadata": { "name": NAMESPACE } })).await;

    let deployments = within::<Deployment>(&client);
    create(&deployments, workload(json!({ "replicas": 2 }))).await;
    until(&deployments, |x| x.status.as_ref()?.available_replicas.map(|n| n == 2)).await;

    let sets = within::<DaemonSet>(&client);
    create(&sets, workload(json!({}))).await;
    until(&sets, |x| x.status.as_ref()?.number_available.map(|n| n == 2)).await;

    let sets = within::<StatefulSet>(&client);
    let storage = json!({ "requests": { "storage": "1Gi" } });
    let claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": storage });
    let claims = json!([{ "metadata": { "name": "data" }, "spec": claim }]);
    create(&sets, workload(json!({ "serviceName": "x", "volumeClaimTemplates": claims }))).await;
    until(&sets, |x| x.status.as_ref()?.available_replicas.map(|n| n == 1)).await;

    let jobs = within::<Job>(&client);
    create(&jobs, json!({ "metadata": { "name": "x" }, "spec": { "template": pods("Never") } }))
        .await;
    until(&jobs, |x| x.status.as_ref()?.succeeded.map(|n| n == 1)).await;

    let namespace = namespaces.get(NAMESPACE).await.expect("the namespace");
    namespaces.delete(NAMESPACE, &DeleteParams::default()).await.expect("a delete");
    gone(&namespaces, namespace.meta()).await;
    let left = Api::<Pod>::all(client.clone()).list(&ListParams::default()).await.expect("pods");
    assert!(left.items.iter().all(|pod| pod.metadata.namespace.as_deref() != Some(NAMESPACE)));
    let volumes = Api::<PersistentVolume>::all(client);
    for volume in volumes.list(&ListParams::default()).await.expect("volumes") {
        let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
        if claim.is_some_and(|claim| claim.namespace.as_deref() == Some(NAMESPACE)) {
            gone(&volumes, volume.meta()).await;
        }
    }
}

/// What the program's own shim starts is killed with its parent, however that ends. Linux only, as the promise is.
pub(crate) fn no_server_outlives_a_killed_parent() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let shim = env!("CARGO_BIN_EXE_kubewright");
    let mut parent = Command::new("/bin/sh")
        .args(["-c", "\"$0\" __exec $$ /bin/sleep 1000 & echo $!; wait", shim])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a parent");
    let mut output = BufReader::new(parent.stdout.take().expect("its output"));
    let mut pid = String::new();
    output.read_line(&mut pid).expect("a process id");
    let name = format!("/proc/{}/comm", pid.trim());
    while std::fs::read_to_string(&name).unwrap_or_default() != "sleep\n" {
        std::thread::yield_now();
    }
    parent.kill().expect("a kill");
    parent.wait().expect("an end");
    // The pipe closes when the last process that holds it, the server, is gone.
    let (closed, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || closed.send(output.read_to_string(&mut String::new())));
    wait.recv_timeout(PATIENCE).expect("the server ends in time").expect("its output ends");
}

fn pods(restart_policy: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "x" } },
        "spec": {
            "restartPolicy": restart_policy,
            // The namespace controller looks again after half of it, and it is 30 by default.
            "terminationGracePeriodSeconds": 1,
            "containers": [{ "name": "x", "image": "x" }],
        },
    })
}

fn workload(more: Value) -> Value {
    let mut spec = more;
    spec["selector"] = json!({ "matchLabels": { "app": "x" } });
    spec["template"] = pods("Always");
    json!({ "metadata": { "name": "x" }, "spec": spec })
}

fn within<K>(client: &Client) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), NAMESPACE)
}

async fn create<K>(api: &Api<K>, object: Value)
where
    K: Clone + Debug + Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("an object");
    api.create(&PostParams::default(), &object).await.expect("created");
}

async fn until<K>(api: &Api<K>, holds: impl Fn(&K) -> Option<bool>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + DeserializeOwned + 'static,
{
    let holds = |object: Option<&K>| object.and_then(&holds).unwrap_or_default();
    let reached = await_condition(api.clone(), "x", holds);
    tokio::time::timeout(PATIENCE, reached).await.expect("in time").expect("a watch");
}

async fn gone<K>(api: &Api<K>, metadata: &ObjectMeta)
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + DeserializeOwned + 'static,
{
    let name = metadata.name.as_deref().expect("a name");
    let uid = metadata.uid.as_deref().expect("a uid");
    let gone = await_condition(api.clone(), name, conditions::is_deleted(uid));
    tokio::time::timeout(PATIENCE, gone).await.expect("in time").expect("a watch");
}
