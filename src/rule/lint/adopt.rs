//! Objects that a rule would adopt under any name, or in any namespace, that a parent chooses.
//!
//! In: what flows where in a rule. Out: a problem for each child that may be adopted and whose name or namespace is computed:
//! whoever may write a parent could otherwise have any object taken over. The parent's own namespace is no choice. Pure.

use super::flows::Flows;
use crate::problem::Problem;
use crate::rule::{Adopt, ChildRule};
use crate::template::Sink;

/// Every child that would adopt what its parent names.
pub(super) fn any_name(flows: &Flows<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (child, study) in flows.templates() {
        if child.policies.adopt == Adopt::Never {
            continue;
        }
        let names = |path: &[String]| match path {
            [] => Some("name"),
            [root] if root == "metadata" => Some("name"),
            [root, field, ..] if root == "metadata" && field == "name" => Some("name"),
            [root, field, ..] if root == "metadata" && field == "namespace" => Some("namespace"),
            _ => None,
        };
        let found = study.sinks.iter().find_map(|sink| {
            let part = names(&sink.spot.path)?;
            let own = part == "namespace" && is_own(flows, child, sink);
            (!own).then_some((part, sink))
        });
        if let Some((part, sink)) = found {
            let message = format!("`{}` may be adopted, and its {part} is computed", child.id);
            let problem = Problem::new("adopt-any-name", message).at(sink.place.clone());
            problems.push(problem.hint(format!(
                "whoever writes a parent could have any object taken over: write the {part}, or `adopt: never`",
            )));
        }
    }
    problems
}

/// Whether a namespace is the parent's own, or the parent itself.
fn is_own(flows: &Flows<'_>, child: &ChildRule, sink: &Sink) -> bool {
    let kinds = &flows.rule.parent.kinds;
    let namespaces = kinds.iter().all(|gvk| gvk.group.is_empty() && gvk.kind == "Namespace");
    let found = flows.resolved(&sink.sources, child.group);
    found.iter().all(|source| match source.path.as_slice() {
        [root, metadata, field] if root == "parent" && metadata == "metadata" => {
            source.whole && (field == "namespace" || (field == "name" && namespaces))
        }
        _ => false,
    })
}
