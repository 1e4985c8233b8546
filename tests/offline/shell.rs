//! What shells and `man` are told of the command line: every command and every option of it.

use crate::program::{files, folder, run};
use clap::{Command, CommandFactory};
use kubewright::cli::Arguments;

/// The commands, without `help`.
fn commands() -> Vec<Command> {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    program.get_subcommands().cloned().collect()
}

#[test]
fn the_version_is_that_of_the_package() {
    let (code, out, error) = run(folder(&[]).path(), &["--version"]);
    let version = format!("kubewright {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((code, out, error.as_str()), (0, version, ""));
}

#[test]
fn completions_know_every_command_and_option() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, error) = run(folder(&[]).path(), &["completions", shell]);
        assert_eq!((code, error.as_str()), (0, ""), "{shell}");
        for command in commands() {
            assert!(out.contains(command.get_name()), "{shell}: {}", command.get_name());
            for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(out.contains(option), "{shell}: {} --{option}", command.get_name());
            }
        }
    }
    let (code, _, error) = run(folder(&[]).path(), &["completions", "csh"]);
    assert!(code == 2 && error.contains("bash, elvish, fish, powershell, zsh"), "{error}");
}

#[test]
fn a_script_of_bash_is_one() {
    let (_, script, _) = run(folder(&[]).path(), &["completions", "bash"]);
    let ask = format!(
        "{script}\nCOMP_WORDS=(kubewright che)\nCOMP_CWORD=1\n_kubewright kubewright che kubewright\necho \"${{COMPREPLY[*]}}\"\n"
    );
    let shell = std::process::Command::new("bash").arg("-c").arg(ask).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "check\n", "{shell:?}");
}

#[test]
fn every_command_has_a_manual_page_with_its_options() {
    let made = folder(&[]);
    let (code, out, error) = run(made.path(), &["man", "--all", "pages"]);
    assert_eq!((code, out.as_str(), error.as_str()), (0, "", ""));
    let mut expected: Vec<String> = commands()
        .iter()
        .map(|command| format!("pages/kubewright-{}.1", command.get_name()))
        .collect();
    expected.push("pages/kubewright.1".into());
    expected.sort();
    assert_eq!(files(made.path()), expected);
    for command in commands() {
        let (code, page, error) = run(made.path(), &["man", command.get_name()]);
        assert_eq!((code, error.as_str()), (0, ""), "{}", command.get_name());
        assert!(page.contains(".TH kubewright-"), "{page}");
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            // Roff writes a hyphen with a backslash.
            let option =
                argument.get_long().map(|long| format!("\\-\\-{}", long.replace('-', "\\-")));
            if let Some(option) = option {
                assert!(page.contains(&option), "{}: {option} in\n{page}", command.get_name());
            }
            if let Some(variable) = argument.get_env() {
                assert!(page.contains(&*variable.to_string_lossy()), "{variable:?}");
            }
        }
    }
}

#[test]
fn a_page_that_is_not_there_and_a_folder_that_cannot_be_are_told() {
    let made = folder(&[("file", "")]);
    let (code, out, error) = run(made.path(), &["man", "chekc"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(error.contains("there is no command `chekc`: did you mean `check`?"), "{error}");
    let (code, _, error) = run(made.path(), &["man", "--all", "file/pages"]);
    assert!(code == 1 && error.contains("cannot write into `file/pages`"), "{error}");
}
