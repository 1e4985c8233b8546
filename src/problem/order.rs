//! The order in which problems are shown: the same whatever they were found in.
//!
//! In: problems. Out: the same, each once, by file and place; those without a place first.

use super::Problem;

/// By file, place, code and message.
pub fn ordered(mut problems: Vec<Problem>) -> Vec<Problem> {
    let key = |problem: &Problem| {
        let place = problem.place.as_ref();
        let at = place.map(|place| (place.source.name.clone(), place.span.start, place.span.end));
        (at, problem.code, problem.message.clone(), problem.hint.clone())
    };
    problems.sort_by_cached_key(key);
    problems.dedup();
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Place, Source};

    #[test]
    fn the_order_is_that_of_the_files_and_nothing_is_told_twice() {
        let (a, b) = (Source::new("a.yaml", "x: 1\ny: 2\n"), Source::new("b.yaml", "z: 3\n"));
        let problem = |code, place| Problem { place, ..Problem::new(code, "m") };
        let at = |source, start| Some(Place::new(source, start..start + 1));
        let sorted = [
            problem("no-rule", None),
            problem("illegal-id", at(&a, 0)),
            problem("illegal-name", at(&a, 0)),
            problem("duplicate-id", at(&a, 5)),
            problem("illegal-id", at(&b, 0)),
        ];
        let mut mixed: Vec<_> = sorted.iter().rev().cloned().collect();
        mixed.extend(sorted.clone());
        assert_eq!(ordered(mixed), sorted);
    }
}
