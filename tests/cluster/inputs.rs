//! Inputs and selected parents on a real API server: what is read wakes its readers, and nothing is written without need.

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

const PAGE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: page}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  inputs:
    - {id: settings, apiVersion: v1, kind: ConfigMap, name: "{{ parent.metadata.name }}-settings"}
    - {id: extra, apiVersion: v1, kind: ConfigMap, name: "{{ inputs.settings.data.extra | default('') }}", optional: true}
  children:
    - {id: page, template: page.yaml}
  status: {}
"#;

const PAGE_TEMPLATE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-page"}
data:
  title: {{ inputs.settings.data.title }}
  extra: {{ inputs.extra.data.text if inputs.extra else "none" }}
"#;

#[expect(clippy::needless_pass_by_value, reason = "`json!` is read best where it is used")]
fn config(name: &str, labels: Value, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data})
}

pub(crate) async fn an_input_is_waited_for_and_its_changes_reach_its_readers() {
    let mut sandbox = Sandbox::with("inputs", PAGE, &[("page.yaml", PAGE_TEMPLATE)]).await;
    for name in ["one", "two"] {
        sandbox.webapp_is(name, json!({"image": "a"})).await;
    }
    let waits = sandbox
        .until("WebApp", "one", "waits", |object| condition(object, "Reconciling").0 == "True")
        .await;
    let told = condition(&waits, "Reconciling").1;
    assert!(told.contains("page: it waits for inputs.settings"), "{told}");

    sandbox
        .create(
            "ConfigMap",
            config("one-settings", json!({}), json!({"title": "One", "extra": "more"})),
        )
        .await;
    let page = sandbox.until("ConfigMap", "one-page", "exists", |_| true).await;
    assert_eq!(page["data"], json!({"title": "One", "extra": "none"}));
    sandbox.until_ready("one").await;
    sandbox.create("ConfigMap", config("more", json!({}), json!({"text": "More"}))).await;
    sandbox
        .until("ConfigMap", "one-page", "has more", |page| page["data"]["extra"] == "More")
        .await;
    sandbox.create("ConfigMap", config("two-settings", json!({}), json!({"title": "Two"}))).await;
    sandbox.until_ready("two").await;

    // One change, one write; chatter that nobody reads, none.
    let before = sandbox.writes().len();
    sandbox.edit("ConfigMap", "one-settings", json!({"data": {"title": "Uno"}})).await;
    sandbox.create("ConfigMap", config("nobodys", json!({}), json!({"title": "x"}))).await;
    sandbox
        .until("ConfigMap", "one-page", "is edited", |page| page["data"]["title"] == "Uno")
        .await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    assert_eq!(writes.len(), 1, "{writes:#?}");

    // An input that is gone neither prunes nor changes anything; it is told.
    sandbox.delete("ConfigMap", "one-settings").await;
    sandbox
        .until("WebApp", "one", "waits again", |object| condition(object, "Ready").0 == "False")
        .await;
    sandbox.settled().await;
    assert_eq!(sandbox.get("ConfigMap", "one-page").await["data"]["title"], "Uno");

    sandbox.stop().await;
    let before = sandbox.writes().len();
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.writes().len(), before, "a restart writes nothing");
    sandbox.stop().await;
}

const LINKS: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: links}
spec:
  crossNamespace: true
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  inputs:
    - id: parts
      apiVersion: v1
      kind: ConfigMap
      labelSelector: {matchLabels: {part-of: "{{ parent.metadata.name }}"}}
      namespaceSelector: {matchLabels: {parts: "links"}}
  children:
    - forEach: {of: parts, path: "$", key: "$.metadata.name", item: part}
      children:
        - {id: link, template: link.yaml}
"#;

const LINK: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.metadata.name }}-{{ part.metadata.name }}"}
data: {from: {{ part.metadata.namespace }}, text: {{ part.data.text }}}
"#;

pub(crate) async fn a_list_from_selected_namespaces_is_followed_item_by_item() {
    let mut sandbox = Sandbox::with("links", LINKS, &[("link.yaml", LINK)]).await;
    let elsewhere = Sandbox::bare("links-parts").await;
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    for n in 0..10 {
        let part = config(&format!("p{n}"), json!({"part-of": "app"}), json!({"text": "x"}));
        elsewhere.create("ConfigMap", part).await;
    }
    sandbox.settled().await;
    assert_eq!(sandbox.find("ConfigMap", "app-p0").await, None, "its namespace has no such label");
    elsewhere.label_namespace(json!({"parts": "links"})).await;
    let link = sandbox.until("ConfigMap", "app-p9", "exists", |_| true).await;
    assert_eq!(link["data"], json!({"from": "links-parts", "text": "x"}));
    sandbox.settled().await;

    let before = sandbox.writes().len();
    let front = config("a", json!({"part-of": "app"}), json!({"text": "first"}));
    elsewhere.create("ConfigMap", front).await;
    let others = config("b", json!({"part-of": "somebody"}), json!({"text": "x"}));
    elsewhere.create("ConfigMap", others).await;
    sandbox.until("ConfigMap", "app-a", "exists", |_| true).await;
    elsewhere.delete("ConfigMap", "p5").await;
    sandbox.until_gone("ConfigMap", "app-p5").await;
    sandbox.settled().await;
    let writes = sandbox.writes().split_off(before);
    assert_eq!(writes.len(), 2, "one created, one deleted: {writes:#?}");
    sandbox.stop().await;
}

const SEVERAL: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: several}
spec:
  parent: {kinds: [{apiVersion: demo.kubewright.io/v1, kind: WebApp}, {apiVersion: v1, kind: Secret}], labelSelector: {matchLabels: {copy: "yes"}}}
  children:
    - {id: copy, template: copy.yaml}
"#;

const COPY: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ parent.kind | lower }}-{{ parent.metadata.name }}"}
data: {kind: {{ parent.kind }}}
"#;

pub(crate) async fn parents_of_several_kinds_are_selected_by_their_labels() {
    let mut sandbox = Sandbox::with("several", SEVERAL, &[("copy.yaml", COPY)]).await;
    sandbox.webapp_is("app", json!({"image": "a"})).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "app", "labels": {"copy": "yes"}}, "stringData": {"a": "b"}});
    sandbox.create("Secret", secret).await;
    sandbox.until("ConfigMap", "secret-app", "exists", |_| true).await;
    sandbox.settled().await;
    assert_eq!(sandbox.find("ConfigMap", "webapp-app").await, None, "it has no such label");
    sandbox.edit("WebApp", "app", json!({"metadata": {"labels": {"copy": "yes"}}})).await;
    sandbox.until("ConfigMap", "webapp-app", "exists", |_| true).await;
    sandbox.edit("WebApp", "app", json!({"metadata": {"labels": {"copy": null}}})).await;
    sandbox.until_gone("ConfigMap", "webapp-app").await;
    sandbox.settled().await;
    assert!(sandbox.find("ConfigMap", "secret-app").await.is_some());
    sandbox.stop().await;
}
