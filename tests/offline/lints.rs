//! What is refused, or warned of, because of how values flow through a rule and what rules do to each other.

mod odd;
mod secrets;

use crate::commands::{folder, run};
use kubewright::lint;
use kubewright::problem::Problem;
use kubewright::rule::{self, Folder, Loaded};
use kubewright::source::Source;
use std::sync::Arc;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";

fn load(rules: &[String], templates: &[(&str, &str)]) -> (Loaded, Folder) {
    let rules = rules.iter().enumerate();
    let rules = rules.map(|(at, text)| Source::new(format!("r{at}.yaml"), text.as_str())).collect();
    let template = |(name, text): &(&str, &str)| ((*name).to_owned(), Source::new(*name, *text));
    let folder = Folder { rules, templates: Arc::new(templates.iter().map(template).collect()) };
    (rule::load(&folder), folder)
}

fn shown(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|problem| format!("{} {problem}", problem.code)).collect()
}

/// A rule on `App` with these fields of `spec`.
fn rule_of(name: &str, parent: &str, spec: &str) -> String {
    let (api_version, kind) = parent.split_once(' ').unwrap_or(("x.io/v1", parent));
    format!(
        "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: {name}}}\nspec:\n  \
         parent: {{apiVersion: {api_version}, kind: {kind}}}\n{spec}"
    )
}

/// A rule with one child `a` whose template is `a.yaml`.
fn one(more: &str) -> String {
    rule_of("r", "App", &format!("  children:\n    - {{id: a, template: a.yaml}}\n{more}"))
}

/// What refuses the rule; its template is `a.yaml`.
fn refused(rule: &str, template: &str) -> Vec<String> {
    let (loaded, _) = load(&[rule.to_owned()], &[("a.yaml", template)]);
    assert_eq!(loaded.rules.is_empty(), !loaded.problems.is_empty());
    assert!(loaded.problems.iter().all(Problem::is_error));
    shown(&loaded.problems)
}

/// What `check` warns of.
fn warned(rule: &str, template: &str) -> Vec<String> {
    let (loaded, folder) = load(&[rule.to_owned()], &[("a.yaml", template)]);
    assert_eq!(loaded.problems, [], "{template}");
    let warnings = lint::warnings(&loaded, &folder.templates);
    assert!(warnings.iter().all(|warning| !warning.is_error()));
    shown(&warnings)
}

/// That each text begins with what is expected of it.
fn begin(found: &[String], expected: &[&str], about: &str) {
    let fits = |(found, expected): (&String, &&str)| found.starts_with(expected);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(fits),
        "{about}\nfound {found:#?}\nexpected {expected:#?}"
    );
}

/// A rule whose children are empty objects of these kinds.
fn making(name: &str, parent: &str, kinds: &[&str]) -> String {
    let child = |(at, kind): (usize, &&str)| {
        let (api_version, kind) = kind.split_once(' ').unwrap_or(("x.io/v1", kind));
        let text = format!("apiVersion: {api_version}\\nkind: {kind}\\nmetadata: {{name: n}}");
        format!("    - {{id: c{at}, inline: \"{text}\"}}\n")
    };
    let children: String = kinds.iter().enumerate().map(child).collect();
    rule_of(name, parent, &format!("  children:\n{children}"))
}

#[test]
fn rules_that_write_one_status_are_refused_together_and_the_others_go_on() {
    let status = |name, parent| making(name, parent, &["B"]) + "  status: {}\n";
    let (loaded, _) = load(
        &[
            status("one", "App"),
            status("two", "x.io/v2 App"),
            status("other", "y.io/v1 App"),
            making("silent", "App", &["B"]),
        ],
        &[],
    );
    let names: Vec<&str> = loaded.rules.iter().map(|rule| &*rule.name).collect();
    assert_eq!(names, ["other", "silent"]);
    assert_eq!(loaded.bad, ["one", "two"]);
    begin(
        &shown(&loaded.problems),
        &[
            "status-clash r0.yaml:5:39: rule `one` writes the status of App.x.io objects, and so does rule `two` at r1.yaml:5:39 (",
            "status-clash r1.yaml:5:39: rule `two` writes the status of App.x.io objects, and so does rule `one` at r0.yaml:5:39 (",
        ],
        "status",
    );
}

