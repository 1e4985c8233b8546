//! Mistakes that the tokens of a template show.
//!
//! In: tokens, the names that a template does not declare itself, the files that it may include. Out: problems, and
//! which files it includes. Never here: syntax, which the engine's parser checks; rendering.

use super::compile::Request;
use super::desugar::{Lexeme, names_a_filter, token, token_before};
use super::language::{self, EntryKind};
use crate::comparison::closest;
use crate::problem::Problem;
use minijinja::machinery::Token;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// Tokens between two delimiters, and blocks inside each other. The parser follows both as deep as they go, on a stack
/// that ends.
pub(super) const MAX_TOKENS: usize = 2_000;
pub(super) const MAX_BLOCKS: usize = 100;

/// Names that the engine itself gives a meaning when they are called.
const ENGINE_FUNCTIONS: [&str; 4] = ["caller", "super", "loop", "self"];

/// Refuses what could overflow the parser's stack.
pub(super) fn sizes(request: &Request<'_>, tokens: &[Lexeme<'_>]) -> Option<Problem> {
    let (mut length, mut blocks) = (0, 0_usize);
    for (at, lexeme) in tokens.iter().enumerate() {
        length += 1;
        match lexeme.token {
            Token::VariableStart | Token::BlockStart => length = 0,
            Token::Ident(name) if opens_statement(tokens, at) && name.starts_with("end") => {
                blocks = blocks.saturating_sub(1);
            }
            Token::Ident(name) if opens_statement(tokens, at) && has_end(name, &tokens[at..]) => {
                blocks += 1;
            }
            _ => {}
        }
        let what = match (length > MAX_TOKENS, blocks > MAX_BLOCKS) {
            (true, _) => "this expression is too long",
            (_, true) => "blocks nest too deep",
            _ => continue,
        };
        return Some(request.problem("template-too-long", what, lexeme.bytes.clone()));
    }
    None
}

