//! Compiles a group: children that exist once per item of a list or map.

use super::{Compiler, RESERVED, Surroundings};
use crate::comparison::{Comparison, Names, Reference, RootKind, WrittenReference};
use crate::path::Path;
use crate::problem::Problem;
use crate::rule::comparison_file::from_offset;
use crate::rule::compiled::GroupRule;
use crate::rule::file::{ForEachFile, GroupFile};
use crate::source::Place;
use crate::template::{BodyTemplate, Mode, Read};
use std::sync::Arc;

/// Groups inside each other.
const DEEPEST: usize = 8;

impl Compiler<'_> {
    /// Compiles the group itself; gives what can be referred to inside.
    pub(super) fn group(&mut self, file: &GroupFile, around: &Surroundings) -> Surroundings {
        let each = &file.for_each;
        let name = each.item.as_ref().map_or("item", |item| &item.value);
        self.check_item(file, name, around);
        let source = self.source_of_items(each, &around.names);
        let key = each.key.as_ref().and_then(|key| {
            let path = self.path(&key.value, &key.span)?;
            if !path.is_singular() {
                let message = format!("`{}` may lead to several values", key.value);
                self.note(
                    "illegal-key",
                    &key.span,
                    message,
                    Some("a key is one value of the item"),
                );
            }
            Some(path)
        });
        let mut inside = around.clone();
        inside.names = around.names.clone().with(name, RootKind::Item);
        inside.items.push(name.to_owned());
        let let_body = file.let_body.as_ref().and_then(|body| self.body(body, Mode::Strict));
        let when = self.comparisons(&file.when, &inside.names);
        let read = let_body.iter().flat_map(BodyTemplate::reads).filter_map(child_read);
        let asked = when.iter().flatten().flat_map(Comparison::roots);
        let of = source.iter().map(Reference::of);
        let all = read.chain(asked).chain(of).filter(|id| self.ids.contains(id));
        inside.after.extend(all.map(Arc::from));
        inside.group = Some(self.groups.len());
        let group = source.zip(when).map(|(source, when)| GroupRule {
            outer: around.group,
            place: Place::new(self.source, each.path.span.clone()),
            source,
            key,
            item: name.into(),
            let_body,
            when,
        });
        self.groups.push(group);
        inside
    }

    fn check_item(&mut self, file: &GroupFile, name: &str, around: &Surroundings) {
        let span = file.for_each.item.as_ref().map_or(&file.for_each.path.span, |item| &item.span);
        if around.items.len() >= DEEPEST {
            self.note("nested-too-deep", span, format!("groups nest deeper than {DEEPEST}"), None);
        }
        let reserved = RESERVED.contains(&name) && name != "item";
        if reserved || !super::is_id(name) {
            let message = format!("`{name}` is no name for an item");
            let hint = if reserved {
                "it means something else in comparisons and templates: choose another"
            } else {
                "use a lower-case letter, then letters, digits and `_`"
            };
            self.note("illegal-item", span, message, Some(hint));
        }
        let whose = if self.ids.contains(name) {
            Some("a child")
        } else if self.inputs.contains(name) {
            Some("an input")
        } else {
            let around = around.items.iter().any(|item| item == name);
            around.then_some("the item of a group around this one")
        };
        if let Some(whose) = whose {
            let message = format!("`{name}` is {whose} already");
            let hint = match &file.for_each.item {
                Some(_) => "call the item something else",
                None => "without a name the item is called `item`: name it with `item: …`",
            };
            self.note("duplicate-item", span, message, Some(hint));
        }
    }

    fn source_of_items(&mut self, each: &ForEachFile, names: &Names) -> Option<Reference> {
        let written = WrittenReference {
            of: each.of.as_ref().map(|of| of.value.clone()),
            path: Some(each.path.value.clone()),
            default: each.default.clone(),
        };
        self.used.extend(written.of.clone());
        Reference::compile(&written, names)
            .map_err(|mistakes| {
                for mistake in mistakes {
                    let about_of = mistake.field.steps().iter().any(|step| *step == "of".into());
                    let span = each
                        .of
                        .as_ref()
                        .filter(|_| about_of)
                        .map_or(&each.path.span, |of| &of.span);
                    let problem = Problem::new(mistake.code, mistake.message);
                    let span = from_offset(&self.source.text, span.clone(), mistake.offset);
                    let problem = problem.at(Place::new(self.source, span));
                    self.problems.push(Problem { hint: mistake.hint, ..problem });
                }
            })
            .ok()
    }

    /// Parses a path that stands alone.
    pub(super) fn path(&mut self, text: &str, span: &std::ops::Range<usize>) -> Option<Path> {
        Path::parse(text)
            .map_err(|error| {
                let problem = Problem::new("illegal-path", error.message);
                let span = from_offset(&self.source.text, span.clone(), Some(error.offset));
                let problem = problem.at(Place::new(self.source, span));
                self.problems.push(Problem { hint: error.hint, ..problem });
            })
            .ok()
    }
}

/// The id of a child that a template reads.
pub(super) fn child_read(read: &Read) -> Option<&str> {
    match read.path.as_slice() {
        [root, id, ..] if root == "children" => Some(id),
        _ => None,
    }
}
