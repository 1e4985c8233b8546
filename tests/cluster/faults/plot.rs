//! A pair of namespaces with a rule of their own, the work that is done in them, and what they look like in the end.
//!
//! In: a client. Out: parents that come, change and go; the whole state without what differs each time (uids, versions,
//! times). Never here: faults.

use crate::sandbox::{Sandbox, install_crds};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams};
use kubewright::controller::{self, Controller};
use kubewright::rule::{self, Folder};
use kubewright::source::Source;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many parents are made.
pub(crate) const PARENTS: usize = 20;

const TEMPLATES: [(&str, &str); 4] = [
    ("main.yaml", "data: {image: {{ parent.spec.image }}, \"of-{{ parent.spec.image }}\": x}\n"),
    ("file.yaml", "data: {text: {{ entry.value }}}\n"),
    ("far.yaml", "data: {main: {{ children.main.data.image }}}\n"),
    (
        "service.yaml",
        "spec: {selector: {a: b}, ports: [{name: http, port: {{ 80 + parent.spec.replicas }}}]}\n",
    ),
];

/// A child for every file of a parent, one that waits for another, and one that no owner reference reaches.
const RULE: &str = r#"
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: PLOT}
spec:
  crossNamespace: true
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp, namespaces: [PLOT]}
  children:
    - {id: main, template: main.yaml}
    - {id: service, template: service.yaml}
    - forEach: {path: "$.spec.files", item: entry}
      children:
        - {id: file, template: file.yaml}
    - {id: far, template: far.yaml, needs: [main]}
  status: {}
"#;

/// Two namespaces and the rule for them.
pub(crate) struct Plot {
    pub(crate) name: String,
    pub(crate) client: Client,
}

/// Every object by kind, namespace and name.
pub(crate) type State = BTreeMap<String, Value>;

impl Plot {
    /// Makes the namespaces, and the kind if it is not there.
    pub(crate) async fn new(client: Client, name: &str) -> Self {
        install_crds(&client).await;
        let plot = Self { name: name.to_owned(), client };
        for name in [&plot.name, &plot.far()] {
            let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
            let namespace = Namespace { metadata, ..Namespace::default() };
            let api: Api<Namespace> = Api::all(plot.client.clone());
            api.create(&kube::api::PostParams::default(), &namespace).await.expect("a namespace");
        }
        plot
    }

    fn far(&self) -> String {
        format!("{}-far", self.name)
    }

    /// The rule file and the templates.
    pub(crate) fn folder(&self) -> Folder {
        let template = |(file, text): &(&str, &str)| {
            let child = file.trim_end_matches(".yaml");
            let kind = if child == "service" { "Service" } else { "ConfigMap" };
            let suffix = if child == "file" { "file-{{ entry.key }}" } else { child };
            let place =
                if child == "far" { format!(", namespace: {}", self.far()) } else { String::new() };
            let text = format!(
                "apiVersion: v1\nkind: {kind}\nmetadata: {{name: \"{{{{ parent.metadata.name }}}}-{suffix}\"{place}}}\n{text}"
            );
            ((*file).to_owned(), Source::new(*file, &*text))
        };
        Folder {
            rules: vec![Source::new("rule.yaml", RULE.replace("PLOT", &self.name))],
            templates: Arc::new(TEMPLATES.iter().map(template).collect()),
        }
    }

    /// The same as files.
    pub(crate) fn write_down(&self) -> tempfile::TempDir {
        let (written, folder) = (tempfile::tempdir().expect("a folder"), self.folder());
        for place in ["rules", "templates"] {
            std::fs::create_dir(written.path().join(place)).expect("a folder");
        }
        let write = |place: &str, source: &Source| {
            let path = written.path().join(place).join(&*source.name);
            std::fs::write(path, &*source.text).expect("a file");
        };
        folder.rules.iter().for_each(|source| write("rules", source));
        folder.templates.values().for_each(|source| write("templates", source));
        written
    }

    /// Starts a controller that asks through this client.
    pub(crate) fn start(&self, client: Client) -> controller::Running {
        let loaded = rule::load(&self.folder());
        assert_eq!(loaded.problems, [], "the rule compiles");
        let options = controller::Options {
            installation: self.name.clone(),
            ..controller::Options::default()
        };
        let controller = Controller::new(client, options);
        controller.set_rules(&loaded.rules);
        controller.start()
    }

    fn api(&self, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (resource, _) = Sandbox::resource(kind);
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }

    /// Creates or edits a parent.
    pub(crate) async fn is(&self, parent: &str, image: &str, replicas: u16, files: &[&str]) {
        let files: Map<String, Value> =
            files.iter().map(|file| ((*file).to_owned(), json!(image))).collect();
        let object = json!({"apiVersion": "demo.kubewright.io/v1", "kind": "WebApp",
            "metadata": {"name": parent},
            "spec": {"image": image, "replicas": replicas, "files": files}});
        let parameters = PatchParams::apply("somebody").force();
        let api = self.api("WebApp", &self.name);
        api.patch(parent, &parameters, &Patch::Apply(&object)).await.expect("it is accepted");
    }

