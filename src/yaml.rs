//! YAML as Kubernetes reads it, with the place of every value.
//!
//! In: the text of a rule file, an example object or a rendered template. Out: a tree whose nodes know their bytes in
//! that text, JSON, or one mistake with its place. Never here: templates, files, knowledge of what the values mean.
//!
//! A plain scalar means what `sigs.k8s.io/yaml` (kubectl's reader, YAML 1.1) makes of it, so that `no`, `0755` and
//! `1_000` are a boolean and two integers. Keys are always text. Whatever two readers could understand differently
//! (duplicate keys, unknown tags, directives) is refused.

mod compose;
mod entries;
mod hint;
mod scalar;
mod words;

use crate::path::Step;
use crate::source::Position;
use serde_json::{Map, Number, Value};
use std::ops::Range;

/// How much one text may ask for; everything beyond is an error, never a slow reader.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the text, and of all its scalars once aliases are expanded.
    pub bytes: usize,
    /// Nodes, counted once per use of an alias.
    pub nodes: usize,
    /// Collections inside each other.
    pub depth: usize,
    /// Documents in one text.
    pub documents: usize,
}

impl Limits {
    /// For files that people write: rules, templates' examples, resource definitions.
    pub const FILE: Self = Self { bytes: 4 << 20, nodes: 200_000, depth: 64, documents: 1_000 };
    /// For what one template renders.
    pub const RENDERED: Self = Self { bytes: 5 << 20, nodes: 200_000, depth: 64, documents: 100 };
}

/// One document of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its content; an empty document is a null that is not explicit.
    pub root: Node,
}

/// A value and the bytes that it was written with.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub kind: Kind,
    /// Bytes of the text: a block scalar's content, a quoted scalar with its quotes, a collection with its last item,
    /// and for an alias the alias.
    pub span: Range<usize>,
    /// Spaces that the reader took off the front of each line of a block scalar; 0 for everything else.
    pub indent: usize,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// No value: `null` or `~` (explicit), or nothing at all after a key or a dash.
    Null {
        /// Whether somebody wrote it.
        explicit: bool,
    },
    /// `true`, and the other words that YAML 1.1 takes for it.
    Bool(bool),
    /// An integer (exact over the whole range of `i64` and `u64`) or a finite fraction.
    Number(Number),
    /// Text.
    String {
        /// What it says, escapes and folding resolved.
        text: String,
        /// How it was written.
        style: Style,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys (always [`Kind::String`], in the order of the text, without duplicates) and values.
    Mapping(Vec<(Node, Node)>),
}

/// How a text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Bare.
    Plain,
    /// In quotes, or tagged `!!str`.
    Quoted,
    /// A `|` block: line for line.
    Literal,
    /// A `>` block: lines joined.
    Folded,
}

/// A text that cannot be read, or must not be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// Bytes of the text.
    pub span: Range<usize>,
    /// What to write instead, where the text gives a clue.
    pub hint: Option<String>,
}

/// Where the content of a text begins in the file that holds it, for programs and templates inside of YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentOrigin {
    /// Of the first character of the content.
    pub start: Position,
    /// Columns in front of every later line that are not content.
    pub indent: usize,
}

/// Reads every document of `text`. Merge keys (`<<`) are resolved: own keys win, then earlier maps.
pub fn parse(text: &str, limits: &Limits) -> Result<Vec<Document>, Error> {
    compose::documents(text, limits, compose::Merges::Resolve)
}

/// Like [`parse`], but leaves `<<` keys (plain style) in the tree, for texts whose merged maps are known only later.
pub fn parse_keeping_merges(text: &str, limits: &Limits) -> Result<Vec<Document>, Error> {
    compose::documents(text, limits, compose::Merges::Keep)
}

/// YAML that every Kubernetes tool reads back as exactly this value: `no` and `1_000` as text come out quoted.
pub fn print(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}

impl Node {
    /// The value without places.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null { .. } => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::String { text, .. } => Value::String(text.clone()),
            Kind::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Kind::Mapping(entries) => Value::Object(
                entries
                    .iter()
                    .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.to_json())))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The value under a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Kind::Mapping(entries) = &self.kind else {
            return None;
        };
        entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    /// The bytes that stand for a part: its key, or the first line of an element; of what is nearest above it, where it
    /// is not here.
    pub fn locate(&self, part: &[Step]) -> Range<usize> {
        let mut node = self;
        let mut found = self.span.clone();
        for step in part {
            let below = match (step, &node.kind) {
                // What is not written plainly may come with a merged map.
                (Step::Key(key), Kind::Mapping(entries)) => [key.as_str(), "<<"]
                    .into_iter()
                    .find_map(|key| entries.iter().find(|(name, _)| name.as_str() == Some(key)))
                    .map(|(name, value)| (name.span.clone(), value)),
                (Step::Index(index), Kind::Sequence(items)) => {
                    items.get(*index).map(|item| (item.span.clone(), item))
                }
                _ => None,
            };
            let Some((span, below)) = below else { break };
            (found, node) = (span, below);
        }
        found
    }

    /// Where the content of this text begins in `text`, from which the node was read; nothing for other kinds.
    ///
    /// In a `|` block, line N of the content is N - 1 lines below. Other texts of several lines are folded by YAML,
    /// so that only their first line can be found exactly.
    pub fn content_origin(&self, text: &str) -> Option<ContentOrigin> {
        let Kind::String { text: content, style } = &self.kind else {
            return None;
        };
        let at = |offset: usize| {
            let before = &text[..offset.min(text.len())];
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            Position {
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
            }
        };
        match style {
            Style::Plain => Some(ContentOrigin { start: at(self.span.start), indent: 0 }),
            Style::Quoted => {
                let quote = usize::from(text[self.span.start..].starts_with(['"', '\'']));
                Some(ContentOrigin { start: at(self.span.start + quote), indent: 0 })
            }
            // The span begins at the first line that is not blank.
            Style::Literal | Style::Folded => {
                let blank = content.len() - content.trim_start_matches('\n').len();
                let line = at(self.span.start).line.saturating_sub(blank).max(1);
                let start = Position { line, column: self.indent + 1 };
                Some(ContentOrigin { start, indent: self.indent })
            }
        }
    }
}

#[cfg(test)]
mod tests;
