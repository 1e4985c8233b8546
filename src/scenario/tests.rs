//! The runner itself: wrong files, unmet expectations, what is checked unasked.

use super::*;
use crate::rule::{self, Folder};
use std::collections::BTreeMap;

const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: greeting}
spec:
  parent: {apiVersion: v1, kind: ConfigMap}
  children:
    - id: copy
      when: [{path: "$.data.greeting", exists: true}]
      inline: |
        apiVersion: v1
        kind: Service
        metadata: {name: "{{ parent.metadata.name }}-copy"}
        spec:
          greeting: {{ parent.data.greeting }}
          ports: [{name: http, port: 80}, {name: dns, port: 53}]
    - id: late
      needs: [copy]
      inline: |
        apiVersion: v1
        kind: ServiceAccount
        metadata: {name: late}
  status:
    fields: |
      greeting: {{ parent.data.greeting|default("none") }}
"#;

const PARENT: &str = "parent: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, \
                      data: {greeting: hi}}\n";

fn rules(text: &str) -> Loaded {
    let folder = Folder {
        rules: vec![Source::new("rules/greeting.yaml", text)],
        templates: Arc::new(BTreeMap::new()),
    };
    let loaded = rule::load(&folder);
    assert_eq!(loaded.problems, []);
    loaded
}

fn source(text: &str) -> Arc<Source> {
    Source::new("s.yaml", text)
}

/// The mistakes of a file, as one line each.
fn mistakes(text: &str) -> Vec<String> {
    let (_, problems) = load(&[source(text)], &rules(RULE));
    problems.iter().map(ToString::to_string).collect()
}

/// What the scenarios of a file run into, under a rule.
fn ran_with(rule: &str, text: &str) -> Vec<Ran> {
    let (scenarios, problems) = load(&[source(text)], &rules(rule));
    assert_eq!(problems, []);
    scenarios.iter().map(run).collect()
}

fn ran(text: &str) -> Vec<Ran> {
    ran_with(RULE, text)
}

/// A scenario of one step about the parent above.
fn with(rest: &str) -> String {
    format!("about: one\n{PARENT}{rest}")
}

/// Everything that the failures of a file say.
fn failures(text: &str) -> String {
    let all = ran(text);
    let failures = all.iter().flat_map(|ran| &ran.steps).flat_map(|step| &step.failures);
    let said: Vec<_> = failures.map(|failure| format!("{}\n{failure}", failure.place)).collect();
    said.concat()
}

#[test]
fn unknown_keys_and_names_are_refused_with_place_and_remedy() {
    let wrong = with(
        "expct: {}\nexpect:\n  action: {}\n  absent: [lat]\n  actions: {coppy: create, copy: mkae}\n",
    );
    assert_eq!(
        mistakes(&wrong),
        [
            "s.yaml:3:1: unknown field `expct` (did you mean `expect`?)",
            "s.yaml:5:3: unknown field `action` (did you mean `actions`?)",
        ]
    );
    let wrong = with(
        "observed: {copi: ~}\nexpect:\n  absent: [zzz]\n  actions: {coppy: create, copy: mkae, late: 1}\n  \
         conditions: {Redy: True, Ready: {statsu: True}}\n",
    );
    assert_eq!(
        mistakes(&wrong),
        [
            "s.yaml:3:12: unknown child `copi` (did you mean `copy`?)",
            "s.yaml:6:13: unknown child `coppy` (did you mean `copy`?)",
            "s.yaml:6:34: unknown action `mkae` (known here: create, apply, keep, wait, delete, recreate, orphan, refuse)",
            "s.yaml:6:46: expected one of create, apply, keep, wait, delete, recreate, orphan, refuse, found the number 1",
            "s.yaml:5:12: unknown child `zzz` (known here: copy, late)",
            "s.yaml:7:16: unknown condition `Redy` (did you mean `Ready`?)",
            "s.yaml:7:36: unknown field `statsu` (did you mean `status`?)",
        ]
    );
}

