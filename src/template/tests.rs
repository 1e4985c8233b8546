//! Whole renderings, by what they promise.

mod compiling;
mod failures;
mod hostile;
mod including;
mod lenient;
mod limits;
mod missing;
mod values;

use super::*;
use crate::source::Source;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Templates by file name, and what is seen in them.
struct Case {
    files: BTreeMap<String, Arc<Source>>,
    context: Context,
}

impl Case {
    fn new(context: &Json) -> Self {
        let mut names = Context::new();
        for (name, value) in context.as_object().into_iter().flatten() {
            let awaits = match name.as_str() {
                "children" | "inputs" => Awaits::Everything,
                "parent" => Awaits::Key("status".to_owned()),
                _ => Awaits::Nothing,
            };
            names.insert(name, Part::new(name, value, awaits));
        }
        Self { files: BTreeMap::new(), context: names }
    }

    fn file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), Source::new(name, text));
        self
    }

    fn builder(&self) -> Builder {
        Builder::new(Arc::new(self.files.clone()))
    }

    /// Renders a file as objects.
    fn documents(&self, name: &str) -> Result<Vec<Json>, Failure> {
        let mut builder = self.builder();
        let template = builder.compile_file(name).unwrap_or_else(|problems| panic!("{problems:?}"));
        builder.build().documents(&template, &self.context)
    }

    fn body_in(&self, text: &str, mode: Mode) -> Result<Json, Failure> {
        let mut builder = self.builder();
        let source = Source::new("body", text);
        let body = builder
            .compile_body(text, Origin::file(&source), mode)
            .unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        builder.build().body(&body, &self.context).map(Json::Object)
    }

    fn body(&self, text: &str) -> Result<Json, Failure> {
        self.body_in(text, Mode::Strict)
    }

    fn lenient(&self, text: &str) -> Result<Json, Failure> {
        self.body_in(text, Mode::Lenient)
    }

    fn line(&self, text: &str) -> Result<String, Failure> {
        let mut builder = self.builder();
        let source = Source::new("line", text);
        let line = builder
            .compile_line(text, Origin::file(&source))
            .unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        builder.build().line(&line, &self.context)
    }
}

/// What a body gives without any context but `v`.
fn body_with(v: &Json, text: &str) -> Json {
    Case::new(&json!({ "v": v }))
        .body(text)
        .unwrap_or_else(|failure| panic!("{text:?} with {v}: {failure:?}"))
}

/// A failure as one line: `file:line:column: message`, or `file:line:column: waiting for …`.
fn told(failure: &Failure) -> String {
    match failure {
        Failure::Waiting { what, place } => format!("{place}: waiting for {what}"),
        Failure::Failed(problem) => {
            let place = problem.place.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{place}: {}", problem.message)
        }
    }
}
