//! The rights that `rbac` prints are those that the program uses: every shipped rule does its whole work with them, and each
//! verb of them is seen in the API server's audit log.

use crate::sandbox::{condition, install_crd};
use crate::world::{eventually, world};
use http::Request;
use kube::Client;
use kubewright::controller::{self, Controller};
use kubewright::object::Gvk;
use kubewright::rights::{Naming, Rights, Verb, rights};
use kubewright::rule::{self, Folder, Loaded};
use kubewright::schema::Types;
use kubewright::source::Source;
use kubewright::watch::Kinds;
use kubewright::yaml;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const OWNER: &str = "kubewright.io/owner";
const MARK: &str = "kubewright.io/child";
const EVENTS: &str = "events.k8s.io/events";

pub(crate) async fn config_sync_needs_exactly_what_is_printed() {
    exactly("config-sync").await;
}

/// A restore runs once and is let go of then, so that it is looked for only where somebody has its name.
pub(crate) async fn database_needs_exactly_what_is_printed() {
    let stage = Stage::new("database").await;
    stage.examples_exist().await;
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]});
    let foreign = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "orders-restore-dce3e4c0", "namespace": "rights-database"},
        "spec": {"template": {"spec": pod}}});
    stage.apply(&foreign).await;
    let running = stage.run(&stage.loaded);
    eventually("the Job of somebody else is read", || async {
        let used = stage.used();
        if used.contains_key(&("batch/jobs".into(), "get".into())) {
            Ok(())
        } else {
            Err(format!("{used:?}"))
        }
    })
    .await;
    running.stop().await;
    stage.are_gone(&[stage.path(&foreign).await].into()).await;
    does_everything(stage).await;
}

pub(crate) async fn namespace_defaults_needs_exactly_what_is_printed() {
    exactly("namespace-defaults").await;
}

pub(crate) async fn preview_needs_exactly_what_is_printed() {
    exactly("preview").await;
}

/// Without `bind` it could not give the roles, which no verb of a request shows.
pub(crate) async fn tenant_needs_exactly_what_is_printed() {
    let stage = Stage::new("tenant").await;
    let mut less = stage.rights.clone();
    for grants in less.grants.values_mut() {
        grants.retain(|_, grant| !grant.verbs.contains(&Verb::Bind));
    }
    stage.grant(&less).await;
    stage.examples_exist().await;
    let running = stage.run_as(&stage.beginner(), &stage.loaded);
    for parent in stage.parents() {
        let is_told = |parent: &Value| {
            let (_, why) = condition(parent, "Stalled");
            why.contains("attempting to grant RBAC permissions not currently held")
        };
        stage.until(parent, "may not give roles", is_told).await;
    }
    running.stop().await;
    stage.grant(&stage.rights).await;
    does_everything(stage).await;
}

pub(crate) async fn webapp_needs_exactly_what_is_printed() {
    exactly("webapp").await;
}

/// Everything that a rule does, with the printed rights and no others: children are made, found again under a lost label,
/// told of where somebody else has them, pruned, and taken away with their parent. Then the verbs that were used are the
/// printed ones.
async fn exactly(rule: &str) {
    does_everything(Stage::new(rule).await).await;
}

async fn does_everything(stage: Stage) {
    stage.examples_exist().await;
    let running = stage.run(&stage.loaded);
    stage.all_are_ready(&running).await;
    running.stop().await;

    // The cache does not show what has lost its label: it is created, refused, and read.
    let children = stage.children().await;
    assert!(!children.is_empty());
    for child in &children {
        stage.edit(child, json!({"metadata": {"labels": {OWNER: null}}})).await;
    }
    let running = stage.run(&stage.loaded);
    for child in &children {
        let is_labelled = |child: &Value| child["metadata"]["labels"][OWNER].is_string();
        stage.until(child, "has its label again", is_labelled).await;
    }
    running.stop().await;
    stage.is_told_of(&children[0]).await;

    let running = stage.run(&stage.selecting_nothing());
    eventually("no child is left", || async {
        let left = stage.children().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:#?}")) }
    })
    .await;
    running.stop().await;
    // What stays without our marks would be in the way of the next ones.
    stage.are_gone(&stage.made()).await;

    let running = stage.run(&stage.loaded);
    stage.all_are_ready(&running).await;
    stage.are_gone(&stage.parents_paths().await).await;
    running.stop().await;

    // Parents whose finalizer somebody takes off leave something behind: whether they are gone is asked for.
    stage.are_gone(&stage.made()).await;
    stage.examples_exist().await;
    let running = stage.run(&stage.loaded);
    stage.all_are_ready(&running).await;
    running.stop().await;
    for parent in stage.parents() {
        stage.edit(parent, json!({"metadata": {"finalizers": null}})).await;
    }
    stage.are_gone(&stage.parents_paths().await).await;
    let running = stage.run(&stage.loaded);
    eventually("what they left behind is let go", || async {
        let left = stage.children().await;
        let free = left.iter().filter(|child| child["metadata"].get("ownerReferences").is_none());
        let free: Vec<_> = free.collect();
        if free.is_empty() { Ok(()) } else { Err(format!("{free:#?}")) }
    })
    .await;
    running.stop().await;
    stage.used_what_it_has().await;
}

