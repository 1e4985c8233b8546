//! What the terminal shows: the program itself is run, without a cluster.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn kubewright(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("KUBECONFIG")
        .env("HOME", folder)
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Exit code and both outputs.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = kubewright(folder, arguments);
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: greeting}
spec:
  parent: {apiVersion: v1, kind: ConfigMap}
  children:
    - id: copy
      template: copy.yaml
      when: [{path: \"$.data.greeting\", exists: true}]
";

const TEMPLATE: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: \"{{ parent.metadata.name }}-copy\"}
stringData: {greeting: {{ parent.data.greeting }}}
";

const PARENT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: hello}
data: {greeting: \"no\"}
";

#[test]
fn the_shipped_rules_check_out() {
    let (code, out, error) = run(Path::new("."), &["check"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    let loaded = crate::shipped::shipped();
    let parents = loaded
        .examples
        .iter()
        .map(|example| loaded.rules.iter().filter(|rule| rule.is_for(&example.object)).count());
    let (rules, parents) = (loaded.rules.len(), parents.sum::<usize>());
    assert_eq!(out, format!("{rules} rules are fine, {parents} example parents rendered\n"));
}

#[test]
fn a_child_is_rendered_with_its_type_and_owner() {
    let files =
        [("rules/a.yaml", RULE), ("templates/copy.yaml", TEMPLATE), ("parent.yaml", PARENT)];
    let (code, out, error) = run(folder(&files).path(), &["render", "-f", "parent.yaml"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(out.contains("# rule greeting, child copy\n"), "{out}");
    assert!(out.contains("greeting: bm8=\n"), "stringData becomes data: {out}");
    assert!(out.contains("name: hello-copy\n"), "{out}");
    assert!(out.contains("namespace: default\n"), "{out}");
}

#[test]
fn every_mistake_of_a_rule_is_shown_at_once_with_file_line_column_and_remedy() {
    let wrong = RULE
        .replace("template:", "tempalte:")
        .replace("\"$.data.greeting\"", "\".data.greeting\"")
        .replace("kind: Rule", "kind: Rool");
    let files = [("rules/a.yaml", wrong.as_str()), ("templates/copy.yaml", TEMPLATE)];
    let (code, _, error) = run(folder(&files).path(), &["check"]);
    assert_eq!(code, 3);
    assert!(error.contains("error[unknown-field]: unknown field `tempalte`"), "{error}");
    assert!(error.contains("rules/a.yaml:8:7"), "{error}");
    assert!(error.contains("did you mean `template`?"), "{error}");
    assert!(error.ends_with("error: 1 problem\n"), "shapes come before meaning: {error}");

    let wrong = RULE
        .replace("copy.yaml", "cpoy.yaml")
        .replace("\"$.data.greeting\"", "\".data.greeting\"")
        .replace("kind: Rule", "kind: Rool");
    let files = [("rules/a.yaml", wrong.as_str()), ("templates/copy.yaml", TEMPLATE)];
    let (code, _, error) = run(folder(&files).path(), &["check"]);
    assert_eq!(code, 3);
    for expected in [
        "expected `Rule`, found `Rool`",
        "there is no template `cpoy.yaml`",
        "did you mean `copy.yaml`?",
        "rules/a.yaml:9:21",
        "$.data.greeting",
        "error: 3 problems",
    ] {
        assert!(error.contains(expected), "{expected} in:\n{error}");
    }
}

#[test]
fn a_template_that_is_wrong_for_an_example_parent_says_where() {
    let parent = PARENT.replace("greeting: \"no\"", "greeting: \"no\", b: c");
    let template = TEMPLATE.replace("parent.data.greeting }}}", "parent.data.missing }}}");
    let files = [
        ("rules/a.yaml", RULE),
        ("rules/parent.yaml", parent.as_str()),
        ("templates/copy.yaml", template.as_str()),
    ];
    let (code, _, error) = run(folder(&files).path(), &["check"]);
    assert_eq!(code, 3);
    assert!(error.contains("templates/copy.yaml:4:27"), "{error}");
    assert!(error.contains("parent.data.missing"), "{error}");
}

#[test]
fn an_empty_or_missing_folder_and_a_missing_cluster_name_the_remedy() {
    let empty = folder(&[("rules/readme.txt", "")]);
    let (code, _, error) = run(empty.path(), &["check"]);
    assert_eq!(code, 3);
    assert!(error.contains("error[no-rule]: there is no rule in `rules`"), "{error}");
    assert!(error.contains("`kubewright new greeting` makes one"), "{error}");
    let (code, _, error) = run(empty.path(), &["check", "nowhere"]);
    assert_eq!(code, 1);
    assert!(error.contains("there is no `nowhere`: run this where your rules are"), "{error}");
    let files = [("rules/a.yaml", RULE), ("templates/copy.yaml", TEMPLATE)];
    let (code, _, error) = run(folder(&files).path(), &["run"]);
    assert_eq!(code, 1);
    assert!(error.contains("no cluster"), "{error}");
    assert!(error.contains("kubewright dev"), "{error}");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let (code, _, error) = run(Path::new("."), &["chekc"]);
    assert_eq!(code, 2);
    assert!(error.contains("check"), "{error}");
}
