//! Under which names the templates of a rule find what is in Secrets.
//!
//! In: a compiled rule. Out: names and the steps after them. Pure. The answer errs on the safe side.

use super::compiled::Rule;
use crate::object::Gvk;
use crate::template::{BodyTemplate, Read, may_tell};

/// A name and the steps after it: `["inputs", "credentials"]`.
pub(crate) type Root = Vec<String>;

/// Secrets that the rule names: parents, children and inputs of kind Secret, and generated values.
pub(crate) fn named(rule: &Rule) -> Vec<Root> {
    let parent = rule.parent.kinds.iter().any(Gvk::is_secret);
    let parent = parent.then(|| vec!["parent".to_owned()]);
    let children = rule.children.iter().filter(|child| child.kinds.iter().any(Gvk::is_secret));
    let children = children.map(|child| vec!["children".to_owned(), child.id.to_string()]);
    let inputs = rule.inputs.iter().filter(|input| input.gvk.is_secret());
    let inputs = inputs.map(|input| vec!["inputs".to_owned(), input.id.to_string()]);
    let generated = rule.children.iter().any(|child| !child.generate.is_empty());
    let generated = generated.then(|| vec!["generated".to_owned()]);
    parent.into_iter().chain(children).chain(inputs).chain(generated).collect()
}

/// The same, and the names that values of those may have been given: items of groups, and `let`.
pub(super) fn reachable(rule: &Rule) -> Vec<Root> {
    let mut roots = named(rule);
    if roots.is_empty() {
        return roots;
    }
    let items: Vec<Root> = rule.groups.iter().map(|group| vec![group.item.to_string()]).collect();
    let tells = |read: &Read| roots.iter().chain(&items).any(|root| may_tell(root, &read.path));
    let bodies = rule.let_body.iter().chain(rule.groups.iter().filter_map(|g| g.let_body.as_ref()));
    let lets = bodies.flat_map(BodyTemplate::reads).any(tells);
    // What a group goes over may come from anywhere.
    roots.extend(items);
    roots.extend(lets.then(|| vec!["let".to_owned()]));
    roots
}
