//! A second pass over an applied plan is empty, whatever the server added to what was sent.

use crate::shipped::shipped;
use k8s_openapi::jiff::Timestamp;
use kubewright::compare::{Action, Memos, compare};
use kubewright::fetch::{Live, Observed};
use kubewright::marks;
use kubewright::object::Gvk;
use kubewright::render::{Desired, Setting, render};
use kubewright::rule::Rule;
use kubewright::scenario::Server;
use kubewright::scope::Scopes;
use kubewright::store::Format;
use serde_json::{Value, json};
use std::sync::Arc;

fn rendered(rule: &Rule, observed: &Observed) -> Desired {
    let scopes = Scopes::default();
    let setting = Setting {
        scopes: &scopes,
        installation: "kubewright",
        now: Timestamp::UNIX_EPOCH,
        in_order: false,
        randomness: None,
    };
    render(rule, observed, &setting)
}

/// The shipped `webapp` with every example (the scenarios of all rules check the same, unasked): the server after the first pass, which also added a default and a foreign label.
fn scenarios(check: impl Fn(&Rule, &mut Server)) {
    let loaded = shipped();
    let mut seen = 0;
    for rule in loaded.rules.iter().filter(|rule| &*rule.name == "webapp") {
        for example in loaded.examples.iter().filter(|example| rule.is_for(&example.object)) {
            let mut server = Server::new(rule, &Scopes::default(), &example.object).unwrap();
            let observed = server.observed().unwrap();
            let desired = rendered(rule, &observed);
            assert!(desired.problems().next().is_none(), "{}", rule.name);
            let plan = compare(&desired, &observed, &mut Memos::new(), &server.owner());
            assert!(!plan.children.is_empty() && !plan.is_empty());
            assert!(plan.children.iter().all(|planned| planned.action == Action::Create));
            let added =
                json!({"metadata": {"labels": {"foreign": "label"}}, "defaulted": {"by": "it"}});
            for child in &desired.children {
                server.apply(child, &child.object, Timestamp::UNIX_EPOCH).unwrap();
                server.edit(&child.name(), None, &added, false).unwrap();
            }
            check(rule, &mut server);
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn the_second_pass_is_empty() {
    scenarios(|rule, server| {
        let observed = server.observed().unwrap();
        let owner = server.owner();
        let mut memos = Memos::new();
        let desired = rendered(rule, &observed);
        assert_eq!(observed.children.len(), desired.children.len(), "all are proven ours");
        assert!(compare(&desired, &observed, &mut memos, &owner).is_empty(), "{}", rule.name);
        assert_eq!(memos.len(), desired.children.len(), "all are remembered");
        assert!(compare(&desired, &observed, &mut memos, &owner).is_empty(), "{}", rule.name);
    });
}

#[test]
fn a_changed_label_of_ours_is_the_only_thing_repaired() {
    scenarios(|rule, server| {
        let mut memos = Memos::new();
        let observed = server.observed().unwrap();
        let desired = rendered(rule, &observed);
        drop(compare(&desired, &observed, &mut memos, &server.owner()));
        let edited = desired.children[0].name();
        let other = json!({"metadata": {"labels": {marks::label::RULE: "somebody-elses"}}});
        server.edit(&edited, None, &other, false).unwrap();
        let observed = server.observed().unwrap();
        let plan = compare(&desired, &observed, &mut memos, &server.owner());
        for planned in &plan.children {
            let repaired = matches!(planned.action, Action::Apply(_));
            assert_eq!(repaired, planned.child.name() == edited, "{}", planned.child.id);
        }
    });
}

#[test]
fn a_copy_of_our_marks_on_another_object_proves_nothing() {
    scenarios(|_, server| {
        let observed = server.observed().unwrap();
        let mut copy = observed.children.values().next().unwrap().whole();
        copy["metadata"]["name"] = json!("copy");
        let why = live(&copy).not_ours(&server.owner());
        assert_eq!(why.as_deref(), Some("it carries a copy of another object's marks"));
    });
}

fn live(object: &Value) -> Live {
    let gvk = Gvk::of(object).unwrap();
    Live::new(Arc::new(Format::new(&gvk, true).read(&object.to_string()).unwrap()))
}
