//! What cannot be mended by asking again is not asked again, whatever else goes on.

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

/// Two children: a ConfigMap that follows the parent's labels, and one more from `bad.yaml`.
fn rule(name: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}
  children:
    - {{id: good, template: good.yaml}}
    - {{id: bad, template: bad.yaml}}
  status: {{}}
"
    )
}

const GOOD: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-good\"}
data: {round: {{ get(parent, \"metadata.labels.round\", \"none\") }}}
";

/// So many that a slow machine's backoff, which doubles, cannot keep up with them.
const PASSES: usize = 12;

/// Makes passes, each proven by what it writes, and gives the requests about one object.
async fn passes(sandbox: &Sandbox, about: &str) -> Vec<u64> {
    sandbox.settled().await;
    let before = sandbox.requests().len();
    for round in 0..PASSES {
        let round = format!("round-{round}");
        sandbox.edit("WebApp", "shop", json!({"metadata": {"labels": {"round": round}}})).await;
        let has = |object: &Value| object["data"]["round"] == *round;
        sandbox.until("ConfigMap", "shop-good", "follows", has).await;
    }
    sandbox.settled().await;
    let requests = sandbox.requests().split_off(before);
    requests
        .iter()
        .filter(|request| request.uri.contains(about))
        .map(|request| request.code)
        .collect()
}

async fn stalled(sandbox: &Sandbox) -> String {
    let shop = sandbox
        .until("WebApp", "shop", "is stalled", |object| condition(object, "Stalled").0 == "True")
        .await;
    condition(&shop, "Stalled").1.to_owned()
}

/// A mistake that the server answers with 422.
pub(crate) async fn an_invalid_child_is_sent_once() {
    let bad = "\
apiVersion: v1
kind: Service
metadata: {name: shop-bad}
spec: {ports: [{port: 70000}], selector: {a: b}}
";
    let templates = [("good.yaml", GOOD), ("bad.yaml", bad)];
    let mut sandbox = Sandbox::with("invalid-child", &rule("invalid"), &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    let message = stalled(&sandbox).await;
    assert!(message.contains("bad: ") && message.contains("spec.ports[0].port"), "{message}");
    assert_eq!(passes(&sandbox, "/services/shop-bad").await, [0; 0]);
    // Somebody who changed something that we do not see can ask for another try.
    let before = sandbox.requests().len();
    let now = json!({"metadata": {"annotations": {"kubewright.io/reconcile": "now"}}});
    sandbox.edit("WebApp", "shop", now).await;
    crate::world::eventually("it is tried again", || async {
        let requests = sandbox.requests().split_off(before);
        let tried = requests.iter().any(|request| request.uri.contains("/services/shop-bad"));
        if tried { Ok(()) } else { Err(format!("{requests:#?}")) }
    })
    .await;
    sandbox.stop().await;
}

/// A mistake that the server answers with 500, as if it were its own.
pub(crate) async fn a_child_with_an_unknown_field_is_sent_once() {
    let bad = "\
apiVersion: v1
kind: Service
metadata: {name: shop-bad}
spec: {nonsense: 1, ports: [{port: 80}]}
";
    let templates = [("good.yaml", GOOD), ("bad.yaml", bad)];
    let mut sandbox = Sandbox::with("unknown-field", &rule("unknown"), &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    let message = stalled(&sandbox).await;
    assert!(message.contains(".spec.nonsense"), "{message}");
    assert_eq!(passes(&sandbox, "/services/shop-bad").await, [0; 0]);
    sandbox.stop().await;
}

/// A rule newly wants a field that somebody else holds.
pub(crate) async fn a_held_field_is_left_to_its_holder() {
    let bad = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-bad}
data: {ours: a{{ \", wanted: ours\" if parent.spec.host }}}
";
    let bad = bad.replace(
        "{ours: a{{ \", wanted: ours\" if parent.spec.host }}}",
        "\n  ours: a\n  wanted: {{ \"ours\" if parent.spec.host }}",
    );
    let templates = [("good.yaml", GOOD), ("bad.yaml", &*bad)];
    let mut sandbox = Sandbox::with("held-field", &rule("held"), &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    sandbox.until_ready("shop").await;
    sandbox.edit("ConfigMap", "shop-bad", json!({"data": {"wanted": "theirs"}})).await;
    sandbox.webapp_is("shop", json!({"image": "a", "host": "h"})).await;
    let message = stalled(&sandbox).await;
    assert!(message.contains(".data.wanted is held by by-hand"), "{message}");
    let codes = passes(&sandbox, "/configmaps/shop-bad").await;
    assert!(codes.len() <= PASSES / 2, "only the backoff tries again, not each pass: {codes:?}");
    assert_eq!(sandbox.get("ConfigMap", "shop-bad").await["data"]["wanted"], "theirs");
    sandbox.edit("ConfigMap", "shop-bad", json!({"data": {"wanted": null}})).await;
    sandbox.until_ready("shop").await;
    assert_eq!(sandbox.get("ConfigMap", "shop-bad").await["data"]["wanted"], "ours");
    sandbox.stop().await;
}

/// Somebody who changes a field of ours as fast as it can: we do not keep up with it.
pub(crate) async fn a_fight_is_slowed_down_and_shown() {
    let mut sandbox = Sandbox::webapp("fight").await;
    sandbox.webapp_is("shop", json!({"image": "a", "files": {"a": "ours"}})).await;
    sandbox.until_ready("shop").await;
    let before = sandbox.writes().len();
    let rival = async {
        loop {
            let file = sandbox.get("ConfigMap", "shop-files").await;
            if file["data"]["a"] == "ours" {
                sandbox.edit("ConfigMap", "shop-files", json!({"data": {"a": "theirs"}})).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let message = tokio::select! {
        message = stalled(&sandbox) => message,
        () = rival => String::new(),
    };
    assert!(
        message.contains("config: it is changed again and again: data.a by by-hand"),
        "{message}"
    );
    let writes = sandbox.writes().split_off(before);
    let repairs: Vec<_> =
        writes.iter().filter(|write| write.uri.contains("/configmaps/")).collect();
    assert!(repairs.len() <= 4, "{repairs:#?}");
    // Once nobody fights any more the field is repaired, and after a while all is well.
    let is_ours = |object: &Value| object["data"]["a"] == "ours";
    sandbox.until("ConfigMap", "shop-files", "is repaired", is_ours).await;
    sandbox.until_ready("shop").await;
    sandbox.stop().await;
}

/// A paused parent is left alone, whatever happens; afterwards everything is caught up with.
pub(crate) async fn a_paused_parent_is_left_alone() {
    let mut sandbox = Sandbox::webapp("paused").await;
    sandbox.webapp_is("shop", json!({"image": "a", "files": {"a": "ours"}})).await;
    sandbox.webapp_is("other", json!({"image": "a", "files": {"a": "ours"}})).await;
    sandbox.until_ready("shop").await;
    sandbox.until_ready("other").await;
    let paused =
        |value: Value| json!({"metadata": {"annotations": {"kubewright.io/paused": value}}});
    sandbox.edit("WebApp", "shop", paused(json!("true"))).await;
    let before = sandbox.writes().len();
    for name in ["shop-files", "other-files"] {
        sandbox.edit("ConfigMap", name, json!({"data": {"a": "theirs"}})).await;
    }
    let is_ours = |object: &Value| object["data"]["a"] == "ours";
    sandbox.until("ConfigMap", "other-files", "is repaired", is_ours).await;
    sandbox.settled().await;
    assert_eq!(sandbox.get("ConfigMap", "shop-files").await["data"]["a"], "theirs");
    let writes = sandbox.writes().split_off(before);
    assert!(writes.iter().all(|write| !write.uri.contains("/shop")), "{writes:#?}");
    sandbox.edit("WebApp", "shop", paused(json!(null))).await;
    sandbox.until("ConfigMap", "shop-files", "is repaired", is_ours).await;
    sandbox.stop().await;
}

/// A port of a Service that was edited by hand is another port to server-side apply, which adds ours and is refused: the
/// list is mended, then applied.
pub(crate) async fn an_edited_service_port_is_repaired() {
    let rule = rule("edited-port");
    let bad = "\
apiVersion: v1
kind: Service
metadata: {name: shop-bad}
spec: {ports: [{name: http, port: 80}], selector: {a: b}}
";
    let templates = [("good.yaml", GOOD), ("bad.yaml", bad)];
    let mut sandbox = Sandbox::with("edited-port", &rule, &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    sandbox.until_ready("shop").await;
    let before = sandbox.requests().len();
    let port = |number: u16| json!([{"name": "http", "port": number, "protocol": "TCP", "targetPort": 80}]);
    sandbox.edit("Service", "shop-bad", json!({"spec": {"ports": port(81)}})).await;
    let is_repaired = |object: &Value| object["spec"]["ports"] == port(80);
    sandbox.until("Service", "shop-bad", "is repaired", is_repaired).await;
    sandbox.until_ready("shop").await;
    let requests = sandbox.requests().split_off(before);
    let codes: Vec<u64> = requests
        .iter()
        .filter(|request| request.uri.contains("/services/shop-bad"))
        .map(|request| request.code)
        .collect();
    assert_eq!(codes, [422, 200, 200], "a refused apply, a patch of the list, an apply");

    sandbox.stop().await;
}

/// Admission changes a value of ours with every write: what the server answered is what counts.
pub(crate) async fn a_value_that_admission_changes_is_no_drift() {
    let mut sandbox = Sandbox::with("admission", &rule("admission"), &[
        ("good.yaml", GOOD),
        ("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-bad}\ndata: {ours: as-sent, more: x}\n"),
    ]).await;
    sandbox.admission_changes("shop-bad", "ours").await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    sandbox.until_ready("shop").await;
    let child = sandbox.get("ConfigMap", "shop-bad").await;
    assert_eq!(child["data"]["ours"], "as-admission-wants");
    assert_eq!(passes(&sandbox, "/configmaps/shop-bad").await, [0; 0]);
    // Somebody else's write takes the policy along; it changes nothing of ours that was not changed already.
    sandbox.edit("ConfigMap", "shop-bad", json!({"metadata": {"labels": {"theirs": "x"}}})).await;
    assert_eq!(passes(&sandbox, "/configmaps/shop-bad").await, [0; 0]);
    // A repair of another value is one write.
    let before = sandbox.writes().len();
    sandbox.edit("ConfigMap", "shop-bad", json!({"data": {"more": "y"}})).await;
    let is_repaired = |object: &Value| object["data"]["more"] == "x";
    sandbox.until("ConfigMap", "shop-bad", "is repaired", is_repaired).await;
    sandbox.until_ready("shop").await;
    let writes = sandbox.writes().split_off(before);
    let to_child = writes.iter().filter(|write| write.uri.contains("/configmaps/shop-bad")).count();
    assert_eq!(to_child, 1, "{writes:#?}");
    sandbox.stop().await;
}