/// Whether a statement has a body, and so an end of its own.
pub(super) fn has_end(keyword: &str, tokens: &[Lexeme<'_>]) -> bool {
    let is_part = |lexeme: &&Lexeme<'_>| !matches!(lexeme.token, Token::BlockEnd);
    let assigns = |lexeme: &Lexeme<'_>| matches!(lexeme.token, Token::Assign);
    match keyword {
        "set" => !tokens.iter().take_while(is_part).any(assigns),
        "if" | "for" | "macro" | "call" | "filter" | "with" | "block" => true,
        _ => false,
    }
}

/// Whether a name that a template does not declare is one that it reads from its context.
pub(super) fn is_read(name: &str) -> bool {
    let kinds = [EntryKind::Function, EntryKind::Global];
    !name.starts_with("__")
        && !ENGINE_FUNCTIONS.contains(&name)
        && !kinds.iter().any(|kind| language::knows(*kind, name))
}

/// Everything that names tell.
pub(super) fn names<T>(
    request: &Request<'_>,
    tokens: &[Lexeme<'_>],
    undeclared: &HashSet<String>,
    files: &BTreeMap<String, T>,
) -> Result<Vec<String>, Vec<Problem>> {
    let mut check = Check { request, problems: Vec::new(), uses: Vec::new() };
    for (at, lexeme) in tokens.iter().enumerate() {
        if let Token::Ident(name) = lexeme.token {
            check.name(name, tokens, at, undeclared);
            if opens_statement(tokens, at) {
                check.statement(name, &tokens[at..], files);
            }
        }
    }
    if check.problems.is_empty() { Ok(check.uses) } else { Err(check.problems) }
}

struct Check<'a> {
    request: &'a Request<'a>,
    problems: Vec<Problem>,
    uses: Vec<String>,
}

impl Check<'_> {
    fn report(&mut self, code: &'static str, message: impl Into<String>, bytes: Range<usize>) {
        self.problems.push(self.request.problem(code, message, bytes));
    }

    fn name(&mut self, name: &str, tokens: &[Lexeme<'_>], at: usize, undeclared: &HashSet<String>) {
        let bytes = tokens[at].bytes.clone();
        let before = token_before(tokens, at);
        let filters_block =
            matches!(before, Some(Token::Ident("filter"))) && opens_statement(tokens, at - 1);
        let is_call = matches!(token(tokens, at + 1), Some(Token::ParenOpen));
        if name.starts_with("__") {
            let message = "names that begin with `__` are reserved";
            let problem = self.request.problem("template-reserved", message, bytes);
            self.problems.push(problem.hint("choose another name"));
        } else if matches!(before, Some(Token::Pipe)) || filters_block {
            self.known(EntryKind::Filter, name, bytes);
            self.named_in_arguments(name, tokens, at);
        } else if names_a_filter(tokens, at) {
            self.known(EntryKind::Test, name, bytes);
        } else if is_call
            && !matches!(before, Some(Token::Dot))
            && undeclared.contains(name)
            && !ENGINE_FUNCTIONS.contains(&name)
        {
            self.known(EntryKind::Function, name, bytes);
        }
    }

    /// Some filters apply another filter, or a test, that is named in their arguments.
    fn named_in_arguments(&mut self, filter: &str, tokens: &[Lexeme<'_>], at: usize) {
        let (kind, argument) = match filter {
            "map" => (EntryKind::Filter, at + 2),
            "select" | "reject" => (EntryKind::Test, at + 2),
            "selectattr" | "rejectattr" => (EntryKind::Test, at + 4),
            _ => return,
        };
        if let Some(Lexeme { token: Token::Str(name), bytes }) = tokens.get(argument) {
            self.known(kind, name, bytes.clone());
        }
    }

    fn known(&mut self, kind: EntryKind, name: &str, bytes: Range<usize>) {
        let (code, what) = match kind {
            EntryKind::Filter => ("unknown-filter", "filter"),
            EntryKind::Test => ("unknown-test", "test"),
            EntryKind::Function | EntryKind::Global => ("unknown-function", "function"),
        };
        if !language::knows(kind, name) {
            let problem = self.request.problem(code, format!("unknown {what} `{name}`"), bytes);
            self.problems.push(match language::hint_for(kind, name) {
                Some(hint) => problem.hint(hint),
                None => problem,
            });
        }
    }

    fn statement<T>(&mut self, keyword: &str, tokens: &[Lexeme<'_>], files: &BTreeMap<String, T>) {
        let bytes = tokens[0].bytes.clone();
        match keyword {
            "autoescape" => {
                let message = "values are never escaped, since they are never read again";
                self.report("template-autoescape", message, bytes);
            }
            "include" | "import" | "from" | "extends" => {
                let is_end = |lexeme: &Lexeme<'_>| matches!(lexeme.token, Token::BlockEnd);
                let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
                let Some(names) = literal_names(&tokens[1..end]) else {
                    let message = format!("`{keyword}` needs the name of a template in quotes");
                    let bytes = bytes.start..tokens[end - 1].bytes.end;
                    let problem = self.request.problem("dynamic-template", message, bytes);
                    let hint = "choose between several with `{% if … %}`";
                    return self.problems.push(problem.hint(hint));
                };
                let ignores = |lexeme: &Lexeme<'_>| matches!(lexeme.token, Token::Ident("ignore"));
                let optional = names.len() > 1 || tokens[..end].iter().any(ignores);
                self.files(names, optional, files);
            }
            _ => {}
        }
    }

    fn files<T>(
        &mut self,
        names: Vec<(String, Range<usize>)>,
        optional: bool,
        files: &BTreeMap<String, T>,
    ) {
        for (name, bytes) in names {
            if files.contains_key(&name) {
                self.uses.push(name);
            } else if !optional {
                let message = format!("no template `{name}`");
                let problem = self.request.problem("unknown-template", message, bytes);
                let near = nearest_file(&name, files.keys().map(String::as_str));
                let hint = near.map_or_else(
                    || FILE_HINT.to_owned(),
                    |near| format!("did you mean `{near}`? {FILE_HINT}"),
                );
                self.problems.push(problem.hint(hint));
            }
        }
    }
}

/// The file whose name is nearest: what they are called without folders and endings, which many have in common, counts.
pub(crate) fn nearest_file<'f>(
    name: &str,
    files: impl Iterator<Item = &'f str> + Clone,
) -> Option<&'f str> {
    fn stem(name: &str) -> &str {
        let file = name.rsplit('/').next().unwrap_or(name);
        file.split_once('.').map_or(file, |(stem, _)| stem)
    }
    let near = closest(stem(name), files.clone().map(stem))?;
    files.filter(|file| stem(file) == near).min_by_key(|file| closest(name, [*file]).is_none())
}

/// Advice for the name of a file that does not exist.
pub(super) const FILE_HINT: &str = "names are relative to the folder of templates";

/// The templates that an `include` or the like names, if they are written out.
fn literal_names(tokens: &[Lexeme<'_>]) -> Option<Vec<(String, Range<usize>)>> {
    let literal = |lexeme: &Lexeme<'_>| match &lexeme.token {
        Token::Str(name) => Some(((*name).to_owned(), lexeme.bytes.clone())),
        Token::String(name) => Some((name.to_string(), lexeme.bytes.clone())),
        _ => None,
    };
    let (names, rest) = if matches!(token(tokens, 0), Some(Token::BracketOpen)) {
        let end = tokens.iter().position(|l| matches!(l.token, Token::BracketClose))?;
        let items = tokens[1..end].iter().filter(|l| !matches!(l.token, Token::Comma));
        (items.map(literal).collect::<Option<Vec<_>>>()?, &tokens[end + 1..])
    } else {
        (vec![literal(tokens.first()?)?], &tokens[1..])
    };
    let is_end = match token(rest, 0) {
        None => true,
        Some(Token::Ident(word)) => {
            matches!(*word, "as" | "import" | "with" | "without" | "ignore")
        }
        Some(_) => false,
    };
    is_end.then_some(names)
}

fn opens_statement(tokens: &[Lexeme<'_>], at: usize) -> bool {
    matches!(token_before(tokens, at), Some(Token::BlockStart))
}
