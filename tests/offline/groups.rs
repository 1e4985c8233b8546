//! Groups: children that exist once per item of a list or map.

use k8s_openapi::jiff::Timestamp;
use kubewright::fetch::{Live, Observed};
use kubewright::object::Gvk;
use kubewright::problem::Problem;
use kubewright::render::{Desired, Setting, Stuck, render};
use kubewright::rule::{self, Folder, Rule};
use kubewright::scope::Scopes;
use kubewright::source::Source;
use kubewright::store::Format;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A rule on `WebApp` with these entries below `children`.
fn compiled(children: &str) -> Result<Arc<Rule>, Vec<Problem>> {
    let rule = format!(
        "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: r}}\nspec:\n  \
         parent: {{apiVersion: x.io/v1, kind: WebApp}}\n  children:\n{children}"
    );
    let folder = Folder { rules: vec![Source::new("r.yaml", rule)], templates: Arc::default() };
    let mut loaded = rule::load(&folder);
    loaded.rules.pop().ok_or(loaded.problems)
}

fn rule(children: &str) -> Arc<Rule> {
    compiled(children).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn live(object: &Value) -> Live {
    let gvk = Gvk::of(object).unwrap();
    Live::new(Arc::new(Format::new(&gvk, true).read(&object.to_string()).unwrap()))
}

fn observed(spec: &Value) -> Observed {
    let parent = json!({"apiVersion": "x.io/v1", "kind": "WebApp", "spec": spec,
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "1"}});
    let (children, lost) = (BTreeMap::new(), BTreeMap::new());
    Observed {
        parent: live(&parent),
        children,
        lost,
        inputs: Arc::default(),
        targets: Arc::default(),
        edited: Vec::new(),
    }
}

fn desired(rule: &Rule, observed: &Observed) -> Desired {
    let scopes = Scopes::default();
    let setting = Setting {
        scopes: &scopes,
        installation: "i",
        now: Timestamp::UNIX_EPOCH,
        in_order: true,
        randomness: None,
    };
    render(rule, observed, &setting)
}

/// What was rendered exists from now on.
fn apply(desired: &Desired, observed: &mut Observed) {
    for child in &desired.children {
        let mut object = child.object.clone();
        object["metadata"]["uid"] = json!(child.name());
        object["metadata"]["resourceVersion"] = json!("1");
        observed.children.insert(child.id.clone(), live(&object));
    }
}

fn names(desired: &Desired) -> Vec<String> {
    desired.children.iter().map(|child| format!("{} {}", child.name(), child.id.name)).collect()
}

fn problems(desired: &Desired) -> Vec<String> {
    desired.problems().map(ToString::to_string).collect()
}

const ENVIRONMENTS: &str = r#"
    - forEach: {path: "$.spec.environments", key: "$.name", item: env}
      let: |
        name: {{ parent.metadata.name }}-{{ env.name }}
      when: [{of: env, path: "$.off", notEquals: true, default: false}]
      children:
        - id: config
          inline: |
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: {{ let.name }}}
            data: {size: {{ env.size }}}
        - forEach: {of: env, path: "$.files", item: entry}
          children:
            - id: file
              needs: [{id: config, until: exists}]
              inline: |
                apiVersion: v1
                kind: ConfigMap
                metadata: {name: "{{ let.name }}-{{ entry.key }}"}
                data: {text: {{ entry.value }}, of: {{ children.config.metadata.name }}}
    - id: summary
      needs: [file]
      when: [{of: config, path: "$.*.data.size", exists: true}]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: summary}
        data: {sizes: "{% for key, config in children.config|items %}{{ key }}={{ config.data.size }} {% endfor %}"}
"#;

fn environments() -> Value {
    json!({"environments": [
        {"name": "blue", "size": "s", "files": {"a": "1", "b": "2"}},
        {"name": "green", "size": "m"},
        {"name": "grey", "size": "x", "off": true, "files": {"z": "9"}},
    ]})
}

#[test]
fn items_nest_wait_for_their_own_item_and_are_a_map_by_key_from_outside() {
    let rule = rule(ENVIRONMENTS);
    let mut observed = observed(&environments());
    let first = desired(&rule, &observed);
    assert_eq!(problems(&first), [""; 0]);
    assert_eq!(names(&first), ["config[blue] p-blue", "config[green] p-green"]);
    let waiting: Vec<_> = first.waiting().map(|(child, _)| child).collect();
    assert_eq!(waiting, ["file[blue/a]", "file[blue/b]", "summary"]);

    apply(&first, &mut observed);
    let second = desired(&rule, &observed);
    assert_eq!(
        names(&second),
        [
            "config[blue] p-blue",
            "config[green] p-green",
            "file[blue/a] p-blue-a",
            "file[blue/b] p-blue-b",
        ],
    );
    assert_eq!(second.children[2].object["data"], json!({"of": "p-blue", "text": "1"}));
    let marks = &second.children[2].object["metadata"];
    assert_eq!(marks["labels"]["kubewright.io/item"], "blue.a");

    apply(&second, &mut observed);
    let third = desired(&rule, &observed);
    let summary = third.children.iter().find(|child| &*child.child == "summary").unwrap();
    assert_eq!(summary.object["data"]["sizes"], "blue=s green=m ");
    assert!(third.stuck.is_empty());
}

#[test]
fn an_item_in_front_changes_no_other_object() {
    let rule = rule(ENVIRONMENTS);
    let mut observed = observed(&environments());
    let before = desired(&rule, &observed);
    let mut spec = environments();
    let list = spec["environments"].as_array_mut().unwrap();
    list.insert(0, json!({"name": "amber", "size": "l"}));
    observed.parent = self::observed(&spec).parent;
    let after = desired(&rule, &observed);
    let intents = |desired: &Desired| -> BTreeMap<String, u64> {
        desired.children.iter().map(|child| (child.name(), child.intent)).collect()
    };
    let mut grown = intents(&after);
    assert!(grown.remove("config[amber]").is_some());
    assert_eq!(grown, intents(&before));
}

