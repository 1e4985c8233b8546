//! Rewriting expectations in place.
//!
//! In: the text of a scenario file, the edits of its failures. Out: the text in which these values are what was found, and
//! everything else is the same byte for byte: comments, order, style.

use super::{Failure, flow};
use crate::source::Source;
use crate::yaml::{Kind, Node, Style};
use serde_json::Value;
use std::ops::Range;

/// A stretch of a file and what should stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Bytes of the file.
    pub span: Range<usize>,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// Gives the entry of a map another value; `~` for one that should be absent.
    pub(super) fn of_entry(
        source: &Source,
        key: &Node,
        value: &Node,
        found: Option<&Value>,
    ) -> Self {
        let line = flow::line(found.unwrap_or(&Value::Null));
        if stands_alone(source, value) {
            return Self { span: value.span.clone(), text: line };
        }
        // A block begins with marks or line breaks that one line has no use for: all that follows the colon goes.
        let colon =
            source.text[key.span.end..].find(':').map_or(key.span.end, |at| key.span.end + at + 1);
        // The bytes of a block scalar go on to the next key: line breaks and indentation stay.
        let block = source.text[colon..value.span.end.max(colon)].trim_end();
        Self { span: colon..colon + block.len(), text: format!(" {line}") }
    }
}

/// Whether the value's own bytes can be replaced by a line: they are in brackets or quotes, or on one line.
fn stands_alone(source: &Source, value: &Node) -> bool {
    let text = source.text.get(value.span.clone()).unwrap_or_default();
    match &value.kind {
        _ if text.is_empty() => false,
        Kind::String { style: Style::Literal | Style::Folded, .. } => false,
        // An alias is one word, whatever it stands for.
        Kind::Sequence(_) | Kind::Mapping(_) => text.starts_with(['[', '{', '*']),
        _ => true,
    }
}

/// The text of a file with every edit of these failures made. Of edits that overlap, the outermost is made.
pub fn updated<'a>(source: &Source, failures: impl IntoIterator<Item = &'a Failure>) -> String {
    let own = |failure: &&Failure| *failure.place.source == *source;
    let mut edits: Vec<&Edit> =
        failures.into_iter().filter(own).filter_map(|failure| failure.edit.as_ref()).collect();
    edits.sort_by_key(|edit| (edit.span.start, usize::MAX - edit.span.end));
    let mut text = String::new();
    let mut at = 0;
    for edit in edits {
        if edit.span.start < at {
            continue;
        }
        text.push_str(&source.text[at..edit.span.start]);
        text.push_str(&edit.text);
        at = edit.span.end;
    }
    text.push_str(&source.text[at..]);
    text
}
