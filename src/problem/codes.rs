//! Every code that a problem can have: what it says, and what to do.
//!
//! In: `codes.txt`, one code a line, sorted. Out: the table. Never here: which problem has which code.

use std::sync::LazyLock;

/// A code and its explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `unknown-field`.
    pub name: &'static str,
    /// What is wrong: one sentence.
    pub meaning: &'static str,
    /// What to do about it: one sentence.
    pub remedy: &'static str,
}

static CODES: LazyLock<Vec<Code>> =
    LazyLock::new(|| include_str!("codes.txt").lines().filter_map(read).collect());

/// `code | meaning | remedy`; a line that is not like this is no code, and the tests say so.
fn read(line: &'static str) -> Option<Code> {
    let mut parts = line.splitn(3, '|').map(str::trim);
    Some(Code { name: parts.next()?, meaning: parts.next()?, remedy: parts.next()? })
}

/// All of them, by name.
pub fn all() -> &'static [Code] {
    &CODES
}

/// The one with this name.
pub fn find(name: &str) -> Option<&'static Code> {
    CODES.binary_search_by_key(&name, |code| code.name).ok().and_then(|at| CODES.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_code_with_two_sentences_and_all_are_sorted() {
        let lines: Vec<_> = include_str!("codes.txt").lines().collect();
        assert_eq!(all().len(), lines.len(), "each line is `code | meaning | remedy`");
        for code in all() {
            let kebab = |c: char| c.is_ascii_lowercase() || c == '-';
            let name = code.name;
            assert!(name.contains('-') && name.chars().all(kebab), "{name}");
            for sentence in [code.meaning, code.remedy] {
                assert!(sentence.starts_with(|c: char| c.is_uppercase()), "{name}: {sentence}");
                assert!(sentence.ends_with('.'), "{name}: {sentence}");
            }
            assert_eq!(find(name), Some(code));
        }
        for pair in all().windows(2) {
            assert!(pair[0].name < pair[1].name, "{} comes after {}", pair[0].name, pair[1].name);
        }
        assert_eq!(find("no-such-code"), None);
    }
}
