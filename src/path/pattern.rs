//! The patterns of `match()` and `search()` in a filter: I-Regexp (RFC 9485).
//!
//! In: a pattern. Out: a compiled regular expression of bounded size. Never here: the `matches` operator.

use regex::{Regex, RegexBuilder};

/// Bytes that a compiled pattern may take.
const MAX_SIZE: usize = 1 << 20;

/// For `match()`: the whole text.
pub(super) fn whole(pattern: &str) -> Result<Regex, String> {
    // Checked alone first, so that `a)(b` cannot close the group around it.
    compile(pattern)?;
    compile(&format!("^(?:{pattern})$"))
}

/// For `search()`: any part of the text.
pub(super) fn anywhere(pattern: &str) -> Result<Regex, String> {
    compile(pattern)
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(&translate(pattern)).size_limit(MAX_SIZE).build().map_err(|error| match error
    {
        regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
        _ => format!("`{pattern}` is not a regular expression"),
    })
}

/// A dot means "no line end" (RFC 9485 section 5.3): the regex crate would let it match `\r`.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '.' if !in_class => {
                out.push_str(r"[^\n\r]");
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        out.push(c);
        if c == '\\' {
            out.extend(chars.next());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_is_anchored_and_search_is_not() {
        assert!(whole("a|b").unwrap().is_match("a"));
        assert!(!whole("a|b").unwrap().is_match("ab"));
        assert!(anywhere("b").unwrap().is_match("abc"));
        assert!(whole("a)(b").is_err());
    }

    #[test]
    fn a_dot_matches_no_line_end_unless_it_is_quoted() {
        for (pattern, text, matches) in [
            ("a.b", "a\rb", false),
            ("a.b", "a\u{2028}b", true),
            (r"a\.b", "a.b", true),
            (r"a\.b", "axb", false),
            ("a[.]b", "a.b", true),
            ("a[.]b", "axb", false),
            (r"a[\].]b", "a.b", true),
        ] {
            assert_eq!(whole(pattern).unwrap().is_match(text), matches, "{pattern} {text:?}");
        }
    }

    #[test]
    fn a_pattern_that_explodes_is_refused() {
        assert_eq!(anywhere(r"(\w{100}){100}{100}").unwrap_err(), "the pattern is too large");
        assert_eq!(anywhere("a(").unwrap_err(), "`a(` is not a regular expression");
    }
}
