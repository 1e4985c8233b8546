//! The security model, sentence by sentence (docs/SECURITY-TESTS.md): what writers of parents, and whoever else may write
//! objects in a namespace, cannot do.

mod forgery;
mod marks;

pub(crate) use forgery::forged_marks_delete_nothing_and_are_read_as_nothing;
pub(crate) use marks::no_mark_is_made_of_a_secret_value;

use crate::sandbox::{Sandbox, condition};
use serde_json::{Value, json};

fn conditions() -> Value {
    let one = json!({"type": "object", "required": ["type"], "properties": {
        "type": {"type": "string"}, "status": {"type": "string"}, "message": {"type": "string"}}});
    let list = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"], "items": one});
    json!({"type": "object", "properties": {"conditions": list}})
}

fn stalled(object: &Value) -> bool {
    condition(object, "Stalled").0 == "True"
}

fn ready(object: &Value) -> bool {
    condition(object, "Ready").0 == "True"
}

fn rule(name: &str, kind: &str, more: &str) -> String {
    format!(
        "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: {name}}}\nspec:\n  \
         parent: {{apiVersion: tests.kubewright.io/v1, kind: {kind}}}\n{more}  status: {{}}\n"
    )
}

const TEXTS: &[&str] = &[
    "x\ninjected: true",
    "x\"\n  injected: true\n# ",
    "'\n- injected",
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: injected}\n---",
    "...\n",
    "&a x",
    "*a",
    "!!python/object/apply:os.system [id]",
    "!<tag:yaml.org,2002:int> 1",
    "<<: {injected: true}",
    "{{ 7*7 }}{% set x = 1 %}{# y #}",
    "{{ inputs }} {{ parent.metadata.uid }}",
    "| injected\n  block",
    "no",
    "0755",
    "1e3",
    "~",
    "",
    " lead and trail ",
    "tab\tcr\r\nbell\u{7}",
    "\u{85}\u{2028}\u{feff}\u{202e}drow",
    "a\u{85}--- b\u{2028}... c\u{2029}d",
    "\u{7f}\u{80}\u{9f}\u{fffd}\u{fffe}",
    "👩‍👩‍👧 é\u{301}",
    "\u{10fe00}\u{10fe10}\u{10fe01}",
    "../../secrets/x?force=true#y",
];

const STYLES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ parent.metadata.name }}
  annotations: {plain: {{ parent.spec.text }}, quoted: \"<{{ parent.spec.text }}>\"}
data:
  plain: {{ parent.spec.text }}
  double: \"<{{ parent.spec.text }}>\"
  single: '<{{ parent.spec.text }}>'
  block: |
    <{{ parent.spec.text }}>
  json: {{ parent.spec | to_json }}
";

const WHOLE: &str = "\
apiVersion: tests.kubewright.io/v1
kind: HostileCopy
metadata: {name: {{ parent.metadata.name }}}
spec: {{ parent.spec }}
";

/// Texts, keys and sizes that would be something else in YAML or in a template, through every style of a scalar, to the API
/// server and back.
pub(crate) async fn what_a_parent_contains_never_becomes_structure() {
    let rule = rule(
        "hostile",
        "Hostile",
        "  children:\n    - {id: styles, template: styles.yaml}\n    - {id: whole, template: whole.yaml}\n",
    );
    let templates = [("styles.yaml", STYLES), ("whole.yaml", WHOLE)];
    let mut sandbox = Sandbox::at_rest_with("hostile", &rule, &templates).await;
    sandbox.kind_is("Hostile", conditions()).await;
    sandbox.kind_is("HostileCopy", Value::Null).await;
    let mut texts: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    texts.push("é\n: - &a\n".repeat(5_000));
    let deep =
        |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([{"---\n{{ x }}": inner}]));
    let spec = |text: &str| json!({"text": text, "deep": deep(20), "{{ parent.spec }}": 1, "a: b\nc": {"<<": "x", "*a": [null, {}]}});
    sandbox.is("Hostile", "deep", json!({"text": "x", "deep": deep(50)})).await;
    for (number, text) in texts.iter().enumerate() {
        // Not by an apply of ours: the API server reads some characters of those as ends of lines.
        let parent = json!({"apiVersion": "tests.kubewright.io/v1", "kind": "Hostile",
            "metadata": {"name": format!("p-{number}")}, "spec": spec(text)});
        sandbox.create("Hostile", parent).await;
    }
    sandbox.start();
    for (number, text) in texts.iter().enumerate() {
        let name = format!("p-{number}");
        sandbox.until("Hostile", &name, "is ready", ready).await;
        let made = sandbox.get("ConfigMap", &name).await;
        let marked = format!("<{text}>");
        let data = &made["data"];
        assert_eq!(data["plain"], **text, "{made}");
        assert_eq!((&data["double"], &data["single"]), (&json!(marked), &json!(marked)), "{made}");
        assert_eq!(data["block"], format!("{marked}\n"), "{made}");
        let parent = sandbox.get("Hostile", &name).await["spec"].clone();
        let read: Value =
            serde_json::from_str(data["json"].as_str().expect("a text")).expect("JSON");
        assert_eq!(read, parent);
        assert_eq!(data.as_object().map(serde_json::Map::len), Some(5), "{made}");
        let annotations = &made["metadata"]["annotations"];
        assert_eq!((&annotations["plain"], &annotations["quoted"]), (&json!(text), &json!(marked)));
        let copy = sandbox.get("HostileCopy", &name).await;
        assert_eq!(copy["spec"], parent);
    }
    let deep = sandbox.until("Hostile", "deep", "is stalled", stalled).await;
    assert!(condition(&deep, "Stalled").1.contains("nests deeper than 64"), "{deep}");
    for (kind, expected) in
        [("ConfigMap", texts.len()), ("HostileCopy", texts.len()), ("Secret", 0)]
    {
        assert_eq!(sandbox.labelled(kind).await.len(), expected, "{kind}");
    }
    sandbox.stop().await;
}

