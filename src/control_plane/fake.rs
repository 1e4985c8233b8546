//! Shell scripts in the place of programs, for unit tests.
//!
//! In: a script's text. Out: its path. Never here: anything outside the test's own folder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes an executable script; a shell of its own writes it, since a file that is open for writing in a process that
/// is just being forked cannot be executed.
pub(super) fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
    let path = folder.join(name);
    let status = Command::new("/bin/sh")
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\""])
        .arg(&path)
        .arg(script)
        .status();
    assert!(status.expect("a shell").success());
    path
}

/// In the place of our own program: does what [`super::child::run_if_asked`] does, without the signal.
pub(super) fn shim(folder: &Path) -> PathBuf {
    program(folder, "shim", "shift 2\nexec \"$@\"")
}
