//! Fields of children that change with every write of something.
//!
//! In: what flows where in a rule. Out: a warning for each. Pure. A name that does is refused with the rule.

use crate::problem::Problem;
use crate::rule::lint::flows::{Flows, landing};
use crate::rule::lint::{is_name, source_of_trouble};

/// Fields that depend on a generation or a version.
pub(super) fn fields(flows: &Flows<'_>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (child, study) in flows.templates() {
        for sink in study.sinks.iter().filter(|sink| !is_name(sink)) {
            let Some(what) = source_of_trouble(flows, sink, child.group) else { continue };
            let message = format!(
                "{what} changes with every edit, and {} of `{}` with it",
                landing(sink),
                child.id
            );
            warnings.push(Problem::warning("unstable-field", message).at(sink.place.clone()).hint(
                "every child is written again at each edit: take the fields that it depends on, such as \
                 `parent.spec.config|to_json|sha256`",
            ));
        }
    }
    warnings
}
