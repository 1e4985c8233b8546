//! `kubewright graph`: rules, their parents and children, and what depends on what, as a drawing.

use super::{Exit, Folders, Terminal, no_rule};
use crate::graph::{self, Format};
use clap::Args;

/// Options of `graph`.
#[derive(Debug, Args)]
pub struct GraphArguments {
    #[command(flatten)]
    folders: Folders,
    /// The language of the drawing.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints the graph of every rule that compiles, and then the problems of the others.
pub fn graph(arguments: &GraphArguments, terminal: &mut Terminal) -> Exit {
    let loaded = match super::run::load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    if !loaded.rules.is_empty() {
        terminal.print(&graph::graph(&loaded.rules).print(arguments.format));
    }
    terminal.problems(&loaded.problems);
    if !loaded.problems.is_empty() {
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&no_rule(&loaded, &arguments.folders));
        return Exit::Problems;
    }
    Exit::Fine
}
