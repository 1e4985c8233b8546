//! `kubewright plan`: what the rules would change in the cluster of the current kubeconfig.

mod json;
mod markdown;
mod text;

pub(super) use json::{
    ChildDocument, LackDocument, ObjectDocument, PlaceDocument, ProblemDocument,
};

use super::connect::{ClusterArguments, Connection, Named, connect, key};
use super::{Exit, Terminal, no_rule};
use crate::plan::{Case, Hider, ParentPlan, plan as judged, unseen};
use crate::rule::{Loaded, Rule};
use crate::snapshot::{self, Lack, Request};
use clap::{Args, ValueEnum};
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// A folder of rules or one rule file (`rules` where not given), then parents as KIND/NAME (all where not given).
    #[arg(value_name = "RULES | KIND/NAME")]
    arguments: Vec<String>,
    /// Only this rule; may be said several times.
    #[arg(long, value_name = "NAME")]
    rule: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// How the plan is printed.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
}

/// How the plan is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: diffs with the template lines behind them.
    #[default]
    Text,
    /// One JSON document; its shape is in docs/PLAN.md.
    Json,
    /// For a comment on a merge request, of bounded length.
    Markdown,
}

/// Everything that there is to say.
pub struct Whole {
    /// One for each parent of each rule, sorted.
    pub parents: Vec<ParentPlan>,
    /// What could not be read.
    pub lacks: Vec<Lack>,
}

/// Reads, judges and prints.
pub fn plan(arguments: &PlanArguments, terminal: &mut Terminal) -> Exit {
    let (rules, named) = match split(&arguments.arguments) {
        Ok(split) => split,
        Err(error) => return failed(&error, terminal),
    };
    let folders = arguments.cluster.folders(rules);
    let loaded = match super::run::load(&folders) {
        Ok(loaded) => loaded,
        Err(error) => return failed(&error.to_string(), terminal),
    };
    terminal.problems(&loaded.problems);
    let rules = match chosen(&loaded, &arguments.rule) {
        Ok(rules) => rules,
        Err(error) => return failed(&error, terminal),
    };
    if rules.is_empty() {
        terminal.error(&no_rule(&loaded, &folders));
        return Exit::Problems;
    }
    let whole = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime.block_on(read(&rules, &named, &arguments.cluster)),
        Err(error) => Err(format!("cannot start: {error}")),
    };
    let whole = match whole {
        Ok(whole) => whole,
        Err(error) => return failed(&error, terminal),
    };
    match arguments.output {
        Output::Text => terminal.print(&text::text(&whole, terminal.style)),
        Output::Json => terminal.print(&json::json(&whole)),
        Output::Markdown => terminal.print(&markdown::markdown(&whole)),
    }
    tell_lacks(&whole.lacks, terminal);
    let missing = missing(&named, &whole);
    if let Some(first) = missing.first() {
        let all = missing.join(", ");
        return failed(
            &format!(
                "no rule here has such a parent: {all}. `kubewright explain {first}` says why"
            ),
            terminal,
        );
    }
    whole.exit(loaded.problems.iter().any(crate::problem::Problem::is_error))
}

impl Whole {
    fn exit(&self, problems: bool) -> Exit {
        if !self.lacks.is_empty() {
            return Exit::Failed;
        }
        if problems || self.parents.iter().any(ParentPlan::is_wrong) {
            return Exit::Problems;
        }
        if self.parents.iter().any(ParentPlan::changes) { Exit::Changes } else { Exit::Fine }
    }
}

/// What could not be read, each with the next command.
pub(super) fn tell_lacks(lacks: &[Lack], terminal: &mut Terminal) {
    for lack in lacks {
        terminal.error(&lack.what);
        terminal.note(&format!("  {}", lack.remedy));
    }
}

fn failed(error: &str, terminal: &mut Terminal) -> Exit {
    terminal.error(error);
    Exit::Failed
}

/// The rules folder, if one is named, and the parents.
fn split(arguments: &[String]) -> Result<(Option<&str>, Vec<Named>), String> {
    let (rules, named) = match arguments.split_first() {
        Some((first, rest)) if Path::new(first).exists() || Named::parse(first).is_err() => {
            (Some(first.as_str()), rest)
        }
        _ => (None, arguments),
    };
    let named = named.iter().map(|text| Named::parse(text)).collect::<Result<_, _>>()?;
    Ok((rules, named))
}

fn chosen(loaded: &Loaded, names: &[String]) -> Result<Vec<Arc<Rule>>, String> {
    let known = |name: &String| loaded.rules.iter().any(|rule| *rule.name == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = loaded.rules.iter().map(|rule| &*rule.name).collect();
        return Err(format!("there is no rule `{unknown}`; there are {}", all.join(", ")));
    }
    let is_chosen =
        |rule: &&Arc<Rule>| names.is_empty() || names.iter().any(|name| **name == *rule.name);
    Ok(loaded.rules.iter().filter(is_chosen).cloned().collect())
}

/// The parents that were named and that nothing was found of.
fn missing(named: &[Named], whole: &Whole) -> Vec<String> {
    let is = |named: &Named, plan: &ParentPlan| *plan.parent.name == *named.name;
    let missing = named.iter().filter(|named| !whole.parents.iter().any(|plan| is(named, plan)));
    missing.map(|named| format!("{}/{}", named.kind, named.name)).collect()
}

async fn read(
    rules: &[Arc<Rule>],
    named: &[Named],
    arguments: &ClusterArguments,
) -> Result<Whole, String> {
    let Connection { client, cluster } = connect().await?;
    let hider = Hider::new(&key()?);
    let request = Request {
        rules,
        installation: &arguments.installation,
        namespace: arguments.namespace.as_deref(),
        wanted: &|kind, id| named.is_empty() || named.iter().any(|named| named.is(kind, id)),
    };
    Ok(whole(&client, &cluster, &request, &hider).await)
}

/// Reads and judges everything that is asked for.
pub async fn whole(
    client: &kube::Client,
    cluster: &crate::cluster::Cluster,
    request: &Request<'_>,
    hider: &Hider,
) -> Whole {
    let snapshot = snapshot::read(client, cluster, request).await;
    let now = Timestamp::now();
    let cases: Vec<Case<'_>> = snapshot
        .rules
        .iter()
        .flat_map(|state| state.parents.iter().map(move |parent| (state, parent)))
        .map(|(state, parent)| Case {
            state,
            parent,
            installation: request.installation,
            now,
            hider,
        })
        .collect();
    let asked: BTreeSet<_> = cases.iter().flat_map(unseen).collect();
    let found = snapshot::look_up(cluster, &asked).await;
    let told = |plan: &ParentPlan| plan.selected || !plan.children.is_empty();
    let mut parents: Vec<ParentPlan> =
        cases.iter().map(|case| judged(case, &found)).filter(told).collect();
    parents.sort_by(|left, right| (&left.rule, &left.parent).cmp(&(&right.rule, &right.parent)));
    Whole { parents, lacks: snapshot.lacks }
}

/// The plan as JSON, as `-o json` prints it.
pub fn as_json(whole: &Whole) -> String {
    json::json(whole)
}

/// The plan for people, without colour.
pub fn as_text(whole: &Whole) -> String {
    text::text(whole, crate::report::Style { colour: false, unicode: false })
}

/// The plan for a comment on a merge request.
pub fn as_markdown(whole: &Whole) -> String {
    markdown::markdown(whole)
}
