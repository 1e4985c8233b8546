//! Filters of texts.
//!
//! In: a text, or a value that has one. Out: mostly a text. Never here: encodings.

use super::super::value::{refuse, text};
use super::guard::{count, of_layout, of_text, of_value};
use super::{Entry, EntryKind, Example};
use minijinja::value::Value;
use minijinja::{Error, State, filters};
use regex::{Regex, RegexBuilder};

macro_rules! filter {
    ($name:literal, $doc:literal, $template:literal, $output:literal, $function:expr) => {
        Entry {
            kind: EntryKind::Filter,
            name: $name,
            aliases: &[],
            doc: $doc,
            example: Example { template: $template, output: $output },
            add: |env, name| env.add_filter(name, $function),
        }
    };
}

pub(super) static ENTRIES: &[Entry] = &[
    filter!(
        "string",
        "The text of a number or a boolean; what a `{% set %}` block or a macro wrote becomes plain text instead of YAML.",
        "{{ true|string }}",
        "\"true\"",
        of_text(filters::string)
    ),
    filter!("upper", "Upper case.", "{{ 'web'|upper }}", "\"WEB\"", of_text(filters::upper)),
    filter!("lower", "Lower case.", "{{ 'Web'|lower }}", "\"web\"", of_text(filters::lower)),
    filter!(
        "capitalize",
        "The first letter in upper case, the others in lower case.",
        "{{ 'web APP'|capitalize }}",
        "\"Web app\"",
        of_text(filters::capitalize)
    ),
    filter!(
        "title",
        "Each word with its first letter in upper case.",
        "{{ 'web app'|title }}",
        "\"Web App\"",
        of_text(filters::title)
    ),
    filter!(
        "trim",
        "Without white space, or the given characters, at both ends.",
        "{{ ' web '|trim }}",
        "\"web\"",
        of_layout(filters::trim)
    ),
    filter!(
        "replace",
        "Every occurrence of a text replaced by another.",
        "{{ 'a.b.c'|replace('.', '-') }}",
        "\"a-b-c\"",
        of_text(filters::replace)
    ),
    filter!(
        "regex_replace",
        "Every match of a regular expression (Rust's `regex` syntax) replaced; `$1` is its first group.",
        "{{ 'v1.2'|regex_replace('v(\\\\d+).*', 'major $1') }}",
        "\"major 1\"",
        of_text(regex_replace)
    ),
    filter!(
        "regex_match",
        "Whether a regular expression (Rust's `regex` syntax) matches anywhere; anchor it with `^` and `$`.",
        "{{ 'web-1'|regex_match('^[a-z]+-[0-9]$') }}",
        "true",
        of_text(regex_match)
    ),
    filter!(
        "indent",
        "Every line but the first moved to the right by so many spaces (4 without an argument); with `true` as second argument the first one too.",
        "{{ 'a\\nb'|indent(2) }}",
        "\"a\\n  b\"",
        of_layout(indent)
    ),
    filter!(
        "split",
        "The parts between white space, or between the given separator, as a list.",
        "{{ 'a,b'|split(',')|list }}",
        "[\"a\",\"b\"]",
        of_text(filters::split)
    ),
    filter!(
        "lines",
        "The lines of a text as a list.",
        "{{ 'a\\nb'|lines }}",
        "[\"a\",\"b\"]",
        of_text(filters::lines)
    ),
    filter!(
        "join",
        "The texts of a list with a separator between them.",
        "{{ ['a', 1, true]|join('-') }}",
        "\"a-1-true\"",
        of_value(join)
    ),
    filter!(
        "format",
        "A text with `%s`, `%d` or `%05d` replaced by the arguments in order.",
        "{{ 'web-%03d'|format(7) }}",
        "\"web-007\"",
        of_text(format)
    ),
    filter!(
        "dns_label",
        "A name of lower-case letters, digits and dashes of at most 63 characters (or fewer, as an argument, to leave room for a suffix); a text that has to be changed for it ends in 8 digits of its SHA-256, so that two texts never become one name.",
        "{{ 'web'|dns_label }}",
        "\"web\"",
        of_text(dns_label)
    ),
];

