//! From a spanned YAML tree to the shapes an author may write.
//!
//! In: a [`Node`] and a [`Decoder`] that collects mistakes. Out: a value, or nothing once a mistake was noted.
//! Every mistake of a document is found in one go: a field that does not decode never stops its neighbours.
//! Never here: what a field means; that is for `compile`.

use crate::comparison::closest;
use crate::problem::Problem;
use crate::source::{Place, Source};
use crate::yaml::{Kind, Node};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Collects the mistakes of one document.
pub(crate) struct Decoder {
    source: Arc<Source>,
    /// What was found so far.
    pub problems: Vec<Problem>,
}

/// A value and the bytes it was written in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spanned<T> {
    /// What was written.
    pub value: T,
    /// Where, in bytes of the file.
    pub span: Range<usize>,
}

/// Something an author may write at one place of a rule.
pub(crate) trait Decode: Sized {
    /// Reads it, or notes why not.
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self>;

    /// The value when the field is not there; `None` makes the field mandatory.
    fn absent() -> Option<Self> {
        None
    }

    /// The same as JSON Schema, for editors; named shapes go into `shapes`.
    fn schema(shapes: &mut Shapes) -> Value;
}

/// The named shapes of a JSON Schema, each once.
#[derive(Default)]
pub(crate) struct Shapes {
    /// By name.
    pub(crate) by_name: BTreeMap<&'static str, Value>,
}

impl Shapes {
    /// A reference to a shape, which is described when it is first met.
    pub(crate) fn named(
        &mut self,
        name: &'static str,
        describe: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        if !self.by_name.contains_key(name) {
            // Before it is described, since shapes contain each other.
            self.by_name.insert(name, Value::Null);
            let described = describe(self);
            self.by_name.insert(name, described);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }
}

impl Decoder {
    /// For a document of `source`.
    pub(crate) fn new(source: &Arc<Source>) -> Self {
        Self { source: Arc::clone(source), problems: Vec::new() }
    }

    /// Notes a mistake at a place.
    pub(crate) fn note(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: &Range<usize>,
    ) {
        self.problems.push(Problem::new(code, message).at(self.place(span)));
    }

    /// Notes a mistake with a remedy.
    pub(crate) fn note_with_hint(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: &Range<usize>,
        hint: impl Into<String>,
    ) {
        self.problems.push(Problem::new(code, message).at(self.place(span)).hint(hint));
    }

    /// The source these spans belong to.
    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// A span of this document's source.
    pub(crate) fn place(&self, span: &Range<usize>) -> Place {
        Place::new(&self.source, span.clone())
    }

    /// Notes that something of another type was expected.
    pub(crate) fn wrong_type(&mut self, node: &Node, expected: &str) {
        self.wrong(node, expected, None);
    }

    fn wrong(&mut self, node: &Node, expected: &str, hint: Option<String>) {
        let message = format!("expected {expected}, found {}", describe(node));
        let place = self.place(&node.span).first_line();
        let nothing = matches!(node.kind, Kind::Null { explicit: false });
        let hint = if nothing { Some("write a value, or leave the key out".into()) } else { hint };
        let problem = Problem::new("wrong-type", message).at(place);
        self.problems.push(Problem { hint, ..problem });
    }

    /// Notes that one of a few words was expected.
    pub(crate) fn wrong_word(&mut self, node: &Node, found: &str, words: &[&str]) {
        let list: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        let hint = nearest(found, words).map(|near| format!("did you mean `{near}`?"));
        self.wrong(node, &list.join(" or "), hint);
    }

    /// The fields of a mapping; unknown ones are noted with the nearest known name.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        known: &'static [&'static str],
    ) -> Option<Fields<'n>> {
        let Kind::Mapping(entries) = &node.kind else {
            self.wrong(node, "a mapping", Some(format!("known here: {}", known.join(", "))));
            return None;
        };
        let mut fields =
            Fields { span: node.span.clone(), by_key: BTreeMap::new(), meant: BTreeSet::new() };
        for (key, value) in entries {
            let name = key.as_str().unwrap_or_default();
            match known.iter().find(|known| **known == name) {
                Some(known) => drop(fields.by_key.insert(known, value)),
                None => fields.meant.extend(self.unknown_field(name, key, known)),
            }
        }
        Some(fields)
    }

    /// Notes a key that is not known here; gives the one that was probably meant.
    pub(crate) fn unknown_field<'k>(
        &mut self,
        name: &str,
        key: &Node,
        known: &[&'k str],
    ) -> Option<&'k str> {
        let near = nearest(name, known);
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        self.note_with_hint("unknown-field", format!("unknown field `{name}`"), &key.span, hint);
        near
    }
}

