//! Which tokens belong together.
//!
//! In: the tokens between two delimiters, which the engine's parser accepted. Out: operands, steps, brackets. Never
//! here: what becomes of them.

use minijinja::machinery::Token;
use std::ops::Range;

/// A token and its bytes.
pub(crate) struct Lexeme<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) bytes: Range<usize>,
}

/// The kind of the token at a position.
pub(crate) fn token<'t, 'a>(tokens: &'t [Lexeme<'a>], at: usize) -> Option<&'t Token<'a>> {
    tokens.get(at).map(|lexeme| &lexeme.token)
}

/// The kind of the token in front of a position.
pub(crate) fn token_before<'t, 'a>(tokens: &'t [Lexeme<'a>], at: usize) -> Option<&'t Token<'a>> {
    token(tokens, at.checked_sub(1)?)
}

/// What follows a value.
pub(super) struct Step<'t, 'a> {
    pub(super) kind: StepKind<'t, 'a>,
    /// Bytes of the source up to the end of the step.
    pub(super) end: usize,
}

/// `.key`, `[index]`, `[from:to]`, `(arguments)`.
pub(super) enum StepKind<'t, 'a> {
    Key(&'t Token<'a>),
    Index(&'t [Lexeme<'a>]),
    Slice(&'t [Lexeme<'a>]),
    /// A call, or a method with its name.
    Call(&'t [Lexeme<'a>]),
}

impl Step<'_, '_> {
    /// Whether the step reads one value below another.
    pub(super) fn is_access(&self) -> bool {
        matches!(self.kind, StepKind::Key(_) | StepKind::Index(_))
    }
}

/// The bytes from the first token to the last.
pub(super) fn span(tokens: &[Lexeme<'_>]) -> Range<usize> {
    let start = tokens.first().map_or(0, |first| first.bytes.start);
    start..tokens.last().map_or(start, |last| last.bytes.end)
}

/// The steps that follow a value, and the position of the token after them.
pub(super) fn steps<'t, 'a>(tokens: &'t [Lexeme<'a>], mut at: usize) -> (Vec<Step<'t, 'a>>, usize) {
    let mut steps = Vec::new();
    while let Some(lexeme) = tokens.get(at) {
        let (kind, last) = match lexeme.token {
            Token::Dot if matches!(token(tokens, at + 2), Some(Token::ParenOpen)) => {
                let close = closing(tokens, at + 2);
                (StepKind::Call(&tokens[at + 3..close]), close)
            }
            Token::Dot => match token(tokens, at + 1) {
                Some(name) => (StepKind::Key(name), at + 1),
                None => break,
            },
            Token::BracketOpen => {
                let close = closing(tokens, at);
                let inner = &tokens[at + 1..close];
                let is_slice = top_level(inner).any(|at| matches!(inner[at].token, Token::Colon));
                let kind = if is_slice { StepKind::Slice } else { StepKind::Index };
                (kind(inner), close)
            }
            Token::ParenOpen => {
                let close = closing(tokens, at);
                (StepKind::Call(&tokens[at + 1..close]), close)
            }
            _ => break,
        };
        steps.push(Step { kind, end: tokens[last].bytes.end });
        at = last + 1;
    }
    (steps, at)
}

/// Whether a missing value is fine in front of what comes at `next`.
pub(super) fn tolerates(tokens: &[Lexeme<'_>], next: usize) -> bool {
    match (token(tokens, next), token(tokens, next + 1)) {
        (Some(Token::Pipe), Some(Token::Ident(filter))) => matches!(*filter, "default" | "d"),
        (Some(Token::Ident(word)), _) => *word == "is",
        _ => false,
    }
}

/// Splits at operators outside of brackets; `operator` says how many tokens one has. The operators are left out.
pub(super) fn split<'t, 'a>(
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

/// What binds looser than a comparison.
pub(super) fn loosest(tokens: &[Lexeme<'_>], at: usize) -> usize {
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

/// Comparisons, `in` and `not in`.
pub(super) fn comparing(tokens: &[Lexeme<'_>], at: usize) -> usize {
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
    token_before(tokens, at).is_some_and(ends_a_value)
}

/// `+` and `-` between two operands.
pub(super) fn adding(tokens: &[Lexeme<'_>], at: usize) -> usize {
    let is_sign = matches!(tokens[at].token, Token::Plus | Token::Minus);
    // After the name of a test, a sign begins its argument: `x is divisibleby -3`.
    let names_a_test = at > 1
        && names_a_filter(tokens, at - 1)
        && !matches!(token_before(tokens, at - 1), Some(Token::Pipe));
    usize::from(is_sign && follows_a_value(tokens, at) && !names_a_test)
}

/// Positions outside of brackets; an opening bracket counts, what is in it and its end do not.
pub(super) fn top_level<'t>(tokens: &'t [Lexeme<'_>]) -> impl Iterator<Item = usize> + 't {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next;
        let lexeme = tokens.get(at)?;
        next = if is_opening(lexeme) { closing(tokens, at) } else { at } + 1;
        Some(at)
    })
}

/// The position of the bracket that closes the one at `open`. The parser made sure that it is there.
pub(super) fn closing(tokens: &[Lexeme<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, lexeme) in tokens.iter().enumerate().skip(open) {
        if is_opening(lexeme) {
            depth += 1;
        } else if is_closing(&lexeme.token) {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len().saturating_sub(1)
}

/// Whether a bracket opens here.
pub(super) fn is_opening(lexeme: &Lexeme<'_>) -> bool {
    matches!(lexeme.token, Token::ParenOpen | Token::BracketOpen | Token::BraceOpen)
}

fn is_closing(token: &Token<'_>) -> bool {
    matches!(token, Token::ParenClose | Token::BracketClose | Token::BraceClose)
}

/// Whether a token is this word.
pub(crate) fn is_word(lexeme: &Lexeme<'_>, word: &str) -> bool {
    matches!(lexeme.token, Token::Ident(name) if name == word)
}

/// Whether a word is the name of a field, a filter or a test, and so never a keyword.
pub(super) fn is_name(tokens: &[Lexeme<'_>], at: usize) -> bool {
    names_a_filter(tokens, at) || matches!(token_before(tokens, at), Some(Token::Dot))
}

fn follows_is(tokens: &[Lexeme<'_>], at: usize) -> bool {
    matches!(token_before(tokens, at), Some(Token::Ident("is")))
}

/// Whether a token is the name of a filter or of a test.
pub(crate) fn names_a_filter(tokens: &[Lexeme<'_>], at: usize) -> bool {
    match token_before(tokens, at) {
        Some(Token::Pipe) => true,
        Some(Token::Ident("is")) => !is_word(&tokens[at], "not"),
        Some(Token::Ident("not")) => follows_is(tokens, at - 1),
        _ => false,
    }
}

/// Whether a value begins here: a name, a literal or a bracket.
pub(super) fn begins_a_value(lexeme: &Lexeme<'_>) -> bool {
    is_opening(lexeme) || is_operand(&lexeme.token)
}

fn ends_a_value(token: &Token<'_>) -> bool {
    is_closing(token) || is_operand(token)
}

fn is_operand(token: &Token<'_>) -> bool {
    match token {
        Token::Ident(word) => !matches!(*word, "if" | "else" | "and" | "or" | "not" | "in" | "is"),
        Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => {
            true
        }
        _ => false,
    }
}
