//! Where the lines of a text of all branches put what is in them.
//!
//! In: YAML with placeholders, in which a key may stand twice, since both branches of an `if` are there. Out: the place of
//! each placeholder and of each plain text. Never here: whether it is good YAML.

use super::super::token;
use super::{ANY, Spot};
use std::ops::Range;

/// What stands at a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The placeholder with this number.
    Slot(usize),
    /// A text without placeholders, in bytes of the whole.
    Text(Range<usize>),
}

/// Finds the place of everything.
pub(super) fn outline(text: &str) -> Vec<(Mark, Spot)> {
    let mut outline = Outline::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        outline.line(line.trim_end_matches(['\n', '\r']), start);
        start += line.len();
    }
    outline.marks
}

/// A block mapping's key, or an element of a block sequence, and the column of it.
struct Level {
    column: usize,
    step: String,
    is_item: bool,
}

/// A bracket that is open.
enum Open {
    /// With the key whose value comes, if it was read.
    Map(Option<String>),
    List,
}

#[derive(Default)]
struct Outline {
    document: usize,
    levels: Vec<Level>,
    /// Brackets that the line before left open.
    open: Vec<Open>,
    /// The column of the key whose block of text goes on.
    block: Option<usize>,
    marks: Vec<(Mark, Spot)>,
}

impl Outline {
    fn line(&mut self, line: &str, start: usize) {
        let content = line.trim_start_matches(' ');
        let mut column = line.len() - content.len();
        if let Some(owner) = self.block {
            if content.trim().is_empty() || column > owner {
                self.text(line, start, false);
                return;
            }
            self.block = None;
        }
        if !self.open.is_empty() {
            self.flow(content, start + column);
            return;
        }
        if line.trim_end() == "---" || line.starts_with("--- ") {
            self.document += 1;
            self.levels.clear();
            return;
        }
        if content.trim().is_empty() || content.starts_with('#') {
            return;
        }
        let mut rest = content;
        while let Some(after) =
            rest.strip_prefix('-').filter(|a| a.is_empty() || a.starts_with(' '))
        {
            self.levels.retain(|level| {
                level.column < column || (level.column == column && !level.is_item)
            });
            self.levels.push(Level { column, step: ANY.to_owned(), is_item: true });
            let inner = after.trim_start_matches(' ');
            column += rest.len() - inner.len();
            rest = inner;
        }
        let at = start + line.len() - rest.len();
        match key_end(rest) {
            Some(colon) => self.entry(rest, colon, column, at),
            None => self.value(rest, at, column.saturating_sub(1)),
        }
    }

    /// `key: value`
    fn entry(&mut self, text: &str, colon: usize, column: usize, start: usize) {
        self.levels.retain(|level| level.column < column);
        let (key, value) = (&text[..colon], &text[colon + 1..]);
        self.levels.push(Level { column, step: name(key), is_item: false });
        self.text(key, start, true);
        let inner = value.trim_start();
        self.value(inner, start + text.len() - inner.len(), column);
    }

    /// What follows a key or a dash; `owner` is the column that a block of text must exceed.
    fn value(&mut self, text: &str, start: usize, owner: usize) {
        let is_block = text.starts_with(['|', '>'])
            && text
                .split(" #")
                .next()
                .unwrap_or_default()
                .trim_end()
                .chars()
                .skip(1)
                .all(|c| c.is_ascii_digit() || matches!(c, '+' | '-'));
        if is_block {
            self.block = Some(owner);
        } else if text.starts_with(['{', '[']) {
            self.flow(text, start);
        } else {
            self.text(without_comment(text), start, false);
        }
    }

    /// Brackets, commas and keys inside of brackets.
    fn flow(&mut self, text: &str, start: usize) {
        let mut begin = 0;
        let mut quote = None;
        let mut before = ' ';
        for (at, c) in text.char_indices() {
            let after = text[at + c.len_utf8()..].chars().next();
            match (quote, c) {
                (Some(open), _) => quote = Some(open).filter(|open| *open != c),
                (None, '"' | '\'') if text[begin..at].trim().is_empty() => quote = Some(c),
                (None, '#') if before == ' ' => {
                    self.word(&text[begin..at], start + begin);
                    return;
                }
                (None, '{' | '[') => {
                    self.open.push(if c == '{' { Open::Map(None) } else { Open::List });
                    begin = at + 1;
                }
                (None, '}' | ']') => {
                    self.word(&text[begin..at], start + begin);
                    self.open.pop();
                    begin = at + 1;
                    if self.open.is_empty() {
                        return;
                    }
                }
                (None, ',') => {
                    self.word(&text[begin..at], start + begin);
                    if let Some(Open::Map(key)) = self.open.last_mut() {
                        *key = None;
                    }
                    begin = at + 1;
                }
                (None, ':')
                    if after.is_none_or(|c| " ,[]{}".contains(c))
                        || matches!(before, '"' | '\'') =>
                {
                    if let Some(Open::Map(key @ None)) = self.open.last_mut() {
                        let written = &text[begin..at];
                        *key = Some(name(written));
                        self.text(written, start + begin, true);
                        begin = at + 1;
                    }
                }
                _ => {}
            }
            before = c;
        }
        self.word(&text[begin..], start + begin);
    }

    /// A scalar inside of brackets; in a map without a value it is a key.
    fn word(&mut self, text: &str, start: usize) {
        if !text.trim().is_empty() {
            self.text(text, start, false);
        }
    }

