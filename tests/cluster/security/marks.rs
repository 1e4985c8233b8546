//! What stands on objects beside a secret value, and what it is good for.

use crate::sandbox::Sandbox;
use base64::prelude::{BASE64_STANDARD, Engine};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kubewright::owned::intent_hash;
use serde_json::{Value, json};

const NAME: &str = "low-entropy";

/// A Secret, another object by leave of the rule, and an edit of each kind.
const RULE: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: low-entropy}
spec:
  reveal: true
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  inputs:
    - {id: creds, apiVersion: v1, kind: Secret, name: creds}
  let: |
    pin: {{ inputs.creds.data.pin | b64decode }}
  children:
    - {id: copy, template: copy.yaml}
    - {id: shown, template: shown.yaml}
    - {id: vault, template: vault.yaml, patch: {target: {apiVersion: v1, kind: Secret, name: vault}}}
    - {id: notes, template: notes.yaml, patch: {target: {apiVersion: v1, kind: ConfigMap, name: notes}}}
  status: {}
";

const TEMPLATES: [(&str, &str); 4] = [
    (
        "copy.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: copy, labels: {a: b}}\nstringData: {pin: {{ let.pin }}, fixed: x}\n",
    ),
    (
        "shown.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shown}\ndata: {url: \"db://{{ let.pin }}@host\", fixed: x}\n",
    ),
    ("vault.yaml", "stringData: {pin: {{ let.pin }}}\n"),
    ("notes.yaml", "data: {pin: {{ let.pin }}}\n"),
];

/// Where the value is, and how it looks for a pin.
const PLACES: [(&str, &str, &str); 4] = [
    ("Secret", "copy", "/data/pin"),
    ("ConfigMap", "shown", "/data/url"),
    ("Secret", "vault", "/data/pin"),
    ("ConfigMap", "notes", "/data/pin"),
];

fn written(kind: &str, name: &str, pin: &str) -> String {
    match (kind, name) {
        ("Secret", _) => BASE64_STANDARD.encode(pin),
        (_, "shown") => format!("db://{pin}@host"),
        _ => pin.to_owned(),
    }
}

async fn pin_is(sandbox: &Sandbox, pin: &str) {
    sandbox.edit("Secret", "creds", json!({"stringData": {"pin": pin}})).await;
}

async fn all_have(sandbox: &Sandbox, pin: &str) {
    for (kind, name, at) in PLACES {
        let expected = json!(written(kind, name, pin));
        sandbox.until(kind, name, "follows", |object| object.pointer(at) == Some(&expected)).await;
    }
    sandbox.settled().await;
}

/// Everything of an object that somebody sees from whom its values are hidden.
async fn open(sandbox: &Sandbox) -> Vec<Value> {
    let mut open = Vec::new();
    for (kind, name, _) in PLACES {
        let mut metadata = sandbox.get(kind, name).await["metadata"].clone();
        metadata["resourceVersion"] = Value::Null;
        let entries = metadata["managedFields"].as_array_mut().expect("entries");
        for entry in entries {
            entry["time"] = Value::Null;
        }
        open.push(metadata);
    }
    open
}

/// Applies a Secret by our manager with another mark, as another version of the program would have left it.
async fn mark_is(sandbox: &Sandbox, mark: impl Fn(&Value) -> String) {
    let live = sandbox.get("Secret", "copy").await;
    let ours = |entry: &&Value| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        manager.starts_with("kubewright:") && entry["operation"] == "Apply"
    };
    let entries = live["metadata"]["managedFields"].as_array().expect("entries");
    let manager = entries.iter().find(ours).expect("our entry")["manager"].clone();
    let mut body =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": live["data"]});
    for field in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
        body["metadata"][field] = live["metadata"][field].clone();
    }
    body["metadata"]["annotations"]["kubewright.io/intent"] = json!(mark(&body));
    let api: Api<DynamicObject> =
        Api::namespaced_with(sandbox.client.clone(), NAME, &Sandbox::resource("Secret").0);
    let parameters = PatchParams::apply(manager.as_str().expect("a name")).force();
    api.patch("copy", &parameters, &Patch::Apply(&body)).await.expect("it is accepted");
}

