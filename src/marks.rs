//! The marks Kubewright puts on the objects it creates, and how it recognises them.
//!
//! In: rule, parent, child. Out: labels, annotations, field managers, and the reading of them back.
//! Labels only select: other controllers copy them. What proves ownership is the annotation that names *this* object,
//! our managedFields entry, and the owner reference, together (`fetch`).

use crate::object::{GroupKind, ObjectId};
use crate::store::Stored;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything of ours in labels and annotations starts with this; templates may not use it.
pub const PREFIX: &str = "kubewright.io/";

/// Labels, for selecting only.
pub mod label {
    /// The installation that owns the object; child watches select it.
    pub const OWNER: &str = "kubewright.io/owner";
    /// The rule.
    pub const RULE: &str = "kubewright.io/rule";
    /// The parent's name, cut with a hash where it is too long for a label.
    pub const PARENT: &str = "kubewright.io/parent";
    /// The child's id in the rule.
    pub const CHILD: &str = "kubewright.io/child";
    /// The keys of the items around it, in a group.
    pub const ITEM: &str = "kubewright.io/item";
    /// On a `ConfigMap` of ours: it is the record of a rule of this installation.
    pub const RECORD: &str = "kubewright.io/record";
    /// Hash of the parent modulo [`super::SLOTS`]; replicas share the work by it.
    pub const SLOT: &str = "kubewright.io/slot";
}

/// Annotations; the last four are on parents and records.
pub mod annotation {
    /// What the object is for: a [`super::Mark`] as JSON.
    pub const CHILD: &str = "kubewright.io/child";
    /// Hash of the intent that was last applied.
    pub const INTENT: &str = "kubewright.io/intent";
    /// On a parent: the children with generated values that were made, separated by commas.
    pub const GENERATED: &str = "kubewright.io/generated";
    /// `"true"` on a parent: leave it and its children alone.
    pub const PAUSED: &str = "kubewright.io/paused";
    /// On a record: allows the deletions that were withheld under this token.
    pub const ALLOW: &str = "kubewright.io/allow-deletions";
    /// On a parent: another value means "run now", whatever was refused before.
    pub const RECONCILE: &str = "kubewright.io/reconcile";
}

/// Whether a field, as the server writes its path, is a label or an annotation of ours: nobody else has a say in it.
pub fn is_ours(field: &str) -> bool {
    [".metadata.annotations.", ".metadata.labels."]
        .iter()
        .any(|around| field.strip_prefix(around).is_some_and(|name| name.starts_with(PREFIX)))
}

/// An object as rules see it: without our own marks, managedFields and the version of the text. What a rule reads must not
/// change because we wrote.
pub fn visible(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
        if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|name| !name.as_str().is_some_and(|name| name.starts_with(PREFIX)));
        }
        for kind in ["labels", "annotations"] {
            if let Some(entries) = metadata.get_mut(kind).and_then(Value::as_object_mut) {
                entries.retain(|name, _| !name.starts_with(PREFIX));
            }
        }
    }
    object
}

/// What a person edits in an object, as a number: another one means that somebody wants something else. Our own marks and
/// the status are left out; what asks for a pass counts.
pub fn edition(stored: &Stored) -> u64 {
    let theirs = |entries: BTreeMap<String, String>| {
        let is_theirs = |name: &String| !name.starts_with(PREFIX) || name == annotation::RECONCILE;
        entries.into_iter().filter(|(name, _)| is_theirs(name)).collect::<Vec<_>>()
    };
    let (labels, annotations) = (theirs(stored.labels()), theirs(stored.annotations()));
    let content = match stored.generation {
        Some(generation) => generation.to_string(),
        None => stored.parse().map(|object| content(&object).to_string()).unwrap_or_default(),
    };
    hash64(format!("{content} {labels:?} {annotations:?}").as_bytes())
}

/// An object without metadata and status.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.retain(|name, _| name != "metadata" && name != "status");
    }
    content
}

/// How many slots parents are spread over, for ever: changing it would relabel every child.
pub const SLOTS: u64 = 64;

/// What a child is for, as its annotation says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The rule's name.
    pub rule: String,
    /// The parent, written as [`ObjectId`] displays.
    pub parent: String,
    /// The child's id in the rule.
    pub child: String,
    /// The keys of the items around it, outermost group first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// Whether no owner reference ties it to the parent: there can be none, or the child outlives the parent.
    #[serde(default, skip_serializing_if = "is_not")]
    pub free: bool,
    /// Whether it stays, without marks, when it is no longer wanted.
    #[serde(default, skip_serializing_if = "is_not")]
    pub stays: bool,
    /// Whether it stays, without marks, when the parent is deleted.
    #[serde(default, skip_serializing_if = "is_not")]
    pub outlives: bool,
    /// The object that carries the mark. A copy on another object names the wrong one, and so proves nothing.
    pub object: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_not(flag: &bool) -> bool {
    !flag
}

impl Mark {
    /// The annotation's value.
    pub fn to_annotation(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads an annotation; anything malformed is not a mark.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The parent's identity.
    pub fn parent_id(&self) -> Option<ObjectId> {
        parse_id(&self.parent)
    }
}

/// What an edit of an object that we do not own is for, as an annotation on that object says it. One per edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchMark {
    /// The rule's identity.
    pub rule: String,
    /// The parent, written as [`ObjectId`] displays.
    pub parent: String,
    /// The child's id in the rule.
    pub child: String,
    /// The keys of the items around it, outermost group first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// The intent that was last applied.
    pub intent: String,
    /// Whether the edit stays when it is no longer wanted.
    #[serde(default, skip_serializing_if = "is_not")]
    pub stays: bool,
}