const ROAMING: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}, namespace: {{ parent.spec.to }}}
data: {a: b}
";

/// Every namespace has a `ConfigMap` of this name.
const EVERYWHERE: &str = "kube-root-ca.crt";

/// Neither a child nor an edit leaves the parent's namespace because a parent says so; with `crossNamespace` what is no name
/// of a namespace goes nowhere either.
pub(crate) async fn a_parent_chooses_no_namespace() {
    let names =
        ["roam-b", "kube-system", "default", "..", "../kube-system", "a/b", "x?y=z", "A", " "];
    for (name, kind, cross) in
        [("roam-a", "Roamer", ""), ("roam-c", "Wanderer", "  crossNamespace: true\n")]
    {
        let edit = format!(
            "    - id: edit\n      patch: {{target: {{apiVersion: v1, kind: ConfigMap, name: {EVERYWHERE}, \
             namespace: \"{{{{ parent.spec.to }}}}\"}}}}\n      template: edit.yaml\n"
        );
        let rule = rule(
            name,
            kind,
            &format!("{cross}  children:\n    - {{id: roams, template: roams.yaml}}\n{edit}"),
        );
        let templates = [("roams.yaml", ROAMING), ("edit.yaml", "data: {edited: yes-it-is}\n")];
        let mut sandbox = Sandbox::at_rest_with(name, &rule, &templates).await;
        sandbox.kind_is(kind, conditions()).await;
        if cross.is_empty() {
            sandbox.namespace("roam-b").await;
        }
        let legal =
            |to: &str| !cross.is_empty() && ["roam-b", "kube-system", "default"].contains(&to);
        let wrong: Vec<&str> = names.into_iter().filter(|to| !legal(to)).collect();
        for (number, to) in wrong.iter().enumerate() {
            sandbox.is(kind, &format!("p-{number}"), json!({"to": to})).await;
        }
        // What is no text is no place to go: these stay at home.
        for (number, to) in
            [json!(5), json!(["roam-b"]), json!({"a": "roam-b"})].into_iter().enumerate()
        {
            sandbox.is(kind, &format!("odd-{number}"), json!({"to": to})).await;
        }
        sandbox.start();
        for number in 0..wrong.len() {
            sandbox.until(kind, &format!("p-{number}"), "is stalled", stalled).await;
        }
        sandbox.settled().await;
        let children = sandbox.labelled("ConfigMap").await;
        let away: Vec<&Value> =
            children.iter().filter(|child| child["metadata"]["namespace"] != name).collect();
        assert!(away.is_empty(), "{away:#?}");
        for write in sandbox.writes() {
            let at_home =
                write.uri.starts_with(&format!("/apis/tests.kubewright.io/v1/namespaces/{name}/"))
                    || write.uri.starts_with(&format!("/api/v1/namespaces/{name}/configmaps/odd-"));
            assert!(at_home, "{write:?}");
        }
        sandbox.stop().await;
    }
}

