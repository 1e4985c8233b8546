//! A control plane for one release, and the program that runs as the release's service account.

use super::helm::helm_with;
use crate::sandbox::condition;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubewright::control_plane::{self, ControlPlane, Options};
use kubewright::object::Gvk;
use kubewright::watch::Kinds;
use kubewright::yaml;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const NAMESPACE: &str = "kw";
const PATIENCE: Duration = Duration::from_mins(2);

/// Where an object is: apiVersion, kind, namespace, name.
type Place<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The control plane.
pub(crate) struct Cluster {
    runtime: Runtime,
    plane: ControlPlane,
    client: Client,
    kinds: Kinds,
}

/// The program, its files and what it said.
pub(crate) struct Program {
    process: Child,
    folder: TempDir,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let shim = Some(PathBuf::from(env!("CARGO_BIN_EXE_kubewright")));
        let options = Options { shim, ..Options::default() };
        let plane =
            runtime.block_on(control_plane::start(options, |note| eprintln!("chart: {note}")));
        let plane = plane.unwrap_or_else(|error| panic!("no control plane: {error}"));
        let client = runtime.block_on(async { plane.client("test-chart").expect("a client") });
        let kinds = Kinds::new(client.clone());
        Self { runtime, plane, client, kinds }
    }

    pub(crate) fn stop(self) {
        self.runtime.block_on(self.plane.stop()).expect("a clean stop");
    }

    /// Runs helm as the administrator, in the release's namespace.
    pub(crate) fn helm(&self, arguments: &[&str]) {
        let all = [arguments, &["-n", NAMESPACE]].concat();
        let kubeconfig = [("KUBECONFIG", self.plane.kubeconfig())];
        helm_with(&all, &kubeconfig).unwrap_or_else(|error| panic!("helm {arguments:?}: {error}"));
    }

    /// The Role of the release in its own namespace gives what the command prints for a rule that has nothing to do with it.
    pub(crate) fn grants_what_rbac_prints(&self) {
        let role = self.get("rbac.authorization.k8s.io/v1", "Role", NAMESPACE, "kw-kubewright");
        let arguments = ["rbac", "rules/preview.yaml", "--namespace", NAMESPACE, "-o", "json"];
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright")).args(arguments).output();
        let list: Value =
            serde_json::from_slice(&output.expect("the program runs").stdout).expect("JSON");
        let of_configmaps = |role: &Value| {
            let rules = role["rules"].as_array().into_iter().flatten();
            let mut about = rules.filter(|rule| rule["resources"] == json!(["configmaps"]));
            about.next().map(|rule| rule["verbs"].clone())
        };
        let items = list["items"].as_array().expect("a list");
        let own = items.iter().find(|item| item["metadata"]["namespace"] == NAMESPACE);
        let printed = of_configmaps(own.expect("a Role for the own namespace"));
        assert!(printed.is_some() && of_configmaps(&role) == printed, "{role} {own:?}");
    }

    /// Starts the program with the arguments of the release's Deployment, the files that its pod would have, and the token of its
    /// service account.
    pub(crate) fn run_program(&self) -> Program {
        self.run_program_as(None)
    }

    /// The same as one of the release's pods.
    pub(crate) fn run_program_as(&self, of_pod: Option<&Value>) -> Program {
        let folder = tempfile::tempdir().expect("a folder");
        let deployment = self.get("apps/v1", "Deployment", NAMESPACE, "kw-kubewright");
        let pod = &deployment["spec"]["template"]["spec"];
        for source in pod["volumes"][0]["projected"]["sources"].as_array().expect("files") {
            let name = source["configMap"]["name"].as_str().expect("a name");
            let texts = self.get("v1", "ConfigMap", NAMESPACE, name);
            for item in source["configMap"]["items"].as_array().expect("items") {
                let text = texts["data"][item["key"].as_str().expect("a key")].as_str();
                let path = folder.path().join("etc").join(item["path"].as_str().expect("a path"));
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(path, text.expect("the ConfigMap has the key")).expect("a file");
            }
        }
        let etc = folder.path().join("etc").display().to_string();
        let container = &pod["containers"][0];
        let arguments = container["args"].as_array().expect("arguments").iter();
        let arguments = arguments.map(|word| {
            let word = word.as_str().expect("a word");
            word.replace(container["volumeMounts"][0]["mountPath"].as_str().expect("a path"), &etc)
        });
        let account = pod["serviceAccountName"].as_str().expect("an account");
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, self.kubeconfig_of(account, of_pod)).expect("a file");
        let host = of_pod.and_then(|pod| pod["metadata"]["name"].as_str());
        let process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(arguments)
            .envs(host.map(|host| ("HOSTNAME", host)))
            .env("KUBECONFIG", &kubeconfig)
            .env("KUBEWRIGHT_NAMESPACE", NAMESPACE)
            .env("KUBEWRIGHT_ADDRESS", "127.0.0.1:0")
            .stdout(Stdio::null())
            .stderr(File::create(folder.path().join("log")).expect("a file"))
            .spawn()
            .expect("the program runs");
        Program { process, folder }
    }

    /// The administrator's kubeconfig with another user: a token for the service account, bound to a pod if there is one.
    fn kubeconfig_of(&self, account: &str, pod: Option<&Value>) -> String {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token");
        let mut body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                              "spec": {"expirationSeconds": 3600}});
        if let Some(metadata) = pod.map(|pod| &pod["metadata"]) {
            body["spec"]["boundObjectRef"] = json!({"apiVersion": "v1", "kind": "Pod",
                                                    "name": metadata["name"], "uid": metadata["uid"]});
        }
        let answer = self.request("POST", &path, &body).expect("a token");
        let text = fs::read_to_string(self.plane.kubeconfig()).expect("a kubeconfig");
        let mut config = yaml::parse(&text, &yaml::Limits::FILE).expect("YAML")[0].root.to_json();
        config["users"][0]["user"] = json!({"token": answer["status"]["token"]});
        config.to_string()
    }

    /// A client with such a token.
    pub(crate) fn client_of(&self, account: &str, pod: Option<&Value>) -> Client {
        let text = self.kubeconfig_of(account, pod);
        let config = Kubeconfig::from_yaml(&text).expect("a kubeconfig");
        self.runtime.block_on(async {
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(config, &options);
            Client::try_from(config.await.expect("a configuration")).expect("a client")
        })
    }

    /// Takes one verb of one resource out of a `ClusterRole`; gives the role as it was.
    pub(crate) fn without_verb(&self, role: &str, resource: &str, verb: &str) -> Value {
        let whole = self.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", role);
        let mut less = whole.clone();
        let mut taken = 0;
        for rule in less["rules"].as_array_mut().expect("rules") {
            if rule["resources"] == json!([resource]) {
                let verbs = rule["verbs"].as_array_mut().expect("verbs");
                let before = verbs.len();
                verbs.retain(|other| other != verb);
                taken += before - verbs.len();
            }
        }
        // A rule without verbs is none.
        less["rules"].as_array_mut().expect("rules").retain(|rule| rule["verbs"] != json!([]));
        assert_eq!(taken, 1, "{role} has {verb} of {resource} once");
        self.restore(&less);
        whole
    }

    /// Gives a `ClusterRole` these rules.
    pub(crate) fn restore(&self, role: &Value) {
        let name = role["metadata"]["name"].as_str().expect("a name");
        let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}");
        self.request("PATCH", &path, &json!({"rules": role["rules"]})).expect("an edit");
    }

    pub(crate) fn patch_webapp(&self, name: &str, patch: &Value) {
        let uri = format!("/apis/demo.kubewright.io/v1/namespaces/default/webapps/{name}");
        self.request("PATCH", &uri, patch).expect("an edit");
    }

    /// Applies the documents of a file.
    pub(crate) fn apply_file(&self, path: &str) {
        let text = fs::read_to_string(path).expect("a file");
        for document in yaml::parse(&text, &yaml::Limits::FILE).expect("YAML") {
            let object = document.root.to_json();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let namespace = text(&object["metadata"]["namespace"]);
            let name = text(&object["metadata"]["name"]);
            let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
            let path = self.path((&version, &kind, &namespace, &name));
            let path = format!("{path}?fieldManager=somebody&force=true");
            self.request("PATCH", &path, &object).expect("it is accepted");
        }
    }

    pub(crate) fn get(&self, version: &str, kind: &str, namespace: &str, name: &str) -> Value {
        let found = self.find(version, kind, namespace, name);
        found.unwrap_or_else(|| panic!("{kind} {name} is not there"))
    }

    pub(crate) fn find(
        &self,
        version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        self.request("GET", &self.path((version, kind, namespace, name)), &Value::Null).ok()
    }

    pub(crate) fn until_ready(
        &self,
        version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        program: &Program,
    ) {
        let is_ready = |object: &Value| {
            let generation = &object["metadata"]["generation"];
            let conditions = object["status"]["conditions"].as_array();
            let seen =
                conditions.into_iter().flatten().all(|c| c["observedGeneration"] == *generation);
            seen && condition(object, "Ready").0 == "True"
        };
        self.until((version, kind, namespace, name), "is ready", program, is_ready);
    }

    pub(crate) fn until(
        &self,
        place: Place<'_>,
        what: &str,
        program: &Program,
        check: impl Fn(&Value) -> bool,
    ) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.find(place.0, place.1, place.2, place.3);
            if found.as_ref().is_some_and(&check) {
                return;
            }
            assert!(Instant::now() < deadline, "{place:?} {what}: {found:?}\n{}", program.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the log or a condition of a `WebApp` says something.
    pub(crate) fn until_told(&self, what: &str, program: &Program) {
        let deadline = Instant::now() + PATIENCE;
        let path = "/apis/demo.kubewright.io/v1/namespaces/default/webapps";
        loop {
            let list = self.request("GET", path, &Value::Null).expect("a list");
            let conditions = list["items"].as_array().into_iter().flatten();
            let messages =
                conditions.filter_map(|item| item["status"]["conditions"].as_array()).flatten();
            let in_messages = messages
                .filter_map(|condition| condition["message"].as_str())
                .any(|message| message.contains(what));
            let log = program.log();
            if in_messages || log.contains(what) || log.contains(&what.replace('"', "\\\"")) {
                return;
            }
            assert!(Instant::now() < deadline, "nobody says `{what}`: {list:#}\n{log}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The uid of every parent, child and definition of ours.
    pub(crate) fn uids(&self) -> BTreeMap<String, String> {
        let mut uids = BTreeMap::new();
        let selected = "?labelSelector=kubewright.io%2Fowner";
        for (path, selector) in [
            ("/apis/demo.kubewright.io/v1/webapps", ""),
            ("/apis/demo.kubewright.io/v1/tenants", ""),
            ("/apis/apps/v1/deployments", selected),
            ("/api/v1/services", selected),
            ("/api/v1/configmaps", selected),
            ("/api/v1/namespaces", selected),
            ("/apis/networking.k8s.io/v1/ingresses", selected),
            ("/apis/networking.k8s.io/v1/networkpolicies", selected),
            ("/apis/rbac.authorization.k8s.io/v1/rolebindings", selected),
        ] {
            let list =
                self.request("GET", &format!("{path}{selector}"), &Value::Null).expect("a list");
            for item in list["items"].as_array().into_iter().flatten() {
                let metadata = &item["metadata"];
                let name = format!("{path} {} {}", metadata["namespace"], metadata["name"]);
                uids.insert(name, metadata["uid"].to_string());
            }
        }
        assert!(uids.len() > 10, "{uids:?}");
        uids
    }

    fn path(&self, (version, kind, namespace, name): Place<'_>) -> String {
        let gvk = Gvk::parse(version, kind).expect("a kind");
        let kind = self.runtime.block_on(self.kinds.resolve(&gvk)).expect("a served kind");
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        format!("{}/{name}", kind.resource.path(namespace))
    }

    pub(crate) fn request(&self, method: &str, uri: &str, body: &Value) -> Result<Value, String> {
        self.request_as(&self.client, method, uri, body).map_err(|error| error.to_string())
    }

    /// A request of somebody.
    pub(crate) fn request_as(
        &self,
        client: &Client,
        method: &str,
        uri: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let kind = match method {
            "PATCH" if uri.contains("force=true") => "apply-patch+yaml",
            "PATCH" => "merge-patch+json",
            _ => "json",
        };
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", format!("application/{kind}"))
            .body(body)
            .expect("a request");
        self.runtime.block_on(client.request(request))
    }
}

impl Program {
    /// What it said so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Asks it to end, as Kubernetes does, and expects that it does.
    pub(crate) fn stop(mut self) {
        let pid = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("a signal");
        let status = self.process.wait().expect("it ends");
        assert!(status.success(), "{status}: {}", self.log());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Ended already, if all went well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
