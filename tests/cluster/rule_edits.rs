//! Rules that are edited while they run, and while nobody does: exactly what the edit makes unwanted goes.

use crate::sandbox::Sandbox;
use crate::soundness::Soundness;
use crate::world::eventually;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CHILDREN: &str = "    - {id: a, template: a.yaml}
    - {id: b, template: b.yaml}
    - {id: c, template: c.yaml}
    - {id: far, template: far.yaml}
";

/// What an edit of the rule does to the objects of a parent: those it takes away and those it brings, as `kind/name`; a name
/// with `far:` before it is in the other namespace.
struct Row {
    what: &'static str,
    from: &'static str,
    to: &'static str,
    gone: &'static [&'static str],
    new: &'static [&'static str],
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<Row> {
    let row = |what, from, to, gone, new| Row { what, from, to, gone, new };
    let all = &["ConfigMap/app-a", "ConfigMap/app-b", "Secret/app-c", "far:ConfigMap/app-far"];
    vec![
        row(
            "a child is removed",
            "    - {id: b, template: b.yaml}\n",
            "",
            &["ConfigMap/app-b"],
            &[],
        ),
        row("an id is another", "{id: b,", "{id: other,", &[], &[]),
        row(
            "an id is another, and the child waits",
            "{id: b, template: b.yaml}",
            "{id: other, template: b-waits.yaml}",
            &[],
            &[],
        ),
        row(
            "a name is another",
            "b.yaml",
            "b-other.yaml",
            &["ConfigMap/app-b"],
            &["ConfigMap/app-b2"],
        ),
        row(
            "a kind is another",
            "b.yaml",
            "b-secret.yaml",
            &["ConfigMap/app-b"],
            &["Secret/app-b"],
        ),
        row(
            "a condition fails",
            "b.yaml}",
            "b.yaml, when: [{path: \"$.spec.host\", exists: true}]}",
            &["ConfigMap/app-b"],
            &[],
        ),
        row(
            "the far child is removed",
            "    - {id: far, template: far.yaml}\n",
            "",
            &["far:ConfigMap/app-far"],
            &[],
        ),
        row(
            "the far child comes near",
            "far.yaml",
            "near.yaml",
            &["far:ConfigMap/app-far"],
            &["ConfigMap/app-far"],
        ),
        row(
            "the far child's condition fails",
            "far.yaml}",
            "far.yaml, when: [{path: \"$.spec.host\", exists: true}]}",
            &["far:ConfigMap/app-far"],
            &[],
        ),
        row(
            "the parent is not selected",
            "kind: WebApp}",
            "kind: WebApp, labelSelector: {matchLabels: {chosen: \"yes\"}}}",
            all,
            &[],
        ),
        row(
            "the parent's condition fails",
            "kind: WebApp}",
            "kind: WebApp, when: [{path: \"$.spec.host\", exists: true}]}",
            all,
            &[],
        ),
    ]
}

fn object(kind: &str, name: &str, namespace: &str, data: &str) -> String {
    let namespace =
        if namespace.is_empty() { String::new() } else { format!(", namespace: {namespace}") };
    format!(
        "apiVersion: v1\nkind: {kind}\nmetadata: {{name: \"{{{{ parent.metadata.name }}}}-{name}\"{namespace}}}\n{data}"
    )
}

struct Bench {
    sandbox: Sandbox,
    far: Sandbox,
    restarts: bool,
}

pub(crate) async fn what_an_edit_makes_unwanted_goes_at_once() {
    Bench::run("rule-edits", false).await;
}

pub(crate) async fn what_an_edit_made_unwanted_goes_with_the_next_start() {
    Bench::run("rule-edits-unseen", true).await;
}

