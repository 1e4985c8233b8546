//! `kubewright check`: every mistake in rules and templates, in what the example parents make of them, and what is odd.

mod examine;
mod explain;

use super::kinds::{Definitions, Known};
use super::{Exit, Folders, Terminal};
use crate::lint;
use crate::problem::{self, Problem};
use crate::rule::{self, Folder, Loaded};

use clap::{Args, ValueEnum};
use examine::{Examined, examine};
use std::path::Path;

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
    /// How problems are printed.
    ///
    /// Text goes to standard error; documents for machines go to standard output, and are the same for the same files.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
    /// Explain a code such as `unknown-field` instead: what is wrong and what to do.
    #[arg(long, value_name = "CODE", exclusive = true)]
    explain: Option<String>,
}

/// How problems are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: the lines, with carets and hints.
    #[default]
    Text,
    /// One JSON document: `{"problems": [...]}`.
    Json,
    /// SARIF 2.1.0, which code hosts show beside the lines.
    Sarif,
}

/// What there is to say about a folder.
struct Checked {
    /// In the order in which they are shown.
    problems: Vec<Problem>,
    examined: Examined,
    rules: usize,
}

/// Compiles every rule, renders every example parent, and checks both and their children against the types of their kinds.
pub fn check(arguments: &CheckArguments, terminal: &mut Terminal) -> Exit {
    if let Some(code) = &arguments.explain {
        return explain::explain(code, terminal);
    }
    let checked = match checked(arguments) {
        Ok(checked) => checked,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    let wrong = checked.problems.iter().any(|problem| arguments.strict || problem.is_error());
    match arguments.output {
        Output::Text => checked.tell(wrong, terminal),
        Output::Json => terminal.print(&problem::json(&checked.problems)),
        Output::Sarif => {
            // Without a folder to be relative to, absolute paths stay absolute.
            let base = std::env::current_dir().unwrap_or_default();
            let whole = &arguments.folders.rules;
            terminal.print(&problem::sarif(&checked.problems, &base, whole));
        }
    }
    if wrong { Exit::Problems } else { Exit::Fine }
}

fn checked(arguments: &CheckArguments) -> Result<Checked, rule::Error> {
    let folders = &arguments.folders;
    let folder = rule::read(&folders.rules, &folders.templates())?;
    let loaded = rule::load(&folder);
    let kinds = arguments.definitions.known(&loaded)?;
    Ok(judged(&folder, loaded, kinds, &arguments.folders.rules))
}

/// What `check` says of texts that were read already, in the order in which it is shown. Pure.
pub fn problems(folder: &Folder) -> Vec<Problem> {
    let loaded = rule::load(folder);
    let kinds = Known::of(&loaded);
    judged(folder, loaded, kinds, Path::new("rules")).problems
}

fn judged(folder: &Folder, loaded: Loaded, kinds: Known, whole: &Path) -> Checked {
    let mut examined = examine(&loaded, &kinds);
    let found = std::mem::take(&mut examined.problems);
    let warnings = lint::warnings(&loaded, &folder.templates);
    let mut problems = [loaded.problems, kinds.problems, found, warnings].concat();
    if !problems.iter().any(Problem::is_error) && loaded.rules.is_empty() {
        problems.push(no_rule(whole));
    }
    Checked { problems: problem::ordered(problems), examined, rules: loaded.rules.len() }
}

fn no_rule(folder: &Path) -> Problem {
    let message = format!("there is no rule in `{}`", folder.display());
    let hint = format!(
        "a rule starts with `apiVersion: {}` and `kind: Rule`; `kubewright new greeting` makes one",
        rule::API_VERSION
    );
    Problem::new("no-rule", message).hint(hint)
}

impl Checked {
    /// Problems on standard error; on standard output that all is well, if it is.
    fn tell(self, wrong: bool, terminal: &mut Terminal) {
        terminal.problems(&self.problems);
        if wrong {
            return;
        }
        if !self.examined.unknown.is_empty() {
            terminal.note(&format!(
                "not checked, since nothing here defines them (--crds names more definitions): {}",
                self.examined.unknown.into_iter().collect::<Vec<_>>().join(", ")
            ));
        }
        let (rules, rendered) = (self.rules, self.examined.rendered);
        terminal.print(&format!(
            "{rules} rule{} fine, {rendered} example parent{} rendered\n",
            if rules == 1 { " is" } else { "s are" },
            if rendered == 1 { "" } else { "s" },
        ));
    }
}
