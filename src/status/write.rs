//! Brings a parent's status to what should be said: at most one call, and only if something differs.
//!
//! In: [`Said`]. Out: nothing, or one server-side apply on the status subresource. The parent's uid goes with it, so that a
//! parent that was created anew under the same name is not spoken for. What the server refuses is sent once; then the
//! conditions alone, which say so.

use super::Said;
use super::condition::{TRANSITION, conditions, kept};
use super::shape::{Conditions, Shape};
use crate::fetch::{Live, Observed};
use crate::marks::{hash64, status_manager};
use crate::object::generation;
use crate::owned::{self, FieldSet};
use crate::queue::Backoff;
use crate::reconcile::{BACKSTOP, Scene};
use crate::refusal::{Class, Refusal, Texts};
use crate::rule::Rule;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// After the first status of a parent the rest come at most once a second, and ever more rarely while somebody else
/// writes the same fields.
const PACE: Backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) };

/// What is remembered of a parent's status between passes. Losing it costs no write.
#[derive(Default)]
pub struct StatusMemory {
    sent: Option<Instant>,
    /// How often in a row a status was sent for no good reason: the same again, since somebody else changed it, or
    /// another one although only our own status had changed, as of a rule that counts its own passes.
    needless: u32,
    /// What the last status was made of, itself included.
    reason: u64,
    memo: Option<Memo>,
    refused: Option<Refused>,
}

/// What was sent last, and the fields we own as the server answered: it may prune or default what we send.
struct Memo {
    /// Hashes of what was sent, with and without what depends on the time of the pass.
    sent: u64,
    timeless: u64,
    fields: Arc<FieldSet>,
    values: u64,
}

/// A status that the server refuses as it is.
struct Refused {
    status: Map<String, Value>,
    refusal: Refusal,
    /// The conditions alone are refused too.
    wholly: bool,
    until: Instant,
}

/// What became of the status.
pub struct Written {
    /// How it ended.
    pub result: Result<Sent, Refusal>,
    /// Declared fields that the kind has no place for.
    pub lacking: BTreeSet<String>,
}

/// What became of a status that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It said so already, or the rule has no status.
    Same,
    /// It was written.
    Now,
    /// It differs, and is written after this time.
    Later(Duration),
}

/// Writes the status if it differs.
pub async fn write(
    scene: &Scene<'_>,
    said: &mut Said,
    after: &Observed,
    memory: &mut StatusMemory,
    now: Timestamp,
) -> Written {
    let shape = scene.shape.filter(|shape| shape.subresource && scene.rule.status.is_some());
    let Some(shape) = shape else {
        memory.refused = None;
        return Written { result: Ok(Sent::Same), lacking: BTreeSet::new() };
    };
    let lacking = said.fields.iter().flat_map(Map::keys).filter(|field| !shape.has(field)).cloned();
    let lacking = lacking.collect();
    Written { result: bring(scene, shape, said, after, memory, now).await, lacking }
}

/// What a status is and what it should be: fields and conditions of ours that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusChange {
    /// As it is.
    pub before: Value,
    /// What is wanted.
    pub wanted: Map<String, Value>,
    /// The field manager.
    pub manager: String,
}

/// What would be written, if anything: the same judgement as after a restart. Pure.
pub fn change(
    rule: &Rule,
    said: &Said,
    after: &Observed,
    shape: Option<&Shape>,
    now: Timestamp,
) -> Option<StatusChange> {
    let shape = shape.filter(|shape| shape.subresource && rule.status.is_some())?;
    let manager = status_manager(&rule.identity);
    let fields = after.parent.status_fields(&manager);
    let parent = after.parent.value();
    let wanted = wanted(said, parent, shape, fields.as_ref(), now);
    if in_sync(&wanted, parent, fields.as_ref(), None) {
        return None;
    }
    let before = parent.get("status").cloned().unwrap_or_default();
    Some(StatusChange { before, wanted: timeless(&wanted), manager })
}

