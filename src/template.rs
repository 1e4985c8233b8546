//! Templates: text with expressions in it to values.
//!
//! In: the template texts of one rule, then values under names (a [`Context`]). Out: Kubernetes objects, the values of a
//! `let` or a status, or one line of text; or why there is nothing yet. Never here: files, clocks, randomness, the
//! environment, the network; the same templates and the same context give the same bytes.
//!
//! A template is rendered with placeholders instead of values, the text is read as YAML, and only then are the values
//! put in. So nothing that a value contains can change the YAML around it, and a value keeps its type. The parts, in
//! the order of a rendering: `desugar` what the author wrote becomes what the engine knows; `language` what can be
//! called; `trace` what was looked for in vain; `value` values go into slots, `token` a placeholder stands for each;
//! `skeleton` the text is read; `fill` the values come back; `failure` or somebody is told why not.
//!
//! Rendering needs 512 KiB of stack; recursion in templates is limited to that.

mod build;
mod check;
mod compile;
mod context;
mod desugar;
mod failure;
mod fill;
mod flow;
mod hush;
mod language;
mod reference;
mod sheet;
mod skeleton;
mod syntax;
mod token;
mod trace;
mod value;
mod words;

use crate::path::Location;
use crate::source::Place;
use crate::yaml::{Document, Kind};
pub use build::Builder;
pub(crate) use check::nearest_file;
use compile::Name;
pub use context::{Awaits, Context, Part};
pub use failure::Failure;
use failure::Sheets;
use fill::Fault;
pub use flow::{ANY, EACH, Literal, Reading, Sink, Source, Sources, Spot, Study};
use hush::Secrets;
pub(crate) use hush::{HUSHED, tells as may_tell};
pub use language::{Entry, EntryKind, Example, FUEL, entries};
use minijinja::{Environment, Error, OutputSpan};
pub use reference::reference;
use serde_json::{Map, Value as Json};
pub use sheet::{Origin, Read};
use skeleton::Skeletons;
use std::collections::BTreeSet;
use std::sync::Arc;
use trace::Trace;
use value::Slots;

/// What a body does about values that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are a mistake, or mean to wait (`let`).
    Strict,
    /// An expression that needs them counts as nothing: its key or item disappears (`status.fields`).
    Lenient,
}

/// A template of Kubernetes objects.
#[derive(Clone, Debug)]
pub struct DocumentsTemplate {
    name: Name,
    reads: Arc<[Read]>,
}

/// A template of one map.
#[derive(Clone, Debug)]
pub struct BodyTemplate {
    name: Name,
    mode: Mode,
    reads: Arc<[Read]>,
}

/// A template of one line of text.
#[derive(Clone, Debug)]
pub struct LineTemplate {
    line: Line,
    reads: Arc<[Read]>,
}

#[derive(Clone, Debug)]
enum Line {
    Literal(Arc<str>),
    Template(Name),
}

impl DocumentsTemplate {
    /// What it reads, with everything that it includes.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }
}

impl BodyTemplate {
    /// What it reads, with everything that it includes.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }
}

impl LineTemplate {
    /// What it reads.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// The text, if nothing in it is computed.
    pub fn literal(&self) -> Option<&str> {
        match &self.line {
            Line::Literal(text) => Some(text),
            Line::Template(_) => None,
        }
    }
}

/// The compiled templates of one rule: immutable, cheap to clone, for any number of threads.
#[derive(Clone, Debug)]
pub struct Templates {
    parts: Arc<Parts>,
    secrets: Arc<Secrets>,
}

#[derive(Debug)]
struct Parts {
    engine: Environment<'static>,
    sheets: Sheets,
    skeletons: Skeletons,
}

/// A rendered text and the values that belong in it.
struct Rendered {
    text: String,
    slots: Slots,
    /// What its values have cost where they were put in.
    spent: fill::Spent,
    /// Expressions of a lenient body that count as nothing.
    gone: BTreeSet<usize>,
}

