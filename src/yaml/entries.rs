//! The entries of one mapping.
//!
//! In: keys and values in the order of the text. Out: the same without duplicates, merge keys resolved. Never here:
//! what a value is.

use super::{Error, Kind, Node, Style};
use std::collections::HashMap;

/// The entries of a mapping, and those that merge keys bring.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) own: Vec<(Node, Node)>,
    /// Where each key stands.
    names: HashMap<String, usize>,
    merged: Vec<(Node, Node)>,
}

impl Entries {
    /// Adds an entry of `text`; with `merge`, the entries of the map or maps that it names.
    pub(super) fn push(
        &mut self,
        key: Node,
        value: Node,
        merge: bool,
        text: &str,
    ) -> Result<(), Error> {
        let name = key.as_str().unwrap_or_default();
        if let Some(first) = self.names.insert(name.to_owned(), key.span.start) {
            let line = text.get(..first).unwrap_or_default().matches('\n').count() + 1;
            let hint = if is_merge(&key) {
                "merge several maps with `<<: [a, b]`".to_owned()
            } else {
                format!("the first one is in line {line}")
            };
            return Err(Error {
                message: format!("the key `{name}` appears twice"),
                span: key.span,
                hint: Some(hint),
            });
        }
        if !merge {
            self.own.push((key, value));
            return Ok(());
        }
        let maps = match value.kind {
            Kind::Sequence(items) => items,
            _ => vec![value],
        };
        for map in maps {
            let Kind::Mapping(entries) = map.kind else {
                let message = "only maps can be merged with `<<`".to_owned();
                return Err(Error { message, span: map.span, hint: None });
            };
            self.merged.extend(entries);
        }
        Ok(())
    }

    /// Own keys win, then the map that was named first.
    pub(super) fn finish(mut self) -> Vec<(Node, Node)> {
        for (key, value) in self.merged {
            let name = key.as_str().unwrap_or_default();
            if !self.names.contains_key(name) {
                self.names.insert(name.to_owned(), key.span.start);
                self.own.push((key, value));
            }
        }
        self.own
    }
}

/// Whether a key is the bare `<<`.
pub(super) fn is_merge(key: &Node) -> bool {
    matches!(&key.kind, Kind::String { text, style: Style::Plain } if text == "<<")
}
