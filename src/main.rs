//! Parses the command line, runs one command, turns its result into an exit code.

use clap::Parser;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kubewright::control_plane::child::run_if_asked();
    kubewright::cli::run(kubewright::cli::Arguments::parse()).into()
}
