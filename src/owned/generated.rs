//! Claims over made-up objects of every shape, where what is ours is known by construction.
//!
//! In: random trees in which each part is ours or not. Out: test results. Never here: what the server does (see
//! [`super::recorded`]).

use super::*;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A value as a schema would describe it.
#[derive(Clone, Debug)]
enum Node {
    /// Scalars and atomic lists and maps.
    Whole(Value),
    Map(BTreeMap<String, Part>),
    /// A list keyed by `name` and by `kind`, which is a default if not ours to say.
    Keyed(BTreeMap<String, Part>, bool),
    Set(BTreeMap<String, bool>),
}

/// A part of a container, ours or not.
#[derive(Clone, Debug)]
struct Part {
    ours: bool,
    node: Node,
}

fn node() -> impl Strategy<Value = Node> {
    let scalar = prop_oneof![
        Just(json!(1)),
        Just(json!("x")),
        Just(json!(true)),
        Just(json!(["a", {"b": [1, 2]}])),
        Just(json!({"a": {"b": "c"}, "d": [1]})),
    ];
    scalar.prop_map(Node::Whole).prop_recursive(4, 40, 4, |inner| {
        let part = (any::<bool>(), inner).prop_map(|(ours, node)| Part { ours, node });
        let map = prop::collection::btree_map("[a-d]|e/f|g~h", part.clone(), 1..4);
        let fields = prop::collection::btree_map("[a-d]", part, 0..3).prop_map(Node::Map);
        let element = (any::<bool>(), fields).prop_map(|(ours, node)| Part { ours, node });
        let keyed = prop::collection::btree_map("[p-t]", element, 1..4);
        let set = prop::collection::btree_map("[p-t]", any::<bool>(), 1..4);
        prop_oneof![
            map.prop_map(Node::Map),
            (keyed, any::<bool>()).prop_map(|(list, said)| Node::Keyed(list, said)),
            set.prop_map(Node::Set),
        ]
    })
}

fn object() -> impl Strategy<Value = Node> {
    node().prop_map(|node| {
        Node::Map(BTreeMap::from([("spec".to_owned(), Part { ours: true, node })]))
    })
}

impl Node {
    fn live(&self) -> Value {
        match self {
            Self::Whole(value) => value.clone(),
            Self::Map(parts) => {
                parts.iter().map(|(name, part)| (name.clone(), part.node.live())).collect()
            }
            Self::Keyed(parts, _) => {
                let element = |(name, part): (&String, &Part)| {
                    with(part.node.live(), &[("name", name), ("kind", "default")])
                };
                parts.iter().map(element).collect()
            }
            Self::Set(members) => members.keys().cloned().collect(),
        }
    }

    /// What we sent and how the server noted it; nothing if no part is ours.
    fn ours(&self) -> Option<(Value, Value)> {
        match self {
            Self::Whole(value) => Some((value.clone(), json!({}))),
            Self::Map(parts) => {
                let (mut sent, mut noted) = (Map::new(), Map::new());
                for (name, part) in parts.iter().filter(|(_, part)| part.ours) {
                    if let Some((value, fields)) = part.node.ours() {
                        sent.insert(name.clone(), value);
                        noted.insert(format!("f:{name}"), fields);
                    }
                }
                (!sent.is_empty()).then_some((sent.into(), noted.into()))
            }
            Self::Keyed(parts, said) => {
                let (mut sent, mut noted) = (Vec::new(), Map::new());
                for (name, part) in parts.iter().filter(|(_, part)| part.ours) {
                    let (value, fields) = part.node.ours().unwrap_or((json!({}), json!({})));
                    let keys: &[_] = &[("name", name.as_str()), ("kind", "default")];
                    let keys = if *said { keys } else { &keys[..1] };
                    let mut fields = with(fields, &[]);
                    for (key, _) in keys {
                        fields[format!("f:{key}")] = json!({});
                    }
                    sent.push(with(value, keys));
                    noted.insert(format!("k:{}", json!({"kind": "default", "name": name})), fields);
                }
                (!sent.is_empty()).then_some((sent.into(), noted.into()))
            }
            Self::Set(members) => {
                let ours = members.iter().filter(|(_, ours)| **ours).map(|(name, _)| name);
                let sent: Vec<&String> = ours.collect();
                let noted = sent.iter().map(|name| (format!("v:{}", json!(name)), json!({})));
                (!sent.is_empty()).then(|| (json!(sent), noted.collect()))
            }
        }
    }

