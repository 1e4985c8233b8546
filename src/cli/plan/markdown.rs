//! A plan as Markdown, for a comment on a merge request: a table, then a diff per object that can be unfolded.
//!
//! In: a plan without secrets. Out: text of at most [`LONGEST`] bytes; what was cut is told. Pure.

use super::Whole;
use super::text::{counts, summary};
use crate::plan::{Change, ChildPlan, ParentPlan, Sign, Verdict, lines};
use std::fmt::Write;

/// Code hosts take a little more than this.
const LONGEST: usize = 60_000;

/// Rows of the table.
const MOST_ROWS: usize = 100;

/// Lines of one diff.
const MOST_LINES: usize = 120;

/// Prints it.
pub(super) fn markdown(whole: &Whole) -> String {
    let quiet = whole.parents.iter().filter(|plan| !is_told(plan)).count();
    let mut text = format!("### Plan\n\n{}\n", summary(whole, quiet));
    for lack in &whole.lacks {
        let _ = writeln!(
            text,
            "> **Not everything could be read.** {}  \n> {}\n",
            plain(&lack.what),
            plain(&lack.remedy)
        );
    }
    if counts(whole).is_empty() && !whole.parents.iter().any(is_told) {
        return text;
    }
    table(&mut text, whole);
    let mut cut = 0;
    for plan in whole.parents.iter().filter(|plan| is_told(plan)) {
        let children = plan
            .children
            .iter()
            .filter_map(|child| Some((child.child.as_str(), child.change.as_ref()?)));
        for (name, change) in children.chain(plan.status.iter().map(|change| ("status", change))) {
            let block = block(plan, name, change);
            if text.len() + block.len() > LONGEST {
                cut += 1;
            } else {
                text.push_str(&block);
            }
        }
    }
    if cut > 0 {
        let _ = writeln!(text, "\n{cut} more diffs are cut: `kubewright plan` shows everything.");
    }
    text
}

fn is_told(plan: &ParentPlan) -> bool {
    let told = |child: &ChildPlan| child.verdict != Verdict::Keep;
    plan.changes() || plan.is_wrong() || plan.left_alone.is_some() || plan.children.iter().any(told)
}

fn table(text: &mut String, whole: &Whole) {
    text.push_str("| parent | rule | child | object | | |\n|---|---|---|---|---|---|\n");
    let mut rows = Vec::new();
    for plan in whole.parents.iter().filter(|plan| is_told(plan)) {
        let head = format!("| {} | {} |", plain(&plan.parent.to_string()), plain(&plan.rule));
        let alone =
            plan.left_alone.iter().map(|why| format!("{head} | | left alone | {} |", plain(why)));
        rows.extend(alone);
        rows.extend(
            plan.problems
                .iter()
                .map(|problem| format!("{head} | | **fail** | {} |", plain(&problem.to_string()))),
        );
        for child in plan.children.iter().filter(|child| child.verdict != Verdict::Keep) {
            let object = child.object.as_ref().map(ToString::to_string).unwrap_or_default();
            let waits = child.waits.iter().map(|waits| format!("only then: {waits}"));
            let why: Vec<String> = Some(child.why.clone())
                .filter(|why| !why.is_empty())
                .into_iter()
                .chain(waits)
                .collect();
            let (child, verdict) = (plain(&child.child), child.verdict.word());
            rows.push(format!(
                "{head} {child} | {} | **{verdict}** | {} |",
                plain(&object),
                plain(&why.join("; "))
            ));
        }
        if plan.status.is_some() {
            rows.push(format!("{head} | | **status** | |"));
        }
    }
    for row in rows.iter().take(MOST_ROWS) {
        let _ = writeln!(text, "{row}");
    }
    if rows.len() > MOST_ROWS {
        let _ = writeln!(text, "\n{} more rows are cut.", rows.len() - MOST_ROWS);
    }
    text.push('\n');
}

fn block(plan: &ParentPlan, name: &str, change: &Change) -> String {
    let mut block = format!(
        "<details><summary>{} {}</summary>\n\n",
        plain(&plan.parent.to_string()),
        plain(name)
    );
    let lines = lines(&change.changes);
    let longest = lines.iter().flat_map(|line| runs(&line.text)).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(block, "{fence}diff");
    for line in lines.iter().take(MOST_LINES) {
        let sign = match line.sign {
            Sign::Same | Sign::Gap => ' ',
            Sign::Minus => '-',
            Sign::Plus => '+',
        };
        let origin = change.origin(line).map(|place| format!("  # {place}"));
        let _ = writeln!(block, "{sign} {}{}", line.text, origin.unwrap_or_default());
    }
    if lines.len() > MOST_LINES {
        let _ = writeln!(block, "  … {} more lines", lines.len() - MOST_LINES);
    }
    let _ = writeln!(block, "{fence}\n\n</details>\n");
    block
}

/// Lengths of runs of backticks.
fn runs(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.split(|c| c != '`').map(str::len)
}

/// A text that is nothing but text, in a table and elsewhere; a name from a cluster must not become structure.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => plain.push(' '),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '@' | '#' | '!' | '~' => {
                plain.push('\\');
                plain.push(c);
            }
            c => plain.push(c),
        }
    }
    plain
}