#[test]
fn a_scenario_needs_a_parent_that_a_rule_is_for() {
    assert_eq!(mistakes("about: a\n"), ["s.yaml:1:1: field `parent` is missing"]);
    let parent = "{apiVersion: v1, kind: Pod, metadata: {name: a}}";
    assert_eq!(
        mistakes(&format!("about: a\nparent: {parent}\n")),
        ["s.yaml:2:9: no rule is for v1 Pod (rules here: greeting)"]
    );
    assert_eq!(
        mistakes(&format!("about: a\nrule: greting\nparent: {parent}\n")),
        ["s.yaml:2:7: unknown rule `greting` (did you mean `greeting`?)"]
    );
    assert_eq!(
        mistakes(&format!("about: a\nrule: greeting\nparent: {parent}\n")),
        ["s.yaml:3:9: rule `greeting` is for v1 ConfigMap, not for v1 Pod"]
    );
    assert_eq!(
        mistakes("about: a\nparent: {kind: Pod}\n"),
        ["s.yaml:2:9: the parent has no `apiVersion`, no `kind` or no `metadata.name`"]
    );
    assert_eq!(
        mistakes(&with("now: yesterday\nsteps: [{}]\nexpect: {}\n")),
        [
            "s.yaml:5:9: `expect` beside `steps`: it belongs to one of them",
            "s.yaml:3:6: `yesterday` is no time (write it as `2026-01-01T00:00:00Z`)",
        ]
    );
}

#[test]
fn maps_match_in_part_named_lists_by_name_and_null_means_absent() {
    let met = with(
        "expect:\n  actions: {copy: create, late: wait}\n  children:\n    copy:\n      \
         metadata: {name: a-copy}\n      spec: {ports: [{name: dns, port: 53}], other: ~}\n    late: ~\n  \
         status: {greeting: hi, other: ~}\n",
    );
    assert_eq!(failures(&met), "");
    let unmet = with(
        "expect:\n  children:\n    copy:\n      spec:\n        greeting: ~\n        ports:\n          \
         - {name: dns, port: 54}\n          - {name: ftp}\n    late: {}\n",
    );
    let text = failures(&unmet);
    for expected in [
        "s.yaml:7:19\n    children.copy.spec.greeting\n      - (nothing)\n      + \"hi\"\n",
        "s.yaml:9:31\n    children.copy.spec.ports[dns].port\n      - 54\n      + 53\n",
        "s.yaml:10:13\n    children.copy.spec.ports[ftp]\n      - name: ftp\n      + (nothing)\n",
        "s.yaml:11:5\n    children.late: is not rendered: it waits for `copy`, which does not exist yet\n",
    ] {
        assert!(text.contains(expected), "{expected}in:\n{text}");
    }
}

#[test]
fn an_action_that_nobody_expects_fails_unless_it_keeps() {
    let text = failures(&with("expect:\n  actions: {copy: keep}\n"));
    assert!(
        text.contains("s.yaml:4:19\n    actions.copy\n      - \"keep\"\n      + \"create\"\n"),
        "{text}"
    );
    assert!(
        text.contains("s.yaml:4:3\n    actions.late\n      - (nothing)\n      + \"wait\"\n"),
        "{text}"
    );
    let kept = with("steps: [{}, {}, {expect: {actions: {}}}]\n");
    assert_eq!(failures(&kept), "", "what is kept need not be listed");
}

#[test]
fn what_waits_goes_on_in_the_next_step() {
    let steps = "steps:\n  - expect: {actions: {copy: create, late: wait}}\n  \
                 - expect: {actions: {late: create}}\n";
    assert_eq!(failures(&with(steps)), "");
}

