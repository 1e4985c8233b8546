//! What is refused, or warned of, because of how values flow through a rule and what rules do to each other.

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
fn values_of_a_secret_flow_into_secrets_alone() {
    let rule = |more: &str| {
        let secret = SECRET.replace('\n', "\\n");
        one(&format!(
            "    - {{id: creds, inline: \"{secret}\"}}\n    - {{id: plain, inline: \"{}\"}}\n{more}",
            MAP.replace('\n', "\\n")
        ))
    };
    for (head, body, expected) in [
        (MAP, "data: {a: {{ children.creds.metadata.name }}{{ children.creds.type }}}\n", vec![]),
        (MAP, "data: {a: {{ children.plain.data.x }}}\n", vec![]),
        (MAP, "data: {a: {{ children.creds.data|to_json|sha256 }}}\n", vec![]),
        (MAP, "{% if children.creds.data.x is defined %}\ndata: {a: b}\n{% endif %}\n", vec![]),
        (SECRET, "data: {a: {{ children.creds.data.x }}}\n", vec![]),
        (SECRET, "stringData:\n  a: x-{{ children.creds.data.x|b64decode }}\n", vec![]),
        (SECRET, "data: {{ children.creds.data }}\n", vec![]),
        (
            MAP,
            "data: {a: {{ children.creds.data.x }}}\n",
            vec![
                "secret-flow a.yaml:4:14: `children.creds.data.x` is secret, and comes into `data.a` of a ConfigMap (",
            ],
        ),
        (
            SECRET,
            "type: {{ children.creds.data.x }}\n",
            vec![
                "secret-flow a.yaml:4:10: `children.creds.data.x` is secret, and comes into `type` of a Secret",
            ],
        ),
        (
            MAP,
            "data:\n  {% for k, v in children.creds.data|items %}\n  a: {{ v|b64decode }}\n  {% endfor %}\n",
            vec!["secret-flow a.yaml:6:9: `children.creds.data[*]` is secret"],
        ),
        (
            MAP,
            "{% set s = children.creds %}\ndata: {a: {{ s.metadata.name }}, b: {{ s['data']['x.y'] }}}\n",
            vec![
                "secret-flow a.yaml:5:40: `children.creds.data[\"x.y\"]` is secret, and comes into `data.b`",
            ],
        ),
        (
            MAP,
            "data: {a: {{ get(children.creds, 'data.x', '') }}}\n",
            vec!["secret-flow a.yaml:4:14:"],
        ),
        (
            MAP,
            "data: {a: {{ children.creds|to_json }}}\n",
            vec!["secret-flow a.yaml:4:14: `children.creds` is secret"],
        ),
        (
            MAP,
            "data: {a: {{ let.dsn }}, b: {{ let.hash }}, c: {{ let.name }}}\n",
            vec![
                "secret-flow a.yaml:4:14: `children.creds.data.x` (through `let.dsn`) is secret, and comes into `data.a`",
            ],
        ),
        (
            MAP,
            "{% macro m(v) %}{{ v }}{% endmacro %}\ndata: {a: {{ m(children.creds.data.x) }}}\n",
            vec!["secret-flow a.yaml:4:20:"],
        ),
        (
            MAP,
            "---\napiVersion: v1\nkind: Secret\nmetadata: {name: t}\ndata: {a: {{ children.creds.data.x }}}\n",
            vec![],
        ),
    ] {
        let lets = "  let: |\n    name: {{ children.creds.metadata.name }}\n    dsn: db:{{ children.creds.data.x|b64decode }}@h\n    \
                    hash: {{ children.creds.data.x|sha256 }}\n";
        begin(&refused(&rule(lets), &format!("{head}{body}")), &expected, body);
    }
    let status = "  status:\n    fields: |\n      f: {{ children.creds.data.x }}\n      g: {{ children.creds.metadata.uid }}\n    conditions:\n      \
                  - type: Good\n        when: [{path: \"$.x\", exists: true}]\n        then: {reason: A, message: \"is {{ children.creds.data.x }}\"}\n        \
                  otherwise: {reason: B}\n";
    begin(
        &refused(&rule(status), MAP),
        &[
            "secret-flow r0.yaml:12:13: `children.creds.data.x` is secret, and comes into the status (",
            "secret-flow r0.yaml:17:43: `children.creds.data.x` is secret, and comes into the message of a condition (",
        ],
        "status",
    );
    let copy = rule_of("r", "v1 Secret", "  children:\n    - {id: a, template: a.yaml}\n");
    assert_eq!(refused(&copy, &format!("{SECRET}data: {{{{ parent.data }}}}\n")), [""; 0]);
    begin(
        &refused(&copy, &format!("{MAP}data: {{{{ parent.data }}}}\n")),
        &["secret-flow a.yaml:4:10: `parent.data`"],
        "parent",
    );
}

