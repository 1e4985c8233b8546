//! Waits until a control plane can be used.
//!
//! In: a client, the servers. Out: nothing, once everything is there; else what is not. Never here: sleeping in the
//! hope that something happened: each condition is asked for.

use super::error::Error;
use super::node;
use super::process::Keeper;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::GetParams;
use kube::core::Request;
use kube::{Api, Client};
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// From the first server's start; a slow machine takes a tenth of it.
const PATIENCE: Duration = Duration::from_mins(2);

/// How often a condition is asked for.
const LOOK: Duration = Duration::from_millis(50);

/// What is asked and until when.
pub(super) struct Wait<'a> {
    keeper: &'a Keeper,
    client: &'a Client,
    logs: &'a Path,
    until: Instant,
}

impl<'a> Wait<'a> {
    /// Time runs from here.
    pub(super) fn new(keeper: &'a Keeper, client: &'a Client, logs: &'a Path) -> Self {
        Self { keeper, client, logs, until: Instant::now() + PATIENCE }
    }

    /// It serves, and its first namespace exists.
    pub(super) async fn for_api_server(&self) -> Result<(), Error> {
        let serves = || async {
            let Ok(request) = Request::new("").get("readyz", &GetParams::default()) else {
                return false;
            };
            self.client.request_text(request).await.is_ok()
        };
        self.until("kube-apiserver does not say that it is ready", serves).await?;
        let namespaces = Api::<Namespace>::all(self.client.clone());
        let exists = || async { namespaces.get("default").await.is_ok() };
        self.until("the namespace `default` does not exist", exists).await
    }

    /// Pods can be created, and there is somewhere to run them.
    pub(super) async fn for_workloads(&self) -> Result<(), Error> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), "default");
        let exists = || async { accounts.get("default").await.is_ok() };
        self.until("the service account `default` does not exist", exists).await?;
        self.until("the nodes are not ready", || node::are_ready(self.client)).await
    }

    async fn until<F: Future<Output = bool>>(
        &self,
        otherwise: &str,
        holds: impl Fn() -> F,
    ) -> Result<(), Error> {
        // Refusals are what waiting consists of: the client library would log each as an error.
        while !holds().with_subscriber(NoSubscriber::default()).await {
            self.keeper.check().await?;
            if Instant::now() > self.until {
                return Err(Error::NotReady {
                    waiting_for: otherwise.to_owned(),
                    seconds: PATIENCE.as_secs(),
                    logs: self.logs.to_owned(),
                });
            }
            sleep(LOOK).await;
        }
        Ok(())
    }
}
