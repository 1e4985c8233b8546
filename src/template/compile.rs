//! Texts to compiled templates.
//!
//! In: a template's text, and the names of the files it may include. Out: a template in the engine and its sheet, or
//! every mistake that can be seen without a parent. Never here: rendering, reading files.

use super::desugar::{Desugared, Lexeme, desugar, is_word, names_a_filter};
use super::language::{self, EntryKind};
use super::sheet::{Origin, Read, Sheet};
use super::token;
use crate::problem::Problem;
use minijinja::machinery::{Token, parse, tokenize};
use minijinja::{Environment, Error};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of one template.
const MAX_SOURCE: usize = 128 << 10;

/// Tokens between two delimiters, and blocks inside each other. The parser follows both as deep as they go.
const MAX_TOKENS: usize = 2_000;
const MAX_BLOCKS: usize = 100;

/// Bytes of stack to compile on, several times what these limits need.
const STACK: usize = 32 << 20;

/// Names that the engine itself gives a meaning when they are called.
const ENGINE_FUNCTIONS: [&str; 4] = ["caller", "super", "loop", "self"];

/// A template to compile.
pub(super) struct Request<'a> {
    /// The engine's name for it.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) origin: Origin,
    /// Whether each expression can be switched off.
    pub(super) lenient: bool,
}

/// Compiles one template into the engine; `files` are those it may include.
pub(super) fn compile<T>(
    engine: &mut Environment<'static>,
    files: &BTreeMap<String, T>,
    request: &Request<'_>,
) -> Result<Sheet, Vec<Problem>>
where
    T: Sync,
{
    if request.text.len() > MAX_SOURCE {
        let message = format!("the template is longer than {MAX_SOURCE} bytes");
        return Err(vec![request.problem("template-too-long", message, 0..0)]);
    }
    let thread = std::thread::Builder::new()
        .name("compile".to_owned())
        .stack_size(STACK);
    std::thread::scope(|scope| {
        let compiled = thread.spawn_scoped(scope, || {
            Compilation {
                request,
                problems: Vec::new(),
                uses: Vec::new(),
            }
            .run(engine, files)
        });
        let failed = |what: String| vec![request.problem("template-syntax", what, 0..0)];
        match compiled.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(failed("the template cannot be read".to_owned())),
            Err(error) => Err(failed(format!(
                "no thread to read the template with: {error}"
            ))),
        }
    })
}

impl Request<'_> {
    fn problem(
        &self,
        code: &'static str,
        message: impl Into<String>,
        bytes: Range<usize>,
    ) -> Problem {
        Problem::new(code, message).at(self.origin.place(self.text, &bytes))
    }

    fn syntax(&self, error: &Error) -> Problem {
        let message = error.detail().unwrap_or("this cannot be read").to_owned();
        let bytes = error
            .range()
            .unwrap_or_else(|| line(self.text, error.line().unwrap_or(1)));
        self.problem("template-syntax", message, bytes)
    }
}

struct Compilation<'a> {
    request: &'a Request<'a>,
    problems: Vec<Problem>,
    uses: Vec<String>,
}

