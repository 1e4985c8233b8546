//! `kubewright check`: every mistake in rules and templates, and in what the example parents make of them.

use super::render::desired_of;
use super::{Exit, Folders, Terminal};
use crate::rule::Loaded;
use clap::Args;

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    folders: Folders,
}

/// Compiles every rule and renders every example parent.
pub fn check(arguments: &CheckArguments, terminal: &mut Terminal) -> Exit {
    let mut loaded = match super::run::load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    let rendered = render_examples(&mut loaded);
    terminal.problems(&loaded.problems);
    if !loaded.problems.is_empty() {
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&format!("there is no rule in `{}`", arguments.folders.rules.display()));
        return Exit::Problems;
    }
    let rules = loaded.rules.len();
    terminal.print(&format!(
        "{rules} rule{} fine, {rendered} example parent{} rendered\n",
        if rules == 1 { " is" } else { "s are" },
        if rendered == 1 { "" } else { "s" },
    ));
    Exit::Fine
}

fn render_examples(loaded: &mut Loaded) -> usize {
    let mut rendered = 0;
    for example in &loaded.examples {
        for rule in loaded.rules.iter().filter(|rule| rule.is_for(&example.object)) {
            rendered += 1;
            let desired = desired_of(rule, &example.object, &loaded.crds);
            loaded.problems.extend(desired.problems().cloned());
        }
    }
    rendered
}
