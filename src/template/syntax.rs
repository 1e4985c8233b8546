//! Mistakes in the syntax of a template, in the words of its author.
//!
//! In: the engine's complaint, the template's tokens. Out: what is wrong, where, and what to do. Never here: finding
//! out whether something is wrong.

use super::check::has_end;
use super::compile::lexemes;
use super::desugar::{Lexeme, token_before};
use crate::comparison::closest;
use minijinja::machinery::Token;
use std::ops::Range;

/// A mistake in a template's text.
pub(super) struct Mistake {
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// Bytes of the text, where they are not those that the engine points at.
    pub(super) bytes: Option<Range<usize>>,
}

/// What the engine's complaint means.
pub(super) fn explained(text: &str, detail: &str) -> Mistake {
    let about_blocks =
        detail.starts_with("unexpected end of input") || detail.starts_with("unknown statement e");
    if about_blocks
        && let Some(mistake) = lexemes(text).ok().and_then(|tokens| of_blocks(text, &tokens))
    {
        return mistake;
    }
    if let Some(name) = detail.strip_prefix("unknown statement ") {
        let hint = closest(name, STATEMENTS).map(|near| format!("did you mean `{near}`?"));
        let hint = hint.or_else(|| Some("values stand in `{{ … }}`".to_owned()));
        return Mistake { message: format!("there is no statement `{name}`"), hint, bytes: None };
    }
    if detail.ends_with("expected end of block") && text.contains("else if ") {
        let message = "`else if` is no statement".to_owned();
        return Mistake { message, hint: Some("write `{% elif … %}`".to_owned()), bytes: None };
    }
    let message = WORDS.iter().fold(detail.to_owned(), |text, (from, to)| text.replace(from, to));
    let hint = HINTS.iter().find(|(part, _)| message.contains(part));
    Mistake { message, hint: hint.map(|(_, hint)| (*hint).to_owned()), bytes: None }
}

const STATEMENTS: [&str; 17] = [
    "if", "elif", "else", "endif", "for", "endfor", "set", "endset", "macro", "endmacro",
    "include", "import", "from", "call", "endcall", "with", "endwith",
];

/// The engine's names of tokens, and what is written for them.
const WORDS: [(&str, &str); 11] = [
    ("unexpected end of string", "a quote in this line is never closed"),
    ("unexpected identifier", "unexpected name"),
    ("end of variable block", "`}}`"),
    ("start of variable block", "`{{`"),
    ("end of block", "`%}`"),
    ("start of block", "`{%`"),
    ("end of input", "end of the template"),
    ("identifier", "a name"),
    ("string,", "a text,"),
    ("in keyword", "`in`"),
    ("raw block", "`raw` block"),
];

const HINTS: [(&str, &str); 3] = [
    (", expected `}}`", "an expression is closed by `}}`"),
    (", expected `%}`", "a statement is closed by `%}`"),
    ("unexpected `=`", "`==` compares, `{% set name = … %}` names a value"),
];

/// The first block whose end does not fit, or that has none.
fn of_blocks(text: &str, tokens: &[Lexeme<'_>]) -> Option<Mistake> {
    let mut open: Vec<(&str, &Range<usize>)> = Vec::new();
    for (at, lexeme) in tokens.iter().enumerate() {
        let Token::Ident(name) = lexeme.token else { continue };
        if !matches!(token_before(tokens, at), Some(Token::BlockStart)) {
            continue;
        }
        let Some(ended) = name.strip_prefix("end") else {
            if matches!(name, "else" | "elif") && open.is_empty() {
                let message = format!("`{name}` belongs to no `if` or `for`");
                return Some(Mistake { message, hint: None, bytes: Some(lexeme.bytes.clone()) });
            }
            if has_end(name, tokens.get(at..)?) {
                open.push((name, &lexeme.bytes));
            }
            continue;
        };
        match open.last() {
            Some((name, _)) if *name == ended => drop(open.pop()),
            Some((other, place)) => {
                let line = line_of(text, place);
                let message =
                    format!("`{name}` stands where `{other}` of line {line} is still open");
                let hint = Some(format!("write `{{% end{other} %}}` first"));
                return Some(Mistake { message, hint, bytes: Some(lexeme.bytes.clone()) });
            }
            None => {
                let message = format!("`{name}` ends nothing");
                return Some(Mistake { message, hint: None, bytes: Some(lexeme.bytes.clone()) });
            }
        }
    }
    let (name, place) = open.pop()?;
    let hint = Some(format!("write `{{% end{name} %}}` where it ends"));
    let message = format!("this `{name}` is never ended");
    Some(Mistake { message, hint, bytes: Some(place.clone()) })
}

fn line_of(text: &str, bytes: &Range<usize>) -> usize {
    text.get(..bytes.start).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_tokens_are_told_as_they_are_written() {
        for (text, detail, message, hint) in [
            (
                "a\n{% if x %}\n{% for y in z %}{% endfor %}",
                "unexpected end of input, expected end of block",
                "this `if` is never ended",
                "write `{% endif %}` where it ends",
            ),
            (
                "a\n{% for x in y %}\n{% endif %}",
                "unknown statement endif",
                "`endif` stands where `for` of line 2 is still open",
                "write `{% endfor %}` first",
            ),
            ("{% endif %}", "unknown statement endif", "`endif` ends nothing", ""),
            ("{% else %}", "unknown statement else", "`else` belongs to no `if` or `for`", ""),
            (
                "{% fro x in y %}",
                "unknown statement fro",
                "there is no statement `fro`",
                "did you mean `for`?",
            ),
            (
                "{{ a }",
                "unexpected `}`, expected end of variable block",
                "unexpected `}`, expected `}}`",
                "an expression is closed by `}}`",
            ),
            (
                "{{ a | }}",
                "unexpected end of variable block, expected identifier",
                "unexpected `}}`, expected a name",
                "",
            ),
        ] {
            let mistake = explained(text, detail);
            assert_eq!(mistake.message, message, "{text}");
            assert_eq!(mistake.hint.unwrap_or_default(), hint, "{text}");
        }
    }
}
