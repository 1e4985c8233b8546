//! Files as they were read, and places in them.
//!
//! In: a file's name and text. Out: [`Place`]s that know their line and column. Never here: reading files.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file (or another named text) as it was read, shared by everything that points into it.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// What a person calls it: a path as given on the command line, or `configmap/NAME:KEY`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// Wraps a text under a name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into() })
    }

    /// Line and column (both from 1, columns in characters) of a byte offset; past the end counts as the end.
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// Byte offset of a line and column (both from 1); columns past the line's end give its end.
    pub fn offset(&self, position: Position) -> usize {
        let mut start = 0;
        for (number, line) in self.text.split_inclusive('\n').enumerate() {
            if number + 1 == position.line {
                let content = line.trim_end_matches(['\n', '\r']);
                return content
                    .char_indices()
                    .nth(position.column.saturating_sub(1))
                    .map_or(start + content.len(), |(at, _)| start + at);
            }
            start += line.len();
        }
        self.text.len()
    }
}

/// A line and a column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// A stretch of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub source: Arc<Source>,
    /// Bytes of [`Source::text`].
    pub span: Range<usize>,
}

impl Place {
    /// Points at `span` of `source`.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        Self { source: Arc::clone(source), span }
    }

    /// Its first line: several lines at once are no useful place to point at.
    pub fn first_line(mut self) -> Self {
        let text = self.source.text.get(self.span.clone()).unwrap_or_default();
        self.span.end = self.span.start + text.lines().next().map_or(0, str::len);
        self
    }

    /// Where it starts.
    pub fn position(&self) -> Position {
        self.source.position(self.span.start)
    }

    /// Where it ends: the first character after it.
    pub fn end(&self) -> Position {
        self.source.position(self.span.end.max(self.span.start))
    }
}

/// `file:line:column`, as editors and terminals understand it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position();
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_survive_odd_offsets() {
        let source = Source::new("a.yaml", "a\nbé: x\n");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(5), Position { line: 2, column: 3 });
        assert_eq!(source.position(4), Position { line: 2, column: 2 }, "inside a character");
        assert_eq!(source.position(99), Position { line: 3, column: 1 });
        assert_eq!(source.offset(Position { line: 2, column: 3 }), 5);
        assert_eq!(source.offset(Position { line: 2, column: 30 }), 8);
        assert_eq!(Place::new(&source, 5..6).to_string(), "a.yaml:2:3");
    }
}
