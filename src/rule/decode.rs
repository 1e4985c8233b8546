//! From a spanned YAML tree to the shapes an author may write.
//!
//! In: a [`Node`] and a [`Decoder`] that collects mistakes. Out: a value, or nothing once a mistake was noted.
//! Every mistake of a document is found in one go: a field that does not decode never stops its neighbours.
//! Never here: what a field means; that is for `compile`.

use crate::problem::Problem;
use crate::source::{Place, Source};
use crate::yaml::{Kind, Node};
use serde_json::{Value, json};
use std::collections::BTreeMap;
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
        self.note(
            "wrong-type",
            format!("expected {expected}, found {}", describe(node)),
            &node.span,
        );
    }

    /// The fields of a mapping; unknown ones are noted with the nearest known name.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        known: &'static [&'static str],
    ) -> Option<Fields<'n>> {
        let Kind::Mapping(entries) = &node.kind else {
            self.wrong_type(node, &format!("a mapping with {}", known.join(", ")));
            return None;
        };
        let mut fields = Fields { span: node.span.clone(), by_key: BTreeMap::new() };
        for (key, value) in entries {
            let name = key.as_str().unwrap_or_default();
            match known.iter().find(|known| **known == name) {
                Some(known) => drop(fields.by_key.insert(known, value)),
                None => self.unknown_field(name, key, known),
            }
        }
        Some(fields)
    }

    /// Notes a key that is not known here.
    pub(crate) fn unknown_field(&mut self, name: &str, key: &Node, known: &[&str]) {
        let hint = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        self.note_with_hint("unknown-field", format!("unknown field `{name}`"), &key.span, hint);
    }
}

/// The fields of one mapping, by name.
pub(crate) struct Fields<'n> {
    span: Range<usize>,
    by_key: BTreeMap<&'static str, &'n Node>,
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
                let start = self.span.start;
                let message = format!("field `{key}` is missing");
                decoder.note("missing-field", message, &(start..start + 1));
                None
            }),
        }
    }
}

/// The nearest of several names, if one is near enough to be a slip of the finger.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = 1 + name.chars().count() / 4;
    known
        .iter()
        .map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), *candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance with one row of memory; names are short.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

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
        decoder.wrong_type(node, "a text");
        if let (Some(problem), Kind::Bool(_) | Kind::Number(_)) =
            (decoder.problems.last_mut(), &node.kind)
        {
            problem.hint = Some("quote it".into());
        }
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
            decoder.wrong_type(node, "true or false");
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
            decoder.wrong_type(node, "a list");
            if let Some(problem) = decoder.problems.last_mut() {
                problem.hint = Some("put it in a list: `- …` or `[…]`".into());
            }
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
                    _ => {
                        decoder.wrong_type(node, concat!("one of" $(, " `", $text, "`")+));
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
