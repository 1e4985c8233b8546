//! A second pass over an applied plan is empty, whatever the server added to what was sent.

use crate::shipped::shipped;
use k8s_openapi::jiff::Timestamp;
use kubewright::compare::{Action, Memos, compare};
use kubewright::fetch::{Live, Observed, Owner};
use kubewright::marks;
use kubewright::object::Gvk;
use kubewright::render::{Desired, DesiredChild, Setting, render};
use kubewright::rule::Rule;
use kubewright::scope::Scopes;
use kubewright::store::Format;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const UID: &str = "11111111-2222-3333-4444-555555555555";

/// What a server would have after an apply by `manager`: the object with identity, entry, a default and a foreign label.
fn applied(child: &DesiredChild, manager: &str, version: u64) -> Live {
    let mut object = child.object.clone();
    let mut fields = fields_of(&child.object);
    for known in ["f:apiVersion", "f:kind"] {
        fields.remove(known);
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.insert("uid".into(), json!(format!("child-{}", child.id)));
    metadata.insert("resourceVersion".into(), json!(version.to_string()));
    metadata["labels"]["foreign"] = json!("label");
    metadata.insert(
        "managedFields".into(),
        json!([{"manager": manager, "operation": "Apply", "apiVersion": child.gvk.api_version(),
                "fieldsType": "FieldsV1", "fieldsV1": fields}]),
    );
    object["defaulted"] = json!({"by": "the server"});
    live(&object)
}

/// `FieldsV1` of everything in a value; lists are owned whole.
fn fields_of(value: &Value) -> Map<String, Value> {
    let Some(map) = value.as_object() else { return Map::new() };
    let skipped = ["name", "namespace", "uid"];
    map.iter()
        .filter(|(key, _)| !skipped.contains(&key.as_str()) || !map.contains_key("ownerReferences"))
        .map(|(key, value)| (format!("f:{key}"), Value::Object(fields_of(value))))
        .collect()
}

fn live(object: &Value) -> Live {
    let gvk = Gvk::of(object).unwrap();
    Live::new(Arc::new(Format::new(&gvk, true).read(&object.to_string()).unwrap()))
}

fn parent(example: &Value) -> Live {
    let mut object = example.clone();
    object["metadata"]["uid"] = json!(UID);
    object["metadata"]["resourceVersion"] = json!("1");
    object["metadata"]["generation"] = json!(1);
    live(&object)
}

fn rendered(rule: &Rule, observed: &Observed) -> Desired {
    let scopes = Scopes::default();
    let setting =
        Setting { scopes: &scopes, installation: "kubewright", now: Timestamp::UNIX_EPOCH };
    render(rule, observed, &setting)
}

/// Every shipped rule with every example: what exists after the first pass, and the owner to compare as.
fn scenarios(check: impl Fn(&Rule, &mut Observed, &Owner<'_>)) {
    let loaded = shipped();
    let mut seen = 0;
    for rule in &loaded.rules {
        for example in loaded.examples.iter().filter(|example| rule.is_for(&example.object)) {
            let parent = parent(&example.object);
            let id = parent.id.clone();
            let manager = marks::manager(&rule.name, &id);
            let owner = Owner { rule: &rule.name, parent: &id, uid: UID, manager: &manager };
            let mut observed = Observed { parent, children: BTreeMap::new() };
            let desired = rendered(rule, &observed);
            assert!(desired.problems().next().is_none(), "{}", rule.name);
            let plan = compare(&desired, &observed, &mut Memos::new(), &owner);
            assert!(!plan.children.is_empty() && !plan.is_empty());
            assert!(plan.children.iter().all(|planned| planned.action == Action::Create));
            for child in &desired.children {
                observed.children.insert(child.id.clone(), applied(child, &manager, 7));
            }
            check(rule, &mut observed, &owner);
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn the_second_pass_is_empty() {
    scenarios(|rule, observed, owner| {
        for live in observed.children.values() {
            assert_eq!(live.not_ours(owner), None);
        }
        let mut memos = Memos::new();
        let desired = rendered(rule, observed);
        assert!(compare(&desired, observed, &mut memos, owner).is_empty(), "{}", rule.name);
        assert_eq!(memos.len(), desired.children.len(), "all are remembered");
        assert!(compare(&desired, observed, &mut memos, owner).is_empty(), "{}", rule.name);
    });
}

#[test]
fn a_changed_label_of_ours_is_the_only_thing_repaired() {
    scenarios(|rule, observed, owner| {
        let mut memos = Memos::new();
        let desired = rendered(rule, observed);
        drop(compare(&desired, observed, &mut memos, owner));
        let (id, changed) =
            observed.children.iter().map(|(id, live)| (id.clone(), live.whole())).next().unwrap();
        let mut object = changed;
        object["metadata"]["labels"][marks::label::RULE] = json!("somebody-elses");
        object["metadata"]["resourceVersion"] = json!("8");
        observed.children.insert(id.clone(), live(&object));
        let plan = compare(&desired, observed, &mut memos, owner);
        for planned in &plan.children {
            let repaired = matches!(planned.action, Action::Apply(_));
            assert_eq!(repaired, planned.child.id == id, "{}", planned.child.id);
        }
    });
}

#[test]
fn a_copy_of_our_marks_on_another_object_proves_nothing() {
    scenarios(|_, observed, owner| {
        let original = observed.children.values().next().unwrap();
        let mut copy = original.whole();
        copy["metadata"]["name"] = json!("copy");
        let why = live(&copy).not_ours(owner);
        assert_eq!(why.as_deref(), Some("it carries a copy of another object's marks"));
    });
}
