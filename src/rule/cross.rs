//! What rules do to each other: two that write one status, and circles in which one rule's children are another's parents.
//!
//! In: the rules that compiled. Out: those that may run, and problems at their places. Rules that take part are refused
//! together, the others never notice. Pure.
//!
//! Two rules are about the same objects if their parents are of one kind, in whatever version, unless both name namespaces
//! and have none in common.

use super::{Loaded, Rule};
use crate::object::{GroupKind, Gvk};
use crate::problem::Problem;
use crate::source::Place;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Takes out the rules that must not run together.
pub(super) fn refuse(loaded: &mut Loaded) {
    let rules = &loaded.rules;
    let writers: Vec<Writer<'_>> = rules.iter().filter_map(|rule| Writer::of(rule)).collect();
    let problems: Vec<(Arc<str>, Problem)> =
        clashes(&writers).into_iter().chain(circles(rules)).collect();
    let refused: BTreeSet<Arc<str>> = problems.iter().map(|(name, _)| Arc::clone(name)).collect();
    loaded.rules.retain(|rule| !refused.contains(&rule.name));
    loaded.bad.extend(refused.iter().map(ToString::to_string));
    loaded.problems.extend(problems.into_iter().map(|(_, problem)| problem));
}

/// A rule that writes its parents' status.
struct Writer<'r> {
    name: &'r Arc<str>,
    kinds: Vec<GroupKind>,
    namespaces: &'r [String],
    /// What it puts in front of its conditions and around its fields.
    prefix: Option<&'r str>,
    place: &'r Place,
}

impl<'r> Writer<'r> {
    fn of(rule: &'r Rule) -> Option<Self> {
        let status = rule.status.as_ref()?;
        Some(Self {
            name: &rule.name,
            kinds: rule.parent.kinds.iter().map(Gvk::group_kind).collect(),
            namespaces: &rule.parent.namespaces,
            prefix: Some(status.prefix.as_str()).filter(|prefix| !prefix.is_empty()),
            place: &status.place,
        })
    }

    fn clashes_with(&self, other: &Self) -> bool {
        self.name != other.name
            && self.kinds.iter().any(|kind| other.kinds.contains(kind))
            && self.prefix == other.prefix
            && meet(self.namespaces, other.namespaces)
    }
}

/// Whether both can be about one object.
fn meet(one: &[String], other: &[String]) -> bool {
    one.is_empty() || other.is_empty() || one.iter().any(|namespace| other.contains(namespace))
}

/// A problem for each rule that writes what another one writes.
fn clashes(writers: &[Writer<'_>]) -> Vec<(Arc<str>, Problem)> {
    let of = |writer: &Writer<'_>| {
        let other = writers.iter().find(|other| writer.clashes_with(other))?;
        let message = format!(
            "rule `{}` writes the status of {} objects, and so does rule `{}` at {}",
            writer.name,
            list(writer.kinds.iter().filter(|kind| other.kinds.contains(kind))),
            other.name,
            other.place
        );
        let hint = match writer.prefix {
            None => "let one rule write it: give every other one a `status.prefix`, or no `status`",
            Some(_) => "give each rule a `status.prefix` of its own",
        };
        let problem = Problem::new("status-clash", message).at(writer.place.clone()).hint(hint);
        Some((Arc::clone(writer.name), problem))
    };
    writers.iter().filter_map(of).collect()
}

fn list<'k>(kinds: impl Iterator<Item = &'k GroupKind>) -> String {
    kinds.map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// From a parent's kind to a child's.
struct Edge<'r> {
    rule: &'r Rule,
    from: GroupKind,
    to: GroupKind,
    place: &'r Place,
}

fn edges(rules: &[Arc<Rule>]) -> Vec<Edge<'_>> {
    let of = |rule: &'_ Arc<Rule>| -> Vec<(GroupKind, usize)> {
        let mut kinds: BTreeMap<GroupKind, usize> = BTreeMap::new();
        for (at, child) in rule.children.iter().enumerate() {
            for gvk in &child.kinds {
                kinds.entry(gvk.group_kind()).or_insert(at);
            }
        }
        kinds.into_iter().collect()
    };
    let mut edges = Vec::new();
    for rule in rules {
        for (to, child) in of(rule) {
            for from in rule.parent.kinds.iter().map(Gvk::group_kind) {
                let (to, place) = (to.clone(), &rule.children[child].place);
                edges.push(Edge { rule, from, to, place });
            }
        }
    }
    edges
}

