//! Parser events to a tree.
//!
//! In: a text and limits. Out: documents. Never here: the meaning of plain scalars (see [`super::scalar`]).

use super::entries::{Entries, is_merge};
use super::{Document, Error, Kind, Limits, Node, Style, hint, scalar, words};
use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// What happens to `<<` keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Merges {
    /// They are replaced by what they merge.
    Resolve,
    /// They stay.
    Keep,
}

/// Reads every document.
pub(super) fn documents(
    text: &str,
    limits: &Limits,
    merges: Merges,
) -> Result<Vec<Document>, Error> {
    if text.len() > limits.bytes {
        let message = format!("the text is longer than {} bytes", limits.bytes);
        return Err(Error { message, span: 0..0, hint: None });
    }
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_comments: false,
        // Ours is checked on nodes; the parser's own, which counts other things, must only never be lower.
        block_nesting_limit: limits.depth + 2,
        flow_nesting_limit: limits.depth + 2,
    };
    let parser = Parser::new_from_str_with_options(text, options);
    let mut composer =
        Composer { text, limits, merges, parser, used: Cost::default(), anchors: HashMap::new() };
    let mut documents = Vec::new();
    loop {
        match composer.next()? {
            (Event::DocumentStart(..), span) => {
                if documents.len() >= limits.documents {
                    return Err(error(
                        format!("more than {} documents", limits.documents),
                        range(&span),
                    ));
                }
                composer.anchors.clear();
                let (event, span) = composer.next()?;
                documents.push(Document { root: composer.node(event, &span, 0)?.node });
            }
            (Event::StreamEnd, _) => return Ok(documents),
            _ => {}
        }
    }
}

/// What a node costs each time it is used.
#[derive(Clone, Copy, Default)]
struct Cost {
    nodes: usize,
    bytes: usize,
    /// Collections inside each other, itself included.
    depth: usize,
}

#[derive(Clone)]
struct Composed {
    node: Node,
    cost: Cost,
}

struct Composer<'a> {
    text: &'a str,
    limits: &'a Limits,
    merges: Merges,
    parser: Parser<'a, StrInput<'a>>,
    used: Cost,
    anchors: HashMap<usize, Composed>,
}

/// An anchor's number; 0 is none.
type Anchor = usize;
type Tagged<'a> = Option<Cow<'a, Tag>>;