/// A shipped rule in an API group of the test's own, and a service account with its printed rights.
struct Stage {
    rule: String,
    client: Client,
    kinds: Kinds,
    loaded: Loaded,
    rights: Rights,
}

impl Stage {
    async fn new(rule: &str) -> Self {
        let client = world().client(&format!("test-rights-{rule}"));
        let loaded = rule::load(&folder(rule));
        assert_eq!(loaded.problems, []);
        for crd in &loaded.crds {
            install_crd(&client, &crd.object).await;
        }
        let crds = loaded.crds.iter().map(|crd| &crd.object);
        let rights = rights(&loaded.rules, &Types::builtin().with_crds(crds)).expect("known kinds");
        let kinds = Kinds::new(client.clone());
        let stage = Self { rule: rule.to_owned(), client, kinds, loaded, rights };
        stage.grant(&stage.rights).await;
        stage
    }

    /// Gives the service account these rights.
    async fn grant(&self, rights: &Rights) {
        let name = format!("rights-{}", self.rule);
        let naming = Naming { name: &name, account: Some(("rights", &self.rule)) };
        for role in rights.to_json(&naming)["items"].as_array().expect("a list") {
            self.apply(role).await;
        }
    }

    fn agent(&self) -> String {
        format!("kubewright-rights-{}", self.rule)
    }

    /// The same before it has all of its rights.
    fn beginner(&self) -> String {
        format!("{}-at-first", self.agent())
    }

    /// A controller that is the service account, over the whole cluster.
    fn run(&self, loaded: &Loaded) -> controller::Running {
        self.run_as(&self.agent(), loaded)
    }

    fn run_as(&self, agent: &str, loaded: &Loaded) -> controller::Running {
        let user = format!("system:serviceaccount:rights:{}", self.rule);
        let options = controller::Options {
            installation: format!("rights-{}", self.rule),
            vanished_after: Duration::ZERO,
            ..controller::Options::default()
        };
        let controller = Controller::new(world().client_as(agent, Some(&user)), options);
        controller.set_rules(&loaded.rules);
        controller.start()
    }

    /// The same rule for parents of which there are none.
    fn selecting_nothing(&self) -> Loaded {
        let mut folder = folder(&self.rule);
        let documents = yaml::parse(&folder.rules[0].text, &yaml::Limits::FILE).expect("YAML");
        let mut rule = documents[0].root.to_json();
        let never = json!({"path": "$.metadata.name", "equals": "nobody"});
        match rule["spec"]["parent"]["when"].as_array_mut() {
            Some(when) => when.push(never),
            None => rule["spec"]["parent"]["when"] = json!([never]),
        }
        folder.rules[0] = Source::new("rule.yaml", rule.to_string());
        let loaded = rule::load(&folder);
        assert_eq!(loaded.problems, []);
        loaded
    }

    /// The example parents and what they read, with their namespaces.
    async fn examples_exist(&self) {
        let examples = self.loaded.examples.iter().map(|example| &example.object);
        let (namespaces, others): (Vec<_>, Vec<_>) =
            examples.partition(|object| object["kind"] == "Namespace");
        let named = others.iter().filter_map(|object| object["metadata"]["namespace"].as_str());
        for name in named.collect::<BTreeSet<_>>() {
            let metadata = json!({"name": name});
            self.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
                .await;
        }
        for object in namespaces.iter().chain(&others) {
            self.apply(object).await;
        }
    }

