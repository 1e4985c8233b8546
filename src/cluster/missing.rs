//! Rights that were missing, and whether they are there now.
//!
//! In: refusals as the server words them. Out: a number that grows when a missing right is there: whatever was refused is worth
//! another try then. It asks the server about itself, one small question per right and round, and nothing while no right is
//! missing. Never here: what the rights are for.

use super::Cluster;
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// How often a missing right is asked for.
const EVERY: Duration = Duration::from_secs(5);

/// What was not refused for so long is not needed any more: whoever still needs it is refused again before.
const FORGOTTEN: Duration = Duration::from_mins(15);

/// So many are asked for; the others come when their turn to be tried does.
const MOST: usize = 32;

/// A verb on a resource, as authorization knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    verb: String,
    group: String,
    /// `deployments/status`.
    resource: String,
    /// None where it would have to be for all namespaces.
    namespace: Option<String>,
}

/// Rights that were missing when they were last needed.
#[derive(Default)]
pub struct Missing {
    rights: Mutex<BTreeMap<Right, Instant>>,
    came: AtomicU64,
    noted: Notify,
}

impl Missing {
    /// How often a missing right came.
    pub fn came(&self) -> u64 {
        self.came.load(Ordering::Acquire)
    }

    /// Remembers the right that a refusal names, if it names one.
    pub(super) fn note(&self, message: &str) {
        let Some(right) = Right::named_in(message) else { return };
        let mut rights = self.rights();
        if rights.len() < MOST || rights.contains_key(&right) {
            rights.insert(right, Instant::now());
            self.noted.notify_one();
        }
    }

    /// Those that are worth a question.
    fn asked_for(&self) -> Vec<Right> {
        let mut rights = self.rights();
        rights.retain(|_, noted| noted.elapsed() < FORGOTTEN);
        rights.keys().cloned().collect()
    }

    fn is_there(&self, right: &Right) {
        self.rights().remove(right);
    }

    fn rights(&self) -> MutexGuard<'_, BTreeMap<Right, Instant>> {
        self.rights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Right {
    fn named_in(message: &str) -> Option<Self> {
        let found = WORDS.as_ref()?.captures(message)?;
        let text = |name: &str| found.name(name).map(|part| part.as_str().to_owned());
        Some(Self {
            verb: text("verb")?,
            resource: text("resource")?,
            group: text("group")?,
            namespace: text("namespace"),
        })
    }

    fn question(&self) -> Value {
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        let attributes = json!({"verb": self.verb, "group": self.group, "resource": resource,
            "subresource": subresource, "namespace": self.namespace.clone().unwrap_or_default()});
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes}})
    }
}

static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let right = r#"cannot (?P<verb>[a-z]+) resource "(?P<resource>[a-z0-9./-]+)" in API group "(?P<group>[a-z0-9.-]*)""#;
    let place = r#"(?: in the namespace "(?P<namespace>[a-z0-9-]+)"| at the cluster scope)"#;
    Regex::new(&format!("{right}{place}")).ok()
});

impl Cluster {
    /// Waits until a right that was missing is there.
    pub async fn right_came(&self) {
        loop {
            let rights = self.missing.asked_for();
            if rights.is_empty() {
                self.missing.noted.notified().await;
                continue;
            }
            sleep(EVERY).await;
            let mut came = false;
            for right in rights {
                if self.has(&right).await {
                    tracing::info!(
                        verb = right.verb,
                        resource = right.resource,
                        "a missing right is there"
                    );
                    self.missing.is_there(&right);
                    came = true;
                }
            }
            if came {
                self.missing.came.fetch_add(1, Ordering::AcqRel);
                return;
            }
        }
    }

    /// A server that does not answer the question has not said yes.
    async fn has(&self, right: &Right) -> bool {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let body = serde_json::to_vec(&right.question()).unwrap_or_default();
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body);
        let Ok(request) = request else { return false };
        let answer =
            self.call::<Value>(super::no_kind(), request, crate::refusal::Refusal::from).await;
        answer.is_ok_and(|answer| answer["status"]["allowed"] == true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_right_that_is_missing() {
        let named = |text: &str| {
            Right::named_in(text)
                .map(|right| right.question()["spec"]["resourceAttributes"].clone())
        };
        let attributes = |group: &str, resource: &str, subresource: &str, namespace: &str| {
            Some(json!({"verb": "patch", "group": group, "resource": resource,
                "subresource": subresource, "namespace": namespace}))
        };
        assert_eq!(
            named(
                "configmaps \"a\" is forbidden: User \"u\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \"n\""
            ),
            attributes("", "configmaps", "", "n")
        );
        assert_eq!(
            named(
                "x is forbidden: User \"u\" cannot patch resource \"webapps/status\" in API group \"demo.kubewright.io\" at the cluster scope"
            ),
            attributes("demo.kubewright.io", "webapps", "status", "")
        );
        for other in ["forbidden", "admission webhook \"x\" denied the request: cannot do this"] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn only_so_many_are_asked_for() {
        let missing = Missing::default();
        for number in 0..2 * MOST {
            missing.note(&format!(
                "cannot get resource \"a\" in API group \"\" in the namespace \"n{number}\""
            ));
        }
        assert_eq!(missing.asked_for().len(), MOST);
        let first = missing.asked_for()[0].clone();
        missing.is_there(&first);
        assert_eq!(missing.asked_for().len(), MOST - 1);
    }
}
