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

/// The same for one part of an object, such as its status, and the fields owned in it.
pub fn project_part(fields: &FieldSet, part: &Value) -> u64 {
    let mut projection = Projection(DefaultHasher::new());
    projection.parts(fields, Some(part), &Ignored::default().cursor(Level::Inside));
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
            _ if fields.is_hollow() => {}
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
                self.owned(&child.below, live.and_then(|live| live.get(&**name)), &cursor);
            }
        }
        if elements {
            let list = live.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owned::ignore::Spot;
    use serde::Deserialize;
    use serde_json::json;

    fn same(fields: &Value, one: &Value, other: &Value) -> bool {
        let fields = FieldSet::deserialize(fields).unwrap();
        let nothing = Ignored::default();
        project(&fields, one, &nothing) == project(&fields, other, &nothing)
    }

    #[test]
    fn absent_null_and_empty_are_three_values() {
        let fields = json!({"f:a": {}});
        let values =
            [json!({}), json!({"a": null}), json!({"a": {}}), json!({"a": []}), json!({"a": ""})];
        for (at, one) in values.iter().enumerate() {
            for other in &values[at + 1..] {
                assert!(!same(&fields, one, other), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_value_cannot_move_into_its_neighbour() {
        let fields =
            json!({"f:a": {}, "f:b": {}, "f:l": {r#"k:{"n":"x"}"#: {"f:n": {}, "f:v": {}}}});
        assert!(!same(&fields, &json!({"a": 1}), &json!({"b": 1})));
        assert!(!same(&fields, &json!({"a": "xy", "b": "z"}), &json!({"a": "x", "b": "yz"})));
        assert!(!same(
            &fields,
            &json!({"l": [{"n": "x", "v": 1}]}),
            &json!({"l": [{"n": "x"}], "v": 1})
        ));
    }

    #[test]
    fn equal_elements_with_different_keys_are_not_the_same() {
        let fields = json!({"f:l": {r#"k:{"n":"x"}"#: {"f:v": {}}, r#"k:{"n":"y"}"#: {"f:v": {}}}});
        let one = |name: &str| json!({"l": [{"n": name, "v": 1}]});
        assert!(!same(&fields, &one("x"), &one("y")));
    }

    #[test]
    fn parts_of_what_is_gone_or_changed_its_shape_are_absent() {
        let fields = json!({"f:a": {"f:b": {}}, "f:l": {r#"k:{"n":"x"}"#: {"f:n": {}}}});
        let gone = json!({});
        for other in
            [json!({"a": {}, "l": []}), json!({"a": "b", "l": "x"}), json!({"l": [{"n": "y"}, 1]})]
        {
            assert!(same(&fields, &gone, &other), "{other}");
        }
        assert!(!same(&fields, &gone, &json!({"a": {"b": null}})));
    }

    #[test]
    fn one_more_element_with_our_key_is_a_change_but_a_repeated_member_is_not() {
        let fields = json!({"f:l": {r#"k:{"n":"x"}"#: {"f:n": {}}}, "f:s": {r#"v:"x""#: {}}});
        let one = json!({"l": [{"n": "x"}], "s": ["x"]});
        assert!(!same(&fields, &one, &json!({"l": [{"n": "x"}, {"n": "x"}], "s": ["x"]})));
        assert!(same(&fields, &one, &json!({"l": [{"n": "x"}], "s": ["y", "x", "x"]})));
    }

    #[test]
    fn elements_without_a_defaulted_key_field_are_still_ours() {
        let fields = json!({"f:l": {r#"k:{"p":1,"q":"T"}"#: {"f:v": {}}}});
        let with = |v: u8| json!({"l": [{"p": 1, "v": v}]});
        assert!(same(&fields, &with(1), &json!({"l": [{"p": 1, "q": "T", "v": 1}]})));
        assert!(!same(&fields, &with(1), &with(2)));
    }

    #[test]
    fn ignored_parts_of_a_whole_value_do_not_count() {
        let fields = FieldSet::deserialize(json!({"f:a": {}})).unwrap();
        let field = |name: &str| Spot::Field(name.into());
        let ignored = Ignored::new([vec![field("a"), Spot::Every, field("x")]]);
        let hash = |object: Value| project(&fields, &object, &ignored);
        let before = hash(json!({"a": [{"x": 1, "y": 1}]}));
        assert_eq!(hash(json!({"a": [{"x": 2, "y": 1}]})), before);
        assert_eq!(hash(json!({"a": [{"y": 1}]})), before);
        assert_ne!(hash(json!({"a": [{"x": 1, "y": 2}]})), before);
        assert_ne!(hash(json!({"a": [{"x": 1, "y": 1}, {}]})), before);
        assert_ne!(hash(json!({"a": {"b": {"y": 1}}})), before);
        assert_ne!(hash(json!({"a": [{"z": 1}]})), before);
    }

    #[test]
    fn of_a_map_that_we_left_empty_only_its_presence_counts() {
        let mut fields = FieldSet::deserialize(json!({"f:a": {}})).unwrap();
        fields.presence_where_empty(&json!({"a": {}}));
        let hash = |object: Value| project(&fields, &object, &Ignored::default());
        assert_eq!(hash(json!({"a": {}})), hash(json!({"a": {"theirs": 1}})));
        assert_ne!(hash(json!({"a": {}})), hash(json!({})));
    }
}
