//! The commands, for people: a page in Markdown, drawn from the definition of the command line.
//!
//! In: that definition. Out: text, the same whatever the environment holds. Never here: what a command does.

use super::Arguments;
use clap::{Arg, Command, CommandFactory};
use std::fmt::{Result, Write};

const INTRODUCTION: &str = "\
# Commands

This page is written by a program (`KUBEWRIGHT_UPDATE=1 cargo test --test offline`): it is what `--help` says. `kubewright man` has the same as
manual pages, `kubewright completions` as something for your shell.

`RULES` is a folder (`rules` where not given) or one rule file; templates are in `templates` beside it, or where `--templates` says. A
flag counts before the environment variable beside it, and that before the default.

Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 problems in rules, templates or parents, 4 all is well and `plan` found something that
would change.

Colour only goes to a terminal, and not at all where `NO_COLOR` is set.
";

/// The page.
pub fn reference() -> String {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let mut page = INTRODUCTION.to_owned();
    // Writing to a String cannot fail.
    let _ = write(&mut page, &program);
    page
}

fn write(page: &mut String, program: &Command) -> Result {
    writeln!(page, "\n## For every command\n")?;
    table(page, program.get_arguments())?;
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        writeln!(page, "\n## kubewright {}\n", command.get_name())?;
        let about = command.get_long_about().or_else(|| command.get_about());
        writeln!(page, "{}\n", about.map(ToString::to_string).unwrap_or_default().trim())?;
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim);
        writeln!(page, "```text\n{}\n```\n", usage.collect::<Vec<_>>().join("\n"))?;
        table(page, command.get_arguments().filter(|argument| !argument.is_global_set()))?;
    }
    Ok(())
}

fn table<'a>(page: &mut String, arguments: impl Iterator<Item = &'a Arg>) -> Result {
    let own = |argument: &&Arg| !["help", "version"].contains(&argument.get_id().as_str());
    let arguments: Vec<&Arg> = arguments.filter(own).filter(|one| !one.is_hide_set()).collect();
    if arguments.is_empty() {
        return writeln!(page, "It has no options.");
    }
    writeln!(page, "| option | environment | default | meaning |\n|---|---|---|---|")?;
    for argument in arguments {
        let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
        let environment =
            argument.get_env().map(|name| code(&name.to_string_lossy())).unwrap_or_default();
        let defaults = argument.get_default_values().iter();
        let takes_value = argument.get_action().takes_values();
        let defaults: Vec<String> =
            defaults.filter(|_| takes_value).map(|value| code(&value.to_string_lossy())).collect();
        writeln!(
            page,
            "| {} | {environment} | {} | {} |",
            code(&name(argument)),
            defaults.join(" "),
            meaning(argument)
        )?;
    }
    Ok(())
}

/// `-o, --output <FORMAT>` or `[RULES]`.
fn name(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let plain = argument.clone().help(None::<&str>).to_string();
    format!("{short}{plain}")
}

/// The help, in one line, and what may be said.
fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let values = argument.get_possible_values();
    let is_flag = !argument.get_action().takes_values();
    let told = values.iter().filter(|value| !is_flag && !value.is_hide_set()).map(|value| {
        let about = value.get_help().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("`{}`{about}", value.get_name())
    });
    let told: Vec<String> = told.collect();
    let told =
        if told.is_empty() { String::new() } else { format!(" One of {}.", told.join(", ")) };
    let stop = if help.ends_with(['.', ')']) { "" } else { "." };
    format!("{help}{stop}{told}").replace('|', "\\|")
}
