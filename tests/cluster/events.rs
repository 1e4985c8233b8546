//! What a person is told of a parent by Events, and that nobody is told what is no news.

use crate::sandbox::{Sandbox, condition};
use crate::world::eventually;
use serde_json::{Value, json};

/// A ConfigMap for each file of the parent, and one more from `more.yaml`.
fn rule(name: &str, end: &str) -> String {
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}
  children:
    - forEach: {{path: \"$.spec.files\", item: each}}
      children:
        - {{id: file, template: file.yaml}}
        - {{id: kept, template: kept.yaml, onRemove: orphan}}
    - {{id: more, template: more.yaml}}
{end}"
    )
}

const FILE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-{{ each.key }}\"}
data: {text: {{ each.value }}}
";

const KEPT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-{{ each.key }}-kept\"}
";

const MORE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-more\"}
data: {image: {{ parent.spec.image }}}
";

fn templates(more: &str) -> [(&str, &str); 3] {
    [("file.yaml", FILE), ("kept.yaml", KEPT), ("more.yaml", more)]
}

async fn told(sandbox: &Sandbox, parent: &str) -> Vec<(String, String)> {
    sandbox.settled().await;
    let told = sandbox.told(parent).await;
    told.into_iter().map(|(reason, note, _)| (reason, note)).collect()
}

fn list(told: &[(String, String)]) -> Vec<(&str, &str)> {
    told.iter().map(|(reason, note)| (&**reason, &**note)).collect()
}

pub(crate) async fn what_is_made_and_taken_away_is_told_in_one_event_per_pass() {
    let name = "events-made";
    let rule = rule(name, "  status: {}\n");
    let mut sandbox = Sandbox::with(name, &rule, &templates(MORE)).await;
    sandbox.webapp_is("shop", json!({"image": "a", "files": {"one": "1", "two": "2"}})).await;
    sandbox.until_ready("shop").await;
    let mut expected = vec![(
        "Created",
        "created file[one] (ConfigMap events-made/shop-one), file[two] (ConfigMap events-made/shop-two), \
         kept[one] (ConfigMap events-made/shop-one-kept), kept[two] (ConfigMap events-made/shop-two-kept), \
         more (ConfigMap events-made/shop-more)",
    )];
    assert_eq!(list(&told(&sandbox, "shop").await), expected);
    let (_, event) = sandbox.until_told("shop", "Created").await;
    let uid = sandbox.get("WebApp", "shop").await["metadata"]["uid"].clone();
    let regarding = json!({"apiVersion": "demo.kubewright.io/v1", "kind": "WebApp", "name": "shop",
        "namespace": name, "uid": uid});
    assert_eq!(event["regarding"], regarding);
    assert_eq!((&event["type"], &event["action"]), (&json!("Normal"), &json!("Create")));

    // An edit and a repair are no news; a child that is no longer wanted is.
    sandbox.webapp_is("shop", json!({"image": "b", "files": {"one": "1", "two": "2"}})).await;
    let image = |image: &'static str| move |object: &Value| object["data"]["image"] == image;
    sandbox.until("ConfigMap", "shop-more", "is new", image("b")).await;
    sandbox.edit("ConfigMap", "shop-more", json!({"data": {"image": "theirs"}})).await;
    sandbox.until("ConfigMap", "shop-more", "is repaired", image("b")).await;
    assert_eq!(list(&told(&sandbox, "shop").await), expected);
    sandbox.webapp_is("shop", json!({"image": "b", "files": {"one": "1"}})).await;
    sandbox.until_gone("ConfigMap", "shop-two").await;
    sandbox.until_told("shop", "Pruned").await;
    let (left, _) = sandbox.until_told("shop", "LeftBehind").await;
    expected
        .push(("Pruned", "deleted, since it is no longer wanted: ConfigMap events-made/shop-two"));
    let text = "left behind without our marks, since it is no longer wanted: ConfigMap events-made/shop-two-kept";
    assert_eq!(left, text);
    expected.push(("LeftBehind", text));
    assert_eq!(sorted(&told(&sandbox, "shop").await), sorted_list(&expected));

    // A child that somebody deleted.
    sandbox.delete("ConfigMap", "shop-more").await;
    let (note, _) = sandbox.until_told("shop", "Recreated").await;
    assert_eq!(note, "created anew, since it was gone: more (ConfigMap events-made/shop-more)");
    expected.push(("Recreated", &note));

    // Neither time nor a restart is news.
    sandbox.until_ready("shop").await;
    let before = sandbox.events().len();
    sandbox.stop().await;
    sandbox.start();
    sandbox.settled().await;
    sandbox.webapp_is("shop", json!({"image": "c", "files": {"one": "1"}})).await;
    sandbox.until("ConfigMap", "shop-more", "is new", image("c")).await;
    sandbox.settled().await;
    assert_eq!(sandbox.events().len(), before, "{:#?}", sandbox.events());
    assert_eq!(sorted(&told(&sandbox, "shop").await), sorted_list(&expected));
    sandbox.stop().await;
}

