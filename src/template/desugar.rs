//! The small difference between our template language and the engine's.
//!
//! In: the tokens of a template that the engine's parser accepted. Out: a template for the engine, the way back from
//! its bytes to the author's, and what the template reads. Never here: evaluation.
//!
//! Three things mean something else to us than to the engine, and each becomes a call of a filter that only we know:
//! a chain of accesses tolerates missing steps (`a.b[c]` becomes `(a|__step(0,"b",c))`), `~` joins texts and not
//! Python's spelling of values (`(a)|__text ~ (b)|__text`), and comparing or adding looks at the text that a `{% set %}`
//! block or a macro captured, not at its placeholders (`(a)|__plain == (b)|__plain`). In a lenient body, each expression
//! can besides be switched off.

mod writer;

use minijinja::machinery::Token;
use std::ops::Range;
pub(super) use writer::SourceMap;
use writer::Writer;

/// A token and its bytes.
pub(super) struct Lexeme<'a> {
    pub(super) token: Token<'a>,
    pub(super) bytes: Range<usize>,
}

/// A name with the static steps that follow it: `parent.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) steps: Vec<String>,
    pub(super) bytes: Range<usize>,
}

/// A template as the engine gets it.
pub(super) struct Desugared {
    pub(super) text: String,
    pub(super) map: SourceMap,
    /// Every access chain, by the number that its filter call carries.
    pub(super) sites: Vec<Range<usize>>,
    /// Variables that are set to exactly one chain, and its number.
    pub(super) aliases: Vec<(String, usize)>,
    /// Every name that is read, with its static steps.
    pub(super) chains: Vec<Chain>,
    /// Bytes of `text` for each expression of a lenient body, by number.
    pub(super) guarded: Vec<Range<usize>>,
}

/// Translates a template. `tokens` are all of `source`, without raw text.
pub(super) fn desugar(source: &str, tokens: &[Lexeme<'_>], lenient: bool) -> Desugared {
    let mut translation = Translation {
        writer: Writer::new(source),
        lenient,
        sites: Vec::new(),
        aliases: Vec::new(),
        chains: Vec::new(),
        guarded: Vec::new(),
    };
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        let is_end =
            |lexeme: &Lexeme<'_>| matches!(lexeme.token, Token::VariableEnd | Token::BlockEnd);
        let end = after.iter().position(is_end).unwrap_or(after.len());
        match first.token {
            Token::VariableStart => translation.emit(&after[..end]),
            Token::BlockStart => translation.statement(&after[..end]),
            _ => {}
        }
        rest = after.get(end + 1..).unwrap_or_default();
    }
    let (text, map) = translation.writer.finish();
    let Translation {
        sites,
        aliases,
        chains,
        guarded,
        ..
    } = translation;
    Desugared {
        text,
        map,
        sites,
        aliases,
        chains,
        guarded,
    }
}

struct Translation<'a> {
    writer: Writer<'a>,
    lenient: bool,
    sites: Vec<Range<usize>>,
    aliases: Vec<(String, usize)>,
    chains: Vec<Chain>,
    guarded: Vec<Range<usize>>,
}

/// What follows a value.
struct Step<'t, 'a> {
    kind: StepKind<'t, 'a>,
    /// Bytes of the source up to the end of the step.
    end: usize,
}

enum StepKind<'t, 'a> {
    Key(&'t Token<'a>),
    Index(&'t [Lexeme<'a>]),
    Slice(&'t [Lexeme<'a>]),
    /// A call, or a method with its name.
    Call(&'t [Lexeme<'a>]),
}

impl Step<'_, '_> {
    fn is_access(&self) -> bool {
        matches!(self.kind, StepKind::Key(_) | StepKind::Index(_))
    }
}

