//! The order in which children are decided: each after those it needs.
//!
//! In: children with their needs. Out: indices, or the cycle. Children that do not need each other keep the order of the
//! rule. Pure.

use super::compiled::ChildRule;
use crate::problem::Problem;

/// Orders the children.
pub(super) fn order(children: &[ChildRule]) -> Result<Vec<usize>, Problem> {
    let needs: Vec<Vec<usize>> = children
        .iter()
        .map(|child| {
            let index = |id: &str| children.iter().position(|other| *other.id == *id);
            child.after.iter().filter_map(|id| index(id)).collect()
        })
        .collect();
    let mut order = Vec::with_capacity(children.len());
    let mut done = vec![false; children.len()];
    while order.len() < children.len() {
        let free = |at: &usize| !done[*at] && needs[*at].iter().all(|need| done[*need]);
        match (0..children.len()).find(free) {
            Some(next) => {
                done[next] = true;
                order.push(next);
            }
            None => return Err(cycle(children, &needs, &done)),
        }
    }
    Ok(order)
}

/// Follows needs from any child that is left until one comes twice.
fn cycle(children: &[ChildRule], needs: &[Vec<usize>], done: &[bool]) -> Problem {
    let left = |at: &&usize| !done[**at];
    let mut at = (0..children.len()).find(|at| !done[*at]).unwrap_or(0);
    let mut path = Vec::new();
    while !path.contains(&at) {
        path.push(at);
        at = needs[at].iter().find(left).copied().unwrap_or(at);
    }
    let start = path.iter().position(|step| *step == at).unwrap_or(0);
    let names: Vec<&str> =
        path[start..].iter().chain([&at]).map(|step| &*children[*step].id).collect();
    let message = format!("children need each other in a circle: {}", names.join(" -> "));
    let hint = "a child comes after those in its `needs`, and those that its template, its `when` or its group reads";
    Problem::new("needs-cycle", message).at(children[at].place.clone()).hint(hint)
}
