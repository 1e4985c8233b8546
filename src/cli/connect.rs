//! For commands that read a cluster and write nothing: the connection, and names of parents on the command line.
//!
//! In: the current kubeconfig, `KIND/NAME`. Out: a client that was answered once, or what to do about it.

use super::Folders;
use super::run::user_agent;
use crate::cluster::Cluster;
use crate::object::{Gvk, ObjectId};
use crate::watch::{self, Kind};
use clap::Args;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::{Client, Config};
use ring::rand::{SecureRandom, SystemRandom};
use std::path::PathBuf;

/// Options of every command that reads a cluster.
#[derive(Clone, Debug, Args)]
pub(super) struct ClusterArguments {
    /// The folder that `template:` names are relative to; `templates` beside the rules where not given.
    #[arg(long, value_name = "DIR")]
    pub(super) templates: Option<PathBuf>,
    /// The installation whose children are looked for, as `run` has it.
    #[arg(long, default_value = "kubewright", value_name = "NAME")]
    pub(super) installation: String,
    /// Only parents of this namespace.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
}

impl ClusterArguments {
    /// The folders; rules are in `rules` where none are named.
    pub(super) fn folders(&self, rules: Option<&str>) -> Folders {
        let rules = PathBuf::from(rules.unwrap_or("rules"));
        Folders { rules, templates: self.templates.clone() }
    }
}

/// A cluster that answers.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) cluster: Cluster,
}

/// Reaches the cluster of the current kubeconfig, or the one this pod lives in: how, and what it says of itself.
pub(super) async fn reach() -> Result<(Config, Client, Info), String> {
    let mut config = Config::infer().await.map_err(|error| {
        format!("no cluster: {error}. Point KUBECONFIG at one, or try `kubewright dev`, which brings its own")
    })?;
    config.headers.push(user_agent());
    let client = watch::client(config.clone()).map_err(|error| no_client(&error))?;
    let version = client.apiserver_version().await.map_err(|error| {
        format!("the cluster does not answer: {error}. `kubectl version` should show the same")
    })?;
    Ok((config, client, version))
}

/// That there is no client.
pub(super) fn no_client(error: &kube::Error) -> String {
    format!("no client: {error}")
}

/// Connects for whoever only reads.
pub(super) async fn connect() -> Result<Connection, String> {
    let (_, client, _) = reach().await?;
    let cluster = Cluster::of(&client);
    Ok(Connection { client, cluster })
}

/// Random bytes for the hashes of hidden values.
pub(super) fn key() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| "the system gives no randomness".to_owned())
}

/// A parent as somebody typed it: `WebApp/shop`, `webapps/shop` or `webapps.demo.kubewright.io/shop`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) kind: String,
    pub(super) name: String,
}

impl Named {
    /// Reads it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty());
        let Some((kind, name)) = parts.filter(|(_, name)| !name.contains('/')) else {
            return Err(format!(
                "`{text}` is no KIND/NAME such as `WebApp/shop`, and no folder of rules"
            ));
        };
        Ok(Self { kind: kind.to_lowercase(), name: name.to_owned() })
    }

    /// Whether a kind is meant; its plural may not be known.
    pub(super) fn is_kind(&self, gvk: &Gvk, plural: Option<&str>) -> bool {
        let (short, group) = self.kind.split_once('.').unwrap_or((&self.kind, ""));
        let named =
            short == gvk.kind.to_lowercase() || plural.is_some_and(|plural| plural == short);
        named && (group.is_empty() || group == gvk.group)
    }

    /// Whether an object is meant.
    pub(super) fn is(&self, kind: &Kind, id: &ObjectId) -> bool {
        *id.name == *self.name && self.is_kind(&kind.resource.gvk, Some(&kind.resource.plural))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_named_as_kubectl_does() {
        let gvk = Gvk::parse("demo.kubewright.io/v1", "WebApp").unwrap();
        for text in [
            "WebApp/a",
            "webapp/a",
            "webapps/a",
            "webapps.demo.kubewright.io/a",
            "webapp.demo.kubewright.io/a",
        ] {
            assert!(Named::parse(text).unwrap().is_kind(&gvk, Some("webapps")), "{text}");
        }
        for text in ["tenant/a", "webapps.other/a"] {
            assert!(!Named::parse(text).unwrap().is_kind(&gvk, Some("webapps")), "{text}");
        }
        for text in ["rules", "a/", "/a", "a/b/c", ""] {
            assert!(Named::parse(text).is_err(), "{text}");
        }
    }
}
