//! What the server does not take, or should not be asked to: traps 10, 11, 14, 23, 24, 31, 36.

use crate::traps::objects::Named;

/// A child that comes to nothing.
pub(crate) struct Refused {
    pub(crate) child: &'static str,
    /// What the parent's condition says.
    pub(crate) told: &'static str,
    /// The answers to the writes that were sent, once in the life of a controller.
    pub(crate) sent: &'static [u64],
}

impl Refused {
    pub(crate) fn named(&self) -> Named {
        Named::of(self.child)
    }
}

pub(crate) fn rows() -> Vec<Refused> {
    [by_us(), by_the_server()].into_iter().flatten().collect()
}

/// What would only bring an error that looks like the server's own is not sent.
fn by_us() -> Vec<Refused> {
    vec![
        // 11: a number as a label.
        Refused {
            child: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: r11-label, labels: {number: 5}}
",
            told: "metadata.labels.number must be a string, not a number",
            sent: &[],
        },
        // 14: a key twice.
        Refused {
            child: "\
apiVersion: v1
kind: Pod
metadata: {name: r14-twice}
spec: {containers: [{name: c, image: i, env: [{name: A, value: x}, {name: A, value: y}]}]}
",
            told: "spec.containers[name=c].env[name=A] is there more than once",
            sent: &[],
        },
    ]
}

fn by_the_server() -> Vec<Refused> {
    vec![
        // 10: text where a number is wanted.
        Refused {
            child: "\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: r10-text}
spec: {minAvailable: one, selector: {matchLabels: {a: b}}}
",
            told: "spec.minAvailable",
            sent: &[422],
        },
        // 14: a member twice.
        Refused {
            child: "\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: r14-set}
spec: {set: [a, a]}
",
            told: ".spec.set",
            sent: &[500],
        },
        // 23: a field that the kind does not have, of a built-in kind and of a definition.
        Refused {
            child: "\
apiVersion: v1
kind: Service
metadata: {name: r23-unknown}
spec: {nonsense: 1, ports: [{port: 80}]}
",
            told: ".spec.nonsense",
            sent: &[500],
        },
        Refused {
            child: "\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: r23-unknown-too}
spec: {nowhere: 1}
",
            told: ".spec.nowhere",
            sent: &[500],
        },
        // 24: values that the schema or the validation refuse.
        Refused {
            child: "\
apiVersion: tests.kubewright.io/v1
kind: Trap
metadata: {name: r24-schema}
spec: {s: wrong}
",
            told: "must not be wrong",
            sent: &[422],
        },
        Refused {
            child: "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: r24-invalid}
spec:
  replicas: -1
  selector: {matchLabels: {a: r24}}
  template: {metadata: {labels: {a: r24}}, spec: {containers: [{name: c, image: i}]}}
",
            told: "spec.replicas",
            sent: &[422],
        },
    ]
}
