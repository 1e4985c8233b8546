//! Names of Services that older API servers refuse.
//!
//! In: what flows where in a rule. Out: a warning for each. Pure.

use crate::problem::Problem;
use crate::rule::lint::flows::{Flows, kinds_of};
use crate::schema::naming;

/// Literal names of Services that begin with a digit.
pub(super) fn names(flows: &Flows<'_>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (child, study) in flows.templates() {
        for literal in &study.literals {
            let is_name = literal.spot.path == ["metadata", "name"] && !literal.spot.is_key;
            let kinds = kinds_of(child, study, literal.spot.document);
            if is_name && kinds.iter().any(|gvk| naming::needs_new_server(gvk, &literal.text)) {
                let message = format!(
                    "the Service name `{}` begins with a digit, which Kubernetes takes since 1.36 alone",
                    literal.text
                );
                let warning = Problem::warning("service-name", message).at(literal.place.clone());
                warnings.push(warning.hint("put a letter in front"));
            }
        }
    }
    warnings
}
