//! Warnings: powers that are given away, Jobs that run again, fields that change with every edit.

use super::{MAP, POD, begin, one, refused, rule_of, warned};

const ROLE: &str =
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: r}\n";
const HOOK: &str = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: r}\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: r}\n";

const POWERS: &[(&str, &str, &[&str])] = &[
    (
        POD,
        "spec: {serviceAccountName: {{ parent.metadata.name }}-{{ parent.metadata.uid }}}\n",
        &[],
    ),
    (POD, "spec: {serviceAccountName: {{ {'small': 'a'}[parent.spec.size] }}}\n", &[]),
    (
        POD,
        "spec: {serviceAccountName: {{ parent.spec.account }}}\n",
        &[
            "parent-controls-service-account a.yaml:4:31: whoever may write App objects decides whose rights the pods have: \
             `parent.spec.account` becomes `spec.serviceAccountName` (",
        ],
    ),
    (
        POD,
        "spec: {serviceAccountName: {{ let.account }}}\n",
        &[
            "parent-controls-service-account a.yaml:4:31: whoever may write App objects decides whose rights the pods have: \
             `parent.spec.account` (through `let.account`) becomes",
        ],
    ),
    (
        POD,
        "spec:\n  hostNetwork: {{ parent.spec.x }}\n  containers:\n    - name: a\n      securityContext:\n        privileged: {{ parent.spec.y }}\n        \
               capabilities: {add: [{{ parent.spec.z }}]}\n",
        &[
            "parent-controls-privileges a.yaml:5:19:",
            "parent-controls-privileges a.yaml:9:24:",
            "parent-controls-privileges a.yaml:10:33:",
        ],
    ),
    (
        DEPLOYMENT,
        "spec: {template: {spec: {volumes: [{name: a, hostPath: {path: \"/data/{{ parent.spec.x }}\"}}]}}}\n",
        &["parent-controls-host-path a.yaml:4:73:"],
    ),
    (
        DEPLOYMENT,
        "spec:\n  replicas: {{ parent.spec.replicas }}\n  template:\n    spec: {{ parent.spec.pod }}\n",
        &[
            "parent-controls-pod a.yaml:7:14: whoever may write App objects decides everything in it, host paths and privileges included: \
             `parent.spec.pod` becomes `spec.template.spec`",
        ],
    ),
    (
        POD,
        "spec:\n  containers: {{ parent.spec.containers|default([]) }}\n",
        &["parent-controls-pod a.yaml:5:18:"],
    ),
    (
        POD,
        "spec:\n  containers: [{name: a, image: {{ parent.spec.image }}, env: {{ parent.spec.env }}}]\n  nodeSelector: {{ parent.spec.n }}\n",
        &[],
    ),
    (POD, "{% set list = [{'name': parent.spec.x}] %}\nspec:\n  containers: {{ list }}\n", &[]),
    (
        ROLE,
        "subjects: [{kind: User, name: {{ parent.spec.user }}}]\nroleRef: {kind: Role, name: {{ parent.metadata.name }}}\n",
        &[
            "parent-controls-rbac a.yaml:4:34: whoever may write App objects decides who may do what: `parent.spec.user` becomes `subjects[*].name`",
        ],
    ),
    (
        ROLE,
        "subjects:\n{% for m in parent.spec.members %}\n  - {kind: User, name: {{ m }}}\n{% endfor %}\n",
        &["parent-controls-rbac a.yaml:6:27:"],
    ),
    (
        HOOK,
        "webhooks:\n  - name: a\n    clientConfig: {url: \"https://{{ parent.spec.host }}\"}\n",
        &["parent-controls-webhook a.yaml:6:37:"],
    ),
    (MAP, "data: {privileged: {{ parent.spec.x }}, hostPath: {{ parent.spec.y }}}\n", &[]),
];

#[test]
fn what_a_parent_gets_power_over_is_told() {
    for (head, body, expected) in POWERS {
        let rule = one("  let: |\n    account: {{ parent.spec.account }}\n");
        begin(&warned(&rule, &format!("{head}{body}")), expected, body);
    }
}

#[test]
fn an_item_of_the_parent_is_the_parents() {
    let group = "  children:\n    - forEach: {path: \"$.spec.users\", item: user}\n      children:\n        - {id: a, template: a.yaml}\n";
    let template = format!("{ROLE}subjects: [{{kind: User, name: {{{{ user.name }}}}}}]\n");
    let expected = "parent-controls-rbac a.yaml:4:34: whoever may write App objects decides who may do what: \
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
    let expected = "unstable-field a.yaml:4:21: `parent.metadata.generation` changes with every edit, and `spec.nodeName` of `a` with it (";
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
