//! Puts the values into the tree.
//!
//! In: what the rendered text says as a tree, and the values that belong in its placeholders. Out: JSON. Never here:
//! parsing; a value is only ever put in as a whole or as a text, it is not read again.

use super::token::{self, Piece};
use super::value::{MAX_BYTES, Slots, json_text, too_long};
use crate::yaml::{Kind, Node, Style};
use serde_json::{Map, Value as Json};
use std::cell::Cell;
use std::ops::Range;

/// Why a tree cannot be filled, and where in the rendered text.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) bytes: Range<usize>,
}

impl Fault {
    fn hint(self, hint: &str) -> Self {
        Self { hint: Some(hint.to_owned()), ..self }
    }
}

/// Advice for a rendered text that is no YAML at `offset`: the commonest reason is a map on a line of its own.
pub(super) fn hint_for_yaml(text: &str, offset: usize) -> Option<String> {
    let end = text.get(offset..)?.find('\n').map_or(text.len(), |at| offset + at);
    let stands_alone = |line: &str| matches!(token::whole(line.trim()), Some(Piece::Slot(_)));
    let found = text[..end].rsplit('\n').take(2).any(stands_alone);
    found.then(|| "put a map into a map with `<<: {{ … }}`, and a value behind a key".to_owned())
}

/// What the values of one rendering have cost so far, in bytes, each counted as often as it is used.
pub(super) type Spent = Cell<usize>;

/// Fills one tree; nothing if it came out as nothing.
pub(super) fn fill(
    node: &Node,
    slots: &Slots,
    spent: &Spent,
    lenient: bool,
) -> Result<Option<Json>, Fault> {
    Filling { slots, spent, lenient }.node(node)
}

/// The text of a single line, which is never read as YAML; nothing if it is `omit`.
pub(super) fn fill_text(text: &str, slots: &Slots) -> Result<String, Fault> {
    let whole = 0..text.len();
    let spent = Spent::default();
    let filled = Filling { slots, spent: &spent, lenient: false }.text(text, &whole)?;
    filled.ok_or_else(|| fault("template-error", "`omit` cannot be a part of a text", &whole))
}

struct Filling<'a> {
    slots: &'a Slots,
    spent: &'a Spent,
    lenient: bool,
}

const NOTHING_HINT: &str = "write `[]`, `{}` or `null`, or leave the key out with `{% if … %}`";

