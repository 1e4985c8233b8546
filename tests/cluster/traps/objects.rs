//! Objects of any kind in a sandbox's namespace, as others create and change them.

use crate::sandbox::Sandbox;
use crate::world::eventually;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

/// An object that a manifest names.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) gvk: GroupVersionKind,
    pub(crate) name: String,
}

/// What somebody does to an object.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// A merge patch.
    Merge(Value),
    /// A JSON patch.
    Json(Value),
    /// A merge patch of the scale subresource.
    Scale(Value),
    /// A server-side apply with force.
    Apply(Value),
}

impl Named {
    /// Of a manifest whose kind and name are plain text.
    pub(crate) fn of(manifest: &str) -> Self {
        let field = |name: &str| -> String {
            let line =
                manifest.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
            line.unwrap_or_else(|| panic!("no {name} in {manifest}")).to_owned()
        };
        let (version, kind) = (field("apiVersion"), field("kind"));
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let metadata = field("metadata");
        let name = metadata.split_once("name: ").expect("a name").1;
        let name = name.split([',', '}']).next().expect("a name").trim().to_owned();
        Self { gvk: GroupVersionKind::gvk(group, version, &kind), name }
    }

    pub(crate) fn api(&self, sandbox: &Sandbox) -> Api<DynamicObject> {
        api_of(sandbox, &self.gvk)
    }

    /// The end of the path of every request about it.
    pub(crate) fn path(&self) -> String {
        format!("/{}/{}", ApiResource::from_gvk(&self.gvk).plural, self.name)
    }

    pub(crate) async fn find(&self, sandbox: &Sandbox) -> Option<Value> {
        let object = self.api(sandbox).get_opt(&self.name).await.expect("an answer");
        object.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    pub(crate) async fn get(&self, sandbox: &Sandbox) -> Value {
        self.find(sandbox).await.unwrap_or_else(|| panic!("{} is not there", self.path()))
    }

    pub(crate) async fn edit(&self, sandbox: &Sandbox, edit: &Edit) {
        let by_hand =
            PatchParams { field_manager: Some("by-hand".into()), ..PatchParams::default() };
        let api = self.api(sandbox);
        let done = match edit {
            Edit::Merge(patch) => api.patch(&self.name, &by_hand, &Patch::Merge(patch)).await,
            Edit::Json(patch) => {
                let patch = serde_json::from_value(patch.clone()).expect("a JSON patch");
                api.patch(&self.name, &by_hand, &Patch::<Value>::Json(patch)).await
            }
            Edit::Scale(patch) => {
                let scaled = api.patch_scale(&self.name, &by_hand, &Patch::Merge(patch)).await;
                scaled.unwrap_or_else(|error| panic!("{}: {error}", self.path()));
                return;
            }
            Edit::Apply(patch) => {
                let mut object = patch.clone();
                object["apiVersion"] = json!(self.gvk.api_version());
                object["kind"] = json!(self.gvk.kind);
                object["metadata"]["name"] = json!(self.name);
                let rival = PatchParams::apply("rival").force();
                api.patch(&self.name, &rival, &Patch::Apply(&object)).await
            }
        };
        done.unwrap_or_else(|error| panic!("{}: {error}", self.path()));
    }

    /// Another version of the API, as an older client would speak.
    pub(crate) async fn edit_as(&self, sandbox: &Sandbox, version: &str, patch: &Value) {
        let gvk = GroupVersionKind { version: version.into(), ..self.gvk.clone() };
        let by_hand = PatchParams { field_manager: Some("older".into()), ..PatchParams::default() };
        let done = api_of(sandbox, &gvk).patch(&self.name, &by_hand, &Patch::Merge(patch)).await;
        done.unwrap_or_else(|error| panic!("{}: {error}", self.path()));
    }

    /// Somebody deletes it and creates what it was from a copy.
    pub(crate) async fn is_replaced_by_a_copy(&self, sandbox: &Sandbox) {
        let api = self.api(sandbox);
        let mut copy = api.get(&self.name).await.expect("it is there");
        api.delete(&self.name, &DeleteParams::background()).await.expect("a delete");
        eventually("it is gone", || async {
            match api.get_opt(&self.name).await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
        let metadata = &mut copy.metadata;
        (metadata.uid, metadata.resource_version, metadata.managed_fields) = (None, None, None);
        let parameters =
            PostParams { field_manager: Some("kubectl-create".into()), ..PostParams::default() };
        api.create(&parameters, &copy).await.expect("it is accepted");
    }

    /// Waits until a place of it has a value; nothing means that the place is absent.
    pub(crate) async fn until(&self, sandbox: &Sandbox, at: &str, is: Option<&Value>) {
        eventually(&format!("{} at {at} is {is:?}", self.path()), || async {
            match self.find(sandbox).await {
                Some(object) if object.pointer(at) == is => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
}

fn api_of(sandbox: &Sandbox, gvk: &GroupVersionKind) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(gvk);
    Api::namespaced_with(sandbox.client.clone(), &sandbox.namespace, &resource)
}
