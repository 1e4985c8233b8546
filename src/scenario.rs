//! Scenarios: rules tried out on files, without a cluster.
//!
//! In: scenario files, compiled rules. Out: [`Scenario`]s or every mistake in them; then, for each, what it [`Ran`] into.
//! Each step is one whole pass of the real pure steps (render, compare, status) around a simulated server. Never here: a
//! client, a clock (the time is data), reading or writing files. Pure.
//!
//! Two things are checked for every step although nobody asks: a second pass writes nothing, and a hundred other orders
//! of the maps and objects that come in change nothing.

mod bind;
mod expect;
mod file;
mod flow;
mod junit;
mod merge;
mod pass;
mod server;
mod show;
mod shuffle;
mod status_of;
mod unasked;
mod update;

pub use junit::junit;
pub use server::{Refused, Server};
pub use show::summary;
pub use update::{Edit, updated};

use crate::compare::Memos;
use crate::problem::Problem;
use crate::rule::{Loaded, Rule};
use crate::schema::Types;
use crate::scope::Scopes;
use crate::source::{Place, Source};
use crate::yaml::Node;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

/// What should happen to one parent, told in steps.
pub struct Scenario {
    /// What it is about: one line, unique enough to find it.
    pub about: String,
    /// Where it stands.
    pub place: Place,
    rule: Arc<Rule>,
    scopes: Arc<Scopes>,
    parent: Value,
    inputs: Vec<Value>,
    steps: Vec<Step>,
}

/// One pass: what happened before it, and what is expected of it.
struct Step {
    about: String,
    place: Place,
    now: Timestamp,
    /// Merged over the parent so far.
    parent: Value,
    /// What the rule reads from now on, if that changes.
    inputs: Option<Vec<Value>>,
    /// Objects of somebody else.
    foreign: Vec<(Value, Place)>,
    observed: Vec<Seen>,
    /// The `expect` mapping, checked for shape and names.
    expect: Option<Node>,
}

/// What somebody did to a child before the pass.
struct Seen {
    child: Arc<str>,
    /// `Kind/name`, for a child of several objects.
    object: Option<String>,
    /// Merged over the object; null takes the object away.
    patch: Value,
    /// Whether its status becomes one that counts as ready.
    ready: bool,
    place: Place,
}

/// What became of a scenario.
pub struct Ran {
    /// What it is about.
    pub about: String,
    /// Where it stands.
    pub place: Place,
    /// What became of its steps.
    pub steps: Vec<StepRan>,
}

/// What became of a step.
pub struct StepRan {
    /// What it is about; empty for the only step of a scenario.
    pub about: String,
    /// Every expectation that was not met.
    pub failures: Vec<Failure>,
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Where the expectation stands.
    pub place: Place,
    /// What it is about: `children.deployment.spec.replicas`.
    pub path: String,
    /// What is wrong.
    pub wrong: Wrong,
    /// What would make it right; an unmet expectation that nobody wrote has none.
    pub edit: Option<Edit>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// Another value, or none, on either side.
    Different {
        /// What was expected; nothing means that it should be absent.
        expected: Option<Value>,
        /// What was found.
        found: Option<Value>,
    },
    /// A sentence.
    Said(String),
}

impl Ran {
    /// Whether every step did.
    pub fn passed(&self) -> bool {
        self.steps.iter().all(StepRan::passed)
    }
}

impl StepRan {
    /// Whether every expectation was met.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Reads scenario files: one scenario per document. A wrong one is reported whole and the others never notice.
pub fn load(sources: &[Arc<Source>], loaded: &Loaded) -> (Vec<Scenario>, Vec<Problem>) {
    let types = Types::builtin().with_crds(loaded.crds.iter().map(|crd| &crd.object));
    let scopes = Arc::new(Scopes::offline(&types));
    let mut scenarios = Vec::new();
    let mut problems = Vec::new();
    for source in sources {
        match file::documents(source) {
            Ok(documents) => {
                for node in documents {
                    match bind::scenario(source, &node, &loaded.rules, &scopes) {
                        Ok(scenario) => scenarios.push(scenario),
                        Err(found) => problems.extend(found),
                    }
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    (scenarios, problems)
}

/// Runs every step, whether the one before did as expected or not.
pub fn run(scenario: &Scenario) -> Ran {
    let mut memos = Memos::new();
    let mut steps = Vec::new();
    let mut server = match Server::new(&scenario.rule, &scenario.scopes, &scenario.parent) {
        Ok(server) => server,
        Err(refused) => return scenario.refused(&refused),
    };
    server.set_inputs(scenario.inputs.clone());
    let number = scenario.steps.len();
    for step in &scenario.steps {
        let mut failures = step.happens(scenario, &mut server, &mut memos);
        let setting =
            pass::Setting { rule: &scenario.rule, scopes: &scenario.scopes, now: step.now };
        let before = server.clone();
        let known = memos.clone();
        let passed = pass::pass(&setting, &mut server, &mut memos);
        expect::met(step, scenario, &passed, &server, &mut failures);
        failures.extend(unasked::second_pass(&setting, &passed, &server, &memos, step));
        failures.extend(unasked::shuffles(&setting, &passed, (&before, &known), number, step));
        steps.push(StepRan { about: step.about.clone(), failures });
    }
    Ran { about: scenario.about.clone(), place: scenario.place.clone(), steps }
}

impl Scenario {
    /// The server would not even take the parent.
    fn refused(&self, refused: &Refused) -> Ran {
        let failure = Failure::said(&self.place, "parent", refused.to_string());
        let step = StepRan { about: String::new(), failures: vec![failure] };
        Ran { about: self.about.clone(), place: self.place.clone(), steps: vec![step] }
    }
}

impl Failure {
    fn said(place: &Place, path: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.clone(),
            path: path.into(),
            wrong: Wrong::Said(what.into()),
            edit: None,
        }
    }
}

impl Step {
    /// What happens between two passes: the parent changes, others write objects, time goes by.
    fn happens(&self, scenario: &Scenario, server: &mut Server, memos: &mut Memos) -> Vec<Failure> {
        let mut failures = Vec::new();
        if let Err(refused) = server.edit_parent(&self.parent) {
            failures.push(Failure::said(&self.place, "parent", refused.to_string()));
        }
        if let Some(inputs) = &self.inputs {
            server.set_inputs(inputs.clone());
        }
        for (object, place) in &self.foreign {
            if let Err(refused) = server.put_foreign(object) {
                failures.push(Failure::said(place, "foreign", refused.to_string()));
            }
        }
        let setting =
            pass::Setting { rule: &scenario.rule, scopes: &scenario.scopes, now: self.now };
        for seen in &self.observed {
            if seen.patch.is_null() {
                server.remove(&seen.child, seen.object.as_deref());
                continue;
            }
            // A child that is not there yet was made by an earlier pass that no step tells of.
            pass::made_earlier(&setting, server, memos, &seen.child);
            let edited = server.edit(&seen.child, seen.object.as_deref(), &seen.patch, seen.ready);
            if let Err(refused) = edited {
                let path = format!("observed.{}", seen.child);
                failures.push(Failure::said(&seen.place, path, refused.to_string()));
            }
        }
        failures
    }
}

#[cfg(test)]
mod tests;
