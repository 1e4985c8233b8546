//! The API server: the few calls the engine makes besides watching.
//!
//! In: bodies and identities. Out: objects as the cache holds them, or a [`Refusal`]. A [`Limiter`] says how many calls run at
//! once, and each has a time limit. Never here: a retry (the work queue retries); a decision.

mod ask;
mod body;
mod limit;
mod limiter;
mod missing;

use crate::fetch::Live;
use crate::metrics::Metrics;
use crate::object::{GroupKind, Gvk, ObjectId};
use crate::queue::Lane;
use crate::refusal::{Class, Refusal, Texts};
use crate::render::DesiredChild;
use crate::store::{Format, Stored};
use crate::watch::{Kind, KindError, Kinds, Outage, Resource};
pub(crate) use ask::Unanswered;
use body::as_yaml;
use kube::Client;
use kube::api::{
    DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
};
use kube::core::Request;
pub use limiter::{Limiter, Turn};
pub use missing::Missing;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call that takes longer is given up, and tried again by the queue.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a deletion came to.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// The object of this uid does not exist any more.
    Gone(Box<str>),
    /// It goes when its finalizers, or its time, have run out; as the server answered, if that could be read.
    Going(Option<Arc<Stored>>),
}

impl Deleted {
    /// The server answers with a bare success, or with the object: as it was, if it is gone, else with the time of its
    /// deletion in it.
    fn read(answer: &RawValue, gvk: &Gvk, uid: &str) -> Self {
        #[derive(serde::Deserialize)]
        struct Kind {
            kind: Option<String>,
        }
        let kind = serde_json::from_str::<Kind>(answer.get()).ok().and_then(|answer| answer.kind);
        if kind.as_deref() == Some("Status") {
            return Self::Gone(uid.into());
        }
        match Format::new(gvk, true).read(answer.get()) {
            Ok(stored) if !stored.terminating => Self::Gone(uid.into()),
            answer => Self::Going(answer.ok().map(Arc::new)),
        }
    }
}

/// The API server.
pub struct Cluster {
    /// For objects: it sends only while we may write.
    client: Client,
    /// For documents, which whoever does not lead reads too.
    reader: Client,
    /// Which kinds it serves, and how.
    pub kinds: Arc<Kinds>,
    /// Where what is sent is counted.
    pub metrics: Arc<Metrics>,
    /// Rights that were missing.
    pub missing: Arc<Missing>,
    /// Whether the server answers.
    pub outage: Arc<Outage>,
    limiter: Arc<Limiter>,
    /// For whom it is asked.
    turn: Turn,
}

impl Cluster {
    /// Talks through these clients, whose own retries must be off: about objects through the first, which need not send
    /// anything while we may not write; the other one reads documents.
    pub fn new(client: Client, reader: Client, kinds: Arc<Kinds>, metrics: Arc<Metrics>) -> Self {
        Self {
            client,
            reader,
            kinds,
            metrics,
            missing: Arc::default(),
            outage: Arc::default(),
            limiter: Arc::default(),
            turn: Turn::default(),
        }
    }

    /// Everything through one client, and nothing counted: for whoever asks once.
    pub fn of(client: &Client) -> Self {
        let kinds = Arc::new(Kinds::new(client.clone()));
        Self::new(client.clone(), client.clone(), kinds, Arc::default())
    }

    /// The same through another client for objects; all else is shared.
    pub fn through(&self, client: Client) -> Self {
        Self {
            client,
            reader: self.reader.clone(),
            kinds: Arc::clone(&self.kinds),
            metrics: Arc::clone(&self.metrics),
            missing: Arc::clone(&self.missing),
            outage: Arc::clone(&self.outage),
            limiter: Arc::clone(&self.limiter),
            turn: self.turn.clone(),
        }
    }

    /// The same for a pass of a rule that waited in a lane: its requests take their turns as passes do.
    #[must_use]
    pub fn for_pass(&self, rule: &Arc<str>, lane: Lane) -> Self {
        let turn = Turn { rule: Arc::clone(rule), lane };
        Self { turn, ..self.through(self.client.clone()) }
    }

    /// Who says how many calls may run.
    pub fn limiter(&self) -> &Arc<Limiter> {
        &self.limiter
    }

    /// Calls that are under way, and how many may be.
    pub fn in_flight(&self) -> (usize, usize) {
        self.limiter.in_flight()
    }

    /// Server-side apply of a child.
    pub async fn apply(
        &self,
        child: &DesiredChild,
        body: &Value,
        manager: &str,
        force: bool,
    ) -> Result<Arc<Stored>, Refusal> {
        let resource = self.resource(&child.gvk).await?;
        let request = request(&resource.resource, &child.id.namespace)
            .patch(&child.id.name, &parameters(manager, force), &Patch::Apply(body))
            .map(as_yaml)
            .map_err(kube::Error::BuildRequest)?;
        self.object(&child.gvk, child.texts, request).await
    }

