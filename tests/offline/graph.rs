//! `graph`: the drawing is stable, and one bad rule does not hide the others.

use crate::program::{folder, run};

const TENANT: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: tenant}
spec:
  parent: {apiVersion: x.io/v1, kind: Tenant}
  children:
    - {id: quota, template: a.yaml, needs: [shop, {id: config, until: exists}]}
    - {id: shop, template: shop.yaml}
    - {id: config, template: config.yaml, when: [{of: shop, path: \"$.status\", exists: true}]}
";

const SHOP: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: shop}
spec:
  parent: {apiVersion: x.io/v1, kind: Shop}
  children:
    - {id: copy, template: copy.yaml}
    - {id: config, template: config.yaml, when: [{path: \"$.spec.on\", equals: true}]}
";

const BAD: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: bad}
spec:
  parent: {apiVersion: x.io/v1, kind: Bad}
  children: [{id: a, template: missing.yaml}]
";

const FILES: &[(&str, &str)] = &[
    ("rules/z.yaml", SHOP),
    ("rules/a.yaml", TENANT),
    ("templates/a.yaml", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"),
    ("templates/shop.yaml", "apiVersion: x.io/v1\nkind: Shop\nmetadata: {name: s}\n"),
    ("templates/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"),
    (
        "templates/copy.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\ndata: {{ children.config.data }}\n",
    ),
];

const MERMAID: &str = r#"flowchart LR
  p0(["Shop<br/>x.io/v1"])
  p1(["Tenant<br/>x.io/v1"])
  subgraph r0["rule shop"]
    r0c0["copy<br/>ConfigMap"]
    r0c1["config<br/>ConfigMap"]
  end
  subgraph r1["rule tenant"]
    r1c0["quota<br/>ResourceQuota"]
    r1c1["shop<br/>Shop"]
    r1c2["config<br/>ConfigMap"]
  end
  p0 --> r0c0
  r0c1 -.->|"reads"| r0c0
  p0 -.->|"when"| r0c1
  p1 --> r1c0
  r1c2 -->|"needs, exists"| r1c0
  r1c1 -->|"needs"| r1c0
  p1 --> r1c1
  r1c1 -.->|"is parent"| p0
  p1 -.->|"when"| r1c2
  r1c1 -.->|"when"| r1c2
"#;

#[test]
fn rules_parents_children_and_dependencies_are_drawn() {
    let (code, out, error) = run(folder(FILES).path(), &["graph"]);
    assert_eq!((code, error.as_str(), out.as_str()), (0, "", MERMAID));
}

#[test]
fn graphviz_gets_the_same_graph() {
    let (code, out, _) = run(
        folder(FILES).path(),
        &["graph", "rules/z.yaml", "--templates", "templates", "--format", "dot"],
    );
    assert_eq!(code, 0);
    assert_eq!(
        out,
        r#"digraph rules {
  rankdir=LR;
  node [shape=box];
  p0 [label="Shop\nx.io/v1", style=rounded];
  subgraph cluster_r0 {
    label="rule shop";
    r0c0 [label="copy\nConfigMap"];
    r0c1 [label="config\nConfigMap"];
  }
  p0 -> r0c0 [style=solid];
  r0c1 -> r0c0 [label="reads", style=dashed];
  p0 -> r0c1 [label="when", style=dashed];
}
"#
    );
}

#[test]
fn a_rule_with_problems_does_not_hide_the_others() {
    let mut files = FILES.to_vec();
    files.push(("rules/bad.yaml", BAD));
    let (code, out, error) = run(folder(&files).path(), &["graph"]);
    assert_eq!((code, out.as_str()), (3, MERMAID));
    assert!(error.contains("there is no template `missing.yaml`"), "{error}");
}

#[test]
fn nothing_to_draw_is_said() {
    let (code, out, error) = run(folder(&[("rules/x.txt", "")]).path(), &["graph"]);
    assert_eq!(
        (code, out.as_str(), error.as_str()),
        (
            3,
            "",
            "error: there is no rule in `rules`: `kubewright new greeting` makes one to learn from\n"
        )
    );
}
