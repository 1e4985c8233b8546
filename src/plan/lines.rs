//! Changes as the lines of a YAML diff.
//!
//! In: [`Changes`]. Out: lines with their signs, folded to what changes, what is around it, and what it is in. Pure.

use crate::marks::PREFIX;
use crate::owned::changes::Operation;
use crate::owned::{Changes, Delta};
use crate::yaml;
use serde_json::{Value, json};

/// Whether a line stays, goes or comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It stays.
    Same,
    /// It goes.
    Minus,
    /// It comes.
    Plus,
    /// Lines that are not shown.
    Gap,
}

/// One line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whether it stays.
    pub sign: Sign,
    /// Without the sign.
    pub text: String,
    /// The operation that it is a part of, on its first line.
    pub operation: Option<usize>,
}

/// Lines around a change that are shown.
const AROUND: usize = 2;

/// Lines of two texts that are compared; longer ones are told one after the other.
const LONGEST_TEXT: usize = 1_000;

/// The diff.
pub fn lines(changes: &Changes) -> Vec<Line> {
    let mut writer = Writer { operations: &changes.operations, lines: Vec::new() };
    match &changes.delta {
        Delta::Map(entries) => writer.map(entries, 0),
        delta => writer.bare(delta, 0),
    }
    folded(writer.lines)
}

struct Writer<'c> {
    operations: &'c [Operation],
    lines: Vec<Line>,
}

impl Writer<'_> {
    fn push(&mut self, sign: Sign, text: String, operation: Option<usize>) {
        self.lines.push(Line { sign, text, operation });
    }

    fn map(&mut self, entries: &[(String, Delta)], indent: usize) {
        for (name, delta) in entries {
            self.entry(name, delta, indent);
        }
    }

    fn entry(&mut self, name: &str, delta: &Delta, indent: usize) {
        match delta {
            Delta::Map(entries) if !entries.is_empty() => {
                self.head(name, indent);
                self.map(entries, indent + 2);
            }
            Delta::List(list) if !list.is_empty() => {
                self.head(name, indent);
                for item in list {
                    self.item(item, indent + 2);
                }
            }
            Delta::Map(_) => self.value(Sign::Same, None, Some(name), (&json!({}), indent)),
            Delta::List(_) => self.value(Sign::Same, None, Some(name), (&json!([]), indent)),
            Delta::Same(value) => self.value(Sign::Same, None, Some(name), (value, indent)),
            Delta::Change(at) => self.change(*at, Some(name), indent),
        }
    }

    fn head(&mut self, name: &str, indent: usize) {
        let key = yaml::print(&json!({ name: {} }));
        let key = key.trim_end().trim_end_matches("{}").trim_end();
        self.push(Sign::Same, format!("{:indent$}{key}", ""), None);
    }

    /// An element of a list: as if there was no list, with a dash in front.
    fn item(&mut self, delta: &Delta, indent: usize) {
        let begun = self.lines.len();
        self.bare(delta, indent + 2);
        let mark = |line: &mut Line| {
            let rest = line.text.get(indent + 2..).unwrap_or_default();
            line.text = format!("{:indent$}- {rest}", "");
        };
        let mut own = self.lines[begun..].iter_mut();
        let Some(first) = own.next() else { return };
        mark(first);
        // What it begins with is replaced: the new one has its dash too.
        if first.sign == Sign::Minus
            && let Some(line) = own.find(|line| line.sign != Sign::Minus)
            && line.sign == Sign::Plus
        {
            mark(line);
        }
    }

    fn bare(&mut self, delta: &Delta, indent: usize) {
        match delta {
            Delta::Map(entries) if !entries.is_empty() => self.map(entries, indent),
            Delta::List(list) if !list.is_empty() => {
                for item in list {
                    self.item(item, indent);
                }
            }
            Delta::Map(_) => self.value(Sign::Same, None, None, (&json!({}), indent)),
            Delta::List(_) => self.value(Sign::Same, None, None, (&json!([]), indent)),
            Delta::Same(value) => self.value(Sign::Same, None, None, (value, indent)),
            Delta::Change(at) => self.change(*at, None, indent),
        }
    }

    fn change(&mut self, at: usize, name: Option<&str>, indent: usize) {
        let Some(operation) = self.operations.get(at) else { return };
        if let (Some(Value::String(was)), Some(Value::String(is)), Some(name)) =
            (&operation.was, &operation.is, name)
            && (was.contains('\n') || is.contains('\n'))
        {
            self.push(Sign::Same, format!("{:indent$}{name}: |", ""), Some(at));
            self.texts(was, is, indent + 2);
            return;
        }
        if let (true, Some(is)) = (operation.pointer.is_empty(), &operation.is) {
            return self.value(Sign::Plus, Some(at), name, (&without_marks(is), indent));
        }
        for (sign, value) in [(Sign::Minus, &operation.was), (Sign::Plus, &operation.is)] {
            if let Some(value) = value {
                self.value(sign, Some(at), name, (value, indent));
            }
        }
    }

    /// Two texts of several lines, line by line.
    fn texts(&mut self, was: &str, is: &str, indent: usize) {
        let (was, is): (Vec<&str>, Vec<&str>) = (was.lines().collect(), is.lines().collect());
        for (sign, text) in compared(&was, &is) {
            self.push(sign, format!("{:indent$}{text}", ""), None);
        }
    }

    fn value(
        &mut self,
        sign: Sign,
        operation: Option<usize>,
        name: Option<&str>,
        (value, indent): (&Value, usize),
    ) {
        let text = match name {
            Some(name) => yaml::print(&json!({ name: value })),
            None => yaml::print(value),
        };
        for (nth, line) in text.trim_end().lines().enumerate() {
            self.push(sign, format!("{:indent$}{line}", ""), operation.filter(|_| nth == 0));
        }
    }
}

