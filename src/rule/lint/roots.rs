//! Names that a template reads and nothing gives a value.
//!
//! In: what each template of a rule reads, beside the names that it sets itself. Out: a problem at each name that cannot be
//! meant. Pure.

use super::flows::Flows;
use crate::comparison::closest;
use crate::problem::Problem;
use crate::rule::Rule;
use crate::template::{ANY, Read, Study};

/// What every template can read.
const EVERYWHERE: [&str; 4] = ["parent", "children", "inputs", "rule"];

/// Every name that is unknown where it is read.
pub(super) fn unknown(flows: &Flows<'_>) -> Vec<Problem> {
    let rule = flows.rule;
    let mut problems = Vec::new();
    let mut look = |study: &Study, more: &[&str], group: Option<usize>| {
        let items = rule.nesting(group).into_iter().map(|at| &*rule.groups[at].item);
        let known: Vec<&str> =
            EVERYWHERE.into_iter().chain(more.iter().copied()).chain(items).collect();
        problems.extend(study.reads.iter().filter_map(|read| of_read(rule, read, &known)));
    };
    look(&flows.top, &[], None);
    for (at, study) in flows.groups.iter().enumerate() {
        look(study, &["let"], Some(at));
    }
    for (child, study) in flows.templates() {
        let more: &[&str] =
            if child.generate.is_empty() { &["let"] } else { &["let", "generated"] };
        look(study, more, child.group);
    }
    for study in &flows.inputs {
        look(study, &["let"], None);
    }
    for study in &flows.messages {
        look(study, &["let"], None);
    }
    look(&flows.fields, &["let", "conditions"], None);
    problems
}

fn of_read(rule: &Rule, read: &Read, known: &[&str]) -> Option<Problem> {
    let (root, rest) = read.path.split_first()?;
    let next = rest.first().map(String::as_str).filter(|name| *name != ANY);
    match (root.as_str(), next) {
        ("children", Some(id)) => {
            let ids: Vec<&str> = rule.children.iter().map(|child| &*child.id).collect();
            of_ids("unknown-child", "child", id, &ids, read)
        }
        ("inputs", Some(id)) => {
            let ids: Vec<&str> = rule.inputs.iter().map(|input| &*input.id).collect();
            of_ids("unknown-input", "input", id, &ids, read)
        }
        ("conditions", Some(kind)) if known.contains(&"conditions") => {
            let conditions = rule.status.iter().flat_map(|status| &status.conditions);
            let kinds: Vec<&str> = conditions.map(|condition| condition.kind.as_str()).collect();
            of_ids("unknown-condition", "condition", kind, &kinds, read)
        }
        (root, _) if known.contains(&root) => None,
        (root, _) => Some(of_root(root, rule, known, read)),
    }
}

/// One of a list of names that the rule gives.
fn of_ids(code: &'static str, what: &str, id: &str, ids: &[&str], read: &Read) -> Option<Problem> {
    if ids.contains(&id) {
        return None;
    }
    let message = format!("there is no {what} `{id}` in this rule");
    let problem = Problem::new(code, message).at(read.place.clone());
    Some(match closest(id, ids.iter().copied()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None if ids.is_empty() => problem,
        None => problem.hint(format!("there are: {}", ids.join(", "))),
    })
}

fn of_root(root: &str, rule: &Rule, known: &[&str], read: &Read) -> Problem {
    let message = match root {
        "let" => "`let` cannot read itself".to_owned(),
        "conditions" => "`conditions` can be read in `status.fields` alone".to_owned(),
        "self" => "`self` can be read in comparisons alone".to_owned(),
        _ => format!("nothing here is called `{root}`"),
    };
    let hint = match root {
        "let" => "compute it once with `{% set name = … %}`".to_owned(),
        "generated" => "a child that says with `generate` which values can read them".to_owned(),
        id if rule.input(id).is_some() => format!("an input is read as `inputs.{id}`"),
        id if rule.child(id).is_some() => format!("a child is read as `children.{id}`"),
        _ => match closest(root, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        },
    };
    Problem::new("unknown-name", message).at(read.place.clone()).hint(hint)
}
