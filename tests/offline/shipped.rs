//! The rules that come with the program, and the documents that show rules.

use kubewright::rule::{self, Folder, Loaded};
use kubewright::source::Source;
use std::fs;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn shipped() -> Loaded {
    rule::load(&rule::read(Path::new("rules"), Path::new("templates")).unwrap())
}

#[test]
fn every_shipped_rule_compiles_and_has_a_crd_and_an_example() {
    let loaded = shipped();
    assert_eq!(loaded.problems, []);
    assert!(!loaded.rules.is_empty());
    for rule in &loaded.rules {
        let example = loaded.examples.iter().find(|example| rule.is_for(&example.object));
        assert!(example.is_some(), "{} has no example parent", rule.name);
    }
}

#[test]
fn the_rule_in_the_readme_compiles_with_the_shipped_templates() {
    let readme = fs::read_to_string("README.md").unwrap();
    let rule = readme.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(rule.lines().count() <= 17, "the README promises a rule of 15 lines or so");
    let templates = rule::read(Path::new("rules"), Path::new("templates")).unwrap().templates;
    let folder =
        Folder { rules: vec![Source::new("README.md", rule)], templates: Arc::clone(&templates) };
    let loaded = rule::load(&folder);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.rules.len(), 1);
}