#[test]
fn missing_null_and_empty_sources_have_no_items() {
    let rule = rule(ENVIRONMENTS);
    for spec in [json!({}), json!({"environments": null}), json!({"environments": []})] {
        let desired = desired(&rule, &observed(&spec));
        assert!(desired.children.iter().all(|child| &*child.child == "summary"), "{spec}");
        assert_eq!(problems(&desired), [""; 0], "{spec}");
        assert!(desired.may_prune(), "{spec}");
    }
}

#[test]
fn what_is_no_item_fails_its_group_and_prunes_nothing() {
    let rule = rule(ENVIRONMENTS);
    for (environments, expected) in [
        (json!("text"), "`forEach` needs a list or a map, found a text"),
        (json!([{"size": "s"}]), "an item has no key: its `$.name` is nothing"),
        (json!([{"name": ""}]), "an item has no key: its `$.name` is an empty text"),
        (
            json!([{"name": "a", "size": "s"}, {"name": "a", "size": "s"}]),
            "two items have the key `a`",
        ),
        (
            (0..1001).map(|n| json!({"name": format!("n{n}"), "size": "s"})).collect(),
            "there are 1001 items, more than 1000",
        ),
    ] {
        let desired = desired(&rule, &observed(&json!({ "environments": environments })));
        let found = problems(&desired);
        assert!(found.iter().all(|problem| problem.contains(expected)), "{found:?}");
        assert!(found[0].starts_with("r.yaml:"), "{found:?}");
        assert!(!desired.may_prune(), "{expected}");
    }
}

#[test]
fn a_list_of_texts_and_a_map_are_keyed_by_themselves() {
    let rule = rule(
        r#"
    - forEach: {path: "$.spec.teams"}
      children:
        - id: team
          inline: |
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: "t-{{ item }}"}
    - forEach: {path: "$.spec.quotas", item: quota}
      children:
        - id: quota_map
          inline: |
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: "q-{{ quota.key }}"}
            data: {cpu: {{ quota.value.cpu|string }}}
"#,
    );
    let spec = json!({"teams": ["red", "no"], "quotas": {"a": {"cpu": 1}, "b": {"cpu": 2}}});
    let desired = desired(&rule, &observed(&spec));
    assert_eq!(problems(&desired), [""; 0]);
    assert_eq!(
        names(&desired),
        ["team[red] t-red", "team[no] t-no", "quota_map[a] q-a", "quota_map[b] q-b"],
    );
}

#[test]
fn one_bad_item_leaves_the_others_alone() {
    let rule = rule(ENVIRONMENTS);
    let mut spec = environments();
    spec["environments"][0].as_object_mut().unwrap().remove("size");
    let desired = desired(&rule, &observed(&spec));
    assert_eq!(names(&desired), ["config[green] p-green"]);
    let key = (Arc::from("config"), vec!["blue".to_owned()]);
    assert!(matches!(desired.stuck.get(&key), Some(Stuck::Failed(_))), "{:?}", desired.stuck);
}

#[test]
fn mistakes_in_a_group_are_all_shown() {
    let wrong = r#"
    - forEach: {of: nobody, path: "$.spec.a", key: ".name", item: config}
      children:
        - id: config
          inline: "apiVersion: v1\nkind: ConfigMap\n"
          needs: [nothing]
"#;
    let found = compiled(wrong).err().unwrap();
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    for expected in [
        "nobody",
        "write `$.name`",
        "`config` is a child already",
        "there is no child or input `nothing`",
    ] {
        assert!(found.iter().any(|problem| problem.contains(expected)), "{expected}: {found:#?}");
    }
}

const SQUARED: &str = r#"
    - forEach: {path: "$.list", key: "$.n", item: outer}
      children:
        - forEach: {path: "$.list", key: "$.n", item: inner}
          children:
            - id: each
              inline: |
                apiVersion: v1
                kind: ConfigMap
                metadata: {name: "c-{{ outer.n }}-{{ inner.n }}"}
                data: {a: {{ parent.spec.blob }}}
"#;

/// Groups within groups multiply, and so do values: what a parent may ask for is bounded as a whole.
#[test]
fn what_one_parent_asks_for_is_bounded_as_a_whole() {
    let rule = rule(&SQUARED.replace("$.list", "$.spec.list"));
    let spec = |count: usize, blob: usize, item: usize| {
        let item = |n| json!({"n": n, "x": "i".repeat(item)});
        json!({"list": (0..count).map(item).collect::<Vec<_>>(), "blob": "b".repeat(blob)})
    };
    let told = |spec: &Value| {
        let desired = desired(&rule, &observed(spec));
        let bytes: usize =
            desired.children.iter().map(|child| child.object.to_string().len()).sum();
        assert!(desired.children.len() <= 2_000 && bytes <= 6 << 20, "{bytes}");
        assert!(!desired.may_prune() || problems(&desired).is_empty());
        problems(&desired).first().cloned().unwrap_or_default()
    };
    assert_eq!(told(&spec(44, 10, 10)), "");
    assert!(told(&spec(45, 10, 10)).contains("more than 2000 children"));
    assert!(told(&spec(5, 300 << 10, 10)).contains("longer than 5242880 bytes together"));
    // A million items, and some that are a gigabyte together.
    assert!(told(&spec(1_000, 1, 1)).contains("more than 10000 items"));
    assert!(told(&spec(90, 1, 10 << 10)).contains("more than 32 MiB in them"));
}
