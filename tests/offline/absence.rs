//! What is not there, or not meant, and what must not come of that: inputs that are lost, parents that a rule is not for,
//! children that come after others.

use crate::commands::{folder, run};

const DEFAULTS: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: page}
spec:
  parent: {apiVersion: v1, kind: Pod}
  inputs:
    - {id: settings, apiVersion: v1, kind: ConfigMap, name: settings}
    - {id: more, apiVersion: v1, kind: ConfigMap, name: "{{ get(inputs.settings, 'data.more', '') }}", optional: true}
  let: |
    plain: a
  children:
    - id: copy
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: copy}
        data: {{ inputs.settings.data|default({}) }}
    - id: guarded
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: guarded}
        data: {a: {{ inputs.settings.data.a if inputs.settings is defined else fail("lost") }}}
    - id: second
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: second}
        data: {more: {{ inputs.more.data.a if inputs.more else "none" }}}
    - forEach: {path: "$.spec.containers", key: "$.name"}
      let: |
        a: {{ get(inputs.settings, "data.a", "") }}
      children:
        - id: each
          inline: |
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: each-{{ item.name }}}
            data: {a: {{ let.a }}}
"#;

const LOST: &str = r#"
about: whatever a template would put in its place, an input that is lost is waited for
parent: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: x}]}}
steps:
  - inputs:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "1", more: more}}
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: more}, data: {a: "2"}}
    expect:
      actions: {copy: create, guarded: create, second: create, "each[x]": create}
      children: {second: {data: {more: "2"}}}
  - inputs: []
    expect: {actions: {copy: wait, guarded: wait, second: wait, "each[x]": wait}}
"#;

#[test]
fn nothing_stands_in_for_an_input_that_is_lost() {
    let whole = DEFAULTS.replace("plain: a", "plain: {{ inputs.settings.data.a|default(\"\") }}");
    for rule in [DEFAULTS, &whole] {
        let lost =
            if rule == DEFAULTS { LOST } else { &LOST.replace("\"each[x]\": wait", "each: wait") };
        let folder = folder(&[("rules/a.yaml", rule), ("scenarios/a.yaml", lost)]);
        let (code, out, error) = run(folder.path(), &["test"]);
        assert_eq!((code, error.as_str()), (0, ""), "{out}");
    }
}

const LABELLED: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: labelled}
spec:
  parent: {apiVersion: v1, kind: Pod, labelSelector: {matchLabels: {page: "yes"}}}
  let: |
    page: {{ parent.metadata.labels.page }}
  inputs:
    - {id: settings, apiVersion: v1, kind: ConfigMap, name: "{{ let.page }}-{{ parent.metadata.labels.page }}"}
  children:
    - id: page
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: page}
        data: {page: {{ let.page }}, more: {{ inputs.settings.data.more }}}
"#;

const UNLABELLED: &str = r#"
about: nothing is asked of a parent that the rule is not for
parent: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {page: "yes"}}}
steps:
  - inputs: [{apiVersion: v1, kind: ConfigMap, metadata: {name: yes-yes}, data: {more: "1"}}]
    expect: {actions: {page: create}}
  - about: what it had goes although neither `let` nor the input could be computed any more
    parent: {metadata: {labels: ~}}
    expect: {actions: {page: delete}, absent: [page], problems: []}
"#;

#[test]
fn a_parent_that_the_rule_is_not_for_is_asked_nothing() {
    let folder = folder(&[("rules/a.yaml", LABELLED), ("scenarios/a.yaml", UNLABELLED)]);
    let (code, out, error) = run(folder.path(), &["test"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
}

const ONE_AFTER_THE_OTHER: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: order}
spec:
  parent: {apiVersion: v1, kind: Pod}
  children:
    - {id: label, patch: {target: parent}, inline: "metadata: {labels: {seen: {{ parent.metadata.name }}}}"}
    - id: first
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: first}
    - id: second
      needs: [first]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: second}
        data: {a: {{ parent.spec.nodeNmae }}}
"#;

#[test]
fn what_comes_after_others_is_checked_and_shown_too() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: node, containers: [{name: x, image: x}]}}\n";
    let wrong = folder(&[("rules/a.yaml", ONE_AFTER_THE_OTHER), ("rules/pod.yaml", pod)]);
    let (code, _, error) = run(wrong.path(), &["check"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("rules/a.yaml:20:"), "{error}");

    let right = ONE_AFTER_THE_OTHER.replace("nodeNmae", "nodeName");
    let right = folder(&[("rules/a.yaml", &right), ("rules/pod.yaml", pod)]);
    let (code, out, error) = run(right.path(), &["render"]);
    assert_eq!((code, error.as_str()), (0, ""));
    for shown in [
        "# rule order, child label: an edit of Pod default/a\n",
        "    seen: a\n",
        "  name: second\n",
    ] {
        assert!(out.contains(shown), "{shown} in:\n{out}");
    }
}
