//! What went wrong in a rendering, in the words and at the place of its author.
//!
//! In: the engine's error or a fault of the text it rendered. Out: a [`Failure`]. Never here: deciding what is wrong.

use super::fill::Fault;
use super::language::{self, FUEL, Raised};
use super::sheet::Sheet;
use super::trace::{Missing, Trace};
use crate::problem::Problem;
use crate::source::Place;
use minijinja::{Error, ErrorKind, OutputSpan, OutputSpanKind};
use std::collections::HashMap;
use std::error::Error as _;
use std::ops::Range;

/// Why a rendering gave nothing.
///
/// Messages name keys, kinds of values and what `fail` says, and may quote a number; whoever renders from a Secret
/// shows only the code and the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It reads something that may still appear: no mistake, and nothing to do until then.
    Waiting {
        /// Its path: `children.deployment.status.replicas`.
        what: String,
        /// Where the template reads it.
        place: Place,
    },
    /// The template, or what it was given, is wrong.
    Failed(Problem),
}

impl Failure {
    /// One line for a condition or a log.
    pub fn summary(&self) -> String {
        match self {
            Self::Waiting { what, .. } => format!("waiting for {what}"),
            Self::Failed(problem) => problem.to_string(),
        }
    }
}

/// The compiled templates of a rule, by the engine's name.
pub(super) type Sheets = HashMap<super::compile::Name, Sheet>;

/// An error of the engine in a rendering of the template `name`.
pub(super) fn of_engine(sheets: &Sheets, name: &str, error: &Error, trace: &Trace) -> Failure {
    let error = innermost(error);
    let name = error.name().unwrap_or(name);
    let Some(sheet) = sheets.get(name) else {
        return Failure::Failed(Problem::new("template-error", message(error)));
    };
    let bytes = error.range().map_or(0..0, |bytes| sheet.written(&bytes));
    if let Some(failure) = of_missing(sheet, name, error, &bytes, &trace.missing()) {
        return failure;
    }
    let (code, hint) = match error.kind() {
        ErrorKind::OutOfFuel => ("template-limit", Some(FUEL_HINT.to_owned())),
        _ if is_raised(error) => ("template-fail", None),
        _ => ("template-error", hint_for(error)),
    };
    // Of some errors the engine knows the line only.
    let line = || error.line().map(|line| sheet.written(&line_of(sheet, line)));
    let bytes = if error.range().is_some() { bytes } else { line().unwrap_or(bytes) };
    let problem = Problem::new(code, message(error)).at(sheet.place(&bytes));
    Failure::Failed(Problem { hint, ..problem })
}

/// Bytes of a line of the engine's text, from 1: it has as many lines as the author's.
fn line_of(sheet: &Sheet, number: usize) -> Range<usize> {
    let start: usize =
        sheet.text.split_inclusive('\n').take(number.saturating_sub(1)).map(str::len).sum();
    let length = sheet.text.get(start..).and_then(|rest| rest.lines().next()).map_or(0, str::len);
    start..start + length
}

