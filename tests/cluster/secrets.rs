//! Values of Secrets, planted where they flow, and looked for in everything that the program says: its log at the finest level,
//! Events, conditions and statuses, and what the commands print.

use crate::sandbox::{Sandbox, condition};
use crate::world::{eventually, world};
use base64::prelude::{BASE64_STANDARD, Engine};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const NAME: &str = "planted";

/// What is planted: the first and the second value of a Secret, a number, and what somebody writes by hand.
const VALUES: [&str; 4] = ["Pl4ntedF1rst", "Pl4ntedS3cond", "-770077007", "Pl4ntedByHand"];

/// One rule per sort of trouble. `creds` is a Secret that holds the values.
const RULES: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: planted-good}
spec:
  parent: {namespaces: [planted], apiVersion: tests.kubewright.io/v1, kind: PlantedGood}
  inputs:
    - {id: creds, apiVersion: v1, kind: Secret, name: creds}
  let: |
    url: {{ "db://" ~ (inputs.creds.data.password | b64decode) ~ "@host" }}
  children:
    - id: copy
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: copy, annotations: {hash: {{ inputs.creds.data | to_json | sha256 }}}}
        stringData: {url: {{ let.url }}, number: {{ inputs.creds.data.number | b64decode }}}
    - id: made
      generate: {password: {length: 24}}
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: made}
        stringData: {url: "db://{{ generated.password }}@host"}
  status:
    conditions:
      - type: Guessed
        when: [{of: creds, path: "$.data.password", equals: guess}]
        then: {reason: Right}
        otherwise: {reason: Wrong}
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: planted-refused}
spec:
  parent: {namespaces: [planted], apiVersion: tests.kubewright.io/v1, kind: PlantedRefused}
  inputs:
    - {id: creds, apiVersion: v1, kind: Secret, name: creds}
  children:
    - id: tls
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: tls}
        type: kubernetes.io/tls
        stringData: {tls.crt: {{ inputs.creds.data.password | b64decode }}, "not a key": {{ inputs.creds.data.password }}}
  status: {}
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: planted-revealed}
spec:
  reveal: true
  parent: {namespaces: [planted], apiVersion: tests.kubewright.io/v1, kind: PlantedRevealed}
  inputs:
    - {id: creds, apiVersion: v1, kind: Secret, name: creds}
  let: |
    password: {{ inputs.creds.data.password | b64decode }}
  children:
    - id: config
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: revealed}
        data: {password: {{ let.password }}}
    - id: refused
      inline: |
        apiVersion: v1
        kind: Service
        metadata: {name: refused}
        spec: {type: {{ let.password }}, ports: [{port: 80}]}
    - id: unnamed
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ let.password ~ " x" }}}
    - id: edit
      patch: {target: {apiVersion: v1, kind: ConfigMap, name: revealed}, type: json}
      inline: |
        operations:
          - {op: test, path: /data/never, value: {{ let.password }}}
          - {op: add, path: /data/more, value: x}
  status:
    fields: |
      size: {{ let.password }}
---
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: planted-failing}
spec:
  parent: {namespaces: [planted], apiVersion: tests.kubewright.io/v1, kind: PlantedFailing}
  inputs:
    - {id: creds, apiVersion: v1, kind: Secret, name: creds}
  let: |
    password: {{ inputs.creds.data.password | b64decode }}
  children:
    - id: raised
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: raised}
        stringData: {a: {{ fail("it is " ~ let.password) }}}
    - id: number
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: number}
        stringData: {a: {{ "a" | indent(inputs.creds.data.number | b64decode | int) }}}
    - id: computed
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: computed}
        stringData: {a: {{ parent.spec[let.password] }}}
    - id: twice
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: twice}
        stringData: {{ {let.password: none} }}
    - id: waits
      inline: |
        apiVersion: v1
        kind: Secret
        metadata: {name: waits}
        stringData: {a: {{ parent.status[let.password] }}}
  status: {}
"#;

const KINDS: [&str; 4] = ["PlantedGood", "PlantedRefused", "PlantedRevealed", "PlantedFailing"];

/// The program as somebody runs it, and what it says.
struct Program {
    process: Child,
    folder: tempfile::TempDir,
}

impl Program {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("rules")).expect("a folder");
        fs::write(folder.path().join("rules/planted.yaml"), RULES).expect("a file");
        let log = File::create(folder.path().join("log")).expect("a file");
        let process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args([
                "run",
                "--installation",
                NAME,
                "--log",
                "trace,kube_client=trace",
                "--log-format",
                "json",
            ])
            .current_dir(folder.path())
            .env("KUBECONFIG", world().kubeconfig())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("kubewright starts");
        Self { process, folder }
    }

    /// Ends it as a person would, and gives all that it said.
    fn end(mut self) -> (String, tempfile::TempDir) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        assert!(self.process.wait().expect("an end").success());
        let log = fs::read(self.folder.path().join("log")).expect("a log");
        (String::from_utf8_lossy(&log).into_owned(), self.folder)
    }
}

/// A text without what is around it: base64 moves with where a value begins.
fn forms(value: &str) -> Vec<String> {
    let encoded = (0..3).map(|before| {
        let text = format!("{}{value}", "x".repeat(before));
        let encoded = BASE64_STANDARD.encode(text);
        let whole = encoded.trim_end_matches('=');
        // The first and the last characters hold bits of their neighbours.
        let (from, to) = (before.div_ceil(3) * 4, whole.len() - 2);
        whole[from..to].to_owned()
    });
    std::iter::once(value.to_owned()).chain(encoded).collect()
}