    /// Deletes an object, if it is there.
    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let gone = self.api(kind, &self.name).delete(name, &DeleteParams::background()).await;
        match gone {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other.expect("a delete")),
        }
    }

    /// Edits a `ConfigMap` by hand, if it is there.
    pub(crate) async fn tamper(&self, name: &str, data: Value) {
        let parameters =
            PatchParams { field_manager: Some("by-hand".into()), ..PatchParams::default() };
        let api = self.api("ConfigMap", &self.name);
        match api.patch(name, &parameters, &Patch::Merge(&json!({"data": data}))).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other.expect("an edit")),
        }
    }

    /// Whether an object is there.
    pub(crate) async fn has(&self, kind: &str, name: &str) -> bool {
        let found = self.api(kind, &self.name).get_metadata_opt(name).await;
        found.expect("an answer").is_some()
    }

    /// Everything that is there now.
    pub(crate) async fn objects(&self) -> Vec<Value> {
        let far = self.far();
        let lists = [
            ("WebApp", &self.name),
            ("ConfigMap", &self.name),
            ("Service", &self.name),
            ("ConfigMap", &far),
        ];
        let list = async |(kind, namespace): (&'static str, &String)| {
            let items = self.api(kind, namespace).list(&ListParams::default()).await;
            let items = items.unwrap_or_else(|error| panic!("a list of {kind}: {error}")).items;
            items.into_iter().map(move |item| {
                let mut value = serde_json::to_value(item).expect("JSON");
                value["kind"] = kind.into();
                value
            })
        };
        let all = join_all(lists.map(list)).await.into_iter().flatten();
        // What Kubernetes puts into every namespace, and our own records.
        let is_ours = |object: &Value| {
            object["metadata"]["name"] != "kube-root-ca.crt"
                && object["metadata"]["labels"].get("kubewright.io/record").is_none()
        };
        all.filter(is_ours).collect()
    }

    /// The same without what differs each time, and without the plot's own name.
    pub(crate) async fn state(&self) -> State {
        let objects = self.objects().await.into_iter();
        let named = |object: Value| {
            let text = normal(object).to_string().replace(&self.name, "PLOT");
            let object: Value = serde_json::from_str(&text).expect("JSON");
            (key(&object), object)
        };
        objects.map(named).collect()
    }

    /// The uid of every object.
    pub(crate) async fn uids(&self) -> BTreeMap<String, Value> {
        let objects = self.objects().await;
        objects.iter().map(|object| (key(object), object["metadata"]["uid"].clone())).collect()
    }
}

fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, namespace) = (text(&object["kind"]), text(&metadata["namespace"]));
    format!("{kind} {namespace}/{}", text(&metadata["name"]))
}

/// Without versions, uids, times, addresses, hashes, and what others hold.
fn normal(mut object: Value) -> Value {
    let remove = |at: &mut Value, names: &[&str]| {
        if let Some(fields) = at.as_object_mut() {
            fields.retain(|name, _| !names.contains(&name.as_str()));
        }
    };
    remove(&mut object["spec"], &["clusterIP", "clusterIPs"]);
    let metadata = &mut object["metadata"];
    remove(metadata, &["uid", "resourceVersion", "creationTimestamp"]);
    remove(&mut metadata["labels"], &["kubewright.io/slot"]);
    remove(&mut metadata["annotations"], &["kubewright.io/intent"]);
    for owner in metadata["ownerReferences"].as_array_mut().into_iter().flatten() {
        remove(owner, &["uid"]);
    }
    let mut managed = metadata["managedFields"].as_array().cloned().unwrap_or_default();
    managed.retain(|entry| {
        entry["manager"].as_str().is_some_and(|manager| manager.starts_with("kubewright"))
    });
    for entry in &mut managed {
        remove(entry, &["time", "manager"]);
        // Its keys are uids.
        remove(&mut entry["fieldsV1"]["f:metadata"], &["f:ownerReferences"]);
    }
    managed.sort_by_key(Value::to_string);
    metadata["managedFields"] = managed.into();
    for condition in object["status"]["conditions"].as_array_mut().into_iter().flatten() {
        remove(condition, &["lastTransitionTime"]);
    }
    object
}

pub(crate) fn parent(number: usize) -> String {
    format!("app-{number:02}")
}

/// Parents are created, edited, deleted and made anew, and their children are tampered with; `pause` is waited for in
/// between. What is there in the end does not depend on how far somebody followed meanwhile.
pub(crate) async fn work(plot: &Plot, pause: impl AsyncFn()) {
    let parents: Vec<String> = (0..PARENTS).map(parent).collect();
    join_all(parents.iter().map(|parent| plot.is(parent, "v1", 1, &["a", "b"]))).await;
    pause().await;
    // One file goes and one comes.
    join_all(parents.iter().map(|parent| plot.is(parent, "v2", 2, &["a", "c"]))).await;
    pause().await;
    join_all(parents[..6].iter().map(|parent| plot.delete("WebApp", parent))).await;
    for parent in &parents[6..10] {
        plot.tamper(&format!("{parent}-main"), json!({"image": "wrong"})).await;
        plot.delete("ConfigMap", &format!("{parent}-file-a")).await;
        plot.delete("Service", &format!("{parent}-service")).await;
    }
    pause().await;
    for parent in &parents[..3] {
        while plot.has("WebApp", parent).await {
            // Its finalizer holds it until its children are gone; how long that may take is for whoever asks for the work.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        plot.is(parent, "v3", 3, &["d"]).await;
    }
    pause().await;
    for parent in &parents[..3] {
        plot.is(parent, "v4", 4, &["d"]).await;
    }
}

/// What must be there after the work, in numbers: parents, and all objects.
pub(crate) const LEFT: (usize, usize) = (PARENTS - 3, (PARENTS - 6) * 6 + 3 * 5);
