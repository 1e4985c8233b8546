//! Compiles what a rule says of its parent's status.

use super::{Compiler, Surroundings};
use crate::comparison::{Comparison, Names};
use crate::rule::comparison_file::ComparisonFile;
use crate::rule::compiled::{Because, ConditionRule, StatusRule};
use crate::rule::decode::Spanned;
use crate::rule::file::{BecauseFile, BodyFile, ConditionFile, StatusFile};
use crate::source::Place;
use crate::status::kind::{READY, RECONCILING, STALLED};
use crate::template::Mode;
use std::collections::BTreeMap;
use std::ops::Range;

impl Compiler<'_> {
    /// `parent` is where the rule names the kind whose status it is.
    pub(super) fn status(
        &mut self,
        file: &StatusFile,
        top: &Surroundings,
        parent: &Range<usize>,
    ) -> Option<StatusRule> {
        let fields = file.fields.as_ref().and_then(|fields| self.body(fields, Mode::Lenient));
        let prefix = file.prefix.as_ref().map_or("", |prefix| prefix.value.as_str());
        let mut seen = BTreeMap::new();
        let conditions: Vec<_> = file
            .conditions
            .iter()
            .map(|condition| {
                let kind = &condition.kind;
                if let Some(first) = seen.insert(kind.value.as_str(), &kind.span) {
                    let message = format!("there are two conditions `{}`", kind.value);
                    let hint = self.other_one(first);
                    self.note("duplicate-condition", &kind.span, message, Some(&hint));
                }
                self.condition(condition, prefix, &top.names)
            })
            .collect();
        if let Some(prefix) = &file.prefix {
            self.camel_case(prefix, "type");
        }
        let names = file.fields.as_ref().map(names).unwrap_or_default();
        Some(StatusRule {
            place: Place::new(self.source, parent.clone()),
            prefix: file.prefix.as_ref().map(|prefix| prefix.value.clone()).unwrap_or_default(),
            conditions: conditions.into_iter().collect::<Option<_>>()?,
            fields,
            names,
        })
    }

    fn condition(
        &mut self,
        file: &ConditionFile,
        prefix: &str,
        names: &Names,
    ) -> Option<ConditionRule> {
        let kind = &file.kind;
        let bare = kind.value.strip_prefix(prefix).unwrap_or(&kind.value);
        if [READY, RECONCILING, STALLED].contains(&bare) {
            let message = format!("`{}` is written by Kubewright itself", kind.value);
            self.note("reserved-condition", &kind.span, message, Some("choose another type"));
        }
        self.camel_case(kind, "type");
        let when = self.comparisons(&file.when, names);
        for (comparison, file) in when.iter().flatten().zip(&file.when) {
            self.looks_into_items(comparison, file);
        }
        let then = self.because(&file.then);
        let otherwise = self.because(&file.otherwise);
        let unknown = file.unknown.as_ref().map(|unknown| self.because(unknown));
        Some(ConditionRule {
            kind: kind.value.clone(),
            place: Place::new(self.source, kind.span.clone()),
            when: when?,
            then,
            otherwise,
            unknown,
        })
    }

    /// A child of a group is a map of objects here, by the keys of its items: a field of an object is one level deeper.
    fn looks_into_items(&mut self, comparison: &Comparison, file: &ComparisonFile) {
        const FIELDS: [&str; 5] = ["metadata", "spec", "status", "data", "kind"];
        for (name, paths) in comparison.paths_by_root() {
            if !self.ids.contains(name) || self.singles.contains(name) {
                continue;
            }
            for path in paths {
                let text = path.as_str().trim_start_matches('$').trim_start_matches('.');
                let first = text.split(['.', '[']).next().unwrap_or_default();
                if FIELDS.contains(&first) {
                    let message =
                        format!("`{name}` is a map of objects here, by the keys of its items");
                    let hint =
                        format!("write `$.*.{text}` for that of each, or `$.KEY.{text}` for one");
                    let span = file.place_of_text(path.as_str());
                    self.note("path-of-items", &span, message, Some(&hint));
                }
            }
        }
    }

    fn because(&mut self, file: &BecauseFile) -> Because {
        self.camel_case(&file.reason, "reason");
        let message = file.message.as_ref().and_then(|message| self.line(message));
        Because { reason: file.reason.value.clone(), message }
    }

    /// As the API conventions of Kubernetes demand of condition types and reasons.
    fn camel_case(&mut self, word: &Spanned<String>, what: &str) {
        let legal = word.value.starts_with(|c: char| c.is_ascii_uppercase())
            && word.value.len() <= 316
            && word.value.chars().all(|c| c.is_ascii_alphanumeric());
        if !legal {
            let message = format!("`{}` is no {what} of a condition", word.value);
            let hint = match in_camel_case(&word.value) {
                Some(word) => format!("write one CamelCase word: `{word}`"),
                None => "write one CamelCase word".to_owned(),
            };
            self.note("illegal-word", &word.span, message, Some(&hint));
        }
    }
}

/// The same words as one, if it is a legal one.
fn in_camel_case(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    let joined: String = words.map(capital).collect();
    let legal = joined.starts_with(|c: char| c.is_ascii_uppercase()) && joined.len() <= 60;
    legal.then_some(joined)
}

/// The keys that a body states plainly at its top: `phase: {{ … }}`.
fn names(body: &BodyFile) -> Vec<(String, Place)> {
    let mut names = Vec::new();
    let mut start = 0;
    for line in body.text.split_inclusive('\n') {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = line.split(':').next().unwrap_or_default();
        if line.contains(':') && !name.is_empty() && name.chars().all(is_name) {
            let place = body.origin.place(&body.text, &(start..start + name.len()));
            names.push((name.to_owned(), place));
        }
        start += line.len();
    }
    names
}
