//! `kubewright man`: manual pages, drawn from the definition of the command line.
//!
//! In: the name of a command, or a folder. Out: one page on standard output, or a file for each command.

use super::{Arguments, Exit, Terminal};
use crate::comparison::closest;
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use std::io;
use std::path::{Path, PathBuf};

/// Options of `man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The command whose page is printed; that of the program itself where not given.
    #[arg(value_name = "COMMAND")]
    page: Option<String>,
    /// Write the pages of all commands into this folder instead: `kubewright.1`, `kubewright-run.1` and so on.
    #[arg(long, value_name = "DIR", conflicts_with = "page")]
    all: Option<PathBuf>,
}

/// Prints one page, or writes all.
pub fn man(arguments: &ManArguments, terminal: &mut Terminal) -> Exit {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let done = match &arguments.all {
        Some(folder) => write(program, folder)
            .map_err(|error| format!("cannot write into `{}`: {error}", folder.display())),
        None => page(&program, arguments.page.as_deref()).map(|text| terminal.print(&text)),
    };
    match done {
        Ok(()) => Exit::Fine,
        Err(why) => {
            terminal.error(&why);
            Exit::Failed
        }
    }
}

fn page(program: &Command, name: Option<&str>) -> Result<String, String> {
    let command = match name {
        None => program,
        Some(name) => program.find_subcommand(name).ok_or_else(|| unknown(program, name))?,
    };
    let mut text = Vec::new();
    let rendered = Man::new(command.clone()).render(&mut text);
    rendered.map_err(|error| format!("cannot draw the page: {error}"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn unknown(program: &Command, name: &str) -> String {
    let known: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
    match closest(name, known.iter().copied()) {
        Some(near) => format!("there is no command `{name}`: did you mean `{near}`?"),
        None => format!("there is no command `{name}`; there are {}", known.join(", ")),
    }
}

fn write(program: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(program, folder)
}
