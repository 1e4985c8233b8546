//! `kubewright crd`: the CRDs that the short schemas of rules stand for, as YAML.

use super::{Exit, Folders, Terminal, no_rule};
use clap::Args;
use std::fmt::Write;

/// Options of `crd`.
#[derive(Debug, Args)]
pub struct CrdArguments {
    #[command(flatten)]
    folders: Folders,
}

/// Prints a document for each rule that describes its parent, in the order of the rules' names.
pub fn crd(arguments: &CrdArguments, terminal: &mut Terminal) -> Exit {
    let loaded = match super::run::load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    let mut text = String::new();
    for rule in &loaded.rules {
        let Some(definition) = &rule.definition else { continue };
        let separator = if text.is_empty() { "" } else { "---\n" };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{separator}# From the short schema of rule {}; `kubewright crd` makes it anew.\n{}",
            rule.name,
            definition.to_yaml(),
        );
    }
    terminal.print(&text);
    terminal.problems(&loaded.problems);
    if !loaded.problems.is_empty() {
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&no_rule(&loaded, &arguments.folders));
        return Exit::Problems;
    }
    if text.is_empty() {
        let folder = arguments.folders.rules.display();
        terminal.error(&format!("no rule in `{folder}` describes its parent with `spec.schema`: their kinds have CRDs already"));
        return Exit::Failed;
    }
    Exit::Fine
}
