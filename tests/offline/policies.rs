//! Policies, told by scenarios: what is done with a child in cases in which rules differ.

use crate::commands::{folder, run};

const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: shop}
spec:
  parent: {apiVersion: v1, kind: Pod}
  children:
    - {id: never, update: never, template: config.yaml}
    - {id: anew, update: recreate, template: config.yaml}
    - {id: some, only: [{path: "$.data.a"}], template: config.yaml}
    - {id: kept, onRemove: orphan, when: [{path: "$.metadata.labels.keep", exists: true}], template: config.yaml}
    - id: credentials
      generate: {password: {}, pin: {length: 8, characters: digits}}
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: {{ parent.metadata.name }}-credentials}
        stringData: {url: "db://{{ generated.password }}@x"}
"#;

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ parent.metadata.name }}-{{ self.id }}\"}
data: {a: {{ parent.metadata.labels.a }}, b: {{ parent.metadata.labels.a }}}
";

const SCENARIO: &str = r#"
about: each child is treated as its policies say
parent: {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: one, keep: "yes"}}}
steps:
  - about: all are made
    expect:
      actions: {never: create, anew: create, some: create, kept: create, credentials: create}
      children:
        credentials: {data: {pin: Z2VuZXJhdGU=, password: Z2VuZXJhdGVkLXBhc3N3b3JkLWdlbmVyYXRlZC1wYXM=}}
  - about: the rule wants other values
    parent: {metadata: {labels: {a: two}}}
    expect: {actions: {anew: recreate, some: apply, kept: apply}}
  - about: somebody edits them
    observed:
      never: {data: {a: hand}}
      anew: {data: {a: hand}}
      some: {data: {b: hand}}
      credentials: {data: {pin: MTIzNDU2Nzg=}}
    expect:
      actions: {anew: recreate, credentials: apply}
      children: {credentials: {data: {pin: MTIzNDU2Nzg=}}}
  - about: what is compared is repaired
    observed: {some: {data: {a: hand}}}
    expect: {actions: {some: apply}}
  - about: one is left behind
    parent: {metadata: {labels: {keep: ~}}}
    expect: {actions: {kept: orphan}}
"#;

#[test]
fn each_child_is_treated_as_its_policies_say() {
    let config = |id: &str| CONFIG.replace("{{ self.id }}", id);
    let mut rule = RULE.to_owned();
    let mut files = Vec::new();
    for id in ["never", "anew", "some", "kept"] {
        let name = format!("{id}.yaml");
        let at = rule.find(&format!("id: {id},")).unwrap();
        let from = at + rule[at..].find("config.yaml").unwrap();
        rule.replace_range(from..from + "config.yaml".len(), &name);
        files.push((format!("templates/{name}"), config(id)));
    }
    let mut all = vec![("rules/a.yaml", rule.as_str()), ("scenarios/a.yaml", SCENARIO)];
    all.extend(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let folder = folder(&all);
    let (code, out, error) = run(folder.path(), &["test"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
}

const EDITS: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: defaults}
spec:
  parent: {apiVersion: v1, kind: Namespace, labelSelector: {matchLabels: {team: ops}}}
  children:
    - id: itself
      patch: {target: parent}
      inline: |
        metadata: {labels: {level: {{ parent.metadata.annotations.level | default("low") }}}}
    - id: account
      patch: {target: {apiVersion: v1, kind: ServiceAccount, name: default, namespace: "{{ parent.metadata.name }}"}, type: json}
      inline: |
        operations: [{op: add, path: /automountServiceAccountToken, value: false}]
    - id: after
      needs: [{id: itself, until: exists}]
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: after, namespace: {{ parent.metadata.name }}}
        data: {level: {{ children.itself.metadata.labels.level }}}
"#;

const EDITS_SCENARIO: &str = r"
about: edits are made, kept and taken back
parent: {apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: ops}}}
steps:
  - about: the account is not there yet
    expect: {actions: {itself: apply, account: wait, after: wait}}
  - about: it comes
    inputs: [{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: a}}]
    expect: {actions: {account: apply, after: create}, children: {after: {data: {level: low}}}}
  - about: the level changes
    parent: {metadata: {annotations: {level: high}}}
    expect: {actions: {itself: apply}}
  - about: it is no namespace of that team any more
    parent: {metadata: {labels: {team: ~}}}
    expect: {actions: {itself: delete, after: delete}}
";

