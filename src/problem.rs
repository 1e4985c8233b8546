//! A mistake in a file that somebody wrote (a rule, a template, a parent), as a value.
//!
//! In: what is wrong, where, and what to do instead. Out: text for people, with the line and a caret; documents for
//! machines (`json`, `sarif`); what each code means (`codes`). Never here: deciding whether something is a mistake;
//! printing.

pub mod codes;
mod json;
mod order;
mod reference;
mod sarif;

pub use json::json;
pub use order::ordered;
pub use reference::reference;
pub use sarif::sarif;

use crate::source::Place;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It does not work, or would be refused or lost.
    #[default]
    Error,
    /// It works, but is probably not what its author wants.
    Warning,
}

impl Severity {
    /// As machines read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One mistake. Its author sees the code, the message, the place and the hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A stable, searchable name in kebab case: `unknown-field`; one of [`codes`].
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: one sentence fragment, lower case, no full stop.
    pub message: String,
    /// Where, if a file has it.
    pub place: Option<Place>,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Problem {
    /// A mistake without a place yet.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(codes::find(code).is_some(), "src/problem/codes.txt does not have `{code}`");
        let severity = Severity::Error;
        Self { code, severity, message: message.into(), place: None, hint: None }
    }

    /// Something that works, and is probably not what its author wants.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::new(code, message) }
    }

    /// Whether what it is about is refused.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Says where.
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Several lines for a terminal: message, file and line, the source with a caret, the hint.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(self.message.as_str()).id(self.code);
        let mut group = annotate_snippets::Group::with_title(title);
        if let Some(place) = &self.place {
            let text = place.source.text.as_str();
            let start = place.span.start.min(text.len());
            let end = place.span.end.clamp(start, text.len());
            group = group.element(
                Snippet::source(text)
                    .path(place.source.name.as_str())
                    .annotation(AnnotationKind::Primary.span(start..end)),
            );
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        renderer.render(&[group])
    }
}

/// One line: `file:line:column: message (hint)`, for logs and conditions.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn shows_file_line_caret_and_hint() {
        let source = Source::new("rules/a.yaml", "spec:\n  childs: []\n");
        let problem = Problem::new("unknown-field", "unknown field `childs`")
            .at(Place::new(&source, 8..14))
            .hint("did you mean `children`?");
        assert_eq!(
            problem.to_string(),
            "rules/a.yaml:2:3: unknown field `childs` (did you mean `children`?)"
        );
        let text = problem.render(false);
        assert!(text.contains("error[unknown-field]: unknown field `childs`"), "{text}");
        assert!(text.contains("rules/a.yaml:2:3"), "{text}");
        assert!(text.contains("^^^^^^"), "{text}");
        assert!(text.contains("help: did you mean `children`?"), "{text}");
    }
}
