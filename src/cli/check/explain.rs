//! What a code means.
//!
//! In: a code. Out: its line of the table, or the nearest code that there is.

use crate::cli::{Exit, Terminal};
use crate::comparison::closest;
use crate::problem::codes;

/// Prints it.
pub(super) fn explain(name: &str, terminal: &mut Terminal) -> Exit {
    if let Some(code) = codes::find(name) {
        terminal.print(&format!("{name}\n  {}\n  {}\n", code.meaning, code.remedy));
        return Exit::Fine;
    }
    let known = codes::all().iter().map(|code| code.name);
    let hint = closest(name, known).map_or_else(
        || "`kubewright schema --problems` lists all codes".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    terminal.error(&format!("there is no code `{name}`: {hint}"));
    Exit::Failed
}