/// An object as its author wrote it: what we add to every child would be most of what is read.
fn without_marks(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("ownerReferences");
        for kind in ["labels", "annotations"] {
            let Some(entries) = metadata.get_mut(kind).and_then(Value::as_object_mut) else {
                continue;
            };
            entries.retain(|name, _| !name.starts_with(PREFIX));
            if entries.is_empty() {
                metadata.remove(kind);
            }
        }
    }
    object
}

/// A longest common subsequence, for texts of a bounded length.
fn compared<'t>(was: &[&'t str], is: &[&'t str]) -> Vec<(Sign, &'t str)> {
    let all = |sign: Sign, lines: &[&'t str]| -> Vec<(Sign, &'t str)> {
        lines.iter().map(|line| (sign, *line)).collect()
    };
    let before = was.iter().zip(is).take_while(|(was, is)| was == is).count();
    let rest = was[before..].iter().rev().zip(is[before..].iter().rev());
    let after = rest.take_while(|(was, is)| was == is).count();
    let (old, new) = (&was[before..was.len() - after], &is[before..is.len() - after]);
    let middle = if old.len().max(new.len()) > LONGEST_TEXT {
        [all(Sign::Minus, old), all(Sign::Plus, new)].concat()
    } else {
        common(old, new)
    };
    let ends = (all(Sign::Same, &was[..before]), all(Sign::Same, &was[was.len() - after..]));
    [ends.0, middle, ends.1].concat()
}

fn common<'t>(was: &[&'t str], is: &[&'t str]) -> Vec<(Sign, &'t str)> {
    let width = is.len() + 1;
    let mut longest = vec![0_u16; (was.len() + 1) * width];
    for old in (0..was.len()).rev() {
        for new in (0..is.len()).rev() {
            longest[old * width + new] = if was[old] == is[new] {
                longest[(old + 1) * width + new + 1] + 1
            } else {
                longest[(old + 1) * width + new].max(longest[old * width + new + 1])
            };
        }
    }
    let (mut old, mut new, mut lines) = (0, 0, Vec::new());
    while old < was.len() || new < is.len() {
        let goes = old < was.len()
            && (new == is.len()
                || longest[(old + 1) * width + new] >= longest[old * width + new + 1]);
        if old < was.len() && new < is.len() && was[old] == is[new] {
            lines.push((Sign::Same, was[old]));
            (old, new) = (old + 1, new + 1);
        } else if goes {
            lines.push((Sign::Minus, was[old]));
            old += 1;
        } else {
            lines.push((Sign::Plus, is[new]));
            new += 1;
        }
    }
    lines
}

/// What changes, what is around it, and the keys that it is below.
fn folded(lines: Vec<Line>) -> Vec<Line> {
    let indent = |line: &Line| line.text.len() - line.text.trim_start_matches([' ', '-']).len();
    let mut shown = vec![false; lines.len()];
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.sign != Sign::Same) {
        let around = at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1);
        shown[around].fill(true);
        let mut depth = indent(&lines[at]);
        for above in (0..at).rev() {
            if depth == 0 {
                break;
            }
            if lines[above].sign == Sign::Same && indent(&lines[above]) < depth {
                depth = indent(&lines[above]);
                shown[above] = true;
            }
        }
    }
    let mut folded: Vec<Line> = Vec::new();
    for (line, shown) in lines.into_iter().zip(shown) {
        if shown {
            folded.push(line);
        } else if folded.last().is_none_or(|last| last.sign != Sign::Gap) {
            folded.push(Line { sign: Sign::Gap, text: "…".to_owned(), operation: None });
        }
    }
    folded
}
