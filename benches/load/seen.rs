//! When what we wait for was seen, by a watch of the loader: the same for our program and for the floor.
//!
//! In: a kind in a namespace, and a test. Out: the first moment at which each object passed it. Never here: a request more.

use crate::Result;
use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event, watcher};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

type Found = Arc<Mutex<HashMap<String, Instant>>>;

/// Objects that passed the test, and when.
pub(crate) struct Seen {
    found: Found,
    news: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Seen {
    /// Begins to look, and returns when everything that exists was looked at.
    pub(crate) async fn begin(
        api: Api<DynamicObject>,
        test: impl Fn(&DynamicObject) -> bool + Send + 'static,
    ) -> Self {
        let (found, news, listed) =
            (Found::default(), Arc::<Notify>::default(), Arc::<Notify>::default());
        let task = tokio::spawn({
            let (found, news, listed) =
                (Arc::clone(&found), Arc::clone(&news), Arc::clone(&listed));
            async move {
                let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
                while let Some(event) = events.next().await {
                    match event {
                        Ok(Event::Apply(object) | Event::InitApply(object)) if test(&object) => {
                            let name = object.metadata.name.unwrap_or_default();
                            lock(&found).entry(name).or_insert_with(Instant::now);
                            news.notify_waiters();
                        }
                        Ok(Event::InitDone) => listed.notify_one(),
                        _ => {}
                    }
                }
            }
        });
        listed.notified().await;
        Self { found, news, task }
    }

    /// Forgets all that was seen.
    pub(crate) fn clear(&self) {
        lock(&self.found).clear();
    }

    /// Waits until so many were seen.
    pub(crate) async fn wait(
        &self,
        count: usize,
        patience: Duration,
    ) -> Result<HashMap<String, Instant>> {
        let enough = async {
            loop {
                let news = self.news.notified();
                if lock(&self.found).len() >= count {
                    return;
                }
                // A notice may come between the look and the wait.
                drop(tokio::time::timeout(Duration::from_millis(20), news).await);
            }
        };
        let in_time = tokio::time::timeout(patience, enough).await.is_ok();
        let found = lock(&self.found).clone();
        if in_time {
            return Ok(found);
        }
        Err(format!(
            "{} of {count} objects came to be as they should within {patience:?}",
            found.len()
        )
        .into())
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a parent says that it is ready, and means its newest generation.
pub(crate) fn is_ready(object: &DynamicObject) -> bool {
    let conditions =
        object.data["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready = |condition: &serde_json::Value| {
        condition["type"] == "Ready"
            && condition["status"] == "True"
            && condition["observedGeneration"].as_i64() == object.metadata.generation
    };
    conditions.iter().any(ready)
}
