//! What the author of a file probably meant.
//!
//! In: a text and the offset where reading it failed. Out: advice, where the line gives a clue. Never here: deciding
//! whether something is wrong.

use granit_parser::ErrorKind;

/// Advice for a failure of the parser at `offset`.
pub(super) fn for_failure(kind: &ErrorKind, text: &str, offset: usize) -> Option<String> {
    for_line(text, offset).or_else(|| match kind {
        ErrorKind::UnexpectedCharacter { character } => {
            Some(format!("quote a text that begins with `{character}`"))
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            Some("quote a text that contains `: `".to_owned())
        }
        ErrorKind::UnclosedQuotedScalar => {
            Some("the quote that opens here is never closed".to_owned())
        }
        _ => None,
    })
}

/// Advice from the line of `offset`, and the one before it: parsers often notice at the next line.
pub(super) fn for_line(text: &str, offset: usize) -> Option<String> {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let end = text[offset..].find('\n').map_or(text.len(), |at| offset + at);
    text[..end].rsplit('\n').take(2).find_map(mistake)
}

fn mistake(line: &str) -> Option<String> {
    let indentation = &line[..line.len() - line.trim_start().len()];
    if indentation.contains('\t') {
        return Some("indent with spaces, never with tabs".to_owned());
    }
    let value = &line[unquoted_value(line)?..];
    if value.starts_with("{{") {
        Some(format!("quote it: \"{}\"", expression(value)))
    } else {
        let path = path(value);
        let quote = if path.contains('"') { '\'' } else { '"' };
        Some(format!("quote the path: {quote}{path}{quote}"))
    }
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

fn expression(value: &str) -> &str {
    let end = value.find("}}").map_or(value.len(), |at| at + 2);
    let rest = value[end..].find([',', '}', ']', ' ']).unwrap_or(value.len() - end);
    value[..end + rest].trim_end()
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
