//! One object of every kind that a rule is likely to create: each is created with one call, and that is all there is to it.

use crate::sandbox::Sandbox;
use crate::world::{Request, eventually};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CHILDREN: &str = include_str!("builtin_kinds.yaml");

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: builtin-kinds}
spec:
  parent: {apiVersion: tests.kubewright.io/v1, kind: GlobalEverything}
  children:
    - {id: all, template: all.yaml, onRemove: delete}
    - {id: round, template: round.yaml}
";

const ROUND: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: round, namespace: builtin-kinds}
data: {round: {{ get(parent, \"metadata.labels.round\", \"none\") }}}
";

pub(crate) async fn are_created_with_one_call_and_left_alone() {
    let templates = [("all.yaml", CHILDREN), ("round.yaml", ROUND)];
    let mut sandbox = Sandbox::with("builtin-kinds", RULE, &templates).await;
    sandbox.kind_is("GlobalEverything", Value::Null).await;
    sandbox.is("GlobalEverything", "one", json!({})).await;
    let expected = CHILDREN.split("\n---\n").count();
    eventually("every child is created", || async {
        let created = created(&sandbox.requests());
        if created.len() == expected { Ok(()) } else { Err(format!("{created:#?}")) }
    })
    .await;
    passes(&sandbox, 0).await;
    let writes = of_children(&sandbox);
    let refused: Vec<_> = writes.iter().filter(|write| write.code != 201).collect();
    // The object of the definition waits for the definition without a request.
    assert!(refused.is_empty(), "{refused:#?}");
    assert_eq!(writes.len(), expected, "{writes:#?}");

    sandbox.stop().await;
    sandbox.start();
    sandbox.settled().await;
    passes(&sandbox, 1).await;
    assert_eq!(of_children(&sandbox).len(), expected, "{:#?}", &of_children(&sandbox)[expected..]);
    sandbox.stop().await;
    crate::plan::nothing_would_change(&sandbox).await;
    let (from, to) = ("\nmetadata: {name: ", "\nmetadata: {annotations: {edited: \"yes\"}, name: ");
    let edited = sandbox.with_template("all.yaml", from, to);
    crate::plan::every_child_would_change(&sandbox, &edited, "/metadata/annotations/edited").await;
    sandbox.delete("GlobalEverything", "one").await;
}

/// Passes over all children, proven by what they write.
async fn passes(sandbox: &Sandbox, life: usize) {
    for round in 0..3 {
        let round = format!("{life}-{round}");
        let label = json!({"metadata": {"labels": {"round": round}}});
        sandbox.edit("GlobalEverything", "one", label).await;
        let follows = |object: &Value| object["data"]["round"] == *round;
        sandbox.until("ConfigMap", "round", "follows", follows).await;
        sandbox.settled().await;
    }
}

/// Reads and writes of single objects, without the one that follows the rounds.
fn of_children(sandbox: &Sandbox) -> Vec<Request> {
    let mut requests = sandbox.requests();
    requests.retain(|request| {
        !request.uri.contains("/configmaps/round")
            && (request.is_write() || request.verb == "get")
            && !request.uri.starts_with("/openapi")
            && !is_discovery(&request.uri)
    });
    requests
}

/// `/api/v1`, `/apis/apps/v1` and above.
fn is_discovery(uri: &str) -> bool {
    let path = uri.split('?').next().unwrap_or_default();
    let steps = path.split('/').filter(|step| !step.is_empty()).count();
    steps <= if path.starts_with("/apis") { 3 } else { 2 }
}

fn created(requests: &[Request]) -> BTreeMap<String, u64> {
    let created = requests.iter().filter(|request| request.code == 201);
    let path = |request: &Request| request.uri.split('?').next().unwrap_or_default().to_owned();
    created
        .filter(|request| !request.uri.contains("/configmaps/round"))
        .map(|request| (path(request), request.code))
        .collect()
}