#[test]
fn a_name_does_not_change_with_every_edit() {
    for (template, expected) in [
        ("metadata: {name: a-{{ parent.metadata.uid }}}\n", vec![]),
        ("metadata: {name: a-{{ parent.spec.generation }}}\n", vec![]),
        (
            "metadata: {name: a-{{ parent.metadata.generation }}}\n",
            vec![
                "unstable-name a.yaml:3:23: `parent.metadata.generation` changes with every edit, and the name of `a` with it (",
            ],
        ),
        (
            "metadata:\n  name: a-{{ (let.v ~ 'x')|sha256 }}\n",
            vec![
                "unstable-name a.yaml:4:15: `parent.metadata.resourceVersion` (through `let.v`) changes",
            ],
        ),
    ] {
        let rule = one("  let: |\n    v: {{ parent.metadata.resourceVersion }}\n");
        begin(
            &refused(&rule, &format!("apiVersion: v1\nkind: Pod\n{template}")),
            &expected,
            template,
        );
    }
    let field = format!("{POD}spec: {{nodeName: {{{{ parent.metadata.generation }}}}}}\n");
    let expected = "unstable-field a.yaml:4:20: `parent.metadata.generation` changes with every edit, and `spec.nodeName` of `a` with it (";
    begin(&warned(&one(""), &field), &[expected], "a field");
    let status = "  status:\n    fields: |\n      seen: {{ parent.metadata.generation }}\n";
    assert_eq!(warned(&one(status), POD), [""; 0], "a status says which edit it is about");
}

#[test]
fn names_and_labels_that_no_server_takes_are_refused_where_they_are_written() {
    for (template, expected) in [
        (
            "kind: ConfigMap\nmetadata:\n  name: my.name\n  labels: {a.b/c: \"\", d: E_f}\n  annotations: {g: any text at all}\n",
            vec![],
        ),
        (
            "kind: ConfigMap\nmetadata: {name: my_name}\n",
            vec![
                "illegal-name a.yaml:3:18: \"my_name\" is no name for a ConfigMap: it has a '_'; lower-case letters, digits, `-` and `.` are allowed",
            ],
        ),
        (
            "kind: Service\nmetadata: {name: my.name}\n",
            vec!["illegal-name a.yaml:3:18: \"my.name\" is no name for a Service"],
        ),
        (
            "kind: ConfigMap\nmetadata: {name: a, namespace: 'a.b'}\n",
            vec!["illegal-name a.yaml:3:32: \"a.b\" is no name for a namespace"],
        ),
        (
            "kind: Pod\nmetadata:\n  name: a\n  labels:\n    b: c d\n    /e: f\n  annotations: {g h: i}\nspec: {x: {metadata: {labels: {j: '-k'}}}}\n",
            vec![
                "illegal-label a.yaml:6:8: \"c d\" cannot be the value of a label: it has a ' '",
                "illegal-label a.yaml:7:5: \"/e\" cannot be the key of a label",
                "illegal-annotation a.yaml:8:17: \"g h\" cannot be the key of an annotation",
                "illegal-label a.yaml:9:35: \"-k\" cannot be the value of a label: it must begin and end",
            ],
        ),
        ("kind: ConfigMap\nmetadata: {name: A{{ parent.x }}}\n", vec![]),
    ] {
        begin(&refused(&one(""), &format!("apiVersion: v1\n{template}")), &expected, template);
    }
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: 1a}\n";
    begin(
        &warned(&one(""), service),
        &["service-name a.yaml:3:18: the Service name `1a` begins with a digit"],
        service,
    );
}

