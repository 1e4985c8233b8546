//! What the reference page says before its tables.
//!
//! In: nothing. Out: texts and examples, which a test renders.

/// A section.
pub(super) struct Lesson {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    pub(super) examples: &'static [Example],
    /// Rendered as `status.fields` is.
    pub(super) lenient: bool,
    /// Whether the examples include [`FILES`].
    pub(super) shows_files: bool,
}

/// A body and what it gives.
pub(super) struct Example {
    pub(super) written: &'static str,
    pub(super) seen: Seen,
}

/// What a body gives.
pub(super) enum Seen {
    /// This value.
    Json(&'static str),
    /// An error with this message.
    Refused(&'static str),
    /// Nothing yet.
    Waits(&'static str),
}

const fn gives(written: &'static str, json: &'static str) -> Example {
    Example { written, seen: Seen::Json(json) }
}

const fn refused(written: &'static str, message: &'static str) -> Example {
    Example { written, seen: Seen::Refused(message) }
}

const fn waits(written: &'static str, what: &'static str) -> Example {
    Example { written, seen: Seen::Waits(what) }
}

pub(super) const INTRODUCTION: &str = "\
# Templates

Generated from the program by `kubewright schema --templates`. Templates are YAML with expressions in it, in the language of
Jinja: `{{ expression }}` is a value, `{% if … %}`, `{% for … %}`, `{% set … %}` and `{% macro … %}` are statements, and
`{# … #}` is a comment. A line that holds nothing but statements disappears. The files in the folder of templates, `inline`,
`let` and `status.fields` are written like this; in messages and names, which are single lines, expressions make text.

A template reads `parent`, `let`, `inputs`, `children` (what exists of the rule's other children), the items of the groups around it
by their names, and `rule.name`; in `status.fields` also `conditions`, in messages of conditions `failing`, and in a child that
generates values `generated`. Nothing else: no clock, no randomness, no environment, no files, no
network. The same input gives the same bytes.

The examples below see this:
";

pub(super) const SAMPLE: &str = r#"{
  "parent": {
    "metadata": {"name": "web"},
    "spec": {"replicas": 3, "host": "no", "empty": null, "tags": ["a", "b"], "labels": {"team": "blue"}, "note": "a: b\n- c"}
  },
  "let": {"name": "shop"}
}"#;

/// Files that examples include.
pub(super) const FILES: &[(&str, &str)] = &[
    ("lib/labels.yaml", "labels:\n  app: {{ parent.metadata.name }}\n"),
    ("lib/names.yaml", "{% macro full(part) %}{{ let.name }}_{{ part }}{% endmacro %}\n"),
];

pub(super) const LESSONS: &[Lesson] = &[
    Lesson {
        title: "Values keep their type",
        text: "
A scalar without quotes that is exactly one expression becomes that value: a number, a boolean, a text, a list, a map or null.
In quotes, in a block scalar (`|`, `>`) or with something beside it, it is text. Keys can be expressions, and `<<: {{ … }}`
adds the entries of a map; keys that are written out win.

Values are put in after the YAML was read. So nothing that a parent contains can change the YAML around it, a text such as
`no` or `1e3` stays a text, and nothing needs to be quoted or escaped.",
        examples: &[
            gives("v: {{ parent.spec.replicas }}", r#"{"v": 3}"#),
            gives("v: \"{{ parent.spec.replicas }}\"", r#"{"v": "3"}"#),
            gives("v: {{ parent.metadata.name }}-{{ parent.spec.replicas }}", r#"{"v": "web-3"}"#),
            gives("v: {{ parent.spec.host }}", r#"{"v": "no"}"#),
            gives("v: {{ parent.spec.note }}", r#"{"v": "a: b\n- c"}"#),
            gives("v: {{ parent.spec.tags }}", r#"{"v": ["a", "b"]}"#),
            gives("v: {{ parent.spec.empty }}", r#"{"v": null}"#),
            gives("{{ parent.metadata.name }}: 1", r#"{"web": 1}"#),
            gives("v: {<<: {{ parent.spec.labels }}, app: web}", r#"{"v": {"app": "web", "team": "blue"}}"#),
            gives("v: {{ parent.spec.replicas + 1 if parent.spec.replicas > 2 else 0 }}", r#"{"v": 4}"#),
            refused(
                "v: \"{{ parent.spec.tags }}\"",
                "a list has no text of its own; use `join`, `to_json` or `to_yaml`",
            ),
            gives(
                "v: |\n  name = {{ parent.metadata.name }}\n  {% for tag in parent.spec.tags %}\n  tag = {{ tag }}\n  {% endfor %}",
                r#"{"v": "name = web\ntag = a\ntag = b\n"}"#,
            ),
        ],
        lenient: false,
        shows_files: false,
    },
    Lesson {
        title: "Leaving out",
        text: "
`omit` as the whole value of a key, or as an element of a list, leaves the key or the element out; so does an inline `if`
without `else` whose condition fails. A key whose value came out as nothing is an error, never a silent null.",
        examples: &[
            gives("v: {{ omit }}\nw: 1", r#"{"w": 1}"#),
            gives("v: {{ parent.spec.host if parent.spec.secure }}\nw: 1", r#"{"w": 1}"#),
            gives("v: [1, {{ omit }}]", r#"{"v": [1]}"#),
            gives("{% if parent.spec.secure %}\nv: 1\n{% endif %}\nw: 2", r#"{"w": 2}"#),
            refused(
                "v:\n  {% for tag in parent.spec.tags if tag == \"c\" %}\n  - {{ tag }}\n  {% endfor %}",
                "the value of `v` came out as nothing",
            ),
        ],
        lenient: false,
        shows_files: false,
    },
    Lesson {
        title: "What is not there",
        text: "
`if`, `default`, `is defined` and `get` tolerate missing steps at any depth. Printing, computing, looping and comparing do not:
they are an error with file, line and column. What is below `children` or `parent.status` may still come, so reading it makes
the child wait instead, with a reason; `let` cannot wait. Null is a value: `default` and `get` take it for missing, `is
defined` does not.",
        examples: &[
            refused("v: {{ parent.spec.port }}", "`parent.spec.port` is undefined"),
            refused("v: {{ parent.spec.tls.secret }}", "`parent.spec.tls.secret` is undefined"),
            gives("v: {{ parent.spec.port|default(80) }}", r#"{"v": 80}"#),
            gives("v: {{ get(parent, \"spec.tls.secret\", \"none\") }}", r#"{"v": "none"}"#),
            gives("v: {{ parent.spec.tls.secret is defined }}", r#"{"v": false}"#),
            gives("v: {{ parent.spec.empty is defined }}", r#"{"v": true}"#),
            gives("v: {{ parent.spec.empty|default(1) }}", r#"{"v": 1}"#),
            gives("v: {{ \"tls\" if parent.spec.tls.secret else \"plain\" }}", r#"{"v": "plain"}"#),
            waits("v: {{ children.service.spec.clusterIP }}", "children.service.spec.clusterIP"),
            waits("v: {{ parent.status.first }}", "parent.status.first"),
            gives("v: {{ get(children.service, \"spec.clusterIP\", \"\") }}", r#"{"v": ""}"#),
        ],
        lenient: false,
        shows_files: false,
    },
    Lesson {
        title: "The status",
        text: "
In `status.fields`, and only there, a key whose expression meets something that is not there disappears. Other mistakes are
errors there too: the old fields stay, and the condition `Stalled` tells.",
        examples: &[
            gives("v: {{ children.service.spec.clusterIP }}\nw: 1", r#"{"w": 1}"#),
            gives("v: http://{{ parent.spec.address }}/\nw: 1", r#"{"w": 1}"#),
            gives("v: {{ \"Running\" if conditions.Serving else \"Pending\" }}", r#"{"v": "Pending"}"#),
            gives("v: {{ get(children.web, \"status.replicas\", 0) }}", r#"{"v": 0}"#),
        ],
        lenient: true,
        shows_files: false,
    },
    Lesson {
        title: "Loops, includes and macros",
        text: "
`{% include \"file\" %}` puts a file in, `{% import \"file\" as name %}` and `{% from \"file\" import name %}` bring in its
macros, `{% extends \"file\" %}` and `{% block name %}` fill in what a file leaves open. Names of files are relative to the
folder of templates and stand in quotes; an included file keeps its own indentation, and `|indent(N)` moves what a macro
gives. `|items` of a map gives its keys and values, sorted by key.",
        examples: &[
            gives(
                "v:\n  {% for key, value in parent.spec.labels|items %}\n  - {name: {{ key }}, value: {{ value }}}\n  {% endfor %}",
                r#"{"v": [{"name": "team", "value": "blue"}]}"#,
            ),
            gives(
                "{% macro port(number) %}{port: {{ number }}, name: \"p{{ number }}\"}{% endmacro %}\nv: [{{ port(80) }}]",
                r#"{"v": [{"port": 80, "name": "p80"}]}"#,
            ),
            gives(
                "{% from \"lib/names.yaml\" import full %}\nv: {{ full(\"db\") }}\n{% include \"lib/labels.yaml\" %}",
                r#"{"v": "shop_db", "labels": {"app": "web"}}"#,
            ),
        ],
        lenient: false,
        shows_files: true,
    },
];
