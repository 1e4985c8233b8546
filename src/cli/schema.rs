//! `kubewright schema`: what may be written in a rule, for editors or for people.

use super::{Exit, Terminal};
use crate::{problem, rule, template};
use clap::Args;

/// Options of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// A reference page in Markdown instead of a JSON Schema.
    #[arg(long)]
    markdown: bool,
    /// A page in Markdown with the code of every problem, what it means and what to do.
    #[arg(long, conflicts_with = "markdown")]
    problems: bool,
    /// A page in Markdown on the language of templates: how it works, and everything that can be called.
    #[arg(long, conflicts_with_all = ["markdown", "problems"])]
    templates: bool,
}

/// Prints it.
pub fn schema(arguments: &SchemaArguments, terminal: &mut Terminal) -> Exit {
    if arguments.markdown {
        terminal.print(&rule::reference());
    } else if arguments.problems {
        terminal.print(&problem::reference());
    } else if arguments.templates {
        terminal.print(&template::reference());
    } else {
        terminal.print(&format!("{:#}\n", rule::schema()));
    }
    Exit::Fine
}