#[test]
fn what_a_parent_gets_power_over_is_told() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: r}\n";
    let hook = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: r}\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: r}\n";
    for (head, body, expected) in [
        (
            POD,
            "spec: {serviceAccountName: {{ parent.metadata.name }}-{{ parent.metadata.uid }}}\n",
            vec![],
        ),
        (POD, "spec: {serviceAccountName: {{ {'small': 'a'}[parent.spec.size] }}}\n", vec![]),
        (
            POD,
            "spec: {serviceAccountName: {{ parent.spec.account }}}\n",
            vec![
                "parent-controls-service-account a.yaml:4:31: whoever may write a App decides whose rights the pods have: \
             `parent.spec.account` becomes `spec.serviceAccountName` (",
            ],
        ),
        (
            POD,
            "spec: {serviceAccountName: {{ let.account }}}\n",
            vec![
                "parent-controls-service-account a.yaml:4:31: whoever may write a App decides whose rights the pods have: \
             `parent.spec.account` (through `let.account`) becomes",
            ],
        ),
        (
            POD,
            "spec:\n  hostNetwork: {{ parent.spec.x }}\n  containers:\n    - name: a\n      securityContext:\n        privileged: {{ parent.spec.y }}\n        \
               capabilities: {add: [{{ parent.spec.z }}]}\n",
            vec![
                "parent-controls-privileges a.yaml:5:19:",
                "parent-controls-privileges a.yaml:9:24:",
                "parent-controls-privileges a.yaml:10:33:",
            ],
        ),
        (
            deployment,
            "spec: {template: {spec: {volumes: [{name: a, hostPath: {path: \"/data/{{ parent.spec.x }}\"}}]}}}\n",
            vec!["parent-controls-host-path a.yaml:4:73:"],
        ),
        (
            deployment,
            "spec:\n  replicas: {{ parent.spec.replicas }}\n  template:\n    spec: {{ parent.spec.pod }}\n",
            vec![
                "parent-controls-pod a.yaml:7:14: whoever may write a App decides everything in it, host paths and privileges included: \
             `parent.spec.pod` becomes `spec.template.spec`",
            ],
        ),
        (
            POD,
            "spec:\n  containers: {{ parent.spec.containers|default([]) }}\n",
            vec!["parent-controls-pod a.yaml:5:18:"],
        ),
        (
            POD,
            "spec:\n  containers: [{name: a, image: {{ parent.spec.image }}, env: {{ parent.spec.env }}}]\n  nodeSelector: {{ parent.spec.n }}\n",
            vec![],
        ),
        (
            POD,
            "{% set list = [{'name': parent.spec.x}] %}\nspec:\n  containers: {{ list }}\n",
            vec![],
        ),
        (
            role,
            "subjects: [{kind: User, name: {{ parent.spec.user }}}]\nroleRef: {kind: Role, name: {{ parent.metadata.name }}}\n",
            vec![
                "parent-controls-rbac a.yaml:4:34: whoever may write a App decides who may do what: `parent.spec.user` becomes `subjects[*].name`",
            ],
        ),
        (
            role,
            "subjects:\n{% for m in parent.spec.members %}\n  - {kind: User, name: {{ m }}}\n{% endfor %}\n",
            vec!["parent-controls-rbac a.yaml:6:27:"],
        ),
        (
            hook,
            "webhooks:\n  - name: a\n    clientConfig: {url: \"https://{{ parent.spec.host }}\"}\n",
            vec!["parent-controls-webhook a.yaml:6:37:"],
        ),
        (MAP, "data: {privileged: {{ parent.spec.x }}, hostPath: {{ parent.spec.y }}}\n", vec![]),
    ] {
        let rule = one("  let: |\n    account: {{ parent.spec.account }}\n");
        begin(&warned(&rule, &format!("{head}{body}")), &expected, body);
    }
    let group = "  children:\n    - forEach: {path: \"$.spec.users\", item: user}\n      children:\n        - {id: a, template: a.yaml}\n";
    let template = format!("{role}subjects: [{{kind: User, name: {{{{ user.name }}}}}}]\n");
    let expected = "parent-controls-rbac a.yaml:4:34: whoever may write a App decides who may do what: \
                    `parent.spec.users[*].name` (through `user.name`) becomes";
    begin(&warned(&rule_of("r", "App", group), &template), &[expected], "an item");
}

#[test]
fn a_job_that_goes_away_needs_something_that_remembers_it() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  ttlSecondsAfterFinished: 60\n";
    let rule = |when: &str| {
        let children = format!(
            "  children:\n    - id: a\n      template: a.yaml\n      when: [{when}]\n  let: |\n    done: {{{{ parent.status.done }}}}\n"
        );
        rule_of("r", "App", &children)
    };
    let warning = "unguarded-job a.yaml:5:28: the Job `a` is removed some time after it finished";
    for (when, template, expected) in [
        ("", job.to_owned(), vec![warning]),
        ("", job.replace("60", "{{ parent.spec.ttl }}"), vec!["unguarded-job a.yaml:5:31:"]),
        ("{path: \"$.spec.restore\", exists: true}", job.to_owned(), vec![warning]),
        ("{path: \"$.status.done\", exists: false}", job.to_owned(), vec![]),
        (
            "{not: {path: \"$.status.done\", equals: {path: \"$.spec.restore\"}}}",
            job.to_owned(),
            vec![],
        ),
        ("{of: let, path: \"$.done\", exists: false}", job.to_owned(), vec![]),
        ("", job.replace("  ttlSecondsAfterFinished: 60", "  suspend: true"), vec![]),
    ] {
        begin(&warned(&rule(when), &template), &expected, when);
    }
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
        error.contains("warning[parent-controls-service-account]: whoever may write a App"),
        "{error}"
    );
    assert!(error.contains("--> templates/a.yaml:4:31"), "{error}");
    assert!(error.contains("\nwarning: 1 warning\n") && !error.contains("error"), "{error}");
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
        error.contains("error[child-is-parent]: `a` is the parent itself: App.x.io default/one"),
        "{error}"
    );
    assert!(error.contains("templates/a.yaml:4:3"), "{error}");
}
