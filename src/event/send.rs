//! Sends Events beside the passes, which neither wait for it nor fail by it.
//!
//! In: Events. Out: at most one creation each, or one more in the count of what was told before. What finds no room, or no
//! server that takes it, is dropped, counted and logged. Never here: what is told.

use super::Event;
use crate::cluster::{Limiter, Turn};
use crate::object::GroupKind;
use crate::queue::Lane;
use crate::refusal::{Class, Refusal};
use futures::StreamExt;
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// Events that may wait to be sent.
const ROOM: usize = 1024;

/// Events that are sent at once.
const AT_ONCE: usize = 4;

/// As long as fewer wait, what passes send goes first; beyond, Events take their turns with it, so that none is dropped which
/// could have been sent.
const PATIENT: usize = ROOM / 2;

/// A request that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// An Event is tried so often, with a pause that a server may ask to be longer, up to the longest.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Where rights are missing nothing is sent for so long; at most so many namespaces are remembered.
const SILENCE: Duration = Duration::from_mins(10);
const SILENT: usize = 1000;

/// The server's instance of us, where nobody names it.
const LONGEST_INSTANCE: usize = 128;

/// Sends Events.
pub struct Teller {
    client: Client,
    limiter: Arc<Limiter>,
    /// Both are in every Event.
    controller: String,
    instance: String,
    /// Nothing at all means the end.
    queue: mpsc::Sender<Option<Event>>,
    waiting: Mutex<Option<mpsc::Receiver<Option<Event>>>>,
    pending: AtomicUsize,
    /// No pass wants anything any more.
    ending: AtomicBool,
    dropped: AtomicU64,
    /// Where rights are missing, and until when nothing is sent.
    silent: Mutex<BTreeMap<String, Instant>>,
    complained: AtomicU64,
}

impl Teller {
    /// Speaks for an installation. Nothing is sent before [`Teller::run`].
    pub fn new(client: Client, installation: &str, limiter: &Arc<Limiter>) -> Arc<Self> {
        let name = if installation.is_empty() { "kubewright" } else { installation };
        let (queue, waiting) = mpsc::channel(ROOM);
        // In a pod this is its name.
        let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
        let instance = host.unwrap_or_else(|| name.to_owned());
        Arc::new(Self {
            client,
            limiter: Arc::clone(limiter),
            controller: format!("kubewright.io/{name}"),
            instance: instance.chars().filter(char::is_ascii).take(LONGEST_INSTANCE).collect(),
            queue,
            waiting: Mutex::new(Some(waiting)),
            pending: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            silent: Mutex::default(),
            complained: AtomicU64::new(0),
        })
    }

    /// Takes Events to be sent; never waits.
    pub fn tell(&self, events: Vec<Event>) {
        for event in events {
            self.pending.fetch_add(1, Ordering::SeqCst);
            if self.queue.try_send(Some(event)).is_err() {
                self.pending.fetch_sub(1, Ordering::SeqCst);
                self.drop_one("there are more than can be sent");
            }
        }
    }

    /// Events that are neither sent nor dropped yet.
    pub fn pending(&self) -> usize {
        self.pending.load(Ordering::SeqCst)
    }

