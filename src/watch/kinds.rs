//! What the API server serves: from a kind to its plural, scope, verbs and subresources.
//!
//! In: a group, version and kind. Out: [`Kind`], or that it is not served (yet). Never here: guessing a plural.

use crate::object::Gvk;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList};
use kube::Client;
use kube::api::ApiResource;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// A kind that was not found is not asked for again before this time.
pub const ASK_AGAIN: Duration = Duration::from_secs(5);

const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Where the objects of a kind are found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// The name in a path: `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// The path of a list of its objects: of one namespace, or of all. A cluster-scoped kind has one list only.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.gvk.group.is_empty() { "/api/" } else { "/apis/" };
        let namespace = namespace.filter(|_| self.namespaced);
        let within =
            namespace.map_or_else(String::new, |ns| format!("namespaces/{}/", escaped(ns)));
        format!("{root}{}/{within}{}", self.gvk.api_version(), self.plural)
    }

    /// As the API client wants it.
    pub fn api_resource(&self) -> ApiResource {
        ApiResource {
            group: self.gvk.group.clone(),
            version: self.gvk.version.clone(),
            api_version: self.gvk.api_version(),
            kind: self.gvk.kind.clone(),
            plural: self.plural.clone(),
        }
    }
}

/// A namespace may come from what a parent contains: it must stay one step of the path.
fn escaped(namespace: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    namespace.bytes().map(escape).collect()
}

/// A kind as it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Where its objects are.
    pub resource: Resource,
    /// Whether its status is a subresource, and so can be patched without touching the rest.
    pub has_status: bool,
    /// What can be done with it, for example `watch`.
    pub verbs: Vec<String>,
}

/// Why a kind is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    /// The API server does not serve it. That can change: a `CustomResourceDefinition` may be installed later.
    #[error("the API server serves no {0} (is its CustomResourceDefinition installed?)")]
    Unknown(Gvk),
    /// The API server could not be asked, or an aggregated one behind it does not answer.
    #[error("the kinds of {api_version} cannot be listed: {cause}")]
    Unavailable {
        /// Group and version.
        api_version: String,
        /// What went wrong.
        cause: String,
    },
}

/// Every kind that was asked for, by group and version: one that does not answer holds up no other.
pub struct Kinds {
    client: Client,
    versions: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Served>>>>,
}

/// The kinds of one group and version.
#[derive(Default)]
struct Served {
    kinds: HashMap<String, Arc<Kind>>,
    asked: Option<Instant>,
    problem: Option<KindError>,
}

impl Kinds {
    /// Asks nothing yet.
    pub fn new(client: Client) -> Self {
        Self { client, versions: Mutex::default() }
    }

    /// The kind as it is served. What was found is remembered; what was not found is asked for again by the first call
    /// after [`ASK_AGAIN`], so call again later.
    pub async fn resolve(&self, gvk: &Gvk) -> Result<Arc<Kind>, KindError> {
        let served = {
            let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(versions.entry(gvk.api_version()).or_default())
        };
        let mut served = served.lock().await;
        if !served.kinds.contains_key(&gvk.kind)
            && served.asked.is_none_or(|asked| asked.elapsed() >= ASK_AGAIN)
        {
            served.ask(&self.client, gvk).await;
        }
        let known = served.kinds.get(&gvk.kind).cloned();
        let problem = || served.problem.clone().unwrap_or_else(|| KindError::Unknown(gvk.clone()));
        known.ok_or_else(problem)
    }

    /// Asks again at the next occasion, because a `CustomResourceDefinition` changed or a request found the kind gone.
    pub fn forget(&self, gvk: &Gvk) {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.remove(&gvk.api_version());
    }
}

