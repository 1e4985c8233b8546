//! One template as its author wrote it, beside what the engine got.
//!
//! In: bytes of the engine's text. Out: a place in the author's file. Never here: rendering.

use super::desugar::SourceMap;
use crate::source::{Place, Position, Source};
use crate::yaml::ContentOrigin;
use std::ops::Range;
use std::sync::Arc;

/// Where the text of a template begins in a file.
#[derive(Clone, Debug)]
pub struct Origin {
    source: Arc<Source>,
    start: Position,
    indent: usize,
}

impl Origin {
    /// The template is the whole file.
    pub fn file(source: &Arc<Source>) -> Self {
        Self { source: Arc::clone(source), start: Position { line: 1, column: 1 }, indent: 0 }
    }

    /// The template is a text inside of a YAML file, as [`crate::yaml::Node::content_origin`] found it.
    ///
    /// Places are exact on every line of a `|` block, and on the first line of other texts, whose later lines YAML
    /// joins.
    pub fn inside(source: &Arc<Source>, content: ContentOrigin) -> Self {
        Self { source: Arc::clone(source), start: content.start, indent: content.indent }
    }

    /// The place of some bytes of the template's `text`.
    pub(crate) fn place(&self, text: &str, bytes: &Range<usize>) -> Place {
        let start = self.source.offset(self.position(text, bytes.start));
        let end = self.source.offset(self.position(text, bytes.end));
        Place::new(&self.source, start..end.max(start))
    }

    fn position(&self, text: &str, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let (line, column) = (before.matches('\n').count(), before[line_start..].chars().count());
        let first = if line == 0 { self.start.column } else { self.indent + 1 };
        Position { line: self.start.line + line, column: first + column }
    }
}

/// Something that a template reads: a name of its context and the steps that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// `["children", "deployment", "status"]`; ends where the next step is computed.
    pub path: Vec<String>,
    /// Where it is read.
    pub place: Place,
}

/// A compiled template.
#[derive(Debug)]
pub(super) struct Sheet {
    /// As its author wrote it.
    pub(super) text: String,
    pub(super) origin: Origin,
    pub(super) map: SourceMap,
    /// Bytes of `text` of each access chain, by the number that the engine's text carries.
    pub(super) sites: Vec<Range<usize>>,
    /// Variables that are set to an access chain, and its number.
    pub(super) aliases: Vec<(String, usize)>,
    /// Bytes of the engine's text of each expression that a lenient body can do without.
    pub(super) guarded: Vec<Range<usize>>,
    pub(super) reads: Vec<Read>,
    /// Templates that it includes, imports or extends.
    pub(super) uses: Vec<String>,
}

impl Sheet {
    /// The place of some bytes of the author's text.
    pub(super) fn place(&self, bytes: &Range<usize>) -> Place {
        self.origin.place(&self.text, bytes)
    }

    /// The author's bytes for some of the engine's, without white space around them.
    pub(super) fn written(&self, engine_bytes: &Range<usize>) -> Range<usize> {
        let bytes = self.map.back(engine_bytes);
        let Some(text) = self.text.get(bytes.clone()) else {
            return bytes;
        };
        let start = bytes.start + (text.len() - text.trim_start().len());
        start..(start + text.trim().len())
    }
}