    /// Events that were dropped since the start.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::SeqCst)
    }

    /// Lets [`Teller::run`] end when what waits now is sent.
    pub fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        // Full means busy: whoever waits for the end does not wait for ever.
        drop(self.queue.try_send(None));
    }

    /// Sends until the end. To be called once.
    pub async fn run(self: Arc<Self>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(waiting) = waiting else { return };
        let next = async |mut waiting: mpsc::Receiver<Option<Event>>| {
            let event = waiting.recv().await.flatten()?;
            Some((event, waiting))
        };
        let events = futures::stream::unfold(waiting, next);
        let teller = &self;
        let send = async |event: Event| {
            teller.send(&event).await;
            teller.pending.fetch_sub(1, Ordering::SeqCst);
        };
        events.for_each_concurrent(AT_ONCE, send).await;
    }

    async fn send(&self, event: &Event) {
        if self.is_silent(event.namespace()) {
            return self.drop_one("rights are missing");
        }
        let mut why = String::new();
        for attempt in 1..=TRIES {
            let Err(refusal) = self.attempt(event).await else { return };
            let pause = match refusal.class {
                Class::Forbidden => {
                    self.falls_silent(event.namespace(), &refusal);
                    return self.drop_one("rights are missing");
                }
                // The namespace goes, and with it the parent.
                Class::Unavailable => return,
                Class::Transient(asked) => asked.unwrap_or(PAUSE * attempt),
                Class::NotFound | Class::Stale => PAUSE,
                Class::Held(_) | Class::Permanent | Class::NotServed | Class::Withheld => {
                    return self.drop_one(&refusal.message);
                }
            };
            why = refusal.message;
            if attempt < TRIES {
                sleep(pause.min(LONGEST_PAUSE)).await;
            }
        }
        self.drop_one(&why);
    }

    /// Creates it, or counts up what is there under its name. Running it twice changes nothing.
    async fn attempt(&self, event: &Event) -> Result<(), Refusal> {
        let namespace = event.namespace();
        let events = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let create = http::Request::post(&events).header(CONTENT_TYPE, "application/json");
        let body = event.body(&self.controller, &self.instance);
        match self.call::<Value>(create, Some(&body)).await {
            // It is there already.
            Err(Refusal { class: Class::Stale, .. }) => {}
            other => return other.map(drop),
        }
        let one = format!("{events}/{}", event.name());
        let there: Value = self.call(http::Request::get(&one), None).await?;
        let Some(series) = series(&there, &event.moment()) else { return Ok(()) };
        let count_up =
            http::Request::patch(&one).header(CONTENT_TYPE, "application/merge-patch+json");
        self.call::<Value>(count_up, Some(&series)).await.map(drop)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        request: http::request::Builder,
        body: Option<&Value>,
    ) -> Result<T, Refusal> {
        let mistake = |message: String| Refusal { class: Class::Permanent, message };
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| mistake(error.to_string()))?.unwrap_or_default();
        let request = request.body(body).map_err(|error| mistake(error.to_string()))?;
        let kind = GroupKind { group: "events.k8s.io".into(), kind: "Event".into() };
        let permit = self.limiter.permit(&self.turn(), kind).await;
        let answer = permit.ask(&self.client, request, PATIENCE).await;
        answer.map_err(|error| error.into_refusal(Refusal::from))
    }

    /// Passes go first, as long as there is room.
    fn turn(&self) -> Turn {
        let hurries = self.ending.load(Ordering::SeqCst) || self.pending() > PATIENT;
        Turn { rule: "".into(), lane: if hurries { Lane::Edit } else { Lane::Bulk } }
    }

    fn is_silent(&self, namespace: &str) -> bool {
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.get(namespace).is_some_and(|until| Instant::now() < *until)
    }

    /// Told once: who runs us on purpose without these rights needs no reminder.
    fn falls_silent(&self, namespace: &str, refusal: &Refusal) {
        if self.complained.fetch_add(1, Ordering::SeqCst) == 0 {
            tracing::warn!(
                namespace,
                error = %refusal,
                "Events are not sent: the rights to create, get and patch events of events.k8s.io are missing"
            );
        }
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if silent.len() >= SILENT {
            silent.retain(|_, until| now < *until);
        }
        if silent.len() < SILENT {
            silent.insert(namespace.to_owned(), now + SILENCE);
        }
    }

    /// Counted, and logged ever more rarely.
    fn drop_one(&self, why: &str) {
        let dropped = self.dropped.fetch_add(1, Ordering::SeqCst) + 1;
        if dropped.is_power_of_two() {
            tracing::info!(dropped, why, "an Event was dropped");
        }
    }
}

const CONTENT_TYPE: http::HeaderName = http::header::CONTENT_TYPE;

/// What is to be changed in an Event that tells the same; nothing if it is the one that was to be made or counted, and only
/// the answer was lost.
fn series(there: &Value, moment: &str) -> Option<Value> {
    let last = there.pointer("/series/lastObservedTime").unwrap_or(&there["eventTime"]);
    if last.as_str() == Some(moment) {
        return None;
    }
    let count = there.pointer("/series/count").and_then(Value::as_i64).unwrap_or(1);
    let count = count.saturating_add(1).min(i64::from(i32::MAX));
    Some(json!({"series": {"count": count, "lastObservedTime": moment}}))
}

#[cfg(test)]
mod tests;