#[test]
fn edits_of_other_objects_are_made_kept_and_taken_back() {
    let folder = folder(&[("rules/a.yaml", EDITS), ("scenarios/a.yaml", EDITS_SCENARIO)]);
    let (code, out, error) = run(folder.path(), &["test"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
}

/// What a parent contains gets no mark of ours onto an object that it does not own: not in a map, not by a computed path, not as
/// a value around one.
#[test]
fn an_edit_makes_no_mark_of_ours() {
    let given = |annotations: &str| {
        format!(
            "parent: {{apiVersion: v1, kind: Pod, metadata: {{name: p, annotations: {annotations}}}}}\n"
        )
    };
    let merged = "metadata: {labels: {{ parent.metadata.annotations.more | from_json }}}";
    let at_path = "operations: [{op: add, path: {{ parent.metadata.annotations.more }}, value: x}]";
    let around = "operations: [{op: add, path: /metadata, value: {{ parent.metadata.annotations.more | from_json }}}]";
    for (how, template, more) in [
        ("apply", merged, r#"{\"kubewright.io/owner\": \"x\"}"#),
        ("json", at_path, "/metadata/annotations/kubewright.io~1child"),
        ("json", around, r#"{\"annotations\": {\"kubewright.io/child\": \"x\"}}"#),
    ] {
        let rule = format!(
            "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: a}}\nspec:\n  \
             parent: {{apiVersion: v1, kind: Pod}}\n  children:\n    - id: edit\n      \
             patch: {{target: {{apiVersion: v1, kind: ConfigMap, name: c}}, type: {how}}}\n      \
             inline: |\n        {template}\n"
        );
        let scenario = format!(
            "about: a\n{}inputs: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}}}]\n\
             expect: {{actions: {{}}, problems: [Kubewright's own]}}\n",
            given(&format!("{{more: \"{more}\"}}"))
        );
        let folder = folder(&[("rules/a.yaml", &rule), ("scenarios/a.yaml", &scenario)]);
        let (code, out, error) = run(folder.path(), &["test"]);
        assert_eq!((code, error.as_str()), (0, ""), "{how} {more}: {out}");
    }
}

/// What the author of a wrong rule sees.
#[test]
fn mistakes_in_policies_are_told_where_they_are() {
    for (child, kind, told) in [
        ("update: always", "Secret", "rules/a.yaml:6:30: expected `apply` or"),
        ("generate: {a: {}}", "ConfigMap", "`c` is not one Secret"),
        (
            "generate: {a: {length: 4}}",
            "Secret",
            "a generated value has 8 to 1024 characters, not 4",
        ),
        ("generate: {a-b: {}}", "Secret", "`a-b` is no name for a generated value"),
        ("whenGone: renew", "Secret", "`c` generates nothing"),
        ("patch: {target: parents}", "Secret", "expected `parent` or"),
        (
            "patch: {target: parent}, adopt: never",
            "Secret",
            "`adopt` is for objects of the rule's own",
        ),
        (
            "patch: {target: parent, type: json, onRemove: remove}",
            "Secret",
            "nobody knows what was there before a JSON patch",
        ),
        (
            "adopt: unowned",
            "Secret\\nmetadata: {name: \\\"{{ parent.metadata.name }}\\\"}\\ntype: x\\n#",
            "`c` may be adopted, and its name is computed",
        ),
        (
            "adopt: unowned",
            "Secret\\nmetadata: {name: c, namespace: \\\"{{ parent.metadata.labels.to }}\\\"}\\ntype: x\\n#",
            "`c` may be adopted, and its namespace is computed",
        ),
        ("onRemove: {unwanted: keep}", "Secret", "expected `delete` or"),
        ("onRemove: {parentGone: orphan}", "Secret", "unknown field `parentGone`"),
    ] {
        let rule = format!(
            "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: a}}\nspec:\n  parent: {{apiVersion: v1, kind: Pod}}\n  children: [{{id: c, {child}, inline: \"apiVersion: v1\\nkind: {kind}\\nmetadata: {{name: c}}\"}}]\n"
        );
        let folder = folder(&[("rules/a.yaml", &rule)]);
        let (code, out, error) = run(folder.path(), &["check"]);
        assert_eq!(code, 3, "{child}: {out}");
        let all = format!("{out}{error}");
        assert!(told.split(": ").all(|part| all.contains(part)), "{child}\n{all}");
    }
}

const PREFIX: &str = r"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: new-name}
spec:
  formerly: [old-name]
  resync: 1h
  parent: {apiVersion: v1, kind: Pod}
  children:
    - id: copy
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: copy}
        data: {rule: {{ rule.name }}}
  status: {prefix: Web}
";

/// Several rules may write the status of one kind, each under a prefix; and a renamed rule goes by its oldest name.
#[test]
fn conditions_have_the_prefix_of_their_rule_and_marks_its_oldest_name() {
    let scenario = "about: a\nparent: {apiVersion: v1, kind: Pod, metadata: {name: p}}\nexpect:\n  actions: {copy: create}\n  children: {copy: {metadata: {labels: {kubewright.io/rule: old-name}}, data: {rule: new-name}}}\n  conditions: {WebReady: True, WebStalled: False}\n";
    let folder = folder(&[("rules/a.yaml", PREFIX), ("scenarios/a.yaml", scenario)]);
    let (code, out, error) = run(folder.path(), &["test"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
}

const FAILING: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: parts}
spec:
  parent: {apiVersion: v1, kind: ConfigMap}
  children:
    - forEach: {path: "$.data", item: entry}
      children:
        - id: part
          inline: |
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: part-{{ entry.key }}}
            data: {ok: {{ entry.value }}}
  status:
    conditions:
      - type: Complete
        when: [{of: part, path: "$.*.data.ok", equals: fine}]
        then: {reason: All}
        otherwise: {reason: Some, message: "not fine: {{ failing }}"}
"#;

const FAILING_SCENARIO: &str = r#"
about: what fails is listed, sorted, and at most five
parent: &parent
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: p}
  data: {a: fine, c: x, b: x}
steps:
  - expect:
      actions: {"part[a]": create, "part[b]": create, "part[c]": create}
      conditions: {Complete: {status: False, message: "not fine: b, c"}}
  - parent: {data: {d: x, e: x, f: x, g: x}}
    expect:
      actions: {"part[d]": create, "part[e]": create, "part[f]": create, "part[g]": create}
      conditions: {Complete: {status: False, message: "not fine: b, c, d, e, f, and more"}}
"#;

#[test]
fn what_fails_is_listed_in_a_message() {
    let folder = folder(&[("rules/a.yaml", FAILING), ("scenarios/a.yaml", FAILING_SCENARIO)]);
    let (code, out, error) = run(folder.path(), &["test"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
}
