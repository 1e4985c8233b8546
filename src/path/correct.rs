//! Guesses the path that somebody meant who wrote it in another notation: kubectl's, a JSON Pointer, bare names.
//!
//! In: a text that is no path. Out: a path that parses, for a hint. Never here: accepting such a form.

use super::location::write_key;
use super::quotes::closing_bracket;
use super::read;
use std::fmt::Write;

/// Maps whose keys are written with dots and slashes in them.
const QUALIFIED: [&str; 5] = ["annotations", "labels", "matchLabels", "nodeSelector", "data"];

/// The corrected form, if one can be guessed and differs.
pub(super) fn corrected(text: &str) -> Option<String> {
    let body = unwrapped(text)?;
    let guess = match body.strip_prefix('/') {
        Some(pointer) => from_pointer(pointer),
        None => Rewriter::new(body).rewrite()?,
    };
    (guess != text && read(&guess).is_ok()).then_some(guess)
}

/// Without white space, quotes and braces around it.
fn unwrapped(text: &str) -> Option<&str> {
    let mut body = text.trim();
    for (open, close) in [("\"", "\""), ("'", "'"), ("{{", "}}"), ("{", "}")] {
        if let Some(inner) = body.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            body = inner.trim();
        }
    }
    (!body.contains(['{', '}'])).then_some(body)
}

/// RFC 6901: `/a/b~1c/0`.
fn from_pointer(pointer: &str) -> String {
    let mut out = "$".to_owned();
    for token in pointer.split('/') {
        push_name(&mut out, &token.replace("~1", "/").replace("~0", "~"));
    }
    out
}

/// Digits are taken for an index: nobody names a field `0`.
fn push_name(out: &mut String, name: &str) {
    let index = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    // Writing to a string cannot fail.
    let _written = if index { write!(out, "[{name}]") } else { write_key(out, name) };
}

struct Rewriter<'t> {
    rest: &'t str,
    out: String,
    /// The plain names just written, each with its start in `out`.
    names: Vec<(usize, String)>,
}

impl<'t> Rewriter<'t> {
    fn new(body: &'t str) -> Self {
        let rest = body
            .strip_prefix(['$', '@'])
            .or_else(|| body.strip_prefix("parent.").map(|_| &body["parent".len()..]))
            .unwrap_or(body);
        Self { rest, out: "$".to_owned(), names: Vec::new() }
    }

    fn rewrite(mut self) -> Option<String> {
        while let Some(c) = self.rest.chars().next() {
            match c {
                '.' if self.rest.starts_with("..") => self.descend(),
                '.' => self.rest = &self.rest[1..],
                '[' => self.bracket()?,
                '*' => {
                    self.rest = &self.rest[1..];
                    self.names.clear();
                    self.out.push_str(if self.out.ends_with("..") { "*" } else { "[*]" });
                }
                _ => self.name(),
            }
        }
        Some(self.out)
    }

    fn descend(&mut self) {
        self.rest = &self.rest[2..];
        self.out.push_str("..");
        self.names.clear();
    }

    fn name(&mut self) {
        let mut name = self.take_name(&['.', '[']);
        if name.contains('/')
            && let Some(at) =
                self.names.iter().rposition(|(_, name)| QUALIFIED.contains(&name.as_str()))
        {
            // `labels.app.kubernetes.io/name`: all that follows the map is one key.
            let prefix: Vec<_> = self.names.drain(at + 1..).collect();
            if let Some((start, _)) = prefix.first() {
                self.out.truncate(*start);
            }
            name.push_str(&self.take_name(&['[']));
            let parts = prefix.into_iter().map(|(_, name)| name).chain([name]);
            name = parts.collect::<Vec<_>>().join(".");
        }
        let start = self.out.len();
        if self.out.ends_with("..") {
            let mut step = String::new();
            push_name(&mut step, &name);
            self.out.push_str(step.strip_prefix('.').unwrap_or(&step));
        } else {
            push_name(&mut self.out, &name);
        }
        self.names.push((start, name));
    }

    /// Up to one of `ends`; a backslash takes the next character as it is.
    fn take_name(&mut self, ends: &[char]) -> String {
        let mut name = String::new();
        let mut chars = self.rest.chars();
        while let Some(c) = chars.clone().next().filter(|c| !ends.contains(c)) {
            chars.next();
            name.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        self.rest = chars.as_str();
        name
    }

    fn bracket(&mut self) -> Option<()> {
        let end = closing_bracket(self.rest)?;
        let inner = self.rest[1..end].trim();
        self.rest = &self.rest[end + 1..];
        self.names.clear();
        let is_word =
            !inner.is_empty() && inner.chars().all(|c| c.is_alphanumeric() || "_-./\\".contains(c));
        let is_number = inner.parse::<i64>().is_ok();
        if inner == "(@.length-1)" {
            self.out.push_str("[-1]");
        } else if is_word && !is_number {
            push_name(&mut self.out, &inner.replace('\\', ""));
        } else if inner.starts_with(['?', '@', '(']) {
            let condition = doubled_equals(inner.trim_start_matches('?'));
            write!(self.out, "[?{condition}]").ok()?;
        } else {
            write!(self.out, "[{inner}]").ok()?;
        }
        Some(())
    }
}

/// `@.a = 1` as `@.a == 1`.
fn doubled_equals(condition: &str) -> String {
    let mut out = String::with_capacity(condition.len() + 2);
    let mut chars = condition.chars().peekable();
    while let Some(c) = chars.next() {
        let alone = c == '=' && !out.ends_with(['=', '!', '<', '>']) && chars.peek() != Some(&'=');
        out.push_str(if alone { "==" } else { "" });
        out.extend((!alone).then_some(c));
    }
    out
}
