//! Whoever is gone is forgotten: nothing that is kept for a parent outlives it.
//!
//! In: parents of every sort, which come and go. Out: nothing kept; and memory that stays as it is.

use super::plot::{Plot, parent};
use crate::proxy::Proxy;
use crate::replica::Replica;
use crate::sandbox::Sandbox;
use crate::world::{eventually, world};
use futures::future::join_all;
use serde_json::json;
use std::time::{Duration, Instant};

/// Children that are made, that somebody else has, that are refused, that hold their parent, and an edit; and inputs by
/// name and by labels.
const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: kept-for-nobody}
spec:
  crossNamespace: true
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  inputs:
    - {id: settings, apiVersion: v1, kind: ConfigMap, name: "{{ parent.metadata.name }}-settings", optional: true}
    - {id: parts, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {part-of: "{{ parent.metadata.name }}"}}}
  children:
    - {id: main, template: main.yaml}
    - {id: taken, template: taken.yaml}
    - {id: invalid, template: invalid.yaml}
    - {id: far, template: far.yaml}
    - {id: edit, template: edit.yaml, patch: {target: {apiVersion: v1, kind: ConfigMap, name: shared}}}
  status: {}
"#;

const TEMPLATES: [(&str, &str); 5] = [
    (
        "main.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ parent.metadata.name }}-main\"}\ndata: {parts: \"{{ inputs.parts | length }}\", set: \"{{ inputs.settings is defined }}\"}\n",
    ),
    (
        "taken.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ parent.metadata.name }}-taken\"}\ndata: {a: b}\n",
    ),
    (
        "invalid.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ parent.metadata.name }}-invalid\"}\ndata: {\"not/valid\": b}\n",
    ),
    (
        "far.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ parent.metadata.name }}-far\", namespace: kept-far}\ndata: {a: b}\n",
    ),
    ("edit.yaml", "data: {\"{{ parent.metadata.name }}\": x}\n"),
];

pub(crate) async fn nothing_that_is_kept_for_a_parent_outlives_it() {
    let far = Sandbox::bare("kept-far").await;
    let mut sandbox = Sandbox::at_rest_with("kept-for-nobody", RULE, &TEMPLATES).await;
    let parents: Vec<String> = (0..12).map(parent).collect();
    let config = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"part-of": "app-00"}}});
    sandbox.create("ConfigMap", config("shared")).await;
    join_all(parents.iter().map(|parent| {
        let taken = config(&format!("{parent}-taken"));
        sandbox.create("ConfigMap", taken)
    }))
    .await;
    // A parent that is deleted while our finalizer is on its way to it may go in spite of it: what it left behind is missed.
    sandbox.vanished_after = Duration::from_secs(5);
    sandbox.start();
    sandbox.settled().await;
    let before = sandbox.controller().sizes();
    assert!(before.iter().all(|(what, n)| *what == "objects" || *n == 0), "{before:?}");
    for round in 0..3 {
        join_all(parents.iter().map(|parent| sandbox.webapp_is(parent, json!({"image": "a"}))))
            .await;
        if round == 0 {
            for parent in &parents {
                sandbox.until("ConfigMap", &format!("{parent}-main"), "exists", |_| true).await;
                far.until("ConfigMap", &format!("{parent}-far"), "exists", |_| true).await;
            }
            sandbox.settled().await;
            let kept = sandbox.controller().sizes();
            for what in ["memories", "wanted", "read", "edited"] {
                assert!(kept[what] >= parents.len(), "{what} of {kept:?}");
            }
            assert!(kept["objects"] >= before["objects"] + 2 * parents.len(), "{kept:?}");
        }
        // In later rounds they go while they are being made.
        join_all(parents.iter().map(|parent| sandbox.delete("WebApp", parent))).await;
        for parent in &parents {
            sandbox.until_gone("WebApp", parent).await;
        }
    }
    // Objects of other tests are in the caches too.
    let sizes = || {
        let mut sizes = sandbox.controller().sizes();
        sizes.remove("objects");
        sizes
    };
    eventually("everything is forgotten", || async {
        if sizes().values().all(|number| *number == 0) {
            return Ok(());
        }
        let shared = sandbox.get("ConfigMap", "shared").await;
        let left = far.labelled_by(&sandbox.namespace, "ConfigMap").await;
        Err(format!("{:?}; {shared}; {left:?}", sizes()))
    })
    .await;
    assert_eq!(far.get("ConfigMap", "kube-root-ca.crt").await["metadata"]["namespace"], "kept-far");
    let shared = sandbox.get("ConfigMap", "shared").await;
    assert!(
        shared
            .get("data")
            .is_none_or(|data| data.as_object().is_none_or(serde_json::Map::is_empty))
    );
    sandbox.stop().await;
}

/// How long parents come and go, in seconds: `KUBEWRIGHT_CHURN`. It is not asked for without it.
pub(crate) async fn memory_stays_as_it_is_while_parents_come_and_go() {
    const WAVE: usize = 60;
    let seconds =
        std::env::var("KUBEWRIGHT_CHURN").map_or(90, |text| text.parse().expect("seconds"));
    let name = "faults-churn";
    let plot = Plot::new(world().client(name), name).await;
    let proxy = Proxy::start(world().client("kubewright-faults-churn")).await;
    let rules = plot.write_down();
    let flags = ["--installation", name, "--namespace", name];
    let replica = Replica::start_at(name, &proxy.kubeconfig(), &rules.path().join("rules"), &flags);
    let (begun, mut samples, mut waves) = (Instant::now(), Vec::new(), 0_u32);
    while begun.elapsed() < Duration::from_secs(seconds) {
        waves += 1;
        // Other names in each wave, as in a cluster where things come and go.
        let names: Vec<String> = (0..WAVE).map(|number| format!("w{waves}-{number}")).collect();
        let all = |image: &'static str, files: &'static [&'static str]| {
            let plot = &plot;
            join_all(names.iter().map(move |name| plot.is(name, image, 1, files)))
        };
        all("v1", &["a", "b"]).await;
        all("v2", &["a", "c"]).await;
        eventually("the wave is there", || async {
            match plot.state().await.len() {
                found if found == 6 * WAVE => Ok(()),
                found => Err(format!("{found} objects")),
            }
        })
        .await;
        join_all(names.iter().map(|name| plot.delete("WebApp", name))).await;
        eventually("the wave is gone", || async {
            let state = plot.state().await;
            if state.is_empty() { Ok(()) } else { Err(format!("{:?}", state.keys())) }
        })
        .await;
        samples.push(replica.memory());
    }
    let third = samples.len() / 3;
    assert!(third >= 2, "too short: {samples:?} kB");
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    let (middle, last) = (mean(&samples[third..2 * third]), mean(&samples[2 * third..]));
    eprintln!("{name}: {waves} waves of {WAVE} parents; kB after each: {samples:?}");
    assert!(last <= middle + middle / 10, "it grows: {middle} kB, then {last} kB: {samples:?}");
}