async fn bring(
    scene: &Scene<'_>,
    shape: &Shape,
    said: &mut Said,
    after: &Observed,
    memory: &mut StatusMemory,
    now: Timestamp,
) -> Result<Sent, Refusal> {
    let manager = status_manager(&scene.rule.identity);
    let fields = after.parent.status_fields(&manager);
    let parent = after.parent.value();
    let mut status = wanted(said, parent, shape, fields.as_ref(), now);
    if let Some(refused) = memory.refuses(&status) {
        if refused.wholly {
            return Err(refused.refusal.clone());
        }
        said.refused(&refused.refusal.message);
        status = wanted(said, parent, shape, fields.as_ref(), now);
    }
    if in_sync(&status, parent, fields.as_ref(), memory.memo.as_ref()) {
        return Ok(Sent::Same);
    }
    if let Some(rest) = memory.rest() {
        return Ok(Sent::Later(rest));
    }
    let body = body(scene, &status, shape);
    memory.sends(&status, reason(scene.parent.resource_version, after));
    let parent = (scene.parent_gvk(), &scene.parent.id);
    let texts = Texts::about(parent.0, scene.rule.reveal);
    let written = scene.cluster.apply_status(parent, &body, &manager, texts).await;
    match written {
        Ok(stored) => {
            let live = Live::new(stored);
            memory.reason = reason(live.stored.resource_version, after);
            memory.memo = memo_of(&status, &live, &manager);
            scene.remember_parent(&live);
            Ok(Sent::Now)
        }
        Err(refusal) if refusal.class == Class::Permanent => memory.was_refused(&status, refusal),
        Err(refusal) => Err(refusal),
    }
}

impl StatusMemory {
    /// When the status that the server refused is tried again.
    pub fn retries(&self) -> Option<Instant> {
        self.refused.as_ref().map(|refused| refused.until)
    }

    /// Whether the server refused exactly this a while ago.
    fn refuses(&mut self, status: &Map<String, Value>) -> Option<&Refused> {
        let again = |refused: &Refused| {
            refused.until <= Instant::now() || refused.status != timeless(status)
        };
        if self.refused.as_ref().is_some_and(again) {
            self.refused = None;
        }
        self.refused.as_ref()
    }

    fn was_refused(
        &mut self,
        status: &Map<String, Value>,
        refusal: Refusal,
    ) -> Result<Sent, Refusal> {
        if let Some(refused) = &mut self.refused {
            // This was the rest of a status that was refused before.
            refused.wholly = true;
            return Err(refusal);
        }
        let wholly = status.keys().all(|field| *field == "conditions");
        let until = Instant::now() + BACKSTOP;
        let (status, why) = (timeless(status), refusal.clone());
        self.refused = Some(Refused { status, refusal: why, wholly, until });
        if wholly { Err(refusal) } else { Ok(Sent::Later(PACE.base)) }
    }

    /// How long it is too early to send something.
    fn rest(&self) -> Option<Duration> {
        PACE.delay(self.needless, 1.0).checked_sub(self.sent?.elapsed())
    }

    fn sends(&mut self, status: &Map<String, Value>, reason: u64) {
        let same = |memo: &Memo| memo.timeless == hashed(&timeless(status));
        let needless = self.reason == reason || self.memo.as_ref().is_some_and(same);
        self.needless = if needless { self.needless.saturating_add(1) } else { 0 };
        self.sent = Some(Instant::now());
    }
}

/// Stands for the versions of the parent and of all its children.
fn reason(parent: u64, after: &Observed) -> u64 {
    let children = after.children.values().map(|live| live.stored.resource_version.to_string());
    let all: Vec<String> = std::iter::once(parent.to_string()).chain(children).collect();
    hash64(all.join(" ").as_bytes())
}

/// Without what depends on the time of the pass.
fn timeless(status: &Map<String, Value>) -> Map<String, Value> {
    let mut status = status.clone();
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.remove(TRANSITION);
    }
    status
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
        None => kept_fields(parent, fields),
    };
    status.retain(|field, _| shape.has(field));
    if shape.conditions != Conditions::Absent {
        let previous = parent.pointer("/status/conditions").and_then(Value::as_array);
        let previous = previous.map(Vec::as_slice).unwrap_or_default();
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut ours = conditions(&said.conditions, previous, generation(parent), &now);
        for condition in ours.iter_mut().filter_map(Value::as_object_mut) {
            condition.retain(|key, _| {
                matches!(key.as_str(), "type" | "status") || shape.condition_has(key)
            });
        }
        ours.extend(kept(&said.kept, previous));
        if ours.is_empty() {
            return status;
        }
        let all = match shape.conditions {
            Conditions::Atomic => with_those_of_others(previous, ours),
            Conditions::Keyed | Conditions::Absent => ours,
        };
        status.insert("conditions".into(), Value::Array(all));
    }
    status
}

