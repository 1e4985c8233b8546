//! Copies a text piece by piece, with insertions, and remembers where each piece came from.
//!
//! In: what to keep, insert and replace, in order. Out: the new text and a map back. Never here: why.

use std::ops::Range;

/// The way back from a written text to its source.
#[derive(Debug)]
pub(crate) struct SourceMap {
    stretches: Vec<Stretch>,
    source_length: usize,
}

/// A part of the new text, and the part of the source that it stands for.
#[derive(Debug)]
struct Stretch {
    written: Range<usize>,
    source: Range<usize>,
    /// Byte for byte, or only as a whole.
    copied: bool,
}

pub(super) struct Writer<'a> {
    source: &'a str,
    /// How much of the source was dealt with.
    done: usize,
    out: String,
    stretches: Vec<Stretch>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        let out = String::with_capacity(source.len() * 2);
        Self { source, done: 0, out, stretches: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Copies up to a position of the source; what was dealt with before stays so.
    pub(super) fn keep(&mut self, end: usize) {
        if end > self.done {
            let start = self.out.len();
            self.out.push_str(&self.source[self.done..end]);
            let (written, source) = (start..self.out.len(), self.done..end);
            self.stretches.push(Stretch { written, source, copied: true });
            self.done = end;
        }
    }

    /// Adds something that stands for a part of the source.
    pub(super) fn insert(&mut self, text: &str, source: Range<usize>) {
        let start = self.out.len();
        self.out.push_str(text);
        self.stretches.push(Stretch { written: start..self.out.len(), source, copied: false });
    }

    /// Leaves out everything up to a position, except for line breaks, so that lines keep their numbers.
    pub(super) fn skip(&mut self, end: usize) {
        if end > self.done {
            let lines = self.source[self.done..end].matches('\n').count();
            self.out.push_str(&"\n".repeat(lines));
            self.done = end;
        }
    }

    pub(super) fn finish(mut self) -> (String, SourceMap) {
        self.keep(self.source.len());
        (self.out, SourceMap { stretches: self.stretches, source_length: self.source.len() })
    }
}

impl SourceMap {
    /// The bytes of the source that a part of the new text stands for.
    pub(crate) fn back(&self, bytes: &Range<usize>) -> Range<usize> {
        let start = self.start(bytes.start);
        start..self.end(bytes.end).max(start)
    }

    fn start(&self, position: usize) -> usize {
        let next = self.stretches.partition_point(|stretch| stretch.written.end <= position);
        self.stretches.get(next).map_or(self.source_length, |stretch| {
            let inside =
                if stretch.copied { position.saturating_sub(stretch.written.start) } else { 0 };
            stretch.source.start + inside
        })
    }

    fn end(&self, position: usize) -> usize {
        let next = self.stretches.partition_point(|stretch| stretch.written.start < position);
        let last = next.checked_sub(1).and_then(|at| self.stretches.get(at));
        last.map_or(0, |stretch| {
            let after =
                if stretch.copied { stretch.written.end.saturating_sub(position) } else { 0 };
            stretch.source.end - after
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_new_text_leads_back() {
        let source = "ab cd ef";
        let mut writer = Writer::new(source);
        writer.keep(3);
        writer.insert("(", 3..5);
        writer.keep(4);
        writer.insert("!!", 3..5);
        writer.skip(5);
        let (text, map) = writer.finish();
        assert_eq!(text, "ab (c!! ef");
        let back = |part: &str| {
            let at = text.find(part).unwrap();
            &source[map.back(&(at..at + part.len()))]
        };
        assert_eq!(back("ab"), "ab");
        assert_eq!(back("b "), "b ");
        assert_eq!(back("("), "cd");
        assert_eq!(back("!!"), "cd");
        assert_eq!(back("(c!!"), "cd");
        assert_eq!(back("ab (c"), "ab c");
        assert_eq!(back("ef"), "ef");
        assert_eq!(map.back(&(99..99)), 8..8);
    }
}
