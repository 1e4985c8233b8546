//! The result of a comparison: what is true, why, and until when.
//!
//! In: the verdicts of parts. Out: the verdict of the whole, in the three-valued logic of Kleene. Never here: values.

use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Not;

/// Whether something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    /// It is.
    Holds,
    /// It is not.
    Fails,
    /// What it is about does not exist yet: wait.
    Unknown,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

/// Unknown stays unknown.
impl Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Holds => Self::Fails,
            Self::Fails => Self::Holds,
            Self::Unknown => Self::Unknown,
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it holds.
    pub truth: Truth,
    /// One line for people: what was found and what was wanted. It is the same as long as the values are (no moving
    /// times), bounded, and shows no value that is secret. Empty only for a list without comparisons.
    pub sentence: String,
    /// When time alone may change the verdict next; `None` if only a changed object can.
    pub look_again: Option<Timestamp>,
    /// What fails, if it fails: keys of items, or names of objects with the path. As many as are shown, and one more.
    pub failing: BTreeSet<String>,
}

/// So many things that fail are shown at most.
pub const MOST_FAILING: usize = 5;

/// Sentences of parts shown at once; the rest is counted.
const MAX_PARTS: usize = 4;
/// Bytes of a sentence, about.
const MAX_SENTENCE: usize = 1_000;

impl Verdict {
    /// A verdict that time does not change.
    pub fn new(truth: impl Into<Truth>, sentence: impl Into<String>) -> Self {
        let (truth, sentence) = (truth.into(), sentence.into());
        Self { truth, sentence, look_again: None, failing: BTreeSet::new() }
    }

    /// All must hold; of nothing, it holds.
    pub fn all(parts: &[Self]) -> Self {
        Self::combine(parts, Truth::Fails)
    }

    /// One must hold; of nothing, it fails.
    pub fn any(parts: &[Self]) -> Self {
        let alternatives = parts.len();
        let verdict = Self::combine(parts, Truth::Holds);
        if verdict.truth == Truth::Fails && alternatives > 1 {
            return Self { sentence: format!("none holds: {}", verdict.sentence), ..verdict };
        }
        verdict
    }

    /// `deciding` decides if one part has it, else unknown if one part has that, else the opposite of `deciding`.
    fn combine(parts: &[Self], deciding: Truth) -> Self {
        let has = |truth: Truth| parts.iter().any(|part| part.truth == truth);
        let truth =
            [deciding, Truth::Unknown].into_iter().find(|truth| has(*truth)).unwrap_or(!deciding);
        let relevant = || parts.iter().filter(|part| part.truth == truth);
        // Also where another part decides for now: the sentence may change with a part before the truth does.
        let look_again = parts.iter().filter_map(|part| part.look_again).min();
        let failing = relevant().filter(|part| part.truth == Truth::Fails);
        let failing = failing.flat_map(|part| part.failing.iter().cloned()).collect();
        let sentence = join(relevant().map(|part| part.sentence.as_str()));
        Self { truth, sentence, look_again, failing }
    }
}

fn join<'s>(sentences: impl Iterator<Item = &'s str>) -> String {
    let mut joined = String::new();
    let mut left_out = 0;
    for (at, sentence) in sentences.filter(|sentence| !sentence.is_empty()).enumerate() {
        if at >= MAX_PARTS || (at > 0 && joined.len() + sentence.len() > MAX_SENTENCE) {
            left_out += 1;
            continue;
        }
        joined.push_str(if at > 0 { "; " } else { "" });
        joined.push_str(sentence);
    }
    if left_out > 0 {
        // Writing to a string cannot fail.
        let _written = write!(joined, "; and {left_out} more");
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Truth; 3] = [Truth::Holds, Truth::Fails, Truth::Unknown];

    fn verdict(truth: Truth, sentence: &str, second: Option<i64>) -> Verdict {
        let look_again = second.map(|second| Timestamp::from_second(second).unwrap());
        Verdict { look_again, ..Verdict::new(truth, sentence) }
    }

    #[test]
    fn all_and_any_follow_the_tables_of_kleene() {
        use Truth::{Fails, Holds, Unknown};
        let pair = |left, right| vec![verdict(left, "l", None), verdict(right, "r", None)];
        for (left, right, and, or) in [
            (Holds, Holds, Holds, Holds),
            (Holds, Fails, Fails, Holds),
            (Holds, Unknown, Unknown, Holds),
            (Fails, Fails, Fails, Fails),
            (Fails, Unknown, Fails, Unknown),
            (Unknown, Unknown, Unknown, Unknown),
        ] {
            for (left, right) in [(left, right), (right, left)] {
                assert_eq!(Verdict::all(&pair(left, right)).truth, and, "{left:?} and {right:?}");
                assert_eq!(Verdict::any(&pair(left, right)).truth, or, "{left:?} or {right:?}");
            }
        }
        assert_eq!(Verdict::all(&[]).truth, Holds);
        assert_eq!(Verdict::any(&[]).truth, Fails);
        for truth in ALL {
            assert_eq!(!!truth, truth);
        }
    }

    #[test]
    fn the_sentence_is_made_of_the_parts_that_decide() {
        use Truth::{Fails, Holds, Unknown};
        let parts = |truths: [Truth; 3]| {
            truths
                .iter()
                .zip(["a", "b", "c"])
                .map(|(truth, name)| verdict(*truth, name, None))
                .collect::<Vec<_>>()
        };
        assert_eq!(Verdict::all(&parts([Fails, Holds, Fails])).sentence, "a; c");
        assert_eq!(Verdict::all(&parts([Unknown, Holds, Holds])).sentence, "a");
        assert_eq!(Verdict::all(&parts([Holds, Holds, Holds])).sentence, "a; b; c");
        assert_eq!(Verdict::any(&parts([Fails, Fails, Fails])).sentence, "none holds: a; b; c");
        assert_eq!(Verdict::any(&parts([Fails, Holds, Unknown])).sentence, "b");
        let many =
            Verdict::all(&(0..9).map(|n| verdict(Fails, &n.to_string(), None)).collect::<Vec<_>>());
        assert_eq!(many.sentence, "0; 1; 2; 3; and 5 more");
        let long = "x".repeat(900);
        let long = Verdict::all(&vec![verdict(Fails, &long, None); 9]);
        assert!(long.sentence.len() < MAX_SENTENCE + 20 && long.sentence.ends_with("; and 8 more"));
    }

    #[test]
    fn the_next_change_of_any_part_is_waited_for() {
        use Truth::{Fails, Holds};
        let parts = || {
            vec![verdict(Holds, "", Some(3)), verdict(Fails, "", Some(2)), verdict(Fails, "", None)]
        };
        for verdict in [Verdict::all(&parts()), Verdict::any(&parts())] {
            assert_eq!(verdict.look_again.map(Timestamp::as_second), Some(2));
        }
        assert_eq!(Verdict::all(&[]).look_again, None);
    }
}
