//! Which rules run after the files were read anew.
//!
//! In: the rules that run, what was read. Out: the rules to run from now on, and which of them stay as they were and why.
//! Only what is certainly gone counts as removed. Pure.

use super::{Loaded, Rule};
use std::fmt;
use std::sync::Arc;

/// The rules to run, and those among them that could not be renewed.
pub struct Renewed {
    /// By name.
    pub rules: Vec<Arc<Rule>>,
    /// Rules that run on as they were, sorted by name.
    pub kept: Vec<(Arc<str>, Kept)>,
}

/// Why a rule runs on as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Its new version has problems.
    Bad,
    /// The file it stood in has problems that hide which rules are in it.
    Hidden,
    /// No rule is left at all: that is a mistake more often than a wish.
    Empty,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bad => "its new version has problems",
            Self::Hidden => "its file has problems that hide which rules are in it",
            Self::Empty => "no rule at all was found, which is not taken for a removal",
        })
    }
}

/// What is good is taken over; a rule that is bad, or may only be hidden, stays as it was.
pub fn renew(running: &[Arc<Rule>], loaded: &Loaded) -> Renewed {
    let mut rules = loaded.rules.clone();
    let mut kept = Vec::new();
    for old in running {
        let is_it = |new: &Arc<Rule>| new.name == old.name || new.identity == old.identity;
        if loaded.rules.iter().any(is_it) {
            continue;
        }
        if let Some(why) = why_kept(old, loaded) {
            kept.push((Arc::clone(&old.name), why));
            rules.push(Arc::clone(old));
        }
    }
    rules.sort_by(|left, right| left.name.cmp(&right.name));
    kept.sort_by(|(left, _), (right, _)| left.cmp(right));
    Renewed { rules, kept }
}

fn why_kept(old: &Rule, loaded: &Loaded) -> Option<Kept> {
    if loaded.bad.iter().any(|name| **name == *old.name) {
        return Some(Kept::Bad);
    }
    if loaded.unread.contains(&old.place.source.name) {
        return Some(Kept::Hidden);
    }
    loaded.rules.is_empty().then_some(Kept::Empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Folder, load};
    use crate::source::Source;

    fn rule(name: &str, more: &str) -> String {
        format!(
            "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: {name}}}\nspec:\n  {more}\
             parent: {{apiVersion: v1, kind: {name}}}\n  children: []\n"
        )
    }

    fn loaded(files: &[(&str, &str)]) -> Loaded {
        let rules = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
        load(&Folder { rules, templates: Arc::default() })
    }

    /// What runs after `files`, when `a` (in a.yaml) and `b` (in b.yaml) ran before: names, and who was kept why.
    fn after(files: &[(&str, &str)]) -> (Vec<String>, Vec<(String, Kept)>) {
        let (a, b) = (rule("a", ""), rule("b", ""));
        let before = loaded(&[("a.yaml", &a), ("b.yaml", &b)]);
        assert_eq!(before.problems, []);
        let renewed = renew(&before.rules, &loaded(files));
        let names = renewed.rules.iter().map(|rule| rule.name.to_string()).collect();
        (names, renewed.kept.into_iter().map(|(name, why)| (name.to_string(), why)).collect())
    }

    #[test]
    fn only_what_is_certainly_gone_is_gone() {
        let (a, b) = (rule("a", ""), rule("b", ""));
        let kept = |name: &str, why| vec![(name.to_owned(), why)];
        assert_eq!(after(&[("a.yaml", &a)]), (vec!["a".into()], vec![]), "b was removed");
        let moved = format!("{a}---\n{b}");
        assert_eq!(after(&[("all.yaml", &moved)]).1, [], "moved to another file");
        let bad = rule("b", "childs: []\n  ");
        let both = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(
            after(&[("a.yaml", &a), ("b.yaml", &bad)]),
            (both.clone(), kept("b", Kept::Bad))
        );
        let torn = "kind: [Rule";
        assert_eq!(
            after(&[("a.yaml", &a), ("b.yaml", torn)]),
            (both.clone(), kept("b", Kept::Hidden))
        );
        let nameless = b.replace("{name: b}", "{}");
        assert_eq!(
            after(&[("a.yaml", &a), ("b.yaml", &nameless)]),
            (both.clone(), kept("b", Kept::Hidden))
        );
        assert_eq!(
            after(&[("a.yaml", &a), ("c.yaml", torn)]),
            (vec!["a".into()], vec![]),
            "what is hidden in another file was never there"
        );
        let empty = vec![("a".to_owned(), Kept::Empty), ("b".to_owned(), Kept::Empty)];
        assert_eq!(after(&[]), (both, empty));
    }

    #[test]
    fn a_renamed_rule_is_not_kept_beside_itself() {
        let a = rule("a", "");
        let c = rule("c", "formerly: [b]\n  ");
        assert_eq!(
            after(&[("a.yaml", &a), ("c.yaml", &c)]),
            (vec!["a".into(), "c".into()], vec![])
        );
    }
}
