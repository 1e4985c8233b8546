//! A namespace, a set of rules confined to it, and a controller that runs them.

use crate::world::{PATIENCE, Request, eventually, world};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GetParams, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::core::{GroupVersionKind, Request as ApiRequest};
use kubewright::controller::{self, Controller};
use kubewright::rule::{self, Folder};
use kubewright::source::Source;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// One test's corner of the cluster.
pub(crate) struct Sandbox {
    pub(crate) namespace: String,
    pub(crate) client: Client,
    agent: String,
    user: Option<String>,
    folder: Folder,
    controller: Option<controller::Running>,
    /// How long its controllers miss a parent.
    pub(crate) vanished_after: Duration,
    /// Whether its rules are not confined to the namespace: their parents' kinds must be the test's own.
    pub(crate) anywhere: bool,
}

/// The API group of the kinds that tests bring.
pub(crate) const TEST_GROUP: &str = "tests.kubewright.io";

static CRDS: OnceCell<()> = OnceCell::const_new();

impl Sandbox {
    /// With the shipped `webapp` rule.
    pub(crate) async fn webapp(name: &str) -> Self {
        let folder = rule::read(Path::new("rules/webapp.yaml"), Path::new("templates"))
            .expect("the shipped rule");
        Self::with_folder(name, folder).await
    }

    /// The same without a controller yet.
    pub(crate) async fn webapp_at_rest(name: &str) -> Self {
        let folder = rule::read(Path::new("rules/webapp.yaml"), Path::new("templates"))
            .expect("the shipped rule");
        Self::at_rest(name, folder).await
    }

    /// With another shipped rule, some of its text replaced: what is not confined to a namespace needs names of the test's own.
    pub(crate) async fn shipped(name: &str, rule: &str, replaced: &[(&str, &str)]) -> Self {
        let path = format!("rules/{rule}.yaml");
        let mut folder =
            rule::read(Path::new(&path), Path::new("templates")).expect("the shipped rule");
        for (from, to) in replaced {
            let text =
                |source: &Arc<Source>| Source::new(&*source.name, source.text.replace(from, to));
            folder.rules = folder.rules.iter().map(text).collect();
        }
        let mut sandbox = Self::at_rest(name, folder).await;
        for crd in &rule::load(&sandbox.folder).crds {
            install_crd(&sandbox.client, &crd.object).await;
        }
        sandbox.start();
        sandbox
    }

