//! Texts to compiled templates.
//!
//! In: a template's text, and the names of the files it may include. Out: a template in the engine and its sheet, or
//! every mistake that can be seen without a parent. Never here: rendering, reading files.

use super::check;
use super::desugar::{Desugared, Lexeme, desugar};
use super::language;
use super::sheet::{Origin, Read, Sheet};
use super::syntax;
use super::token;
use crate::problem::Problem;
use minijinja::machinery::{Token, parse, tokenize};
use minijinja::{Environment, Error};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::thread;

/// Bytes of one template.
pub(super) const MAX_SOURCE: usize = 128 << 10;

/// Bytes of stack to compile on, several times what the largest template needs that [`check::sizes`] lets pass.
const STACK: usize = 32 << 20;

/// The engine's name for a template.
pub(super) type Name = Arc<str>;

/// A template to compile.
pub(super) struct Request<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) origin: Origin,
    /// Whether each expression can be switched off.
    pub(super) lenient: bool,
}

impl Request<'_> {
    pub(super) fn problem(
        &self,
        code: &'static str,
        message: impl Into<String>,
        bytes: Range<usize>,
    ) -> Problem {
        Problem::new(code, message).at(self.origin.place(self.text, &bytes))
    }

    fn syntax(&self, error: &Error) -> Vec<Problem> {
        let mistake = syntax::explained(self.text, error.detail().unwrap_or("this cannot be read"));
        let engines =
            || error.range().unwrap_or_else(|| line(self.text, error.line().unwrap_or(1)));
        let bytes = mistake.bytes.unwrap_or_else(engines);
        let problem = self.problem("template-syntax", mistake.message, bytes);
        vec![Problem { hint: mistake.hint, ..problem }]
    }
}

/// Compiles one template into the engine; `files` are those it may include.
pub(super) fn compile<T: Sync>(
    engine: &mut Environment<'static>,
    files: &BTreeMap<String, T>,
    request: &Request<'_>,
) -> Result<Sheet, Vec<Problem>> {
    // The parser recurses; it must not meet the end of whatever stack the caller has left.
    let builder = thread::Builder::new().name("compile".to_owned()).stack_size(STACK);
    thread::scope(|scope| {
        let compiled = builder.spawn_scoped(scope, || compile_here(engine, files, request));
        let failed = |what: String| vec![request.problem("template-syntax", what, 0..0)];
        match compiled.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(failed("the template cannot be read".to_owned())),
            Err(error) => Err(failed(format!("no thread to read the template with: {error}"))),
        }
    })
}

fn compile_here<T>(
    engine: &mut Environment<'static>,
    files: &BTreeMap<String, T>,
    request: &Request<'_>,
) -> Result<Sheet, Vec<Problem>> {
    let Request { name, text, lenient, .. } = *request;
    if let Some(problem) = characters(request) {
        return Err(vec![problem]);
    }
    let refused = |error: Error| request.syntax(&error);
    let tokens = lexemes(text).map_err(refused)?;
    if let Some(problem) = check::sizes(request, &tokens) {
        return Err(vec![problem]);
    }
    // The author's text is parsed for its own sake: the engine's would give its mistakes other places.
    drop(parse(text, name, language::syntax()).map_err(refused)?);

    let desugared = desugar(text, &tokens, lenient);
    engine.add_template_owned(name.to_owned(), desugared.text.clone()).map_err(refused)?;
    let template = engine.get_template(name).map_err(refused)?;
    let undeclared = template.undeclared_variables(false);
    let uses = check::names(request, &tokens, &undeclared, files)?;
    Ok(sheet(request, desugared, &undeclared, uses))
}

fn characters(request: &Request<'_>) -> Option<Problem> {
    if request.text.len() > MAX_SOURCE {
        let message = format!("the template is longer than {MAX_SOURCE} bytes");
        return Some(request.problem("template-too-long", message, 0..0));
    }
    let is_reserved = |(_, c): &(usize, char)| token::is_in(c.encode_utf8(&mut [0; 4]));
    let (at, character) = request.text.char_indices().find(is_reserved)?;
    let bytes = at..at + character.len_utf8();
    Some(request.problem("template-reserved", "this character is reserved for placeholders", bytes))
}

fn sheet(
    request: &Request<'_>,
    desugared: Desugared,
    undeclared: &HashSet<String>,
    uses: Vec<String>,
) -> Sheet {
    let Request { text, origin, .. } = request;
    let notes = desugared.notes;
    let reads = notes
        .chains
        .into_iter()
        .filter(|chain| undeclared.contains(&chain.steps[0]) && check::is_read(&chain.steps[0]))
        .map(|chain| Read { path: chain.steps, place: origin.place(text, &chain.bytes) });
    Sheet {
        text: (*text).to_owned(),
        origin: origin.clone(),
        map: desugared.map,
        sites: notes.sites,
        aliases: notes.aliases,
        guarded: notes.guarded,
        reads: reads.collect(),
        uses,
    }
}

/// The tokens of a template outside of its raw text.
pub(super) fn lexemes(text: &str) -> Result<Vec<Lexeme<'_>>, Error> {
    let mut lexemes = Vec::new();
    for token in tokenize(text, false, language::syntax()) {
        let (token, span) = token?;
        if !matches!(token, Token::TemplateData(_)) {
            let bytes = span.start_offset as usize..span.end_offset as usize;
            lexemes.push(Lexeme { token, bytes });
        }
    }
    Ok(lexemes)
}

/// Bytes of a line, from 1.
fn line(text: &str, number: usize) -> Range<usize> {
    let before = text.split_inclusive('\n').take(number.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    start + indent..start + line.len()
}