/// The fields of one mapping, by name.
pub(crate) struct Fields<'n> {
    span: Range<usize>,
    by_key: BTreeMap<&'static str, &'n Node>,
    /// What unknown keys were probably meant to be: they are not missing as well.
    meant: BTreeSet<&'static str>,
}

impl<'n> Fields<'n> {
    /// The node under a key, if it was written.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.by_key.get(key).copied()
    }

    /// Decodes one field; a mandatory one that is missing is noted at the mapping.
    pub(crate) fn take<T: Decode>(&self, key: &'static str, decoder: &mut Decoder) -> Option<T> {
        match self.get(key) {
            Some(node) => T::decode(node, decoder),
            None => T::absent().or_else(|| {
                if self.meant.contains(key) {
                    return None;
                }
                let start = self.span.start;
                let message = format!("field `{key}` is missing");
                decoder.note("missing-field", message, &(start..start + 1));
                None
            }),
        }
    }
}

/// What was probably meant by a name: its word for the same thing in other tools, else a slip of the finger.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut same = SAME_THING.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    same.find_map(|(_, own)| known.iter().copied().find(|known| known == own))
        .or_else(|| closest(name, known.iter().copied()))
}

/// Words of other tools and programming languages, and ours.
const SAME_THING: &[(&str, &str)] = &[
    ("and", "allOf"),
    ("dependsOn", "needs"),
    ("each", "forEach"),
    ("else", "otherwise"),
    ("eq", "equals"),
    ("for", "forEach"),
    ("greaterThan", "moreThan"),
    ("gt", "moreThan"),
    ("gte", "atLeast"),
    ("if", "when"),
    ("jsonPath", "path"),
    ("lt", "lessThan"),
    ("lte", "atMost"),
    ("match", "matches"),
    ("max", "atMost"),
    ("maximum", "atMost"),
    ("min", "atLeast"),
    ("minimum", "atLeast"),
    ("msg", "message"),
    ("ne", "notEquals"),
    ("or", "anyOf"),
    ("pattern", "matches"),
    ("regex", "matches"),
    ("value", "equals"),
    ("vars", "let"),
];

/// What a node is, for messages.
fn describe(node: &Node) -> String {
    match &node.kind {
        Kind::Null { .. } => "nothing".into(),
        Kind::Bool(value) => format!("the boolean {value}"),
        Kind::Number(value) => format!("the number {value}"),
        Kind::String { text, .. } if text.chars().count() <= 40 => format!("the text `{text}`"),
        Kind::String { .. } => "a text".into(),
        Kind::Sequence(_) => "a list".into(),
        Kind::Mapping(_) => "a mapping".into(),
    }
}

impl Decode for String {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        if let Kind::String { text, .. } = &node.kind {
            return Some(text.clone());
        }
        let scalar = matches!(node.kind, Kind::Bool(_) | Kind::Number(_));
        decoder.wrong(node, "a text", scalar.then(|| "quote it".into()));
        None
    }

    fn schema(_: &mut Shapes) -> Value {
        json!({"type": "string"})
    }
}

impl Decode for bool {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        if let Kind::Bool(value) = &node.kind {
            Some(*value)
        } else {
            let hint = match node.as_str() {
                Some("true" | "false") => Some("drop the quotes".to_owned()),
                _ => None,
            };
            decoder.wrong(node, "true or false", hint);
            None
        }
    }

    fn schema(_: &mut Shapes) -> Value {
        json!({"type": "boolean"})
    }
}

impl Decode for u64 {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        let number = match &node.kind {
            Kind::Number(number) => number.as_u64(),
            _ => None,
        };
        if number.is_none() {
            decoder.wrong_type(node, "a whole number");
        }
        number
    }

    fn schema(_: &mut Shapes) -> Value {
        json!({"type": "integer", "minimum": 0})
    }
}