/// The declared fields as they were, for a body that failed: leaving them out of the apply would remove them.
fn kept_fields(parent: &Value, fields: Option<&FieldSet>) -> Map<String, Value> {
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
    if status.is_empty() && fields.is_none() {
        return true;
    }
    let nothing = Value::Null;
    let current = parent.get("status").unwrap_or(&nothing);
    if let Some(memo) = memo.filter(|memo| memo.sent == hashed(status)) {
        return owned::project_part(&memo.fields, current) == memo.values;
    }
    let Some(fields) = fields else { return false };
    let wanted = Value::Object(status.clone());
    owned::covers_part(&wanted, fields, current) && contains(current, &wanted)
}

fn memo_of(sent: &Map<String, Value>, live: &Live, manager: &str) -> Option<Memo> {
    let fields = owned::shared(live.status_fields(manager)?);
    let values = owned::project_part(&fields, live.value().get("status").unwrap_or(&Value::Null));
    Some(Memo { sent: hashed(sent), timeless: hashed(&timeless(sent)), fields, values })
}

fn hashed(status: &Map<String, Value>) -> u64 {
    // A JSON value cannot fail to be written to memory.
    hash64(&serde_json::to_vec(status).unwrap_or_default())
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
    let gvk = scene.parent_gvk();
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    fn said(phase: &str) -> Map<String, Value> {
        let condition = json!({"type": "Ready", "status": "True", TRANSITION: phase});
        Map::from_iter([("phase".into(), json!(phase)), ("conditions".into(), json!([condition]))])
    }

    /// Sends as soon as it may, is answered, and gives how long that took.
    async fn send(memory: &mut StatusMemory, status: &Map<String, Value>, cause: u64) -> u64 {
        let begun = Instant::now();
        while let Some(rest) = memory.rest() {
            advance(rest + Duration::from_millis(1)).await;
        }
        memory.sends(status, cause);
        memory.reason = cause;
        let (sent, timeless) = (hashed(status), hashed(&timeless(status)));
        memory.memo = Some(Memo { sent, timeless, fields: Arc::default(), values: 0 });
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn news_comes_once_a_second_and_the_first_at_once() {
        let mut memory = StatusMemory::default();
        for (cause, phase, waited) in [(1, "a", 0), (2, "b", 1), (3, "c", 1), (4, "d", 1)] {
            assert_eq!(send(&mut memory, &said(phase), cause).await, waited, "{phase}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_again_waits_longer_each_time_until_there_is_news() {
        let mut memory = StatusMemory::default();
        let mut waits = Vec::new();
        for cause in 1..7 {
            waits.push(send(&mut memory, &said("a"), cause).await);
        }
        assert_eq!(waits, [0, 1, 1, 2, 4, 8]);
        send(&mut memory, &said("b"), 7).await;
        assert_eq!(send(&mut memory, &said("c"), 8).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_that_feeds_on_itself_waits_longer_each_time() {
        let mut memory = StatusMemory::default();
        let mut waits = Vec::new();
        for phase in ["a", "b", "c", "d", "e"] {
            waits.push(send(&mut memory, &said(phase), 1).await);
        }
        assert_eq!(waits, [0, 1, 1, 2, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_status_is_known_again_whatever_the_time_says() {
        let mut memory = StatusMemory::default();
        let refusal = Refusal { class: Class::Permanent, message: "no".into() };
        assert_eq!(memory.was_refused(&said("a"), refusal.clone()), Ok(Sent::Later(PACE.base)));
        let mut later = said("a");
        later["conditions"][0][TRANSITION] = json!("later");
        assert!(memory.refuses(&later).is_some_and(|refused| !refused.wholly));
        assert_eq!(memory.was_refused(&said("b"), refusal.clone()), Err(refusal));
        assert!(memory.refuses(&later).is_some_and(|refused| refused.wholly));
        advance(BACKSTOP).await;
        assert!(memory.refuses(&later).is_none(), "tried again");
        assert!(memory.retries().is_none());
    }
}
