//! Names that a template reads and nothing gives a value.
//!
//! In: what each template of a rule reads, beside the names that it sets itself. Out: a problem at each name that cannot be
//! meant. Pure.

use super::flows::Flows;
use crate::comparison::closest;
use crate::problem::Problem;
use crate::template::{ANY, Reading, Study};

/// What every template can read.
const EVERYWHERE: [&str; 4] = ["parent", "children", "inputs", "rule"];

/// Every name that is unknown where it is read.
pub(super) fn unknown(flows: &Flows<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut look = |study: &Study, more: &[&str], group: Option<usize>, lets: Option<usize>| {
        let rule = flows.rule;
        let items = rule.nesting(group).into_iter().map(|at| &*rule.groups[at].item);
        let known = EVERYWHERE.into_iter().chain(more.iter().copied()).chain(items).collect();
        let names = Names { flows, study, known, lets };
        problems.extend(study.reads.iter().filter_map(|reading| names.problem(reading)));
    };
    look(&flows.top, &[], None, None);
    for (at, study) in flows.groups.iter().enumerate() {
        // What it gives itself is not there yet.
        look(study, &["let"], Some(at), flows.rule.groups[at].outer);
    }
    for (child, study) in flows.templates() {
        let more: &[&str] =
            if child.generate.is_empty() { &["let"] } else { &["let", "generated"] };
        look(study, more, child.group, child.group);
    }
    for study in &flows.inputs {
        look(study, &["let"], None, None);
    }
    for study in &flows.messages {
        look(study, &["let", "failing"], None, None);
    }
    look(&flows.fields, &["let", "conditions"], None, None);
    problems
}

/// What a template may call by name.
struct Names<'n> {
    flows: &'n Flows<'n>,
    study: &'n Study,
    known: Vec<&'n str>,
    /// The group whose `let` it reads.
    lets: Option<usize>,
}

impl Names<'_> {
    fn problem(&self, reading: &Reading) -> Option<Problem> {
        let rule = self.flows.rule;
        let (root, rest) = reading.path.split_first()?;
        let next = rest.first().map(String::as_str).filter(|name| *name != ANY);
        match (root.as_str(), next) {
            (root, _) if !self.known.contains(&root) => self.of_root(root, reading),
            ("children", Some(id)) => {
                let ids: Vec<&str> = rule.children.iter().map(|child| &*child.id).collect();
                self.of_ids("unknown-child", "child", id, &ids, reading)
            }
            ("inputs", Some(id)) => {
                let ids: Vec<&str> = rule.inputs.iter().map(|input| &*input.id).collect();
                self.of_ids("unknown-input", "input", id, &ids, reading)
            }
            ("conditions", Some(kind)) => {
                let conditions = rule.status.iter().flat_map(|status| &status.conditions);
                let kinds: Vec<&str> =
                    conditions.map(|condition| condition.kind.as_str()).collect();
                self.of_ids("unknown-condition", "condition", kind, &kinds, reading)
            }
            ("let", Some(name)) => self.of_let(name, reading),
            _ => None,
        }
    }

    /// Whether the template is prepared for a name that is not there, as one is that several rules share. What is nearly
    /// a name that is there is a slip of the pen all the same.
    fn may_be_missing(&self, path: &[String], known: &[&str]) -> bool {
        let is_asked = |reading: &Reading| reading.optional && reading.path == path;
        let name = path.last().map_or("", String::as_str);
        self.study.reads.iter().any(is_asked) && closest(name, known.iter().copied()).is_none()
    }

    /// One of a list of names that the rule gives.
    fn of_ids(
        &self,
        code: &'static str,
        what: &str,
        id: &str,
        ids: &[&str],
        reading: &Reading,
    ) -> Option<Problem> {
        if ids.contains(&id) || self.may_be_missing(&reading.path[..2], ids) {
            return None;
        }
        let message = format!("there is no {what} `{id}` in this rule");
        let problem = Problem::new(code, message).at(reading.place.clone());
        Some(match closest(id, ids.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None if ids.is_empty() => problem,
            None => problem.hint(format!("there are: {}", ids.join(", "))),
        })
    }

    /// A name of `let`, if all of them are known.
    fn of_let(&self, name: &str, reading: &Reading) -> Option<Problem> {
        let names = self.flows.let_names(self.lets)?;
        let path = &reading.path[..2];
        let is_asked = |other: &Reading| other.optional && other.path.starts_with(path);
        let asked = self.study.reads.iter().any(is_asked);
        if names.contains(&name) || (asked && closest(name, names.iter().copied()).is_none()) {
            return None;
        }
        let message = format!("`let` has no `{name}`");
        let problem = Problem::new("unknown-let", message).at(reading.place.clone());
        Some(match closest(name, names.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None if names.is_empty() => {
                problem.hint("the rule gives no names: write `let: |` below `spec`")
            }
            None => problem.hint(format!("there are: {}", names.join(", "))),
        })
    }

    fn of_root(&self, root: &str, reading: &Reading) -> Option<Problem> {
        if self.may_be_missing(&reading.path[..1], &self.known) {
            return None;
        }
        let message = match root {
            "let" => "`let` cannot read itself".to_owned(),
            "conditions" => "`conditions` can be read in `status.fields` alone".to_owned(),
            "self" => "`self` can be read in comparisons alone".to_owned(),
            _ => format!("nothing here is called `{root}`"),
        };
        let rule = self.flows.rule;
        let hint = match root {
            "let" => "compute it once with `{% set name = … %}`".to_owned(),
            "generated" => {
                "a child that says with `generate` which values can read them".to_owned()
            }
            id if rule.input(id).is_some() => format!("an input is read as `inputs.{id}`"),
            id if rule.child(id).is_some() => format!("a child is read as `children.{id}`"),
            _ => match closest(root, self.known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", self.known.join(", ")),
            },
        };
        Some(Problem::new("unknown-name", message).at(reading.place.clone()).hint(hint))
    }
}