#[test]
fn the_children_of_a_group_are_named_with_their_item() {
    let rule = "
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: greeting}
spec:
  parent: {apiVersion: v1, kind: ConfigMap}
  children:
    - forEach: {path: \"$.data\", item: entry}
      children:
        - id: copy
          inline: |
            apiVersion: v1
            kind: Service
            metadata: {name: {{ entry.key }}}
            spec: {greeting: {{ entry.value }}}
";
    let text = with(
        "steps:
  - expect:
      actions: {\"copy[greeting]\": create}
      children: {\"copy[greeting]\": {spec: {greeting: hi}}}
  - observed: {\"copy[greeting]\": {spec: {greeting: no}}}
    parent: {data: {other: ho}}
    expect: {actions: {\"copy[greeting]\": apply, \"copy[other]\": create}}
  - parent: {data: {greeting: ~}}
    expect: {actions: {\"copy[greeting]\": delete}}
  - parent: {data: {other: ~}}
    expect: {actions: {\"copy[other]\": delete}, absent: [copy]}
",
    );
    let all = ran_with(rule, &text);
    assert!(all[0].passed(), "{}", summary(&all));
}

#[test]
fn an_observed_child_that_cannot_exist_yet_is_said_to() {
    let text = failures(&with("observed: {late: {metadata: {labels: {a: b}}}}\n"));
    let expected = "s.yaml:3:18\n    observed.late: nothing of `late` exists at this point: the rule \
                    does not render it, or it waits\n";
    assert_eq!(text, expected);
}

#[test]
fn a_mistake_must_be_expected_and_an_expected_one_must_be_there() {
    let rule = RULE.replace("exists: true", "exists: false");
    let text = format!("about: one\n{}", PARENT.replace("greeting: hi", "other: hi"));
    let all = ran_with(&rule, &text);
    let said = all[0].steps[0].failures[0].to_string();
    assert!(
        said.starts_with("    problems: nobody expects this mistake: rules/greeting.yaml:"),
        "{said}"
    );
    let expects = format!("{text}expect: {{problems: [parent.data.greeting]}}\n");
    assert!(ran_with(&rule, &expects)[0].passed());
    let text = failures(&with("expect: {problems: [nothing like it]}\n"));
    assert_eq!(text, "s.yaml:3:21\n    problems\n      - \"nothing like it\"\n      + (nothing)\n");
}

#[test]
fn a_rule_that_writes_again_in_the_second_pass_is_caught() {
    let rule = RULE.replace(
        "metadata: {name: late}",
        "metadata: {name: late}\n        data: {seen: {{ \"yes\" if children.copy is defined else \"no\" }}}",
    );
    let rule = rule.replace("      needs: [copy]\n", "");
    let all = ran_with(&rule, &with(""));
    let failures = &all[0].steps[0].failures;
    let said: Vec<_> = failures.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["    second pass: the second pass writes late (ServiceAccount/late)\n"]);
}

#[test]
fn update_rewrites_what_is_wrong_and_nothing_else() {
    let wrong = "\
# A comment at the top.
about:   one   # spaces stay
parent: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {greeting: hi}}
expect:
  actions: {copy: create}   # one is missing
  children:
    copy:
      # why this matters
      spec:
        greeting: |
          two
          lines
        ports:
          - name: http   # stays
            port: 81
          - {name: dns, port: 53}
        other: gone
    late:
      metadata: {}
  absent:
    - copy
    - late
  conditions: {Ready: True, Stalled: {status: True, reason: \"Ready\"}}
  status:
    greeting:
";
    let right = "\
# A comment at the top.
about:   one   # spaces stay
parent: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {greeting: hi}}
expect:
  actions: {copy: create, late: wait}   # one is missing
  children:
    copy:
      # why this matters
      spec:
        greeting: hi
        ports:
          - name: http   # stays
            port: 80
          - {name: dns, port: 53}
        other: ~
    late: ~
  absent: [late]
  conditions: {Ready: \"False\", Stalled: {status: \"False\", reason: Waiting}}
  status:
    greeting: hi
";
    let all = ran(wrong);
    let failures = all.iter().flat_map(|ran| &ran.steps).flat_map(|step| &step.failures);
    let updated = updated(&source(wrong), failures);
    assert_eq!(updated, right);
    assert!(ran(&updated).iter().all(Ran::passed));
}

#[test]
fn the_summary_and_the_junit_file_are_well_formed_and_stable() {
    let file = format!("{}---\n{}", with(""), with("expect: {status: {greeting: \"<&>\"}}\n"));
    let all = ran(&file);
    assert_eq!(
        summary(&all),
        "ok     s.yaml: one (1 step)\n\
         FAILED s.yaml: one (1 step)\n\n\
         s.yaml:6:29: one\n    status.greeting\n      - \"<&>\"\n      + \"hi\"\n\n\
         2 scenarios, 1 of 2 steps passed\n1 passed, 1 failed\n"
    );
    let xml = junit(&all);
    assert!(xml.contains("<testsuites name=\"kubewright\" tests=\"2\" failures=\"1\">"), "{xml}");
    assert!(xml.contains("&lt;&amp;&gt;"), "{xml}");
    assert_eq!(unclosed(&xml), Vec::<String>::new(), "{xml}");
}

/// Elements that are open at the end of a document; wrong nesting panics.
fn unclosed(xml: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    for tag in xml.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else if !tag.starts_with('?') && !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap().to_owned());
        }
    }
    open
}
