//! `kubewright completions`: what a shell needs to complete our command line.

use super::{Arguments, Exit, Terminal};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// For which shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn completions(arguments: &CompletionsArguments, terminal: &mut Terminal) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "kubewright", &mut script);
    terminal.print(&String::from_utf8_lossy(&script));
    Exit::Fine
}