impl Compilation<'_> {
    fn run<T>(
        mut self,
        engine: &mut Environment<'static>,
        files: &BTreeMap<String, T>,
    ) -> Result<Sheet, Vec<Problem>> {
        let Request {
            name,
            text,
            lenient,
            ..
        } = *self.request;
        if let Some(at) = text
            .char_indices()
            .find(|(_, c)| token::is_in(c.encode_utf8(&mut [0; 4])))
        {
            self.report(
                "template-reserved",
                "this character is reserved for placeholders",
                at.0..at.0 + 4,
            );
            return Err(self.problems);
        }
        let syntax = |error: &Error| vec![self.request.syntax(error)];
        let tokens = lexemes(text).map_err(|error| syntax(&error))?;
        self.limit(&tokens);
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        // The author's text is parsed first, so that mistakes in it are found in it.
        drop(parse(text, name, language::syntax()).map_err(|error| syntax(&error))?);

        let desugared = desugar(text, &tokens, lenient);
        let added = engine.add_template_owned(name.to_owned(), desugared.text.clone());
        added.map_err(|error| syntax(&error))?;
        let undeclared = engine
            .get_template(name)
            .map(|t| t.undeclared_variables(false))
            .unwrap_or_default();

        self.check(&tokens, &undeclared, files);
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(self.sheet(desugared, &undeclared))
    }

    fn limit(&mut self, tokens: &[Lexeme<'_>]) {
        let (mut length, mut blocks) = (0, 0_usize);
        for (at, lexeme) in tokens.iter().enumerate() {
            length = if matches!(lexeme.token, Token::VariableStart | Token::BlockStart) {
                0
            } else {
                length + 1
            };
            match lexeme.token {
                Token::Ident(name) if opens_statement(tokens, at) && name.starts_with("end") => {
                    blocks = blocks.saturating_sub(1);
                }
                Token::Ident(
                    "if" | "for" | "macro" | "call" | "filter" | "with" | "set" | "block",
                ) if opens_statement(tokens, at) => {
                    let assigns = tokens[at..]
                        .iter()
                        .take_while(|l| !matches!(l.token, Token::BlockEnd))
                        .any(|l| matches!(l.token, Token::Assign));
                    blocks += usize::from(!(assigns && is_word(lexeme, "set")));
                }
                _ => {}
            }
            if length > MAX_TOKENS || blocks > MAX_BLOCKS {
                let what = if length > MAX_TOKENS {
                    "this expression is too long"
                } else {
                    "blocks nest too deep"
                };
                return self.report("template-too-long", what, lexeme.bytes.clone());
            }
        }
    }

    fn sheet(self, desugared: Desugared, undeclared: &HashSet<String>) -> Sheet {
        let Request { text, origin, .. } = self.request;
        let is_read = |name: &str| {
            let kinds = [EntryKind::Function, EntryKind::Global];
            undeclared.contains(name)
                && !name.starts_with("__")
                && !ENGINE_FUNCTIONS.contains(&name)
                && !kinds.iter().any(|kind| language::knows(*kind, name))
        };
        let reads = desugared
            .chains
            .into_iter()
            .filter(|chain| is_read(&chain.steps[0]));
        Sheet {
            text: (*text).to_owned(),
            origin: origin.clone(),
            map: desugared.map,
            sites: desugared.sites,
            aliases: desugared.aliases,
            guarded: desugared.guarded,
            reads: reads
                .map(|chain| Read {
                    path: chain.steps,
                    place: origin.place(text, &chain.bytes),
                })
                .collect(),
            uses: self.uses,
        }
    }

    fn report(&mut self, code: &'static str, message: impl Into<String>, bytes: Range<usize>) {
        self.problems
            .push(self.request.problem(code, message, bytes));
    }

    fn report_unknown(&mut self, kind: EntryKind, what: &str, name: &str, bytes: Range<usize>) {
        let code = match kind {
            EntryKind::Filter => "unknown-filter",
            EntryKind::Test => "unknown-test",
            EntryKind::Function | EntryKind::Global => "unknown-function",
        };
        let problem = self
            .request
            .problem(code, format!("unknown {what} `{name}`"), bytes);
        self.problems.push(match language::nearest(kind, name) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem,
        });
    }

    fn check<T>(
        &mut self,
        tokens: &[Lexeme<'_>],
        undeclared: &HashSet<String>,
        files: &BTreeMap<String, T>,
    ) {
        for (at, lexeme) in tokens.iter().enumerate() {
            let Token::Ident(name) = lexeme.token else {
                continue;
            };
            let bytes = lexeme.bytes.clone();
            if name.starts_with("__") {
                self.report(
                    "template-reserved",
                    "names that begin with `__` are reserved",
                    bytes,
                );
            } else if opens_statement(tokens, at) {
                self.statement(name, &tokens[at..], files);
            } else if names_a_filter(tokens, at) || opens_statement_named(tokens, at, "filter") {
                let is_filter =
                    matches!(tokens[at - 1].token, Token::Pipe | Token::Ident("filter"));
                let (kind, what) = if is_filter {
                    (EntryKind::Filter, "filter")
                } else {
                    (EntryKind::Test, "test")
                };
                if !language::knows(kind, name) {
                    self.report_unknown(kind, what, name, bytes);
                }
            } else if is_call(tokens, at)
                && undeclared.contains(name)
                && !language::knows(EntryKind::Function, name)
                && !ENGINE_FUNCTIONS.contains(&name)
            {
                self.report_unknown(EntryKind::Function, "function", name, bytes);
            }
        }
    }

    fn statement<T>(&mut self, keyword: &str, tokens: &[Lexeme<'_>], files: &BTreeMap<String, T>) {
        let bytes = tokens[0].bytes.clone();
        if keyword == "autoescape" {
            self.report(
                "template-autoescape",
                "values are never escaped, since they are never read again",
                bytes,
            );
        } else if matches!(keyword, "include" | "import" | "from" | "extends") {
            let end = tokens
                .iter()
                .position(|l| matches!(l.token, Token::BlockEnd))
                .unwrap_or(tokens.len());
            let tokens = &tokens[1..end];
            let Some(names) = literal_names(tokens) else {
                let bytes = bytes.start..tokens.last().map_or(bytes.end, |last| last.bytes.end);
                self.report(
                    "dynamic-template",
                    format!("`{keyword}` needs the name of a template in quotes"),
                    bytes,
                );
                return;
            };
            let optional = tokens
                .iter()
                .any(|l| matches!(l.token, Token::Ident("ignore")))
                || names.len() > 1;
            for (name, bytes) in names {
                if files.contains_key(&name) {
                    self.uses.push(name);
                } else if !optional {
                    let problem = self.request.problem(
                        "unknown-template",
                        format!("no template `{name}`"),
                        bytes,
                    );
                    self.problems
                        .push(problem.hint("names are relative to the folder of templates"));
                }
            }
        }
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

/// The templates that an `include` or the like names, if they are written out.
fn literal_names(tokens: &[Lexeme<'_>]) -> Option<Vec<(String, Range<usize>)>> {
    let literal = |lexeme: &Lexeme<'_>| match &lexeme.token {
        Token::Str(name) => Some(((*name).to_owned(), lexeme.bytes.clone())),
        Token::String(name) => Some((name.to_string(), lexeme.bytes.clone())),
        _ => None,
    };
    let (names, rest) = match tokens {
        [
            Lexeme {
                token: Token::BracketOpen,
                ..
            },
            list @ ..,
        ] => {
            let end = list
                .iter()
                .position(|l| matches!(l.token, Token::BracketClose))?;
            let items = list[..end]
                .iter()
                .filter(|l| !matches!(l.token, Token::Comma));
            (
                items.map(literal).collect::<Option<Vec<_>>>()?,
                &list[end + 1..],
            )
        }
        [name, rest @ ..] => (vec![literal(name)?], rest),
        [] => return None,
    };
    let ends = match rest.first().map(|lexeme| &lexeme.token) {
        None => true,
        Some(Token::Ident(word)) => {
            matches!(*word, "as" | "import" | "with" | "without" | "ignore")
        }
        Some(_) => false,
    };
    ends.then_some(names)
}

fn opens_statement(tokens: &[Lexeme<'_>], at: usize) -> bool {
    at > 0 && matches!(tokens[at - 1].token, Token::BlockStart)
}

/// Whether the token at `at` follows a certain keyword that opens a statement.
fn opens_statement_named(tokens: &[Lexeme<'_>], at: usize, keyword: &str) -> bool {
    at > 1
        && opens_statement(tokens, at - 1)
        && matches!(tokens[at - 1].token, Token::Ident(word) if word == keyword)
}

fn is_call(tokens: &[Lexeme<'_>], at: usize) -> bool {
    let is_field = at > 0 && matches!(tokens[at - 1].token, Token::Dot);
    !is_field
        && tokens
            .get(at + 1)
            .is_some_and(|next| matches!(next.token, Token::ParenOpen))
}

/// Bytes of a line, from 1.
fn line(text: &str, number: usize) -> Range<usize> {
    let start: usize = text
        .split_inclusive('\n')
        .take(number.saturating_sub(1))
        .map(str::len)
        .sum();
    let length = text
        .get(start..)
        .and_then(|rest| rest.lines().next())
        .map_or(0, str::len);
    start..start + length
}

/// Shared so that nobody needs to know how templates are kept.
pub(super) type Name = Arc<str>;
