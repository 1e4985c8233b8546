//! What a schema asks of a value beside its shape.

use super::Checker;
use super::scalar::shown;
use crate::path::equality::{equal, order};
use crate::schema::shape::{Bound, Limits, Schema, Size};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

impl Checker {
    pub(super) fn limits(&mut self, schema: &Schema, value: &Value) {
        if !self.strict {
            return;
        }
        for limits in schema.all_limits() {
            self.words(limits, value);
            match value {
                Value::Object(map) => self.of_map(limits, map),
                Value::Array(list) => self.size(limits.items, list.len(), "elements"),
                Value::String(text) => self.of_text(limits, text),
                Value::Number(number) => self.of_number(limits, number),
                _ => {}
            }
            self.combinations(limits, value);
        }
    }

    fn words(&mut self, limits: &Limits, value: &Value) {
        let words = &limits.words;
        if words.is_empty() || words.iter().any(|word| equal(word, value)) {
            return;
        }
        let list: Vec<String> =
            words.iter().filter(|word| **word != "").map(ToString::to_string).collect();
        let found = value.as_str().map_or_else(|| value.to_string(), shown);
        let near = value.as_str().and_then(|text| {
            crate::comparison::closest(text, words.iter().filter_map(Value::as_str))
        });
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        let one_of = if list.len() == 1 { "" } else { "one of " };
        let message = format!("is {found}, should be {one_of}{}", list.join(", "));
        self.note("not-allowed", message, hint);
    }

    fn of_map(&mut self, limits: &Limits, map: &Map<String, Value>) {
        for name in limits.required.iter().filter(|name| !map.contains_key(name.as_str())) {
            if self.is_meant(name) {
                continue;
            }
            self.below(name.as_str(), |checker| checker.note("missing-field", "is missing", None));
        }
        self.size(limits.entries, map.len(), "entries");
    }

    /// Whether an unknown field of this map is probably this one, and was told so.
    fn is_meant(&self, name: &str) -> bool {
        let hint = format!("did you mean `{name}`?");
        self.findings.iter().rev().any(|finding| {
            finding.code == "unknown-field"
                && finding.hint.as_deref() == Some(&hint)
                && finding.path.steps().split_last().is_some_and(|(_, above)| above == self.at)
        })
    }

    fn of_text(&mut self, limits: &Limits, text: &str) {
        self.size(limits.length, text.chars().count(), "characters");
        let Some(pattern) = &limits.pattern else { return };
        if pattern.matches(text) == Some(false) {
            self.note("not-allowed", format!("is {}, should match {pattern}", shown(text)), None);
        }
    }

    fn size(&mut self, size: Size, found: usize, what: &str) {
        let found = u64::try_from(found).unwrap_or(u64::MAX);
        let wanted = match (size.least, size.most) {
            (Some(least), _) if found < least => format!("at least {least}"),
            (_, Some(most)) if found > most => format!("at most {most}"),
            _ => return,
        };
        self.note("out-of-bounds", format!("has {found} {what}, should have {wanted}"), None);
    }

    fn of_number(&mut self, limits: &Limits, number: &Number) {
        let beyond = |bound: &&Bound, side: Ordering| {
            let found = order(number, &bound.value);
            found == side || (bound.exclusive && found == Ordering::Equal)
        };
        if let Some(least) = limits.least.as_ref().filter(|least| beyond(least, Ordering::Less)) {
            let words = if least.exclusive { "more than" } else { "at least" };
            self.bound(number, words, &least.value);
        }
        if let Some(most) = limits.most.as_ref().filter(|most| beyond(most, Ordering::Greater)) {
            let words = if most.exclusive { "less than" } else { "at most" };
            self.bound(number, words, &most.value);
        }
        // Fractions would have to be divided as inexactly as the API server does it.
        let factor = limits.multiple_of.as_ref().and_then(Number::as_i64).filter(|n| *n != 0);
        if let (Some(factor), Some(value)) = (factor, number.as_i64())
            && value.checked_rem(factor).is_some_and(|rest| rest != 0)
        {
            self.bound(number, "a multiple of", &factor.into());
        }
    }

    fn bound(&mut self, found: &Number, words: &str, wanted: &Number) {
        self.note("out-of-bounds", format!("is {found}, should be {words} {wanted}"), None);
    }

    fn combinations(&mut self, limits: &Limits, value: &Value) {
        for schema in &limits.all_of {
            self.value(schema, value);
        }
        for alternatives in &limits.any_of {
            let mut first = None;
            let fits = alternatives.iter().any(|schema| {
                let found = self.tried(schema, value);
                first = first.take().or_else(|| found.clone());
                found.is_none()
            });
            if !fits {
                let hint = first.map(|finding| format!("for one of them, {finding}"));
                self.note("not-allowed", "fits none of the schema's alternatives", hint);
            }
        }
    }

    /// The first finding against a schema, without noting it.
    fn tried(&mut self, schema: &Schema, value: &Value) -> Option<super::Finding> {
        let before = self.findings.len();
        self.value(schema, value);
        let first = self.findings.get(before).cloned();
        self.findings.truncate(before);
        first
    }
}
