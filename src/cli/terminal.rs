//! What a command prints, and how: the only place that writes to standard output.

use crate::problem::Problem;
use crate::report::Style;
use std::io::{ErrorKind, IsTerminal, Write};

/// Standard output and error of a command.
pub struct Terminal {
    /// How trees are drawn on standard output.
    pub style: Style,
    colour_errors: bool,
    closed: bool,
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl Terminal {
    /// Colour and Unicode only on a terminal, and colour only without `NO_COLOR`.
    pub fn new() -> Self {
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let out = std::io::stdout().is_terminal();
        let error = std::io::stderr().is_terminal();
        Self {
            style: Style { colour: colour && out, unicode: out },
            colour_errors: colour && error,
            closed: false,
        }
    }

    /// Whether a person is looking at standard output.
    pub fn is_live(&self) -> bool {
        self.style.unicode
    }

    /// Prints a result. A reader that went away (`| head`) is no reason to fail.
    pub fn print(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.closed |= printed.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
    }

    /// Whether the reader of standard output went away.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Tells about progress, on standard error.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Tells about a failure, on standard error.
    pub fn error(&mut self, text: &str) {
        let (on, off) = if self.colour_errors { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
        self.note(&format!("{on}error{off}: {text}"));
    }

    /// Tells about something that works and that somebody should think about, on standard error.
    pub fn warning(&mut self, text: &str) {
        let (on, off) = if self.colour_errors { ("\x1b[1;33m", "\x1b[0m") } else { ("", "") };
        self.note(&format!("{on}warning{off}: {text}"));
    }

    /// Shows mistakes and warnings with their lines, on standard error, and counts them.
    pub fn problems(&mut self, problems: &[Problem]) {
        for problem in problems {
            let text = problem.render(self.colour_errors);
            self.note(&format!("{text}\n"));
        }
        let errors = problems.iter().filter(|problem| problem.is_error()).count();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        match (errors, problems.len() - errors) {
            (0, 0) => {}
            (0, warnings) => self.note(&format!("{warnings} warning{}", plural(warnings))),
            (_, 0) => self.error(&format!("{errors} problem{}", plural(errors))),
            (_, warnings) => self.error(&format!(
                "{errors} problem{} and {warnings} warning{}",
                plural(errors),
                plural(warnings)
            )),
        }
    }
}
