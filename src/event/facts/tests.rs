//! What is said of troubles and conditions.

use super::*;
use crate::marks::parse_id;
use crate::object::Gvk;
use crate::owned::{Ignored, IntentMark, SecretPlaces};
use crate::refusal::Texts;
use crate::rule::Policies;
use crate::source::Source;
use crate::store::Format;
use serde_json::Value;
use std::sync::Arc;

fn rule() -> Arc<Rule> {
    let text = "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: a}\nspec:\n  \
         parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}\n  children: []\n";
    let folder = crate::rule::Folder {
        rules: vec![Source::new("rule.yaml", text)],
        templates: Arc::default(),
    };
    let loaded = crate::rule::load(&folder);
    assert_eq!(loaded.problems, []);
    Arc::clone(&loaded.rules[0])
}

fn child(kind: &str) -> DesiredChild {
    let gvk = Gvk::parse("v1", kind).unwrap();
    DesiredChild {
        child: "config".into(),
        items: vec!["blue".into()],
        id: parse_id(&format!("{kind} shop/web")).unwrap(),
        object: json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "web", "namespace": "shop"},
            "data": {"a": "ours", "b": "same"}}),
        gvk,
        intent: 1,
        marked: IntentMark::Unknown,
        secrets: SecretPlaces::default(),
        ignored: Ignored::default(),
        free: false,
        generates: false,
        texts: if kind == "Secret" { Texts::Hidden } else { Texts::Shown },
        lost: false,
        policies: Policies::default(),
    }
}

/// The child with one field that somebody took.
fn live(kind: &str, theirs: &Value) -> Live {
    let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
    let object = json!({"apiVersion": "v1", "kind": kind, "data": {"a": theirs, "b": "same"}, "metadata": {
    "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "managedFields": [
        entry("us", "Apply", json!({"f:data": {"f:b": {}}})),
        entry("by-hand", "Update", json!({"f:data": {"f:a": {}}})),
    ]}});
    let format = Format::new(&Gvk::parse("v1", kind).unwrap(), true);
    Live::new(Arc::new(format.read(&object.to_string()).unwrap()))
}

fn contested() -> Trouble {
    let field = HeldField { field: "data.a".into(), holder: "by-hand (Update)".into() };
    Trouble::Contested(vec![field])
}

#[test]
fn a_contest_names_field_values_and_manager_and_is_one_whatever_the_values() {
    let child = child("ConfigMap");
    let fact = |live: Option<&Live>| of_trouble(&child, live, "us", &contested()).unwrap();
    let one = fact(Some(&live("ConfigMap", &json!("theirs"))));
    assert_eq!(
        one.text,
        "config[blue] (ConfigMap shop/web) is changed again and again: \
         data.a is \"theirs\" by by-hand (Update), not \"ours\""
    );
    let other = fact(Some(&live("ConfigMap", &json!("others"))));
    assert!(other.key == one.key && other.text != one.text);
    let repaired = fact(Some(&live("ConfigMap", &json!("ours"))));
    assert_eq!(repaired.key, one.key);
    assert!(repaired.text.ends_with("data.a by by-hand (Update)"), "{}", repaired.text);
    assert_eq!(fact(None).key, one.key);
    // Who reveals Secrets may hold their values anywhere.
    let revealing = DesiredChild { texts: Texts::Hidden, ..self::child("ConfigMap") };
    let live = live("ConfigMap", &json!("theirs"));
    let revealed = of_trouble(&revealing, Some(&live), "us", &contested()).unwrap();
    assert!(!revealed.text.contains("theirs") && !revealed.text.contains("ours"), "{revealed:?}");
}

#[test]
fn values_of_secrets_are_never_told() {
    let secret = child("Secret");
    let live = live("Secret", &json!("hunter2"));
    for trouble in [
        contested(),
        Trouble::Held(vec![HeldField { field: ".data.a".into(), holder: "x".into() }]),
    ] {
        let fact = of_trouble(&secret, Some(&live), "us", &trouble).unwrap();
        assert!(fact.text.contains("data.a by by-hand"), "{}", fact.text);
        assert!(!fact.text.contains("hunter2") && !fact.text.contains("ours"), "{}", fact.text);
    }
}