/// Free-form data.
impl Decode for Value {
    fn decode(node: &Node, _: &mut Decoder) -> Option<Self> {
        Some(node.to_json())
    }

    fn schema(_: &mut Shapes) -> Value {
        json!({})
    }
}

impl<T: Decode> Decode for Spanned<T> {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        Some(Self { value: T::decode(node, decoder)?, span: node.span.clone() })
    }

    fn schema(shapes: &mut Shapes) -> Value {
        T::schema(shapes)
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        T::decode(node, decoder).map(Some)
    }

    fn schema(shapes: &mut Shapes) -> Value {
        T::schema(shapes)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        let Kind::Sequence(items) = &node.kind else {
            decoder.wrong(node, "a list", Some("put it in a list: `- …` or `[…]`".into()));
            return None;
        };
        // Every item is decoded, so that the mistakes of all of them are noted, before a failed one fails the list.
        let items: Vec<_> = items.iter().map(|item| T::decode(item, decoder)).collect();
        items.into_iter().collect()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }

    fn schema(shapes: &mut Shapes) -> Value {
        json!({"type": "array", "items": T::schema(shapes)})
    }
}

impl<T: Decode> Decode for BTreeMap<String, T> {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            decoder.wrong_type(node, "a mapping");
            return None;
        };
        let items: Vec<_> = entries
            .iter()
            .map(|(key, value)| {
                let value = T::decode(value, decoder)?;
                Some((key.as_str().unwrap_or_default().to_owned(), value))
            })
            .collect();
        items.into_iter().collect()
    }

    fn absent() -> Option<Self> {
        Some(BTreeMap::new())
    }

    fn schema(shapes: &mut Shapes) -> Value {
        json!({"type": "object", "additionalProperties": T::schema(shapes)})
    }
}

/// Declares a mapping an author may write: the struct, its documentation and its decoder in one place.
///
/// Each field gives its Rust name, its YAML key, its type and what it means.
macro_rules! shape {
    (
        $(#[doc = $doc:literal])+
        $name:ident {
            $( $(#[doc = $field_doc:literal])+ $field:ident = $key:literal : $type:ty, )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub(crate) struct $name {
            $( $(#[doc = $field_doc])+ pub(crate) $field: $type, )+
        }

        impl $crate::rule::decode::Decode for $name {
            fn decode(
                node: &$crate::yaml::Node,
                decoder: &mut $crate::rule::decode::Decoder,
            ) -> Option<Self> {
                let fields = decoder.fields(node, &[$($key),+])?;
                $( let $field = fields.take::<$type>($key, decoder); )+
                Some(Self { $( $field: $field?, )+ })
            }

            fn schema(shapes: &mut $crate::rule::decode::Shapes) -> serde_json::Value {
                shapes.named(stringify!($name), |shapes| {
                    let mut properties = serde_json::Map::new();
                    let mut required: Vec<&str> = Vec::new();
                    $(
                        let mut field = <$type as $crate::rule::decode::Decode>::schema(shapes);
                        field["description"] = concat!($($field_doc,)+).trim().into();
                        properties.insert($key.into(), field);
                        if <$type as $crate::rule::decode::Decode>::absent().is_none() {
                            required.push($key);
                        }
                    )+
                    serde_json::json!({
                        "type": "object",
                        "description": concat!($($doc,)+).trim(),
                        "properties": properties,
                        "required": required,
                        "additionalProperties": false,
                    })
                })
            }
        }
    };
}

pub(crate) use shape;

/// Declares a closed set of words an author may write.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        $name:ident { $( $(#[doc = $word_doc:literal])+ $word:ident = $text:literal, )+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[doc = $word_doc])+ $word, )+ }

        impl $crate::rule::decode::Decode for $name {
            fn decode(
                node: &$crate::yaml::Node,
                decoder: &mut $crate::rule::decode::Decoder,
            ) -> Option<Self> {
                match node.as_str() {
                    $( Some($text) => Some(Self::$word), )+
                    other => {
                        let words = [$($text),+];
                        decoder.wrong_word(node, other.unwrap_or_default(), &words);
                        None
                    }
                }
            }

            fn schema(_: &mut $crate::rule::decode::Shapes) -> serde_json::Value {
                serde_json::json!({"enum": [$($text),+]})
            }
        }
    };
}