fn look(what: &str, said: &str, values: &[String]) {
    for value in values {
        for form in forms(value) {
            let at = said.find(&form);
            let around = at.map(|at| {
                let from =
                    (0..=at.saturating_sub(300)).rev().find(|from| said.is_char_boundary(*from));
                said[from.unwrap_or_default()..].chars().take(700).collect::<String>()
            });
            assert_eq!(around, None, "{what} shows {value}");
        }
    }
}

fn stalled(object: &Value) -> bool {
    condition(object, "Stalled").0 == "True"
}

async fn events() -> Vec<DynamicObject> {
    let gvk = GroupVersionKind::gvk("events.k8s.io", "v1", "Event");
    let client = world().client("test-planted-events");
    let api: Api<DynamicObject> = Api::namespaced_with(client, NAME, &ApiResource::from_gvk(&gvk));
    api.list(&ListParams::default()).await.expect("a list").items
}

/// Somebody changes them again and again, and the value that they are made of is another.
async fn by_hand(sandbox: &Sandbox) {
    let theirs = BASE64_STANDARD.encode(VALUES[3]);
    for round in 0..5 {
        let both = json!({"data": {"url": theirs, "password": theirs}});
        sandbox.edit("Secret", "copy", json!({"data": {"url": theirs}})).await;
        sandbox.edit("Secret", "made", both).await;
        sandbox.edit("ConfigMap", "revealed", json!({"data": {"password": VALUES[3]}})).await;
        let labels = json!({"metadata": {"labels": {"round": format!("{round}")}}});
        for kind in KINDS {
            sandbox.edit(kind, "one", labels.clone()).await;
        }
        let is_ours = |object: &Value| object["data"]["url"] != theirs.as_str();
        if round < 3 {
            sandbox.until("Secret", "copy", "is repaired", is_ours).await;
        }
    }
}

pub(crate) async fn planted_values_are_in_nothing_that_the_program_says() {
    let sandbox = Sandbox::bare(NAME).await;
    let condition_list = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "required": ["type"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"},
            "reason": {"type": "string"}, "message": {"type": "string"}}}});
    let status = json!({"type": "object", "properties": {
        "conditions": condition_list, "size": {"type": "string", "enum": ["small"]}}});
    for kind in KINDS {
        sandbox.kind_is(kind, status.clone()).await;
    }
    let creds = |value: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"},
            "stringData": {"password": value, "number": VALUES[2]}})
    };
    sandbox.create("Secret", creds(VALUES[0])).await;
    let program = Program::start();
    for kind in KINDS {
        sandbox.is(kind, "one", json!({"size": 1})).await;
    }
    sandbox.until("PlantedGood", "one", "is ready", |o| condition(o, "Ready").0 == "True").await;
    for kind in KINDS.iter().skip(1) {
        sandbox.until(kind, "one", "is stalled", stalled).await;
    }
    let made = sandbox.get("Secret", "made").await["data"]["password"].clone();
    let made = BASE64_STANDARD.decode(made.as_str().expect("a text")).expect("base64");
    let generated = String::from_utf8(made).expect("a text");

    by_hand(&sandbox).await;
    sandbox.edit("Secret", "creds", json!({"stringData": {"password": VALUES[1]}})).await;
    let second = BASE64_STANDARD.encode(format!("db://{}@host", VALUES[1]));
    sandbox.until("Secret", "copy", "follows", |o| o["data"]["url"] == second.as_str()).await;
    eventually("all sorts of trouble are told", || async {
        let told = events().await;
        let reason =
            |event: &DynamicObject| event.data["reason"].as_str().unwrap_or_default().to_owned();
        let reasons: std::collections::BTreeSet<String> = told.iter().map(reason).collect();
        let all = ["ChildFailed", "RenderFailed", "Conflict"];
        if all.iter().all(|one| reasons.contains(*one)) {
            Ok(())
        } else {
            Err(format!("{reasons:?}"))
        }
    })
    .await;

    let (log, folder) = program.end();
    assert!(log.contains("\"level\":\"TRACE\"") && log.contains("a child is refused"), "{log}");
    let mut values: Vec<String> = VALUES.map(str::to_owned).into();
    values.push(generated);
    look("the log", &log, &values);
    for event in events().await {
        look("an Event", &serde_json::to_string(&event).expect("JSON"), &values);
    }
    for kind in KINDS {
        let mut object = sandbox.get(kind, "one").await;
        object["metadata"]["managedFields"] = Value::Null;
        look("a parent", &object.to_string(), &values);
    }
    commands(folder.path(), &values);
}

/// What the commands say of a Secret that is among the examples.
fn commands(folder: &Path, values: &[String]) {
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: creds, namespace: planted}}\ndata: {{password: {}, number: {}}}\n",
        BASE64_STANDARD.encode(VALUES[0]),
        BASE64_STANDARD.encode(VALUES[2])
    );
    let parent = |kind: &&str| {
        format!(
            "---\napiVersion: tests.kubewright.io/v1\nkind: {kind}\nmetadata: {{name: one, namespace: planted}}\nspec: {{size: 1}}\n"
        )
    };
    let examples = secret + &KINDS.iter().map(parent).collect::<String>();
    fs::write(folder.join("rules/planted.example.yaml"), examples).expect("a file");
    for arguments in [&["check"][..], &["check", "-o", "json"], &["graph"], &["render"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(arguments)
            .args(["--log", "trace"])
            .current_dir(folder)
            .env_remove("KUBECONFIG")
            .output()
            .expect("it runs");
        // `render` prints the children themselves, Secrets among them: that is what it is for.
        let printed = if arguments == ["render"] { &[][..] } else { &output.stdout };
        let said = [printed, &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(arguments == ["graph"] || said.contains("planted.yaml"), "{arguments:?}: {said}");
        look(&arguments.join(" "), &said, values);
    }
}