#[test]
fn circles_of_rules_are_refused_and_named() {
    for (rules, expected) in [
        (vec![making("a", "X", &["Why"]), making("b", "Why", &["Z"])], vec![]),
        (vec![making("a", "X", &["X"])], vec![]),
        (vec![making("a", "X", &["X", "Why"]), making("b", "Why", &["Z"])], vec![]),
        (
            vec![
                making("a", "X", &["W", "Why"]),
                making("b", "x.io/v2 Why", &["X"]),
                making("c", "X", &["V"]),
            ],
            vec![
                "rule-cycle r0.yaml:8:12: the children of one rule are the parents of another, in a circle: \
                 X.x.io -> Why.x.io (rule `a`) -> X.x.io (rule `b`) (",
                "rule-cycle r1.yaml:7:12: the children of one rule are the parents of another, in a circle: \
                 Why.x.io -> X.x.io (rule `b`) -> Why.x.io (rule `a`) (",
            ],
        ),
        (
            vec![making("a", "X", &["Why"]), making("b", "Why", &["Z"]), making("c", "Z", &["X"])],
            vec![
                "rule-cycle r0.yaml:7:12: the children of one rule are the parents of another, in a circle: \
                 X.x.io -> Why.x.io (rule `a`) -> Z.x.io (rule `b`) -> X.x.io (rule `c`) (",
                "rule-cycle r1.yaml:7:12:",
                "rule-cycle r2.yaml:7:12:",
            ],
        ),
        (
            vec![making("a", "X", &["X"]), making("b", "X", &["X"]), making("c", "X", &["Why"])],
            vec![
                "rule-cycle r0.yaml:7:12: the children of one rule are the parents of another, in a circle: \
                 X.x.io -> X.x.io (rule `a`) -> X.x.io (rule `b`) (",
                "rule-cycle r1.yaml:7:12:",
            ],
        ),
        // What goes round with others is refused; a rule that would be alone after that is not.
        (
            vec![making("a", "X", &["X"]), making("b", "X", &["Why"]), making("c", "Why", &["X"])],
            vec!["rule-cycle r1.yaml:7:12:", "rule-cycle r2.yaml:7:12:"],
        ),
    ] {
        let (loaded, _) = load(&rules, &[]);
        begin(&shown(&loaded.problems), &expected, &rules.join("---\n"));
        assert_eq!(loaded.rules.len() + loaded.bad.len(), rules.len());
        assert_eq!(loaded.bad.len(), expected.len());
    }
}

#[test]
fn names_that_nothing_has_are_shown_where_they_are_read() {
    for (template, expected) in [
        ("data: {a: {{ parent.spec.x }}{{ let.a }}{{ rule }}}\n", vec![]),
        ("data: {a: {{ children.b.metadata.name }}}\n", vec![]),
        (
            "data: {a: {{ parnet.spec.x }}}\n",
            vec![
                "unknown-name a.yaml:4:14: nothing here is called `parnet` (did you mean `parent`?)",
            ],
        ),
        (
            "{% if paren is defined %}\n{% endif %}\n",
            vec!["unknown-name a.yaml:4:7: nothing here is called `paren`"],
        ),
        (
            "data: {a: {{ a.metadata.name }}}\n",
            vec![
                "unknown-name a.yaml:4:14: nothing here is called `a` (a child is read as `children.a`)",
            ],
        ),
        (
            "data: {a: {{ children.bb.x }}{{ children['q'] }}}\n",
            vec![
                "unknown-child a.yaml:4:14: there is no child `bb` in this rule (did you mean `b`?)",
                "unknown-child a.yaml:4:33: there is no child `q` in this rule",
            ],
        ),
        (
            "data: {a: {{ inputs.x }}}\n",
            vec!["unknown-input a.yaml:4:14: there is no input `x` in this rule"],
        ),
        (
            "data: {a: {{ conditions.Good }}}\n",
            vec!["unknown-name a.yaml:4:14: `conditions` can be read in `status.fields` alone"],
        ),
        ("data:\n{% for parnet in parent.x %}\n  {{ parnet }}: a\n{% endfor %}\n", vec![]),
        ("{% macro m(parnet) %}{{ parnet }}{% endmacro %}\ndata: {a: {{ m(1) }}}\n", vec![]),
        ("{% set parnet = 1 %}\ndata: {a: {{ parnet }}}\n", vec![]),
        (
            "data: {a: {{ item.x }}}\n",
            vec!["unknown-name a.yaml:4:14: nothing here is called `item`"],
        ),
    ] {
        let other = "    - {id: b, inline: \"apiVersion: v1\\nkind: Pod\\nmetadata: {name: b}\"}\n";
        begin(&refused(&one(other), &format!("{MAP}{template}")), &expected, template);
    }
    let included = [
        ("a.yaml", "{% for port in parent.p %}{% include 'b.yaml' %}{% endfor %}"),
        ("b.yaml", ""),
    ];
    let body = format!("{MAP}data: {{a: {{{{ port.x }}}}{{{{ prot.y }}}}}}\n");
    let rule = "  children:\n    - {id: a, template: a.yaml, kinds: [{apiVersion: v1, kind: ConfigMap}]}\n";
    let (loaded, _) = load(&[rule_of("r", "App", rule)], &[included[0], ("b.yaml", &body)]);
    let expected = "unknown-name b.yaml:4:26: nothing here is called `prot`";
    begin(
        &shown(&loaded.problems),
        &[expected],
        "a loop's variable is known in what the loop includes",
    );
}

