//! Names, and what refers to them: they follow the parent's name.
//!
//! In: a manifest's tree. Out: edits for names that are made of the shared one, notes where it stays. Pure.

use super::Finder;
use crate::scaffold::names;
use crate::yaml::{Kind, Node};

/// Maps whose values select or label.
const LABELS: &[&str] = &["labels", "matchLabels", "selector"];

impl Finder<'_> {
    /// Walks over every value; `path` is where it stands.
    pub(super) fn names(&mut self, index: usize, node: &Node, path: &mut Vec<String>) {
        match &node.kind {
            Kind::Mapping(entries) => {
                for (key, value) in entries {
                    path.push(key.as_str().unwrap_or_default().to_owned());
                    if let Kind::String { text, .. } = &value.kind {
                        self.name(index, key, (value, text), path);
                    } else {
                        self.names(index, value, path);
                    }
                    path.pop();
                }
            }
            Kind::Sequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.push(at.to_string());
                    match &item.kind {
                        Kind::String { text, .. } => self.left(index, (item, text), path),
                        _ => self.names(index, item, path),
                    }
                    path.pop();
                }
            }
            _ => {}
        }
    }

    fn name(&mut self, index: usize, key: &Node, value: (&Node, &str), path: &[String]) {
        if self.is_edited(index, value.0) {
            return;
        }
        let steps: Vec<&str> = path.iter().map(String::as_str).collect();
        let above = steps.iter().rev().nth(1).copied().unwrap_or_default();
        let list = steps.iter().rev().nth(2).copied().unwrap_or_default();
        let field = steps.last().copied().unwrap_or_default();
        if field == "namespace" && self.shared.namespace == Some(value.1) {
            self.write(index, Some(key), value.0, "{{ parent.metadata.namespace }}");
            return;
        }
        let own = steps == ["metadata", "name"];
        let known = value.1 == self.shared.base
            || self.shared.manifests.iter().any(|manifest| manifest.name == value.1);
        let names_it = match field {
            "name" | "serviceAccount" => true,
            "namespace" => self.is_our_namespace(value.1),
            _ => field.ends_with("Name"),
        };
        let refers = known && names_it && !["env", "ports"].contains(&list);
        let suffix = names::suffix(value.1, self.shared.base);
        match suffix {
            Some(suffix) if own || refers || LABELS.contains(&above) => {
                let with = format!("{{{{ let.name }}}}{suffix}");
                self.write(index, Some(key), value.0, &with);
            }
            None if own => {
                let note = format!(
                    "{}: its name does not begin with `{}`, so all parents would render the same object",
                    self.title(index),
                    self.shared.base
                );
                self.found.notes.push(note);
            }
            _ => self.left(index, value, path),
        }
    }

    /// Whether one of the manifests is this namespace.
    fn is_our_namespace(&self, name: &str) -> bool {
        let namespaces = self.shared.manifests.iter().filter(|m| m.gvk.kind == "Namespace");
        namespaces.into_iter().any(|manifest| manifest.name == name)
    }

    /// Notes a text that still mentions the shared name.
    fn left(&mut self, index: usize, value: (&Node, &str), path: &[String]) {
        let is_secret = self.manifest(index).gvk.kind == "Secret" && path.len() == 2;
        if self.is_edited(index, value.0) || is_secret || !mentions(value.1, self.shared.base) {
            return;
        }
        let mut place = String::new();
        for step in path {
            let is_item = step.parse::<usize>().is_ok();
            let dot = if is_item || place.is_empty() { "" } else { "." };
            let (open, close) = if is_item { ("[", "]") } else { ("", "") };
            place.extend([dot, open, step, close]);
        }
        let note = format!("{}: {place} still says `{}`", self.title(index), self.shared.base);
        self.found.notes.push(note);
    }
}

/// Whether the name stands in the text as a word.
fn mentions(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric();
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mentioned_as_a_word_only() {
        assert!(mentions("http://shop:80", "shop"));
        assert!(mentions("shop", "shop"));
        assert!(!mentions("shopping workshop", "shop"));
    }
}