    /// The same client in another namespace, without a controller.
    pub(crate) fn looking_into(&self, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            client: self.client.clone(),
            agent: self.agent.clone(),
            user: None,
            folder: folder("", &[]),
            controller: None,
            vanished_after: self.vanished_after,
            anywhere: false,
        }
    }

    /// With a rule and templates of the test's own.
    pub(crate) async fn with(name: &str, rule: &str, templates: &[(&str, &str)]) -> Self {
        Self::with_folder(name, folder(rule, templates)).await
    }

    /// The same without a controller yet.
    pub(crate) async fn at_rest_with(name: &str, rule: &str, templates: &[(&str, &str)]) -> Self {
        Self::at_rest(name, folder(rule, templates)).await
    }

    /// The same with a controller that may do only what [`Sandbox::allow`] allowed.
    pub(crate) async fn limited(
        name: &str,
        rule: &str,
        templates: &[(&str, &str)],
        rights: Value,
    ) -> Self {
        let mut sandbox = Self::at_rest(name, folder(rule, templates)).await;
        sandbox.user = Some(format!("controller-of-{name}"));
        sandbox.allow("first", rights).await;
        sandbox.start();
        sandbox
    }

    /// A namespace without any rule.
    pub(crate) async fn bare(name: &str) -> Self {
        Self::at_rest(name, folder("", &[])).await
    }

    /// Adds labels to the sandbox's namespace.
    pub(crate) async fn label_namespace(&self, labels: Value) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        namespaces.patch(&self.namespace, &PatchParams::default(), &patch).await.expect("an edit");
    }

    async fn with_folder(name: &str, folder: Folder) -> Self {
        let mut sandbox = Self::at_rest(name, folder).await;
        sandbox.start();
        sandbox
    }

    async fn at_rest(name: &str, folder: Folder) -> Self {
        let world = world();
        let client = world.client(&format!("test-{name}"));
        CRDS.get_or_init(|| install_crds(&client)).await;
        world.namespace(&client, name).await;
        Self {
            namespace: name.to_owned(),
            client,
            agent: format!("kubewright-{name}"),
            user: None,
            folder,
            controller: None,
            vanished_after: controller::Options::default().vanished_after,
            anywhere: false,
        }
    }

    /// Gives the limited controller more rights, a list of RBAC rules.
    pub(crate) async fn allow(&self, what: &str, rights: Value) {
        let name = format!("{}-{what}", self.namespace);
        let user = self.user.as_deref().expect("a limited controller");
        let group = "rbac.authorization.k8s.io";
        let role = json!({"metadata": {"name": name}, "rules": rights});
        let binding = json!({"metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}]});
        for (kind, mut object) in [("ClusterRole", role), ("ClusterRoleBinding", binding)] {
            object["apiVersion"] = json!(format!("{group}/v1"));
            object["kind"] = json!(kind);
            let gvk = GroupVersionKind::gvk(group, "v1", kind);
            let api: Api<DynamicObject> =
                Api::all_with(self.client.clone(), &ApiResource::from_gvk(&gvk));
            let parameters = PatchParams::apply("tests");
            api.patch(&name, &parameters, &Patch::Apply(&object)).await.expect("it is accepted");
        }
    }

    /// Starts a controller, as a freshly started process would.
    pub(crate) fn start(&mut self) {
        self.start_with(world().client_as(&self.agent, self.user.as_deref()));
    }

    /// The same with a client of the test's own.
    pub(crate) fn start_with(&mut self, client: Client) {
        self.controller = Some(self.another(client));
    }

    /// Starts a controller as the program does: it remembers its rules in the sandbox's namespace, and changes at most so
    /// many parents in a second because their rule changed.
    pub(crate) async fn begin(&mut self, rollout_rate: u32) {
        let options = controller::Options {
            installation: self.namespace.clone(),
            namespace: Some(self.namespace.clone()),
            rollout_rate,
            ..controller::Options::default()
        };
        let controller = Controller::new(world().client(&self.agent), options);
        controller.begin(&rule::load(&self.confined(&self.folder))).await;
        self.controller = Some(controller.start());
    }

    /// The rule file is another one from now on; a running controller takes it over as it is.
    pub(crate) fn rule_is(&mut self, text: &str) {
        self.folder.rules = vec![Source::new("rule.yaml", text)];
        if let Some(running) = &self.controller {
            running.controller.take_over(&rule::load(&self.confined(&self.folder)));
        }
    }

    /// One more controller of the same installation, which the sandbox does not look after.
    pub(crate) fn another(&self, client: Client) -> controller::Running {
        let options = controller::Options {
            installation: self.namespace.clone(),
            vanished_after: self.vanished_after,
            ..controller::Options::default()
        };
        let controller = Controller::new(client, options);
        controller.set_rules(&self.rules());
        controller.start()
    }

    /// Ends the controller in the middle of whatever it does, as a crash would.
    pub(crate) fn cut_off(&mut self) {
        drop(self.controller.take());
    }

    /// Stops it.
    pub(crate) async fn stop(&mut self) {
        if let Some(running) = self.controller.take() {
            running.stop().await;
        }
    }

    /// Another rule, loaded at run time if a controller runs, else by the next one.
    pub(crate) fn edit_rule(&mut self, from: &str, to: &str) {
        let text = self.folder.rules[0].text.clone();
        assert!(text.contains(from), "the rule has no {from}");
        self.folder.rules = vec![Source::new("rule.yaml", text.replace(from, to))];
        let rules = self.rules();
        if let Some(running) = &self.controller {
            running.controller.set_rules(&rules);
        }
    }

    /// The rules with another text in one template, for whoever only reads.
    pub(crate) fn with_template(&self, name: &str, from: &str, to: &str) -> Vec<Arc<rule::Rule>> {
        let mut templates = (*self.folder.templates).clone();
        let source = templates.get_mut(name).expect("the template");
        assert!(source.text.contains(from), "{name} has no {from}");
        *source = Source::new(source.name.clone(), source.text.replace(from, to));
        let rules = self.folder.rules.clone();
        self.rules_of(&Folder { rules, templates: Arc::new(templates) })
    }

    /// From now on [`Sandbox::allow`] speaks of this user.
    pub(crate) fn limit(&mut self, user: &str) {
        self.user = Some(user.to_owned());
    }

    /// The rules, confined to this namespace.
    pub(crate) fn rules(&self) -> Vec<Arc<rule::Rule>> {
        self.rules_of(&self.folder)
    }

    fn rules_of(&self, folder: &Folder) -> Vec<Arc<rule::Rule>> {
        let loaded = rule::load(&self.confined(folder));
        assert_eq!(loaded.problems, [], "the rules compile");
        loaded.rules
    }

    fn confined(&self, folder: &Folder) -> Folder {
        let confined = folder.rules.iter().map(|source| {
            let text = source
                .text
                .replace("parent: {", &format!("parent: {{namespaces: [{}], ", self.namespace));
            let text = if self.anywhere { source.text.clone() } else { text };
            Source::new(source.name.clone(), text)
        });
        Folder { rules: confined.collect(), templates: Arc::clone(&folder.templates) }
    }

    pub(crate) fn controller(&self) -> &Arc<Controller> {
        &self.controller.as_ref().expect("a running controller").controller
    }

    /// Waits until the caches are filled and nothing is left to do.
    pub(crate) async fn settled(&self) {
        let settled = tokio::time::timeout(PATIENCE, self.controller().settled()).await;
        settled.expect("the controller comes to rest");
    }

    /// What this controller asked the API server so far, Events aside: they come beside the passes, in their own time.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let all = world().requests(&self.agent).into_iter();
        all.filter(|request| !request.is_about_events()).collect()
    }

    /// What it asked in order to tell Events.
    pub(crate) fn events(&self) -> Vec<Request> {
        let all = world().requests(&self.agent).into_iter();
        all.filter(Request::is_about_events).collect()
    }

    /// The Events about a parent, in the order in which they were made: reason, note, and the whole.
    pub(crate) async fn told(&self, parent: &str) -> Vec<(String, String, Value)> {
        self.told_in(&self.namespace, parent).await
    }

    /// The same for a parent whose Events are in another namespace.
    pub(crate) async fn told_in(
        &self,
        namespace: &str,
        parent: &str,
    ) -> Vec<(String, String, Value)> {
        let gvk = GroupVersionKind::gvk("events.k8s.io", "v1", "Event");
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &resource);
        let events = api.list(&ListParams::default()).await.expect("a list").items;
        let ours = format!("kubewright.io/{}", self.namespace);
        let mut events: Vec<Value> = events
            .into_iter()
            .map(|event| serde_json::to_value(event).expect("JSON"))
            .filter(|event| event["reportingController"] == ours)
            .filter(|event| event["regarding"]["name"] == parent)
            .collect();
        events.sort_by_key(|event| event["eventTime"].as_str().unwrap_or_default().to_owned());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        events
            .into_iter()
            .map(|event| (text(&event["reason"]), text(&event["note"]), event))
            .collect()
    }

    /// Waits for an Event of a reason about a parent, and gives it.
    pub(crate) async fn until_told(&self, parent: &str, reason: &str) -> (String, Value) {
        eventually(&format!("{parent} is told of {reason}"), || async {
            let told = self.told(parent).await;
            let found = told.iter().find(|(found, ..)| found == reason);
            found.map(|(_, note, event)| (note.clone(), event.clone())).ok_or(format!("{told:#?}"))
        })
        .await
    }

    pub(crate) fn writes(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_write).collect()
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (resource, namespaced) = Self::resource(kind);
        if namespaced {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        }
    }

    /// A kind, and whether it lives in namespaces.
    pub(crate) fn resource(kind: &str) -> (ApiResource, bool) {
        let (group, version, kind, plural) = match kind {
            "WebApp" => ("demo.kubewright.io", "v1", kind, "webapps"),
            "ConfigMap" => ("", "v1", kind, "configmaps"),
            "Service" => ("", "v1", kind, "services"),
            "ServiceAccount" => ("", "v1", kind, "serviceaccounts"),
            "Deployment" => ("apps", "v1", kind, "deployments"),
            "Ingress" => ("networking.k8s.io", "v1", kind, "ingresses"),
            "NetworkPolicy" => ("networking.k8s.io", "v1", kind, "networkpolicies"),
            "Namespace" => ("", "v1", kind, "namespaces"),
            "LimitRange" => ("", "v1", kind, "limitranges"),
            "ResourceQuota" => ("", "v1", kind, "resourcequotas"),
            "StatefulSet" => ("apps", "v1", kind, "statefulsets"),
            "Job" => ("batch", "v1", kind, "jobs"),
            "CronJob" => ("batch", "v1", kind, "cronjobs"),
            "RoleBinding" => ("rbac.authorization.k8s.io", "v1", kind, "rolebindings"),
            "PodDisruptionBudget" => ("policy", "v1", kind, "poddisruptionbudgets"),
            "HorizontalPodAutoscaler" => ("autoscaling", "v2", kind, "horizontalpodautoscalers"),
            "Database" | "ConfigSync" | "PreviewSet" | "Tenant" => {
                ("demo.kubewright.io", "v1", kind, &*format!("{}s", kind.to_lowercase()))
            }
            "Secret" => ("", "v1", kind, "secrets"),
            "Pod" => ("", "v1", kind, "pods"),
            "EndpointSlice" => ("discovery.k8s.io", "v1", kind, "endpointslices"),
            "Endpoints" => ("", "v1", kind, "endpoints"),
            "PersistentVolumeClaim" => ("", "v1", kind, "persistentvolumeclaims"),
            "ClusterRole" => ("rbac.authorization.k8s.io", "v1", kind, "clusterroles"),
            other => (TEST_GROUP, "v1", other, &*format!("{}s", other.to_lowercase())),
        };
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        let global = ["Namespace", "Tenant"].contains(&kind);
        (resource, !(global || kind.starts_with("Global") || kind.starts_with("Cluster")))
    }

    /// Installs a kind of [`TEST_GROUP`] whose spec takes anything. Its name must be the test's own; if it starts with
    /// `Global` it lives in no namespace. Without a status it has no status subresource.
    pub(crate) async fn kind_is(&self, kind: &str, status: Value) {
        let scope = if kind.starts_with("Global") { "Cluster" } else { "Namespaced" };
        let subresources = if status.is_null() { json!({}) } else { json!({"status": {}}) };
        let status = if status.is_null() { json!({"type": "object"}) } else { status };
        let plural = format!("{}s", kind.to_lowercase());
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{TEST_GROUP}")},
            "spec": {
                "group": TEST_GROUP, "scope": scope,
                "names": {"plural": plural, "kind": kind},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": subresources,
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "properties": {"spec": any, "status": status}}},
                }],
            },
        });
        install_crd(&self.client, &crd).await;
    }

    /// Deletes a kind of [`TEST_GROUP`] with all its objects.
    pub(crate) async fn kind_is_gone(&self, kind: &str) {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = format!("{}s.{TEST_GROUP}", kind.to_lowercase());
        crds.delete(&name, &DeleteParams::background()).await.expect("a delete");
        eventually(&format!("{name} is gone"), || async {
            match crds.get_opt(&name).await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// Creates or edits an object of a kind of [`TEST_GROUP`].
    pub(crate) async fn is(&self, kind: &str, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": format!("{TEST_GROUP}/v1"), "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        });
        let parameters = PatchParams::apply("somebody").force();
        let api = self.api(kind);
        let request = ApiRequest::new(api.resource_url());
        let request = request.patch(name, &parameters, &Patch::Apply(&object)).expect("a request");
        // The answer is not looked at: an object may be too deep for that.
        self.client.request_text(request).await.expect("the object is accepted");
    }

    /// Creates or edits a parent, as its user would.
    pub(crate) async fn webapp_is(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "demo.kubewright.io/v1", "kind": "WebApp",
            "metadata": {"name": name}, "spec": spec,
        });
        let parameters = PatchParams::apply("somebody").force();
        self.api("WebApp")
            .patch(name, &parameters, &Patch::Apply(&object))
            .await
            .expect("the WebApp is accepted");
    }

    /// Edits an object by hand; gives the object as the server answered.
    pub(crate) async fn edit(&self, kind: &str, name: &str, patch: Value) -> Value {
        let parameters =
            PatchParams { field_manager: Some("by-hand".into()), ..PatchParams::default() };
        let object = self.api(kind).patch(name, &parameters, &Patch::Merge(&patch)).await;
        serde_json::to_value(object.expect("the edit is accepted")).expect("JSON")
    }

    /// Edits the status of an object as its own controller would.
    pub(crate) async fn edit_status(&self, kind: &str, name: &str, patch: Value) {
        let parameters =
            PatchParams { field_manager: Some("by-hand".into()), ..PatchParams::default() };
        let edited = self.api(kind).patch_status(name, &parameters, &Patch::Merge(&patch)).await;
        edited.expect("the edit is accepted");
    }

    /// From now on every write of a ConfigMap of this name gets another value under a key of its data.
    pub(crate) async fn admission_changes(&self, name: &str, key: &str) {
        let group = "admissionregistration.k8s.io";
        let policy = format!("{}-changes", self.namespace);
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                          "operations": ["CREATE", "UPDATE"]});
        let here = format!(
            "object.metadata.name == '{name}' && object.metadata.namespace == '{}'",
            self.namespace
        );
        let change = format!("Object{{data: {{'{key}': 'as-admission-wants'}}}}");
        let of_policy = json!({
            "matchConstraints": {"resourceRules": [rule]}, "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConditions": [{"name": "here", "expression": here}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}],
        });
        for (kind, spec) in [
            ("MutatingAdmissionPolicy", of_policy),
            ("MutatingAdmissionPolicyBinding", json!({"policyName": policy})),
        ] {
            let gvk = GroupVersionKind::gvk(group, "v1", kind);
            let resource = match kind.strip_suffix("Policy") {
                Some(stem) => ApiResource::from_gvk_with_plural(
                    &gvk,
                    &format!("{}policies", stem.to_lowercase()),
                ),
                None => ApiResource::from_gvk(&gvk),
            };
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            let object = json!({"apiVersion": format!("{group}/v1"), "kind": kind,
                                "metadata": {"name": policy}, "spec": spec});
            let parameters = PatchParams::apply("tests");
            api.patch(&policy, &parameters, &Patch::Apply(&object)).await.expect("it is accepted");
        }
        // The API server takes a moment to notice a policy.
        let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: "x"}});
        let parameters = PatchParams { dry_run: true, ..PatchParams::apply("tests") };
        eventually("the policy is in force", || async {
            let answer =
                self.api("ConfigMap").patch(name, &parameters, &Patch::Apply(&probe)).await;
            let answer = answer.map_err(|error| error.to_string())?;
            if answer.data["data"][key] == "x" { Err(format!("{answer:?}")) } else { Ok(()) }
        })
        .await;
    }

    /// Creates a namespace besides the sandbox's own.
    pub(crate) async fn namespace(&self, name: &str) {
        world().namespace(&self.client, name).await;
    }

    pub(crate) async fn create(&self, kind: &str, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        self.api(kind).create(&PostParams::default(), &object).await.expect("it is accepted");
    }

    /// Deletes an object, and takes off by hand whatever holds it. The controller must not look meanwhile.
    pub(crate) async fn force_away(&self, kind: &str, name: &str) {
        self.delete(kind, name).await;
        if self.find(kind, name).await.is_some() {
            self.edit(kind, name, json!({"metadata": {"finalizers": null}})).await;
        }
        self.until_gone(kind, name).await;
    }

    /// Every object of a kind in every namespace that carries this installation's label.
    pub(crate) async fn labelled(&self, kind: &str) -> Vec<Value> {
        self.labelled_by(&self.namespace, kind).await
    }

    /// The same of another installation.
    pub(crate) async fn labelled_by(&self, installation: &str, kind: &str) -> Vec<Value> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &Self::resource(kind).0);
        let selected = format!("kubewright.io/owner={installation}");
        let list = api.list(&ListParams::default().labels(&selected)).await.expect("a list");
        let value = |object| serde_json::to_value(object).expect("JSON");
        list.items.into_iter().map(value).collect()
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        self.api(kind).delete(name, &DeleteParams::background()).await.expect("a delete");
    }

    pub(crate) async fn find(&self, kind: &str, name: &str) -> Option<Value> {
        let object = self.api(kind).get_opt(name).await.expect("an answer");
        object.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    /// An object as the API server writes it.
    pub(crate) async fn text(&self, kind: &str, name: &str) -> String {
        let request = ApiRequest::new(self.api(kind).resource_url());
        let request = request.get(name, &GetParams::default()).expect("a request");
        self.client.request_text(request).await.expect("an answer")
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name).await.unwrap_or_else(|| panic!("{kind} {name} is not there"))
    }

    /// Waits until an object exists and is as `check` wants it.
    pub(crate) async fn until(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        check: impl Fn(&Value) -> bool,
    ) -> Value {
        eventually(&format!("{kind} {name} {what}"), || async {
            match self.find(kind, name).await {
                Some(object) if check(&object) => Ok(object),
                Some(object) => Err(object.to_string()),
                None => Err("it does not exist".into()),
            }
        })
        .await
    }

    pub(crate) async fn until_gone(&self, kind: &str, name: &str) {
        eventually(&format!("{kind} {name} is gone"), || async {
            match self.find(kind, name).await {
                None => Ok(()),
                Some(object) => Err(object.to_string()),
            }
        })
        .await;
    }

    /// Deletes a namespace and waits until it is gone.
    pub(crate) async fn namespace_is_gone(&self, name: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.delete(name, &DeleteParams::background()).await.expect("a delete");
        eventually(&format!("namespace {name} is gone"), || async {
            match namespaces.get_opt(name).await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// Waits until the parent says `Ready=True`, and then for everything that this set off.
    pub(crate) async fn until_ready(&self, name: &str) -> Value {
        let webapp = self
            .until("WebApp", name, "is ready", |object| condition(object, "Ready").0 == "True")
            .await;
        self.settled().await;
        webapp
    }
}

fn folder(rule: &str, templates: &[(&str, &str)]) -> Folder {
    let source = |(name, text): &(&str, &str)| ((*name).to_owned(), Source::new(*name, *text));
    Folder {
        rules: vec![Source::new("rule.yaml", rule)],
        templates: Arc::new(templates.iter().map(source).collect()),
    }
}

/// Status and message of a condition.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let conditions =
        object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    found.map_or(("", ""), |condition| {
        (
            condition["status"].as_str().unwrap_or_default(),
            condition["message"].as_str().unwrap_or_default(),
        )
    })
}

/// The kinds of the shipped example.
pub(crate) async fn install_crds(client: &Client) {
    install_crd(client, &read_yaml("rules/webapp.crd.yaml")).await;
}

pub(crate) async fn install_crd(client: &Client, crd: &Value) {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = crd["metadata"]["name"].as_str().expect("a name").to_owned();
    crds.patch(&name, &PatchParams::apply("tests").force(), &Patch::Apply(crd))
        .await
        .expect("the CRD is accepted");
    eventually("the CRD is served", || async {
        let crd = crds.get(&name).await.map_err(|error| error.to_string())?;
        let crd = serde_json::to_value(crd).unwrap_or_default();
        if condition(&crd, "Established").0 == "True" { Ok(()) } else { Err(crd.to_string()) }
    })
    .await;
}

fn read_yaml(path: &str) -> Value {
    let text = std::fs::read_to_string(path).expect("a file");
    kubewright::yaml::parse(&text, &kubewright::yaml::Limits::FILE).expect("YAML")[0].root.to_json()
}
