//! The scenarios of the shipped rules, and the command that runs them.

use crate::commands::{folder, run};
use crate::shipped::shipped;
use kubewright::scenario;
use kubewright::source::Source;
use std::fs;
use std::path::Path;

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: greeting}
spec:
  parent: {apiVersion: v1, kind: ConfigMap}
  children:
    - id: copy
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: copy}
        stringData: {greeting: {{ parent.data.greeting }}}
";

const SCENARIO: &str = "\
about: a greeting is copied
parent: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {greeting: hi}}
expect:
  children: {copy: {metadata: {name: cpoy}}}   # a slip
";

#[test]
fn the_scenarios_of_the_shipped_rules_pass() {
    let (code, out, error) = run(Path::new("."), &["test"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    assert!(out.ends_with(" passed, 0 failed\n"), "{out}");
    let scenarios = out.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(scenarios >= 8, "{out}");
}

#[test]
fn the_scenario_in_the_documentation_passes() {
    let page = fs::read_to_string("docs/SCENARIOS.md").unwrap();
    let text = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let (scenarios, problems) =
        scenario::load(&[Source::new("docs/SCENARIOS.md", text)], &shipped());
    assert_eq!(problems, []);
    let ran = scenario::run(&scenarios[0]);
    assert!(ran.passed(), "{}", scenario::summary(&[ran]));
}

#[test]
fn an_unmet_expectation_is_exit_code_1_and_update_mends_it() {
    let folder = folder(&[("rules/a.yaml", RULE), ("scenarios/a.yaml", SCENARIO)]);
    let (code, out, _) = run(folder.path(), &["test", "--junit", "junit.xml"]);
    assert_eq!(code, 1, "{out}");
    let block = "scenarios/a.yaml:4:38: a greeting is copied\n    children.copy.metadata.name\n      \
                 - \"cpoy\"\n      + \"copy\"\n";
    assert!(out.contains(block), "{out}");
    assert!(out.ends_with("\n1 scenario, 0 of 1 step passed\n0 passed, 1 failed\n"), "{out}");
    let junit = fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(junit.contains("<failure message=\"1 expectation was not met\">"), "{junit}");

    let (code, out, error) = run(folder.path(), &["test", "--update"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    let updated = fs::read_to_string(folder.path().join("scenarios/a.yaml")).unwrap();
    assert_eq!(updated, SCENARIO.replace("cpoy", "copy"));
}

#[test]
fn a_filter_chooses_by_file_or_about_and_says_when_nothing_is_left() {
    let folder = folder(&[
        ("rules/a.yaml", RULE),
        ("scenarios/good.yaml", &SCENARIO.replace("cpoy", "copy")),
        ("scenarios/bad.yaml", &SCENARIO.replace("a greeting is copied", "a slip")),
    ]);
    let of = |filter: &str| run(folder.path(), &["test", "--filter", filter]);
    assert_eq!(of("good.yaml").0, 0);
    assert_eq!(of("is copied").0, 0);
    assert_eq!(of("slip").0, 1);
    let (code, _, error) = of("nowhere");
    assert_eq!(code, 1);
    assert_eq!(error, "error: no scenario in `scenarios` is about `nowhere`\n");
}

#[test]
fn a_wrong_scenario_file_is_exit_code_3_with_line_and_remedy() {
    let wrong = SCENARIO.replace("{copy: {", "{cpoy: {");
    let folder = folder(&[("rules/a.yaml", RULE), ("scenarios/a.yaml", &wrong)]);
    let (code, _, error) = run(folder.path(), &["test"]);
    assert_eq!(code, 3);
    for expected in [
        "error[unknown-name]: unknown child `cpoy`",
        "scenarios/a.yaml:4:14",
        "did you mean `copy`?",
    ] {
        assert!(error.contains(expected), "{expected} in:\n{error}");
    }
}
