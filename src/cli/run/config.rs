//! The configuration file of `run`: what it says counts where neither a flag nor the environment says anything.
//!
//! In: the words of the command line, the file they name. Out: arguments, or every mistake in the file with its place. A setting
//! has the name of its flag, so that there is one word for it everywhere. Never here: what a setting means.

use crate::cli::Arguments;
use crate::comparison::closest;
use crate::problem::Problem;
use crate::source::{Place, Source};
use crate::yaml::{self, Kind, Limits, Node};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Why there are no arguments.
#[derive(Debug)]
pub enum Fault {
    /// Of the command line; or help was asked for.
    Words(Box<clap::Error>),
    /// The file cannot be read.
    Unreadable(String),
    /// Of the file.
    Problems(Vec<Problem>),
}

impl From<clap::Error> for Fault {
    fn from(error: clap::Error) -> Self {
        Self::Words(Box::new(error))
    }
}

/// The arguments of the command line, with what the file adds.
///
/// # Errors
/// Something in one of them is wrong.
pub fn parse(words: &[OsString]) -> Result<Arguments, Fault> {
    let mut command = Arguments::command();
    let mut matches = command.try_get_matches_from_mut(words)?;
    if let Some(("run", run)) = matches.subcommand()
        && let Some(file) = run.get_one::<PathBuf>("config")
    {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Fault::Unreadable(format!("{}: {error}", file.display())))?;
        let source = Source::new(file.display().to_string(), text);
        let settings = settings(&source, &command).map_err(Fault::Problems)?;
        matches =
            with_defaults(Arguments::command(), &settings, run).try_get_matches_from(words)?;
    }
    Ok(Arguments::from_arg_matches(&matches)?)
}

/// A setting of the file.
#[derive(Debug)]
struct Setting {
    id: String,
    value: String,
}

