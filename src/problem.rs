//! A mistake in a file that somebody wrote (a rule, a template, a parent), as a value.
//!
//! In: what is wrong, where, and what to do instead. Out: text for people, with the line and a caret.
//! Never here: deciding whether something is a mistake; printing.

use crate::source::Place;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// What it is about is refused.
    #[default]
    Error,
    /// It works, and is probably not what its author wants.
    Warning,
}

/// One mistake. Its author sees the code, the message, the place and the hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether it is a mistake, or only looks like one.
    pub severity: Severity,
    /// A stable, searchable name in kebab case: `unknown-field`.
    pub code: &'static str,
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
        let severity = Severity::Error;
        Self { severity, code, message: message.into(), place: None, hint: None }
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
        let level = if self.is_error() { Level::ERROR } else { Level::WARNING };
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
