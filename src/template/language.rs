//! What authors can call in a template: the whole list.
//!
//! In: nothing. Out: an engine that knows exactly these filters, functions and tests, and the table that documents
//! them. Never here: clock, randomness, environment, network, files; the same input gives the same bytes.

mod condition;
mod core;
mod encode;
mod guard;
mod hidden;
mod list;
mod number;
mod quantity;
mod text;

pub(super) use self::core::Raised;
use super::value;
use crate::comparison::closest;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use std::sync::LazyLock;

/// Steps that one rendering may take; a manifest of 60 lines takes about 400.
pub const FUEL: u64 = 200_000;

/// What kind of thing an [`Entry`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// `{{ value|name(arguments) }}`
    Filter,
    /// `{{ name(arguments) }}`
    Function,
    /// `{% if value is name(arguments) %}`
    Test,
    /// `{{ name }}`
    Global,
}

/// Something that a template can call, with what its reference page says.
pub struct Entry {
    /// How it is called.
    pub kind: EntryKind,
    /// Its name.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub doc: &'static str,
    /// Shown, and executed by a test.
    pub example: Example,
    add: fn(&mut Environment<'static>, &'static str),
}

/// A template in use.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What goes into a body as `v: …`.
    pub template: &'static str,
    /// JSON of the value that `v` gets; empty if the key disappears.
    pub output: &'static str,
}

/// Every entry, in the order of the reference page.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    [
        core::ENTRIES,
        text::ENTRIES,
        number::ENTRIES,
        quantity::ENTRIES,
        list::ENTRIES,
        encode::ENTRIES,
        condition::ENTRIES,
    ]
    .into_iter()
    .flatten()
}

/// Whether a name of this kind exists.
pub(super) fn knows(kind: EntryKind, name: &str) -> bool {
    names(kind).any(|known| known == name)
}

/// All names of a kind.
pub(super) fn names(kind: EntryKind) -> impl Iterator<Item = &'static str> {
    entries()
        .filter(move |entry| entry.kind == kind)
        .flat_map(|entry| std::iter::once(entry.name).chain(entry.aliases.iter().copied()))
}

/// Advice for a name of this kind that does not exist.
pub(super) fn hint_for(kind: EntryKind, name: &str) -> Option<String> {
    let near =
        |kind: EntryKind| closest(name, names(kind)).and_then(|found| main_name(kind, found));
    if let Some(near) = near(kind) {
        return Some(format!("did you mean `{near}`?"));
    }
    if OUTSIDE.contains(&name.to_lowercase().as_str()) {
        return Some(
            "templates know no clock, randomness, environment, files or network".to_owned(),
        );
    }
    let others = [EntryKind::Filter, EntryKind::Function, EntryKind::Test];
    others.into_iter().filter(|other| *other != kind).find_map(|other| {
        let near = near(other)?;
        Some(match other {
            EntryKind::Filter => format!("`{near}` is a filter: `value|{near}`"),
            EntryKind::Test => format!("`{near}` is a test: `value is {near}`"),
            _ => format!("`{near}` is a function: `{near}(…)`"),
        })
    })
}

/// What other template languages have and this one must not.
const OUTSIDE: [&str; 9] =
    ["env", "getenv", "lookup", "now", "random", "rand", "randalphanum", "uuid", "uuidv4"];

/// The name that is documented, for a name or one of its aliases.
fn main_name(kind: EntryKind, name: &str) -> Option<&'static str> {
    let has = |entry: &&Entry| {
        entry.kind == kind && (entry.name == name || entry.aliases.contains(&name))
    };
    entries().find(has).map(|entry| entry.name)
}

/// How templates are written. A block tag takes its line with it, or loops would leave blank lines in block scalars.
pub(super) fn syntax() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    syntax.build().unwrap_or_default()
}

/// An engine without templates. Clones share everything that calls need.
pub(super) fn engine() -> Environment<'static> {
    static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(make_engine);
    ENGINE.clone()
}

fn make_engine() -> Environment<'static> {
    let mut engine = Environment::empty();
    engine.set_syntax(syntax());
    engine.set_auto_reload(false);
    engine.set_debug(false);
    engine.set_fuel(Some(FUEL));
    engine.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    // With any mode but "none" the engine marks the text that it captured, and only that, as safe.
    engine.set_auto_escape_callback(|_| AutoEscape::Custom("manifest".into()));
    engine.set_formatter(value::format);
    engine.set_unknown_method_callback(hidden::method);
    for entry in entries() {
        for name in std::iter::once(entry.name).chain(entry.aliases.iter().copied()) {
            (entry.add)(&mut engine, name);
        }
    }
    hidden::add(&mut engine);
    engine
}

#[cfg(test)]
mod tests;
