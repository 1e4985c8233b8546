//! What a schema means: every type resolved, every attribute in its place.
//!
//! In: nothing. Out: the types that the other parts make and read. Never here: `OpenAPI`, YAML.

use serde_json::{Number, Value};
use std::ops::Range;

/// What a value must be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schema {
    pub(super) shape: Shape,
    pub(super) nullable: bool,
    /// Once there, it stays as it is; where the file says so.
    pub(super) immutable: Option<Range<usize>>,
    pub(super) default: Option<Value>,
    pub(super) description: Option<String>,
}

/// The kind of value, with its bounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Text(Text),
    /// One of these: all texts, or all whole numbers.
    Choice(Vec<Value>),
    Whole(Whole),
    Number(Bounds<Number>),
    Boolean,
    Quantity,
    Duration,
    DateTime,
    IntOrString,
    /// A map of anything.
    Free,
    /// Anything at all; only for what a status is made of.
    Any,
    Map {
        values: Box<Schema>,
        size: Bounds<u32>,
    },
    List(List),
    Object {
        fields: Vec<Field>,
        open: bool,
    },
}

/// What a text must be like.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text {
    /// In characters.
    pub(super) length: Bounds<u32>,
    pub(super) pattern: Option<String>,
}

/// A whole number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Whole {
    /// It fits 32 bits; otherwise 64.
    pub(super) short: bool,
    pub(super) bounds: Bounds<i64>,
}

/// A list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    pub(super) items: Box<Schema>,
    pub(super) identity: Identity,
    pub(super) size: Bounds<u32>,
}

/// What makes two elements of a list the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Identity {
    /// Nothing was said: the API server replaces the list as a whole.
    Unsaid,
    Atomic,
    Set,
    Keys(Vec<String>),
}

/// The least and the greatest, both included.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounds<T> {
    pub(super) min: Option<T>,
    pub(super) max: Option<T>,
}

impl<T> Default for Bounds<T> {
    fn default() -> Self {
        Self { min: None, max: None }
    }
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) schema: Schema,
}

impl Schema {
    /// Without anything but its shape.
    pub(super) fn of(shape: Shape) -> Self {
        Self { shape, nullable: false, immutable: None, default: None, description: None }
    }

    /// How many schemas it is made of, itself included.
    pub(super) fn size(&self) -> usize {
        1 + match &self.shape {
            Shape::Map { values, .. } => values.size(),
            Shape::List(list) => list.items.size(),
            Shape::Object { fields, .. } => fields.iter().map(|field| field.schema.size()).sum(),
            _ => 0,
        }
    }

    /// The type alone: what can be said of a value that was read from such a field and written somewhere else.
    pub(super) fn bare(&self) -> Self {
        let bare = |schema: &Self| Box::new(schema.bare());
        Self::of(match &self.shape {
            Shape::Text(_) => Shape::Text(Text::default()),
            Shape::Choice(values) if values.iter().all(Value::is_string) => {
                Shape::Text(Text::default())
            }
            Shape::Choice(_) => Shape::Whole(Whole::default()),
            Shape::Whole(whole) => Shape::Whole(Whole { short: whole.short, ..Whole::default() }),
            Shape::Number(_) => Shape::Number(Bounds::default()),
            Shape::Map { values, .. } => {
                Shape::Map { values: bare(values), size: Bounds::default() }
            }
            Shape::List(list) => Shape::list_of(list.items.bare()),
            Shape::Object { fields, open } => {
                let field = |field: &Field| Field {
                    name: field.name.clone(),
                    required: false,
                    schema: field.schema.bare(),
                };
                Shape::Object { fields: fields.iter().map(field).collect(), open: *open }
            }
            other => other.clone(),
        })
    }

    /// What the elements of a list or the values of a map are.
    pub(super) fn inner(&self) -> Option<&Self> {
        match &self.shape {
            Shape::Map { values, .. } => Some(values),
            Shape::List(list) => Some(&list.items),
            _ => None,
        }
    }

    /// What stands under a key.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match &self.shape {
            Shape::Object { fields, .. } => {
                fields.iter().find(|field| field.name == name).map(|field| &field.schema)
            }
            Shape::Map { values, .. } => Some(values),
            _ => None,
        }
    }
}

impl Shape {
    pub(super) fn list_of(items: Schema) -> Self {
        let items = Box::new(items);
        Self::List(List { items, identity: Identity::Unsaid, size: Bounds::default() })
    }

    /// As its author would call it.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Choice(_) => "one of",
            Self::Whole(Whole { short: true, .. }) => "int32",
            Self::Whole(_) => "integer",
            Self::Number(_) => "number",
            Self::Boolean => "boolean",
            Self::Quantity => "quantity",
            Self::Duration => "duration",
            Self::DateTime => "date-time",
            Self::IntOrString => "int-or-string",
            Self::Free | Self::Object { .. } => "object",
            Self::Any => "anything",
            Self::Map { .. } => "map",
            Self::List(_) => "list",
        }
    }

    /// Whether it is a single value, which can be a key or a column.
    pub(super) fn is_scalar(&self) -> bool {
        !matches!(
            self,
            Self::Free | Self::Any | Self::Map { .. } | Self::List(_) | Self::Object { .. }
        )
    }
}