impl Served {
    async fn ask(&mut self, client: &Client, gvk: &Gvk) {
        let api_version = gvk.api_version();
        let answer = async {
            if gvk.group.is_empty() {
                client.list_core_api_resources(&api_version).await
            } else {
                client.list_api_group_resources(&api_version).await
            }
        };
        let answer = timeout(ANSWER_WITHIN, answer).await;
        self.asked = Some(Instant::now());
        self.problem = None;
        match answer {
            Ok(Ok(list)) => self.kinds = kinds(gvk, &list),
            // Any 404: a group that is not served answers in plain text.
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => self.kinds.clear(),
            Ok(Err(error)) => {
                let cause = super::failure::Failure::from(error).to_string();
                self.problem = Some(KindError::Unavailable { api_version, cause });
            }
            Err(_) => {
                let cause = format!("no answer within {} s", ANSWER_WITHIN.as_secs());
                self.problem = Some(KindError::Unavailable { api_version, cause });
            }
        }
    }
}

/// The kinds of one group and version, without subresources.
fn kinds(gvk: &Gvk, list: &APIResourceList) -> HashMap<String, Arc<Kind>> {
    let mut kinds = HashMap::new();
    for served in list.resources.iter().filter(|served| !served.name.contains('/')) {
        let status = format!("{}/status", served.name);
        let patched =
            |other: &APIResource| other.name == status && other.verbs.iter().any(|v| v == "patch");
        let kind = Kind {
            resource: Resource {
                gvk: Gvk { kind: served.kind.clone(), ..gvk.clone() },
                plural: served.name.clone(),
                namespaced: served.namespaced,
            },
            has_status: list.resources.iter().any(patched),
            verbs: served.verbs.clone(),
        };
        kinds.entry(served.kind.clone()).or_insert_with(|| Arc::new(kind));
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Resource {
        let gvk = Gvk::parse(api_version, kind).unwrap();
        Resource { gvk, plural: plural.into(), namespaced }
    }

    #[test]
    fn paths_follow_group_and_scope() {
        let pods = resource("v1", "Pod", "pods", true);
        assert_eq!(pods.path(None), "/api/v1/pods");
        assert_eq!(pods.path(Some("shop")), "/api/v1/namespaces/shop/pods");
        let roles = resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false);
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        assert_eq!((roles.path(None).as_str(), roles.path(Some("shop")).as_str()), (path, path));
    }

    #[test]
    fn a_namespace_cannot_leave_its_place_in_the_path() {
        let secrets = resource("v1", "Secret", "secrets", true);
        for namespace in ["../kube-system", "a/secrets?x=", "a#", "a b", "a\n", "ü", "%2F", ""] {
            let path = secrets.path(Some(namespace));
            let inner = path.strip_prefix("/api/v1/namespaces/").unwrap();
            let inner = inner.strip_suffix("/secrets").unwrap();
            assert!(
                inner.bytes().all(|b| b.is_ascii_alphanumeric() || b"%-".contains(&b)),
                "{path}"
            );
        }
    }

    #[test]
    fn the_status_subresource_and_the_irregular_plural_come_from_the_server() {
        let list = serde_json::json!({
            "groupVersion": "demo.example/v1",
            "resources": [
                {"name": "chassis", "singularName": "", "namespaced": true, "kind": "Chassis", "verbs": ["list", "watch"]},
                {"name": "chassis/status", "singularName": "", "namespaced": true, "kind": "Chassis", "verbs": ["get", "patch"]},
                {"name": "mice", "singularName": "", "namespaced": false, "kind": "Mouse", "verbs": ["list"]},
                {"name": "mice/status", "singularName": "", "namespaced": false, "kind": "Mouse", "verbs": ["get"]},
                {"name": "mice/scale", "singularName": "", "namespaced": false, "kind": "Scale", "verbs": ["patch"]},
            ],
        });
        let list: APIResourceList = serde_json::from_value(list).unwrap();
        let gvk = Gvk::parse("demo.example/v1", "Chassis").unwrap();
        let kinds = kinds(&gvk, &list);
        let chassis = &kinds["Chassis"];
        assert_eq!(chassis.resource, resource("demo.example/v1", "Chassis", "chassis", true));
        assert!(chassis.has_status && chassis.verbs == ["list", "watch"]);
        let mouse = &kinds["Mouse"];
        assert_eq!(mouse.resource, resource("demo.example/v1", "Mouse", "mice", false));
        assert!(!mouse.has_status, "a status that cannot be patched");
        assert!(!kinds.contains_key("Scale"), "a subresource is no kind");
    }
}
