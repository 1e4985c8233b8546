//! A small complete rule to learn from.
//!
//! In: names. Out: a rule, its CRD, two example parents and two templates, commented. Pure.

use super::{Names, Scaffold};
use crate::problem::Problem;

/// Path and text of each file; the words in capitals stand for names.
const FILES: &[(&str, &str)] = &[
    ("rules/RULE.yaml", include_str!("greeting/rule.yaml")),
    ("rules/RULE.crd.yaml", include_str!("greeting/crd.yaml")),
    ("rules/RULE.example.yaml", include_str!("greeting/example.yaml")),
    ("templates/RULE/page.yaml", include_str!("greeting/page.yaml")),
    ("templates/RULE/server.yaml", include_str!("greeting/server.yaml")),
];

/// Makes the files; fails only if names break them.
pub fn greeting(names: &Names) -> Result<Scaffold, Vec<Problem>> {
    let words = [
        ("SINGULAR", names.singular()),
        ("PLURAL", names.plural()),
        ("GROUP", names.group.clone()),
        ("KIND", names.kind.clone()),
        ("RULE", names.rule.clone()),
    ];
    let mut scaffold = Scaffold::default();
    for (path, text) in FILES {
        scaffold.add(fill(path, &words), fill(text, &words));
    }
    let problems = scaffold.check(&[]);
    if problems.is_empty() { Ok(scaffold) } else { Err(problems) }
}

/// Puts names in place of the words, in one go: a name may contain a word.
fn fill(text: &str, words: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    let first = |rest: &str| {
        let found = words.iter().filter_map(|(word, name)| Some((rest.find(word)?, *word, name)));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, word, name)) = first(rest) {
        filled += &rest[..at];
        filled += name;
        rest = &rest[at + word.len()..];
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_without_mistakes_under_any_name() {
        for (rule, kind) in [("greeting", None), ("a", None), ("plural", Some("RULEKIND"))] {
            let names = Names::new(rule, kind, "demo.example.com").unwrap();
            let files = greeting(&names).unwrap().files;
            assert_eq!(files.len(), FILES.len());
            let header = format!("kind: {}\nmetadata:\n  name: world\n", names.kind);
            assert!(files[2].text.contains(&header), "{}", files[2].text);
        }
    }
}
