//! Compiles one reference with its operator.
//!
//! In: a comparison as written that combines no others. Out: the same, compiled, or mistakes. Never here: the right
//! side in detail (that is `operand`).

use super::compile::Compiler;
use super::meaning::Meaning;
use super::reference::Reference;
use super::relation::Relation;
use super::suggestion::closest;
use super::written::{Operand, Operator, Written};
use super::{Single, Test};
use crate::path::{Location, Path};

impl Compiler<'_> {
    pub(super) fn single(&mut self, written: &Written, at: &Location) -> Option<Single> {
        if let [(Operator::Ready, operand)] = written.operators.as_slice() {
            return self.ready(written, operand, at);
        }
        let subject = self.reference(&written.reference, at);
        let meaning = self.meaning(written, at);
        let many = subject.as_ref().is_none_or(|subject| !subject.path.is_singular());
        if written.some == Some(true) && !many && written.count.is_none() {
            let hint = "`some` is for paths such as `$.a[*].b`".to_owned();
            self.mistake(
                at.child("some"),
                "the path leads to one value, there are not several",
                hint,
            );
        }
        let mut tests = Vec::new();
        for (operator, operand) in &written.operators {
            tests.push(self.test(*operator, operand, meaning, written, at));
        }
        if let Some(count) = &written.count {
            tests.push(self.count(count, written, at));
        }
        let test = tests.pop().flatten()?;
        Some(Single { subject: subject?, some: written.some == Some(true), test })
    }

    fn test(
        &mut self,
        operator: Operator,
        operand: &Operand,
        meaning: Result<Option<Meaning>, Invalid>,
        written: &Written,
        at: &Location,
    ) -> Option<Test> {
        let field = at.child(operator.as_str());
        match operator {
            Operator::Exists => {
                let present = [
                    ("default", written.reference.default.is_some()),
                    ("as", written.meaning.is_some()),
                ];
                self.check_without("exists", &present, at);
                self.flag(operator, operand, field).map(Test::Exists)
            }
            Operator::Ready => self.flag(operator, operand, field).map(Test::Ready),
            Operator::Matches | Operator::Contains if written.meaning.is_some() => {
                self.check_without(operator.as_str(), &[("as", true)], at);
                None
            }
            _ => {
                let meaning = meaning.ok()?;
                if meaning == Some(Meaning::Age) && !operator.orders() {
                    let hint =
                        "an age is compared with atLeast, atMost, moreThan or lessThan".to_owned();
                    self.mistake(
                        field,
                        format!("an age cannot be compared with `{}`", operator.as_str()),
                        hint,
                    );
                    return None;
                }
                self.check_default(written, operator, meaning, at);
                let right = self.right(operator, operand, meaning, &field)?;
                Some(Test::Relates(Relation { operator, meaning, right }))
            }
        }
    }

    fn ready(&mut self, written: &Written, operand: &Operand, at: &Location) -> Option<Single> {
        let present = [
            ("path", written.reference.path.is_some()),
            ("default", written.reference.default.is_some()),
            ("as", written.meaning.is_some()),
            ("some", written.some.is_some()),
        ];
        self.check_without("ready", &present, at);
        let flag = self.flag(Operator::Ready, operand, at.child("ready"));
        let (of, kind) = self.name(&written.reference, at)?;
        if !kind.can_be_ready() {
            let hint = "`of` must name a child or an input; others are judged by a path".to_owned();
            self.mistake(
                at.child("ready"),
                format!("`{of}` cannot be asked whether it is ready"),
                hint,
            );
            return None;
        }
        // Readiness belongs to the object as a whole.
        let path = Path::parse("$").ok()?;
        let subject = Reference { of, path, default: None };
        Some(Single { subject, some: false, test: Test::Ready(flag?) })
    }

    fn count(
        &mut self,
        operators: &[(Operator, Operand)],
        written: &Written,
        at: &Location,
    ) -> Option<Test> {
        let present = [
            ("default", written.reference.default.is_some()),
            ("as", written.meaning.is_some()),
            ("some", written.some.is_some()),
        ];
        self.check_without("count", &present, at);
        let at = at.child("count");
        let keys: Vec<_> = operators.iter().map(|(operator, _)| operator.as_str()).collect();
        self.check_one_of(&keys, &at);
        let mut tests = Vec::new();
        for (operator, operand) in operators {
            let field = at.child(operator.as_str());
            let numeric = matches!(operator, Operator::Equals | Operator::NotEquals)
                || operator.takes_list()
                || operator.orders();
            if !numeric {
                let hint =
                    "equals, notEquals, in, notIn, atLeast, atMost, moreThan and lessThan can"
                        .to_owned();
                self.mistake(
                    field,
                    format!("a count cannot be compared with `{}`", operator.as_str()),
                    hint,
                );
                continue;
            }
            if let Some(right) = self.right(*operator, operand, None, &field) {
                self.check_counts(&right, &field);
                tests.push(Test::Counts(Relation { operator: *operator, meaning: None, right }));
            }
        }
        tests.pop()
    }

    /// Keys that have no use beside an operator.
    fn check_without(&mut self, operator: &str, present: &[(&str, bool)], at: &Location) {
        for (key, _) in present.iter().filter(|(_, present)| *present) {
            self.mistake(
                at.child(*key),
                format!("`{key}` means nothing beside `{operator}`"),
                "leave it out".to_owned(),
            );
        }
    }

    fn meaning(&mut self, written: &Written, at: &Location) -> Result<Option<Meaning>, Invalid> {
        let Some(name) = &written.meaning else {
            return Ok(None);
        };
        let meaning = Meaning::named(name);
        if meaning.is_none() {
            let known = Meaning::ALL.map(|(name, _)| name);
            let list = known.join(", ");
            let hint = match closest(name, known) {
                Some(name) => format!("did you mean `{name}`? known are {list}"),
                None => format!("known are {list}"),
            };
            self.mistake(at.child("as"), format!("unknown `as: {name}`"), hint);
            return Err(Invalid);
        }
        Ok(meaning)
    }
}

/// A meaning that was written and is not known: what depends on it is not judged.
#[derive(Clone, Copy)]
struct Invalid;
