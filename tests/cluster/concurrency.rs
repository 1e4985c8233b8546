//! Two at once, too fast, there and back, and answers that never arrive: nothing is made twice, lost, or written for ever.

use crate::proxy::{Fault, Proxy};
use crate::sandbox::Sandbox;
use crate::world::{PATIENCE, Request, world};
use futures::future::join_all;
use kubewright::controller::Controller;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two ConfigMaps and a Service per parent, one of them with an element whose key follows the parent.
fn rule(name: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}
  children:
    - {{id: one, template: one.yaml}}
    - {{id: two, template: two.yaml}}
    - {{id: service, template: service.yaml}}
  status: {{}}
"
    )
}

const ONE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-one\"}
data: {image: {{ parent.spec.image }}, \"of-{{ parent.spec.image }}\": x}
";

const TWO: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-two\"}
data: {fixed: x}
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: \"{{ parent.metadata.name }}-service\"}
spec: {selector: {a: b}, ports: [{name: http, port: {{ 80 + parent.spec.replicas }}}]}
";

const TEMPLATES: [(&str, &str); 3] =
    [("one.yaml", ONE), ("two.yaml", TWO), ("service.yaml", SERVICE)];

const CHILDREN: [(&str, &str); 3] =
    [("ConfigMap", "one"), ("ConfigMap", "two"), ("Service", "service")];

fn spec(image: &str, replicas: u16) -> Value {
    json!({"image": image, "replicas": replicas})
}

/// The uids of a parent's children.
async fn uids(sandbox: &Sandbox, parent: &str) -> Vec<Value> {
    let uid = async |(kind, child): (&str, &str)| {
        let object = sandbox.get(kind, &format!("{parent}-{child}")).await;
        object["metadata"]["uid"].clone()
    };
    join_all(CHILDREN.map(uid)).await
}

/// Waits until the children say exactly what the parent says.
async fn follows(sandbox: &Sandbox, parent: &str, image: &str, replicas: u16) {
    let data = json!({"image": image, format!("of-{image}"): "x"});
    let has = |object: &Value| object["data"] == data;
    sandbox.until("ConfigMap", &format!("{parent}-one"), "follows", has).await;
    let ports = |object: &Value| {
        let ports = object["spec"]["ports"].as_array().cloned().unwrap_or_default();
        ports.len() == 1 && ports[0]["port"] == 80 + replicas
    };
    sandbox.until("Service", &format!("{parent}-service"), "follows", ports).await;
}

async fn settled(controller: &Controller) {
    let settled = tokio::time::timeout(PATIENCE, controller.settled()).await;
    settled.expect("the controller comes to rest");
}

fn to_children(requests: &[Request]) -> Vec<Request> {
    let mut requests = requests.to_vec();
    requests.retain(|request| request.verb != "watch" && request.verb != "list");
    requests.retain(|request| {
        request.uri.contains("/configmaps/") || request.uri.contains("/services/")
    });
    requests
}

/// Two controllers of one installation, which nobody told of each other, as when a lease is lost.
pub(crate) async fn two_controllers_do_not_disturb_each_other() {
    let name = "two-controllers";
    let mut sandbox = Sandbox::with(name, &rule(name), &TEMPLATES).await;
    let second = sandbox.another(world().client("kubewright-the-second"));
    let both = || [sandbox.requests(), world().requests("kubewright-the-second")].concat();
    let parents: Vec<String> = (0..5).map(|number| format!("app-{number}")).collect();
    let calm = async || {
        // Whatever one of them writes reaches the other as an event, and must not be answered.
        for _ in 0..3 {
            settled(sandbox.controller()).await;
            settled(&second.controller).await;
        }
    };
    for parent in &parents {
        sandbox.webapp_is(parent, spec("a", 1)).await;
    }
    join_all(parents.iter().map(|parent| sandbox.until_ready(parent))).await;
    calm().await;
    let created: Vec<Request> =
        to_children(&both()).into_iter().filter(|request| request.code == 201).collect();
    let paths: BTreeSet<_> = created.iter().map(|request| request.uri.split('?').next()).collect();
    assert_eq!((created.len(), paths.len()), (15, 15), "each child is created once: {created:#?}");

    let before = join_all(parents.iter().map(|parent| uids(&sandbox, parent))).await;
    for round in 2..5_u16 {
        for parent in &parents {
            sandbox.webapp_is(parent, spec(&format!("v{round}"), round)).await;
            let drift = json!({"data": {"fixed": format!("wrong-{round}")}});
            sandbox.edit("ConfigMap", &format!("{parent}-two"), drift).await;
        }
        for parent in &parents {
            follows(&sandbox, parent, &format!("v{round}"), round).await;
            let fixed = |object: &Value| object["data"]["fixed"] == "x";
            sandbox.until("ConfigMap", &format!("{parent}-two"), "is repaired", fixed).await;
        }
    }
    calm().await;
    let after = join_all(parents.iter().map(|parent| uids(&sandbox, parent))).await;
    assert_eq!(after, before, "no child is made anew");

    // A pass of both over everything: nothing is left to do, and nothing is asked.
    let mark = to_children(&both()).len();
    for parent in &parents {
        let now = json!({"metadata": {"annotations": {"kubewright.io/reconcile": "now"}}});
        sandbox.edit("WebApp", parent, now).await;
    }
    calm().await;
    let asked = to_children(&both()).split_off(mark);
    assert!(asked.is_empty(), "{asked:#?}");
    second.stop().await;
    sandbox.stop().await;
}

/// Only the last of five edits in a row counts, and no child is written more often than its parent was edited.
pub(crate) async fn five_edits_in_a_second_end_with_the_last() {
    let name = "five-edits";
    let mut sandbox = Sandbox::with(name, &rule(name), &TEMPLATES).await;
    sandbox.webapp_is("shop", spec("v0", 0)).await;
    sandbox.until_ready("shop").await;
    let (uids_before, before) = (uids(&sandbox, "shop").await, sandbox.writes().len());
    for edit in 1..=5_u16 {
        sandbox.webapp_is("shop", spec(&format!("v{edit}"), edit)).await;
    }
    follows(&sandbox, "shop", "v5", 5).await;
    sandbox.until_ready("shop").await;
    let writes = to_children(&sandbox.writes().split_off(before));
    assert!((2..=10).contains(&writes.len()), "two children follow: {writes:#?}");
    assert!(writes.iter().all(|write| write.code == 200), "{writes:#?}");
    assert_eq!(uids(&sandbox, "shop").await, uids_before);
    nothing_after_a_restart(&mut sandbox).await;
}

/// There and back: the first version is reached again, also from caches that have not heard of the second.
pub(crate) async fn there_and_back_is_where_it_began() {
    let name = "there-and-back";
    let mut sandbox = Sandbox::with(name, &rule(name), &TEMPLATES).await;
    sandbox.webapp_is("shop", spec("a", 1)).await;
    sandbox.until_ready("shop").await;
    let uids_before = uids(&sandbox, "shop").await;
    for round in 0..6 {
        sandbox.webapp_is("shop", spec("b", 2)).await;
        if round % 2 == 0 {
            follows(&sandbox, "shop", "b", 2).await;
        }
        sandbox.webapp_is("shop", spec("a", 1)).await;
        if round % 3 == 0 {
            follows(&sandbox, "shop", "a", 1).await;
        }
    }
    sandbox.until_ready("shop").await;
    follows(&sandbox, "shop", "a", 1).await;
    assert_eq!(uids(&sandbox, "shop").await, uids_before);
    nothing_after_a_restart(&mut sandbox).await;
}

/// Every other answer to a write is lost on its way, after the server has done what was asked.
pub(crate) async fn answers_that_are_lost_cost_nothing_but_time() {
    let name = "lost-answers";
    let mut sandbox = Sandbox::at_rest_with(name, &rule(name), &TEMPLATES).await;
    let proxy = Proxy::start(world().client("kubewright-lost-answers")).await;
    let seen = AtomicUsize::new(0);
    proxy.does(move |asked| {
        let path = &asked.path;
        let to_child = path.contains("/configmaps/") || path.contains("/services/");
        let concerned = to_child && matches!(&*asked.method, "PATCH" | "DELETE");
        let every_other = concerned && seen.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        every_other.then_some(Fault::AnswerLost)
    });
    sandbox.start_with(proxy.client());
    sandbox.webapp_is("shop", spec("a", 1)).await;
    sandbox.until_ready("shop").await;
    let uids_before = uids(&sandbox, "shop").await;
    let created = to_children(&sandbox.requests());
    let created = created.iter().filter(|request| request.code == 201).count();
    assert_eq!(created, 3, "{:#?}", sandbox.requests());
    for round in 2..6_u16 {
        sandbox.webapp_is("shop", spec(&format!("v{round}"), round)).await;
        follows(&sandbox, "shop", &format!("v{round}"), round).await;
        let drift = json!({"data": {"fixed": format!("wrong-{round}")}});
        sandbox.edit("ConfigMap", "shop-two", drift).await;
        let fixed = |object: &Value| object["data"]["fixed"] == "x";
        sandbox.until("ConfigMap", "shop-two", "is repaired", fixed).await;
        sandbox.until_ready("shop").await;
    }
    assert!(proxy.faults() >= 6, "only {} answers were lost", proxy.faults());
    assert_eq!(uids(&sandbox, "shop").await, uids_before, "no child is made anew");
    let writes = to_children(&sandbox.writes());
    assert!(writes.len() <= 40, "nothing is written for ever: {writes:#?}");
    // A child that is no longer wanted goes, though the answer may be lost.
    sandbox.edit_rule("    - {id: two, template: two.yaml}\n", "");
    sandbox.until_gone("ConfigMap", "shop-two").await;
    sandbox.settled().await;
    nothing_after_a_restart(&mut sandbox).await;
}

/// A controller that is cut off in the middle of its first writes, at many different moments.
pub(crate) async fn a_controller_that_is_cut_off_leaves_nothing_half_done() {
    let name = "cut-off";
    let mut sandbox = Sandbox::with(name, &rule(name), &TEMPLATES).await;
    let parents: Vec<String> = (0..8).map(|number| format!("app-{number}")).collect();
    let mut first = Vec::new();
    for (number, parent) in parents.iter().enumerate() {
        sandbox.webapp_is(parent, spec("a", 1)).await;
        // As soon as so many children of this parent are there.
        for (kind, child) in &CHILDREN[..number % 3] {
            let name = format!("{parent}-{child}");
            let object = sandbox.until(kind, &name, "is there", |_| true).await;
            first.push((*kind, name, object["metadata"]["uid"].clone()));
        }
        sandbox.cut_off();
        sandbox.start();
    }
    join_all(parents.iter().map(|parent| sandbox.until_ready(parent))).await;
    for (kind, name, uid) in first {
        assert_eq!(sandbox.get(kind, &name).await["metadata"]["uid"], uid, "{name}");
    }
    // A request that was cut off may be logged with another code, or done without us.
    let requests = to_children(&sandbox.requests());
    let created = requests.iter().filter(|request| request.code == 201).count();
    assert!(created <= 24, "{requests:#?}");
    nothing_after_a_restart(&mut sandbox).await;
}

async fn nothing_after_a_restart(sandbox: &mut Sandbox) {
    sandbox.stop().await;
    let before = to_children(&sandbox.requests()).len();
    sandbox.start();
    sandbox.settled().await;
    let asked = to_children(&sandbox.requests()).split_off(before);
    assert!(asked.is_empty(), "{asked:#?}");
    sandbox.stop().await;
}