impl<'a> Composer<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Error> {
        match self.parser.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(failure)) => {
                let start =
                    failure.marker().byte_offset().unwrap_or(self.text.len()).min(self.text.len());
                // The tab is what is wrong, not what stands behind it.
                let start = if self.text[..start].ends_with('\t') { start - 1 } else { start };
                let length = self.text[start..].chars().next().map_or(0, char::len_utf8);
                let message = words::message(failure.kind());
                let error = Error { message, span: start..start + length, hint: None };
                Err(hint::explained(error, Some(failure.kind()), self.text))
            }
            None => Err(error("the text ends too early", self.text.len()..self.text.len())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<Composed, Error> {
        let (composed, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (self.scalar(text, style, &tag, span)?, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_tag(&tag, "seq", span)?;
                (self.sequence(span, depth)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_tag(&tag, "map", span)?;
                (self.mapping(span, depth)?, anchor)
            }
            Event::Alias(anchor) => (self.alias(anchor, span, depth)?, 0),
            _ => return Err(error("a value is missing here", range(span))),
        };
        if anchor != 0 {
            // The copy that aliases take from is paid like one more use.
            self.pay(composed.cost, depth, &composed.node.span)?;
            self.anchors.insert(anchor, composed.clone());
        }
        Ok(composed)
    }

    /// Pays for a node, its bytes and the room that it needs.
    fn pay(&mut self, cost: Cost, depth: usize, span: &Range<usize>) -> Result<(), Error> {
        self.used.nodes += cost.nodes;
        self.used.bytes += cost.bytes;
        let limits = self.limits;
        let message = if depth + cost.depth > limits.depth {
            format!("values nest deeper than {}", limits.depth)
        } else if self.used.nodes > limits.nodes {
            format!("more than {} values, each use of an alias counted", limits.nodes)
        } else if self.used.bytes > limits.bytes {
            format!(
                "the values are longer than {} bytes, each use of an alias counted",
                limits.bytes
            )
        } else {
            return Ok(());
        };
        Err(error(message, span.clone()))
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: &Tagged,
        span: &Span,
    ) -> Result<Composed, Error> {
        let is_text = refuse_tag(tag, "str", span)?;
        let bytes = range(span);
        // The parser reports a missing value as `~` without any bytes.
        let written = if bytes.is_empty() { "" } else { &*text };
        let indent = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => span.indent.unwrap_or(0),
            _ => 0,
        };
        let kind = match style {
            ScalarStyle::Plain if !is_text => {
                scalar::resolve(written).map_err(|message| error(message, bytes.clone()))?
            }
            ScalarStyle::Plain => Kind::String { text: written.to_owned(), style: Style::Quoted },
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                Kind::String { text: text.into_owned(), style: Style::Quoted }
            }
            ScalarStyle::Literal => Kind::String { text: text.into_owned(), style: Style::Literal },
            ScalarStyle::Folded => Kind::String { text: text.into_owned(), style: Style::Folded },
        };
        let length = if let Kind::String { text, .. } = &kind { text.len() } else { 0 };
        let cost = Cost { nodes: 1, bytes: length, depth: 0 };
        self.pay(cost, 0, &bytes)?;
        Ok(Composed { node: Node { kind, span: bytes, indent }, cost })
    }

    fn sequence(&mut self, span: &Span, depth: usize) -> Result<Composed, Error> {
        let mut bytes = range(span);
        let mut cost = Cost { nodes: 1, bytes: 0, depth: 1 };
        self.pay(cost, depth, &bytes)?;
        let mut items = Vec::new();
        loop {
            let (event, item_span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                bytes.end = end(&item_span, items.last(), bytes.end);
                let node = Node { kind: Kind::Sequence(items), span: bytes, indent: 0 };
                return Ok(Composed { node, cost });
            }
            let item = self.node(event, &item_span, depth + 1)?;
            cost.contain(item.cost);
            items.push(item.node);
        }
    }

    fn mapping(&mut self, span: &Span, depth: usize) -> Result<Composed, Error> {
        let mut bytes = range(span);
        let mut cost = Cost { nodes: 1, bytes: 0, depth: 1 };
        self.pay(cost, depth, &bytes)?;
        let mut entries = Entries::default();
        loop {
            let (event, key_span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                bytes.end = end(&key_span, entries.own.last().map(|(_, value)| value), bytes.end);
                let kind = Kind::Mapping(entries.finish());
                return Ok(Composed { node: Node { kind, span: bytes, indent: 0 }, cost });
            }
            let key = self.key(event, &key_span)?;
            let (event, value_span) = self.next()?;
            let value = self.node(event, &value_span, depth + 1)?;
            cost.nodes += 1;
            cost.contain(value.cost);
            let merges = self.merges == Merges::Resolve && is_merge(&key);
            entries.push(key, value.node, merges, self.text)?;
        }
    }

    /// Keys are text whatever they look like: the API knows no others.
    fn key(&mut self, event: Event<'a>, span: &Span) -> Result<Node, Error> {
        let bytes = range(span);
        let Event::Scalar(text, style, 0, tag) = event else {
            let message = "a key must be a single text, without an anchor".to_owned();
            let error = Error { message, span: bytes, hint: None };
            return Err(hint::explained(error, None, self.text));
        };
        refuse_tag(&tag, "str", span)?;
        if bytes.is_empty() {
            return Err(error("a key is missing here", bytes));
        }
        self.pay(Cost { nodes: 1, bytes: text.len(), depth: 0 }, 0, &bytes)?;
        let style = if style == ScalarStyle::Plain { Style::Plain } else { Style::Quoted };
        Ok(Node { kind: Kind::String { text: text.into_owned(), style }, span: bytes, indent: 0 })
    }

    fn alias(&mut self, anchor: Anchor, span: &Span, depth: usize) -> Result<Composed, Error> {
        let bytes = range(span);
        let Some(cost) = self.anchors.get(&anchor).map(|composed| composed.cost) else {
            return Err(error("an alias inside of what it stands for", bytes));
        };
        // Paid before it is copied, so that nobody can multiply.
        self.pay(cost, depth, &bytes)?;
        let mut composed = self.anchors[&anchor].clone();
        composed.node.span = bytes;
        Ok(composed)
    }
}

impl Cost {
    fn contain(&mut self, part: Self) {
        self.nodes += part.nodes;
        self.bytes += part.bytes;
        self.depth = self.depth.max(part.depth + 1);
    }
}

/// Whether the tag asks for text; any tag but the one that changes nothing here (and `!`, which means text) is refused.
fn refuse_tag(tag: &Tagged, allowed: &str, span: &Span) -> Result<bool, Error> {
    let Some(tag) = tag else { return Ok(false) };
    let (handle, suffix) = (tag.handle(), tag.suffix());
    if (handle == "tag:yaml.org,2002:" && suffix == allowed)
        || (handle == "!" && suffix.is_empty())
        || (handle.is_empty() && suffix == "!")
    {
        return Ok(true);
    }
    let span = span.tag_span().unwrap_or(*span);
    let hint = "tags have no meaning in Kubernetes objects; only `!!str` is read here";
    Err(Error {
        message: "an unknown tag".to_owned(),
        span: range(&span),
        hint: Some(hint.to_owned()),
    })
}

/// The end of a collection: its closing bracket, or its last item.
fn end(close: &Span, last: Option<&Node>, start: usize) -> usize {
    let close = range(close);
    if close.is_empty() { last.map_or(start, |node| node.span.end) } else { close.end }
}

fn range(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or(0..0)
}

fn error(message: impl Into<String>, span: Range<usize>) -> Error {
    Error { message: message.into(), span, hint: None }
}
