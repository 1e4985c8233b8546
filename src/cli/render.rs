//! `kubewright render`: the children a rule wants for a parent, as YAML.

use super::{Exit, Folders, Terminal};
use crate::fetch::{Live, Observed};
use crate::object::Gvk;
use crate::render::{Desired, Setting, render as render_children};
use crate::rule::{Example, Rule};
use crate::scope::Scopes;
use crate::store::Format;
use crate::yaml;
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of `render`.
#[derive(Debug, Args)]
pub struct RenderArguments {
    #[command(flatten)]
    folders: Folders,
    /// A file with parents; the example parents of the rules folder where not given.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Prints what each parent's children would be before any of them exists.
pub fn render(arguments: &RenderArguments, terminal: &mut Terminal) -> Exit {
    let loaded = match super::run::load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    let mut problems = loaded.problems.clone();
    let parents: Vec<Value> = match &arguments.file {
        None => loaded.examples.iter().map(|example| example.object.clone()).collect(),
        Some(path) => match parents_of(path) {
            Ok(parents) => parents,
            Err(error) => {
                terminal.error(&error);
                return Exit::Failed;
            }
        },
    };
    let mut text = String::new();
    for parent in &parents {
        for rule in loaded.rules.iter().filter(|rule| rule.is_for(parent)) {
            let desired = desired_of(rule, parent, &loaded.crds);
            problems.extend(desired.problems().cloned());
            for child in &desired.children {
                let object = yaml::print(&child.object);
                // Writing to a String cannot fail.
                let _ = writeln!(
                    text,
                    "---\n# rule {}, child {}\n{}",
                    rule.name,
                    child.name(),
                    object.trim_end()
                );
            }
            for waiting in desired.waiting() {
                let _ =
                    writeln!(text, "---\n# rule {}, child {}: {}", rule.name, waiting.0, waiting.1);
            }
        }
    }
    terminal.print(&text);
    terminal.problems(&problems);
    if !problems.is_empty() {
        return Exit::Problems;
    }
    if text.is_empty() {
        terminal.error("no rule is for any of these parents");
        return Exit::Failed;
    }
    Exit::Fine
}

fn parents_of(path: &PathBuf) -> Result<Vec<Value>, String> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read `{name}`: {error}"))?;
    let documents = yaml::parse(&text, &yaml::Limits::FILE).map_err(|error| {
        let position = crate::source::Source::new("", text.as_str()).position(error.span.start);
        format!("{name}:{}:{}: {error}", position.line, position.column)
    })?;
    Ok(documents.iter().map(|document| document.root.to_json()).filter(|v| !v.is_null()).collect())
}

/// What a rule wants for a parent of which no child exists yet.
pub(super) fn desired_of(rule: &Rule, parent: &Value, crds: &[Example]) -> Desired {
    let mut parent = parent.clone();
    let gvk = Gvk::of(&parent).unwrap_or_else(|| rule.parent.gvk.clone());
    let scopes = Scopes::offline(crds.iter().map(|crd| &crd.object));
    complete(&mut parent, scopes.of(&gvk.group_kind()));
    let stored = Format::new(&gvk, false).read(&parent.to_string());
    let observed = match stored {
        Ok(stored) => Observed { parent: Live::new(Arc::new(stored)), children: BTreeMap::new() },
        Err(_) => return Desired::default(),
    };
    let setting =
        Setting { scopes: &scopes, installation: "kubewright", now: Timestamp::UNIX_EPOCH };
    render_children(rule, &observed, &setting)
}

/// What only the API server gives an object; the values say that they stand in for it.
fn complete(parent: &mut Value, scope: crate::scope::Scope) {
    let Some(metadata) = parent.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.entry("uid").or_insert(json!("00000000-0000-0000-0000-000000000000"));
    metadata.entry("resourceVersion").or_insert(json!("1"));
    metadata.entry("generation").or_insert(json!(1));
    if scope == crate::scope::Scope::Namespaced {
        metadata.entry("namespace").or_insert(json!("default"));
    }
}
