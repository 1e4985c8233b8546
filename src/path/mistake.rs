//! Why a text is not a path, told to whoever wrote it.
//!
//! In: a text that was refused. Out: one sentence, the byte it is about and, where it can be guessed, the corrected
//! form. Never here: the parser's own words.

use super::correct::corrected;
use super::lower::Refusal;
use super::quotes::{nested_call, nested_filter, outside_quotes, unclosed_bracket, unclosed_quote};
use jsonpath_rust::parser::errors::JsonPathError;

/// What is wrong with the text of a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PathError {
    /// One sentence fragment, lower case, no full stop.
    pub message: String,
    /// The byte of the text where the trouble starts; at most its length.
    pub offset: usize,
    /// What to write instead.
    pub hint: Option<String>,
}

impl PathError {
    pub(super) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { message: message.into(), offset, hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the corrected path as the hint, unless there is another.
    pub(super) fn or_corrected(self, text: &str) -> Self {
        match corrected(text) {
            Some(path) if self.hint.is_none() => self.hint(format!("write `{path}`")),
            _ => self,
        }
    }
}

/// Forms of other tools, told apart before the parser sees them.
pub(super) fn foreign_form(text: &str) -> Option<PathError> {
    let start = text.len() - text.trim_start().len();
    let body = text.trim();
    let wrong = |message: &str| Some(PathError::new(start, message));
    if body.is_empty() {
        return wrong("the path is empty").map(|error| error.hint("write `$` for the whole value"));
    }
    if body.starts_with("{{") {
        return wrong("a path is not a template");
    }
    if let Some(at) = text.find("{range").or_else(|| text.find("{end}")) {
        return Some(PathError::new(at, "a path has no `range`").hint(
            "a path with `[*]` leads to every element, `forEach` repeats children for each",
        ));
    }
    if body.starts_with('{') || body.ends_with('}') {
        let braces = body.matches('{').count();
        return if braces > 1 {
            wrong("one path is needed, this looks like several")
                .map(|error| error.hint("compare each on its own, with `allOf`"))
        } else {
            wrong("braces belong to kubectl")
        };
    }
    if body.starts_with('/') {
        return wrong("this is a JSON Pointer, not a JSONPath");
    }
    if !body.starts_with('$') {
        return wrong("a path starts with `$`");
    }
    (body.len() != text.len()).then(|| {
        let at = if start > 0 { 0 } else { body.len() };
        PathError::new(at, "white space around the path").hint(format!("write `{body}`"))
    })
}

/// Functions may have functions as arguments this deep.
const MAX_CALLS: usize = 3;

/// Nesting that is refused before the parser sees it: for each argument it tries several readings, each to the bottom,
/// so that the time grows exponentially with the depth of calls and of filters (a hundred bytes take minutes).
pub(super) fn too_nested(text: &str) -> Option<PathError> {
    if let Some(at) = nested_filter(text) {
        let error = PathError::new(at, "a filter inside a filter is not supported");
        return Some(
            error.hint("select with the outer filter, and judge what it finds with `some: true`"),
        );
    }
    nested_call(text, MAX_CALLS).map(|at| PathError::new(at, "the functions nest too deep"))
}

const FUNCTIONS: &str =
    "for example `[?count(@.a[*]) > 1]`, `[?length(@.a) > 1]`, `[?match(@.a, 'x.*')]`";

/// The parser's complaint in our words.
pub(super) fn syntax(text: &str, error: &JsonPathError) -> PathError {
    let offset = match error {
        JsonPathError::PestError(error) => first_number(&format!("{:?}", error.location)),
        JsonPathError::MaxNestingDepthExceeded(_) => {
            return PathError::new(0, "the path nests too deep");
        }
        JsonPathError::InvalidJsonPath(reason) if reason.to_lowercase().contains("function") => {
            let at = outside_quotes(text).find(|(_, c)| *c == '(').map_or(0, |(at, _)| at);
            return PathError::new(at, "this function cannot be used like this").hint(FUNCTIONS);
        }
        _ => 0,
    };
    if let Some(at) = unclosed_quote(text) {
        return PathError::new(at, "this quote is never closed");
    }
    if let Some(at) = unclosed_bracket(text) {
        return PathError::new(at, "this bracket is never closed");
    }
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let message = match text[offset..].chars().next() {
        None => "the path ends too early".to_owned(),
        Some(_) if offset == 0 => "this is not a JSONPath".to_owned(),
        Some(c) if c.is_control() => "a control character cannot stand here".to_owned(),
        Some(c) => format!("`{c}` cannot stand here"),
    };
    PathError::new(offset, message)
}

/// A path that parses and is not taken.
pub(super) fn refused(text: &str, refusal: Refusal) -> PathError {
    PathError {
        message: refusal.message,
        offset: text.find(refusal.near).unwrap_or(0),
        hint: refusal.hint.map(str::to_owned),
    }
}

/// The position in the debug text of the parser's location: its type has no other way out without naming the parser
/// generator as a dependency. A changed text would cost the position only.
fn first_number(text: &str) -> usize {
    let digits = |c: char| c.is_ascii_digit();
    let from = text.find(digits).unwrap_or(text.len());
    text[from..].split(|c| !digits(c)).next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
