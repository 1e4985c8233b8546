//! `kubewright explain`: how one live parent stands, and why.

mod json;
mod text;

use super::connect::{ClusterArguments, Connection, Named, connect, key};
use super::plan::tell_lacks;
use super::{Exit, Terminal, no_rule};
use crate::cluster::Cluster;
use crate::plan::{Case, Explanation, Hider, explain as explained, unseen};
use crate::rule::{Loaded, Rule};
use crate::snapshot::{self, Lack, Request};
use clap::{Args, ValueEnum};
use k8s_openapi::jiff::Timestamp;
use std::sync::Arc;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The parent: `WebApp/shop`, `webapps/shop` or `webapps.demo.kubewright.io/shop`.
    #[arg(value_name = "KIND/NAME")]
    parent: String,
    /// A folder of rules or one rule file.
    #[arg(default_value = "rules")]
    rules: String,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// How it is printed.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
}

/// How an explanation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON document; its shape is in docs/PLAN.md.
    Json,
}

/// Everything that there is to say of a parent.
pub struct Told {
    /// For each rule that is for its kind, as far as the namespaces of the rule go.
    pub explanations: Vec<Explanation>,
    /// Rules for its kind that name other namespaces: the rule, and which.
    pub elsewhere: Vec<(String, Vec<String>)>,
    /// What could not be read.
    pub lacks: Vec<Lack>,
}

/// Reads, judges and prints.
pub fn explain(arguments: &ExplainArguments, terminal: &mut Terminal) -> Exit {
    let named = match Named::parse(&arguments.parent) {
        Ok(named) => named,
        Err(error) => return failed(&error, terminal),
    };
    let folders = arguments.cluster.folders(Some(&arguments.rules));
    let loaded = match super::run::load(&folders) {
        Ok(loaded) => loaded,
        Err(error) => return failed(&error.to_string(), terminal),
    };
    terminal.problems(&loaded.problems);
    if loaded.rules.is_empty() {
        terminal.error(&no_rule(&loaded, &folders));
        return Exit::Problems;
    }
    let told = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime.block_on(read(arguments, &loaded, &named)),
        Err(error) => Err(format!("cannot start: {error}")),
    };
    let told = match told {
        Ok(told) => told,
        Err(error) => return failed(&error, terminal),
    };
    match arguments.output {
        Output::Text => terminal.print(&text::text(&told, terminal.style)),
        Output::Json => terminal.print(&json::json(&told)),
    }
    tell_lacks(&told.lacks, terminal);
    if told.explanations.is_empty() && told.elsewhere.is_empty() {
        return failed(&nothing(arguments, &named, &loaded), terminal);
    }
    if told.lacks.is_empty() { Exit::Fine } else { Exit::Failed }
}

fn failed(error: &str, terminal: &mut Terminal) -> Exit {
    terminal.error(error);
    Exit::Failed
}

/// That nothing was found, and what there could be.
fn nothing(arguments: &ExplainArguments, named: &Named, loaded: &Loaded) -> String {
    let kinds = || loaded.rules.iter().flat_map(|rule| &rule.parent.kinds);
    let named_so = |gvk: &crate::object::Gvk| {
        let plural = format!("{}s", gvk.kind.to_lowercase());
        named.is_kind(gvk, Some(&plural))
    };
    if !kinds().any(named_so) {
        let mut all: Vec<String> = kinds().map(|gvk| gvk.kind.clone()).collect();
        all.sort();
        all.dedup();
        return format!(
            "no rule here is for `{}`; there are rules for {}",
            named.kind,
            all.join(", ")
        );
    }
    let confined = loaded.rules.iter().filter(|rule| rule.parent.kinds.iter().any(named_so));
    let confined = confined.filter(|rule| !rule.parent.namespaces.is_empty());
    let confined: Vec<String> = confined
        .map(|rule| {
            format!("; rule {} is for {} only", rule.name, rule.parent.namespaces.join(", "))
        })
        .collect();
    let confined = confined.concat();
    let within = arguments.cluster.namespace.as_ref();
    let within = within.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    format!(
        "there is no `{}`{within}{confined}; `kubectl get {} -A` shows what there is",
        arguments.parent, named.kind
    )
}

async fn read(
    arguments: &ExplainArguments,
    loaded: &Loaded,
    named: &Named,
) -> Result<Told, String> {
    let Connection { client, cluster } = connect().await?;
    let hider = Hider::new(&key()?);
    let mut rules = Vec::new();
    for rule in &loaded.rules {
        for gvk in &rule.parent.kinds {
            let kind = cluster.kinds.resolve(gvk).await;
            let plural = kind.as_ref().ok().map(|kind| kind.resource.plural.as_str());
            if named.is_kind(gvk, plural) {
                rules.push(Arc::clone(rule));
                break;
            }
        }
    }
    let request = Request {
        rules: &rules,
        installation: &arguments.cluster.installation,
        namespace: arguments.cluster.namespace.as_deref(),
        wanted: &|kind, id| named.is(kind, id),
    };
    Ok(told(&client, &cluster, &request, &hider).await)
}

/// Reads and explains what is asked for.
pub async fn told(
    client: &kube::Client,
    cluster: &Cluster,
    request: &Request<'_>,
    hider: &Hider,
) -> Told {
    let snapshot = snapshot::read(client, cluster, request).await;
    let mut explanations = Vec::new();
    for state in &snapshot.rules {
        for parent in &state.parents {
            let case = Case {
                state,
                parent,
                installation: request.installation,
                now: Timestamp::now(),
                hider,
            };
            let found = snapshot::look_up(cluster, &unseen(&case)).await;
            explanations.push(explained(&case, &found));
        }
    }
    let other = |rule: &Arc<Rule>| {
        let names = &rule.parent.namespaces;
        let asked = request.namespace?;
        let elsewhere = !names.is_empty() && !names.iter().any(|name| name == asked);
        elsewhere.then(|| (rule.name.to_string(), names.clone()))
    };
    let elsewhere = request.rules.iter().filter_map(other).collect();
    Told { explanations, elsewhere, lacks: snapshot.lacks }
}

/// For people, without colour.
pub fn as_text(told: &Told) -> String {
    text::text(told, crate::report::Style { colour: false, unicode: false })
}

/// As `-o json` prints it.
pub fn as_json(told: &Told) -> String {
    json::json(told)
}
