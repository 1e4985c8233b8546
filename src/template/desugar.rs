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

mod tokens;
mod writer;

use minijinja::machinery::Token;
use std::ops::Range;
pub(super) use tokens::{Lexeme, is_word, names_a_filter, token, token_before};
use tokens::{
    Step, StepKind, adding, begins_a_value, closing, comparing, is_name, is_opening, loosest, span,
    split, steps, tolerates, top_level,
};
pub(super) use writer::SourceMap;
use writer::Writer;

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
    pub(super) notes: Notes,
}

/// What was seen on the way.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Bytes of every access chain, by the number that its filter call carries.
    pub(super) sites: Vec<Range<usize>>,
    /// Variables that are set to a chain, and its number.
    pub(super) aliases: Vec<(String, usize)>,
    /// Every name that is read, with its static steps.
    pub(super) chains: Vec<Chain>,
    /// Bytes of the engine's text of each expression of a lenient body, by number.
    pub(super) guarded: Vec<Range<usize>>,
}

/// Translates a template. `tokens` are all of `source`, without raw text.
pub(super) fn desugar(source: &str, tokens: &[Lexeme<'_>], lenient: bool) -> Desugared {
    let mut translation =
        Translation { writer: Writer::new(source), lenient, notes: Notes::default() };
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
    Desugared { text, map, notes: translation.notes }
}

struct Translation<'a> {
    writer: Writer<'a>,
    lenient: bool,
    notes: Notes,
}

impl Translation<'_> {
    fn emit(&mut self, tokens: &[Lexeme<'_>]) {
        self.guard(tokens, Some(" else omit"));
    }

    fn statement(&mut self, tokens: &[Lexeme<'_>]) {
        let Some(Token::Ident(keyword)) = token(tokens, 0) else {
            return;
        };
        let rest = &tokens[1..];
        match *keyword {
            "if" | "elif" => self.guard(rest, None),
            "for" => self.for_loop(rest),
            "set" => self.set(rest),
            "with" | "macro" | "call" | "filter" | "do" => self.expressions(rest),
            _ => {}
        }
    }

    /// `target in list if condition recursive`
    fn for_loop(&mut self, tokens: &[Lexeme<'_>]) {
        let Some(target) = tokens.iter().position(|lexeme| is_word(lexeme, "in")) else {
            return;
        };
        let mut list = &tokens[target + 1..];
        if let [before @ .., last] = list
            && is_word(last, "recursive")
            && !before.is_empty()
        {
            list = before;
        }
        let clause = top_level(list).find(|&at| is_word(&list[at], "if") && !is_name(list, at));
        self.guard(&list[..clause.unwrap_or(list.len())], None);
        if let Some(clause) = clause {
            self.guard(&list[clause + 1..], None);
        }
    }

    /// `target = value`, or the name of a block and its filters.
    fn set(&mut self, tokens: &[Lexeme<'_>]) {
        let is_assign = |&at: &usize| matches!(tokens[at].token, Token::Assign);
        let Some(assign) = top_level(tokens).find(is_assign) else {
            return self.expressions(tokens);
        };
        let (target, value) = (&tokens[..assign], &tokens[assign + 1..]);
        let site = self.notes.sites.len();
        self.guard(value, None);
        let begins = self.notes.sites.get(site).map(|chain| chain.start);
        if let [Lexeme { token: Token::Ident(name), .. }] = target
            && begins == Some(span(value).start)
        {
            self.notes.aliases.push(((*name).to_owned(), site));
        }
    }

    /// An expression that a lenient body can do without.
    fn guard(&mut self, tokens: &[Lexeme<'_>], otherwise: Option<&str>) {
        let Some(first) = tokens.first().filter(|_| self.lenient) else {
            return self.expressions(tokens);
        };
        let number = self.notes.guarded.len();
        self.writer.keep(first.bytes.start);
        let start = self.writer.len();
        self.notes.guarded.push(start..start);
        let bytes = span(tokens);
        self.writer.insert("((", bytes.clone());
        self.expressions(tokens);
        let soften = if otherwise.is_some() { "|__soft" } else { "" };
        let otherwise = otherwise.unwrap_or_default();
        self.writer.insert(&format!("){soften} if __live({number}){otherwise})"), bytes);
        self.notes.guarded[number].end = self.writer.len();
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
        let pieces =
            split(tokens, |tokens, at| usize::from(matches!(tokens[at].token, Token::Tilde)));
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
        let is_literal = tokens.len() == 1
            && matches!(tokens[0].token, Token::Str(_) | Token::String(_) | Token::Int(_));
        match (filter, tokens.first()) {
            (Some(filter), Some(first)) if !is_literal => {
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
        while matches!(token(tokens, next), Some(Token::Dot)) {
            next = (next + 2).min(tokens.len());
        }
        self.writer.keep(tokens[next - 1].bytes.end);
        if matches!(token(tokens, next), Some(Token::ParenOpen)) {
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

    /// A value with everything that follows it directly; gives the position of what comes then.
    fn value(&mut self, tokens: &[Lexeme<'_>], at: usize) -> usize {
        let base_end = if is_opening(&tokens[at]) { closing(tokens, at) } else { at };
        let (steps, next) = steps(tokens, base_end + 1);
        self.chain(&tokens[at], &steps);
        let bytes = span(&tokens[at..next]);
        let runs = || steps.chunk_by(|a, b| a.is_access() && b.is_access());
        let wraps = runs().filter(|run| !matches!(run[0].kind, StepKind::Call(_))).count();

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
                    let site = (!tolerates(tokens, next)).then_some(self.notes.sites.len());
                    self.notes.sites.extend(site.map(|_| bytes.clone()));
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
        self.writer.insert(&format!("|__step({site}"), bytes.clone());
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
        let mut chain = Chain { steps: vec![name.to_owned()], bytes: base.bytes.clone() };
        for step in steps {
            let (StepKind::Key(Token::Ident(key))
            | StepKind::Index([Lexeme { token: Token::Str(key), .. }])) = step.kind
            else {
                break;
            };
            chain.steps.push((*key).to_owned());
            chain.bytes.end = step.end;
        }
        self.notes.chains.push(chain);
    }
}

#[cfg(test)]
mod tests;