    fn parents(&self) -> impl Iterator<Item = &Value> {
        let examples = self.loaded.examples.iter().map(|example| &example.object);
        examples.filter(|object| self.loaded.rules[0].is_for(object))
    }

    async fn parents_paths(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        for parent in self.parents() {
            paths.insert(self.path(parent).await);
        }
        paths
    }

    async fn all_are_ready(&self, running: &controller::Running) {
        if self.loaded.rules[0].status.is_some() {
            for parent in self.parents() {
                let is_ready = |parent: &Value| condition(parent, "Ready").0 == "True";
                self.until(parent, "is ready", is_ready).await;
            }
        }
        let settled = tokio::time::timeout(crate::world::PATIENCE, running.controller.settled());
        settled.await.expect("the controller comes to rest");
    }

    /// A parent that finds a child taken is told so; after a restart the same Event is counted up.
    async fn is_told_of(&self, child: &Value) {
        let marks = |mark: &Value, owner: &Value| json!({"metadata": {"annotations": {MARK: mark}, "labels": {OWNER: owner}}});
        self.edit(child, marks(&Value::Null, &Value::Null)).await;
        for verb in ["create", "patch"] {
            let count = || self.used().get(&(EVENTS.to_owned(), verb.to_owned())).copied();
            let before = count();
            let running = self.run(&self.loaded);
            eventually("somebody is told", || async {
                if count() > before { Ok(()) } else { Err(format!("{verb}: {:?}", count())) }
            })
            .await;
            running.stop().await;
        }
        let metadata = &child["metadata"];
        self.edit(child, marks(&metadata["annotations"][MARK], &metadata["labels"][OWNER])).await;
    }

    /// Whatever carries our label, in any namespace.
    async fn children(&self) -> Vec<Value> {
        let mut children = Vec::new();
        for gvk in self.loaded.rules[0].kinds().collect::<BTreeSet<_>>() {
            let path = self.kinds.resolve(gvk).await.expect("a served kind").resource.path(None);
            let path = format!("{path}?labelSelector={OWNER}%3Drights-{}", self.rule);
            let list = self.request("GET", &path, Value::Null).await.expect("a list");
            for item in list["items"].as_array().into_iter().flatten() {
                let mut item = item.clone();
                item["apiVersion"] = json!(gvk.api_version());
                item["kind"] = json!(gvk.kind);
                children.push(item);
            }
        }
        children
    }

    /// Each verb that was used of a resource, and how often. Whoever applies what is not there makes it.
    fn used(&self) -> BTreeMap<(String, String), usize> {
        let mut used = BTreeMap::new();
        for event in world().audited(&self.agent()) {
            let about = &event["objectRef"];
            let Some(resource) = about["resource"].as_str() else { continue };
            let group = about["apiGroup"].as_str().unwrap_or_default();
            let sub = about["subresource"].as_str().map_or(String::new(), |sub| format!("/{sub}"));
            let resource = format!("{group}/{resource}{sub}");
            let verb = event["verb"].as_str().unwrap_or_default();
            let code = &event["responseStatus"]["code"];
            assert_ne!(*code, 403, "{event}");
            let created = verb == "patch" && *code == 201;
            for verb in [verb].into_iter().chain(created.then_some("create")) {
                *used.entry((resource.clone(), verb.to_owned())).or_default() += 1;
            }
        }
        used
    }

    async fn used_what_it_has(&self) {
        let of_roles = [Verb::Bind, Verb::Escalate];
        let grants = self.rights.grants.values().flatten();
        let printed: BTreeSet<(String, String)> = grants
            .flat_map(|(subject, grant)| {
                let resource = format!("{}/{}", subject.group, subject.resource);
                let verbs = grant.verbs.iter().filter(|verb| !of_roles.contains(verb));
                verbs.map(move |verb| (resource.clone(), verb.word().to_owned()))
            })
            .collect();
        // A watch is logged when it ends.
        eventually("all that is printed is used, and nothing else", || async {
            let used: BTreeSet<_> = self.used().into_keys().collect();
            let more: Vec<_> = used.difference(&printed).collect();
            let less: Vec<_> = printed.difference(&used).collect();
            if used == printed {
                Ok(())
            } else {
                Err(format!("not printed: {more:?}, unused: {less:?}"))
            }
        })
        .await;
    }