/// What to write instead of something that cannot be computed.
fn hint_for(error: &Error) -> Option<String> {
    let detail = error.detail().unwrap_or_default();
    if let Some((_, method)) = detail.split_once(" has no method named ") {
        let is_filter = language::knows(language::EntryKind::Filter, method);
        let name = if is_filter { method } else { "name" };
        return Some(format!("call it as a filter: `value|{name}`"));
    }
    let hint = match detail {
        _ if detail.starts_with("tried to use + operator") => {
            "`~` joins texts; `|int` makes a number of a text"
        }
        _ if detail.starts_with("tried to use") && detail.contains("string") => {
            "`|int` makes a number of a text"
        }
        _ if detail.ends_with("is not iterable") => {
            "only lists and maps can be looped over; of a map use `|items`"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Errors of included templates are the source of the error of the `include`.
fn innermost(error: &Error) -> &Error {
    let mut innermost = error;
    while let Some(source) = innermost.source().and_then(|source| source.downcast_ref::<Error>()) {
        innermost = source;
    }
    innermost
}

const FUEL_HINT: &str = "is a list too long, or are loops inside each other?";

/// Characters of a message; `fail` can say anything.
const MAX_MESSAGE: usize = 500;

fn message(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => format!("the template takes more than {FUEL} steps"),
        (_, Some(detail)) if is_raised(error) => detail.chars().take(MAX_MESSAGE).collect(),
        (_, Some(detail)) => in_our_words(detail).chars().take(MAX_MESSAGE).collect(),
        (ErrorKind::InvalidOperation, None) => {
            "this operation is not possible with these values".to_owned()
        }
        (kind, None) => kind.to_string(),
    }
}

/// What the engine says of values, in the words of authors.
fn in_our_words(detail: &str) -> String {
    const OPERATOR: &str = " operator on unsupported types ";
    if let Some((operator, kinds)) =
        detail.strip_prefix("tried to use ").and_then(|rest| rest.split_once(OPERATOR))
        && let Some((left, right)) = kinds.split_once(" and ")
    {
        return format!("`{operator}` is not possible with {} and {}", noun(left), noun(right));
    }
    if let Some(kind) = detail.strip_suffix(" is not iterable") {
        return format!("{} cannot be looped over", noun(kind));
    }
    if let Some((kind, method)) = detail.split_once(" has no method named ") {
        return format!("{} has no method `{method}`", noun(kind));
    }
    detail.to_owned()
}

fn noun(kind: &str) -> String {
    match kind {
        "string" => "a text".to_owned(),
        "bool" => "a boolean".to_owned(),
        "none" => "null".to_owned(),
        "sequence" => "a list".to_owned(),
        "undefined" => "nothing".to_owned(),
        kind => format!("a {kind}"),
    }
}

/// The failure, if it is that something missing was used.
fn of_missing(
    sheet: &Sheet,
    name: &str,
    error: &Error,
    bytes: &Range<usize>,
    notes: &[Missing],
) -> Option<Failure> {
    let input = with_input(&sheet.text, bytes);
    let inside = gap_in(sheet, name, bytes, notes).or_else(|| gap_in(sheet, name, &input, notes));
    if !is_missing(error, inside.is_some()) {
        return None;
    }
    let bytes = inside.as_ref().map_or(input, |(_, site)| site.clone());
    let written = sheet.text.get(bytes.clone()).unwrap_or_default();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let variable = written.split(|c| !is_letter(c)).next().unwrap_or_default();
    let note = inside
        .map(|(note, _)| note)
        .filter(|note| note.gap.what.is_some())
        // A chain from a variable that was itself missing, or the variable alone.
        .or_else(|| {
            let (_, alias) = sheet.aliases.iter().rev().find(|(name, _)| name == variable)?;
            notes.iter().rev().find(|note| note.template == name && note.site == Some(*alias))
        })
        // An argument of a macro leaves no other trace than that something awaited was missing.
        .or_else(|| {
            let is_own = !sheet.reads.iter().any(|read| read.path[0] == variable);
            notes.iter().rev().find(|note| is_own && note.gap.awaited)
        });
    Some(missing(note, written, sheet.place(&bytes)))
}

/// The last gap that was met in these bytes of a template, and the chain that met it. The engine points at operators,
/// or at the token in front of a comparison: the chain is the exact place.
fn gap_in<'n>(
    sheet: &Sheet,
    name: &str,
    bytes: &Range<usize>,
    notes: &'n [Missing],
) -> Option<(&'n Missing, Range<usize>)> {
    notes.iter().rev().filter(|note| note.template == name).find_map(|note| {
        let site = note.site.and_then(|site| sheet.sites.get(site)).unwrap_or(bytes);
        (bytes.start <= site.start && site.end <= bytes.end).then(|| (note, site.clone()))
    })
}

/// Whether a value that does not exist was used. Operators that know no such value name its kind, or nothing.
fn is_missing(error: &Error, has_gap: bool) -> bool {
    match (error.kind(), error.detail()) {
        (ErrorKind::UndefinedError, _) => true,
        (ErrorKind::InvalidOperation, Some(detail)) => {
            !is_raised(error) && detail.contains("undefined")
        }
        (ErrorKind::InvalidOperation, None) => has_gap,
        _ => false,
    }
}

/// Whether the template called `fail`.
fn is_raised(error: &Error) -> bool {
    error.source().is_some_and(<dyn std::error::Error>::is::<Raised>)
}

/// The engine points at the name of a filter; what it was applied to is in front of that.
fn with_input(text: &str, bytes: &Range<usize>) -> Range<usize> {
    let before = text.get(..bytes.start).unwrap_or_default().trim_end();
    let Some(input) = before.strip_suffix('|').map(str::trim_end) else {
        return bytes.clone();
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.[]\"'()".contains(c);
    input.trim_end_matches(is_part).len()..input.len()
}

fn missing(note: Option<&Missing>, written: &str, place: Place) -> Failure {
    let named = note.and_then(|note| note.gap.what.clone());
    let what = named.unwrap_or_else(|| written.to_owned());
    if note.is_some_and(|note| note.gap.awaited) {
        return Failure::Waiting { what, place };
    }
    let problem = Problem::new("template-undefined", format!("`{what}` is undefined")).at(place);
    let hint = match what.split_once('.') {
        Some((base, path)) if !path.contains(['[', '"', ' ', '(', '|']) => {
            format!(
                "if it may be missing: `get({base}, \"{path}\", default)`, or `{{% if {what} %}}` around it"
            )
        }
        _ => "if it may be missing: `default(…)`, or `{% if … is defined %}` around it".to_owned(),
    };
    Failure::Failed(problem.hint(hint))
}

/// The number of the expression of a lenient body that met something missing.
pub(super) fn dispensable(
    sheets: &Sheets,
    name: &str,
    error: &Error,
    trace: &Trace,
) -> Option<usize> {
    if matches!(error.kind(), ErrorKind::BadInclude | ErrorKind::EvalBlock) {
        return None;
    }
    let inner = innermost(error);
    let (sheet, bytes) = (sheets.get(inner.name()?)?, inner.range()?);
    let notes = trace.missing();
    let gap = gap_in(sheet, inner.name()?, &sheet.written(&bytes), &notes);
    if !is_missing(inner, gap.is_some()) {
        return None;
    }
    if inner.name() != Some(name) {
        // In a macro of another file, which the body called.
        return Some(trace.current());
    }
    sheet
        .guarded
        .iter()
        .rposition(|guarded| guarded.start <= bytes.start && bytes.end <= guarded.end)
}

/// A fault of a rendered text. `spans` say which template wrote which of its bytes.
pub(super) fn of_text(sheets: &Sheets, name: &str, spans: &[OutputSpan], fault: Fault) -> Failure {
    let problem = Problem::new(fault.code, fault.message);
    let place = whole_place(sheets, spans, &fault.bytes)
        .or_else(|| sheets.get(name).map(|sheet| sheet.place(&(0..0))));
    let problem = match place {
        Some(place) => problem.at(place),
        None => problem,
    };
    Failure::Failed(match fault.hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}

/// The place of all of these bytes, as far as one template wrote them, in their first line.
fn whole_place(sheets: &Sheets, spans: &[OutputSpan], bytes: &Range<usize>) -> Option<Place> {
    let first = place(sheets, spans, bytes)?;
    let last_byte = bytes.end.saturating_sub(1).max(bytes.start);
    let last = place(sheets, spans, &(last_byte..bytes.end));
    let end = last.filter(|last| last.source == first.source).map_or(0, |last| last.span.end);
    let span = first.span.start..end.max(first.span.end);
    Some(Place { span, ..first }.first_line())
}

/// The place of the template that wrote the first of these bytes.
pub(super) fn place(sheets: &Sheets, spans: &[OutputSpan], bytes: &Range<usize>) -> Option<Place> {
    let after = spans.partition_point(|span| span.output_range().end <= bytes.start);
    let span = spans.get(after).or(spans.last())?;
    let sheet = sheets.get(span.name())?;
    let (output, source) = (span.output_range(), span.source_range());
    let written = match span.kind() {
        OutputSpanKind::Raw => {
            let within =
                |at: usize| source.start + at.clamp(output.start, output.end) - output.start;
            sheet.map.back(&(within(bytes.start)..within(bytes.end)))
        }
        _ => sheet.written(&source),
    };
    Some(sheet.place(&written))
}
