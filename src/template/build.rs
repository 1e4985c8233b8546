//! The templates of one rule, compiled together.
//!
//! In: files that templates can include, and the texts of a rule. Out: [`Templates`], or every mistake in one of them.
//! Never here: rendering, reading files.

use super::compile::{Name, Request, compile};
use super::failure::Sheets;
use super::skeleton::Skeletons;
use super::{
    BodyTemplate, DocumentsTemplate, Line, LineTemplate, Mode, Origin, Parts, Read, Templates,
    check, language,
};
use crate::problem::Problem;
use crate::source::Source;
use minijinja::Environment;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Compiles the templates of one rule.
#[derive(Debug)]
pub struct Builder {
    engine: Environment<'static>,
    files: Arc<BTreeMap<String, Arc<Source>>>,
    sheets: Sheets,
}

impl Builder {
    /// `files` are all that templates can include or import, by their name relative to the folder of templates.
    pub fn new(files: Arc<BTreeMap<String, Arc<Source>>>) -> Self {
        Self { engine: language::engine(), files, sheets: Sheets::new() }
    }

    /// Compiles a file of the folder of templates, and what it includes. A problem without a place means that there
    /// is no such file.
    pub fn compile_file(&mut self, name: &str) -> Result<DocumentsTemplate, Vec<Problem>> {
        if !self.files.contains_key(name) {
            let problem = Problem::new("unknown-template", format!("no template `{name}`"));
            return Err(vec![problem.hint(check::FILE_HINT)]);
        }
        self.compile_uses(vec![name.to_owned()])?;
        Ok(DocumentsTemplate { name: name.into(), reads: self.reads(name) })
    }

    /// Compiles objects that are written in a rule file.
    pub fn compile_documents(
        &mut self,
        text: &str,
        origin: Origin,
    ) -> Result<DocumentsTemplate, Vec<Problem>> {
        let name = self.compile_inline(text, origin, Mode::Strict)?;
        Ok(DocumentsTemplate { reads: self.reads(&name), name })
    }

    /// Compiles a map that is written in a rule file.
    pub fn compile_body(
        &mut self,
        text: &str,
        origin: Origin,
        mode: Mode,
    ) -> Result<BodyTemplate, Vec<Problem>> {
        let name = self.compile_inline(text, origin, mode)?;
        Ok(BodyTemplate { reads: self.reads(&name), name, mode })
    }

    /// Compiles a single text of a rule file, such as a name or a message.
    pub fn compile_line(
        &mut self,
        text: &str,
        origin: Origin,
    ) -> Result<LineTemplate, Vec<Problem>> {
        if !["{{", "{%", "{#"].iter().any(|opening| text.contains(opening)) {
            return Ok(LineTemplate { line: Line::Literal(text.into()), reads: Arc::default() });
        }
        let name = self.compile_inline(text, origin, Mode::Strict)?;
        Ok(LineTemplate { reads: self.reads(&name), line: Line::Template(name) })
    }

    /// The templates, ready to be rendered from any thread.
    pub fn build(self) -> Templates {
        let parts =
            Parts { engine: self.engine, sheets: self.sheets, skeletons: Skeletons::default() };
        Templates { parts: Arc::new(parts), secrets: Arc::default() }
    }

    fn compile_inline(
        &mut self,
        text: &str,
        origin: Origin,
        mode: Mode,
    ) -> Result<Name, Vec<Problem>> {
        // Names of files are relative, so that no file has this one.
        let name: Name = format!("/{}", self.sheets.len()).into();
        let request = Request { name: &name, text, origin, lenient: mode == Mode::Lenient };
        let sheet = compile(&mut self.engine, &self.files, &request)?;
        let uses = sheet.uses.clone();
        self.sheets.insert(Arc::clone(&name), sheet);
        self.compile_uses(uses)?;
        Ok(name)
    }

    /// Compiles files and, through them, everything that they use; finds the mistakes of all of them.
    fn compile_uses(&mut self, mut names: Vec<String>) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut tried = BTreeSet::new();
        while let Some(name) = names.pop() {
            let Some(source) = self.files.get(&name) else {
                continue;
            };
            if self.sheets.contains_key(name.as_str()) || !tried.insert(name.clone()) {
                continue;
            }
            let request = Request {
                name: &name,
                text: &source.text,
                origin: Origin::file(source),
                lenient: false,
            };
            match compile(&mut self.engine, &self.files, &request) {
                Ok(sheet) => {
                    names.extend(sheet.uses.iter().cloned());
                    self.sheets.insert(name.into(), sheet);
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn reads(&self, name: &str) -> Arc<[Read]> {
        let mut reads = Vec::new();
        let mut names = vec![name];
        let mut seen = BTreeSet::new();
        while let Some(name) = names.pop() {
            if let Some(sheet) = self.sheets.get(name).filter(|_| seen.insert(name)) {
                reads.extend(sheet.reads.iter().cloned());
                names.extend(sheet.uses.iter().map(String::as_str));
            }
        }
        reads.into()
    }
}
