//! Rules and templates in labelled `ConfigMaps` of our own namespace; only there, since a label on one is power over the cluster.
//!
//! In: a watch. Out: texts by name. A `ConfigMap` holds rules, or with an annotation the templates of one folder, so that
//! `kubectl create configmap … --from-file=FOLDER` makes one. Never here: another namespace.

use super::Error;
use crate::event::{Event, Reason, Teller};
use crate::rule::Loaded;
use crate::source::Source;
use crate::store::{Stored, Subscription};
use crate::watch::{Resource, Watch, WatchKey, Watches};
use kube::Client;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// What selects them.
const SELECTOR: &str = "kubewright.io/rules=true";

/// Its value is the folder of the templates that a `ConfigMap` holds, `.` for the uppermost.
const TEMPLATES: &str = "kubewright.io/templates";

/// How long the first list may take.
const FIRST_LIST: Duration = Duration::from_secs(30);

/// The `ConfigMaps` of one namespace.
pub struct ConfigMaps {
    namespace: String,
    watch: Watch,
    subscription: Mutex<Option<Subscription>>,
    teller: Arc<Teller>,
}

/// The texts in them.
pub(super) struct Texts {
    pub(super) rules: Vec<Arc<Source>>,
    pub(super) templates: Vec<(String, Arc<Source>)>,
}

impl ConfigMaps {
    /// Begins to watch them. `teller` tells about those that have problems.
    pub fn new(client: &Client, namespace: &str, teller: Arc<Teller>) -> Self {
        let resource =
            Resource { gvk: crate::record::gvk(), plural: "configmaps".into(), namespaced: true };
        let watch = Watches::new(client.clone(), None, Arc::default()).watch(WatchKey {
            resource,
            namespace: Some(namespace.to_owned()),
            labels: Some(SELECTOR.to_owned()),
            managed_fields: false.into(),
        });
        let namespace = namespace.to_owned();
        Self { namespace, watch, subscription: Mutex::default(), teller }
    }

    /// Rings whenever one changes.
    pub(super) fn tell(&self, told: &Arc<Notify>) {
        let told = Arc::clone(told);
        let subscription = self.watch.store().subscribe(move |_| told.notify_one());
        let mut held = self.subscription.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(subscription);
    }

    /// Waits for the first list, for a while.
    pub(super) async fn listed(&self) {
        // That it is not complete is told by whoever reads.
        let _ = timeout(FIRST_LIST, self.watch.synced()).await;
    }

    pub(super) fn texts(&self) -> Result<Texts, Error> {
        let state = self.watch.state();
        if !state.synced {
            let why = state.last_error.unwrap_or_else(|| "no answer yet".into());
            return Err(Error::Unlisted { namespace: self.namespace.clone(), why });
        }
        Ok(self.watch.store().all().iter().fold(Texts::empty(), Texts::and))
    }

    /// Tells of each that has problems, and once only for the same.
    pub fn tell_problems(&self, loaded: &Loaded) {
        let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for problem in &loaded.problems {
            let Some(file) = problem.place.as_ref().map(|place| &place.source.name) else {
                continue;
            };
            let name = file.strip_prefix("configmap/").and_then(|rest| rest.split_once(':'));
            if let Some((name, _)) = name {
                by_name.entry(name).or_default().push(problem.to_string());
            }
        }
        for stored in self.watch.store().all() {
            if let Some(problems) = by_name.get(&*stored.id.name) {
                let note = problems.join("; ");
                let event = Event::about_rule(&stored, "", Reason::RuleRefused, &note);
                self.teller.tell(vec![event]);
            }
        }
    }
}

impl Texts {
    fn empty() -> Self {
        Self { rules: Vec::new(), templates: Vec::new() }
    }

    fn and(mut self, stored: &Arc<Stored>) -> Self {
        let data = stored.parse().ok().and_then(|mut object| match object["data"].take() {
            Value::Object(data) => Some(data),
            _ => None,
        });
        let folder = stored.annotation(TEMPLATES);
        for (key, text) in data.into_iter().flatten() {
            let Value::String(text) = text else { continue };
            let source = Source::new(format!("configmap/{}:{key}", stored.id.name), text);
            match folder.as_deref().map(|folder| folder.trim_matches('/')) {
                Some("" | ".") => self.templates.push((key, source)),
                Some(folder) => self.templates.push((format!("{folder}/{key}"), source)),
                None if is_yaml(&key) => self.rules.push(source),
                None => {}
            }
        }
        self
    }
}

/// As for files: notes may lie beside rules.
fn is_yaml(key: &str) -> bool {
    let extension = key.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("yaml" | "yml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Format;
    use serde_json::json;

    #[test]
    fn a_config_map_holds_rules_or_the_templates_of_a_folder() {
        let texts = |annotations: Value| {
            let object = json!({
                "metadata": {"name": "a", "namespace": "system", "uid": "u", "resourceVersion": "7",
                    "annotations": annotations},
                "data": {"x.yaml": "1", "notes.txt": "2"}});
            let format = Format::new(&crate::record::gvk(), false);
            let stored = Arc::new(format.read(&object.to_string()).unwrap());
            let texts = Texts::empty().and(&stored);
            let rules: Vec<_> = texts.rules.iter().map(|source| source.name.clone()).collect();
            let names: Vec<_> = texts.templates.into_iter().map(|(name, _)| name).collect();
            (rules.join(" "), names.join(" "))
        };
        assert_eq!(texts(json!({})), ("configmap/a:x.yaml".into(), String::new()));
        for folder in ["web", "/web/"] {
            let names = (String::new(), "web/notes.txt web/x.yaml".into());
            assert_eq!(texts(json!({TEMPLATES: folder})), names);
        }
        let names = (String::new(), "notes.txt x.yaml".into());
        assert_eq!(texts(json!({TEMPLATES: "."})), names);
    }
}
