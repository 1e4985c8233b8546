//! The records of rules in our own namespace: read from a watch, written when they differ.
//!
//! In: what is to be remembered of a rule. Out: at most one write per change, and what was remembered before. Never here: what a
//! record means; a second try (whoever asked asks again).

use crate::cluster::{Cluster, Deleted};
use crate::event::{Event, Reason};
use crate::fetch::Live;
use crate::marks::{label, label_value};
use crate::object::ObjectId;
use crate::record::{self, Record};
use crate::refusal::{Class, Refusal};
use crate::store::Stored;
use crate::watch::{Resource, Watch, WatchKey, Watches};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

/// All records of this installation.
pub(super) struct Records {
    namespace: String,
    installation: String,
    watch: Watch,
    writing: Mutex<()>,
    /// Nothing can be remembered: rights or the namespace are missing.
    off: AtomicBool,
}

/// How long the first list may take before it is asked what it fails with.
const LOOK: Duration = Duration::from_secs(2);

impl Records {
    /// Begins to watch them.
    pub(super) fn new(watches: &Watches, namespace: &str, installation: &str) -> Self {
        let resource =
            Resource { gvk: record::gvk(), plural: "configmaps".into(), namespaced: true };
        let watch = watches.watch(WatchKey {
            resource,
            namespace: Some(namespace.to_owned()),
            labels: Some(format!("{}={}", label::RECORD, label_value(installation))),
            managed_fields: false.into(),
        });
        Self {
            namespace: namespace.to_owned(),
            installation: installation.to_owned(),
            watch,
            writing: Mutex::default(),
            off: AtomicBool::new(false),
        }
    }

    /// Waits until they are known, or cannot be known.
    pub(super) async fn listed(&self) {
        let mut told = None;
        while timeout(LOOK, self.watch.synced()).await.is_err() {
            let Some(error) = self.watch.state().last_error else { continue };
            if error.contains("forbidden") {
                self.give_up(&error);
                return;
            }
            if told.as_ref() != Some(&error) {
                tracing::warn!(
                    namespace = self.namespace,
                    error,
                    "the records of rules cannot be read yet"
                );
                told = Some(error);
            }
            sleep(LOOK).await;
        }
    }

    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Whether anything is remembered.
    pub(super) fn is_on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    fn give_up(&self, error: &str) {
        if !self.off.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                namespace = self.namespace,
                error,
                "nothing is remembered of rules over restarts: a rule that is removed meanwhile leaves its children behind; \
                 allow get, list, watch, create, patch and delete on ConfigMaps in this namespace, or name another one with \
                 --namespace"
            );
        }
    }

    /// `ConfigMap NAMESPACE/NAME`.
    pub(super) fn id(&self, identity: &str) -> ObjectId {
        record::id(&self.namespace, &self.installation, identity)
    }

    /// Tells a person who looks at a record.
    pub(super) fn event(&self, identity: &str, reason: Reason, note: &str) -> Option<Event> {
        let stored = self.watch.store().get(&self.id(identity))?;
        Some(Event::about_rule(&stored, identity, reason, note))
    }

    pub(super) fn all(&self) -> Vec<Record> {
        let stored = self.watch.store().all();
        let mut records: Vec<Record> =
            stored.iter().filter_map(|stored| Record::read(stored)).collect();
        records.sort_by(|left, right| left.rule.cmp(&right.rule));
        records
    }

    pub(super) fn get(&self, identity: &str) -> Option<Record> {
        Record::read(&*self.watch.store().get(&self.id(identity))?)
    }

    /// Makes a record what `change` makes of it; nothing is sent if that is what it is.
    pub(super) async fn update(
        &self,
        cluster: &Cluster,
        identity: &str,
        change: impl FnOnce(Option<&Record>) -> Record + Send,
    ) -> Result<(), Refusal> {
        if !self.is_on() {
            return Ok(());
        }
        let _alone = self.writing.lock().await;
        let id = self.id(identity);
        let stored = self.watch.store().get(&id);
        let before = stored.as_deref().and_then(Record::read);
        let after = change(before.as_ref());
        if before.as_ref() == Some(&after) {
            return Ok(());
        }
        let mut body = after.body(&self.installation);
        let answer = if let Some(stored) = stored {
            cluster.merge(&Live::new(stored), &body).await
        } else {
            body["apiVersion"] = "v1".into();
            body["kind"] = "ConfigMap".into();
            body["metadata"]["name"] = (&*id.name).into();
            body["metadata"]["namespace"] = (&*id.namespace).into();
            cluster.create(&record::gvk(), &id, &body).await
        };
        match answer {
            Ok(stored) => {
                self.watch.store().observe(Stored::clone(&stored));
                Ok(())
            }
            Err(refusal) if is_hopeless(&refusal) => {
                self.give_up(&refusal.message);
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Forgets a rule.
    pub(super) async fn remove(&self, cluster: &Cluster, identity: &str) -> Result<(), Refusal> {
        let _alone = self.writing.lock().await;
        let Some(stored) = self.watch.store().get(&self.id(identity)) else { return Ok(()) };
        let live = Live::new(Arc::clone(&stored));
        match cluster.delete(&live).await {
            Ok(Deleted::Gone(uid)) => {
                self.watch.store().gone(&live.id, &uid);
                Ok(())
            }
            Ok(Deleted::Going(_)) | Err(Refusal { class: Class::NotFound, .. }) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }
}

/// Whether asking again will not help before somebody changes the cluster.
fn is_hopeless(refusal: &Refusal) -> bool {
    matches!(refusal.class, Class::Forbidden | Class::Unavailable | Class::Permanent)
}
