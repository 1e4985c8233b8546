//! A plan for people: a heading per object, then its diff with the template line behind each value.
//!
//! In: a plan without secrets. Out: text. Pure.

use super::Whole;
use crate::plan::{Change, ChildPlan, Line, ParentPlan, Sign, Verdict, lines};
use crate::report::Style;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lines of one object's diff that are shown.
const MOST_LINES: usize = 400;

/// Columns that a diff takes before its template lines stand beside it.
const WIDTH: usize = 64;

/// Prints it.
pub(super) fn text(whole: &Whole, style: Style) -> String {
    let mut text = String::new();
    let mut quiet = 0;
    for plan in &whole.parents {
        let told = |child: &ChildPlan| child.verdict != Verdict::Keep;
        if !plan.changes()
            && !plan.is_wrong()
            && !plan.children.iter().any(told)
            && plan.left_alone.is_none()
        {
            quiet += 1;
            continue;
        }
        parent(&mut text, plan, style);
        text.push('\n');
    }
    text.push_str(&summary(whole, quiet));
    text
}

/// The last line.
pub(super) fn summary(whole: &Whole, quiet: usize) -> String {
    let counts = counts(whole);
    let all = whole.parents.len();
    let parents = |count: usize| if count == 1 { "parent" } else { "parents" };
    if all == 0 {
        return "no parents\n".to_owned();
    }
    if counts.is_empty() {
        return format!(
            "no change: {all} {} as the rules want\n",
            if all == 1 { "parent is" } else { "parents are" }
        );
    }
    let told: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{} for {} of {all} {}\n", told.join(", "), all - quiet, parents(all))
}

/// How often each verdict was given that is no `keep`, statuses included.
pub(super) fn counts(whole: &Whole) -> Vec<(&'static str, usize)> {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    let children = whole.parents.iter().flat_map(|plan| &plan.children);
    for child in children.filter(|child| child.verdict != Verdict::Keep) {
        *counts.entry(child.verdict).or_default() += 1;
    }
    let statuses = whole.parents.iter().filter(|plan| plan.status.is_some()).count();
    let status = Some(("status", statuses)).filter(|(_, count)| *count > 0);
    counts.into_iter().map(|(verdict, count)| (verdict.word(), count)).chain(status).collect()
}

fn parent(text: &mut String, plan: &ParentPlan, style: Style) {
    let bold = |words: &str| paint(words, "\x1b[1m", style);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", bold(&format!("{} (rule {})", plan.parent, plan.rule)));
    if let Some(why) = &plan.left_alone {
        let _ = writeln!(text, "  left alone: {why}");
    }
    for problem in &plan.problems {
        let _ = writeln!(text, "  {}: {problem}", paint("failed", "\x1b[31m", style));
    }
    if plan.finalizer {
        let _ = writeln!(text, "  a finalizer of ours is put on it first");
    }
    for child in plan.children.iter().filter(|child| child.verdict != Verdict::Keep) {
        self::child(text, child, style);
    }
    if let Some(change) = &plan.status {
        let _ = writeln!(text, "  {} status", paint("~", "\x1b[33m", style));
        diff(text, change, style);
    }
}

fn child(text: &mut String, child: &ChildPlan, style: Style) {
    let (sign, colour) = match child.verdict {
        Verdict::Create | Verdict::Adopt => ("+", "\x1b[32m"),
        Verdict::Delete | Verdict::Orphan | Verdict::Unedit => ("-", "\x1b[31m"),
        Verdict::Update | Verdict::Recreate | Verdict::Edit => ("~", "\x1b[33m"),
        Verdict::Keep | Verdict::Wait => (".", "\x1b[36m"),
        Verdict::Refuse | Verdict::Fail => ("!", "\x1b[31m"),
    };
    let head = format!("{sign} {}", child.verdict.word());
    let object = child.object.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let why = if child.why.is_empty() { String::new() } else { format!(": {}", child.why) };
    let at = child.wanted_at.as_ref().map(|place| format!("  [{place}]")).unwrap_or_default();
    let _ = writeln!(text, "  {} {}{object}{why}{at}", paint(&head, colour, style), child.child);
    if let Some(waits) = &child.waits {
        let _ = writeln!(text, "      only then: {waits}");
    }
    if let Some(change) = &child.change {
        diff(text, change, style);
    }
}

fn diff(text: &mut String, change: &Change, style: Style) {
    let lines = lines(&change.changes);
    for line in lines.iter().take(MOST_LINES) {
        self::line(text, line, change, style);
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        let _ = writeln!(text, "      … {more} more lines; `-o json` has everything");
    }
    if lines.is_empty() {
        let _ = writeln!(text, "      (nothing that can be seen: it is written once more)");
    }
}

fn line(text: &mut String, line: &Line, change: &Change, style: Style) {
    let (sign, colour) = match line.sign {
        Sign::Same | Sign::Gap => (' ', ""),
        Sign::Minus => ('-', "\x1b[31m"),
        Sign::Plus => ('+', "\x1b[32m"),
    };
    let shown = format!("{sign} {}", line.text);
    let origin = change.origin(line).map(|place| format!("  # {place}"));
    let pad = origin.as_ref().map_or(0, |_| WIDTH.saturating_sub(shown.chars().count()));
    let painted = if colour.is_empty() { shown } else { paint(&shown, colour, style) };
    let origin = origin.map(|origin| paint(&origin, "\x1b[2m", style)).unwrap_or_default();
    let _ = writeln!(text, "      {painted}{:pad$}{origin}", "");
}

fn paint(words: &str, colour: &str, style: Style) -> String {
    if style.colour { format!("{colour}{words}\x1b[0m") } else { words.to_owned() }
}