    /// A JSON patch of exactly this version of a child. The guard is a part of the patched object, since that is answered as
    /// a conflict; a failed `test` would look like a mistake of ours.
    pub async fn patch(
        &self,
        child: &DesiredChild,
        judged: &Live,
        changes: Vec<Value>,
        manager: &str,
    ) -> Result<Arc<Stored>, Refusal> {
        let resource = self.resource(&child.gvk).await?;
        let guard = |field: &str, value: &str| json!({"op": "replace", "path": format!("/metadata/{field}"), "value": value});
        let version = judged.stored.resource_version.to_string();
        let mut body = vec![guard("uid", &judged.stored.uid), guard("resourceVersion", &version)];
        body.extend(changes);
        let body = serde_json::to_vec(&body)
            .map_err(|error| Refusal { class: Class::Permanent, message: error.to_string() })?;
        let path = request(&resource.resource, &child.id.namespace)
            .get(&child.id.name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        let request = http::Request::patch(format!("{}?fieldManager={manager}", path.uri().path()))
            .header(http::header::CONTENT_TYPE, "application/json-patch+json")
            .body(body)
            .map_err(|error| Refusal { class: Class::Permanent, message: error.to_string() })?;
        self.object(&child.gvk, child.texts, request).await
    }

    /// Server-side apply to an object that exists, whatever it is.
    pub async fn apply_to(
        &self,
        live: &Live,
        body: &Value,
        manager: &str,
    ) -> Result<Arc<Stored>, Refusal> {
        let gvk = Gvk::of(live.value()).ok_or_else(unreadable)?;
        let resource = self.resource(&gvk).await?;
        let request = request(&resource.resource, &live.id.namespace)
            .patch(&live.id.name, &parameters(manager, false), &Patch::Apply(body))
            .map(as_yaml)
            .map_err(kube::Error::BuildRequest)?;
        self.object(&gvk, Texts::about(&gvk, false), request).await
    }

    /// Server-side apply of an object's status.
    pub async fn apply_status(
        &self,
        (gvk, id): (&Gvk, &ObjectId),
        body: &Value,
        manager: &str,
        texts: Texts,
    ) -> Result<Arc<Stored>, Refusal> {
        let resource = self.resource(gvk).await?;
        let request = request(&resource.resource, &id.namespace)
            .patch_subresource("status", &id.name, &parameters(manager, true), &Patch::Apply(body))
            .map(as_yaml)
            .map_err(kube::Error::BuildRequest)?;
        let answer = self.object(gvk, texts, request).await?;
        self.metrics.wrote("patch", &gvk.group_kind(), "status");
        Ok(answer)
    }

    /// Reads a child, for the few cases that the cache cannot answer.
    pub async fn get(&self, child: &DesiredChild) -> Result<Arc<Stored>, Refusal> {
        self.read(&child.gvk, &child.id).await
    }

    /// Reads any object.
    pub async fn read(&self, gvk: &Gvk, id: &ObjectId) -> Result<Arc<Stored>, Refusal> {
        let resource = self.resource(gvk).await?;
        let request = request(&resource.resource, &id.namespace)
            .get(&id.name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        self.object(gvk, Texts::about(gvk, false), request).await
    }

    /// Whether the server would take a child if it did not exist: a dry run. That the name is taken is no objection.
    pub async fn would_create(&self, child: &DesiredChild) -> Result<(), Refusal> {
        let resource = self.resource(&child.gvk).await?;
        let body = serde_json::to_vec(&child.object)
            .map_err(|error| Refusal { class: Class::Permanent, message: error.to_string() })?;
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        let request = request(&resource.resource, &child.id.namespace)
            .create(&parameters, body)
            .map_err(kube::Error::BuildRequest)?;
        match self.object(&child.gvk, child.texts, request).await {
            Ok(_) | Err(Refusal { class: Class::Stale, .. }) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// Creates an object of our own: not a child, and not by an apply.
    pub async fn create(
        &self,
        gvk: &Gvk,
        id: &ObjectId,
        body: &Value,
    ) -> Result<Arc<Stored>, Refusal> {
        let resource = self.resource(gvk).await?;
        let body = serde_json::to_vec(body)
            .map_err(|error| Refusal { class: Class::Permanent, message: error.to_string() })?;
        let request = request(&resource.resource, &id.namespace)
            .create(&PostParams::default(), body)
            .map_err(kube::Error::BuildRequest)?;
        self.object(gvk, Texts::about(gvk, false), request).await
    }

    /// A merge patch of exactly this object in exactly this version.
    pub async fn merge(&self, live: &Live, patch: &Value) -> Result<Arc<Stored>, Refusal> {
        let gvk = Gvk::of(live.value()).ok_or_else(unreadable)?;
        let resource = self.resource(&gvk).await?;
        let mut patch = patch.clone();
        patch["metadata"]["uid"] = Value::from(&*live.stored.uid);
        patch["metadata"]["resourceVersion"] = live.stored.resource_version.to_string().into();
        let request = request(&resource.resource, &live.id.namespace)
            .patch(&live.id.name, &PatchParams::default(), &Patch::Merge(&patch))
            .map_err(kube::Error::BuildRequest)?;
        self.object(&gvk, Texts::about(&gvk, false), request).await
    }

    /// Deletes exactly this object in exactly this version; what depends on it goes in the background.
    pub async fn delete(&self, live: &Live) -> Result<Deleted, Refusal> {
        let gvk = Gvk::of(live.value()).ok_or_else(unreadable)?;
        let resource = self.resource(&gvk).await?;
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions {
                uid: Some(live.stored.uid.to_string()),
                resource_version: Some(live.stored.resource_version.to_string()),
            }),
            ..DeleteParams::default()
        };
        let request = request(&resource.resource, &live.id.namespace)
            .delete(&live.id.name, &parameters)
            .map_err(kube::Error::BuildRequest)?;
        let reading = reading(Texts::about(&gvk, false));
        let answer = self.call::<Box<RawValue>>(gvk.group_kind(), request, reading).await?;
        Ok(Deleted::read(&answer, &gvk, &live.stored.uid))
    }

    /// Any JSON document the server offers, for example its `OpenAPI` description of one group.
    pub async fn document(&self, path: &str) -> Result<Value, Refusal> {
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(|error| Refusal { class: Class::Permanent, message: error.to_string() })?;
        self.through(self.reader.clone()).call(no_kind(), request, Refusal::from).await
    }

    async fn resource(&self, gvk: &Gvk) -> Result<Arc<Kind>, Refusal> {
        self.kinds.resolve(gvk).await.map_err(|error| Refusal {
            class: match error {
                KindError::Unknown(_) => Class::NotServed,
                KindError::Unavailable { .. } => Class::Transient(None),
            },
            message: error.to_string(),
        })
    }

    async fn object(
        &self,
        gvk: &Gvk,
        texts: Texts,
        request: http::Request<Vec<u8>>,
    ) -> Result<Arc<Stored>, Refusal> {
        let raw: Result<Box<RawValue>, Refusal> =
            self.call(gvk.group_kind(), request, reading(texts)).await;
        if let Err(Refusal { class: Class::NotServed, .. }) = raw {
            // It may come back as something else: in another scope, under another plural.
            self.kinds.forget(gvk);
        }
        Format::new(gvk, true).read(raw?.get()).map(Arc::new).map_err(|_| unreadable())
    }

    async fn call<T: DeserializeOwned>(
        &self,
        kind: GroupKind,
        request: http::Request<Vec<u8>>,
        read: fn(kube::Error) -> Refusal,
    ) -> Result<T, Refusal> {
        let permit = self.limiter.permit(&self.turn, kind).await;
        let (method, begun) = (request.method().clone(), Instant::now());
        let answer = permit.ask(&self.client, request, PATIENCE).await;
        self.outage.note(matches!(answer, Ok(_) | Err(Unanswered::Refused(kube::Error::Api(_)))));
        if let Err(Unanswered::Refused(kube::Error::Api(status))) = &answer {
            self.missing.note(&status.message);
        }
        let answer = answer.map_err(|error| error.into_refusal(read));
        let result = answer.as_ref().map_or_else(|refusal| refusal.class.as_str(), |_| "ok");
        self.metrics.answered(&method, result, begun.elapsed());
        answer
    }
}

/// What is about no object.
fn no_kind() -> GroupKind {
    GroupKind { group: String::new(), kind: String::new() }
}

fn parameters(manager: &str, force: bool) -> PatchParams {
    let parameters = PatchParams::apply(manager).validation_strict();
    if force { parameters.force() } else { parameters }
}

fn request(resource: &Resource, namespace: &str) -> Request {
    let namespace = (!namespace.is_empty()).then_some(namespace);
    Request::new(resource.path(namespace))
}

/// How a refusal is read: the server's texts about what holds values of Secrets may quote them.
fn reading(texts: Texts) -> fn(kube::Error) -> Refusal {
    match texts {
        Texts::Shown => Refusal::from,
        Texts::Hidden => |error| Refusal::read(&error, Texts::Hidden),
    }
}

fn unreadable() -> Refusal {
    Refusal {
        class: Class::Transient(None),
        message: "the API server's answer is no readable object".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_a_deletion_tells_whether_the_object_is_gone() {
        let gvk = Gvk::parse("v1", "ConfigMap").unwrap();
        let read = |answer: Value| {
            let answer = RawValue::from_string(answer.to_string()).unwrap();
            match Deleted::read(&answer, &gvk, "u") {
                Deleted::Gone(uid) => format!("gone {uid}"),
                Deleted::Going(Some(stored)) => format!("going {}", stored.resource_version),
                Deleted::Going(None) => "going".to_owned(),
            }
        };
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Success",
            "details": {"name": "a", "kind": "configmaps", "uid": "u"}});
        assert_eq!(read(status), "gone u");
        let object = |more: Value| {
            let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}});
            object["metadata"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            object
        };
        assert_eq!(read(object(json!({}))), "gone u", "as it was");
        let going = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]});
        assert_eq!(read(object(going)), "going 7");
        assert_eq!(
            read(json!({"kind": "Odd"})),
            "going",
            "nothing is believed of what is not understood"
        );
    }
}
