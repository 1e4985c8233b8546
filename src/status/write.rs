//! Brings a parent's status to what should be said: at most one call, and only if something differs.
//!
//! In: [`Said`]. Out: nothing, or one server-side apply on the status subresource. The parent's uid goes with it, so that a
//! parent that was created anew under the same name is not spoken for.

use super::Said;
use super::condition::conditions;
use super::shape::{Conditions, Shape};
use crate::fetch::{Live, Observed};
use crate::marks::status_manager;
use crate::object::generation;
use crate::owned::{self, FieldSet};
use crate::reconcile::Scene;
use crate::refusal::Refusal;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// After the first status of a parent the rest come at most this often.
const PACE: Duration = Duration::from_secs(1);

/// What is remembered of a parent's status between passes. Losing it costs no write.
#[derive(Default)]
pub struct StatusMemory {
    written: Option<Instant>,
    memo: Option<Memo>,
}

/// What was sent last, and the fields we own as the server answered: it may prune or default what we send.
struct Memo {
    sent: Map<String, Value>,
    fields: FieldSet,
    values: u64,
}

/// What became of the status.
pub enum Written {
    /// It said so already, or the rule has no status.
    Same,
    /// It was written.
    Now,
    /// It differs, and is written after this time.
    Later(Duration),
    /// The server refused it.
    Refused(Refusal),
}

/// Writes the status if it differs.
pub async fn write(
    scene: &Scene<'_>,
    said: &Said,
    after: &Observed,
    memory: &mut StatusMemory,
    now: Timestamp,
) -> Written {
    let Some(shape) = scene.shape.filter(|shape| shape.subresource && scene.rule.status.is_some())
    else {
        return Written::Same;
    };
    let manager = status_manager(&scene.rule.name);
    let fields = after.parent.status_fields(&manager);
    let parent = after.parent.value();
    let status = wanted(said, parent, shape, fields.as_ref(), now);
    if in_sync(&status, parent, fields.as_ref(), memory.memo.as_ref()) {
        return Written::Same;
    }
    if let Some(rest) = memory.written.and_then(|at| PACE.checked_sub(at.elapsed())) {
        return Written::Later(rest);
    }
    let body = body(scene, &status, shape);
    let written =
        scene.cluster.apply_status(&scene.rule.parent.gvk, &scene.parent.id, &body, &manager).await;
    match written {
        Ok(stored) => {
            memory.written = Some(Instant::now());
            let live = Live::new(stored);
            memory.memo = memo_of(status, &live, &manager);
            scene.remember_parent(&live);
            Written::Now
        }
        Err(refusal) => Written::Refused(refusal),
    }
}

/// The status we want, as far as the kind can hold it.
fn wanted(
    said: &Said,
    parent: &Value,
    shape: &Shape,
    fields: Option<&FieldSet>,
    now: Timestamp,
) -> Map<String, Value> {
    let mut status = match &said.fields {
        Some(fields) => fields.clone(),
        None => kept(parent, fields),
    };
    status.retain(|field, _| shape.has(field));
    if shape.conditions != Conditions::Absent {
        let previous = parent.pointer("/status/conditions").and_then(Value::as_array);
        let generation = generation(parent).filter(|_| shape.observed_generation);
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let previous = previous.map(Vec::as_slice).unwrap_or_default();
        let ours = conditions(&said.conditions, previous, generation, &now);
        let all = match shape.conditions {
            Conditions::Atomic => with_those_of_others(previous, ours),
            Conditions::Keyed | Conditions::Absent => ours,
        };
        status.insert("conditions".into(), Value::Array(all));
    }
    status
}

/// The declared fields as they were, for a body that failed: leaving them out of the apply would remove them.
fn kept(parent: &Value, fields: Option<&FieldSet>) -> Map<String, Value> {
    let current = parent.get("status").and_then(Value::as_object);
    let (Some(owned), Some(current)) = (fields, current) else { return Map::new() };
    let keep =
        |(field, _): &(&String, &Value)| *field != "conditions" && owned.field(field).is_some();
    current.iter().filter(keep).map(|(field, value)| (field.clone(), value.clone())).collect()
}

/// Whether the parent says it already. With a memo, two answers of the server are compared; without one (after a restart),
/// what we want with what is there, and what we own with what we want.
fn in_sync(
    status: &Map<String, Value>,
    parent: &Value,
    fields: Option<&FieldSet>,
    memo: Option<&Memo>,
) -> bool {
    let nothing = Value::Null;
    let current = parent.get("status").unwrap_or(&nothing);
    if let Some(memo) = memo.filter(|memo| memo.sent == *status) {
        return owned::project_part(&memo.fields, current) == memo.values;
    }
    let Some(fields) = fields else { return false };
    let wanted = Value::Object(status.clone());
    owned::covers_part(&wanted, fields, current) && contains(current, &wanted)
}

fn memo_of(sent: Map<String, Value>, live: &Live, manager: &str) -> Option<Memo> {
    let fields = live.status_fields(manager)?;
    let values = owned::project_part(&fields, live.value().get("status").unwrap_or(&Value::Null));
    Some(Memo { sent, fields, values })
}

/// Whether everything wanted is there, values included; elements with a `type` may have others beside them.
fn contains(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| there.get(key).is_some_and(|there| contains(there, value))),
        (Value::Array(there), Value::Array(wanted))
            if wanted.iter().all(|one| one.get("type").is_some()) =>
        {
            wanted.iter().all(|one| there.iter().any(|other| contains(other, one)))
        }
        _ => there == wanted,
    }
}

/// What is sent; a list that is written as a whole only in the version that the conditions of others were read in.
fn body(scene: &Scene<'_>, status: &Map<String, Value>, shape: &Shape) -> Value {
    let id = &scene.parent.id;
    let mut metadata = json!({"name": &*id.name, "uid": &*scene.parent.uid});
    if !id.namespace.is_empty() {
        metadata["namespace"] = json!(&*id.namespace);
    }
    if shape.conditions == Conditions::Atomic {
        metadata["resourceVersion"] = json!(scene.parent.resource_version.to_string());
    }
    let gvk = &scene.rule.parent.gvk;
    json!({"apiVersion": gvk.api_version(), "kind": gvk.kind, "metadata": metadata, "status": status})
}

/// Where a list is written as a whole, the conditions of others stay where they are.
fn with_those_of_others(previous: &[Value], mut ours: Vec<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for before in previous {
        let kind = before.get("type");
        match ours.iter().position(|condition| condition.get("type") == kind) {
            Some(at) => all.push(ours.remove(at)),
            None => all.push(before.clone()),
        }
    }
    all.append(&mut ours);
    all
}
