//! `kubewright render`: the children a rule wants for a parent, as YAML.

use super::kinds::Definitions;
use super::preview::Preview;
use super::{Exit, Folders, Terminal};
use crate::yaml;
use clap::Args;
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// Options of `render`.
#[derive(Debug, Args)]
pub struct RenderArguments {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    definitions: Definitions,
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
    let kinds = match arguments.definitions.known(&loaded) {
        Ok(kinds) => kinds,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    let mut problems = [&*loaded.problems, &*kinds.problems].concat();
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
    let others: Vec<Value> = loaded
        .examples
        .iter()
        .map(|example| &example.object)
        .chain(arguments.file.iter().flat_map(|_| &parents))
        .cloned()
        .collect();
    let mut text = String::new();
    for parent in &parents {
        for rule in loaded.rules.iter().filter(|rule| rule.is_for(parent)) {
            let preview = match Preview::of(rule, parent, &others, &kinds) {
                Ok(preview) => preview,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            let desired = &preview.desired;
            problems.extend(desired.problems().cloned());
            problems.extend(preview.status().1);
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