/// What is given elsewhere is not touched; a default that is not used would still be looked at.
fn with_defaults(mut command: Command, settings: &[Setting], run: &ArgMatches) -> Command {
    let is_given = |id: &str| {
        matches!(run.value_source(id), Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    for Setting { id, value } in settings.iter().filter(|setting| !is_given(&setting.id)) {
        let (id, value) = (id.clone(), value.clone());
        let is_global = command.get_arguments().any(|argument| *argument.get_id() == *id);
        command = if is_global {
            command.mut_arg(id, |argument| argument.default_value(value))
        } else {
            command.mut_subcommand("run", |run| {
                run.mut_arg(id, |argument| argument.default_value(value))
            })
        };
    }
    command
}

/// The settings of a file, each one that its flag would accept.
fn settings(source: &Arc<Source>, command: &Command) -> Result<Vec<Setting>, Vec<Problem>> {
    let at = |span: &std::ops::Range<usize>| Place::new(source, span.clone());
    let documents = yaml::parse(&source.text, &Limits::FILE).map_err(|error| {
        let problem = Problem::new("illegal-yaml", error.message).at(at(&error.span));
        vec![error.hint.into_iter().fold(problem, Problem::hint)]
    })?;
    let mut entries = Vec::new();
    for document in &documents {
        match &document.root.kind {
            Kind::Mapping(map) => entries.extend(map),
            Kind::Null { .. } => {}
            _ => {
                let problem = Problem::new("wrong-type", "the settings are no map");
                let hint = "write one setting a line: `lease-duration: 30s`";
                return Err(vec![problem.at(at(&document.root.span)).hint(hint)]);
            }
        }
    }
    let known = known(command);
    let (mut settings, mut problems) = (Vec::new(), Vec::new());
    for (key, value) in entries {
        let name = key.as_str().unwrap_or_default();
        match setting(name, value, &known) {
            Ok(setting) => settings.push(setting),
            Err(Mistake { problem, of_name: true }) => problems.push(problem.at(at(&key.span))),
            Err(Mistake { problem, .. }) => problems.push(problem.at(at(&value.span))),
        }
    }
    if problems.is_empty() { Ok(settings) } else { Err(problems) }
}

/// Names of settings, each with the id of its argument. The positional argument has its id as a name.
fn known(command: &Command) -> Vec<(String, String)> {
    let run = command.find_subcommand("run").into_iter().flat_map(Command::get_arguments);
    let mut known: Vec<(String, String)> = Vec::new();
    for argument in command.get_arguments().chain(run) {
        let id = argument.get_id().to_string();
        let name = argument.get_long().map_or_else(|| id.clone(), str::to_owned);
        let is_setting = !["help", "version", "config"].contains(&&*name);
        if is_setting && !known.iter().any(|(other, _)| *other == name) {
            known.push((name, id));
        }
    }
    known
}

/// What is wrong with the name or the value of a setting.
struct Mistake {
    problem: Box<Problem>,
    of_name: bool,
}

impl Mistake {
    fn of_name(problem: Problem) -> Self {
        Self { problem: Box::new(problem), of_name: true }
    }

    fn of_value(problem: Problem) -> Self {
        Self { problem: Box::new(problem), of_name: false }
    }
}

fn setting(name: &str, value: &Node, known: &[(String, String)]) -> Result<Setting, Mistake> {
    let Some((_, id)) = known.iter().find(|(known, _)| known == name) else {
        let names: Vec<&str> = known.iter().map(|(name, _)| &**name).collect();
        let hint = match closest(&name.to_lowercase().replace('_', "-"), names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the settings are {}", names.join(", ")),
        };
        let problem = Problem::new("unknown-field", format!("there is no setting `{name}`"));
        return Err(Mistake::of_name(problem.hint(hint)));
    };
    let text = match &value.kind {
        Kind::String { text, .. } => text.clone(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(number) => number.to_string(),
        _ => {
            let problem =
                Problem::new("wrong-type", format!("`{name}` is one text, number or boolean"));
            return Err(Mistake::of_value(problem));
        }
    };
    // The flag's own parser judges; the environment has no say in it.
    let word =
        if name == id && name == "rules" { text.clone() } else { format!("--{name}={text}") };
    let alone = Arguments::command()
        .mut_subcommand("run", |run| run.mut_args(|argument| argument.env(None)))
        .mut_args(|argument| argument.env(None));
    match alone.try_get_matches_from(["kubewright", "run", &word]) {
        Ok(_) => Ok(Setting { id: id.clone(), value: text }),
        Err(error) => {
            let rendered = error.to_string();
            let why = rendered.lines().next().unwrap_or_default();
            let why = why.trim_start_matches("error: ").to_owned();
            Err(Mistake::of_value(Problem::new("not-allowed", why)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let mut command = Arguments::command();
        command.build();
        let source = Source::new("kubewright.yaml", text);
        let found = settings(&source, &command);
        found.map_or_else(|found| found.iter().map(ToString::to_string).collect(), |_| Vec::new())
    }

    #[test]
    fn each_mistake_is_told_with_its_place_and_what_was_meant() {
        let text =
            "leaseDuration: 30s\nworkers: many\nshrads: 3\nnamespace: [a]\nlog_format: json\n";
        let found = problems(text);
        let begins = [
            "kubewright.yaml:1:1: there is no setting `leaseDuration` (did you mean `lease-duration`?)",
            "kubewright.yaml:2:10: invalid value 'many' for '--workers <N>'",
            "kubewright.yaml:3:1: there is no setting `shrads` (",
            "kubewright.yaml:4:12: `namespace` is one text, number or boolean",
            "kubewright.yaml:5:1: there is no setting `log_format` (did you mean `log-format`?)",
        ];
        assert_eq!(found.len(), begins.len(), "{found:#?}");
        for (found, begin) in found.iter().zip(begins) {
            assert!(found.starts_with(begin), "{found}");
        }
        assert_eq!(problems("- a\n").len(), 1);
        assert_eq!(problems("a: b: c\n").len(), 1);
        assert_eq!(problems("# nothing\n"), [""; 0]);
    }

    #[test]
    fn every_flag_can_be_in_a_file() {
        let text = "\
rules: r
templates: t
installation: i
namespace: n
address: none
leader-elect: true
lease-duration: 30s
shards: 3
workers: 3
log: debug
log-format: json
";
        assert_eq!(problems(text), [""; 0]);
        let mut command = Arguments::command();
        command.build();
        let mentioned: Vec<&str> =
            text.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
        for (name, _) in known(&command) {
            assert!(mentioned.contains(&&*name), "{name} is in no file of this test");
        }
    }
}
