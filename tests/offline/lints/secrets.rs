//! Values of Secrets: where they may come, and where not.

use super::{MAP, SECRET, begin, one, refused, rule_of};

/// A rule with a Secret `creds`, a ConfigMap `plain` and the child `a` whose template is `a.yaml`.
fn with_creds(more: &str) -> String {
    let inline = |text: &str| text.replace('\n', "\\n");
    one(&format!(
        "    - {{id: creds, inline: \"{}\"}}\n    - {{id: plain, inline: \"{}\"}}\n{more}",
        inline(SECRET),
        inline(MAP)
    ))
}

const FLOWS: &[(&str, &str, &[&str])] = &[
    (MAP, "data: {a: {{ children.creds.metadata.name }}{{ children.creds.type }}}\n", &[]),
    (MAP, "data: {a: {{ children.plain.data.x }}}\n", &[]),
    (MAP, "data: {a: {{ children.creds.data|to_json|sha256 }}}\n", &[]),
    (MAP, "{% if children.creds.data.x is defined %}\ndata: {a: b}\n{% endif %}\n", &[]),
    (SECRET, "data: {a: {{ children.creds.data.x }}}\n", &[]),
    (SECRET, "stringData:\n  a: x-{{ children.creds.data.x|b64decode }}\n", &[]),
    (SECRET, "data: {{ children.creds.data }}\n", &[]),
    (
        MAP,
        "data: {a: {{ children.creds.data.x }}}\n",
        &[
            "secret-flow a.yaml:4:14: `children.creds.data.x` is secret, and comes into `data.a` of a ConfigMap (",
        ],
    ),
    (
        SECRET,
        "type: {{ children.creds.data.x }}\n",
        &[
            "secret-flow a.yaml:4:10: `children.creds.data.x` is secret, and comes into `type` of a Secret",
        ],
    ),
    (
        MAP,
        "data:\n  {% for k, v in children.creds.data|items %}\n  a: {{ v|b64decode }}\n  {% endfor %}\n",
        &["secret-flow a.yaml:6:9: `children.creds.data[*]` is secret"],
    ),
    (
        MAP,
        "{% set s = children.creds %}\ndata: {a: {{ s.metadata.name }}, b: {{ s['data']['x.y'] }}}\n",
        &[
            "secret-flow a.yaml:5:40: `children.creds.data[\"x.y\"]` is secret, and comes into `data.b`",
        ],
    ),
    (MAP, "data: {a: {{ get(children.creds, 'data.x', '') }}}\n", &["secret-flow a.yaml:4:14:"]),
    (
        MAP,
        "data: {a: {{ children.creds|to_json }}}\n",
        &["secret-flow a.yaml:4:14: `children.creds` is secret"],
    ),
    (
        MAP,
        "data: {a: {{ let.dsn }}, b: {{ let.hash }}, c: {{ let.name }}}\n",
        &[
            "secret-flow a.yaml:4:14: `children.creds.data.x` (through `let.dsn`) is secret, and comes into `data.a`",
        ],
    ),
    (
        MAP,
        "{% macro m(v) %}{{ v }}{% endmacro %}\ndata: {a: {{ m(children.creds.data.x) }}}\n",
        &["secret-flow a.yaml:4:20:"],
    ),
    (
        MAP,
        "---\napiVersion: v1\nkind: Secret\nmetadata: {name: t}\ndata: {a: {{ children.creds.data.x }}}\n",
        &[],
    ),
];

const COMPARED: &[(&str, &[&str])] = &[
    ("{of: creds, path: \"$.data.x\", equals: eA==}", &[]),
    ("{of: let, path: \"$.u\", equals: x}", &[]),
    ("{of: let, path: \"$.x\", exists: true}", &[]),
    (
        "{of: let, path: \"$.x\", equals: eA==}",
        &[
            "secret-flow r0.yaml:10:11: `children.creds.data.x` (through `let.x`) is secret, and a comparison here quotes it",
        ],
    ),
    (
        "{not: {path: \"$.spec.x\", equals: {of: let, path: \"$.x\"}}}",
        &["secret-flow r0.yaml:10:11:"],
    ),
];

#[test]
fn values_of_a_secret_flow_into_secrets_alone() {
    for (head, body, expected) in FLOWS {
        let lets = "  let: |\n    name: {{ children.creds.metadata.name }}\n    dsn: db:{{ children.creds.data.x|b64decode }}@h\n    \
                    hash: {{ children.creds.data.x|sha256 }}\n";
        begin(&refused(&with_creds(lets), &format!("{head}{body}")), expected, body);
    }
}

#[test]
fn no_status_and_no_message_shows_a_secret() {
    let status = "  status:\n    fields: |\n      f: {{ children.creds.data.x }}\n      g: {{ children.creds.metadata.uid }}\n    conditions:\n      \
                  - type: Good\n        when: [{path: \"$.x\", exists: true}]\n        then: {reason: A, message: \"is {{ children.creds.data.x }}\"}\n        \
                  otherwise: {reason: B}\n";
    begin(
        &refused(&with_creds(status), MAP),
        &[
            "secret-flow r0.yaml:12:13: `children.creds.data.x` is secret, and comes into the status (",
            "secret-flow r0.yaml:17:43: `children.creds.data.x` is secret, and comes into the message of a condition (",
        ],
        "status",
    );
}

#[test]
fn no_comparison_quotes_a_secret() {
    let compared = |when: &str| {
        let lets = "  let: |\n    x: {{ children.creds.data.x }}\n    u: {{ children.creds.metadata.uid }}\n";
        with_creds(&format!(
            "    - id: b\n      inline: \"apiVersion: v1\\nkind: Pod\\nmetadata: {{name: b}}\"\n      when: [{when}]\n{lets}"
        ))
    };
    for (when, expected) in COMPARED {
        begin(&refused(&compared(when), MAP), expected, when);
    }
}

#[test]
fn a_parent_can_be_a_secret() {
    let copy = rule_of("r", "v1 Secret", "  children:\n    - {id: a, template: a.yaml}\n");
    assert_eq!(refused(&copy, &format!("{SECRET}data: {{{{ parent.data }}}}\n")), [""; 0]);
    begin(
        &refused(&copy, &format!("{MAP}data: {{{{ parent.data }}}}\n")),
        &["secret-flow a.yaml:4:10: `parent.data`"],
        "parent",
    );
}
