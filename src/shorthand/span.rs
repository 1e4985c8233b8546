//! Where the characters of a YAML text stand in its file.
//!
//! In: a text node and the file it was read from. Out: bytes of the file for bytes of the text. Never here: what the text
//! says.

use crate::yaml::{Kind, Node, Style};
use std::ops::Range;

/// Something, and the bytes of the file that it was written with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

impl<T> At<T> {
    pub(super) fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }
}

/// A text as YAML gives it, and the way back to the file.
pub(super) struct LineText {
    pub(super) text: String,
    /// Of the whole node.
    node: Range<usize>,
    /// Of each character of the text, its byte in the text and in the file; nothing where YAML changed the text too much.
    ways: Option<Vec<(usize, usize)>>,
    /// YAML took what follows the text in its line for a comment.
    pub(super) cut_by_comment: bool,
}

impl LineText {
    /// Nothing for a node that is no text.
    pub(super) fn new(node: &Node, file: &str) -> Option<Self> {
        let Kind::String { text, style } = &node.kind else { return None };
        let after = file.get(node.span.end..).unwrap_or_default();
        let blank = after.len() - after.trim_start_matches([' ', '\t']).len();
        let raw = file.get(node.span.clone()).unwrap_or_default();
        Some(Self {
            text: text.clone(),
            node: node.span.clone(),
            ways: ways(text, raw, node.span.start),
            cut_by_comment: *style == Style::Plain && blank > 0 && after[blank..].starts_with('#'),
        })
    }

    /// Bytes of the file; the whole node where it cannot be told exactly.
    pub(super) fn span(&self, bytes: &Range<usize>) -> Range<usize> {
        let Some(ways) = self.ways.as_ref().filter(|ways| !ways.is_empty()) else {
            return self.node.clone();
        };
        let at = |byte: usize| ways.partition_point(|(text, _)| *text < byte);
        let start = ways.get(at(bytes.start)).map_or(self.node.end, |(_, file)| *file);
        let last = at(bytes.end).checked_sub(1).and_then(|last| ways.get(last));
        let end = last.map_or(start, |(text, file)| {
            file + self.text[*text..].chars().next().map_or(0, char::len_utf8)
        });
        start..end.max(start)
    }
}

/// Follows the text through what was written: runs of white space stand for each other, escaped quotes for quotes.
fn ways(text: &str, raw: &str, start: usize) -> Option<Vec<(usize, usize)>> {
    let quote = raw.chars().next().filter(|first| ['"', '\''].contains(first) && raw.len() > 1);
    let mut at = quote.map_or(0, char::len_utf8);
    let mut ways = Vec::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    while let Some((byte, character)) = characters.next() {
        ways.push((byte, start + at));
        let rest = &raw[at..];
        if character.is_whitespace() && rest.starts_with(char::is_whitespace) {
            at += rest.len() - rest.trim_start().len();
            while let Some((byte, _)) = characters.next_if(|(_, next)| next.is_whitespace()) {
                ways.push((byte, start + at));
            }
            continue;
        }
        let escape = match quote {
            Some('\'') if character == '\'' => "'",
            Some('"') if ['"', '\\', '/'].contains(&character) && rest.starts_with('\\') => "\\",
            _ => "",
        };
        at += escape.len();
        if !raw[at..].starts_with(character) {
            return None;
        }
        at += character.len_utf8();
    }
    Some(ways)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Limits, parse};

    /// What stands in the file for `part` of the text of the key `a`.
    fn found(file: &str, part: &str) -> String {
        let documents = parse(file, &Limits::FILE).unwrap();
        let line = LineText::new(documents[0].root.get("a").unwrap(), file).unwrap();
        let start = line.text.find(part).unwrap();
        file[line.span(&(start..start + part.len()))].to_owned()
    }

    #[test]
    fn parts_are_found_however_the_text_was_written() {
        for (file, part, expected) in [
            ("a: string, pattern ü\n", "pattern ü", "pattern ü"),
            ("a: string,\n   pattern   x\n", "pattern   x", "pattern   x"),
            ("a: string,\n   pattern x\n", ", pattern", ",\n   pattern"),
            ("a: 'it''s, here'\n", "here", "here"),
            ("a: 'it''s, here'\n", "it's", "it''s"),
            ("a: \"b \\\"c\\\" d\"\n", "d", "d"),
            ("a: >-\n  one\n  two\n\n  three\n", "three", "three"),
            ("a: |\n  one\n  two\n", "two", "two"),
            ("b: &x string\na: *x\n", "ing", "*x"),
            ("a: \"\\u0062cd\"\n", "cd", "\"\\u0062cd\""),
        ] {
            assert_eq!(found(file, part), expected, "{file}");
        }
    }

    #[test]
    fn a_comment_that_cut_the_text_is_noticed() {
        for (file, expected) in [("a: b #c\n", true), ("a: b#c\n", false), ("a: 'b' #c\n", false)] {
            let documents = parse(file, &Limits::FILE).unwrap();
            let line = LineText::new(documents[0].root.get("a").unwrap(), file).unwrap();
            assert_eq!(line.cut_by_comment, expected, "{file}");
        }
    }
}
