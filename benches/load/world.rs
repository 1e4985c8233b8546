//! The control plane, what is put into it, and what its audit log says.
//!
//! In: names and numbers. Out: parents on the API server, counts of requests. Never here: what is measured.

use crate::{Failed, Result};
use futures::{StreamExt, TryStreamExt};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kubewright::control_plane::{self, ControlPlane, Options};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Requests of the loader that are under way at once.
pub(crate) const AT_ONCE: usize = 16;

/// One parent in so many is of the sort that the edit of the rule is about.
pub(crate) const ONE_IN: usize = 100;

/// A real API server, without the controllers of Kubernetes: nobody else writes.
pub(crate) struct World {
    pub(crate) plane: ControlPlane,
    /// Of the loader, who plays everybody else.
    pub(crate) client: Client,
    audit: PathBuf,
}

/// A place in the audit log.
#[derive(Clone, Copy)]
pub(crate) struct Mark(u64);

/// Requests by verb.
pub(crate) type Requests = BTreeMap<String, u64>;

/// The kinds that come into it.
pub(crate) fn resource(kind: &str) -> ApiResource {
    let (group, kind) = match kind {
        "Deployment" => ("apps", "Deployment"),
        "App" => ("bench.kubewright.io", "App"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "CustomResourceDefinition"),
        kind => ("", kind),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

/// The name of a parent.
pub(crate) fn name(number: usize) -> String {
    format!("app-{number:06}")
}

/// A parent.
pub(crate) fn parent(name: &str, level: &str) -> Value {
    json!({"apiVersion": "bench.kubewright.io/v1", "kind": "App", "metadata": {"name": name}, "spec": {
        "image": "registry.example.com/shop/frontend:1.2.3", "team": "shop", "replicas": 0, "port": 8080, "level": level,
        "variables": {"REGION": "eu-west-1", "CURRENCY": "EUR", "CACHE_SIZE": "512", "GREETING": "Good morning"}}})
}

impl World {
    /// Starts it, and installs the parents' kind.
    pub(crate) async fn start() -> Result<Self> {
        let shim = Some(PathBuf::from(env!("CARGO_BIN_EXE_kubewright")));
        let options = Options { bare: true, audit: true, shim };
        let plane =
            control_plane::start(options, |note| eprintln!("control plane: {note}")).await?;
        let audit = plane.audit_log().ok_or_else(|| Failed::from("there is no audit log"))?;
        let (audit, client) = (audit.to_path_buf(), plane.client("loader")?);
        let world = Self { plane, client, audit };
        let text = std::fs::read_to_string("benches/rules/app.crd.yaml")?;
        let crd =
            kubewright::yaml::parse(&text, &kubewright::yaml::Limits::FILE)?[0].root.to_json();
        let crds = Api::<DynamicObject>::all_with(
            world.client.clone(),
            &resource("CustomResourceDefinition"),
        );
        let name = "apps.bench.kubewright.io";
        crds.patch(name, &PatchParams::apply("loader"), &Patch::Apply(&crd)).await?;
        for _ in 0..100 {
            let apps = Api::<DynamicObject>::all_with(world.client.clone(), &resource("App"));
            if apps.list(&ListParams::default()).await.is_ok() {
                return Ok(world);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("the parents' kind is not served".into())
    }

    /// Objects of a kind in a namespace, as the loader sees them.
    pub(crate) fn api(&self, namespace: &str, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
    }

    /// A new namespace.
    pub(crate) async fn namespace(&self, name: &str) -> Result<()> {
        let namespaces =
            Api::<DynamicObject>::all_with(self.client.clone(), &resource("Namespace"));
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?).await?;
        Ok(())
    }

    /// Creates parents as fast as the server takes them, or so many a second; tells of each that is there.
    pub(crate) async fn parents(
        &self,
        namespace: &str,
        numbers: std::ops::Range<usize>,
        per_second: Option<u32>,
        created: &(dyn Fn(String, DynamicObject, Instant) + Sync),
    ) -> Result<()> {
        let (api, begun, first) = (self.api(namespace, "App"), Instant::now(), numbers.start);
        let one = |number: usize| {
            let api = api.clone();
            async move {
                if let Some(rate) = per_second {
                    let due = f64::from(u32::try_from(number - first)?) / f64::from(rate);
                    let wait = Duration::from_secs_f64(due).saturating_sub(begun.elapsed());
                    tokio::time::sleep(wait).await;
                }
                let level = if number.is_multiple_of(ONE_IN) { "debug" } else { "info" };
                let object = serde_json::from_value(parent(&name(number), level))?;
                let object = api.create(&PostParams::default(), &object).await?;
                created(name(number), object, Instant::now());
                Ok(())
            }
        };
        let at_once = if per_second.is_some() { 256 } else { AT_ONCE };
        futures::stream::iter(numbers.map(one)).buffer_unordered(at_once).try_collect().await
    }

    /// The end of the audit log.
    pub(crate) fn mark(&self) -> Result<Mark> {
        Ok(Mark(std::fs::metadata(&self.audit)?.len()))
    }

    /// The requests of somebody that were answered since.
    pub(crate) fn requests(&self, agent: &str, since: Mark) -> Result<Requests> {
        let mut file = File::open(&self.audit)?;
        file.seek(SeekFrom::Start(since.0))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let mut requests = Requests::new();
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_theirs = |event: &Value| {
            let of = event["userAgent"].as_str().unwrap_or_default();
            of.starts_with(agent) && event["stage"] == "ResponseComplete"
        };
        for event in events.filter(is_theirs) {
            let text = |key: &str| event[key].as_str().unwrap_or_default();
            let reference = &event["objectRef"];
            let what = match (reference["resource"].as_str(), reference["subresource"].as_str()) {
                (Some("events"), _) => "event",
                (Some("apps"), Some("status")) => "status",
                _ => "",
            };
            let verb = format!("{} {what}", text("verb"));
            *requests.entry(verb.trim_end().to_owned()).or_default() += 1;
        }
        Ok(requests)
    }
}

/// Those that change something, Events aside.
pub(crate) fn writes(requests: &Requests) -> u64 {
    let writes = |verb: &str| {
        !verb.ends_with(" event")
            && ["create", "update", "patch", "delete"].iter().any(|word| verb.starts_with(word))
    };
    requests.iter().filter(|(verb, _)| writes(verb)).map(|(_, count)| count).sum()
}