#[test]
fn every_part_of_a_rule_knows_its_own_names() {
    let group = "    - forEach: {path: \"$.spec.x\", item: ns}\n      let: |\n        b: {{ ns.y }}{{ let.a }}{{ it }}\n      \
                 children:\n        - {id: b, inline: \"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: {{ ns.z }}{{ it }}}\"}\n";
    let status = "  status:\n    fields: |\n      f: {{ conditions.Good }}{{ conditions.Godo }}{{ ns }}\n    conditions:\n      \
                  - type: Good\n        when: [{path: \"$.x\", exists: true}]\n        then: {reason: A, message: \"{{ let.a }}{{ conditions }}\"}\n        \
                  otherwise: {reason: B}\n";
    let rule = one(&format!("{group}{status}  let: |\n    a: {{{{ let.b }}}}{{{{ parent.x }}}}\n"));
    begin(
        &refused(&rule, MAP),
        &[
            "unknown-name r0.yaml:22:11: `let` cannot read itself (",
            "unknown-name r0.yaml:10:36: nothing here is called `it` (known here: parent, children, inputs, rule, let, ns)",
            "unknown-name r0.yaml:14:14: nothing here is called `it`",
            "unknown-name r0.yaml:19:51: `conditions` can be read in `status.fields` alone",
            "unknown-condition r0.yaml:15:34: there is no condition `Godo` in this rule (did you mean `Good`?)",
            "unknown-name r0.yaml:15:55: nothing here is called `ns`",
        ],
        &rule,
    );
}

#[test]
fn a_template_that_nothing_uses_is_told() {
    let files = [
        ("a.yaml", "{% include 'part.yaml' %}\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"),
        ("part.yaml", "{% import 'lib.yaml' as lib %}"),
        ("lib.yaml", ""),
        ("old.yaml", "# no longer\n"),
        ("README.md", "Templates."),
    ];
    let rule =
        "  children:\n    - {id: a, template: a.yaml, kinds: [{apiVersion: v1, kind: Pod}]}\n";
    let (loaded, folder) = load(&[rule_of("r", "App", rule)], &files);
    let warnings = shown(&lint::warnings(&loaded, &folder.templates));
    begin(
        &warnings,
        &["template-unused old.yaml:1:1: no rule uses the template `old.yaml`"],
        "unused",
    );
    let (loaded, folder) = load(&[rule_of("r", "App", rule), rule_of("Bad", "App", rule)], &files);
    assert_eq!(
        lint::warnings(&loaded, &folder.templates),
        [],
        "the bad rule may be the one that uses it"
    );
}

#[test]
fn warnings_are_shown_and_count_only_where_one_is_strict() {
    let files = [
        ("rules/r.yaml", one("")),
        (
            "templates/a.yaml",
            format!("{POD}spec: {{serviceAccountName: {{{{ parent.spec.account }}}}}}\n"),
        ),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = folder(&files);
    let (code, out, error) = run(folder.path(), &["check"]);
    assert_eq!((code, out.as_str()), (0, "1 rule is fine, 0 example parents rendered\n"));
    assert!(
        error.contains("warning[parent-controls-service-account]: whoever may write App objects"),
        "{error}"
    );
    assert!(error.contains("--> templates/a.yaml:4:31"), "{error}");
    assert!(error.contains("\n1 warning\n") && !error.contains("error"), "{error}");
    let (code, out, error) = run(folder.path(), &["check", "--strict"]);
    assert_eq!((code, out.as_str()), (3, ""), "{error}");
}

#[test]
fn what_an_example_makes_illegal_is_shown_where_the_template_writes_it() {
    let parent =
        "apiVersion: x.io/v1\nkind: App\nmetadata: {name: one}\nspec: {name: My Name, tier: a b}\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ parent.spec.name|default('one') }}\n  labels: {tier: {{ parent.spec.tier }}}\n";
    let rule = one("");
    let files =
        [("rules/r.yaml", rule.as_str()), ("rules/p.yaml", parent), ("templates/a.yaml", map)];
    let (code, _, error) = run(folder(&files).path(), &["check"]);
    assert_eq!(code, 3);
    assert!(error.contains("\"My Name\" is no name for a ConfigMap: it has a ' '"), "{error}");
    let named = parent.replace("My Name", "fine");
    let files = [
        ("rules/r.yaml", rule.as_str()),
        ("rules/p.yaml", named.as_str()),
        ("templates/a.yaml", map),
    ];
    let (code, _, error) = run(folder(&files).path(), &["check"]);
    assert_eq!(code, 3);
    assert!(
        error.contains(
            "ConfigMap $.metadata.labels.tier is \"a b\", which cannot be the value of a label"
        ),
        "{error}"
    );
    assert!(error.contains("templates/a.yaml:5:12"), "{error}");
    let itself = "apiVersion: x.io/v1\nkind: App\nmetadata:\n  name: {{ parent.metadata.name }}\n";
    let files =
        [("rules/r.yaml", rule.as_str()), ("rules/p.yaml", parent), ("templates/a.yaml", itself)];
    let (code, _, error) = run(folder(&files).path(), &["check"]);
    assert_eq!(code, 3);
    assert!(
        error.contains("error[own-parent]: `a` renders App.x.io default/one, its own parent"),
        "{error}"
    );
    assert!(error.contains("templates/a.yaml:4:3"), "{error}");
}
