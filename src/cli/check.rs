//! `kubewright check`: every mistake in rules and templates, in what the example parents make of them, and what is odd.

mod examine;

use super::kinds::Definitions;
use super::{Exit, Folders, Terminal};
use crate::{lint, rule};
use clap::Args;
use examine::examine;

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    definitions: Definitions,
    /// Let warnings count as mistakes.
    #[arg(long)]
    strict: bool,
}

/// Compiles every rule, renders every example parent, and checks both and their children against the types of their kinds.
pub fn check(arguments: &CheckArguments, terminal: &mut Terminal) -> Exit {
    let folders = &arguments.folders;
    let read = rule::read(&folders.rules, &folders.templates()).and_then(|folder| {
        let loaded = rule::load(&folder);
        let kinds = arguments.definitions.known(&loaded)?;
        Ok((folder, loaded, kinds))
    });
    let (folder, loaded, kinds) = match read {
        Ok(read) => read,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    let examined = examine(&loaded, &kinds);
    let warnings = lint::warnings(&loaded, &folder.templates);
    let problems = [loaded.problems, kinds.problems, examined.problems, warnings].concat();
    terminal.problems(&problems);
    if problems.iter().any(|problem| arguments.strict || problem.is_error()) {
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&format!("there is no rule in `{}`", arguments.folders.rules.display()));
        return Exit::Problems;
    }
    if !examined.unknown.is_empty() {
        terminal.note(&format!(
            "not checked, since nothing here defines them (--crds names more definitions): {}",
            examined.unknown.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    let (rules, rendered) = (loaded.rules.len(), examined.rendered);
    terminal.print(&format!(
        "{rules} rule{} fine, {rendered} example parent{} rendered\n",
        if rules == 1 { " is" } else { "s are" },
        if rendered == 1 { "" } else { "s" },
    ));
    Exit::Fine
}
