//! Compiles the inputs of a rule, and label selectors.

use super::{Compiler, is_dns_label};
use crate::rule::compiled::{InputRule, Where};
use crate::rule::file::{InputFile, RuleFile, SelectorFile};
use crate::rule::policy_file::{NamespacesFile, Relation};
use crate::schema::naming;
use crate::selector::{Selector, SelectorRule};
use crate::source::Place;
use crate::template::{LineTemplate, Read};
use std::collections::BTreeSet;
use std::ops::Range;

impl Compiler<'_> {
    /// All inputs of a rule, each of which may read those before it.
    pub(super) fn inputs(&mut self, file: &RuleFile) -> Option<Vec<InputRule>> {
        let mut inputs = Vec::new();
        let mut before = BTreeSet::new();
        for input in &file.spec.inputs {
            let compiled = self.input(input);
            if let Some(compiled) = &compiled {
                self.reads_before(compiled, &before);
            }
            before.insert(input.id.value.as_str());
            inputs.push(compiled);
        }
        inputs.into_iter().collect()
    }

    fn input(&mut self, file: &InputFile) -> Option<InputRule> {
        let id = &file.id.value;
        let gvk = self.gvk(&file.api_version, &file.kind);
        let name = file.name.as_ref().map(|name| self.line(name));
        let selector = file.label_selector.as_ref().map(|selector| self.selector(selector));
        let within = self.within(file);
        let optional = file.optional.as_ref();
        match (&file.name, &file.label_selector) {
            (Some(name), Some(_)) => {
                let message = format!("input `{id}` has both `name` and `labelSelector`");
                let hint = "with `name` it is one object, with `labelSelector` a list";
                self.note("two-selections", &name.span, message, Some(hint));
            }
            (None, None) => {
                let message = format!("input `{id}` does not say which objects");
                let hint = "`name` means one object, `labelSelector` a list: `{}` selects all";
                self.note("no-selection", &file.id.span, message, Some(hint));
            }
            (None, Some(_)) if optional.is_some() => {
                let span = optional.map_or(&file.id.span, |optional| &optional.span);
                let message = format!("input `{id}` is a list, which is never missing");
                self.note("optional-list", span, message, Some("remove `optional`"));
            }
            _ => {}
        }
        Some(InputRule {
            id: id.as_str().into(),
            place: Place::new(self.source, file.id.span.clone()),
            gvk: gvk?,
            name: match name {
                Some(name) => Some(name?),
                None => None,
            },
            selector: selector.unwrap_or_else(|| Some(SelectorRule::default()))?,
            within: within?,
            optional: optional.is_some_and(|optional| optional.value),
        })
    }

    /// At most one way to say where.
    fn within(&mut self, file: &InputFile) -> Option<Where> {
        let ways = [
            file.namespace.is_some(),
            file.namespaces.is_some(),
            file.namespace_selector.is_some(),
        ];
        if ways.iter().filter(|way| **way).count() > 1 {
            let message = format!("input `{}` says twice in which namespaces it is", file.id.value);
            let hint = "keep one of `namespace`, `namespaces` and `namespaceSelector`";
            self.note("two-namespaces", &file.id.span, message, Some(hint));
            return None;
        }
        let lists = file.namespaces.is_some() || file.namespace_selector.is_some();
        if file.name.is_some() && lists {
            let message =
                format!("input `{}` is one object, which is in one namespace", file.id.value);
            let hint = "say which with `namespace`, or select a list with `labelSelector`";
            self.note("two-namespaces", &file.id.span, message, Some(hint));
            return None;
        }
        if let Some(namespace) = &file.namespace {
            return self.line(namespace).map(Where::Named);
        }
        if let Some(selector) = &file.namespace_selector {
            return self.selector(selector).map(Where::Selected);
        }
        match &file.namespaces {
            None => Some(Where::Own),
            Some(namespaces) => match &namespaces.value {
                NamespacesFile::All => Some(Where::All),
                NamespacesFile::These(names) => self.listed(names, &namespaces.span),
            },
        }
    }

    fn listed(&mut self, names: &[String], span: &Range<usize>) -> Option<Where> {
        let wrong = names.iter().find(|name| !is_dns_label(name));
        if let Some(wrong) = wrong {
            let message = format!("`{wrong}` is no name for a namespace");
            self.note("illegal-namespace", span, message, None);
            return None;
        }
        Some(Where::Listed(names.iter().map(|name| name.as_str().into()).collect()))
    }

    /// A name can only be made of what is known before.
    fn reads_before(&mut self, input: &InputRule, before: &BTreeSet<&str>) {
        for read in input.lines().flat_map(LineTemplate::reads) {
            if let Some((message, hint)) = too_early(read, before) {
                let problem = crate::problem::Problem::new("read-too-early", message);
                self.problems.push(problem.at(read.place.clone()).hint(hint));
            }
        }
    }

    /// A selector whose values may be templates.
    pub(super) fn selector(&mut self, file: &SelectorFile) -> Option<SelectorRule> {
        let mut requirements = Vec::new();
        for (label, value) in &file.match_labels {
            self.label(label, &value.span);
            requirements.push((label.clone(), Relation::In, vec![self.line(value)?]));
        }
        for requirement in &file.match_expressions {
            self.label(&requirement.key.value, &requirement.key.span);
            let takes_values = matches!(requirement.operator, Relation::In | Relation::NotIn);
            if takes_values == requirement.values.is_empty() {
                let message = if takes_values {
                    "`In` and `NotIn` need values"
                } else {
                    "`Exists` and `DoesNotExist` take no values"
                };
                self.note("illegal-selector", &requirement.key.span, message.to_owned(), None);
            }
            let values: Vec<_> = requirement.values.iter().map(|value| self.line(value)).collect();
            let values = values.into_iter().collect::<Option<_>>()?;
            requirements.push((requirement.key.value.clone(), requirement.operator, values));
        }
        Some(SelectorRule { requirements })
    }

    /// A selector of parents: it must be known before there is one.
    pub(super) fn literal_selector(&mut self, file: &SelectorFile) -> Option<Selector> {
        let literal = self.selector(file)?.literal();
        if literal.is_none() {
            let values = file
                .match_labels
                .values()
                .chain(file.match_expressions.iter().flat_map(|requirement| &requirement.values));
            let computed = values.into_iter().find(|value| value.text.contains("{{"));
            if let Some(computed) = computed {
                let message = "which parents a rule is for cannot be computed".to_owned();
                self.note("computed-selector", &computed.span, message, Some("write the value"));
            }
        }
        literal
    }

    fn label(&mut self, label: &str, span: &Range<usize>) {
        if let Some(why) = naming::key("a label", label) {
            self.note("illegal-label", span, format!("`{label}` {why}"), None);
        }
    }
}

/// Why something cannot be read in a name of an input.
fn too_early(read: &Read, before: &BTreeSet<&str>) -> Option<(String, &'static str)> {
    let name = match read.path.as_slice() {
        [root, ..] if root == "parent" || root == "let" || root == "rule" => return None,
        [root, id, ..] if root == "inputs" && before.contains(id.as_str()) => return None,
        [root, id, ..] if root == "inputs" || root == "children" => format!("{root}.{id}"),
        [root, ..] if ["inputs", "children", "conditions"].contains(&root.as_str()) => root.clone(),
        _ => return None,
    };
    let hint = "`parent`, `let` and the inputs above it can be read here";
    Some((format!("`{name}` is not known when this input is looked up"), hint))
}
