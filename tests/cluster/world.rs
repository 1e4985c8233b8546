//! The one control plane that all tests share, and how they wait and count.

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Config};
use kubewright::control_plane::{self, ControlPlane, Options};
use serde_json::Value;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long a condition may take to come true before the test fails. Generous: nothing waits for it in vain.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The control plane and the runtime everything runs on.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    config: Config,
    audit_log: PathBuf,
    kubeconfig: PathBuf,
    plane: Mutex<Option<ControlPlane>>,
}

static WORLD: OnceLock<World> = OnceLock::new();

/// Starts the control plane with the first test that needs it.
pub(crate) fn world() -> &'static World {
    WORLD.get_or_init(|| {
        let runtime = Runtime::new().expect("a runtime");
        let options = Options {
            audit: true,
            shim: Some(PathBuf::from(env!("CARGO_BIN_EXE_kubewright"))),
            ..Options::default()
        };
        let plane = runtime
            .block_on(control_plane::start(options, |note| eprintln!("control plane: {note}")))
            .unwrap_or_else(|error| panic!("no control plane: {error}"));
        World {
            config: plane.client_config(),
            kubeconfig: plane.kubeconfig().to_path_buf(),
            audit_log: plane.audit_log().expect("an audit log").to_path_buf(),
            plane: Mutex::new(Some(plane)),
            runtime,
        }
    })
}

/// Stops the control plane, if one was started.
pub(crate) fn stop() {
    if let Some(world) = WORLD.get()
        && let Some(plane) = world.plane.lock().expect("no panic while held").take()
    {
        world.runtime.block_on(plane.stop()).expect("a clean stop");
    }
}

impl World {
    /// A client with a User-Agent of its own, by which the audit log tells its requests.
    pub(crate) fn client(&self, agent: &str) -> Client {
        self.client_as(agent, None)
    }

    /// The same with the rights of another user.
    pub(crate) fn client_as(&self, agent: &str, user: Option<&str>) -> Client {
        let mut config = self.config.clone();
        config.auth_info.impersonate = user.map(str::to_owned);
        config.headers.push((
            "user-agent".parse().expect("a header name"),
            agent.parse().expect("a header value"),
        ));
        Client::try_from(config).expect("a client")
    }

    /// For programs that are told of a cluster as people tell them.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Every finished request of a User-Agent, in order.
    pub(crate) fn requests(&self, agent: &str) -> Vec<Request> {
        self.requests_that(|event| event["userAgent"] == agent)
    }

    /// The same as audit events.
    pub(crate) fn audited(&self, agent: &str) -> Vec<Value> {
        self.events_that(|event| event["userAgent"] == agent)
    }

    /// The same of whoever acts as a user.
    pub(crate) fn requests_as(&self, user: &str) -> Vec<Request> {
        self.requests_that(|event| event["impersonatedUser"]["username"] == user)
    }

    fn events_that(&self, are_asked_for: impl Fn(&Value) -> bool) -> Vec<Value> {
        let log = fs::read_to_string(&self.audit_log).expect("an audit log");
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|event| event["stage"] == "ResponseComplete" && are_asked_for(event))
            .collect()
    }

    fn requests_that(&self, are_asked_for: impl Fn(&Value) -> bool) -> Vec<Request> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let events = self.events_that(are_asked_for).into_iter();
        events
            .map(|event| Request {
                verb: text(&event["verb"]),
                uri: text(&event["requestURI"]),
                code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
                received: text(&event["requestReceivedTimestamp"]),
                ended: text(&event["stageTimestamp"]),
            })
            .collect()
    }

    /// A new namespace.
    pub(crate) async fn namespace(&self, client: &Client, name: &str) {
        let namespace = Namespace {
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            ..Namespace::default()
        };
        let api: Api<Namespace> = Api::all(client.clone());
        api.create(&PostParams::default(), &namespace).await.expect("a namespace");
    }
}

/// One request as the API server logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) uri: String,
    pub(crate) code: u64,
    /// When it arrived, and when it was answered: times that sort as texts.
    pub(crate) received: String,
    pub(crate) ended: String,
}

impl Request {
    /// Whether it reads or writes an Event.
    pub(crate) fn is_about_events(&self) -> bool {
        self.uri.starts_with("/apis/events.k8s.io/")
    }

    /// Whether it asks for a change. To ask for one's own rights is none, though the server calls it a creation.
    pub(crate) fn is_write(&self) -> bool {
        let about_rights = self.uri.starts_with("/apis/authorization.k8s.io/");
        !about_rights
            && matches!(
                self.verb.as_str(),
                "create" | "update" | "patch" | "delete" | "deletecollection"
            )
    }
}

/// Waits until `probe` gives something; fails with what it said last.
pub(crate) async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(why) if tokio::time::Instant::now() > deadline => {
                panic!("{what}: not after {PATIENCE:?}: {why}")
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
