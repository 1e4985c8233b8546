//! Mistakes in a short schema: found in one go, each with its place.
//!
//! In: what is wrong and where. Out: [`Problem`]s. Never here: deciding whether something is wrong.

use crate::problem::Problem;
use crate::source::{Place, Source};
use std::ops::Range;
use std::sync::Arc;

/// One mistake, not yet in a file.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    code: &'static str,
    message: String,
    span: Range<usize>,
    hint: Option<String>,
}

impl Fault {
    pub(super) fn new(code: &'static str, span: &Range<usize>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span: span.clone(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// With a hint, if there is one.
    pub(super) fn maybe_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }
}

/// The mistakes of one schema.
pub(super) struct Mistakes<'a> {
    source: &'a Arc<Source>,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Mistakes<'a> {
    pub(super) fn new(source: &'a Arc<Source>) -> Self {
        Self { source, problems: Vec::new() }
    }

    /// The text of the file.
    pub(super) fn text(&self) -> &'a str {
        &self.source.text
    }

    pub(super) fn note(&mut self, fault: Fault) {
        let problem =
            Problem::new(fault.code, fault.message).at(Place::new(self.source, fault.span));
        self.problems.push(Problem { hint: fault.hint, ..problem });
    }

    /// The value, or its mistake is noted.
    pub(super) fn sound<T>(&mut self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.note(fault)).ok()
    }
}