async fn restart_writes(sandbox: &mut Sandbox) -> Vec<String> {
    sandbox.stop().await;
    let before = sandbox.writes().len();
    sandbox.start();
    sandbox.settled().await;
    let writes = sandbox.writes();
    writes[before..].iter().map(|write| format!("{write:?}")).collect()
}

/// Of two values nothing but the values differs; and what a hash of them was good for is still so.
pub(crate) async fn no_mark_is_made_of_a_secret_value() {
    let mut sandbox = Sandbox::at_rest_with(NAME, RULE, &TEMPLATES).await;
    for (kind, name) in [("Secret", "creds"), ("Secret", "vault"), ("ConfigMap", "notes")] {
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
        sandbox.create(kind, object).await;
    }
    pin_is(&sandbox, "1111").await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    sandbox.start();
    all_have(&sandbox, "1111").await;
    sandbox.until_ready("shop").await;
    let first = open(&sandbox).await;
    pin_is(&sandbox, "2222").await;
    all_have(&sandbox, "2222").await;
    assert_eq!(open(&sandbox).await, first, "a mark, a label or a manager tells the values apart");
    let nothing: [String; 0] = [];
    assert_eq!(restart_writes(&mut sandbox).await, nothing);

    // A value that changed while nobody ran, with one that somebody edited meanwhile.
    sandbox.stop().await;
    pin_is(&sandbox, "3333").await;
    sandbox.start();
    all_have(&sandbox, "3333").await;
    sandbox.stop().await;
    for (kind, name, at) in PLACES {
        let key = at.rsplit('/').next().expect("a key");
        let theirs = written(kind, name, "9999");
        sandbox.edit(kind, name, json!({"data": {key: theirs}})).await;
    }
    sandbox.start();
    all_have(&sandbox, "3333").await;
    for (kind, name, at) in PLACES {
        let key = at.rsplit('/').next().expect("a key");
        sandbox.edit(kind, name, json!({"data": {key: written(kind, name, "8888")}})).await;
    }
    all_have(&sandbox, "3333").await;
    sandbox.stop().await;
    for (kind, name, at) in PLACES {
        let key = at.rsplit('/').next().expect("a key");
        sandbox.edit(kind, name, json!({"data": {key: written(kind, name, "9999")}})).await;
    }
    pin_is(&sandbox, "4444").await;
    sandbox.start();
    all_have(&sandbox, "4444").await;

    // What former versions left, and what later ones may leave, is no reason to write; the next change takes it away.
    for mark in
        [(|body: &Value| format!("1.{:016x}", intent_hash(body))) as fn(&Value) -> String, |_| {
            "9.a-later-version".to_owned()
        }]
    {
        sandbox.stop().await;
        mark_is(&sandbox, mark).await;
        assert_eq!(restart_writes(&mut sandbox).await, nothing);
    }
    pin_is(&sandbox, "5555").await;
    all_have(&sandbox, "5555").await;
    let copy = sandbox.get("Secret", "copy").await;
    let mark = &copy["metadata"]["annotations"]["kubewright.io/intent"];
    assert!(mark.as_str().is_some_and(|mark| mark.starts_with("2.")), "{mark}");
    // Somebody takes the mark for themselves while nobody runs: it is ours alone.
    sandbox.stop().await;
    let forged =
        json!({"metadata": {"annotations": {"kubewright.io/intent": "1.0000000000000000"}}});
    sandbox.edit("Secret", "copy", forged).await;
    sandbox.start();
    sandbox
        .until("Secret", "copy", "has its mark", |o| {
            o["metadata"]["annotations"]["kubewright.io/intent"] == *mark
        })
        .await;
    sandbox.stop().await;
}