/// A problem for each rule in a circle of several: each new parent would make the next one without end. A rule alone may
/// make children of its parents' kind, since it never takes its own children for parents.
fn circles(rules: &[Arc<Rule>]) -> Vec<(Arc<str>, Problem)> {
    let edges = edges(rules);
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    for edge in &edges {
        // One that makes objects of its parents' kind goes round alone, or with another one that does.
        let goes_round = |way: &Vec<&Edge<'_>>| edge.from != edge.to || way.len() == 1;
        let Some(way) = back(&edges, edge).filter(goes_round) else { continue };
        if !told.insert(&edge.rule.name) {
            continue;
        }
        let step = |step: &Edge<'_>| format!(" -> {} (rule `{}`)", step.to, step.rule.name);
        let steps: String = std::iter::once(edge).chain(way).map(step).collect();
        let circle = edge.from.to_string() + &steps;
        let message =
            format!("the children of one rule are the parents of another, in a circle: {circle}");
        let problem = Problem::new("rule-cycle", message).at(edge.place.clone()).hint(
            "every object would make another one without end: one of these rules must not make this kind",
        );
        problems.push((Arc::clone(&edge.rule.name), problem));
    }
    problems
}

/// The shortest way of other rules from where an edge leads back to where it begins.
fn back<'e, 'r>(edges: &'e [Edge<'r>], edge: &Edge<'r>) -> Option<Vec<&'e Edge<'r>>> {
    let others = |from: &GroupKind| {
        let from = from.clone();
        edges.iter().filter(move |other| other.from == from && other.rule.name != edge.rule.name)
    };
    let mut came: BTreeMap<&GroupKind, &Edge<'r>> = BTreeMap::new();
    let mut open = VecDeque::from([&edge.to]);
    while let Some(kind) = open.pop_front() {
        for next in others(kind) {
            if next.to != edge.to || next.to == edge.from {
                came.entry(&next.to).or_insert_with(|| {
                    open.push_back(&next.to);
                    next
                });
            }
        }
        if came.contains_key(&edge.from) {
            break;
        }
    }
    let mut way = vec![*came.get(&edge.from)?];
    while way.last()?.from != edge.to {
        way.push(*came.get(&way.last()?.from)?);
    }
    way.reverse();
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn one_rule_writes_a_status_and_every_other_one_needs_a_prefix_of_its_own() {
        let place = Place::new(&Source::new("r.yaml", "kind"), 0..4);
        let clashing = |rules: &[(&str, &[&str], Option<&str>)]| -> Vec<String> {
            let names: Vec<Arc<str>> =
                (0..rules.len()).map(|at| at.to_string().as_str().into()).collect();
            let namespaces: Vec<Vec<String>> =
                rules.iter().map(|rule| rule.1.iter().map(ToString::to_string).collect()).collect();
            let writers: Vec<Writer<'_>> = rules
                .iter()
                .enumerate()
                .map(|(at, rule)| Writer {
                    name: &names[at],
                    kinds: vec![GroupKind { group: "x.io".into(), kind: rule.0.into() }],
                    namespaces: &namespaces[at],
                    prefix: rule.2,
                    place: &place,
                })
                .collect();
            clashes(&writers).into_iter().map(|(name, _)| name.to_string()).collect()
        };
        for (rules, expected) in [
            (vec![("A", &[][..], None), ("B", &[], None)], vec![]),
            (vec![("A", &[][..], None), ("A", &[], None), ("B", &[], None)], vec!["0", "1"]),
            (vec![("A", &[][..], None), ("A", &[], Some("p")), ("A", &[], Some("q"))], vec![]),
            (
                vec![("A", &[][..], None), ("A", &[], Some("p")), ("A", &[], Some("p"))],
                vec!["1", "2"],
            ),
            (vec![("A", &["x"][..], None), ("A", &["y"], None)], vec![]),
            (vec![("A", &["x", "y"][..], None), ("A", &["y"], None)], vec!["0", "1"]),
            (vec![("A", &["x"][..], None), ("A", &[], None)], vec!["0", "1"]),
        ] {
            assert_eq!(clashing(&rules), expected, "{rules:?}");
        }
    }
}
