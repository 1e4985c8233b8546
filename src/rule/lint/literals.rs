//! Names, labels and annotations that a template writes as they stand, and no API server takes.
//!
//! In: what flows where in a rule. Out: a problem at each. Pure. What is computed is judged when an example is rendered.

use super::flows::{Flows, kinds_of};
use crate::object::Gvk;
use crate::problem::Problem;
use crate::schema::naming::{self, VALUE_HINT};
use crate::template::Literal;

/// Every literal that the server would refuse.
pub(super) fn illegal(flows: &Flows<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (child, study) in flows.templates() {
        for literal in &study.literals {
            let kinds = kinds_of(child, study, literal.spot.document);
            problems.extend(of_literal(literal, &kinds));
        }
    }
    problems
}

fn of_literal(literal: &Literal, kinds: &[Gvk]) -> Option<Problem> {
    let text = literal.text.as_str();
    // Anchors, tags and escapes make another text of it.
    if text.starts_with(['&', '*', '!']) || text.contains('\\') {
        return None;
    }
    let path: Vec<&str> = literal.spot.path.iter().map(String::as_str).collect();
    let (code, why, hint) = match (path.as_slice(), literal.spot.is_key) {
        (["metadata", "name"], false) => {
            let [gvk] = kinds else { return None };
            ("illegal-name", naming::name(gvk, text, false)?, None)
        }
        (["metadata", "namespace"], false) => ("illegal-name", naming::namespace(text)?, None),
        ([.., "metadata", "labels", _] | [.., "matchLabels", _], true) => {
            ("illegal-label", naming::key("a label", text)?, None)
        }
        ([.., "metadata", "labels", _] | [.., "matchLabels", _], false) => {
            ("illegal-label", naming::label_value(text)?, Some(VALUE_HINT))
        }
        ([.., "metadata", "annotations", _], true) => {
            ("illegal-annotation", naming::key("an annotation", text)?, None)
        }
        _ => return None,
    };
    let start: String = text.chars().take(70).collect();
    let problem = Problem::new(code, format!("{start:?} {why}")).at(literal.place.clone());
    Some(match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}
