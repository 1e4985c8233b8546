//! Defaults, empty values and spelling: traps 1 to 10 and 17 to 22, 41, 42.

use super::{Edit, Row, row};
use serde_json::{Value, json};

const CONTAINER: &str = "/spec/template/spec/containers/0";

/// A JSON patch of the first container, which a merge patch cannot reach without the others.
fn container(op: &str, path: &str, value: &Value) -> Edit {
    Edit::Json(json!([{"op": op, "path": format!("{CONTAINER}/{path}"), "value": value}]))
}

pub(super) fn rows() -> Vec<Row> {
    [
        defaults(),
        empty(),
        emptied(),
        strict(),
        exported(),
        quantities(),
        numbers(),
        times(),
        texts(),
        respelled(),
        admission(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn defaults() -> Vec<Row> {
    vec![
        // 1: the server fills in what is left out, and a controller writes its status and annotations.
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t01-defaults}
spec:
  replicas: 0
  selector: {matchLabels: {a: t01}}
  template: {metadata: {labels: {a: t01}}, spec: {containers: [{name: c, image: i}]}}
")
        .unrelated(Edit::Merge(json!({"spec": {"minReadySeconds": 3}})))
        .unrelated(container("replace", "imagePullPolicy", &json!("Never")))
        .drift(
            container("replace", "image", &json!("other")),
            "/spec/template/spec/containers/0/image",
            Some(json!("i")),
        ),
        // 2: defaults of a definition, inside an object of ours and inside a list that is ours as a whole.
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t02-crd-defaults}
spec: {o: {a: \"1\"}, rules: [{value: /a}]}
")
        .stored("/spec/o/b", Some(json!("default")))
        .stored("/spec/rules/0/match", Some(json!("Prefix")))
        .unrelated(Edit::Merge(json!({"spec": {"o": {"b": "theirs"}}})))
        .drift(Edit::Merge(json!({"spec": {"o": {"a": "2"}}})), "/spec/o/a", Some(json!("1")))
        .drift(
            Edit::Merge(json!({"spec": {"rules": [{"value": "/a"}, {"value": "/b"}]}})),
            "/spec/rules/1",
            None,
        ),
    ]
}

fn empty() -> Vec<Row> {
    vec![
        // 3: zero and empty values are dropped, and yet ours.
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t03-empty}
spec:
  replicas: 0
  selector: {matchLabels: {a: t03}}
  template:
    metadata: {labels: {a: t03}}
    spec:
      securityContext: {}
      containers:
        - name: c
          image: i
          args: []
          ports: []
          resources: {}
          env: [{name: E, value: \"\"}]
          livenessProbe: {initialDelaySeconds: 0, httpGet: {path: /, port: 80}}
")
        .stored("/spec/template/spec/containers/0/env/0/value", None)
        .drift(
            container("add", "env/0/value", &json!("x")),
            "/spec/template/spec/containers/0/env/0/value",
            None,
        )
        .drift(
            container("add", "livenessProbe/initialDelaySeconds", &json!(9)),
            "/spec/template/spec/containers/0/livenessProbe/initialDelaySeconds",
            None,
        ),
        // 4: nothing, null and empty. A built-in kind stores the empty ones as nothing…
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t04-null, labels: null, annotations: {}}
data: {}
")
        .unrelated(Edit::Merge(json!({"data": {"theirs": "x"}}))),
        // …a definition keeps them.
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t04-crd-null}
spec: {s: \"\", keyed: [], set: [], m: {}, maybe: null, free: {e: {}, l: []}}
")
        .stored("/spec/s", Some(json!("")))
        .stored("/spec/m", Some(json!({})))
        .stored("/spec/maybe", None)
        .drift(Edit::Merge(json!({"spec": {"s": "x"}})), "/spec/s", Some(json!(""))),
    ]
}

fn emptied() -> Vec<Row> {
    vec![
        // 4: a map of ours that loses its last key: the server would make null of it and refuse that, or keep it.
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t04-emptied}
spec: {m: {{ {\"a\": \"1\"} if parent.spec.image == \"one\" else {} }}, s: x}
")
        .drift(Edit::Merge(json!({"spec": {"m": {"a": "2"}}})), "/spec/m/a", Some(json!("1")))
        .second("/spec/m", Some(json!({})), 2),
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t04-emptied-free}
spec: {free: {x: {{ {\"a\": 1} if parent.spec.image == \"one\" else {} }}}}
")
        .second("/spec/free/x", Some(json!({})), 2),
    ]
}

fn strict() -> Vec<Row> {
    vec![
        // 5: the server writes such an object anew with each apply, though nothing changes.
        row("\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: t05-strict}
spec: {podSelector: {}, policyTypes: [Ingress], ingress: []}
")
        .drift(
            Edit::Merge(json!({"spec": {"policyTypes": ["Ingress", "Egress"]}})),
            "/spec/policyTypes",
            Some(json!(["Ingress"])),
        ),
        row("\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: t05-strict-inside}
spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [], ports: [{port: 80}]}]}
")
        .drift(
            Edit::Merge(json!({"spec": {"ingress": null}})),
            "/spec/ingress/0/ports/0/port",
            Some(json!(80)),
        ),
    ]
}

fn exported() -> Vec<Row> {
    vec![
        // 6: what an exported manifest carries along.
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t06-exported, creationTimestamp: null, generation: 7, resourceVersion: \"12\"}
spec:
  replicas: 0
  selector: {matchLabels: {a: t06}}
  strategy: {}
  template:
    metadata: {creationTimestamp: null, labels: {a: t06}}
    spec: {containers: [{name: c, image: i, resources: {}}]}
status: {}
")
        .drift(
            Edit::Merge(json!({"spec": {"paused": true, "replicas": 1}})),
            "/spec/replicas",
            Some(json!(0)),
        ),
        // 7: templates of claims get type, mode and status inside a list that is ours as a whole.
        row("\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: t07-claims}
spec:
  replicas: 0
  serviceName: x
  selector: {matchLabels: {a: t07}}
  template: {metadata: {labels: {a: t07}}, spec: {containers: [{name: c, image: i}]}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
")
        .stored("/spec/volumeClaimTemplates/0/spec/volumeMode", Some(json!("Filesystem")))
        .drift(Edit::Merge(json!({"spec": {"replicas": 1}})), "/spec/replicas", Some(json!(0))),
    ]
}

fn quantities() -> Vec<Row> {
    let limits = json!({"containers": [{"name": "c", "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}]});
    vec![
        // 9: quantities are spelled anew; somebody applies the same amount in another spelling.
        row("\
apiVersion: apps/v1
kind: Deployment
metadata: {name: t09-quantities}
spec:
  replicas: 0
  selector: {matchLabels: {a: t09}}
  template:
    metadata: {labels: {a: t09}}
    spec:
      containers:
        - {name: c, image: i, resources: {limits: {cpu: 1000m, memory: 2048Mi}, requests: {cpu: 0.5}}}
")
        .stored("/spec/template/spec/containers/0/resources/limits/cpu", Some(json!("1")))
        .unrelated(Edit::Apply(json!({"spec": {"template": {"spec": limits}}})))
        .drift(
            container("replace", "resources/limits/memory", &json!("3Gi")),
            "/spec/template/spec/containers/0/resources/limits/memory",
            Some(json!("2Gi")),
        ),
        row("\
apiVersion: v1
kind: ResourceQuota
metadata: {name: t09-quota}
spec: {hard: {requests.storage: 1000000M, limits.memory: 1e3, limits.cpu: 100000m}}
")
        .drift(
            Edit::Merge(json!({"spec": {"hard": {"limits.cpu": "7"}}})),
            "/spec/hard/limits.cpu",
            Some(json!("100")),
        ),
    ]
}

fn numbers() -> Vec<Row> {
    vec![
        // 10: numbers or texts.
        row("\
apiVersion: v1
kind: Service
metadata: {name: t10-target-ports}
spec:
  selector: {a: b}
  ports: [{name: a, port: 1, targetPort: 80}, {name: b, port: 2, targetPort: http}]
")
        .drift(
            Edit::Json(
                json!([{"op": "replace", "path": "/spec/ports/0/targetPort", "value": "http"}]),
            ),
            "/spec/ports/0/targetPort",
            Some(json!(80)),
        ),
        row("\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: t10-percent}
spec: {maxUnavailable: 25%, selector: {matchLabels: {a: b}}}
")
        .drift(
            Edit::Merge(json!({"spec": {"maxUnavailable": 1}})),
            "/spec/maxUnavailable",
            Some(json!("25%")),
        ),
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t10-number-or-text}
spec: {port: \"8080\"}
")
        .stored("/spec/port", Some(json!("8080")))
        .drift(Edit::Merge(json!({"spec": {"port": 8080}})), "/spec/port", Some(json!("8080"))),
        // 17: fractions, and numbers that no float can hold.
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t17-numbers}
spec: {ratio: 0.1, whole: 1.0, thousand: 1e3, big: 9007199254740993, bigger: 18014398509481985}
")
        .stored("/spec/big", Some(json!(9_007_199_254_740_993_i64)))
        .stored("/spec/bigger", Some(json!(18_014_398_509_481_985_i64)))
        .drift(
            Edit::Merge(json!({"spec": {"big": 9_007_199_254_740_992_i64}})),
            "/spec/big",
            Some(json!(9_007_199_254_740_993_i64)),
        )
        .drift(Edit::Merge(json!({"spec": {"ratio": 0.2}})), "/spec/ratio", Some(json!(0.1))),
    ]
}

fn times() -> Vec<Row> {
    vec![
        // 19: times are spelled anew by typed kinds, and kept by definitions.
        row("\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: t19-times}
spec: {holderIdentity: us, acquireTime: \"2026-01-01T02:00:00.000000+02:00\", leaseDurationSeconds: 5}
")
        .stored("/spec/acquireTime", Some(json!("2026-01-01T00:00:00.000000Z")))
        .unrelated(Edit::Merge(json!({"spec": {"renewTime": "2026-02-01T00:00:00.000000Z"}})))
        .drift(
            Edit::Merge(json!({"spec": {"acquireTime": "2026-01-01T00:00:01.000000Z"}})),
            "/spec/acquireTime",
            Some(json!("2026-01-01T00:00:00.000000Z")),
        ),
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t19-crd-time}
spec: {time: \"2026-01-01T00:00:00.50+00:00\"}
")
        .drift(
            Edit::Merge(json!({"spec": {"time": "2026-01-01T00:00:00Z"}})),
            "/spec/time",
            Some(json!("2026-01-01T00:00:00.50+00:00")),
        ),
    ]
}

fn texts() -> Vec<Row> {
    vec![
        // 20: base64, as a block with line breaks.
        row("\
apiVersion: v1
kind: Secret
metadata: {name: t20-base64}
data:
  k: |
    aGVs
    bG8=
")
        .stored("/data/k", Some(json!("aGVsbG8=")))
        .drift(Edit::Merge(json!({"data": {"k": "eA=="}})), "/data/k", Some(json!("aGVsbG8="))),
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t20-binary}
data: {text: a}
binaryData: {blob: AAEC}
")
        .unrelated(Edit::Merge(json!({"binaryData": {"theirs": "AAEC"}})))
        .drift(
            Edit::Merge(json!({"binaryData": {"blob": "AAED"}})),
            "/binaryData/blob",
            Some(json!("AAEC")),
        ),
        // 21: plain texts of a Secret.
        row("\
apiVersion: v1
kind: Secret
metadata: {name: t21-string-data}
stringData: {pw: hunter2, more: {{ \"x\" if parent.spec.image == \"one\" }}}
")
        .stored("/data/pw", Some(json!("aHVudGVyMg==")))
        .drift(
            Edit::Merge(json!({"data": {"pw": "eA=="}})),
            "/data/pw",
            Some(json!("aHVudGVyMg==")),
        )
        .drift(
            Edit::Merge(json!({"stringData": {"pw": "y"}})),
            "/data/pw",
            Some(json!("aHVudGVyMg==")),
        )
        .second("/data/more", None, 1),
    ]
}

/// 18: a controller with typed fields spells a duration of ours anew.
fn respelled() -> Vec<Row> {
    vec![
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t18-respelled}
spec: {s: 1h, m: {a: ours}}
")
        .unrelated(Edit::Merge(json!({"spec": {"s": "1h0m0s"}})))
        .drift(Edit::Merge(json!({"spec": {"m": {"a": "x"}}})), "/spec/m/a", Some(json!("ours")))
        .drift(Edit::Merge(json!({"spec": {"s": "2h"}})), "/spec/s", Some(json!("1h"))),
        // Another intent does not take it back either.
        row("\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: t18-respelled-again}
spec: {s: 1h, o: {a: {{ parent.spec.image }}}}
")
        .unrelated(Edit::Merge(json!({"spec": {"s": "1h0m0s"}})))
        .second("/spec", Some(json!({"s": "1h0m0s", "o": {"a": "two", "b": "default"}})), 1),
    ]
}

/// The policies are in `admission.rs`.
fn admission() -> Vec<Row> {
    let repaired = |row: Row| {
        row.drift(Edit::Merge(json!({"data": {"a": "x"}})), "/data/a", Some(json!("ours")))
    };
    vec![
        // 8: added when it is created, by a policy.
        repaired(
            row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t08-policy-default}
data: {a: ours}
")
            .stored("/data/injected", Some(json!("by-policy")))
            .unrelated(Edit::Merge(json!({"data": {"injected": null}}))),
        ),
        // 18: a duration of ours that is spelled anew with every write.
        repaired(
            row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t18-duration}
data: {every: 1h, a: ours}
")
            .stored("/data/every", Some(json!("1h0m0s")))
            .unrelated(Edit::Merge(json!({"data": {"every": "1h0m0s"}}))),
        ),
        // 22: a host of ours that is made lower case.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t22-lower-case}
data: {host: Shop.Example.Com}
")
        .stored("/data/host", Some(json!("shop.example.com")))
        .drift(
            Edit::Merge(json!({"data": {"host": "other"}})),
            "/data/host",
            Some(json!("shop.example.com")),
        ),
        // 41: admission that changes the object with every write, ours and others'.
        repaired(
            row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t41-counter}
data: {a: ours}
")
            .stored("/data/count", Some(json!("x"))),
        ),
        // 42: a policy that comes later changes a value of ours along with somebody else's write; see the test.
        row("\
apiVersion: v1
kind: ConfigMap
metadata: {name: t42-late-policy}
data: {ours: as-sent}
"),
    ]
}