impl Translation<'_> {
    fn emit(&mut self, tokens: &[Lexeme<'_>]) {
        self.guard(tokens, Some(" else omit"));
    }

    fn statement(&mut self, tokens: &[Lexeme<'_>]) {
        let Some((Token::Ident(keyword), rest)) = tokens
            .split_first()
            .map(|(first, rest)| (&first.token, rest))
        else {
            return;
        };
        match *keyword {
            "if" | "elif" => self.guard(rest, None),
            "for" => {
                let Some(target) = rest.iter().position(|l| is_word(l, "in")) else {
                    return;
                };
                let rest = &rest[target + 1..];
                let rest = match rest.split_last() {
                    Some((last, before)) if is_word(last, "recursive") && !before.is_empty() => {
                        before
                    }
                    _ => rest,
                };
                let clause =
                    top_level(rest).find(|&at| is_word(&rest[at], "if") && !is_name(rest, at));
                self.guard(&rest[..clause.unwrap_or(rest.len())], None);
                if let Some(clause) = clause {
                    self.guard(&rest[clause + 1..], None);
                }
            }
            "set" => match top_level(rest).find(|&at| matches!(rest[at].token, Token::Assign)) {
                Some(assign) => {
                    let chains = self.sites.len();
                    self.guard(&rest[assign + 1..], None);
                    if let ([target], Some(first)) = (&rest[..assign], rest.get(assign + 1))
                        && let Token::Ident(name) = target.token
                        && self
                            .sites
                            .get(chains)
                            .is_some_and(|site| site.start == first.bytes.start)
                    {
                        self.aliases.push((name.to_owned(), chains));
                    }
                }
                None => self.expressions(rest),
            },
            "with" | "macro" | "call" | "filter" | "do" => self.expressions(rest),
            _ => {}
        }
    }

    /// An expression that a lenient body can do without.
    fn guard(&mut self, tokens: &[Lexeme<'_>], otherwise: Option<&str>) {
        let Some(first) = tokens.first().filter(|_| self.lenient) else {
            return self.expressions(tokens);
        };
        let number = self.guarded.len();
        self.writer.keep(first.bytes.start);
        let start = self.writer.len();
        self.guarded.push(start..start);
        let bytes = span(tokens);
        self.writer.insert("((", bytes.clone());
        self.expressions(tokens);
        let soften = if otherwise.is_some() { "|__soft" } else { "" };
        let otherwise = otherwise.unwrap_or_default();
        self.writer
            .insert(&format!("){soften} if __live({number}){otherwise})"), bytes);
        self.guarded[number].end = self.writer.len();
    }

    /// Anything between two delimiters: what binds looser than a comparison separates it.
    fn expressions(&mut self, tokens: &[Lexeme<'_>]) {
        for part in split(tokens, loosest) {
            self.comparison(part);
        }
    }

    fn comparison(&mut self, tokens: &[Lexeme<'_>]) {
        let operands = split(tokens, comparing);
        let several = operands.len() > 1;
        for operand in operands {
            self.wrapped(operand, several.then_some("__plain"), Self::sum);
        }
    }

    fn sum(&mut self, tokens: &[Lexeme<'_>]) {
        let operands = split(tokens, adding);
        let several = operands.len() > 1;
        for operand in operands {
            self.wrapped(operand, several.then_some("__plain"), Self::join);
        }
    }

    fn join(&mut self, tokens: &[Lexeme<'_>]) {
        let pieces = split(tokens, |tokens, at| {
            usize::from(matches!(tokens[at].token, Token::Tilde))
        });
        let several = pieces.len() > 1;
        for piece in pieces {
            self.wrapped(piece, several.then_some("__text"), Self::values);
        }
    }

    fn wrapped(
        &mut self,
        tokens: &[Lexeme<'_>],
        filter: Option<&str>,
        inner: fn(&mut Self, &[Lexeme<'_>]),
    ) {
        let literal = matches!(
            tokens,
            [Lexeme {
                token: Token::Str(_) | Token::String(_) | Token::Int(_),
                ..
            }]
        );
        match (filter, tokens.first()) {
            (Some(filter), Some(first)) if !literal => {
                self.writer.keep(first.bytes.start);
                self.writer.insert("(", span(tokens));
                inner(self, tokens);
                self.writer.insert(&format!(")|{filter}"), span(tokens));
            }
            _ => inner(self, tokens),
        }
    }

    /// Values with what follows them, filters, tests, and operators that bind tighter than `~`.
    fn values(&mut self, tokens: &[Lexeme<'_>]) {
        let mut at = 0;
        while at < tokens.len() {
            if names_a_filter(tokens, at) {
                at = self.filter_or_test(tokens, at);
            } else if begins_a_value(&tokens[at]) {
                at = self.value(tokens, at);
            } else {
                self.writer.keep(tokens[at].bytes.end);
                at += 1;
            }
        }
    }

    fn filter_or_test(&mut self, tokens: &[Lexeme<'_>], at: usize) -> usize {
        let mut next = at + 1;
        while matches!(
            tokens.get(next),
            Some(Lexeme {
                token: Token::Dot,
                ..
            })
        ) {
            next = (next + 2).min(tokens.len());
        }
        self.writer.keep(tokens[next - 1].bytes.end);
        if matches!(
            tokens.get(next),
            Some(Lexeme {
                token: Token::ParenOpen,
                ..
            })
        ) {
            let close = closing(tokens, next);
            self.group(tokens, next, close);
            next = close + 1;
        }
        next
    }

    /// A bracket, what is in it, and its end.
    fn group(&mut self, tokens: &[Lexeme<'_>], open: usize, close: usize) {
        self.writer.keep(tokens[open].bytes.end);
        self.expressions(&tokens[open + 1..close]);
        self.writer.keep(tokens[close].bytes.end);
    }

    fn value(&mut self, tokens: &[Lexeme<'_>], at: usize) -> usize {
        let base_end = if is_opening(&tokens[at]) {
            closing(tokens, at)
        } else {
            at
        };
        let (steps, next) = steps(tokens, base_end + 1);
        self.chain(&tokens[at], &steps);
        let bytes = tokens[at].bytes.start
            ..steps
                .last()
                .map_or(tokens[base_end].bytes.end, |step| step.end);
        let runs = || steps.chunk_by(|a, b| a.is_access() && b.is_access());
        let wraps = runs()
            .filter(|run| !matches!(run[0].kind, StepKind::Call(_)))
            .count();

        self.writer.keep(bytes.start);
        self.writer.insert(&"(".repeat(wraps), bytes.clone());
        if base_end > at {
            self.group(tokens, at, base_end);
        } else {
            self.writer.keep(tokens[at].bytes.end);
        }
        for run in runs() {
            match run[0].kind {
                StepKind::Key(_) | StepKind::Index(_) => {
                    // A default or a test makes a gap harmless: it must not give a later mistake its name.
                    let site = if tolerates(tokens, next) {
                        None
                    } else {
                        Some(self.sites.len())
                    };
                    self.sites.extend(site.map(|_| bytes.clone()));
                    self.access(run, site, &bytes);
                }
                StepKind::Slice(inner) => {
                    self.writer.insert("|__sliced)", bytes.clone());
                    self.expressions(inner);
                    self.writer.keep(run[0].end);
                }
                StepKind::Call(inner) => {
                    self.expressions(inner);
                    self.writer.keep(run[0].end);
                }
            }
        }
        next
    }

    /// One call for a run of steps; all of it stands for the whole chain, the author's `bytes`.
    fn access(&mut self, steps: &[Step<'_, '_>], site: Option<usize>, bytes: &Range<usize>) {
        let site = site.map_or_else(|| "none".to_owned(), |site| site.to_string());
        self.writer
            .insert(&format!("|__step({site}"), bytes.clone());
        for step in steps {
            let key = match step.kind {
                StepKind::Key(Token::Ident(name)) => format!(",\"{name}\""),
                StepKind::Key(Token::Int(index)) => format!(",{index}"),
                StepKind::Index(_) => ",".to_owned(),
                // No list is that long.
                StepKind::Key(_) | StepKind::Slice(_) | StepKind::Call(_) => ",none".to_owned(),
            };
            self.writer.insert(&key, bytes.clone());
            if let StepKind::Index(tokens) = step.kind {
                let inner = span(tokens);
                self.writer.skip(inner.start);
                self.expressions(tokens);
                self.writer.keep(inner.end);
            }
            self.writer.skip(step.end);
        }
        self.writer.insert("))", bytes.clone());
    }

    fn chain(&mut self, base: &Lexeme<'_>, steps: &[Step<'_, '_>]) {
        let Token::Ident(name) = base.token else {
            return;
        };
        let mut chain = Chain {
            steps: vec![name.to_owned()],
            bytes: base.bytes.clone(),
        };
        for step in steps {
            let (StepKind::Key(Token::Ident(name))
            | StepKind::Index(
                [
                    Lexeme {
                        token: Token::Str(name),
                        ..
                    },
                ],
            )) = step.kind
            else {
                break;
            };
            chain.steps.push((*name).to_owned());
            chain.bytes.end = step.end;
        }
        self.chains.push(chain);
    }
}

/// The bytes from the first token to the last.
fn span(tokens: &[Lexeme<'_>]) -> Range<usize> {
    let start = tokens.first().map_or(0, |first| first.bytes.start);
    start..tokens.last().map_or(start, |last| last.bytes.end)
}

/// The steps that follow a value, and the position of the token after them.
fn steps<'t, 'a>(tokens: &'t [Lexeme<'a>], mut at: usize) -> (Vec<Step<'t, 'a>>, usize) {
    let mut steps = Vec::new();
    while let Some(lexeme) = tokens.get(at) {
        let (kind, last) = match lexeme.token {
            Token::Dot
                if tokens
                    .get(at + 2)
                    .is_some_and(|next| matches!(next.token, Token::ParenOpen)) =>
            {
                let close = closing(tokens, at + 2);
                (StepKind::Call(&tokens[at + 3..close]), close)
            }
            Token::Dot => {
                let Some(name) = tokens.get(at + 1) else {
                    break;
                };
                (StepKind::Key(&name.token), at + 1)
            }
            Token::BracketOpen => {
                let close = closing(tokens, at);
                let inner = &tokens[at + 1..close];
                let is_slice = top_level(inner).any(|at| matches!(inner[at].token, Token::Colon));
                (
                    if is_slice {
                        StepKind::Slice(inner)
                    } else {
                        StepKind::Index(inner)
                    },
                    close,
                )
            }
            Token::ParenOpen => {
                let close = closing(tokens, at);
                (StepKind::Call(&tokens[at + 1..close]), close)
            }
            _ => break,
        };
        steps.push(Step {
            kind,
            end: tokens[last].bytes.end,
        });
        at = last + 1;
    }
    (steps, at)
}

/// Whether a missing value is fine in front of what comes at `next`.
fn tolerates(tokens: &[Lexeme<'_>], next: usize) -> bool {
    let token = |at: usize| tokens.get(at).map(|lexeme| &lexeme.token);
    matches!(token(next), Some(Token::Ident("is")))
        || matches!(
            (token(next), token(next + 1)),
            (Some(Token::Pipe), Some(Token::Ident("default" | "d")))
        )
}

/// Splits at operators outside of brackets; `operator` says how many tokens one has. The operators are left out.
fn split<'t, 'a>(
    tokens: &'t [Lexeme<'a>],
    operator: fn(&[Lexeme<'_>], usize) -> usize,
) -> Vec<&'t [Lexeme<'a>]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for at in top_level(tokens) {
        let length = if at < start { 0 } else { operator(tokens, at) };
        if length > 0 {
            parts.push(&tokens[start..at]);
            start = at + length;
        }
    }
    parts.push(&tokens[start..]);
    parts
}

fn loosest(tokens: &[Lexeme<'_>], at: usize) -> usize {
    let separates = match tokens[at].token {
        Token::Comma | Token::Colon | Token::Assign => true,
        Token::Ident("not") => {
            !is_name(tokens, at) && !follows_is(tokens, at) && !is_not_in(tokens, at)
        }
        Token::Ident("if" | "else" | "and" | "or") => !is_name(tokens, at),
        _ => false,
    };
    usize::from(separates)
}

fn comparing(tokens: &[Lexeme<'_>], at: usize) -> usize {
    match tokens[at].token {
        Token::Eq | Token::Ne | Token::Lt | Token::Lte | Token::Gt | Token::Gte => 1,
        Token::Ident("in") if !is_name(tokens, at) && follows_a_value(tokens, at) => 1,
        Token::Ident("not") if is_not_in(tokens, at) => 2,
        _ => 0,
    }
}

/// Whether `not in` begins here, and not the negation of something called `in`.
fn is_not_in(tokens: &[Lexeme<'_>], at: usize) -> bool {
    let next_is_in = tokens.get(at + 1).is_some_and(|next| is_word(next, "in"));
    next_is_in && !is_name(tokens, at) && !follows_is(tokens, at) && follows_a_value(tokens, at)
}

fn follows_a_value(tokens: &[Lexeme<'_>], at: usize) -> bool {
    at.checked_sub(1)
        .is_some_and(|before| ends_a_value(&tokens[before]))
}

fn adding(tokens: &[Lexeme<'_>], at: usize) -> usize {
    // After the name of a test, a sign begins its argument: `x is divisibleby -3`.
    let ends = |before: usize| {
        ends_a_value(&tokens[before]) && !(before > 1 && names_a_test(tokens, before))
    };
    let is_binary = at.checked_sub(1).is_some_and(ends);
    usize::from(is_binary && matches!(tokens[at].token, Token::Plus | Token::Minus))
}

/// Positions outside of brackets; an opening bracket counts, what is in it and its end do not.
fn top_level<'t>(tokens: &'t [Lexeme<'_>]) -> impl Iterator<Item = usize> + 't {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next;
        let lexeme = tokens.get(at)?;
        next = if is_opening(lexeme) {
            closing(tokens, at)
        } else {
            at
        } + 1;
        Some(at)
    })
}

/// The position of the bracket that closes the one at `open`. The parser made sure that it is there.
fn closing(tokens: &[Lexeme<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, lexeme) in tokens.iter().enumerate().skip(open) {
        if is_opening(lexeme) {
            depth += 1;
        } else if matches!(
            lexeme.token,
            Token::ParenClose | Token::BracketClose | Token::BraceClose
        ) {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len().saturating_sub(1)
}

fn is_opening(lexeme: &Lexeme<'_>) -> bool {
    matches!(
        lexeme.token,
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen
    )
}

/// Whether a token is this word.
pub(super) fn is_word(lexeme: &Lexeme<'_>, word: &str) -> bool {
    matches!(lexeme.token, Token::Ident(name) if name == word)
}

/// Whether a word is the name of a field, a filter or a test, and so never a keyword.
fn is_name(tokens: &[Lexeme<'_>], at: usize) -> bool {
    names_a_filter(tokens, at)
        || matches!(
            at.checked_sub(1).map(|before| &tokens[before].token),
            Some(Token::Dot)
        )
}

fn follows_is(tokens: &[Lexeme<'_>], at: usize) -> bool {
    at > 0 && is_word(&tokens[at - 1], "is")
}

/// Whether a token is the name of a filter or of a test.
pub(super) fn names_a_filter(tokens: &[Lexeme<'_>], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return false;
    };
    match tokens[before].token {
        Token::Pipe => true,
        Token::Ident("is") => !is_word(&tokens[at], "not"),
        Token::Ident("not") => follows_is(tokens, before),
        _ => false,
    }
}

fn names_a_test(tokens: &[Lexeme<'_>], at: usize) -> bool {
    names_a_filter(tokens, at) && !matches!(tokens[at - 1].token, Token::Pipe)
}

fn begins_a_value(lexeme: &Lexeme<'_>) -> bool {
    is_opening(lexeme) || is_operand(lexeme)
}

fn ends_a_value(lexeme: &Lexeme<'_>) -> bool {
    is_operand(lexeme)
        || matches!(
            lexeme.token,
            Token::ParenClose | Token::BracketClose | Token::BraceClose
        )
}

fn is_operand(lexeme: &Lexeme<'_>) -> bool {
    match lexeme.token {
        Token::Ident(word) => !matches!(word, "if" | "else" | "and" | "or" | "not" | "in" | "is"),
        Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => {
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
