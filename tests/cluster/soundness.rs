//! What must hold of a sandbox's objects whatever was done to parents and rules.
//!
//! In: a sandbox and the places its rules write to. Out: panics. Never here: what a rule is for.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// Objects that are none of a rule's business, and the kinds that it makes.
pub(crate) struct Soundness<'a> {
    places: Vec<&'a Sandbox>,
    kinds: &'a [&'a str],
    bystanders: Vec<(usize, String, Value)>,
}

impl<'a> Soundness<'a> {
    /// Puts bystanders into every place: an object without marks, and one with a copy of another's.
    pub(crate) async fn begin(
        sandbox: &Sandbox,
        places: Vec<&'a Sandbox>,
        kinds: &'a [&'a str],
    ) -> Self {
        let mut bystanders = Vec::new();
        for (at, place) in places.iter().enumerate() {
            let mark = json!({"rule": sandbox.namespace, "parent": "WebApp.demo.kubewright.io a/gone",
                "child": "a", "free": true, "object": "ConfigMap elsewhere/other"});
            let marks = json!({
                "labels": {"kubewright.io/owner": sandbox.namespace, "kubewright.io/rule": sandbox.namespace,
                    "kubewright.io/parent": "gone", "kubewright.io/child": "a"},
                "annotations": {"kubewright.io/child": mark.to_string()},
            });
            for (name, more) in [("bystander", json!({})), ("bystander-copy", marks)] {
                let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": more, "data": {"theirs": "x"}});
                object["metadata"]["name"] = json!(name);
                place.create("ConfigMap", object).await;
                let made = place.get("ConfigMap", name).await;
                bystanders.push((at, name.to_owned(), made["metadata"].clone()));
            }
        }
        Self { places, kinds, bystanders }
    }

    /// Claims that nobody else's object was touched, that no owner reference is illegal, and that nothing is left of a parent
    /// that does not exist. Places that are gone are left out.
    pub(crate) async fn check(&self, sandbox: &Sandbox) {
        for (at, name, before) in &self.bystanders {
            let Some(place) = self.places.get(*at) else { continue };
            if place.find("Namespace", &place.namespace).await.is_none() {
                continue;
            }
            let now = place.get("ConfigMap", name).await;
            for field in ["uid", "resourceVersion"] {
                assert_eq!(now["metadata"][field], before[field], "somebody else's: {now}");
            }
        }
        for kind in self.kinds {
            for object in sandbox.labelled(kind).await {
                if object["metadata"]["name"] != "bystander-copy" {
                    check_object(sandbox, &object).await;
                }
            }
        }
    }
}

/// Claims that an object of ours has a parent that exists, to which it is tied as Kubernetes allows.
async fn check_object(sandbox: &Sandbox, object: &Value) {
    let metadata = &object["metadata"];
    let mark = metadata["annotations"]["kubewright.io/child"].as_str();
    let Some(mark) = mark.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        panic!("our label without our mark: {object}");
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, rest) = mark["parent"].as_str().and_then(|id| id.split_once(' ')).expect("an id");
    let kind = kind.split('.').next().expect("a kind");
    let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
    let parent = sandbox.looking_into(namespace).find(kind, name).await;
    let parent = parent.unwrap_or_else(|| panic!("forgotten: its parent is gone: {object}"));
    let references = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
    let may = namespace.is_empty() || metadata["namespace"] == namespace;
    let free = mark["free"] == true;
    assert!(may || free, "no reference can tie it: {object}");
    if free {
        assert!(references.is_empty(), "it is free: {object}");
        let finalizers = parent["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let ours = |name: &Value| text(name).starts_with("kubewright.io/");
        assert!(finalizers.iter().any(ours), "nothing holds the parent of {object}: {parent}");
    } else {
        let [owner] = references.as_slice() else { panic!("one owner: {object}") };
        assert_eq!(owner["uid"], parent["metadata"]["uid"], "the parent that is there: {object}");
        assert_eq!(
            (text(&owner["kind"]), text(&owner["name"])),
            (kind.to_owned(), name.to_owned())
        );
    }
}
