//! Lists with keys, sets, order, and what is owned as a whole: traps 12, 13, 15, 16, 33.

use super::{Edit, Row, row};
use serde_json::{Value, json};

const ENV: &str = "/spec/template/spec/containers/0/env";

pub(super) fn rows() -> Vec<Row> {
    [edited_keys(), keys(), order(), whole_maps(), whole_lists()].into_iter().flatten().collect()
}

fn replace(path: &str, value: &Value) -> Edit {
    Edit::Json(json!([{"op": "replace", "path": path, "value": value}]))
}

fn add(path: &str, value: &Value) -> Edit {
    Edit::Json(json!([{"op": "add", "path": path, "value": value}]))
}

/// 12: the key of an element is edited by hand: one patch of the list, then the apply.
fn edited_keys() -> Vec<Row> {
    vec![
        row("\
apiVersion: v1
kind: Service
metadata: {name: t12-port}
spec: {selector: {a: b}, ports: [{name: http, port: 80}]}
")
        .drift_in(
            2,
            replace("/spec/ports/0/port", &json!(81)),
            "/spec/ports",
            Some(json!([{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80}])),
        ),
        row("\
apiVersion: v1
kind: Service
metadata: {name: t12-nameless}
spec: {selector: {a: b}, ports: [{port: 80}]}
")
        .drift_in(
            2,
            replace("/spec/ports/0/port", &json!(81)),
            "/spec/ports",
            Some(json!([{"port": 80, "protocol": "TCP", "targetPort": 80}])),
        ),
        // Beside a port of somebody else's, which stays; and what was mended can be removed later.
        row("\
apiVersion: v1
kind: Service
metadata: {name: t12-among-others}
spec:
  selector: {a: b}
  ports:
    - {name: keep, port: 1}
    - {{ {\"name\": \"http\", \"port\": 80} if parent.spec.image == \"one\" }}
")
        .unrelated(add("/spec/ports/-", &json!({"name": "theirs", "port": 9})))
        .drift_in(
            2,
            replace("/spec/ports/1/port", &json!(81)),
            "/spec/ports/1/port",
            Some(json!(80)),
        )
        .second(
            "/spec/ports",
            Some(json!([
                {"name": "keep", "port": 1, "protocol": "TCP", "targetPort": 1},
                {"name": "theirs", "port": 9, "protocol": "TCP", "targetPort": 9},
            ])),
            2,
        ),
    ]
}

fn keys() -> Vec<Row> {
    vec![
        // 13: equal numbers, different protocols, one of them by default.
        row("\
apiVersion: v1
kind: Service
metadata: {name: t13-protocols}
spec: {selector: {a: b}, ports: [{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]}
")
        .drift(
            replace("/spec/ports/1/name", &json!("other")),
            "/spec/ports/1/name",
            Some(json!("udp")),
        )
        .drift(
            Edit::Json(json!([{"op": "remove", "path": "/spec/ports/0"}])),
            "/spec/ports/1/port",
            Some(json!(53)),
        ),
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t13-three-keys}
spec: {keyed: [{a: 1, v: x}, {a: 1, b: 9}, {a: 1, c: \"y\"}]}
")
        .unrelated(add("/spec/keyed/0", &json!({"a": 7, "b": 5, "c": "z"})))
        .drift(replace("/spec/keyed/1/v", &json!("theirs")), "/spec/keyed/1/v", Some(json!("x"))),
    ]
}

fn order() -> Vec<Row> {
    let env = |names: &[&str]| {
        json!(names.iter().map(|name| json!({"name": name, "value": "1"})).collect::<Vec<_>>())
    };
    vec![
        // 15: the order of variables counts, and what others put before them stays.
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t15-order}
spec:
  replicas: 0
  selector: {matchLabels: {a: t15}}
  template:
    metadata: {labels: {a: t15}}
    spec: {containers: [{name: c, image: i, env: [{name: B, value: \"1\"}, {name: A, value: \"1\"}]}]}
")
        .unrelated(add(&format!("{ENV}/0"), &json!({"name": "X", "value": "1"})))
        .drift(replace(ENV, &env(&["X", "A", "B"])), ENV, Some(env(&["X", "B", "A"])))
        .drift(replace(ENV, &env(&["X", "B"])), ENV, Some(env(&["X", "B", "A"]))),
        // A set has no order, but members.
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t15-set}
spec: {set: [b, a]}
")
        .unrelated(Edit::Merge(json!({"spec": {"set": ["a", "c", "b"]}})))
        .unrelated(Edit::Merge(json!({"spec": {"set": ["b", "a", "c"]}})))
        .drift(
            Edit::Merge(json!({"spec": {"set": ["a", "c"]}})),
            "/spec/set",
            Some(json!(["b", "a", "c"])),
        ),
    ]
}

/// 16: what is owned as a whole is taken as a whole; maps that are not keep what others add.
fn whole_maps() -> Vec<Row> {
    let toleration = |key: &str| json!({"key": key, "operator": "Exists"});
    vec![
        row("\
apiVersion: v1
kind: Service
metadata: {name: t16-selector, labels: {team: blue}}
spec: {selector: {a: b}, ports: [{port: 80}]}
")
        .unrelated(Edit::Merge(json!({"metadata": {"labels": {"theirs": "x"}}})))
        .drift(
            Edit::Merge(json!({"spec": {"selector": {"theirs": "x"}}})),
            "/spec/selector",
            Some(json!({"a": "b"})),
        )
        .drift(
            Edit::Merge(json!({"metadata": {"labels": {"team": "red"}}})),
            "/metadata/labels/team",
            Some(json!("blue")),
        ),
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t16-tolerations, annotations: {note: ours}}
spec:
  replicas: 0
  selector: {matchLabels: {a: t16}}
  template:
    metadata: {labels: {a: t16}}
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{key: a, operator: Exists}]
      containers: [{name: c, image: i, command: [run, --fast]}]
")
        .drift(
            add("/spec/template/spec/tolerations/-", &toleration("b")),
            "/spec/template/spec/tolerations",
            Some(json!([toleration("a")])),
        )
        .drift(
            Edit::Merge(json!({"metadata": {"annotations": {"note": "theirs"}}})),
            "/metadata/annotations/note",
            Some(json!("ours")),
        )
        .drift(
            add("/spec/template/spec/nodeSelector/zone", &json!("a")),
            "/spec/template/spec/nodeSelector",
            Some(json!({"disk": "ssd"})),
        ),
    ]
}

fn whole_lists() -> Vec<Row> {
    vec![
        row("\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: t16-rules}
rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]
")
        .drift(add("/rules/0/verbs/-", &json!("delete")), "/rules/0/verbs", Some(json!(["get"]))),
        row("\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: t16-ingress}
spec:
  rules:
    - host: h.example.com
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}
")
        .unrelated(Edit::Merge(json!({"spec": {"ingressClassName": "theirs"}})))
        .drift(
            replace("/spec/rules/0/host", &json!("x.example.com")),
            "/spec/rules/0/host",
            Some(json!("h.example.com")),
        ),
        // 33: the list turns from a whole into one with keys; see the test.
        row("\
apiVersion: tests.kubewright.io/v1
kind: Turning
metadata: {name: t33-topology}
spec: {list: [{name: a, v: x}, {name: b, v: z}]}
"),
    ]
}
