//! The built-in kinds, from the description that is a part of the program.
//!
//! In: `builtin.txt`, whose first lines say how to read it. Out: kinds and types, read once, when somebody first asks.
//! A test on a real API server proves that the file says what the server says.

mod read;

use super::Kind;
use super::shape::Schema;
use crate::object::Gvk;
use read::Table;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static TABLE: LazyLock<Table> = LazyLock::new(|| read::table(include_str!("builtin.txt")));

/// A built-in kind.
pub(super) fn kind(gvk: &Gvk) -> Option<&'static Kind> {
    TABLE.kinds.get(gvk)
}

/// A type that other types name.
pub(super) fn named(name: &str) -> Option<&'static Schema> {
    TABLE.types.get(name)
}

/// Every built-in kind.
pub(super) fn kinds() -> &'static BTreeMap<Gvk, Kind> {
    &TABLE.kinds
}