    /// Notes what is in a scalar: its placeholders, or all of it.
    fn text(&mut self, text: &str, start: usize, is_key: bool) {
        let spot = Spot { document: self.document, path: self.path(), is_key };
        let pieces = token::pieces(text).unwrap_or_default();
        let mut is_plain = true;
        for piece in pieces {
            if let token::Piece::Slot(number) = piece {
                is_plain = false;
                self.marks.push((Mark::Slot(number), spot.clone()));
            }
        }
        let trimmed = text.trim();
        if is_plain && !trimmed.is_empty() && self.block.is_none() {
            let begin = start + text.len() - text.trim_start().len();
            self.marks.push((Mark::Text(begin..begin + trimmed.len()), spot));
        }
    }

    /// What is merged into a map is in the map itself.
    fn path(&self) -> Vec<String> {
        let blocks = self.levels.iter().map(|level| level.step.clone());
        let brackets = self.open.iter().filter_map(|open| match open {
            Open::Map(key) => key.clone(),
            Open::List => Some(ANY.to_owned()),
        });
        blocks.chain(brackets).filter(|step| step != "<<").collect()
    }
}

/// A key as it is called, [`ANY`] if it is computed.
fn name(key: &str) -> String {
    if token::is_in(key) {
        return ANY.to_owned();
    }
    key.trim().trim_matches(['"', '\'']).to_owned()
}

/// Where the colon is that ends a key at the start of a line.
fn key_end(text: &str) -> Option<usize> {
    if text.starts_with(['{', '[', '|', '>', '#']) {
        return None;
    }
    let mut from = 0;
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        from = text[1..].find(quote)? + 2;
    }
    let is_end = |at: &usize| text[at + 1..].chars().next().is_none_or(|c| c == ' ' || c == '\t');
    let found = text[from..].match_indices(':').map(|(at, _)| from + at).find(is_end)?;
    let key = &text[..found];
    (from == 0 || found == from).then_some(found).filter(|_| !key.contains(" #"))
}

fn without_comment(text: &str) -> &str {
    if text.starts_with(['"', '\'']) {
        return text;
    }
    text.split(" #").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// A text in which `@` stands for a placeholder, with the paths of all of them.
    fn paths(text: &str) -> Vec<String> {
        let mut written = String::new();
        let mut number = 0;
        for c in text.chars() {
            if c == '@' {
                token::write_slot(&mut written, number).unwrap();
                number += 1;
            } else {
                written.push(c);
            }
        }
        let mut found: Vec<String> = Vec::new();
        let mut next = 0;
        for (mark, spot) in outline(&written) {
            if let Mark::Slot(slot) = mark {
                assert!(slot >= next, "in order, each once: {text}");
                next = slot + 1;
                let mut path = format!("{}:{}", spot.document, spot.path.join("/"));
                if spot.is_key {
                    write!(path, " key").unwrap();
                }
                found.push(path);
            }
        }
        found
    }

    #[test]
    fn values_land_where_yaml_puts_them() {
        for (text, expected) in [
            ("a: @\n", vec!["0:a"]),
            (
                "a:\n  b: x@y\n  c:\n    - @\n    - d: @\n      e: @\n  f: @\n",
                vec!["0:a/b", "0:a/c/*", "0:a/c/*/d", "0:a/c/*/e", "0:a/f"],
            ),
            (
                "a:\n- @\n- b: @\n  c: {d: @, e: [@, {f: @}], g: 1}\nh: @\n",
                vec!["0:a/*", "0:a/*/b", "0:a/*/c/d", "0:a/*/c/e/*", "0:a/*/c/e/*/f", "0:h"],
            ),
            ("a: {b: 1,\n  c: @,\n  d: {e: @}}\nf: @\n", vec!["0:a/c", "0:a/d/e", "0:f"]),
            ("a: |\n  x: @\n\n  # @\nb: @\n", vec!["0:a", "0:a", "0:b"]),
            ("- |\n x @\n- @\n", vec!["0:*", "0:*"]),
            ("a: >-  # why\n   @\nb: @\n", vec!["0:a", "0:b"]),
            ("@: 1\nb:\n  @: @\n", vec!["0:* key", "0:b/* key", "0:b/*"]),
            ("a: {@: @, b: @}\n", vec!["0:a/* key", "0:a/*", "0:a/b"]),
            ("<<: @\na:\n  <<: @\n", vec!["0:", "0:a"]),
            ("a: 1 # @\n# @\nb: \"@ # @\"\n", vec!["0:b", "0:b"]),
            ("\"a\": @\n'b c': @\nd: \"x: @\"\n", vec!["0:a", "0:b c", "0:d"]),
            ("a: @\n---\nb: @\n--- # c\nd: @\n", vec!["0:a", "1:b", "2:d"]),
            ("a: http://x:@/y\n", vec!["0:a"]),
            ("a:\n  b:\n    c: @\n  b:\n    d: @\ne: @\n", vec!["0:a/b/c", "0:a/b/d", "0:e"]),
            ("a: {\"b\":@, 'c': \"}@\", d: @}\n", vec!["0:a/b", "0:a/c", "0:a/d"]),
            ("a: some text\n  that goes on @\nb: @\n", vec!["0:a", "0:b"]),
        ] {
            assert_eq!(paths(text), expected, "{text}");
        }
    }

    #[test]
    fn plain_texts_have_their_bytes() {
        let text = "kind: Service # x\nmetadata: {name: a-b, labels: {\"c\": 'd'}}\n";
        let found: Vec<(&str, String)> = outline(text)
            .into_iter()
            .filter(|(_, spot)| !spot.is_key)
            .filter_map(|(mark, spot)| match mark {
                Mark::Text(bytes) => Some((&text[bytes], spot.path.join("/"))),
                Mark::Slot(_) => None,
            })
            .collect();
        let expected = [
            ("Service", "kind".to_owned()),
            ("a-b", "metadata/name".to_owned()),
            ("'d'", "metadata/labels/c".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
