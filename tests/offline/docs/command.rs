//! Command lines of a page: read as a shell would, judged by the program's own definition, run where that needs no cluster.

use crate::program::run;
use clap::{Command, CommandFactory, error::ErrorKind};
use kubewright::cli::Arguments;
use std::fs;
use std::path::Path;

/// Commands that need a cluster, or bring one.
const NEED_A_CLUSTER: &[&str] = &["dev", "explain", "plan", "run"];

/// What a page may call besides: nothing of it is run.
const OTHERS: &[&str] = &[
    "cargo", "cd", "docker", "export", "git", "helm", "kill", "kind", "kubectl", "man", "mkdir",
    "mkdocs", "nice", "sed", "tar",
];

/// One command: its words, and where its output goes.
pub(super) struct Line {
    pub(super) words: Vec<String>,
    /// `> FILE`.
    into: Option<String>,
}

impl Line {
    /// As a shell reads it, up to a comment, a pipe or what comes after this command.
    pub(super) fn read(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        for letter in text.chars() {
            match (letter, quote) {
                ('\'' | '"', None) => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (letter, Some(open)) if letter == open => quote = None,
                (' ', None) => words.extend(word.take()),
                ('#', None) if word.is_none() => break,
                (letter, _) => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        let end =
            words.iter().position(|word| ["|", "&&", "||", ";", "&"].contains(&word.as_str()));
        words.truncate(end.unwrap_or(words.len()));
        let mut into = None;
        if let Some(at) = words.iter().position(|word| word == ">") {
            into = words.get(at + 1).cloned();
            words.truncate(at);
        }
        Self { words, into }
    }

    fn arguments(&self) -> Vec<&str> {
        self.words.iter().skip(1).map(String::as_str).collect()
    }

    /// What is wrong with it, without running it.
    pub(super) fn mistake(&self) -> Option<String> {
        let first = self.words.first()?;
        if first != "kubewright" {
            let known = OTHERS.contains(&first.as_str())
                || first.contains('=')
                || Path::new(first).is_file();
            return (!known).then(|| {
                format!(
                    "what is `{first}`? tests/offline/docs/command.rs names what a page may call"
                )
            });
        }
        match Arguments::command().try_get_matches_from(&self.words) {
            Err(error)
                if error.use_stderr()
                    && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
            {
                Some(error.to_string())
            }
            _ => None,
        }
    }

    fn is_ours(&self) -> bool {
        self.words.first().is_some_and(|first| first == "kubewright")
    }

    /// Whether it is ours and needs no cluster.
    pub(super) fn can_run(&self) -> bool {
        self.is_ours() && !self.needs_a_cluster()
    }

    /// Whether it is ours and needs one.
    pub(super) fn needs_a_cluster(&self) -> bool {
        let arguments = self.arguments();
        let is_help = arguments.iter().any(|word| ["--help", "-h"].contains(word));
        let command = arguments.first();
        self.is_ours() && !is_help && command.is_some_and(|one| NEED_A_CLUSTER.contains(one))
    }

    /// Runs it: the exit code, and what it prints.
    pub(super) fn run(&self, folder: &Path) -> (i32, String) {
        let (code, out, error) = run(folder, &self.arguments());
        match &self.into {
            None => (code, out + &error),
            Some(file) => {
                fs::write(folder.join(file), out).unwrap();
                (code, error)
            }
        }
    }
}

/// What is wrong with a command in a sentence, where `[RULES]` and the like stand for anything.
pub(super) fn mentioned(span: &str) -> Option<String> {
    let mut words = span.split_whitespace();
    if words.next() != Some("kubewright") {
        return None;
    }
    let program = Arguments::command();
    let mut within = &program;
    for word in words {
        let word = word.trim_matches(['[', ']', '.', ',']);
        if word == "|" || word == ">" {
            return None;
        }
        if let Some(option) = word.strip_prefix("--") {
            let option = option.split('=').next().unwrap_or_default();
            if !has(within, option) && !has(&program, option) {
                return Some(format!("there is no option `--{option}`"));
            }
        } else if std::ptr::eq(within, &raw const program)
            && word.starts_with(|c: char| c.is_ascii_lowercase())
        {
            match program.find_subcommand(word) {
                Some(command) => within = command,
                None => return Some(format!("there is no command `{word}`")),
            }
        }
    }
    None
}

fn has(command: &Command, option: &str) -> bool {
    let is_it = |argument: &clap::Arg| argument.get_long() == Some(option);
    ["help", "version"].contains(&option) || command.get_arguments().any(is_it)
}