impl Filling<'_> {
    fn node(&self, node: &Node) -> Result<Option<Json>, Fault> {
        match &node.kind {
            Kind::Null { explicit: true } => Ok(Some(Json::Null)),
            Kind::Null { explicit: false } => {
                let fault = fault("template-nothing", "an item came out as nothing", &node.span);
                Err(fault.hint(NOTHING_HINT))
            }
            Kind::Bool(value) => Ok(Some(Json::Bool(*value))),
            Kind::Number(number) => Ok(Some(Json::Number(number.clone()))),
            Kind::String { text, style } => self.scalar(text, *style, &node.span),
            Kind::Sequence(items) => {
                let mut filled = Vec::with_capacity(items.len());
                for item in items {
                    filled.extend(self.node(item)?);
                }
                Ok(Some(Json::Array(filled)))
            }
            Kind::Mapping(entries) => self.mapping(entries).map(Some),
        }
    }

    /// A bare placeholder is the value itself; everything else with placeholders is text.
    fn scalar(
        &self,
        text: &str,
        style: Style,
        bytes: &Range<usize>,
    ) -> Result<Option<Json>, Fault> {
        if !token::is_in(text) {
            return Ok(Some(Json::String(text.to_owned())));
        }
        if style == Style::Plain {
            match token::whole(text) {
                Some(Piece::Slot(slot)) => return Ok(Some(self.value(slot, bytes)?.clone())),
                Some(Piece::Nothing | Piece::Omit) => return Ok(None),
                _ => {}
            }
        }
        Ok(self.text(text, bytes)?.map(Json::String))
    }

    /// The value of a slot, paid for: aliases and captured texts name one slot as often as they like.
    fn value(&self, slot: usize, bytes: &Range<usize>) -> Result<&Json, Fault> {
        let (value, cost) = self.slots.get(slot).unwrap_or((&Json::Null, 0));
        self.spent.set(self.spent.get().saturating_add(cost));
        if self.spent.get() > MAX_BYTES {
            return Err(fault("template-limit", too_long(), bytes));
        }
        Ok(value)
    }

    /// A text with values in it; nothing if one of them does not exist yet and the body is lenient.
    fn text(&self, text: &str, bytes: &Range<usize>) -> Result<Option<String>, Fault> {
        let Some(pieces) = token::pieces(text) else {
            return Err(fault("template-error", "a placeholder was cut in two", bytes));
        };
        let mut filled = String::with_capacity(text.len());
        for piece in pieces {
            match piece {
                Piece::Text(text) => filled += text,
                Piece::Slot(slot) => {
                    let json = self.value(slot, bytes)?;
                    filled += &json_text(json)
                        .map_err(|message| fault("template-error", message, bytes))?;
                }
                Piece::Nothing => {}
                Piece::Omit if self.lenient => return Ok(None),
                Piece::Omit => {
                    let fault = fault("template-error", "`omit` cannot be a part of a text", bytes);
                    return Err(fault.hint("let it be the whole value, without quotes"));
                }
            }
        }
        Ok(Some(filled))
    }

    fn mapping(&self, entries: &[(Node, Node)]) -> Result<Json, Fault> {
        let mut map = Map::new();
        let mut merged = Vec::new();
        for (key, value) in entries {
            let Kind::String { text, style } = &key.kind else {
                continue;
            };
            if *style == Style::Plain && text == "<<" {
                self.merge(value, &mut merged)?;
                continue;
            }
            let Some(name) = self.key(text, *style, &key.span)? else {
                continue;
            };
            if matches!(value.kind, Kind::Null { explicit: false }) {
                let fault = fault(
                    "template-nothing",
                    format!("the value of `{name}` came out as nothing"),
                    &key.span,
                );
                return Err(fault.hint(NOTHING_HINT));
            }
            let Some(value) = self.node(value)? else {
                continue;
            };
            if map.contains_key(&name) {
                let message = format!("the key `{name}` appears twice");
                let fault = fault("template-duplicate", message, &key.span);
                return Err(fault.hint("leave one out, or put one of them into an `if`"));
            }
            map.insert(name, value);
        }
        for (key, value) in merged {
            map.entry(key).or_insert(value);
        }
        Ok(Json::Object(map))
    }

    /// Nothing if the key was left out by `omit` or an inline `if`.
    fn key(&self, text: &str, style: Style, bytes: &Range<usize>) -> Result<Option<String>, Fault> {
        match self.scalar(text, style, bytes)? {
            None => Ok(None),
            Some(Json::String(key)) => Ok(Some(key)),
            Some(json) => json_text(&json).map(Some).map_err(|_| {
                fault("template-error", "a key must be a text, a number or a boolean", bytes)
            }),
        }
    }

    /// What `<<` names: a map, or a list of maps of which the first one wins.
    fn merge(&self, node: &Node, merged: &mut Vec<(String, Json)>) -> Result<(), Fault> {
        let maps = match self.node(node)? {
            None => Vec::new(),
            Some(Json::Array(items)) => items,
            Some(map) => vec![map],
        };
        for map in maps {
            let Json::Object(map) = map else {
                let fault =
                    fault("template-error", "only maps can be merged with `<<`", &node.span);
                return Err(fault.hint("for one that may be missing write `default({})`"));
            };
            merged.extend(map);
        }
        Ok(())
    }
}

fn fault(code: &'static str, message: impl Into<String>, bytes: &Range<usize>) -> Fault {
    Fault { code, message: message.into(), hint: None, bytes: bytes.clone() }
}
