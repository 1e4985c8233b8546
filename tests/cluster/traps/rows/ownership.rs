//! Who owns what: traps 25 to 28, 30, 32, 35, 46.

use super::{Edit, Row, row};
use serde_json::json;

pub(super) fn rows() -> Vec<Row> {
    [previous_writers(), others()].into_iter().flatten().collect()
}

fn previous_writers() -> Vec<Row> {
    vec![
        // 25: somebody replaced it by a copy, and so owns all of it beside us; what we drop goes nevertheless.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t25-copied}
data: {a: ours, dropped: {{ \"x\" if parent.spec.image == \"one\" }}}
")
        .second("/data", Some(json!({"a": "ours"})), 2),
        // 26: somebody resets the record of who owns what, while we look.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t26-reset}
data: {a: ours, dropped: {{ \"x\" if parent.spec.image == \"one\" }}}
")
        .second("/data", Some(json!({"a": "ours"})), 1),
        // 26: the same while we do not.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t26-reset-unseen}
data: {a: ours, dropped: {{ \"x\" if parent.spec.image == \"one\" }}}
")
        .second("/data", Some(json!({"a": "ours"})), 1),
        // 27: somebody applies the same value: what we drop stays theirs.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t27-shared}
data: {a: ours, shared: {{ \"x\" if parent.spec.image == \"one\" }}}
")
        .unrelated(Edit::Apply(json!({"data": {"shared": "x"}})))
        .second("/data", Some(json!({"a": "ours", "shared": "x"})), 1),
    ]
}

fn others() -> Vec<Row> {
    vec![
        // 28: somebody applies another value by force.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t28-rival}
data: {a: ours}
")
        .drift(Edit::Apply(json!({"data": {"a": "theirs"}})), "/data/a", Some(json!("ours"))),
        // 30: the number of replicas is an autoscaler's as soon as it says one.
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t30-autoscaled}
spec:
  replicas: 0
  selector: {matchLabels: {a: t30}}
  template:
    metadata: {labels: {a: t30}}
    spec: {containers: [{name: c, image: {{ parent.spec.image }}}]}
")
        .options(", ignore: [{path: \"$.spec.replicas\"}]")
        .unrelated(Edit::Scale(json!({"spec": {"replicas": 1}})))
        .drift(
            Edit::Merge(json!({"metadata": {"labels": {"kubewright.io/child": "x"}}})),
            "/metadata/labels/kubewright.io~1child",
            Some(json!("t30_autoscaled")),
        )
        .second("/spec/replicas", Some(json!(1)), 1),
        // 32: a client that speaks an older version edits it; see the test.
        row("\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: t32-versions}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}
  maxReplicas: 3
  metrics:
    - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
")
        .drift(
            Edit::Merge(json!({"spec": {"maxReplicas": 4}})),
            "/spec/maxReplicas",
            Some(json!(3)),
        ),
        // 35: another tool's annotation is none of our business, and we leave none.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t35-last-applied}
data: {a: ours}
")
        .unrelated(Edit::Merge(json!({"metadata": {"annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}"}}}))),
        // 46: annotations of a Deployment make a new generation: ours stay as they are.
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t46-generation}
spec:
  replicas: 0
  selector: {matchLabels: {a: t46}}
  template: {metadata: {labels: {a: t46}}, spec: {containers: [{name: c, image: i}]}}
"),
    ]
}