impl Bench {
    async fn run(name: &str, restarts: bool) {
        let far_name = format!("{name}-far");
        let far = Sandbox::bare(&far_name).await;
        let plain = |name| object("ConfigMap", name, "", "data: {x: z}\n");
        let (a, b, other, near) = (plain("a"), plain("b"), plain("b2"), plain("far"));
        let waits = object("ConfigMap", "b", "", "data: {x: {{ parent.status.never }}}\n");
        let (c, secret) = (object("Secret", "c", "", ""), object("Secret", "b", "", ""));
        let farther = object("ConfigMap", "far", &far_name, "data: {x: z}\n");
        let templates = [
            ("a.yaml", a.as_str()),
            ("b.yaml", b.as_str()),
            ("b-other.yaml", other.as_str()),
            ("b-waits.yaml", waits.as_str()),
            ("b-secret.yaml", secret.as_str()),
            ("c.yaml", c.as_str()),
            ("far.yaml", farther.as_str()),
            ("near.yaml", near.as_str()),
        ];
        let rule = format!(
            "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: {name}}}\nspec:\n  crossNamespace: true\n  \
             parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}\n  children:\n{CHILDREN}"
        );
        let sandbox = Sandbox::at_rest_with(name, &rule, &templates).await;
        let beside = sandbox.looking_into(name);
        let kinds = &["ConfigMap", "Secret"];
        let sound = Soundness::begin(&sandbox, vec![&beside, &far], kinds).await;
        let mut bench = Self { sandbox, far: far.looking_into(&far_name), restarts };
        bench.sandbox.start();
        bench.sandbox.webapp_is("app", json!({"image": "a"})).await;
        let base = ["ConfigMap/app-a", "ConfigMap/app-b", "Secret/app-c", "far:ConfigMap/app-far"];
        bench.until(&base, "at first").await;
        for row in rows() {
            let before = bench.objects().await;
            bench.edit(row.from, row.to).await;
            let kept = before.keys().map(String::as_str).filter(|name| !row.gone.contains(name));
            let expected: Vec<&str> = kept.chain(row.new.iter().copied()).collect();
            let after = bench.until(&expected, row.what).await;
            for (name, uid) in &after {
                assert!(
                    before.get(name).is_none_or(|b| b == uid),
                    "{}: {name} is another",
                    row.what
                );
            }
            sound.check(&bench.sandbox).await;
            let held =
                !bench.sandbox.get("WebApp", "app").await["metadata"]["finalizers"].is_null();
            let needed = expected.iter().any(|name| name.starts_with("far:"));
            assert_eq!(held, needed, "{}: the finalizer", row.what);
            bench.edit(row.to, row.from).await;
            bench.until(&base, "and back").await;
            sound.check(&bench.sandbox).await;
        }
        bench.sandbox.stop().await;
    }

    async fn edit(&mut self, from: &str, to: &str) {
        // What is taken out whole is put back at the end.
        let (from, to) = match (from, to) {
            ("", line) => ("  children:\n", format!("  children:\n{line}")),
            (from, to) => (from, to.to_owned()),
        };
        if self.restarts {
            self.sandbox.stop().await;
        }
        self.sandbox.edit_rule(from, &to);
        if self.restarts {
            self.sandbox.start();
        }
    }

    /// The parent's objects and their uids.
    async fn objects(&self) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        for kind in ["ConfigMap", "Secret"] {
            for object in self.sandbox.labelled(kind).await {
                let metadata = &object["metadata"];
                let name = metadata["name"].as_str().unwrap_or_default();
                if name.starts_with("app-") {
                    let far = metadata["namespace"] == self.far.namespace.as_str();
                    let place = if far { "far:" } else { "" };
                    found.insert(format!("{place}{kind}/{name}"), metadata["uid"].clone());
                }
            }
        }
        found
    }

    /// Waits until these are the parent's objects, and until nothing is left to do.
    async fn until(&self, expected: &[&str], what: &str) -> BTreeMap<String, Value> {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let same = |objects: &BTreeMap<String, Value>| {
            objects.keys().map(String::as_str).eq(expected.iter().copied())
        };
        eventually(what, || async {
            let objects = self.objects().await;
            if same(&objects) {
                Ok(())
            } else {
                Err(format!("{objects:?} instead of {expected:?}"))
            }
        })
        .await;
        self.sandbox.settled().await;
        let objects = self.objects().await;
        assert!(same(&objects), "{what}: {objects:?} instead of {expected:?}");
        objects
    }
}
