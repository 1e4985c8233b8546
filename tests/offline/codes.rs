//! The table of problem codes, its page, and documents for machines where nothing is wrong.

use crate::commands::{folder, run};
use crate::tidy;
use kubewright::problem::{self, codes};
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn a_folder_without_mistakes_gives_an_empty_list() {
    let rule = "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: a}\nspec: {parent: {apiVersion: v1, kind: Pod}}\n";
    let folder = folder(&[("rules/a.yaml", rule)]);
    let (code, out, error) = run(folder.path(), &["check", "-o", "json"]);
    assert_eq!((code, out.as_str(), error.as_str()), (0, "{\n  \"problems\": []\n}\n", ""));
    let (code, out, _) = run(folder.path(), &["check", "-o", "sarif"]);
    let log: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &log["runs"][0]["results"]), (0, &json!([])));
    let (code, out, error) = run(folder.path(), &["check", "nowhere", "-o", "json"]);
    assert_eq!((code, out.as_str()), (1, ""), "{error}");
}

/// Words in the program that look like codes.
const NOT_CODES: [&str; 16] = [
    "cloud-controller-manager",
    "date-time",
    "int-or-string",
    "int-or-text",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl-edit",
    "kubewright-dev",
    "last-applied-configuration",
    "no-store",
    "replicas-scaled",
    "retry-after",
    "shop-db",
    "somebody-else",
    "user-agent",
];

/// Every text in the program that looks like a code: lower-case words with hyphens between them.
fn written_codes() -> BTreeSet<String> {
    let word = Regex::new("\"([a-z]+(?:-[a-z]+)+)\"").unwrap();
    let single = Regex::new("(?:Problem::new|Problem::warning|Fault::new)\\(\\s*\"([a-z]*)\"");
    let single = single.unwrap();
    let mut found = BTreeSet::new();
    for (path, text) in tidy::program() {
        if path.starts_with("src/control_plane") {
            continue;
        }
        let text = tidy::code(&text);
        if let Some(other) = single.captures(text) {
            panic!("{}: a code has two words at least, not `{}`", path.display(), &other[1]);
        }
        found.extend(word.captures_iter(text).map(|found| found[1].to_owned()));
    }
    found.retain(|word| !NOT_CODES.contains(&word.as_str()));
    found.retain(|word| !word.starts_with("x-kubernetes-"));
    found
}

#[test]
fn every_code_is_in_the_table_and_every_code_of_the_table_is_used() {
    let table: BTreeSet<String> = codes::all().iter().map(|code| code.name.to_owned()).collect();
    let used = written_codes();
    let missing: Vec<_> = used.difference(&table).collect();
    assert!(missing.is_empty(), "src/problem/codes.txt lacks {missing:?} (or NOT_CODES here does)");
    let unused: Vec<_> = table.difference(&used).collect();
    assert!(unused.is_empty(), "nothing in src has the codes {unused:?}");
}

#[test]
fn a_code_is_explained_and_a_wrong_one_is_corrected() {
    let (code, out, error) = run(Path::new("."), &["check", "--explain", "unknown-field"]);
    assert_eq!((code, error.as_str()), (0, ""));
    let known = codes::find("unknown-field").unwrap();
    assert_eq!(out, format!("unknown-field\n  {}\n  {}\n", known.meaning, known.remedy));
    let (code, out, error) = run(Path::new("."), &["check", "--explain", "unknwon-field"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(error.contains("there is no code `unknwon-field`: did you mean `unknown-field`?"));
}

#[test]
fn the_page_of_problems_is_what_the_program_says() {
    let path = "docs/PROBLEMS.md";
    if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
        fs::write(path, problem::reference()).unwrap();
    }
    let page = fs::read_to_string(path).unwrap();
    assert!(
        page == problem::reference(),
        "{path} is stale: run the tests with KUBEWRIGHT_UPDATE=1"
    );
    let (_, out, _) = run(Path::new("."), &["schema", "--problems"]);
    assert_eq!(out, page);
}
