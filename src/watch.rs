//! Watches: one stream for all who ask for the same objects, and what the API server serves.
//!
//! In: keys (which kind, where, which labels). Out: handles to stores that follow the API server for as long as somebody
//! holds them, and the state of each watch. Never here: rules; what a change means.

mod failure;
mod kinds;
mod outage;
mod reflector;
mod wire;

pub use kinds::{ASK_AGAIN, Kind, KindError, Kinds, Resource};
pub use outage::Outage;

use crate::metrics::Metrics;
use crate::store::{Index, ManagedFields, Store};
use kube::{Client, Config};
use reflector::{Reflector, Told};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What a watch sees. Equal keys share one stream and one store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchKey {
    /// The kind.
    pub resource: Resource,
    /// Only this namespace; ignored for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Only what this label selector selects.
    pub labels: Option<String>,
    /// How much of managedFields is kept.
    pub managed_fields: ManagedFields,
}

/// `apps/v1 Deployment in shop with app=web`.
impl fmt::Display for WatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource.gvk)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
        }
        self.labels.as_ref().map_or(Ok(()), |labels| write!(f, " with {labels}"))
    }
}

/// How a watch is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The first list is complete.
    pub synced: bool,
    /// What the last try failed with, until a stream has lived for five seconds. The store keeps what it had.
    pub last_error: Option<String>,
    /// How many tries failed since the watch was started.
    pub restarts: u64,
    /// The last object that made no sense, until a complete list has none. Only that object is affected: what was stored
    /// of it stays.
    pub unreadable: Option<String>,
}

/// A client for watches and for requests that are retried by the caller. Its own retries, which could hold a call back
/// for minutes, are off, and so is its read timeout, which would cut every quiet stream: whoever sends a request sets a
/// time limit. A stream takes one HTTP/1.1 connection.
pub fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.default_retry = false;
    config.read_timeout = None;
    Client::try_from(config)
}

/// Why objects cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Unlisted {
    /// Whether it is the right to list them that is missing.
    pub forbidden: bool,
    /// What went wrong.
    pub cause: String,
}

/// Lists everything once and follows nothing: a store that no event reaches. Trouble that may pass by itself is tried again a
/// few times.
pub async fn list_once(
    client: &Client,
    key: WatchKey,
    index: Option<Index>,
) -> Result<Arc<Store>, Unlisted> {
    let store = Arc::new(Store::new(&key.resource.gvk, key.managed_fields, index));
    let (sender, _) = watch::channel(State::default());
    let told = Told { state: sender, metrics: Arc::default(), outage: Arc::default() };
    let reflector = Reflector::new(client.clone(), key, Arc::clone(&store), told);
    match reflector.once().await {
        Ok(()) => Ok(store),
        Err(failure) => {
            Err(Unlisted { forbidden: failure.is_forbidden(), cause: failure.to_string() })
        }
    }
}

type Running = Arc<Mutex<HashMap<WatchKey, Weak<Inner>>>>;

/// All watches that run.
pub struct Watches {
    client: Client,
    index: Option<Index>,
    running: Running,
    metrics: Arc<Metrics>,
    outage: Arc<Outage>,
}

/// A running watch, together with all others who hold it. It stops when the last of them drops it.
#[derive(Clone)]
pub struct Watch(Arc<Inner>);

struct Inner {
    key: WatchKey,
    store: Arc<Store>,
    state: watch::Receiver<State>,
    task: AbortHandle,
    running: Running,
}

impl Watches {
    /// None run yet. The client is best made by [`client`]; `index` is used for every store.
    pub fn new(client: Client, index: Option<Index>, metrics: Arc<Metrics>) -> Self {
        Self { client, index, running: Running::default(), metrics, outage: Arc::default() }
    }

    /// The same, and somebody hears whether the server answers.
    pub fn telling(self, outage: &Arc<Outage>) -> Self {
        Self { outage: Arc::clone(outage), ..self }
    }

    /// Joins the watch of this key, or starts it (a task of the current tokio runtime).
    pub fn watch(&self, mut key: WatchKey) -> Watch {
        key.namespace = key.namespace.filter(|_| key.resource.namespaced);
        key.labels = key.labels.filter(|labels| !labels.is_empty());
        let mut running = lock(&self.running);
        if let Some(inner) = running.get(&key).and_then(Weak::upgrade) {
            return Watch(inner);
        }
        let store = Store::new(&key.resource.gvk, key.managed_fields, self.index.clone());
        let store = Arc::new(store);
        let (sender, state) = watch::channel(State::default());
        let (metrics, outage) = (Arc::clone(&self.metrics), Arc::clone(&self.outage));
        let told = Told { state: sender, metrics, outage };
        let reflector = Reflector::new(self.client.clone(), key.clone(), Arc::clone(&store), told);
        let task = tokio::spawn(reflector.run()).abort_handle();
        let inner =
            Inner { key: key.clone(), store, state, task, running: Arc::clone(&self.running) };
        let inner = Arc::new(inner);
        running.insert(key, Arc::downgrade(&inner));
        Watch(inner)
    }

    /// Every watch that runs, in no order.
    pub fn all(&self) -> Vec<Watch> {
        lock(&self.running).values().filter_map(Weak::upgrade).map(Watch).collect()
    }
}

impl Watch {
    /// What it watches.
    pub fn key(&self) -> &WatchKey {
        &self.0.key
    }

    /// What it knows.
    pub fn store(&self) -> &Arc<Store> {
        &self.0.store
    }

    /// How it is doing.
    pub fn state(&self) -> State {
        self.0.state.borrow().clone()
    }

    /// Waits until the first list was tried: it is complete, or it failed.
    pub async fn tried(&self) {
        let tried = |state: &State| state.synced || state.last_error.is_some();
        // The sender lives in the task, which lives as long as we do.
        let _ = self.0.state.clone().wait_for(tried).await;
    }

    /// Waits for the first complete list.
    pub async fn synced(&self) {
        // The sender lives in the task, which lives as long as we do.
        let _ = self.0.state.clone().wait_for(|state| state.synced).await;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.task.abort();
        let mut running = lock(&self.running);
        // Somebody may have started it anew since the last holder let go.
        if running.get(&self.key).is_some_and(|inner| inner.strong_count() == 0) {
            running.remove(&self.key);
        }
    }
}

fn lock(running: &Running) -> MutexGuard<'_, HashMap<WatchKey, Weak<Inner>>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
