//! Looks at the documents of a folder, and at what its rules make of them, with the types of their kinds.
//!
//! In: what was loaded, kinds. Out: problems, each once, at the place of its author. Never here: printing.

use crate::cli::kinds::Known;
use crate::cli::preview::Preview;
use crate::object::Gvk;
use crate::path::Step;
use crate::problem::Problem;
use crate::refusal::Texts;
use crate::render::DesiredChild;
use crate::rule::{Example, Loaded, Rule, StatusRule};
use crate::schema::naming;
use crate::schema::{Finding, check_object, check_status, rule_findings};
use crate::source::Place;
use serde_json::Value;
use std::collections::BTreeSet;

/// What came out.
#[derive(Default)]
pub(super) struct Examined {
    /// Every mistake, in the order of rules, definitions and examples.
    pub(super) problems: Vec<Problem>,
    /// Kinds that could not be checked.
    pub(super) unknown: BTreeSet<String>,
    /// How often a rule met an example parent.
    pub(super) rendered: usize,
    /// The example that is looked at, if its rule has others.
    example: Option<String>,
    seen: BTreeSet<Sighting>,
}

/// What makes findings one mistake of an author, whatever the example or the round of a loop it was met in: code, place,
/// and path without positions.
type Sighting = (&'static str, String, Vec<String>);

/// Looks at everything.
pub(super) fn examine(loaded: &Loaded, kinds: &Known) -> Examined {
    let mut examined = Examined::default();
    for rule in &loaded.rules {
        for gvk in rule
            .parent
            .kinds
            .iter()
            .chain(rule.kinds())
            .chain(rule.inputs.iter().map(|input| &input.gvk))
        {
            examined.knows(gvk, kinds);
        }
        examined.note(rule_findings(rule, &kinds.types));
    }
    for document in loaded.crds.iter().chain(&loaded.examples) {
        examined.document(document, kinds);
    }
    let others: Vec<Value> = loaded.examples.iter().map(|example| example.object.clone()).collect();
    for example in &loaded.examples {
        for rule in loaded.rules.iter().filter(|rule| rule.is_for(&example.object)) {
            let is_other =
                |other: &Example| other.place != example.place && rule.is_for(&other.object);
            let several = loaded.examples.iter().any(is_other);
            examined.example =
                several.then(|| format!("seen with the example at {}", example.place));
            examined.pass(rule, example, &others, kinds);
        }
    }
    examined
}

impl Examined {
    /// A template that several rules share tells its mistakes several times; and what can never be there is undefined
    /// in every example.
    fn note(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            let same_place = |other: &&Problem| other.place == problem.place;
            let known = self.problems.iter().filter(same_place).any(|other| {
                other.is_same(&problem)
                    || (other.code == "impossible-path" && problem.code == "template-undefined")
            });
            if !known {
                self.problems.push(Problem { note: self.example.clone(), ..problem });
            }
        }
    }

    fn finding(&mut self, kind: &str, finding: &Finding, place: Option<Place>) {
        let name = |step: &Step| match step {
            Step::Key(name) => Some(name.clone()),
            Step::Index(_) => None,
        };
        let names = finding.path.steps().iter().filter_map(name).collect();
        let at = place.as_ref().map(ToString::to_string).unwrap_or_default();
        if self.seen.insert((finding.code, at, names)) {
            let note = self.example.clone();
            self.problems.push(Problem { place, note, ..finding.problem(kind) });
        }
    }

    /// Notes a kind that nothing defines.
    fn knows(&mut self, gvk: &Gvk, kinds: &Known) {
        if kinds.types.kind(gvk).is_none() {
            let others = kinds.types.other_versions(gvk);
            self.unknown.insert(match others.as_slice() {
                [] => gvk.to_string(),
                others => format!("{gvk} (known is {})", others.join(", ")),
            });
        }
    }

    fn document(&mut self, document: &Example, kinds: &Known) {
        let place = |finding: &Finding| Some(document.place_of(&finding.path));
        let texts = Gvk::of(&document.object).map_or(Texts::Shown, |gvk| Texts::about(&gvk, false));
        self.object(&document.object, kinds, texts, place);
    }

    fn object(
        &mut self,
        object: &Value,
        kinds: &Known,
        texts: Texts,
        place: impl Fn(&Finding) -> Option<Place>,
    ) {
        let Some(gvk) = Gvk::of(object) else { return };
        self.knows(&gvk, kinds);
        let findings = check_object(&kinds.types, object)
            .unwrap_or_else(|| naming::of_object(&gvk, object, false));
        for finding in findings {
            let finding = if texts == Texts::Hidden { finding.hushed() } else { finding };
            self.finding(&gvk.kind, &finding, place(&finding));
        }
    }

    /// One rule and one parent.
    fn pass(&mut self, rule: &Rule, example: &Example, others: &[Value], kinds: &Known) {
        self.rendered += 1;
        let preview = match Preview::of(rule, &example.object, others, kinds) {
            Ok(preview) => preview,
            Err(problem) => {
                self.note([problem.at(example.place.clone())]);
                return;
            }
        };
        self.note(preview.desired.problems().cloned());
        for child in &preview.desired.children {
            self.child(&preview, child, kinds);
        }
        if let Some(status) = &rule.status {
            let Some(gvk) = Gvk::of(&example.object) else { return };
            let (fields, problems) = preview.status();
            self.note(problems);
            for finding in check_status(&kinds.types, &gvk, &fields) {
                let finding = if rule.reveal { finding.hushed() } else { finding };
                let place = place_in_status(status, &finding);
                self.finding(&gvk.kind, &finding, Some(place));
            }
        }
    }

    fn child(&mut self, preview: &Preview<'_>, child: &DesiredChild, kinds: &Known) {
        let place = |finding: &Finding| preview.place_of(child, &finding.path);
        self.object(&child.object, kinds, child.texts, place);
    }
}

/// Where the rule writes the status field that a finding is about.
fn place_in_status(status: &StatusRule, finding: &Finding) -> Place {
    let name = finding.path.steps().get(1);
    let named = status.names.iter().find(|(written, _)| name == Some(&written.as_str().into()));
    named.map_or(&status.place, |(_, place)| place).clone()
}
