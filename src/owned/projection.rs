//! A hash over the values that we own in a live object: the drift test of every event.
//!
//! In: our fields, a live object, the ignored paths. Out: 64 bits. Never here: the intent; building the projected
//! object; a reason (that is [`super::drift`]).

use super::fields::FieldSet;
use super::ignore::{Cursor, Ignored, Level};
use super::path::Step;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Hashes what `live` has at the owned fields: values, their absence, and the relative order of our elements of keyed
/// lists (members of sets have no order). Two results are comparable if fields and ignored paths were the same.
///
/// `SipHash` with fixed keys: only for memory, and only within one build. Nothing but the recursion is allocated.
pub fn project(fields: &FieldSet, live: &Value, ignored: &Ignored) -> u64 {
    let mut projection = Projection(DefaultHasher::new());
    projection.parts(fields, Some(live), &ignored.cursor(Level::Object));
    projection.0.finish()
}

/// What comes next in the hashed stream, so that different shapes cannot give the same stream.
#[derive(Clone, Copy)]
enum Mark {
    Absent,
    Present,
    Value,
    Field,
    Element,
    End,
}

struct Projection(DefaultHasher);

impl Projection {
    fn mark(&mut self, mark: Mark) {
        self.0.write_u8(mark as u8);
    }

    fn owned(&mut self, fields: &FieldSet, live: Option<&Value>, cursor: &Cursor<'_>) {
        match live {
            _ if !fields.is_leaf() => self.parts(fields, live, cursor),
            None => self.mark(Mark::Absent),
            Some(_) if fields.is_presence() => self.mark(Mark::Present),
            Some(value) => self.value(value, cursor),
        }
    }

    fn parts(&mut self, fields: &FieldSet, live: Option<&Value>, cursor: &Cursor<'_>) {
        let mut elements = false;
        for child in fields.children() {
            let Step::Field(name) = &child.step else {
                elements = true;
                break;
            };
            if let Some(cursor) = cursor.field(name) {
                self.mark(Mark::Field);
                name.hash(&mut self.0);
                self.owned(
                    &child.below,
                    live.and_then(|live| live.get(&**name)),
                    &cursor,
                );
            }
        }
        if elements {
            let list = live
                .and_then(Value::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            self.elements(fields, list, cursor);
        }
        self.mark(Mark::End);
    }

    /// Our elements in the order of the live list. One that is missing there shows as a gap in the sequence.
    fn elements(&mut self, fields: &FieldSet, list: &[Value], cursor: &Cursor<'_>) {
        let mut members = Vec::new();
        for (index, element) in list.iter().enumerate() {
            let Some(at) = fields.element(index, element) else {
                continue;
            };
            let Some(cursor) = cursor.element(index, element) else {
                continue;
            };
            let child = &fields.children()[at];
            if let Step::Value(_) = child.step {
                members.push(at);
            } else {
                self.mark(Mark::Element);
                self.0.write_usize(at);
                self.owned(&child.below, Some(element), &cursor);
            }
        }
        members.sort_unstable();
        members.dedup();
        members.hash(&mut self.0);
    }

    /// A whole value, less what is ignored inside it.
    fn value(&mut self, value: &Value, cursor: &Cursor<'_>) {
        self.mark(Mark::Value);
        match value {
            Value::Object(map) if !cursor.is_idle() => {
                for (name, below) in map {
                    if let Some(cursor) = cursor.field(name) {
                        self.mark(Mark::Field);
                        name.hash(&mut self.0);
                        self.value(below, &cursor);
                    }
                }
                self.mark(Mark::End);
            }
            Value::Array(list) if !cursor.is_idle() => {
                for (index, element) in list.iter().enumerate() {
                    if let Some(cursor) = cursor.element(index, element) {
                        self.mark(Mark::Element);
                        self.value(element, &cursor);
                    }
                }
                self.mark(Mark::End);
            }
            whole => whole.hash(&mut self.0),
        }
    }
}
