//! `kubewright test`: scenarios of rules, without a cluster.

use super::{Exit, Folders, Terminal, no_rule};
use crate::rule::{self, Loaded};
use crate::scenario::{self, Failure, Ran, Scenario};
use crate::source::Source;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of `test`.
#[derive(Debug, Args)]
pub struct TestArguments {
    #[command(flatten)]
    folders: Folders,
    /// A folder of scenarios, or one file; `tests/scenarios` beside the rules where not given, else `scenarios`.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
    /// Only scenarios whose file or `about` contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Rewrite the values of expectations that are not met with what was found, then run again.
    #[arg(long)]
    update: bool,
    /// Also write the results as `JUnit` XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// Runs scenarios and shows what differs.
pub fn test(arguments: &TestArguments, terminal: &mut Terminal) -> Exit {
    let loaded = match super::run::load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => return failed(&error.to_string(), terminal),
    };
    if !loaded.problems.is_empty() {
        terminal.problems(&loaded.problems);
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&no_rule(&loaded, &arguments.folders));
        return Exit::Problems;
    }
    let folder = arguments.folder();
    let mut results = match run(arguments, &folder, &loaded, terminal) {
        Ok(results) => results,
        Err(exit) => return exit,
    };
    if arguments.update && results.iter().any(|ran| !ran.passed()) {
        if let Err(error) = update(&results) {
            return failed(&error, terminal);
        }
        results = match run(arguments, &folder, &loaded, terminal) {
            Ok(results) => results,
            Err(exit) => return exit,
        };
    }
    terminal.print(&scenario::summary(&results));
    if let Some(path) = &arguments.junit
        && let Err(error) = std::fs::write(path, scenario::junit(&results))
    {
        return failed(&format!("cannot write `{}`: {error}", path.display()), terminal);
    }
    if results.iter().all(Ran::passed) { Exit::Fine } else { Exit::Failed }
}

impl TestArguments {
    fn folder(&self) -> PathBuf {
        self.scenarios.clone().unwrap_or_else(|| {
            let rules = &self.folders.rules;
            let folder = if rules.is_file() { rules.parent() } else { Some(rules.as_path()) };
            let base = folder.and_then(Path::parent).unwrap_or(Path::new(""));
            let tests = base.join("tests/scenarios");
            if tests.is_dir() { tests } else { base.join("scenarios") }
        })
    }

    fn concerns(&self, scenario: &Scenario) -> bool {
        self.filter.as_ref().is_none_or(|text| {
            scenario.about.contains(text) || scenario.place.source.name.contains(text)
        })
    }
}

/// Reads and runs the scenarios that are asked for.
fn run(
    arguments: &TestArguments,
    folder: &Path,
    loaded: &Loaded,
    terminal: &mut Terminal,
) -> Result<Vec<Ran>, Exit> {
    let name = folder.display();
    if !folder.exists() {
        let why = if arguments.scenarios.is_some() {
            format!("there is no `{name}`: name a folder of scenarios, or one file")
        } else {
            let beside = "beside the rules: write a first scenario there, or name the folder with --scenarios";
            format!("there is no `tests/scenarios` and no `scenarios` {beside}")
        };
        return Err(failed(&why, terminal));
    }
    // The same reader as for rules, so that the same files count: scenarios need no templates of their own.
    let sources = match rule::read(folder, Path::new("")) {
        Ok(read) => read.rules,
        Err(error) => return Err(failed(&error.to_string(), terminal)),
    };
    let (scenarios, problems) = scenario::load(&sources, loaded);
    if !problems.is_empty() {
        terminal.problems(&problems);
        return Err(Exit::Problems);
    }
    let asked: Vec<_> = scenarios.iter().filter(|scenario| arguments.concerns(scenario)).collect();
    match (&arguments.filter, asked.is_empty()) {
        (_, false) => Ok(asked.into_iter().map(scenario::run).collect()),
        (Some(text), true) => {
            Err(failed(&format!("no scenario in `{name}` is about `{text}`"), terminal))
        }
        (None, true) => Err(failed(
            &format!(
                "there is no scenario in `{name}`: write one into a file such as `{name}/first.yaml`"
            ),
            terminal,
        )),
    }
}

/// Rewrites the files of scenarios that failed.
fn update(results: &[Ran]) -> Result<(), String> {
    let failures: Vec<&Failure> =
        results.iter().flat_map(|ran| &ran.steps).flat_map(|step| &step.failures).collect();
    let mut sources: Vec<&Arc<Source>> = results.iter().map(|ran| &ran.place.source).collect();
    sources.dedup();
    for source in sources {
        let text = scenario::updated(source, failures.iter().copied());
        if text != source.text {
            std::fs::write(&source.name, text)
                .map_err(|error| format!("cannot write `{}`: {error}", source.name))?;
        }
    }
    Ok(())
}

fn failed(error: &str, terminal: &mut Terminal) -> Exit {
    terminal.error(error);
    Exit::Failed
}
