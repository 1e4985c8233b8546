//! Inputs: what a rule reads and never writes, and which parents it is for.

use crate::commands::{folder, run};

const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: page}
spec:
  parent:
    apiVersion: v1
    kind: Pod
    labelSelector: {matchLabels: {page: "yes"}}
    namespaceSelector: {matchExpressions: [{key: closed, operator: DoesNotExist}]}
  let: |
    stem: {{ parent.metadata.name }}
  inputs:
    - {id: settings, apiVersion: v1, kind: ConfigMap, name: "{{ let.stem }}-settings"}
    - {id: extra, apiVersion: v1, kind: ConfigMap, name: "{{ inputs.settings.data.extra | default('') }}", optional: true}
    - id: parts
      apiVersion: v1
      kind: Service
      labelSelector: {matchLabels: {page: "{{ let.stem }}"}}
  children:
    - id: page
      when: [{of: settings, path: "$.data.title", exists: true}]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ let.stem }}}
        data:
          title: {{ inputs.settings.data.title }}
          extra: {{ inputs.extra.data.text if inputs.extra else "none" }}
    - forEach: {of: parts, path: "$", key: "$.metadata.name", item: part}
      children:
        - id: entry
          inline: |
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: {{ let.stem }}-{{ part.metadata.name }}}
            data: {at: {{ part.spec.clusterIP }}}
"#;

const SCENARIOS: &str = r#"
about: inputs come, change and go
parent: &pod {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {page: "yes"}}}
steps:
  - about: nothing is there yet
    expect: {actions: {page: wait}, conditions: {}}
  - about: the settings come
    inputs:
      - &settings {apiVersion: v1, kind: ConfigMap, metadata: {name: a-settings}, data: {title: One, extra: more}}
      - {apiVersion: v1, kind: Service, metadata: {name: front, labels: {page: a}}, spec: {clusterIP: 10.0.0.1}}
      - {apiVersion: v1, kind: Service, metadata: {name: other, labels: {page: b}}, spec: {clusterIP: 10.0.0.2}}
      - {apiVersion: v1, kind: Service, metadata: {name: far, namespace: x, labels: {page: a}}, spec: {clusterIP: 10.0.0.3}}
    expect:
      actions: {page: create, "entry[front]": create}
      children: {page: {data: {title: One, extra: none}}, "entry[front]": {data: {at: 10.0.0.1}}}
  - about: the optional one comes, the list becomes empty
    inputs:
      - *settings
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: more}, data: {text: More}}
    expect:
      actions: {page: apply, "entry[front]": delete}
      children: {page: {data: {extra: More}}}
  - about: without its settings the page stays as it is
    inputs: []
    expect: {actions: {page: wait}}
---
about: a parent without the label is none of ours, and what it had goes
parent: *pod2
steps: []
---
about: neither is one in a namespace that is closed
parent: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {page: "yes"}}}
inputs:
  - {apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {closed: "yes"}}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a-settings}, data: {title: One}}
expect: {actions: {}, absent: [page]}
---
about: one in another namespace that has no such label is
parent: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {page: "yes"}}}
inputs:
  - {apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {open: "yes"}}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a-settings}, data: {title: One}}
expect: {actions: {page: create}}
"#;

const UNLABELLED: &str = r#"
about: a parent that loses its label is none of ours any more, and what it had goes
parent: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {page: "yes"}}}
inputs: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a-settings}, data: {title: One}}]
steps:
  - {expect: {actions: {page: create}}}
  - {parent: {metadata: {labels: {page: ~}}}, expect: {actions: {page: delete}}}
"#;

