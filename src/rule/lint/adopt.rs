//! Objects that a rule would adopt under any name that a parent chooses.
//!
//! In: what flows where in a rule. Out: a problem for each child that may be adopted and whose name is computed: whoever may
//! write a parent could otherwise have any object of the namespace taken over. Pure.

use super::flows::Flows;
use crate::problem::Problem;
use crate::rule::Adopt;

/// Every child that would adopt what its parent names.
pub(super) fn any_name(flows: &Flows<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (child, study) in flows.templates() {
        if child.policies.adopt == Adopt::Never {
            continue;
        }
        let names = |path: &[String]| match path {
            [] => true,
            [root] => root == "metadata",
            [root, field, ..] => root == "metadata" && field == "name",
        };
        if let Some(sink) = study.sinks.iter().find(|sink| names(&sink.spot.path)) {
            let message = format!("`{}` may be adopted, and its name is computed", child.id);
            let problem = Problem::new("adopt-any-name", message).at(sink.place.clone());
            problems.push(problem.hint(
                "whoever writes a parent could have any object taken over: write the name, or `adopt: never`",
            ));
        }
    }
    problems
}
