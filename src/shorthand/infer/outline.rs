//! A template body as YAML, without rendering it.
//!
//! In: the text of a body. Out: its tree, with a placeholder for each expression. Nothing for a body whose keys nobody can
//! know beforehand.

use crate::yaml::{Kind, Limits, Node, parse_keeping_merges};
use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use std::collections::BTreeSet;

/// Stand for expressions, by their number, and for statements. Of the private use area: a body that has one is not read.
const EXPRESSION: char = '\u{E000}';
const END: char = '\u{E001}';
const STATEMENT: char = '\u{E002}';

/// A body whose structure is known.
pub(super) struct Outline<'b> {
    /// Nothing if the body is empty.
    pub(super) tree: Option<Node>,
    /// Names that the body itself gives a meaning.
    pub(super) names: BTreeSet<&'b str>,
    expressions: Vec<&'b str>,
}

/// A part of a scalar.
#[derive(Debug, PartialEq)]
pub(super) enum Part<'b> {
    Text,
    Expression(&'b str),
    Statement,
}

impl<'b> Outline<'b> {
    /// Branches and loops count as if everything in them were there once; other statements are not understood.
    pub(super) fn read(body: &'b str) -> Option<Self> {
        if body.contains([EXPRESSION, END, STATEMENT]) {
            return None;
        }
        let mut outline = Self { tree: None, names: BTreeSet::new(), expressions: Vec::new() };
        let mut text = String::new();
        let mut tokens = tokens(body)?.into_iter();
        while let Some((token, at)) = tokens.next() {
            match token {
                Token::TemplateData(data) => text.push_str(data),
                Token::VariableStart => {
                    let end = tokens.find(|(token, _)| matches!(token, Token::VariableEnd))?.1;
                    text.push(EXPRESSION);
                    text.push_str(&outline.expressions.len().to_string());
                    text.push(END);
                    outline.expressions.push(body.get(at.1..end.0)?);
                }
                Token::BlockStart => {
                    let inside = tokens.by_ref().map(|(token, _)| token);
                    let inside: Vec<_> =
                        inside.take_while(|token| !matches!(token, Token::BlockEnd)).collect();
                    outline.statement(&inside)?;
                    let line = text.rsplit('\n').next().unwrap_or_default();
                    if !line.trim().is_empty() {
                        text.push(STATEMENT);
                    }
                }
                _ => {}
            }
        }
        let mut documents = parse_keeping_merges(&text, &Limits::FILE).ok()?.into_iter();
        let tree = documents.next().map(|document| document.root);
        if documents.next().is_some() {
            return None;
        }
        outline.tree = tree.filter(|tree| !matches!(tree.kind, Kind::Null { explicit: false }));
        Some(outline)
    }

    fn statement(&mut self, tokens: &[Token<'b>]) -> Option<()> {
        let (Token::Ident(keyword), rest) = tokens.split_first()? else { return None };
        match *keyword {
            "if" | "elif" | "else" | "endif" | "endfor" => {}
            "for" => {
                let targets = rest.iter().take_while(|token| !matches!(token, Token::Ident("in")));
                self.names.extend(targets.filter_map(name));
            }
            "set" if rest.iter().any(|token| matches!(token, Token::Assign)) => {
                let targets = rest.iter().take_while(|token| !matches!(token, Token::Assign));
                self.names.extend(targets.filter_map(name));
            }
            _ => return None,
        }
        Some(())
    }

    /// What a scalar is made of.
    pub(super) fn parts(&self, text: &str) -> Vec<Part<'b>> {
        let mut parts = Vec::new();
        for piece in text.split_inclusive([EXPRESSION, STATEMENT]) {
            let content = piece.trim_end_matches([EXPRESSION, STATEMENT]);
            let after = match content.split_once(END) {
                Some((number, after)) => {
                    let expression =
                        number.parse().ok().and_then(|number: usize| self.expressions.get(number));
                    parts.extend(expression.copied().map(Part::Expression));
                    after
                }
                None => content,
            };
            if !after.is_empty() {
                parts.push(Part::Text);
            }
            if piece.ends_with(STATEMENT) {
                parts.push(Part::Statement);
            }
        }
        parts
    }
}

fn name<'b>(token: &Token<'b>) -> Option<&'b str> {
    match token {
        Token::Ident(name) => Some(name),
        _ => None,
    }
}

/// The tokens with their bytes. Block tags take their line with them, as they do when the body is rendered.
fn tokens(body: &str) -> Option<Vec<(Token<'_>, (usize, usize))>> {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    let tokens = tokenize(body, false, syntax.build().ok()?);
    tokens
        .map(|token| {
            let (token, span) = token.ok()?;
            Some((token, (span.start_offset as usize, span.end_offset as usize)))
        })
        .collect()
}