#[test]
fn inputs_are_read_and_waited_for_and_selectors_say_which_parents_are_meant() {
    let scenarios = SCENARIOS.replace(
        "about: a parent without the label is none of ours, and what it had goes\nparent: *pod2\nsteps: []\n",
        UNLABELLED,
    );
    let folder = folder(&[("rules/page.yaml", RULE), ("scenarios/page.yaml", &scenarios)]);
    let (code, out, error) = run(folder.path(), &["test"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("\n4 passed, 0 failed\n"), "{out}");
}

/// What the author of a wrong rule sees.
#[test]
fn mistakes_in_inputs_are_told_where_they_are() {
    let rule = |inputs: &str, parent: &str| {
        format!(
            "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: a}}\nspec:\n  parent: {{{parent}}}\n  inputs:\n{inputs}\n  children:\n    - id: c\n      inline: |\n        apiVersion: v1\n        kind: ConfigMap\n        metadata: {{name: c}}\n        data: {{a: {{{{ inputs.a.data.x }}}}}}\n"
        )
    };
    let pod = "apiVersion: v1, kind: Pod";
    for (inputs, parent, told) in [
        (
            "    - {id: a, apiVersion: v1, kind: Secret}",
            pod,
            "input `a` does not say which objects",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, name: x, labelSelector: {}}",
            pod,
            "input `a` has both `name` and `labelSelector`",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, labelSelector: {}, optional: true}",
            pod,
            "input `a` is a list, which is never missing",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, name: x, namespaces: all}",
            pod,
            "input `a` is one object, which is in one namespace",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, labelSelector: {}, namespaces: all, namespace: x}",
            pod,
            "input `a` says twice in which namespaces it is",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, name: \"{{ inputs.b.data.x }}\"}\n    - {id: b, apiVersion: v1, kind: Secret, name: x}",
            pod,
            "`inputs.b` is not known when this input is looked up",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, name: x}\n    - {id: b, apiVersion: v1, kind: Secret, name: x}",
            pod,
            "nothing reads the input `b`",
        ),
        (
            "    - {id: c, apiVersion: v1, kind: Secret, name: x}",
            pod,
            "there is an input `c` already",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, labelSelector: {matchExpressions: [{key: a, operator: In}]}}",
            pod,
            "`In` and `NotIn` need values",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, name: x}",
            "apiVersion: v1, kind: Pod, labelSelector: {matchLabels: {a: \"{{ let.x }}\"}}",
            "which parents a rule is for cannot be computed",
        ),
        (
            "    - {id: a, apiVersion: v1, kind: Secret, name: x}",
            "apiVersion: v1, kind: Pod, kinds: [{apiVersion: apps/v1, kind: Deployment}]",
            "`parent` has both a kind and `kinds`",
        ),
    ] {
        let folder = folder(&[("rules/a.yaml", &rule(inputs, parent))]);
        let (code, out, error) = run(folder.path(), &["check"]);
        assert_eq!(code, 3, "{inputs}: {out}");
        assert!(error.contains(told) || out.contains(told), "{inputs}\n{out}{error}");
    }
}

/// Whoever may create a parent must not reach further than the rule's author allowed.
#[test]
fn a_parent_chooses_no_input_outside_of_its_namespace() {
    let rule = |more: &str| {
        format!(
            r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: a}}
spec:
  {more}
  parent: {{apiVersion: v1, kind: Pod}}
  inputs: [{{id: a, apiVersion: v1, kind: ConfigMap, name: x, namespace: "{{{{ parent.metadata.labels.from }}}}"}}]
  children:
    - id: c
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {{name: c}}
        data: {{a: {{{{ inputs.a.data.x }}}}}}
"#
        )
    };
    let scenario = |expect: &str| {
        format!(
            "about: a\nparent: {{apiVersion: v1, kind: Pod, metadata: {{name: a, labels: {{from: kube-system}}}}}}\ninputs: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x, namespace: kube-system}}, data: {{x: one}}}}]\nexpect: {expect}\n"
        )
    };
    for (more, expect) in [
        ("", "{actions: {}, problems: [outside of the parent's namespace]}"),
        ("crossNamespace: true", "{actions: {c: create}, children: {c: {data: {a: one}}}}"),
    ] {
        let (rule, scenario) = (rule(more), scenario(expect));
        let folder = folder(&[("rules/a.yaml", &rule), ("scenarios/a.yaml", &scenario)]);
        let (code, out, error) = run(folder.path(), &["test"]);
        assert_eq!((code, error.as_str()), (0, ""), "{out}");
    }
}

/// A Secret that is read may be copied into a Secret, and shown only if the rule says so.
#[test]
fn values_of_secret_inputs_flow_into_secrets_alone() {
    for (more, kind, field, refused) in [
        ("", "Secret", "data", false),
        ("", "ConfigMap", "data", true),
        ("reveal: true", "ConfigMap", "data", false),
    ] {
        for (input, read) in
            [("name: x", "inputs.a.data.token"), ("labelSelector: {}", "inputs.a[0].data.token")]
        {
            let rule = format!(
                "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: a}}\nspec:\n  parent: {{apiVersion: v1, kind: Pod}}\n  {more}\n  inputs: [{{id: a, apiVersion: v1, kind: Secret, {input}}}]\n  children:\n    - id: c\n      inline: |\n        apiVersion: v1\n        kind: {kind}\n        metadata: {{name: c}}\n        {field}: {{t: {{{{ {read} }}}}}}\n"
            );
            let folder = folder(&[("rules/a.yaml", &rule)]);
            let (code, out, error) = run(folder.path(), &["check"]);
            assert_eq!(error.contains("error[secret-flow]"), refused, "{rule}\n{out}{error}");
            assert_eq!(code, if refused { 3 } else { 0 }, "{rule}\n{out}{error}");
        }
    }
}
