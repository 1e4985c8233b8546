//! The fence of the chart: the API server itself refuses what a pod writes that does not hold the Lease.
//!
//! In: a release with two pods that kwok plays, and a token bound to each. Out: panics. Never here: how the Lease is won.

use super::helm::CHART;
use super::installed::{Cluster, Program};
use kube::Client;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kw/leases";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kw/leases/kubewright-shard-0";
const BINDING: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/kw-kw-kubewright-fence";

/// A write that the account has the right to: method, address, body. Nothing of it is stored.
type Write = (&'static str, &'static str, Value);

/// One of each sort, a subresource among them.
fn fenced() -> [Write; 4] {
    let fresh = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fresh"}});
    let webapp =
        "/apis/demo.kubewright.io/v1/namespaces/default/webapps/internal/status?dryRun=All";
    [
        ("POST", "/api/v1/namespaces/kw/configmaps?dryRun=All", fresh),
        ("PATCH", "/api/v1/namespaces/kw/configmaps/old?dryRun=All", json!({"data": {"a": "b"}})),
        ("DELETE", "/api/v1/namespaces/kw/configmaps/old?dryRun=All", Value::Null),
        ("PATCH", webapp, json!({"status": {}})),
    ]
}

/// What those who follow do too.
fn open() -> [Write; 3] {
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": "x", "namespace": "kw"}, "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": {"kind": "ConfigMap", "name": "old", "namespace": "kw"}, "type": "Normal",
        "reason": "X", "action": "X", "reportingController": "x.io/x", "reportingInstance": "x",
    });
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                       "metadata": {"name": "another"}});
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}},
    });
    [
        ("POST", "/apis/events.k8s.io/v1/namespaces/kw/events?dryRun=All", event),
        ("POST", "/apis/coordination.k8s.io/v1/namespaces/kw/leases?dryRun=All", lease),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review),
    ]
}

pub(crate) fn only_the_holder_of_the_lease_writes() {
    let cluster = Cluster::start();
    let values = "packs.webapp.enabled=true,replicas=2,availability.fence=true";
    cluster.helm(&["install", "kw", CHART, "--create-namespace", "--wait", "--set", values]);
    let pods = cluster.request("GET", "/api/v1/namespaces/kw/pods", &Value::Null).expect("pods");
    let [first, second] = &pods["items"].as_array().expect("a list")[..] else {
        panic!("two pods: {pods}")
    };

    // The program itself: whoever leads takes the Lease, and is let through with all that a pass writes.
    cluster.apply_file("rules/webapp.example.yaml");
    let program = cluster.run_program_as(Some(first));
    cluster.until_ready("demo.kubewright.io/v1", "WebApp", "default", "internal", &program);
    assert!(!program.log().contains("only the holder"), "{}", program.log());
    a_refused_leader_tells_it_and_tries_again(&cluster, &program, first);
    program.stop();

    let old = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old"}});
    cluster.request("POST", "/api/v1/namespaces/kw/configmaps", &old).expect("created");
    let account = "kw-kubewright";
    let of_no_pod = cluster.client_of(account, None);
    let (a, b) =
        (cluster.client_of(account, Some(first)), cluster.client_of(account, Some(second)));
    for (holder, leads, follows) in [(first, &a, &b), (second, &b, &a), (first, &a, &b)] {
        let name = holder["metadata"]["name"].as_str().expect("a name");
        let holder = format!("{name}_0123456789abcdef");
        hold(&cluster, &holder);
        refused(&cluster, follows, &holder);
        refused(&cluster, &of_no_pod, &holder);
        allowed(&cluster, leads, &fenced());
        allowed(&cluster, follows, &open());
    }
    // A name that only begins like that of the holder is another one, and so is nobody's.
    let name = first["metadata"]["name"].as_str().expect("a name");
    for holder in [format!("{name}0_0123456789abcdef"), String::new()] {
        hold(&cluster, &holder);
        refused(&cluster, &a, &holder);
        refused(&cluster, &b, &holder);
        administrator_writes(&cluster).expect("others are let through");
    }
    without_a_lease_nobody_is_refused(&cluster, &b);
    cluster.stop();
}

/// As one that leads before the API server knows it: here the fence asks another Lease for a while.
fn a_refused_leader_tells_it_and_tries_again(cluster: &Cluster, program: &Program, pod: &Value) {
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                       "metadata": {"name": "elsewhere"}, "spec": {"holderIdentity": "other_0"}});
    cluster.request("POST", LEASES, &lease).expect("created");
    let ask = |lease: &str| {
        let patch = json!({"spec": {"paramRef": {"name": lease}}});
        cluster.request("PATCH", BINDING, &patch).expect("an edit");
    };
    ask("elsewhere");
    let client = cluster.client_of("kw-kubewright", Some(pod));
    until("the fence asks elsewhere", || send(cluster, &client, &fenced()[0]).is_err());
    cluster.patch_webapp("internal", &json!({"spec": {"replicas": 3}}));
    cluster.until_told("only the holder of the Lease", program);
    ask("kubewright-shard-0");
    let deployment = ("apps/v1", "Deployment", "default", "internal");
    cluster.until(deployment, "has three", program, |found| found["spec"]["replicas"] == 3);
    cluster.until_ready("demo.kubewright.io/v1", "WebApp", "default", "internal", program);
}

/// It never keeps a whole cluster from working, which `Deny` would.
fn without_a_lease_nobody_is_refused(cluster: &Cluster, of_pod: &Client) {
    cluster.request("DELETE", LEASE, &Value::Null).expect("deleted");
    until("the end of the Lease is seen", || {
        fenced().iter().all(|write| send(cluster, of_pod, write).is_ok())
    });
    administrator_writes(cluster).expect("others are let through");
    let deny = json!({"spec": {"paramRef": {"parameterNotFoundAction": "Deny"}}});
    cluster.request("PATCH", BINDING, &deny).expect("an edit");
    until("`Deny` refuses everybody", || {
        administrator_writes(cluster).is_err_and(|error| error.contains("no params found"))
    });
}

/// Gives the Lease to somebody.
fn hold(cluster: &Cluster, holder: &str) {
    cluster.request("PATCH", LEASE, &json!({"spec": {"holderIdentity": holder}})).expect("an edit");
}

fn administrator_writes(cluster: &Cluster) -> Result<(), String> {
    for (method, uri, body) in fenced() {
        cluster.request(method, uri, &body)?;
    }
    Ok(())
}

/// Each write, as soon as the API server knows the holder.
fn refused(cluster: &Cluster, client: &Client, holder: &str) {
    let said = format!(
        "only the holder of the Lease kw/kubewright-shard-0 may write: that is \"{holder}\", not the pod"
    );
    for write in fenced() {
        until(&format!("{} {} is refused: {said}", write.0, write.1), || {
            match send(cluster, client, &write) {
                Err(kube::Error::Api(status)) => {
                    status.code == 403 && status.message.contains(&said)
                }
                _ => false,
            }
        });
    }
}

fn allowed(cluster: &Cluster, client: &Client, writes: &[Write]) {
    for write in writes {
        let answer = send(cluster, client, write);
        assert!(answer.is_ok(), "{} {}: {answer:?}", write.0, write.1);
    }
}

fn send(cluster: &Cluster, client: &Client, write: &Write) -> Result<Value, kube::Error> {
    cluster.request_as(client, write.0, write.1, &write.2)
}

fn until(what: &str, mut check: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !check() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
