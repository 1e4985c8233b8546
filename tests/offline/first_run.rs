//! What somebody sees who begins: wherever a command cannot go on, it says what is wrong and what to type next.

use crate::program::{folder, run};

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: first}
spec:
  parent: {apiVersion: v1, kind: ConfigMap}
  children:
    - id: copy
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: \"{{ parent.metadata.name }}-copy\"}
";

/// A kubeconfig for a server that does not answer.
const SILENT: &str = "\
apiVersion: v1
kind: Config
current-context: silent
contexts: [{name: silent, context: {cluster: silent, user: nobody}}]
clusters: [{name: silent, cluster: {server: \"http://127.0.0.1:1\"}}]
users: [{name: nobody, user: {}}]
";

/// Commands that look for rules, each in the way that it is typed first.
const WITH_RULES: &[&[&str]] = &[
    &["check"],
    &["render"],
    &["test"],
    &["graph"],
    &["crd"],
    &["rbac"],
    &["plan"],
    &["explain", "ConfigMap/a"],
    &["run"],
    &["dev", "--once"],
];

#[test]
fn an_empty_folder_is_told_with_the_command_that_makes_a_first_rule() {
    let empty = folder(&[]);
    for command in WITH_RULES {
        let (code, out, told) = run(empty.path(), command);
        assert_eq!((code, out.as_str()), (1, ""), "{command:?}: {told}");
        assert!(told.contains("error: there is no `rules`"), "{command:?}: {told}");
        assert!(told.contains("`kubewright new greeting`"), "{command:?}: {told}");
    }
}

#[test]
fn a_folder_without_rules_is_told_with_the_same_command() {
    let empty = folder(&[("rules/notes.txt", "")]);
    for command in WITH_RULES {
        let (code, out, told) = run(empty.path(), command);
        assert_eq!((code, out.as_str()), (3, ""), "{command:?}: {told}");
        assert!(told.contains("there is no rule in `rules`"), "{command:?}: {told}");
        assert!(told.contains("`kubewright new greeting`"), "{command:?}: {told}");
    }
}

#[test]
fn a_rule_that_is_wrong_is_shown_by_whatever_would_need_it() {
    let wrong = folder(&[("rules/first.yaml", &RULE.replace("children:", "childern:"))]);
    for command in WITH_RULES {
        let (code, out, told) = run(wrong.path(), command);
        assert_eq!((code, out.as_str()), (3, ""), "{command:?}: {told}");
        assert!(told.contains("rules/first.yaml:6:3"), "{command:?}: {told}");
        assert!(told.contains("did you mean `children`?"), "{command:?}: {told}");
    }
}

#[test]
fn nothing_to_render_or_to_test_is_told_with_what_is_missing() {
    let alone = folder(&[("rules/first.yaml", RULE)]);
    let (code, _, told) = run(alone.path(), &["render"]);
    assert_eq!(code, 1);
    assert!(told.contains("put an example of v1 ConfigMap beside the rules"), "{told}");
    assert!(told.contains("--file"), "{told}");
    let (code, _, told) = run(alone.path(), &["test"]);
    assert_eq!(code, 1);
    assert!(told.contains("there is no `tests/scenarios` and no `scenarios`"), "{told}");
    assert!(told.contains("--scenarios"), "{told}");
    let (code, _, told) = run(alone.path(), &["test", "--scenarios", "elsewhere"]);
    assert!(code == 1 && told.contains("there is no `elsewhere`"), "{told}");
    let other = folder(&[
        ("rules/first.yaml", RULE),
        ("pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a}}"),
        ("tests/scenarios/notes.txt", ""),
    ]);
    let (code, _, told) = run(other.path(), &["render", "--file", "pod.yaml"]);
    assert!(code == 1 && told.contains("there are rules for v1 ConfigMap"), "{told}");
    let (code, _, told) = run(other.path(), &["test"]);
    assert!(code == 1 && told.contains("`tests/scenarios/first.yaml`"), "{told}");
}

#[test]
fn a_cluster_that_is_missing_or_silent_is_told_with_what_to_try() {
    let alone = folder(&[("rules/first.yaml", RULE)]);
    let (code, out, told) = run(alone.path(), &["run"]);
    assert_eq!((code, out.as_str()), (1, ""), "{told}");
    assert!(told.contains("error: no cluster") && told.contains("KUBECONFIG"), "{told}");
    assert!(told.contains("`kubewright dev`"), "{told}");
    for command in [&["plan"][..], &["explain", "ConfigMap/a"]] {
        let (code, out, told) = run(alone.path(), command);
        assert_eq!((code, out.as_str()), (1, ""), "{command:?}: {told}");
        assert!(told.contains("no cluster") && told.contains("KUBECONFIG"), "{command:?}: {told}");
    }
    let silent = folder(&[("rules/first.yaml", RULE), (".kube/config", SILENT)]);
    let (code, out, told) = run(silent.path(), &["run", "--address", "none"]);
    assert_eq!((code, out.as_str()), (1, ""), "{told}");
    assert!(told.contains("error: the cluster does not answer"), "{told}");
    assert!(told.contains("`kubectl version`"), "{told}");
    for command in [&["plan"][..], &["explain", "ConfigMap/a"]] {
        let (code, out, told) = run(silent.path(), command);
        assert_eq!((code, out.as_str()), (1, ""), "{command:?}: {told}");
        assert!(told.contains("does not answer"), "{command:?}: {told}");
    }
}
