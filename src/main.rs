//! Parses the command line, runs one command, turns its result into an exit code.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kubewright::control_plane::child::run_if_asked();
    let words: Vec<_> = std::env::args_os().collect();
    kubewright::cli::parse(&words)
        .map_or_else(|code| code, |arguments| kubewright::cli::run(arguments).into())
}
