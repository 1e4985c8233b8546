//! A line of a short schema, cut into words, texts in quotes and values.
//!
//! In: the text of the line. Out: one piece after the other, each with its place in the file. Never here: what words mean.
//!
//! A backslash means itself, so that patterns are written as they are; a quote inside of quotes is written twice.

use super::mistakes::Fault;
use super::span::{At, LineText};
use crate::yaml::{Limits, parse};
use serde_json::Value;
use std::ops::Range;

/// A value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// Without quotes: what it is depends on the type.
    Bare(String),
    /// In quotes: text.
    Quoted(String),
    /// `[…]` or `{…}`: YAML.
    Flow(Value),
}

/// Where reading stands.
pub(super) struct Scanner<'t> {
    line: &'t LineText,
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(line: &'t LineText) -> Self {
        Self { line, at: 0 }
    }

    /// What is left, without white space in front.
    pub(super) fn rest(&mut self) -> &'t str {
        let text = &self.line.text[self.at..];
        self.at += text.len() - text.trim_start().len();
        &self.line.text[self.at..]
    }

    fn take(&mut self, length: usize) -> At<&'t str> {
        let bytes = self.at..self.at + length;
        self.at = bytes.end;
        At::new(&self.line.text[bytes.clone()], self.line.span(&bytes))
    }

    /// One character, if it is what comes next.
    pub(super) fn eat(&mut self, symbol: char) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    /// Letters, digits, `-` and `_`.
    pub(super) fn word(&mut self) -> Option<At<&'t str>> {
        let length = self.next_word().len();
        (length > 0).then(|| self.take(length))
    }

    /// The word that [`Scanner::word`] would give; empty if there is none.
    pub(super) fn next_word(&mut self) -> &'t str {
        let rest = self.rest();
        let inner = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        &rest[..rest.find(|c| !inner(c)).unwrap_or(rest.len())]
    }

    /// The place of what comes next, up to a comma or white space; at the end, of what came last.
    pub(super) fn here(&mut self) -> Range<usize> {
        let is_end = |c: char| c == ',' || c.is_whitespace();
        let rest = self.rest();
        let bytes = if rest.is_empty() {
            let text = self.line.text.trim_end();
            let start = text.char_indices().rev().find(|(_, c)| is_end(*c));
            let start = start.map_or(0, |(at, c)| at + c.len_utf8());
            start.min(text.len() - text.chars().next_back().map_or(0, char::len_utf8))..text.len()
        } else {
            let first = rest.chars().next().map_or(0, char::len_utf8);
            self.at..self.at + rest.find(is_end).unwrap_or(rest.len()).max(first)
        };
        self.line.span(&bytes)
    }

    /// A text in quotes, if one comes next.
    pub(super) fn quoted(&mut self) -> Result<Option<At<String>>, Fault> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| ['"', '\''].contains(c)) else {
            return Ok(None);
        };
        let mut text = String::new();
        let mut from = 1;
        while let Some(length) = rest[from..].find(quote) {
            text += &rest[from..from + length];
            from += length + 1;
            if !rest[from..].starts_with(quote) {
                return Ok(Some(At::new(text, self.take(from).span)));
            }
            text.push(quote);
            from += 1;
        }
        let opened = self.take(rest.len()).span;
        let fault = Fault::new("schema-syntax", &opened, "this quote is never closed");
        let hint = self.line.cut_by_comment.then_some(
            "YAML takes ` #` and what follows for a comment: put the whole line in quotes of the other kind",
        );
        Err(fault.maybe_hint(hint))
    }

    /// A value; a bare one ends at white space, a comma, or one of `ends`.
    pub(super) fn value(&mut self, ends: &[char]) -> Result<At<Literal>, Fault> {
        if let Some(At { value, span }) = self.quoted()? {
            return Ok(At::new(Literal::Quoted(value), span));
        }
        let rest = self.rest();
        if rest.starts_with(['[', '{']) {
            return self.flow();
        }
        let At { value, span } = self.bare(ends)?;
        Ok(At::new(Literal::Bare(value), span))
    }

    /// Everything up to white space, a comma, or one of `ends`.
    pub(super) fn bare(&mut self, ends: &[char]) -> Result<At<String>, Fault> {
        let rest = self.rest();
        let is_end = |c: char| c == ',' || c.is_whitespace() || ends.contains(&c);
        let length = rest.find(is_end).unwrap_or(rest.len());
        if length == 0 {
            return Err(Fault::new("schema-syntax", &self.here(), "a value is missing here"));
        }
        let At { value, span } = self.take(length);
        Ok(At::new(value.to_owned(), span))
    }

    /// A list or a map up to its closing bracket.
    fn flow(&mut self) -> Result<At<Literal>, Fault> {
        let rest = self.rest();
        let Some(length) = bracketed(rest) else {
            let opened = self.take(rest.len()).span;
            return Err(Fault::new("schema-syntax", &opened, "this bracket is never closed"));
        };
        let At { value: text, span } = self.take(length);
        let wrong = |error: crate::yaml::Error| {
            Fault::new("schema-syntax", &span, error.message).maybe_hint(error.hint)
        };
        let documents = parse(text, &Limits::FILE).map_err(wrong)?;
        let value = documents.first().map(|document| document.root.to_json());
        Ok(At::new(Literal::Flow(value.unwrap_or_default()), span))
    }
}

/// Bytes up to the bracket that closes the first one, brackets in quotes aside.
fn bracketed(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
