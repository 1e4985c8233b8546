//! Checks the names that templates read: what is called like that where they stand.
//!
//! In: what a template reads, the names of its place. Out: mistakes. Never here: fields, which only types know.

use super::Compiler;
use crate::comparison::closest;
use crate::problem::Problem;
use crate::rule::decode::nearest;
use crate::template::Read;
use std::collections::BTreeSet;

/// What templates can read beside items.
const KNOWN: [&str; 6] = ["parent", "let", "children", "conditions", "inputs", "generated"];

impl Compiler<'_> {
    /// Notes names that mean nothing, and children that do not exist. `items` are the names of the groups around; in
    /// `file` (or the rule itself) every name is known, while a file that is included may get more from who includes it.
    pub(super) fn check_reads(&mut self, reads: &[Read], items: &[String], file: Option<&str>) {
        let own =
            file.and_then(|name| self.files.get(name)).map_or(&self.source.name, |file| &file.name);
        let own = own.clone();
        let mut told = BTreeSet::new();
        for read in reads {
            let Some((root, steps)) = read.path.split_first() else { continue };
            let known = KNOWN.contains(&root.as_str()) || items.contains(root);
            let problem = match steps.first() {
                _ if !known && read.place.source.name == own => {
                    let message = format!("nothing is called `{root}` here");
                    Problem::new("unknown-name", message).hint(self.hint_for_name(root, items))
                }
                Some(id) if root == "children" && !self.ids.contains(id.as_str()) => {
                    let message = format!("there is no child `{id}`");
                    Problem::new("unknown-child", message).hint(self.hint_for_child(id))
                }
                _ => continue,
            };
            let problem = problem.at(read.place.clone());
            // A file that several children use tells its mistakes once.
            if told.insert(problem.to_string()) && !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    fn hint_for_name(&self, name: &str, items: &[String]) -> String {
        let known: Vec<&str> = ["parent", "let", "children"]
            .into_iter()
            .chain(items.iter().map(String::as_str))
            .collect();
        if let Some(near) = closest(name, known.iter().copied()) {
            return format!("did you mean `{near}`?");
        }
        if self.ids.contains(name) {
            return format!("the child is `children.{name}`");
        }
        format!("known here: {}", known.join(", "))
    }

    /// The child that was probably meant, else all.
    pub(super) fn hint_for_child(&self, id: &str) -> String {
        let known: Vec<&str> = self.ids.iter().copied().collect();
        match nearest(id, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "the rule has no children".to_owned(),
            None => format!("known here: {}", known.join(", ")),
        }
    }
}
