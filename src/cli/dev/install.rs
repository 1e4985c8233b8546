//! Puts the CRDs and example parents of a rules folder into the local cluster.
//!
//! In: loaded documents. Out: applied objects, or which document was refused and why. Never here: a cluster of others.

use crate::object::{GroupKind, Gvk, ObjectId, metadata};
use crate::refusal::Refusal;
use crate::rule::{Example, Loaded};
use crate::watch::{KindError, Kinds, Resource};
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const MANAGER: &str = "kubewright-dev";

/// A new CRD is served within a moment; this is far more.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a document could not be installed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The API server refused it.
    #[error("{place}: the API server refuses this object: {refusal}")]
    Refused {
        /// Which document.
        place: String,
        /// Why.
        refusal: Refusal,
    },
    /// Nothing serves its kind.
    #[error("{place}: {error}")]
    Kind {
        /// Which document.
        place: String,
        /// Why.
        error: KindError,
    },
}

/// Applies documents.
pub(super) struct Installer {
    client: Client,
    kinds: Kinds,
}

/// The identity of an example; the API server would put it into `default` too.
pub(super) fn id_of(object: &Value) -> ObjectId {
    let kind = Gvk::of(object).map(|gvk| gvk.group_kind());
    let kind = kind.unwrap_or_else(|| GroupKind { group: String::new(), kind: String::new() });
    let namespace = metadata(object, "namespace").unwrap_or("default");
    ObjectId::new(&Arc::new(kind), namespace, metadata(object, "name").unwrap_or_default())
}

impl Installer {
    pub(super) fn new(client: Client) -> Self {
        Self { kinds: Kinds::new(client.clone()), client }
    }

    /// CRDs first, then the parents, each with its namespace.
    pub(super) async fn install(&self, loaded: &Loaded) -> Result<(), Error> {
        let mut brought = BTreeSet::new();
        for example in &loaded.crds {
            self.apply(example, &brought).await?;
            brought.extend(kind_of(&example.object));
        }
        for example in &loaded.examples {
            self.apply(example, &brought).await?;
        }
        Ok(())
    }

    /// `brought` are kinds whose CRD was installed a moment ago.
    async fn apply(&self, example: &Example, brought: &BTreeSet<GroupKind>) -> Result<(), Error> {
        let place = example.place.to_string();
        let refused = |error: kube::Error| Error::Refused {
            place: place.clone(),
            refusal: Refusal::from(error),
        };
        let Some(gvk) = Gvk::of(&example.object) else { return Ok(()) };
        let is_new = brought.contains(&gvk.group_kind());
        let resource = self
            .served(&gvk, is_new)
            .await
            .map_err(|error| Error::Kind { place: place.clone(), error })?;
        let mut object = example.object.clone();
        let id = id_of(&object);
        let namespace = resource.namespaced.then_some(&*id.namespace);
        if let Some(namespace) = namespace {
            self.namespace(namespace).await.map_err(refused)?;
            object["metadata"]["namespace"] = json!(namespace);
        }
        self.send(&resource, namespace, &id.name, &object).await.map_err(refused)
    }

    /// Waits a while for a kind whose CRD was installed a moment ago; no other will come by waiting.
    async fn served(&self, gvk: &Gvk, is_new: bool) -> Result<Resource, KindError> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            // What was learned before the CRD came says nothing.
            self.kinds.forget(gvk);
            match self.kinds.resolve(gvk).await {
                Ok(kind) => return Ok(kind.resource.clone()),
                Err(error @ KindError::Unknown(_)) if !is_new => return Err(error),
                Err(error) if tokio::time::Instant::now() > deadline => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// Makes a namespace unless there is one: it may be an example itself, with labels that an apply would take away.
    async fn namespace(&self, name: &str) -> Result<(), kube::Error> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let parameters =
            PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        let request = Request::new("/api/v1/namespaces")
            .create(&parameters, object.to_string().into_bytes())
            .map_err(kube::Error::BuildRequest)?;
        match self.client.request::<Value>(request).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            answer => answer.map(drop),
        }
    }

    async fn send(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        object: &Value,
    ) -> Result<(), kube::Error> {
        let parameters = PatchParams::apply(MANAGER).force().validation_strict();
        let request = Request::new(resource.path(namespace))
            .patch(name, &parameters, &Patch::Apply(object))
            .map_err(kube::Error::BuildRequest)?;
        self.client.request::<Value>(request).await.map(drop)
    }
}

/// The kind that a CRD brings.
fn kind_of(crd: &Value) -> Option<GroupKind> {
    let text = |pointer| crd.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(GroupKind { group: text("/spec/group")?, kind: text("/spec/names/kind")? })
}
