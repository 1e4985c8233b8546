//! What a template can see.
//!
//! In: JSON values under names, and which of them are still to come. Out: engine values that know their own path, so
//! that a missing one can be called by its name even through a loop or a variable. Never here: rendering.

use minijinja::value::{Enumerator, Object, ObjectRepr, Value};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

/// The names of one rendering and what they stand for. Cheap to clone: values are shared.
#[derive(Clone, Debug, Default)]
pub struct Context {
    names: Arc<BTreeMap<String, Value>>,
}

/// Whether a missing value may still appear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Awaits {
    /// No: reading it is a mistake.
    #[default]
    Nothing,
    /// Yes, anything below: reading it means to wait.
    Everything,
    /// Yes, but only below this key (the status of a parent).
    Key(String),
}

/// A value of a context, converted once and then shared by every context that needs it.
#[derive(Clone, Debug)]
pub struct Part(Value);

impl Part {
    /// Converts a JSON value (about 7 us per KB). `path` is what people call it: `parent`, `children.deployment`.
    pub fn new(path: &str, json: &Json, awaits: Awaits) -> Self {
        Self(convert(json, &Trail::root(path), awaits))
    }

    /// Puts parts together under names, without converting them again.
    pub fn group(
        path: &str,
        parts: impl IntoIterator<Item = (String, Self)>,
        awaits: Awaits,
    ) -> Self {
        let entries = parts.into_iter().map(|(name, part)| (name, part.0)).collect();
        Self(Value::from_object(Node::new(Content::Map(entries), Some(Trail::root(path)), awaits)))
    }

    /// A map that is converted when a template looks into it, since most never do. `lend` shows the JSON value.
    pub fn later(
        path: &str,
        lend: impl Fn(&mut dyn FnMut(&Json)) + Send + Sync + 'static,
        awaits: Awaits,
    ) -> Self {
        let later = Some(Later(Box::new(lend)));
        let trail = Some(Trail::root(path));
        Self(Value::from_object(Node { content: OnceLock::new(), later, trail, awaits }))
    }
}

impl Context {
    /// Nothing to see yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a part visible; a part that had the name before is replaced.
    pub fn insert(&mut self, name: impl Into<String>, part: Part) {
        Arc::make_mut(&mut self.names).insert(name.into(), part.0);
    }

    /// Like [`Self::insert`], to build a context in one expression.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, part: Part) -> Self {
        self.insert(name, part);
        self
    }

    pub(super) fn get(&self, name: &str) -> Option<Value> {
        self.names.get(name).cloned()
    }
}

/// A map or a list that knows where it is. Numbers, texts, booleans and null are the engine's own values.
#[derive(Debug)]
pub(super) struct Node {
    content: OnceLock<Content>,
    /// Where the content comes from, if nobody has looked yet.
    later: Option<Later>,
    /// Nothing for values that a template made.
    pub(super) trail: Option<Arc<Trail>>,
    pub(super) awaits: Awaits,
}

/// Shows a JSON value to whoever asks.
type Lend = dyn Fn(&mut dyn FnMut(&Json)) + Send + Sync;

struct Later(Box<Lend>);

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Later")
    }
}

#[derive(Debug)]
pub(super) enum Content {
    Map(BTreeMap<String, Value>),
    List(Vec<Value>),
}

/// The way from a name to a value.
#[derive(Debug)]
pub(super) struct Trail {
    before: Option<Arc<Self>>,
    step: String,
}

impl Trail {
    fn root(name: &str) -> Arc<Self> {
        Arc::new(Self { before: None, step: name.to_owned() })
    }

    fn key(self: &Arc<Self>, key: &str) -> Arc<Self> {
        let mut step = String::new();
        write_key(&mut step, key);
        Arc::new(Self { before: Some(Arc::clone(self)), step })
    }

    fn index(self: &Arc<Self>, index: usize) -> Arc<Self> {
        Arc::new(Self { before: Some(Arc::clone(self)), step: format!("[{index}]") })
    }
}

/// As a template would write it: `parent.spec.files["a/b"][0]`.
impl std::fmt::Display for Trail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(before) = &self.before {
            before.fmt(f)?;
        }
        f.write_str(&self.step)
    }
}