/// A list over the limit, and objects that are too large together: the parent is told, what else is in the queue is served, and
/// an expression that other engines choke on is judged at once.
pub(crate) async fn a_parent_that_is_too_much_hurts_only_itself() {
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-{{ one }}\"}
data: {blob: {{ parent.spec.blob }}}
";
    let rule = rule(
        "gluttony",
        "Glutton",
        "  children:\n    - forEach: {path: \"$.spec.items\", item: one}\n      \
         when: [{path: \"$.spec.blob\", matches: \"^(a|b|ab)*[^c]*$\"}]\n      children:\n        \
         - {id: each, template: each.yaml}\n",
    );
    let mut sandbox = Sandbox::at_rest_with("gluttony", &rule, &[("each.yaml", template)]).await;
    sandbox.kind_is("Glutton", conditions()).await;
    let items = |count: usize| (0..count).map(|number| format!("i-{number}")).collect::<Vec<_>>();
    sandbox.is("Glutton", "many", json!({"items": items(1_001), "blob": "a"})).await;
    sandbox
        .is("Glutton", "large", json!({"items": items(40), "blob": "ab".repeat(300 << 10)}))
        .await;
    sandbox.is("Glutton", "fine", json!({"items": items(3), "blob": "ab"})).await;
    sandbox.start();
    sandbox.until("Glutton", "fine", "is ready", ready).await;
    let many = sandbox.until("Glutton", "many", "is stalled", stalled).await;
    assert!(condition(&many, "Stalled").1.contains("1001 items"), "{many}");
    let large = sandbox.until("Glutton", "large", "is stalled", stalled).await;
    assert!(condition(&large, "Stalled").1.contains("5242880 bytes together"), "{large}");
    sandbox.settled().await;
    let made = |of: &str, all: &[Value]| {
        let name = |child: &&Value| child["metadata"]["labels"]["kubewright.io/parent"] == of;
        all.iter().filter(name).count()
    };
    let all = sandbox.labelled("ConfigMap").await;
    assert_eq!((made("fine", &all), made("many", &all), made("large", &all)), (3, 0, 8));
    sandbox.stop().await;
}

const GREEDY: &str = "  crossNamespace: true\n  children:\n    \
    - {id: role, template: role.yaml, adopt: unowned}\n    \
    - {id: system, template: system.yaml, adopt: unowned}\n    \
    - {id: near, template: near.yaml, adopt: unowned}\n";

/// What lives in no namespace, and what is in a namespace of Kubernetes, is never adopted, even by a literal name.
pub(crate) async fn nothing_global_and_nothing_of_kubernetes_is_adopted() {
    let config = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: greedy, namespace: {namespace}}}\ndata: {{a: ours}}\n"
        )
    };
    let (system, near) = (config("kube-public"), config("greed"));
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: greedy}\n\
                rules: [{apiGroups: [\"*\"], resources: [\"*\"], verbs: [\"*\"]}]\n";
    let templates = [("role.yaml", role), ("system.yaml", &*system), ("near.yaml", &*near)];
    let mut sandbox =
        Sandbox::at_rest_with("greed", &rule("greed", "Greedy", GREEDY), &templates).await;
    sandbox.kind_is("Greedy", conditions()).await;
    let public = sandbox.looking_into("kube-public");
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greedy"}, "data": {"a": "theirs"}});
    sandbox.create("ConfigMap", theirs.clone()).await;
    public.create("ConfigMap", theirs).await;
    let empty = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "greedy"}, "rules": []});
    sandbox.create("ClusterRole", empty).await;
    sandbox.is("Greedy", "one", json!({})).await;
    sandbox.start();
    sandbox.until("ConfigMap", "greedy", "is adopted", |o| o["data"]["a"] == "ours").await;
    let one = sandbox.until("Greedy", "one", "is stalled", stalled).await;
    let told = condition(&one, "Stalled").1;
    assert!(told.contains("an object without a namespace is never adopted"), "{told}");
    assert!(told.contains("nothing in `kube-public` is ever adopted"), "{told}");
    sandbox.settled().await;
    assert_eq!(public.get("ConfigMap", "greedy").await["data"]["a"], "theirs");
    let role = sandbox.get("ClusterRole", "greedy").await;
    assert!(role["rules"].as_array().is_none_or(Vec::is_empty), "{role}");
    sandbox.stop().await;
}