#[test]
fn what_passes_by_itself_is_no_fact_of_its_own() {
    let child = child("ConfigMap");
    let refused = |class| Trouble::Refused(Refusal { class, message: "no".into() });
    for (trouble, reason) in [
        (refused(Class::Permanent), Some(Reason::ChildFailed)),
        (refused(Class::Forbidden), Some(Reason::Forbidden)),
        (refused(Class::Transient(None)), None),
        (refused(Class::Stale), None),
        (refused(Class::Unavailable), None),
        (Trouble::Unseen("no".into()), None),
        (Trouble::NotOurs("no".into()), Some(Reason::NotOwned)),
        (Trouble::Lost("no".into()), Some(Reason::Lost)),
    ] {
        let fact = of_trouble(&child, None, "us", &trouble);
        assert_eq!(fact.as_ref().map(|fact| fact.reason.clone()), reason, "{trouble:?}");
        assert!(fact.is_none_or(|fact| fact.text == "config[blue]: no"));
    }
}

#[test]
fn of_the_usual_conditions_the_one_that_holds_is_told() {
    let one = |kind: &str, truth, wrote| {
        let told = Condition {
            kind: kind.into(),
            truth,
            reason: "Progressing".into(),
            message: "a: 0 of 2".into(),
        };
        condition(&rule(), &told, wrote).map(|fact| (fact.reason, fact.text, fact.news))
    };
    assert_eq!(one("Ready", Status::False, true), None);
    assert_eq!(
        one("Ready", Status::True, false),
        Some((Reason::Ready, "rule a: a: 0 of 2".into(), false))
    );
    let text = "rule a: Progressing: a: 0 of 2".to_owned();
    assert_eq!(one("Stalled", Status::True, false), Some((Reason::Stalled, text.clone(), true)));
    assert_eq!(one("Reconciling", Status::True, true), Some((Reason::Reconciling, text, false)));
    let declared = (
        Reason::Declared("Progressing".into()),
        "rule a: Serving is Unknown: a: 0 of 2".into(),
        true,
    );
    assert_eq!(one("Serving", Status::Unknown, true), Some(declared));
}

/// A ConfigMap of the parent; one that is being deleted if somebody's finalizers are given.
fn existing(name: &str, finalizers: Option<&[&str]>) -> Live {
    let mut metadata =
        json!({"name": name, "namespace": "shop", "uid": name, "resourceVersion": "7"});
    if let Some(finalizers) = finalizers {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        metadata["finalizers"] = json!(finalizers);
    }
    let format = Format::new(&Gvk::parse("v1", "ConfigMap").unwrap(), true);
    Live::new(Arc::new(format.read(&json!({ "metadata": metadata }).to_string()).unwrap()))
}

#[test]
fn who_holds_a_deletion_is_told_once_it_lasts() {
    let objects = [
        existing("held", Some(&["x/y", "z/w"])),
        existing("going", Some(&[])),
        existing("stays", None),
    ];
    let line = |live: &Live, state| ChildReport {
        child: live.id.name.to_string(),
        object: Some(live.id.clone()),
        state,
        message: "why".into(),
    };
    let lines = [
        line(&objects[0], State::InProgress),
        line(&objects[1], State::InProgress),
        line(&objects[2], State::Ready),
    ];
    let observed = Observed {
        parent: existing("web", None),
        children: objects.into_iter().map(|live| (live.id.clone(), live)).collect(),
        inputs: Arc::default(),
        targets: Arc::default(),
        edited: Vec::new(),
        lost: std::collections::BTreeMap::new(),
    };
    let facts = of_deletion(&lines, &observed);
    let told: Vec<_> = facts.iter().map(|fact| (&fact.reason, &*fact.text, fact.when)).collect();
    let held = "ConfigMap shop/held is being deleted and held by x/y, z/w";
    assert_eq!(
        told,
        [
            (&Reason::DeletionHeld, held, When::Lasting),
            (&Reason::Waiting, "going: why", When::Lasting),
        ]
    );
    let mut others = lines.clone();
    others[1].message = "another".into();
    assert_eq!(of_deletion(&others, &observed)[1].key, facts[1].key, "it still waits");
}