/// Bytes of a compiled pattern; enough for any name or version, too little to hurt.
const REGEX_SIZE: usize = 256 << 10;
/// Steps that compiling a pattern counts for.
const REGEX_FUEL: u64 = 200;

fn regex(state: &State<'_, '_>, input: &str, pattern: &str) -> Result<Regex, Error> {
    state.consume_fuel(REGEX_FUEL + pattern.len() as u64 + input.len() as u64 / 4)?;
    RegexBuilder::new(pattern).size_limit(REGEX_SIZE).dfa_size_limit(REGEX_SIZE).build().map_err(
        |error| refuse(format!("the regular expression cannot be read: {}", summary(&error))),
    )
}

/// The last line: the ones above draw the pattern, which a single line cannot.
fn summary(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn regex_replace(
    state: &mut State<'_, '_>,
    input: &str,
    pattern: &str,
    by: &str,
) -> Result<String, Error> {
    Ok(regex(state, input, pattern)?.replace_all(input, by).into_owned())
}

fn regex_match(state: &mut State<'_, '_>, input: &str, pattern: &str) -> Result<bool, Error> {
    Ok(regex(state, input, pattern)?.is_match(input))
}

/// Blank lines stay blank. Captured text stays what it is.
fn indent(
    state: &mut State<'_, '_>,
    input: &Value,
    width: Option<i64>,
    first: Option<bool>,
) -> Result<Value, Error> {
    let text = input.as_str().unwrap_or_default();
    let width = count(width, 4)?;
    let lines = text.matches('\n').count() + 1;
    state.consume_fuel(width.saturating_mul(lines) as u64 / 64)?;
    let space = " ".repeat(width);
    let mut moved = String::with_capacity(text.len() + width * lines);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if (index > 0 || first == Some(true)) && !line.trim().is_empty() {
            moved += &space;
        }
        moved += line;
    }
    Ok(if input.is_safe() { Value::from_safe_string(moved) } else { Value::from(moved) })
}

fn join(
    state: &mut State<'_, '_>,
    items: &Value,
    separator: Option<&str>,
) -> Result<String, Error> {
    if items.as_str().is_some() {
        return Err(refuse("`join` needs a list, not a text"));
    }
    let mut joined = String::new();
    for (index, item) in items.try_iter()?.checked().enumerate() {
        let item = text(state, &item?)?;
        state.consume_fuel(1 + item.len() as u64 / 64)?;
        if index > 0 {
            joined += separator.unwrap_or_default();
        }
        joined += &item;
    }
    Ok(joined)
}

/// Booleans keep YAML's spelling; the engine would use Python's.
fn format(state: &mut State<'_, '_>, pattern: &Value, args: &[Value]) -> Result<Value, Error> {
    let mut call = vec![pattern.clone()];
    for arg in args {
        call.push(if arg.is_number() { arg.clone() } else { Value::from(text(state, arg)?) });
    }
    Value::from_function(filters::format).call(state, &call)
}

/// Kubernetes allows 63 characters in a label (RFC 1123).
const LABEL: usize = 63;
/// Characters of the hash, and the dash in front of it.
const HASH: usize = 9;

fn dns_label(input: &str, longest: Option<i64>) -> Result<String, Error> {
    let longest = count(longest, LABEL)?;
    if !(HASH..=LABEL).contains(&longest) {
        return Err(refuse(format!("`dns_label` makes names of {HASH} to {LABEL} characters")));
    }
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fits = input.len() <= longest
        && input.chars().all(|c| is_plain(c) || c == '-')
        && input.starts_with(is_plain)
        && input.ends_with(is_plain);
    if fits {
        return Ok(input.to_owned());
    }
    let clean: String = input
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if is_plain(c) { c } else { '-' })
        .take(longest - HASH)
        .collect();
    let hash = super::encode::sha256_hex(input);
    let clean = clean.trim_matches('-');
    let dash = if clean.is_empty() { "" } else { "-" };
    Ok(format!("{clean}{dash}{}", &hash[..HASH - 1]))
}