impl Templates {
    /// Failures of templates that read what is below these names quote no value.
    pub fn hushed(self, secrets: Vec<Vec<String>>) -> Self {
        Self { secrets: Arc::new(Secrets::new(secrets)), ..self }
    }

    /// Renders Kubernetes objects. Empty documents are left out, every other one must be a map. A null that somebody
    /// wrote or passed on is kept as a value of its key: the caller decides whether it is sent.
    pub fn documents(
        &self,
        template: &DocumentsTemplate,
        context: &Context,
    ) -> Result<Vec<Json>, Failure> {
        let objects = self.render_documents(template, context);
        objects.map_err(|failure| self.secrets.hush(failure, &template.reads))
    }

    fn render_documents(
        &self,
        template: &DocumentsTemplate,
        context: &Context,
    ) -> Result<Vec<Json>, Failure> {
        let rendered = self.render(&template.name, context, Mode::Strict)?;
        let tree = self.read(&template.name, context, &rendered)?;
        let mut objects = Vec::new();
        for document in tree.iter() {
            match self.fill(&template.name, context, &rendered, document, Mode::Strict)? {
                None => {}
                Some(object @ Json::Object(_)) => objects.push(object),
                Some(_) => {
                    return Err(self.not_a_map(&template.name, context, &rendered, document));
                }
            }
        }
        Ok(objects)
    }

    /// Renders one map; an empty body is an empty map.
    pub fn body(
        &self,
        template: &BodyTemplate,
        context: &Context,
    ) -> Result<Map<String, Json>, Failure> {
        let body = self.render_body(template, context);
        body.map_err(|failure| self.secrets.hush(failure, &template.reads))
    }

    fn render_body(
        &self,
        template: &BodyTemplate,
        context: &Context,
    ) -> Result<Map<String, Json>, Failure> {
        let rendered = self.render(&template.name, context, template.mode)?;
        let tree = self.read(&template.name, context, &rendered)?;
        let mut body = None;
        for document in tree.iter() {
            match self.fill(&template.name, context, &rendered, document, template.mode)? {
                None => {}
                Some(Json::Object(map)) if body.is_none() => body = Some(map),
                Some(_) => {
                    return Err(self.not_a_map(&template.name, context, &rendered, document));
                }
            }
        }
        Ok(body.unwrap_or_default())
    }

    /// Renders one line; it is text whatever it looks like.
    pub fn line(&self, template: &LineTemplate, context: &Context) -> Result<String, Failure> {
        let name = match &template.line {
            Line::Literal(text) => return Ok((**text).to_owned()),
            Line::Template(name) => name,
        };
        let line = self.render(name, context, Mode::Strict).and_then(|rendered| {
            fill::fill_text(&rendered.text, &rendered.slots)
                .map_err(|fault| self.fault(name, context, &rendered, fault))
        });
        line.map_err(|failure| self.secrets.hush(failure, &template.reads))
    }

    /// Runs a template. In a lenient body, an expression that meets something missing is switched off, and the body
    /// rendered again; each round switches off one more, so that there are at most as many rounds as expressions.
    fn render(&self, name: &str, context: &Context, mode: Mode) -> Result<Rendered, Failure> {
        let mut gone = BTreeSet::new();
        loop {
            let trace = Trace::new(gone.clone());
            let error = match self.run(name, context, &trace) {
                Ok((text, slots)) => {
                    let spent = fill::Spent::default();
                    return Ok(Rendered { text, slots, spent, gone });
                }
                Err(error) => error,
            };
            let dispensable = match mode {
                Mode::Strict => None,
                Mode::Lenient => failure::dispensable(&self.parts.sheets, name, &error, &trace),
            };
            if !dispensable.is_some_and(|expression| gone.insert(expression)) {
                return Err(failure::of_engine(&self.parts.sheets, name, &error, &trace));
            }
        }
    }

