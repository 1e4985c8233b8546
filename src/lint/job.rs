//! Jobs that delete themselves, and would then be made again.
//!
//! In: what flows where in a rule. Out: a warning for each. Pure.

use crate::comparison::Comparison;
use crate::problem::Problem;
use crate::rule::lint::flows::{Flows, kinds_of, steps};
use crate::rule::{ChildRule, Rule};
use crate::template::{Source, Spot};

/// Jobs with a time to live that nothing kept in the status guards.
pub(super) fn unguarded(flows: &Flows<'_>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (child, study) in flows.templates() {
        let has_ttl = |spot: &Spot| {
            let is_job = kinds_of(child, study, spot.document)
                .iter()
                .any(|gvk| gvk.group == "batch" && gvk.kind == "Job");
            is_job && !spot.is_key && spot.path == ["spec", "ttlSecondsAfterFinished"]
        };
        let literal = study.literals.iter().find(|literal| has_ttl(&literal.spot));
        let computed = study.sinks.iter().find(|sink| has_ttl(&sink.spot));
        let place = literal.map(|literal| &literal.place).or(computed.map(|sink| &sink.place));
        if let Some(place) = place.filter(|_| !is_guarded(flows, child)) {
            let message = format!(
                "the Job `{}` is removed some time after it finished, and then made and run again, for ever",
                child.id
            );
            warnings.push(Problem::warning("unguarded-job", message).at(place.clone()).hint(
                "keep what it did in `status.fields`, and guard it by that: \
                 `when: [{path: \"$.status.done\", notEquals: true, default: false}]`; or leave out the time to live",
            ));
        }
    }
    warnings
}

/// Whether it is wanted only while the parent's status says so.
fn is_guarded(flows: &Flows<'_>, child: &ChildRule) -> bool {
    let rule: &Rule = flows.rule;
    let own = (child.group, child.when.as_slice());
    let around = rule.nesting(child.group);
    let groups = around.iter().map(|at| (Some(*at), rule.groups[*at].when.as_slice()));
    let parent = (None, rule.parent.when.as_slice());
    let mut all = groups.chain([own, parent]);
    all.any(|(group, when)| when.iter().any(|comparison| reads_status(flows, comparison, group)))
}

fn reads_status(flows: &Flows<'_>, comparison: &Comparison, group: Option<usize>) -> bool {
    comparison.paths_by_root().into_iter().any(|(root, paths)| {
        paths.into_iter().any(|path| {
            let path = std::iter::once(root.to_owned()).chain(steps(path)).collect();
            let source = Source { path, hashed: false, whole: true };
            let found = flows.resolve(&source, group);
            found
                .iter()
                .any(|source| source.path.get(..2).is_some_and(|p| p == ["parent", "status"]))
        })
    })
}
