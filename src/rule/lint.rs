//! Mistakes in the meaning of a rule that only the flow of values through its templates shows.
//!
//! In: a compiled rule. Out: problems that refuse it. Pure. Never here: example parents, and what is only odd, which
//! [`crate::lint`] tells.

mod adopt;
pub(crate) mod flows;
mod literals;
mod roots;
mod secrets;
mod unstable;

use super::Rule;
use crate::problem::Problem;
use flows::Flows;
pub(crate) use unstable::{is_name, source_of_trouble};

/// Everything that refuses a rule which compiled.
pub(super) fn problems(rule: &Rule) -> Vec<Problem> {
    let flows = Flows::of(rule);
    let found = [
        roots::unknown(&flows),
        secrets::leaks(&flows, rule.reveal),
        unstable::names(&flows),
        literals::illegal(&flows),
        adopt::any_name(&flows),
    ];
    let mut problems: Vec<Problem> = Vec::new();
    for problem in found.into_iter().flatten() {
        // What several children include would be told several times.
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

/// A rule that knows where its templates reveal secrets, if it may: what stands there is hashed into no mark.
pub(super) fn revealing(mut rule: Rule) -> Rule {
    if !rule.reveal {
        return rule;
    }
    let revealed = secrets::revealed(&Flows::of(&rule));
    for (child, places) in rule.children.iter_mut().zip(revealed) {
        child.revealed = places;
    }
    rule
}
