//! From a compiled comparison and the objects of one pass to a verdict.
//!
//! In: a [`Comparison`], a [`Scope`], "now". Out: a [`Verdict`]. Never here: a clock; errors (what cannot be compared
//! fails, and the sentence says why).

use super::reference::{Found, Leaf, Reference, Scope, Values};
use super::relation::{Finding, Relation};
use super::right::{Terms, Wanted};
use super::statement::{About, Sense, Statement};
use super::verdict::{MOST_FAILING, Truth, Verdict};
use super::{Comparison, Single, Test, Tree};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;

impl Comparison {
    /// Judges it. `now` is the time of the pass: ages are counted from it.
    pub fn evaluate(&self, scope: &dyn Scope, now: Timestamp) -> Verdict {
        let judge = Judge { scope, now };
        judge.tree(&self.0, Sense::Affirmed)
    }

    /// Judges a list in which all must hold, as in `when`; an empty list holds.
    pub fn evaluate_all(comparisons: &[Self], scope: &dyn Scope, now: Timestamp) -> Verdict {
        let judge = Judge { scope, now };
        Verdict::all(&judge.parts(comparisons, Sense::Affirmed))
    }
}

struct Judge<'s> {
    scope: &'s dyn Scope,
    now: Timestamp,
}

impl Judge<'_> {
    /// `not` turns the sense of what is below it, by the laws of De Morgan, so that every sentence tells what was
    /// really wanted.
    fn tree(&self, tree: &Tree, sense: Sense) -> Verdict {
        match (tree, sense) {
            (Tree::Not(inner), _) => self.tree(&inner.0, sense.flipped()),
            (Tree::All(all), Sense::Affirmed) => Verdict::all(&self.parts(all, sense)),
            (Tree::All(all), Sense::Denied) => Verdict::any(&self.parts(all, sense)),
            (Tree::Any(any), Sense::Affirmed) => Verdict::any(&self.parts(any, sense)),
            (Tree::Any(any), Sense::Denied) => Verdict::all(&self.parts(any, sense)),
            (Tree::Single(single), _) => self.single(single, sense),
        }
    }

    fn parts(&self, parts: &[Comparison], sense: Sense) -> Vec<Verdict> {
        parts.iter().map(|part| self.tree(&part.0, sense)).collect()
    }

    fn single(&self, single: &Single, sense: Sense) -> Verdict {
        match self.try_single(single, sense) {
            Ok(verdict) | Err(Early(verdict)) => verdict,
        }
    }

    fn try_single(&self, single: &Single, sense: Sense) -> Result<Verdict, Early> {
        let subject = &single.subject;
        match &single.test {
            Test::Ready(wanted) => Ok(self.ready(subject.of(), *wanted, sense)),
            Test::Exists(wanted) => {
                let found = self.found(subject)?;
                Ok(self.several(subject, &found, single.some, &Statement::Exists(*wanted), sense))
            }
            Test::Relates(relation) => {
                let found = self.found(subject)?;
                let wanted = self.terms(relation, subject, sense)?;
                let statement = Statement::Relates { relation, wanted: &wanted };
                Ok(self.several(subject, &found, single.some, &statement, sense))
            }
            Test::Counts(relation) => {
                let found = self.found(subject)?;
                let wanted = self.terms(relation, subject, sense)?;
                let statement = Statement::Relates { relation, wanted: &wanted };
                let count =
                    found.leaves.iter().filter(|leaf| matches!(leaf, Leaf::Found(_))).count();
                let count = Value::from(count);
                let leaf = Leaf::Found(&count);
                let about = About {
                    label: format!("the number of {}", subject.label()),
                    leaf,
                    secret: false,
                };
                Ok(decided(&statement, &about, statement.judge(leaf, self.now), sense))
            }
        }
    }

    /// The left side.
    fn found<'a>(&'a self, subject: &'a Reference) -> Result<Values<'a>, Early> {
        match subject.find(self.scope) {
            Found::Unknown(why) => Err(Early(Verdict::new(Truth::Unknown, why))),
            Found::Values(found) => Ok(found),
        }
    }

    /// The right side.
    fn terms<'a>(
        &'a self,
        relation: &'a Relation,
        subject: &Reference,
        sense: Sense,
    ) -> Result<Terms<'a>, Early> {
        match relation.wanted(self.scope) {
            Wanted::Unknown(why) => Err(Early(Verdict::new(Truth::Unknown, why))),
            Wanted::Unusable(reason) => {
                let sentence = format!("{reason}, and {} is compared with it", subject.label());
                Err(Early(Verdict::new(sense.is_met(false), sentence)))
            }
            Wanted::Terms(terms) => Ok(terms),
        }
    }

    fn ready(&self, name: &str, wanted: bool, sense: Sense) -> Verdict {
        let readiness = self.scope.readiness(name);
        let reason = match readiness.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        let failing = BTreeSet::from([name.to_owned()]);
        let wants_ready = sense.is_met(wanted);
        let met = |ready: bool| Truth::from(ready == wants_ready);
        match readiness.truth {
            Truth::Unknown => {
                Verdict::new(Truth::Unknown, format!("{name} is not known to be ready{reason}"))
            }
            Truth::Holds if wants_ready => Verdict::new(met(true), format!("{name} is ready")),
            Truth::Holds => Verdict {
                failing,
                ..Verdict::new(met(true), format!("{name} is ready, should not be"))
            },
            Truth::Fails => Verdict {
                failing: if met(false) == Truth::Fails { failing } else { BTreeSet::new() },
                ..Verdict::new(met(false), format!("{name} is not ready{reason}"))
            },
        }
    }

    /// Every value must pass, or with `some` one of them.
    fn several(
        &self,
        subject: &Reference,
        found: &Values<'_>,
        some: bool,
        statement: &Statement<'_>,
        sense: Sense,
    ) -> Verdict {
        let findings: Vec<_> =
            found.leaves.iter().map(|leaf| statement.judge(*leaf, self.now)).collect();
        let look_again = findings.iter().filter_map(|finding| finding.flips).min();
        // The first value that decides alone: one that fails, or with `some` one that passes.
        let deciding = findings.iter().position(|finding| finding.holds == some);
        let single = (subject.path().is_singular() && findings.len() == 1).then_some(0);
        if let Some(at) = deciding.or(single)
            && let (Some(finding), Some(leaf)) = (findings.get(at), found.leaves.get(at))
        {
            let label = subject.label_of_leaf(found.root, at);
            let about = About { label, leaf: *leaf, secret: found.secret };
            let failing = failing(subject, found, &findings, sense);
            return Verdict { look_again, failing, ..decided(statement, &about, *finding, sense) };
        }
        let holds = if findings.is_empty() { !some && statement.of_none() } else { !some };
        let met = sense.is_met(holds);
        let first = found.leaves.first().copied().unwrap_or(Leaf::Missing);
        let predicate = statement.predicate(Sense::Affirmed, first, found.secret);
        let label = subject.label();
        let sentence = match (statement, findings.is_empty(), some) {
            (Statement::Exists(_), true, _) if met => format!("there is no {label}"),
            (Statement::Exists(_), true, _) => format!("there is no {label}, should be"),
            (_, true, false) if met => format!("there is no {label}, so each {predicate}"),
            (_, true, false) => format!("there is no {label}, so each {predicate}, one should not"),
            (_, _, true) if met => format!("no {label} {predicate}"),
            (_, _, true) => format!("no {label} {predicate}, one should"),
            (_, false, false) if met => format!("every {label} {predicate}"),
            (_, false, false) => format!("every {label} {predicate}, one should not"),
        };
        let failing = failing(subject, found, &findings, sense);
        Verdict { look_again, failing, ..Verdict::new(met, sentence) }
    }
}