    fn sent(&self) -> (Value, FieldSet) {
        let (sent, noted) = self.ours().unwrap_or((json!({}), json!({})));
        (sent, FieldSet::deserialize(noted).unwrap())
    }
}

fn with(mut object: Value, fields: &[(&str, &str)]) -> Value {
    for (name, value) in fields {
        object[*name] = json!(value);
    }
    object
}

/// Pointers to everything inside a value.
fn pointers(value: &Value, prefix: &str, found: &mut Vec<String>) {
    let mut below = |part: String, value: &Value| {
        let pointer = format!("{prefix}/{}", part.replace('~', "~0").replace('/', "~1"));
        found.push(pointer.clone());
        pointers(value, &pointer, found);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| below(name.clone(), value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| below(at.to_string(), value));
        }
        _ => {}
    }
}

fn any_pointer(value: &Value, choice: prop::sample::Index) -> String {
    let mut found = Vec::new();
    pointers(value, "", &mut found);
    found.swap_remove(choice.index(found.len()))
}

/// Removes, replaces, moves or doubles something.
fn edited(object: &Value, choice: prop::sample::Index, how: u8) -> Value {
    let pointer = any_pointer(object, choice);
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut edited = object.clone();
    match (edited.pointer_mut(parent).unwrap(), how % 4) {
        (Value::Object(map), 0) => drop(map.remove(&name.replace("~1", "/").replace("~0", "~"))),
        (Value::Array(list), 0) => drop(list.remove(name.parse().unwrap())),
        (Value::Array(list), 1) => list.rotate_left(1),
        (Value::Array(list), 2) => list.push(list[0].clone()),
        _ => *edited.pointer_mut(&pointer).unwrap() = json!("edited"),
    }
    edited
}

fn ignored(pointer: &str) -> Ignored {
    let spot = |part: &str| match part.parse::<usize>() {
        Ok(_) => Spot::Every,
        Err(_) => Spot::Field(part.replace("~1", "/").replace("~0", "~")),
    };
    Ignored::new([pointer.split('/').skip(1).map(spot).collect()])
}

fn nothing() -> Ignored {
    Ignored::default()
}

proptest! {
    // No files with failing cases: what was learned belongs into a test with a name.
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_sent_is_covered_and_projects_like_the_whole_object(node in object()) {
        let (live, (sent, fields)) = (node.live(), node.sent());
        prop_assert_eq!(matches(&sent, &fields, &live, &nothing()), Matching::Covered);
        prop_assert_eq!(differences(&fields, &live, &live, &nothing()), []);
        prop_assert_eq!(project(&fields, &live, &nothing()), project(&fields, &sent, &nothing()));
    }

    #[test]
    fn a_projection_changes_exactly_when_there_are_differences(
        node in object(), choice: prop::sample::Index, how: u8,
    ) {
        let (live, (_, fields)) = (node.live(), node.sent());
        let other = edited(&live, choice, how);
        let told = differences(&fields, &live, &other, &nothing());
        let same = project(&fields, &live, &nothing()) == project(&fields, &other, &nothing());
        prop_assert_eq!(same, told.is_empty(), "{:?}", told);
    }

    #[test]
    fn what_is_ignored_may_change(
        node in object(), choice: prop::sample::Index, how: u8, inside: prop::sample::Index,
    ) {
        let (live, (sent, fields)) = (node.live(), node.sent());
        let pointer = any_pointer(&live, choice);
        // To ignore a key field would make the elements' identity somebody else's.
        let pointer = pointer.trim_end_matches("/name").trim_end_matches("/kind");
        let ignored = ignored(pointer);
        prop_assert_eq!(matches(&sent, &fields, &live, &ignored), Matching::Covered);
        let body = without_ignored(&sent, &ignored, &|_| false);
        prop_assert_eq!(&without_ignored(&body, &ignored, &|_| false), &body);
        prop_assert_eq!(&without_ignored(&sent, &ignored, &|_| true), &sent);
        let mut other = live.clone();
        let place = other.pointer_mut(pointer).unwrap();
        *place = match place {
            Value::Object(map) if !map.is_empty() => edited(place, inside, how % 2 * 3),
            _ => json!("edited"),
        };
        let keyed = pointer.rsplit_once('/').is_some_and(|(_, last)| last.parse::<usize>().is_ok());
        if !keyed {
            let told = differences(&fields, &live, &other, &ignored);
            prop_assert_eq!(told, []);
            prop_assert_eq!(project(&fields, &live, &ignored), project(&fields, &other, &ignored));
        }
    }
}