/// Appends one step to a path.
pub(super) fn write_key(path: &mut String, key: &str) {
    let plain = !key.starts_with(|c: char| c.is_ascii_digit())
        && !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // Writing to a string cannot fail.
    let _ = if plain { write!(path, ".{key}") } else { write!(path, "[{key:?}]") };
}

fn convert(json: &Json, trail: &Arc<Trail>, awaits: Awaits) -> Value {
    match content(json, trail, &awaits) {
        Some(content) => Value::from_object(Node::new(content, Some(Arc::clone(trail)), awaits)),
        None => scalar(json),
    }
}

/// What is in a map or a list; nothing for a leaf.
fn content(json: &Json, trail: &Arc<Trail>, awaits: &Awaits) -> Option<Content> {
    let below = |key: &str| match awaits {
        Awaits::Everything => Awaits::Everything,
        Awaits::Key(name) if name == key => Awaits::Everything,
        _ => Awaits::Nothing,
    };
    match json {
        Json::Object(map) => Some(Content::Map(
            map.iter()
                .map(|(key, value)| (key.clone(), child(value, || trail.key(key), below(key))))
                .collect(),
        )),
        Json::Array(items) => Some(Content::List(
            items
                .iter()
                .enumerate()
                .map(|(index, value)| child(value, || trail.index(index), below("")))
                .collect(),
        )),
        _ => None,
    }
}

/// Leaves need no trail, and most values are leaves.
fn child(json: &Json, trail: impl FnOnce() -> Arc<Trail>, awaits: Awaits) -> Value {
    if json.is_object() || json.is_array() { convert(json, &trail(), awaits) } else { scalar(json) }
}

/// A value that a template made: it has no path.
pub(super) fn value(json: &Json) -> Value {
    let content = match json {
        Json::Object(map) => Content::Map(map.iter().map(|(k, v)| (k.clone(), value(v))).collect()),
        Json::Array(items) => Content::List(items.iter().map(value).collect()),
        leaf => return scalar(leaf),
    };
    Value::from_object(Node::new(content, None, Awaits::Nothing))
}

fn scalar(json: &Json) -> Value {
    match json {
        Json::Bool(value) => Value::from(*value),
        Json::String(text) => Value::from(text.as_str()),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::from(value),
            (None, Some(value)) => Value::from(value),
            (None, None) => Value::from(number.as_f64().unwrap_or_default()),
        },
        _ => Value::from(()),
    }
}

impl Node {
    fn new(content: Content, trail: Option<Arc<Trail>>, awaits: Awaits) -> Self {
        Self { content: content.into(), later: None, trail, awaits }
    }

    pub(super) fn content(&self) -> &Content {
        self.content.get_or_init(|| {
            let mut made = None;
            if let (Some(Later(lend)), Some(trail)) = (&self.later, &self.trail) {
                lend(&mut |json| made = content(json, trail, &self.awaits));
            }
            made.unwrap_or_else(|| Content::Map(BTreeMap::new()))
        })
    }

    pub(super) fn step(&self, key: &Value) -> Option<Value> {
        match self.content() {
            Content::Map(entries) => match key.as_str() {
                Some(key) => entries.get(key).cloned(),
                // `get(x, "a.0")` cannot know whether it meets a list.
                None => entries.get(&key.as_i64()?.to_string()).cloned(),
            },
            Content::List(items) => {
                let index = key.as_i64()?;
                let index =
                    if index < 0 { index + i64::try_from(items.len()).ok()? } else { index };
                items.get(usize::try_from(index).ok()?).cloned()
            }
        }
    }

    /// Whether what is missing under a key may still appear.
    pub(super) fn awaits(&self, key: &Value) -> bool {
        match &self.awaits {
            Awaits::Nothing => false,
            Awaits::Everything => true,
            Awaits::Key(name) => key.as_str() == Some(name),
        }
    }
}

impl Object for Node {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match self.content() {
            Content::Map(_) => ObjectRepr::Map,
            Content::List(_) => ObjectRepr::Seq,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.step(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match self.content() {
            Content::Map(entries) => entries.get(key).cloned(),
            Content::List(_) => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.content() {
            Content::Map(entries) => {
                Enumerator::Values(entries.keys().map(|key| Value::from(key.as_str())).collect())
            }
            Content::List(items) => Enumerator::Seq(items.len()),
        }
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        match self.content() {
            Content::Map(entries) => Some(entries.len()),
            Content::List(items) => Some(items.len()),
        }
    }
}
