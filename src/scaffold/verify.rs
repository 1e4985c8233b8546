//! Renders the example parent through the new rule and compares with what was given.
//!
//! In: a compiled rule, a parent, the objects wanted. Out: what a new parent's children would be, and which differ. Pure.

use crate::fetch::{Live, Observed};
use crate::marks;
use crate::object::Gvk;
use crate::owned;
use crate::render::{Desired, Setting, render};
use crate::rule::{Example, Rule};
use crate::schema::{Types, default_parent};
use crate::scope::{Scope, Scopes};
use crate::store::Format;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a rule wants for a parent of which nothing exists yet.
pub(super) fn desired(rule: &Rule, parent: &Value, crds: &[Example]) -> Desired {
    let types = Types::builtin().with_crds(crds.iter().map(|crd| &crd.object));
    let scopes = Scopes::offline(&types);
    let gvk = rule.parent.gvk();
    let mut parent = parent.clone();
    default_parent(&types, &mut parent);
    if let Some(metadata) = parent.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".into(), json!("00000000-0000-0000-0000-000000000000"));
        metadata.insert("resourceVersion".into(), json!("1"));
        metadata.insert("generation".into(), json!(1));
        if scopes.of(&gvk.group_kind()) == Scope::Namespaced {
            metadata.entry("namespace").or_insert(json!("default"));
        }
    }
    let Ok(stored) = Format::new(gvk, false).read(&parent.to_string()) else {
        return Desired::default();
    };
    let observed = Observed {
        parent: Live::new(Arc::new(stored)),
        children: BTreeMap::new(),
        lost: BTreeMap::new(),
        inputs: Arc::default(),
        targets: Arc::default(),
        edited: Vec::new(),
    };
    let setting = Setting {
        scopes: &scopes,
        installation: "kubewright",
        now: Timestamp::UNIX_EPOCH,
        in_order: false,
        randomness: None,
    };
    render(rule, &observed, &setting)
}

/// Whether a rendered child is the object that was given, marks and owner aside. `namespaced`: whether children get
/// their namespace from the parent.
pub(super) fn is_same(rendered: &Value, given: &Value, namespaced: bool) -> bool {
    let Ok(given) = owned::canonical(given.clone()) else { return false };
    plain(rendered.clone(), namespaced) == plain(given, namespaced)
}

fn plain(mut object: Value, namespaced: bool) -> Value {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return object;
    };
    metadata.remove("ownerReferences");
    if namespaced {
        metadata.remove("namespace");
    }
    for kind in ["labels", "annotations"] {
        let Some(entries) = metadata.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        entries.retain(|name, _| !name.starts_with(marks::PREFIX));
        if entries.is_empty() {
            metadata.remove(kind);
        }
    }
    object
}

/// Whether an object has a shape that can be sent at all; else why not.
pub(super) fn refusal(object: &Value) -> Option<(String, Option<&'static str>)> {
    let mistakes = owned::canonical(object.clone()).err()?;
    mistakes.into_iter().next().map(|mistake| (mistake.message, mistake.hint))
}

/// The kind of an object, for messages.
pub(super) fn titled(gvk: &Gvk, name: &str) -> String {
    format!("{} {name}", gvk.kind)
}
