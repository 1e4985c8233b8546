//! `rbac`: the rights of the shipped rules, word for word, and what is said where they cannot be told.

use crate::commands::{folder, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The rules that come with the program.
pub(crate) const SHIPPED: [&str; 6] =
    ["config-sync", "database", "namespace-defaults", "preview", "tenant", "webapp"];

/// Writes the expected files anew instead of comparing: `KUBEWRIGHT_UPDATE=1`.
pub(crate) fn expect(path: &str, text: &str) {
    if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
        fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == text,
        "{path} is stale: run the tests with KUBEWRIGHT_UPDATE=1, and read what it says\n{text}"
    );
}

/// What the rights of a shipped rule alone are. Its CRD is in a file of its own where the rule has no short schema.
pub(crate) fn of_shipped(rule: &str, more: &[&str]) -> (i32, String, String) {
    let path = format!("rules/{rule}.yaml");
    let mut arguments = vec!["rbac", &path, "--templates", "templates", "--crds", "rules"];
    arguments.extend(more);
    run(Path::new("."), &arguments)
}

#[test]
fn the_rights_of_the_shipped_rules_are_as_expected() {
    for rule in SHIPPED {
        let (code, out, error) = of_shipped(rule, &[]);
        assert_eq!(code, 0, "{error}");
        let loud = error.contains("warning: rule tenant makes objects of kind RoleBinding");
        assert_eq!(loud, rule == "tenant", "{rule}: {error}");
        expect(&format!("tests/rbac/{rule}.expected.yaml"), &out);
    }
}

#[test]
fn documents_for_machines_say_the_same_and_bindings_come_on_demand() {
    let documents = |text: &str| -> Vec<Value> {
        let documents = kubewright::yaml::parse(text, &kubewright::yaml::Limits::FILE).unwrap();
        documents.iter().map(|document| document.root.to_json()).collect()
    };
    for rule in SHIPPED {
        let more = ["--service-account", "robot", "--namespace", "ours", "--leader-elect"];
        let (_, yaml, _) = of_shipped(rule, &more);
        let (code, json, _) = of_shipped(rule, &[&more[..], &["-o", "json"]].concat());
        let list: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((code, list["items"].as_array().unwrap()), (0, &documents(&yaml)));
        for pair in documents(&yaml).chunks(2) {
            let [role, binding] = pair else { panic!("a binding for each role: {yaml}") };
            assert_eq!(binding["metadata"], role["metadata"]);
            assert_eq!(binding["roleRef"]["kind"], role["kind"]);
            assert_eq!(binding["subjects"][0]["namespace"], "ours");
        }
        assert!(yaml.contains("resources: [leases]"), "{yaml}");
    }
}

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: shop}
spec:
  parent: {apiVersion: x.io/v1, kind: Shop}
  children: [{id: gadget, template: gadget.yaml}]
";

const GADGET: &str = "apiVersion: y.io/v1\nkind: Gadget\nmetadata: {name: a}\n";

#[test]
fn every_kind_that_is_not_known_is_named_with_the_remedy() {
    let files = [("rules/a.yaml", RULE), ("templates/gadget.yaml", GADGET)];
    let (code, out, error) = run(folder(&files).path(), &["rbac"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert_eq!(
        error,
        "error: rule shop: what x.io/v1 Shop is called in rights is not known (parent)\n\
         error: rule shop: what y.io/v1 Gadget is called in rights is not known (child gadget)\n\
         no CustomResourceDefinition for Gadget.y.io, Shop.x.io is in the rules folder: name a folder that has it with \
         --crds (`kubectl get crd NAME -o yaml` prints one)\n"
    );
}

#[test]
fn the_rights_of_some_of_the_rules_are_not_printed_as_if_they_were_all() {
    let wrong = RULE.replace("gadget.yaml", "gone.yaml");
    let files = [("rules/a.yaml", wrong.as_str()), ("templates/gadget.yaml", GADGET)];
    let (code, out, error) = run(folder(&files).path(), &["rbac"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(error.contains("there is no template `gone.yaml`"), "{error}");
    let (code, _, error) = run(folder(&[("rules/readme.txt", "")]).path(), &["rbac"]);
    assert_eq!(
        (code, error.as_str()),
        (
            3,
            "error: there is no rule in `rules`: `kubewright new greeting` makes one to learn from\n"
        )
    );
}