/// Events of one pass have the same time.
fn sorted(told: &[(String, String)]) -> Vec<(&str, &str)> {
    sorted_list(&list(told))
}

fn sorted_list<'a>(told: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut told = told.to_vec();
    told.sort_unstable();
    told
}

pub(crate) async fn a_refusal_is_told_once_and_counted_up_by_whoever_comes_after() {
    let name = "events-refused";
    let bad = "\
apiVersion: v1
kind: Service
metadata: {name: \"{{ parent.metadata.name }}-bad\"}
spec: {ports: [{port: 70000}], selector: {a: b}}
";
    let mut sandbox = Sandbox::with(name, &rule(name, "  status: {}\n"), &templates(bad)).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    let (note, event) = sandbox.until_told("shop", "ChildFailed").await;
    assert!(note.starts_with("more: ") && note.contains("spec.ports[0].port"), "{note}");
    assert_eq!((&event["type"], &event["action"]), (&json!("Warning"), &json!("Apply")));
    sandbox.settled().await;
    let before = sandbox.events().len();
    // Passes find it again, and so does whoever tries it again: nobody is told.
    for round in 0..5 {
        let files = json!({"image": "a", "files": {"one": round.to_string()}});
        sandbox.webapp_is("shop", files).await;
        let is_new = move |object: &Value| object["data"]["text"] == round.to_string();
        sandbox.until("ConfigMap", "shop-one", "is new", is_new).await;
    }
    sandbox.settled().await;
    let since: Vec<_> = sandbox.events().split_off(before);
    assert_eq!(since.len(), 1, "of the file alone: {since:#?}");
    let refused = |told: &[(String, String, Value)]| -> Vec<Value> {
        let refused = told.iter().filter(|(reason, ..)| reason == "ChildFailed");
        refused.map(|(_, _, event)| event.clone()).collect()
    };
    // Whoever starts anew finds it for the first time: the same Event, counted up.
    sandbox.stop().await;
    sandbox.start();
    let counted = eventually("it is counted", || async {
        let events = refused(&sandbox.told("shop").await);
        let counted = events.iter().any(|event| event["series"]["count"] == 2);
        if counted { Ok(events) } else { Err(format!("{events:#?}")) }
    })
    .await;
    assert_eq!(counted.len(), 1, "{counted:#?}");
    assert_eq!(counted[0]["metadata"]["uid"], event["metadata"]["uid"]);
    assert_eq!(counted[0]["eventTime"], event["eventTime"]);
    sandbox.stop().await;
}

pub(crate) async fn a_contested_field_is_told_once_with_both_values_and_its_manager() {
    let name = "events-contested";
    let mut sandbox = Sandbox::with(name, &rule(name, "  status: {}\n"), &templates(MORE)).await;
    sandbox.webapp_is("shop", json!({"image": "ours"})).await;
    sandbox.until_ready("shop").await;
    let rival = async {
        loop {
            let more = sandbox.get("ConfigMap", "shop-more").await;
            if more["data"]["image"] == "ours" {
                sandbox.edit("ConfigMap", "shop-more", json!({"data": {"image": "theirs"}})).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let (note, event) = tokio::select! {
        told = sandbox.until_told("shop", "Conflict") => told,
        () = rival => unreachable!("it never ends"),
    };
    assert_eq!(
        note,
        "more (ConfigMap events-contested/shop-more) is changed again and again: \
         data.image is \"theirs\" by by-hand (Update), not \"ours\""
    );
    assert_eq!(event["type"], "Warning");
    // It is repaired, and for a while it still counts as contested: no news.
    sandbox.until_ready("shop").await;
    let told = told(&sandbox, "shop").await;
    let conflicts = told.iter().filter(|(reason, _)| reason == "Conflict").count();
    assert_eq!((conflicts, told.len()), (1, 2), "{told:#?}");
    sandbox.stop().await;
}

pub(crate) async fn a_rule_without_status_tells_its_conditions() {
    let name = "events-conditions";
    let bad = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-more\"}
data: {image: \"{{ parent.spec.image }}\", host: \"{{ parent.spec.host }}\"}
";
    let mut sandbox = Sandbox::with(name, &rule(name, ""), &templates(bad)).await;
    sandbox.webapp_is("shop", json!({"image": "a", "host": "h"})).await;
    let (note, event) = sandbox.until_told("shop", "Ready").await;
    assert_eq!(
        (&*note, &event["type"]),
        ("rule events-conditions: every child exists and is ready", &json!("Normal"))
    );
    sandbox.settled().await;
    let before = sandbox.events().len();
    sandbox.stop().await;
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.events().len(), before, "all is in order: {:#?}", sandbox.events());

    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    let (note, event) = sandbox.until_told("shop", "Stalled").await;
    assert!(
        note.starts_with("rule events-conditions: RenderFailed: ")
            && note.contains("parent.spec.host"),
        "{note}"
    );
    assert_eq!(event["type"], "Warning");
    let shop = sandbox.get("WebApp", "shop").await;
    assert_eq!(condition(&shop, "Ready"), ("", ""), "no status without a rule for it");
    let told = told(&sandbox, "shop").await;
    let reasons: Vec<&str> = told.iter().map(|(reason, _)| &**reason).collect();
    let mut sorted = reasons.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["Created", "Ready", "RenderFailed", "Stalled"], "{told:#?}");
    sandbox.stop().await;
}

pub(crate) async fn a_mistake_and_a_lost_child_are_told() {
    let rule = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: events-lost}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - {id: credentials, template: secret.yaml, generate: {password: {length: 24}}}
    - {id: strict, template: strict.yaml}
  status: {}
";
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: \"{{ parent.metadata.name }}-credentials\"}
stringData: {password: {{ generated.password }}}
";
    let strict = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-strict\"}
data:
  host: {{ parent.spec.host }}
";
    let templates = [("secret.yaml", secret), ("strict.yaml", strict)];
    let mut sandbox = Sandbox::with("events-lost", rule, &templates).await;
    sandbox.webapp_is("shop", json!({"image": "a"})).await;
    let (note, _) = sandbox.until_told("shop", "RenderFailed").await;
    assert!(note.contains("strict.yaml:5:") && note.contains("parent.spec.host"), "{note}");
    sandbox.webapp_is("shop", json!({"image": "a", "host": "h"})).await;
    sandbox.until_ready("shop").await;
    let secret = sandbox.get("Secret", "shop-credentials").await;
    sandbox.delete("Secret", "shop-credentials").await;
    let (note, _) = sandbox.until_told("shop", "Lost").await;
    assert!(note.contains("is gone, and with it the values that were generated"), "{note}");
    let told = format!("{:?}", sandbox.told("shop").await);
    let password = secret["data"]["password"].as_str().unwrap();
    assert!(!told.contains(password), "{told}");
    sandbox.stop().await;
}

pub(crate) async fn events_about_what_lives_in_no_namespace_are_in_the_default_one() {
    let rule = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: events-global}
spec:
  parent: {apiVersion: tests.kubewright.io/v1, kind: GlobalTold}
  crossNamespace: true
  children:
    - {id: child, template: child.yaml}
";
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: told, namespace: events-global}
";
    let mut sandbox =
        Sandbox::at_rest_with("events-global", rule, &[("child.yaml", template)]).await;
    sandbox.kind_is("GlobalTold", Value::Null).await;
    sandbox.start();
    sandbox.is("GlobalTold", "the-told.one", json!({})).await;
    let created = eventually("it is told", || async {
        let told = sandbox.told_in("default", "the-told.one").await;
        let created = told.iter().find(|(reason, ..)| reason == "Created");
        created.map(|(_, _, event)| event.clone()).ok_or(format!("{told:#?}"))
    })
    .await;
    assert_eq!(created["regarding"].get("namespace"), None);
    assert_eq!(created["note"], "created child (ConfigMap events-global/told)");
    sandbox.stop().await;
}

/// Who runs us may not want Events.
pub(crate) async fn without_the_right_to_tell_everything_else_goes_on() {
    let name = "events-forbidden";
    let rights = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
        {"apiGroups": ["demo.kubewright.io"], "resources": ["webapps", "webapps/status"], "verbs": ["*"]},
    ]);
    let rule = rule(name, "  status: {}\n");
    let mut sandbox = Sandbox::limited(name, &rule, &templates(MORE), rights).await;
    for parent in ["one", "two", "three"] {
        sandbox.webapp_is(parent, json!({"image": "a"})).await;
        sandbox.until_ready(parent).await;
    }
    let codes: Vec<u64> = sandbox.events().iter().map(|request| request.code).collect();
    assert_eq!(codes, [403], "asked once, then silence");
    assert!(sandbox.told("one").await.is_empty());
    sandbox.stop().await;
}
