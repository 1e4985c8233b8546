//! What all entries together tell about a place where ours alone is not clear.
//!
//! In: the live object's `managedFields`. Out: whether anybody owns a place, all of it, or parts. Never here: whose
//! entry it is.

use crate::owned::entry::{managers, unparsed_at};
use crate::owned::path::FieldPath;
use serde_json::{Map, Value};

/// The entries of one object, unparsed: they are asked about few places. None if `managedFields` was taken out.
#[derive(Clone, Copy)]
pub(in crate::owned) struct Entries<'a>(Option<&'a Value>);

impl<'a> Entries<'a> {
    /// Those of an object's `managedFields`.
    pub(in crate::owned) fn among(managed_fields: &'a Value) -> Self {
        Self(Some(managed_fields))
    }

    pub(super) fn of(object: &'a Value) -> Self {
        Self(object.get("metadata").and_then(|metadata| metadata.get("managedFields")))
    }

    /// Whether somebody owns exactly this place.
    pub(super) fn own(self, path: &FieldPath) -> bool {
        self.at(path).next().is_some()
    }

    /// Whether somebody owns exactly this place, and nobody only parts of it.
    pub(in crate::owned) fn own_whole(self, path: &FieldPath) -> bool {
        self.own(path) && !self.own_parts(path)
    }

    /// Whether somebody owns parts of this place.
    pub(super) fn own_parts(self, path: &FieldPath) -> bool {
        let leaf = |fields: &Value| fields.as_object().is_some_and(Map::is_empty);
        self.at(path).any(|fields| !leaf(fields))
    }

    fn at(self, path: &FieldPath) -> impl Iterator<Item = &'a Value> {
        let entries = self.0.into_iter().flat_map(managers);
        entries.filter_map(move |(_, entry)| unparsed_at(entry, path))
    }
}