impl PatchMark {
    /// The annotation's name: one for each field manager of an edit.
    pub fn key(manager: &str) -> String {
        format!("{PATCH}{:016x}", hash64(manager.as_bytes()))
    }

    /// Every edit of an object.
    pub fn all_of(stored: &Stored) -> Vec<Self> {
        if !stored.json().contains(PATCH) {
            return Vec::new();
        }
        let marks = stored.annotations().into_iter().filter(|(name, _)| name.starts_with(PATCH));
        marks.filter_map(|(_, text)| serde_json::from_str(&text).ok()).collect()
    }

    /// The manager that makes the edit.
    pub fn manager(&self) -> String {
        patch_manager(&self.rule, &self.parent, &self.child, &self.items)
    }
}

const PATCH: &str = "kubewright.io/patch-";

/// How the names of all our field managers begin.
pub const MANAGER: &str = "kubewright:";

/// The field manager that edits an object that we do not own, for one child of one parent: removing the edit must not touch
/// another one of the same object.
pub fn patch_manager(rule: &str, parent: &str, child: &str, items: &[String]) -> String {
    let place = format!("{parent} {child} {}", items.join("/"));
    format!("{MANAGER}{rule}:patch:{:016x}", hash64(place.as_bytes()))
}

/// The inverse of [`ObjectId`]'s display.
pub fn parse_id(text: &str) -> Option<ObjectId> {
    let (kind, name) = text.split_once(' ')?;
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    let kind = Arc::new(GroupKind { group: group.to_owned(), kind: kind.to_owned() });
    (!name.is_empty()).then(|| ObjectId::new(&kind, namespace, name))
}

/// The field manager that writes the children of one parent for one rule. By name, not by uid: a parent that comes
/// back under its name still owns what it had. At most 128 bytes, as the API server demands.
pub fn manager(rule: &str, parent: &ObjectId) -> String {
    format!("{MANAGER}{rule}:{:016x}", hash(parent))
}

/// The field manager that writes a parent's status for one rule.
pub fn status_manager(rule: &str) -> String {
    format!("{MANAGER}{rule}")
}

/// What holds a parent until those of its children are gone that no owner reference ties to it.
pub fn finalizer(rule: &str) -> String {
    format!("{PREFIX}{rule}")
}

/// Which slot a parent's children carry.
pub fn slot(parent: &ObjectId) -> u64 {
    hash(parent) % SLOTS
}

/// A text as a label value: itself where it is one, else what can stay of it, with a hash of the whole.
pub fn label_value(text: &str) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let edge = |c: char| c.is_ascii_alphanumeric();
    if text.len() <= 63 && text.chars().all(legal) && text.starts_with(edge) && text.ends_with(edge)
    {
        return text.to_owned();
    }
    let cut: String = text.chars().filter(|c| legal(*c)).take(54).collect();
    let cut = cut.trim_matches(|c| !edge(c));
    let hash = hash64(text.as_bytes()) >> 32;
    if cut.is_empty() { format!("{hash:08x}") } else { format!("{cut}-{hash:08x}") }
}

fn hash(id: &ObjectId) -> u64 {
    hash64(id.to_string().as_bytes())
}

/// The first 8 bytes of SHA-256: stable over versions, machines and time.
pub fn hash64(bytes: &[u8]) -> u64 {
    let digest = digest(&SHA256, bytes);
    digest.as_ref().iter().take(8).fold(0, |hash, byte| (hash << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ObjectId {
        parse_id(text).unwrap()
    }

    #[test]
    fn identities_read_back_as_written() {
        for text in [
            "WebApp.demo.kubewright.io shop/web",
            "Namespace shop",
            "ConfigMap a/b",
            "ClusterRole.x a:b c",
        ] {
            assert_eq!(id(text).to_string(), text);
        }
        for text in ["", "ConfigMap", "ConfigMap ", "ConfigMap ns/"] {
            assert_eq!(parse_id(text), None, "{text}");
        }
    }

    #[test]
    fn marks_read_back_and_garbage_is_no_mark() {
        let mark = Mark {
            rule: "webapp".into(),
            parent: "WebApp.demo.kubewright.io shop/web".into(),
            child: "config".into(),
            items: Vec::new(),
            free: false,
            stays: false,
            outlives: false,
            object: "ConfigMap shop/web-files".into(),
        };
        assert_eq!(Mark::parse(&mark.to_annotation()), Some(mark));
        assert_eq!(Mark::parse("{\"rule\":1}"), None);
    }

    #[test]
    fn hashes_never_change_since_they_are_stored_in_clusters() {
        let parent = id("WebApp.demo.kubewright.io shop/web");
        assert_eq!(manager("webapp", &parent), "kubewright:webapp:a91a79913774dd11");
        assert_eq!(slot(&parent), 17);
    }

    #[test]
    fn a_long_name_becomes_a_legal_label_value() {
        let value = label_value(&format!("{}.{}", "a".repeat(53), "b".repeat(200)));
        assert!(value.len() <= 63 && !value.contains(".-"), "{value}");
        assert_eq!(label_value("short.name"), "short.name");
    }

    #[test]
    fn whatever_a_name_holds_its_label_value_is_legal() {
        let edge = |c: char| c.is_ascii_alphanumeric();
        for name in
            ["system:node", "ends_", "_", "", ":::", "a:b", &"-".repeat(80), &"ü".repeat(80)]
        {
            let value = label_value(name);
            let legal = |c: char| edge(c) || "-_.".contains(c);
            assert!(value.len() <= 63 && value.chars().all(legal), "{name}: {value}");
            assert!(value.starts_with(edge) && value.ends_with(edge), "{name}: {value}");
        }
        assert_ne!(label_value("a:b"), label_value("ab"), "different names stay different");
    }
}
