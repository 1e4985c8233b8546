//! What the author of a file probably meant.
//!
//! In: a text and the offset where reading it failed. Out: advice, where the line gives a clue. Never here: deciding
//! whether something is wrong.

use super::Error;
use granit_parser::ErrorKind;

/// What the author meant, and why YAML does not read it.
struct Guess {
    message: Option<&'static str>,
    hint: String,
}

impl Guess {
    fn hint(hint: impl Into<String>) -> Self {
        Self { message: None, hint: hint.into() }
    }
}

/// The error with advice, and in better words where the line tells more than the parser does.
pub(super) fn explained(error: Error, kind: Option<&ErrorKind>, text: &str) -> Error {
    let start = error.span.start;
    let guess = for_line(text, start).or_else(|| for_indentation(kind?, text, start));
    let Some(guess) = guess.or_else(|| for_kind(kind?)) else { return error };
    let message = guess.message.map_or(error.message, str::to_owned);
    Error { message, span: error.span, hint: Some(guess.hint) }
}

/// Advice for a failure of the parser, whatever the line says.
fn for_kind(kind: &ErrorKind) -> Option<Guess> {
    let hint = match kind {
        ErrorKind::UnexpectedCharacter { character } => {
            return Some(Guess::hint(format!("quote a text that begins with `{character}`")));
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "quote a text that contains `: `"
        }
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => {
            "indent with spaces, never with tabs"
        }
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation => {
            "what belongs together starts in the same column; count the spaces in front"
        }
        ErrorKind::UnclosedQuotedScalar => {
            "inside of single quotes a quote is written twice, inside of double quotes as `\\\"`"
        }
        _ => return None,
    };
    Some(Guess::hint(hint))
}

/// A line that is deeper than the one above it, which has a value already.
fn for_indentation(kind: &ErrorKind, text: &str, offset: usize) -> Option<Guess> {
    if !matches!(kind, ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement) {
        return None;
    }
    let end = text.get(offset..)?.find('\n').map_or(text.len(), |at| offset + at);
    let mut lines = text[..end].rsplit('\n').filter(|line| !line.trim().is_empty());
    let (line, above) = (lines.next()?, lines.next()?);
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (_, value) = above.split_once(": ")?;
    let deeper = depth(line) > depth(above) && !value.trim().is_empty();
    // The first colon of the line is its key's.
    let is_key = line.find(':') == Some(offset - (end - line.len()));
    (deeper && is_key).then(|| Guess {
        message: Some("this line belongs to nothing: the one above it has a value already"),
        hint: "indent it like the line above, or take that value away".to_owned(),
    })
}

/// A guess from the line of `offset`, and the one before it: parsers often notice at the next line.
fn for_line(text: &str, offset: usize) -> Option<Guess> {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let end = text[offset..].find('\n').map_or(text.len(), |at| offset + at);
    text[..end].rsplit('\n').take(2).find_map(mistake)
}

fn mistake(line: &str) -> Option<Guess> {
    let indentation = &line[..line.len() - line.trim_start().len()];
    if indentation.contains('\t') {
        return Some(Guess::hint("indent with spaces, never with tabs"));
    }
    let start = unquoted_value(line)?;
    let value = &line[start..];
    if value.starts_with("{{") {
        return Some(Guess {
            message: Some("YAML reads this `{{` as the start of a mapping"),
            hint: format!("quote it: {}", quoted(expression(value, is_flow(&line[..start])))),
        });
    }
    Some(Guess {
        message: Some("this path stands in no quotes, and YAML reads a part of it as its own"),
        hint: format!("quote the path: {}", quoted(path(value))),
    })
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('"') { '\'' } else { '"' };
    format!("{quote}{text}{quote}")
}

/// Whether a value after this stands inside of `{…}` or `[…]`.
fn is_flow(before: &str) -> bool {
    let count = |brackets: [char; 2]| before.matches(brackets).count();
    count(['{', '[']) > count(['}', ']'])
}

/// Where a bare `{{` or a bare JSONPath begins as a value.
fn unquoted_value(line: &str) -> Option<usize> {
    let starts = |at: usize| {
        let rest = &line[at..];
        let before = line[..at].trim_end();
        let is_value = before.is_empty() || before.ends_with([':', '-', ',', '[', '{']);
        is_value && (rest.starts_with("{{") || rest.starts_with("$.") || rest.starts_with("$["))
    };
    line.char_indices().map(|(at, _)| at).find(|&at| starts(at))
}

/// Up to the end of the line, or to what ends a value in a flow collection.
fn expression(value: &str, flow: bool) -> &str {
    if !flow {
        return value[..value.find(" #").unwrap_or(value.len())].trim_end();
    }
    let mut end = 0;
    loop {
        let rest = &value[end..];
        let stop = rest.find([',', '}', ']']).unwrap_or(rest.len());
        match rest.find("{{").filter(|at| *at < stop) {
            Some(at) => end += rest[at..].find("}}").map_or(rest.len(), |close| at + close + 2),
            None => return value[..end + stop].trim_end(),
        }
    }
}

/// The path up to the end of the line, or to the comma or bracket that ends it in a flow collection.
fn path(value: &str) -> &str {
    let mut depth = 0_usize;
    for (at, character) in value.char_indices() {
        match (character, depth) {
            ('[' | '(' | '{', _) => depth += 1,
            (']' | ')' | '}' | ',', 0) => return value[..at].trim_end(),
            (']' | ')' | '}', _) => depth -= 1,
            _ => {}
        }
    }
    value.trim_end()
}
