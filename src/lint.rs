//! What is odd about rules that work: warnings of `check`.
//!
//! In: compiled rules, the files of the folder of templates. Out: warnings. Pure. Never here: mistakes, which
//! [`crate::rule::load`] finds, and example parents.

mod control;
mod job;
mod service;
mod unstable;
mod unused;

use crate::problem::Problem;
use crate::rule::lint::flows::Flows;
use crate::rule::{Loaded, Templates};

/// Everything odd, each once, rule by rule.
pub fn warnings(loaded: &Loaded, files: &Templates) -> Vec<Problem> {
    let mut warnings: Vec<Problem> = Vec::new();
    for rule in &loaded.rules {
        let flows = Flows::of(rule);
        let found = [
            unstable::fields(&flows),
            control::given_away(&flows),
            job::unguarded(&flows),
            service::names(&flows),
        ];
        for warning in found.into_iter().flatten() {
            // What several children include would be told several times.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings.extend(unused::templates(loaded, files));
    warnings
}
