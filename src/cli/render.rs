//! `kubewright render`: the children a rule wants for a parent, as YAML.

use super::kinds::{Definitions, Known};
use super::preview::Preview;
use super::{Exit, Folders, Terminal, no_rule};
use crate::render::patch;
use crate::rule::{self, Loaded};
use crate::yaml;
use clap::Args;
use serde_json::Value;
use std::collections::BTreeSet;
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
    let (loaded, kinds, parents) = match read(arguments) {
        Ok(read) => read,
        Err(error) => {
            terminal.error(&error);
            return Exit::Failed;
        }
    };
    let mut problems = [&*loaded.problems, &*kinds.problems].concat();
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
            match Preview::of(rule, parent, &others, &kinds) {
                Ok(preview) => {
                    problems.extend(preview.desired.problems().cloned());
                    problems.extend(preview.status().1);
                    // Writing to a String cannot fail.
                    let _ = show(&mut text, &rule.name, &preview);
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    terminal.print(&text);
    terminal.problems(&problems);
    if !problems.is_empty() {
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&no_rule(&loaded, &arguments.folders));
        return Exit::Problems;
    }
    if text.is_empty() {
        terminal.error(&nothing(&loaded, &parents));
        return Exit::Failed;
    }
    Exit::Fine
}

/// Why nothing was rendered.
fn nothing(loaded: &Loaded, parents: &[Value]) -> String {
    let kinds = loaded.rules.iter().flat_map(|rule| &rule.parent.kinds);
    let kinds: BTreeSet<String> = kinds.map(ToString::to_string).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    if parents.is_empty() {
        format!(
            "there is no parent to render for: put an example of {kinds} beside the rules, or name a file with --file"
        )
    } else {
        format!(
            "no rule is for any of these parents, or none wants a child of them; there are rules for {kinds}"
        )
    }
}

/// The rules, what is known of kinds, the parents to render for.
fn read(arguments: &RenderArguments) -> Result<(Loaded, Known, Vec<Value>), String> {
    let told = |error: rule::Error| error.to_string();
    let loaded = super::run::load(&arguments.folders).map_err(told)?;
    let kinds = arguments.definitions.known(&loaded).map_err(told)?;
    let parents = match &arguments.file {
        None => loaded.examples.iter().map(|example| example.object.clone()).collect(),
        Some(path) => parents_of(path)?,
    };
    Ok((loaded, kinds, parents))
}

fn show(text: &mut String, rule: &str, preview: &Preview<'_>) -> std::fmt::Result {
    for child in &preview.desired.children {
        let object = yaml::print(&child.object);
        let name = child.name() + &preview.after(&child.child);
        writeln!(text, "---\n# rule {rule}, child {name}\n{}", object.trim_end())?;
    }
    for patch in &preview.desired.patches {
        let (child, target) = (patch.wanted.name(), &patch.wanted.id);
        let body = match &patch.operations {
            None => yaml::print(&patch.wanted.object),
            Some(operations) => yaml::print(&patch::as_json(operations)),
        };
        writeln!(
            text,
            "---\n# rule {rule}, child {child}: an edit of {target}\n{}",
            body.trim_end()
        )?;
    }
    for (child, why) in preview.desired.waiting() {
        writeln!(text, "---\n# rule {rule}, child {child}: {why}")?;
    }
    Ok(())
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
