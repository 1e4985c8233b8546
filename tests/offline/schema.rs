//! Findings in objects, on the objects that a real API server judged (tests/cluster/schema.rs).

#[path = "../fixtures/schema/cases.rs"]
mod cases;

use kubewright::schema::{Types, check_object, default_parent};
use serde_json::{Value, json};

fn types() -> Types {
    Types::builtin().with_crds([&cases::custom().0])
}

fn found(types: &Types, object: &Value) -> Vec<String> {
    let findings = check_object(types, object);
    assert!(findings.is_some(), "the kind is not known: {object}");
    findings.iter().flatten().map(|finding| format!("{}: {finding}", finding.code)).collect()
}

#[test]
fn nothing_is_found_in_what_a_server_accepts() {
    let types = types();
    let (definition, things) = cases::custom();
    for object in cases::accepted().iter().chain(&things).chain([&definition]) {
        assert!(found(&types, object).is_empty(), "{:?}\nin {object}", found(&types, object));
    }
}

#[test]
fn nothing_is_found_in_the_recorded_intents() {
    let intents = cases::intents();
    let types = Types::builtin().with_crds(&intents);
    assert!(intents.len() > 40);
    for object in &intents {
        assert!(found(&types, object).is_empty(), "{:?}\nin {object}", found(&types, object));
    }
}

#[test]
fn one_mistake_is_one_finding_at_its_place() {
    let types = types();
    for case in cases::refused() {
        let of_a_drop = ["unknown-field", "out-of-bounds"].contains(&case.code.as_str());
        assert!(!case.drops || of_a_drop, "nothing else is dropped in silence: {}", case.object);
        let found = found(&types, &case.object);
        let expected = format!("{}: {} ", case.code, case.place);
        assert!(
            found.len() == 1 && found[0].starts_with(&expected),
            "expected {expected}, found {found:?} in {}",
            case.object
        );
    }
}

#[test]
fn a_kind_that_is_not_known_is_not_judged() {
    let types = types();
    for object in [
        json!({"apiVersion": "x.io/v1", "kind": "Thing", "spec": 1}),
        json!({"apiVersion": "schema.kubewright.io/v0", "kind": "Thing"}),
        json!({"apiVersion": "apps/v1beta1", "kind": "Deployment"}),
        json!({"kind": "Deployment"}),
        json!("text"),
    ] {
        assert_eq!(check_object(&types, &object), None, "{object}");
    }
}

#[test]
fn defaults_go_where_nothing_is_and_are_filled_up_themselves() {
    let defaulted = |spec: Value| {
        let mut thing =
            json!({"apiVersion": "schema.kubewright.io/v1", "kind": "Thing", "spec": spec});
        default_parent(&types(), &mut thing);
        thing["spec"].take()
    };
    let everywhere = |more: Value| {
        let mut spec =
            json!({"defaulted": "here", "nullableDefaulted": "here", "whole": {"first": "one"}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    for (spec, more) in [
        (json!({}), json!({})),
        (json!({"defaulted": "own"}), json!({"defaulted": "own"})),
        (json!({"defaulted": null, "nullableDefaulted": null}), json!({"nullableDefaulted": null})),
        (json!({"whole": null}), json!({})),
        (
            json!({"whole": {"first": null, "below": {}}}),
            json!({"whole": {"first": "one", "below": {"second": 2}}}),
        ),
        (
            json!({"keyed": [{"name": "a"}, {"name": "b", "port": null}]}),
            json!({"keyed": [
                {"name": "a", "port": 80, "more": "more"}, {"name": "b", "port": 80, "more": "more"},
            ]}),
        ),
        (
            json!({"mapDefaulted": {"a": {}, "b": {"inner": "own"}}}),
            json!({"mapDefaulted": {"a": {"inner": "inner"}, "b": {"inner": "own"}}}),
        ),
    ] {
        assert_eq!(defaulted(spec.clone()), everywhere(more), "{spec}");
    }
    assert_eq!(defaulted(json!("text")), json!("text"));
}