/// What does not pass: the keys of items where the path goes over all of them, else each value by its name.
fn failing(
    subject: &Reference,
    found: &Values<'_>,
    findings: &[Finding],
    sense: Sense,
) -> BTreeSet<String> {
    let fails = findings.iter().enumerate().filter(|(_, finding)| !sense.is_met(finding.holds));
    let text = subject.path().as_str();
    let over_items = text.starts_with("$.*") || text.starts_with("$[*]");
    let name = |(nth, _): (usize, &Finding)| {
        let place = subject.path().describe(found.root, nth);
        let step = place.trim_start_matches(['$', '.', '[']);
        let key = if let Some(quoted) = step.strip_prefix('\'') {
            quoted.split('\'').next().unwrap_or_default()
        } else {
            step.split(['.', '[', ']']).next().unwrap_or_default()
        };
        if over_items { key.to_owned() } else { subject.label_of_leaf(found.root, nth) }
    };
    fails.map(name).take(MOST_FAILING + 1).collect()
}

/// A verdict that needs no look at the values.
struct Early(Verdict);

/// One value decides.
fn decided(
    statement: &Statement<'_>,
    about: &About<'_>,
    finding: Finding,
    sense: Sense,
) -> Verdict {
    let sentence = statement.about(about, finding, sense);
    Verdict { look_again: finding.flips, ..Verdict::new(sense.is_met(finding.holds), sentence) }
}
