//! The floor: a bare client that sends the fewest writes a controller can send, with as many of them under way at once.
//!
//! In: parents as they are created. Out: their children and statuses on the API server. Never here: a watch, a cache, a
//! comparison, an Event; it is told of each parent, and what to send was rendered beforehand.

use crate::world::{World, parent};
use crate::{Failed, Result};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::Request;
use kubewright::fetch::Observed;
use kubewright::object::Gvk;
use kubewright::render::{Setting, render};
use kubewright::rule;
use kubewright::scenario::Server;
use kubewright::scope::Scopes;
use kubewright::watch::Kinds;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::path::Path;
use tokio::sync::Semaphore;

/// As in our program.
const IN_FLIGHT: usize = 16;

/// By which the audit log knows it.
pub(crate) const AGENT: &str = "floor";

/// What stands in the bodies instead of a parent's name and uid.
const NAME: &str = "name-of-the-parent";
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// The bare client.
pub(crate) struct Floor {
    client: Client,
    in_flight: Semaphore,
    /// The path of each kind, and the body as text.
    children: Vec<(String, String)>,
    status: (String, String),
}

impl Floor {
    /// Renders what is to be sent for every parent of a namespace.
    pub(crate) async fn new(world: &World, namespace: &str) -> Result<Self> {
        let client = world.plane.client(AGENT)?;
        let kinds = Kinds::new(client.clone());
        let folder =
            rule::read(Path::new("benches/rules/app.yaml"), Path::new("benches/templates"))?;
        let loaded = rule::load(&folder);
        let rule = loaded.rules.first().ok_or_else(|| Failed::from("the rule does not compile"))?;
        let mut object = parent(NAME, "info");
        object["metadata"]["namespace"] = json!(namespace);
        let (scopes, now) = (Scopes::default(), Timestamp::UNIX_EPOCH);
        let observed: Observed = Server::new(rule, &scopes, &object)?.observed()?;
        let installation = namespace;
        let setting =
            Setting { scopes: &scopes, installation, now, in_order: false, randomness: None };
        let mut children = Vec::new();
        for child in render(rule, &observed, &setting).children {
            let kind = kinds.resolve(&child.gvk).await?;
            children.push((kind.resource.path(Some(namespace)), child.object.to_string()));
        }
        let gvk = Gvk::of(&object).ok_or_else(|| Failed::from("the parent has no kind"))?;
        let path = kinds.resolve(&gvk).await?.resource.path(Some(namespace));
        let status = (path, status(&object).to_string());
        Ok(Self { client, in_flight: Semaphore::new(IN_FLIGHT), children, status })
    }

    /// Sends all that a new parent needs: its children side by side, then its status.
    pub(crate) async fn converge(&self, parent: &DynamicObject) -> Result<()> {
        let name = parent.metadata.name.as_deref().unwrap_or_default();
        let uid = parent.metadata.uid.as_deref().unwrap_or_default();
        let fill = |body: &str| body.replace(NAME, name).replace(UID, uid);
        let apply = PatchParams::apply("floor").validation_strict();
        let applies = self.children.iter().map(|(path, body)| {
            let (body, apply) = (fill(body), &apply);
            async move {
                let body: Value = serde_json::from_str(&body)?;
                self.send(Request::new(path).patch(name, apply, &Patch::Apply(&body))?).await
            }
        });
        futures::future::try_join_all(applies).await?;
        let body: Value = serde_json::from_str(&fill(&self.status.1))?;
        let apply = apply.force();
        let request = Request::new(&self.status.0).patch_subresource(
            "status",
            name,
            &apply,
            &Patch::Apply(&body),
        )?;
        self.send(request).await
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<()> {
        let _permit = self.in_flight.acquire().await?;
        self.client.request::<Box<RawValue>>(request).await?;
        Ok(())
    }
}

/// A status as our program writes it.
fn status(parent: &Value) -> Value {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": "Ready", "lastTransitionTime": now,
            "message": "every child exists and is ready", "observedGeneration": 1})
    };
    let conditions = [
        condition("Ready", "True"),
        condition("Reconciling", "False"),
        condition("Stalled", "False"),
    ];
    json!({"apiVersion": parent["apiVersion"], "kind": parent["kind"], "metadata": {"name": NAME},
        "status": {"replicas": 0, "clusterIP": "None", "conditions": conditions}})
}
