//! Who is served when there is more to do than can be done at once.

use crate::sandbox::{Sandbox, TEST_GROUP};
use crate::world::{Request, eventually};
use futures::future::join_all;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Two rules: the kind of one's children can be made to hang.
const RULES: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: hanging}
spec:
  parent: {apiVersion: tests.kubewright.io/v1, kind: Hanger}
  children: [{id: slow, template: slow.yaml}, {id: other, template: config.yaml}]
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: quick}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children: [{id: config, template: config.yaml}]
";

const SLOW: &str = "\
apiVersion: tests.kubewright.io/v1
kind: Hung
metadata: {name: {{ parent.metadata.name }}}
spec: {image: {{ parent.spec.image }}}
";

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data: {image: {{ parent.spec.image }}}
";

/// An admission webhook that takes every connection and never says anything.
struct BlackHole {
    port: u16,
    task: AbortHandle,
}

impl BlackHole {
    async fn dig() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let task = tokio::spawn(async move {
            let mut fallen: Vec<TcpStream> = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                fallen.push(stream);
            }
        });
        Self { port, task: task.abort_handle() }
    }
}

impl Drop for BlackHole {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Every write of a kind of the tests in the sandbox's namespace hangs for twenty seconds, and fails then.
async fn admission_hangs(sandbox: &Sandbox, plural: &str, port: u16) {
    let group = "admissionregistration.k8s.io";
    let name = format!("{}-hangs", sandbox.namespace);
    let rule = json!({"apiGroups": [TEST_GROUP], "apiVersions": ["v1"], "resources": [plural],
        "operations": ["CREATE", "UPDATE"]});
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": "hangs.tests.kubewright.io", "rules": [rule], "timeoutSeconds": 20,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/")},
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": sandbox.namespace}},
        }],
    });
    let gvk = GroupVersionKind::gvk(group, "v1", "ValidatingWebhookConfiguration");
    let api: Api<DynamicObject> =
        Api::all_with(sandbox.client.clone(), &ApiResource::from_gvk(&gvk));
    let parameters = PatchParams::apply("tests");
    api.patch(&name, &parameters, &Patch::Apply(&object)).await.expect("it is accepted");
    // The API server takes a moment to notice it.
    eventually("the webhook hangs", || async {
        let probe = sandbox.is("Hung", "probe", json!({}));
        match tokio::time::timeout(Duration::from_secs(3), probe).await {
            Err(_) => Ok(()),
            Ok(()) => Err("the probe was accepted".to_owned()),
        }
    })
    .await;
}

pub(crate) async fn a_webhook_that_hangs_holds_up_nothing_but_its_kind() {
    let templates = [("slow.yaml", SLOW), ("config.yaml", CONFIG)];
    let mut sandbox = Sandbox::at_rest_with("hanging", RULES, &templates).await;
    for kind in ["Hanger", "Hung"] {
        sandbox.kind_is(kind, json!(null)).await;
    }
    let hole = BlackHole::dig().await;
    sandbox.start();
    sandbox.webapp_is("quick", json!({"image": "a0"})).await;
    sandbox.until("ConfigMap", "quick", "is there", |_| true).await;
    admission_hangs(&sandbox, "hungs", hole.port).await;
    let to_slow = || -> Vec<Request> {
        sandbox.requests().into_iter().filter(|request| request.uri.contains("/hungs/")).collect()
    };
    let before = to_slow().len();
    for number in 0..40 {
        sandbox.is("Hanger", &format!("h-{number}"), json!({"image": "x"})).await;
    }
    // What may hang of one kind hangs now, and others of it wait.
    eventually("the requests hang", || async {
        let (in_flight, limit) = {
            let now = sandbox.controller().snapshot(vec![true]);
            (now.in_flight, now.in_flight_limit)
        };
        if in_flight * 2 > limit { Ok(()) } else { Err(format!("{in_flight} of {limit}")) }
    })
    .await;
    for round in 1..=5 {
        let image = format!("a{round}");
        sandbox.webapp_is("quick", json!({"image": image})).await;
        let is_new = |object: &serde_json::Value| object["data"]["image"] == image.as_str();
        sandbox.until("ConfigMap", "quick", "is updated", is_new).await;
    }
    let answered = to_slow().len() - before;
    assert!(answered < 40, "five edits were served while they hung: {answered}");
    let now = sandbox.controller().snapshot(vec![true]);
    assert!(now.in_flight < now.in_flight_limit, "one is always left: {}", now.in_flight);
    // Nobody waits for what hangs.
    sandbox.cut_off();
}