    fn run(
        &self,
        name: &str,
        context: &Context,
        trace: &Arc<Trace>,
    ) -> Result<(String, Slots), Error> {
        let template = self.parts.engine.get_template(name)?;
        let mut captured = template.render_captured(trace::root(context, trace))?;
        let slots =
            captured.with_state_mut(|state| state.get_extension_mut::<Slots>().map(std::mem::take));
        Ok((captured.into_output(), slots.unwrap_or_default()))
    }

    fn read(
        &self,
        name: &str,
        context: &Context,
        rendered: &Rendered,
    ) -> Result<Arc<Vec<Document>>, Failure> {
        self.parts.skeletons.read(&rendered.text).map_err(|error| {
            let hint = fill::hint_for_yaml(&rendered.text, error.span.start).or(error.hint);
            let fault =
                Fault { code: "template-yaml", message: error.message, hint, bytes: error.span };
            self.fault(name, context, rendered, fault)
        })
    }

    fn fill(
        &self,
        name: &str,
        context: &Context,
        rendered: &Rendered,
        document: &Document,
        mode: Mode,
    ) -> Result<Option<Json>, Failure> {
        if matches!(document.root.kind, Kind::Null { explicit: false }) {
            return Ok(None);
        }
        fill::fill(&document.root, &rendered.slots, &rendered.spent, mode == Mode::Lenient)
            .map_err(|fault| self.fault(name, context, rendered, fault))
    }

    fn not_a_map(
        &self,
        name: &str,
        context: &Context,
        rendered: &Rendered,
        document: &Document,
    ) -> Failure {
        let fault = Fault {
            code: "template-not-a-map",
            message: "this must be one map of keys and values".to_owned(),
            hint: None,
            bytes: document.root.span.clone(),
        };
        self.fault(name, context, rendered, fault)
    }

    /// Renders once more to learn which template wrote the bytes at fault: only failures pay for knowing.
    fn fault(&self, name: &str, context: &Context, rendered: &Rendered, fault: Fault) -> Failure {
        let spans = self.spans(name, context, rendered);
        failure::of_text(&self.parts.sheets, name, &spans, fault)
    }

    /// Which template wrote which bytes.
    fn spans(&self, name: &str, context: &Context, rendered: &Rendered) -> Vec<OutputSpan> {
        let trace = Trace::new(rendered.gone.clone());
        let template = self.parts.engine.get_template(name);
        let spans = template.and_then(|t| t.render_with_spans(trace::root(context, &trace)));
        spans.map(|(_, spans)| spans).unwrap_or_default()
    }

    /// Where a template writes a part of the object that it renders as the `nth`, or what is nearest above that part.
    /// It renders twice: for mistakes only.
    pub fn place(
        &self,
        template: &DocumentsTemplate,
        context: &Context,
        nth: usize,
        part: &Location,
    ) -> Option<Place> {
        self.places(template, context, nth, std::slice::from_ref(part)).pop().flatten()
    }

    /// The same for several parts of one object; it renders as often as for one.
    pub fn places(
        &self,
        template: &DocumentsTemplate,
        context: &Context,
        nth: usize,
        parts: &[Location],
    ) -> Vec<Option<Place>> {
        let name = &template.name;
        let nothing = || vec![None; parts.len()];
        let Ok(rendered) = self.render(name, context, Mode::Strict) else { return nothing() };
        let Ok(tree) = self.read(name, context, &rendered) else { return nothing() };
        let written =
            |document: &&Document| !matches!(document.root.kind, Kind::Null { explicit: false });
        let Some(document) = tree.iter().filter(written).nth(nth) else { return nothing() };
        let spans = self.spans(name, context, &rendered);
        let place = |part: &Location| {
            let bytes = document.root.locate(part.steps());
            failure::place(&self.parts.sheets, &spans, &bytes).map(Place::first_line)
        };
        parts.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests;