    async fn until(&self, object: &Value, what: &str, check: impl Fn(&Value) -> bool) {
        eventually(
            &format!("{} {} {what}", object["kind"], object["metadata"]["name"]),
            || async {
                let found = self.send("GET", object, Value::Null).await?;
                if check(&found) { Ok(()) } else { Err(found.to_string()) }
            },
        )
        .await;
    }

    /// The paths of everything that was ever made for the rule; some of it may have been left behind without our marks.
    fn made(&self) -> BTreeSet<String> {
        let agents = [self.agent(), self.beginner()];
        let events = agents.iter().flat_map(|agent| world().audited(agent));
        let made = events
            .filter(|event| event["verb"] == "patch" && event["responseStatus"]["code"] == 201);
        let path = |event: &Value| {
            event["requestURI"].as_str().and_then(|uri| uri.split('?').next()).map(str::to_owned)
        };
        made.filter_map(|event| path(&event)).collect()
    }

    /// Deletes what is there, with all that depends on it, and waits until nothing is.
    async fn are_gone(&self, paths: &BTreeSet<String>) {
        for path in paths {
            let path = format!("{path}?propagationPolicy=Background");
            drop(self.request("DELETE", &path, Value::Null).await);
        }
        for path in paths {
            eventually(&format!("{path} is gone"), || async {
                match self.request("GET", path, Value::Null).await {
                    Err(why) if why.contains("not found") => Ok(()),
                    other => Err(format!("{other:?}")),
                }
            })
            .await;
        }
    }

    async fn apply(&self, object: &Value) {
        self.send("PATCH?fieldManager=tests&force=true", object, object.clone())
            .await
            .expect("taken");
    }

    async fn edit(&self, object: &Value, patch: Value) {
        self.send("PATCH", object, patch).await.expect("an edit");
    }

    /// A request about one object.
    async fn send(&self, method: &str, object: &Value, body: Value) -> Result<Value, String> {
        let (method, query) = method.split_once('?').unwrap_or((method, ""));
        self.request(method, &format!("{}?{query}", self.path(object).await), body).await
    }

    async fn path(&self, object: &Value) -> String {
        let gvk = Gvk::of(object).expect("a kind");
        let kind = self.kinds.resolve(&gvk).await.expect("a served kind");
        let metadata = &object["metadata"];
        let path = kind.resource.path(metadata["namespace"].as_str());
        format!("{path}/{}", metadata["name"].as_str().expect("a name"))
    }

    async fn request(&self, method: &str, uri: &str, body: Value) -> Result<Value, String> {
        let kind = if uri.contains("force=true") { "apply-patch+yaml" } else { "merge-patch+json" };
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", format!("application/{kind}"))
            .body(body)
            .expect("a request");
        self.client.request(request).await.map_err(|error| error.to_string())
    }
}

/// A shipped rule with its CRD and examples, in an API group and under labels that no other test has.
fn folder(rule: &str) -> Folder {
    let ours = |text: &str| {
        let group = format!("{rule}.rights.tests.kubewright.io");
        ["demo.kubewright.io", "defaults.kubewright.io", "sync.kubewright.io"]
            .iter()
            .fold(text.to_owned(), |text, theirs| text.replace(theirs, &group))
            .replace("namespace: default", &format!("namespace: rights-{rule}"))
    };
    let mut rules = Vec::new();
    for ending in ["yaml", "crd.yaml", "example.yaml"] {
        if let Ok(text) = fs::read_to_string(format!("rules/{rule}.{ending}")) {
            rules.push(Source::new(format!("{rule}.{ending}"), ours(&text)));
        }
    }
    let path = format!("rules/{rule}.yaml");
    let read = rule::read(Path::new(&path), Path::new("templates")).expect("the shipped rule");
    let template = |(name, source): (&String, &Arc<Source>)| {
        (name.clone(), Source::new(source.name.clone(), ours(&source.text)))
    };
    Folder { rules, templates: Arc::new(read.templates.iter().map(template).collect()) }
}