/// A rule without a status, so that only the child's changes cause passes.
const FLAPS: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: flaps}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children: [{id: part, template: part.yaml}]
";

const PART: &str = "\
apiVersion: tests.kubewright.io/v1
kind: Flapper
metadata: {name: {{ parent.metadata.name }}}
spec: {image: {{ parent.spec.image }}}
";

/// How many passes of a rule ended.
fn passes(sandbox: &Sandbox, rule: &str) -> u64 {
    let controller = sandbox.controller();
    let page = controller.metrics().page(&controller.snapshot(vec![true]));
    let of_rule = format!("kubewright_passes_total{{rule=\"{rule}\",");
    let counts = page
        .lines()
        .filter_map(|line| line.strip_prefix(&of_rule)?.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

pub(crate) async fn a_child_that_flaps_is_looked_at_a_few_times_a_second() {
    let mut sandbox = Sandbox::at_rest_with("flaps", FLAPS, &[("part.yaml", PART)]).await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    sandbox.kind_is("Flapper", any).await;
    sandbox.start();
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    sandbox.until("Flapper", "app", "is there", |_| true).await;
    sandbox.settled().await;
    let before = passes(&sandbox, "flaps");
    let begun = Instant::now();
    let flap = async |part: usize| {
        for beat in 0..50 {
            let status = json!({"status": {format!("part-{part}"): beat}});
            sandbox.edit_status("Flapper", "app", status).await;
        }
    };
    join_all((0..4).map(flap)).await;
    let took = begun.elapsed();
    sandbox.settled().await;
    let passes = passes(&sandbox, "flaps") - before;
    // The first at once, then four a second, and one for the last change.
    let most = 2 + u64::try_from(took.as_millis() / 250).expect("not for ever");
    assert!((1..=most).contains(&passes), "{passes} passes for 200 changes in {took:?}");
    sandbox.stop().await;
}

const MANY: usize = 300;

/// Parents with one child each. Another `note` in the rule changes every child.
const FLEET: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: fleet}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  let: |
    note: first
  children: [{id: config, template: config.yaml}]
  status: {}
";

const NOTED: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data: {image: {{ parent.spec.image }}, note: {{ let.note }}}
";

/// The children that were written, in order.
fn written(requests: &[Request]) -> Vec<String> {
    let to_child = |request: &Request| {
        let (_, name) = request.uri.split_once("/configmaps/")?;
        name.split('?').next().map(str::to_owned)
    };
    requests.iter().filter_map(to_child).collect()
}

pub(crate) async fn an_edit_goes_before_hundreds_that_wait_whenever_it_is_made() {
    let mut sandbox = Sandbox::at_rest_with("fleet", FLEET, &[("config.yaml", NOTED)]).await;
    sandbox.start();
    let names: Vec<String> = (0..MANY).map(|number| format!("app-{number:03}")).collect();
    for some in names.chunks(10) {
        join_all(some.iter().map(|name| sandbox.webapp_is(name, json!({"image": "a"})))).await;
    }
    let is_there = |name| sandbox.until("ConfigMap", name, "is there", |_| true);
    for name in &names {
        is_there(name).await;
    }
    sandbox.settled().await;
    sandbox.stop().await;
    // Every child is another one for the next controller, and one parent was edited while none ran.
    sandbox.edit_rule("note: first", "note: second");
    let asleep = &names[MANY - 1];
    sandbox.webapp_is(asleep, json!({"image": "while-nobody-ran"})).await;
    let before = sandbox.requests().len();
    sandbox.start();
    // And one while it works.
    eventually("it has begun", || async {
        let requests = sandbox.requests().split_off(before);
        if written(&requests).len() >= 5 { Ok(()) } else { Err(format!("{requests:#?}")) }
    })
    .await;
    let awake = &names[MANY - 2];
    sandbox.webapp_is(awake, json!({"image": "meanwhile"})).await;
    let until_edit = written(&sandbox.requests().split_off(before)).len();
    let is_new = |object: &serde_json::Value| object["data"]["image"] == "meanwhile";
    sandbox.until("ConfigMap", awake, "is updated", is_new).await;
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    let order = written(&requests);
    assert!(order.len() >= MANY, "all are written: {}", order.len());
    // As many passes as run at once may be before it.
    let place = order.iter().position(|name| name == asleep).expect("it is written");
    assert!(place < 70, "edited before the start, it is number {place} of {MANY}");
    let last = order.iter().rposition(|name| name == awake).expect("it is written");
    let ahead = last.saturating_sub(until_edit);
    assert!(ahead < 70, "{ahead} were written between the edit and its child");
    sandbox.stop().await;
}
