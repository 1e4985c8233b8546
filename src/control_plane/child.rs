//! The shim between us and each server: our own program, executed again, that becomes the server.
//!
//! In: a hidden first argument. Out: another program in this process's place, tied to its parent's life. Never here:
//! a return, once the argument was given.
//!
//! A server must not survive us, not even our SIGKILL. Linux sends a child a signal when the thread that made it ends,
//! if the child asks for it; asking between fork and exec needs unsafe code, asking in a program of its own does not.
//! Elsewhere servers survive a SIGKILL of ours (and nothing else).

use super::error::Error;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// `kubewright __exec PARENT-PID PROGRAM ARGUMENTS…`
const MARK: &str = "__exec";

/// Whether this program asks at all: one that does not would start itself again and again.
static ASKS: AtomicBool = AtomicBool::new(false);

/// Becomes a server if the command line says so, and never returns then. Must come first in the `main` of every program
/// that starts a control plane: the program is executed again for each server.
pub fn run_if_asked() {
    ASKS.store(true, Ordering::Relaxed);
    let mut arguments = env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(MARK)) {
        return;
    }
    let error = become_server(arguments);
    // Standard error is the server's log, and nobody is left to tell if it cannot be written.
    _ = writeln!(io::stderr(), "cannot start: {error}");
    #[expect(clippy::exit, reason = "this process exists only to become another program")]
    std::process::exit(127);
}

/// This program's own file, if it may serve as shim.
pub(super) fn this_program() -> Result<PathBuf, Error> {
    if !ASKS.load(Ordering::Relaxed) {
        return Err(Error::NoShim);
    }
    env::current_exe().map_err(Error::io("find this program's own file"))
}

/// The command that starts `program` through `shim` as a child of this process.
pub(super) fn command(shim: &Path, program: &Path) -> Command {
    let mut command = Command::new(shim);
    command.arg(MARK).arg(std::process::id().to_string()).arg(program);
    command
}

/// Returns only if it fails.
fn become_server(mut arguments: impl Iterator<Item = OsString>) -> io::Error {
    let parent = arguments.next().and_then(|pid| pid.to_str()?.parse::<u32>().ok());
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        return io::Error::other("this command is kubewright's own and not for use by hand");
    };
    if let Err(error) = die_with_parent() {
        return error;
    }
    // The parent may have died before we asked for the signal.
    if parent_id() != parent {
        return io::Error::other("the process that wanted this server is gone");
    }
    Command::new(program).args(arguments).exec()
}

#[cfg(target_os = "linux")]
fn die_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(arguments: &[&str]) -> String {
        become_server(arguments.iter().map(OsString::from)).to_string()
    }

    #[test]
    fn it_is_refused_by_hand_and_for_a_parent_that_is_gone() {
        assert!(refused(&[]).contains("not for use by hand"));
        assert!(refused(&["1"]).contains("not for use by hand"));
        assert!(refused(&["x", "/bin/sh"]).contains("not for use by hand"));
        // No process has this number.
        assert!(refused(&["0", "/bin/sh"]).contains("is gone"));
    }

    #[test]
    fn a_program_that_never_asks_is_no_shim() {
        assert!(matches!(this_program(), Err(Error::NoShim)));
    }
}
