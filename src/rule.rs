//! Rules: from a folder's texts to compiled rules, or every mistake.
//!
//! In: a [`Folder`]. Out: [`Loaded`]: rules that cannot be invalid, CRDs, example parents, problems. All or nothing per
//! rule: a bad one is reported whole and the others never notice. Never here: the cluster.

#[macro_use]
pub(crate) mod decode;
mod comparison_file;
mod compile;
mod compiled;
mod cross;
mod definition;
mod file;
mod ignore;
mod kinds;
pub(crate) mod lint;
mod mention;
mod nearest;
mod order;
mod policy_file;
mod read;
mod renew;
mod schema;
mod secret;

pub use compiled::{
    Because, ChildRule, ConditionRule, Generate, GroupRule, IgnoreRule, InputRule, Need,
    ParentRule, PatchRule, Policies, Rule, StatusRule, Target, Where,
};
pub use file::{API_VERSION, Until};
pub use mention::{Mention, Subject, Use};
pub use policy_file::{
    Adopt, Characters, OnImmutable, OnRuleRemoved, PatchRemoval, PatchType, Relation, Removal,
    Update, WhenGone,
};
pub use read::{Error, Folder, Templates, read};
pub use renew::{Kept, Renewed, renew};
pub use schema::{examples, reference, schema};

use crate::object::Gvk;
use crate::path::Location;
use crate::problem::Problem;
use crate::source::{Place, Source};
use crate::yaml::{self, Document, Limits, Node};
use decode::{Decode, Decoder};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a folder holds.
#[derive(Default)]
pub struct Loaded {
    /// The rules that compiled, by name.
    pub rules: Vec<Arc<Rule>>,
    /// `CustomResourceDefinitions`: those of the folder, and those that the short schemas of rules stand for.
    pub crds: Vec<Example>,
    /// Everything else: example parents.
    pub examples: Vec<Example>,
    /// Every mistake, in the order of the files.
    pub problems: Vec<Problem>,
    /// Names of rules that did not compile: their last good version should go on running.
    pub bad: Vec<String>,
    /// Names of files in which a problem hides what rules they hold.
    pub unread: BTreeSet<String>,
}

/// A document of the rules folder that is no rule.
#[derive(Clone, Debug)]
pub struct Example {
    /// The object.
    pub object: Value,
    /// Where it stands.
    pub place: Place,
}

impl Example {
    /// Where a part of it stands, or what is nearest above it.
    pub fn place_of(&self, part: &Location) -> Place {
        let source = &self.place.source;
        let documents = yaml::parse(&source.text, &Limits::FILE).unwrap_or_default();
        let is_this = |document: &&Document| document.root.span.start == self.place.span.start;
        documents.iter().find(is_this).map_or_else(
            || self.place.clone(),
            |document| Place::new(source, document.root.locate(part.steps())).first_line(),
        )
    }
}

/// Compiles every rule of the folder.
pub fn load(folder: &Folder) -> Loaded {
    let mut loaded = Loaded::default();
    let mut named: BTreeMap<String, Place> = BTreeMap::new();
    for source in &folder.rules {
        match yaml::parse(&source.text, &Limits::FILE) {
            Ok(documents) => {
                for document in &documents {
                    loaded.document(source, &document.root, folder, &mut named);
                }
            }
            Err(error) => {
                loaded.unread.insert(source.name.clone());
                loaded.problems.push(yaml_problem(source, error));
            }
        }
    }
    loaded.rules.sort_by(|left, right| left.name.cmp(&right.name));
    cross::refuse(&mut loaded);
    definition::add(&mut loaded);
    loaded
}

/// A YAML mistake as a problem.
pub(crate) fn yaml_problem(source: &Arc<Source>, error: yaml::Error) -> Problem {
    let problem = Problem::new("illegal-yaml", error.message).at(Place::new(source, error.span));
    let is_template = source.text.lines().any(|line| line.starts_with("{%"));
    let misplaced = || Some("a template belongs into the folder of templates".to_owned());
    Problem { hint: if is_template { misplaced() } else { error.hint }, ..problem }
}

impl Loaded {
    fn document(
        &mut self,
        source: &Arc<Source>,
        node: &Node,
        folder: &Folder,
        named: &mut BTreeMap<String, Place>,
    ) {
        let object = node.to_json();
        if object.is_null() {
            return;
        }
        if file::is_rule(&object) {
            self.rule(source, node, folder, named);
            return;
        }
        let place = Place::new(source, node.span.clone()).first_line();
        let Some(gvk) = Gvk::of(&object) else {
            let message = "this document is no rule and no Kubernetes object";
            let hint = format!("a rule starts with `apiVersion: {API_VERSION}` and `kind: Rule`");
            self.problems.push(Problem::new("no-object", message).at(place).hint(hint));
            self.unread.insert(source.name.clone());
            return;
        };
        let crd = gvk.group == "apiextensions.k8s.io" && gvk.kind == "CustomResourceDefinition";
        let list = if crd { &mut self.crds } else { &mut self.examples };
        list.push(Example { object, place });
    }

    fn rule(
        &mut self,
        source: &Arc<Source>,
        node: &Node,
        folder: &Folder,
        named: &mut BTreeMap<String, Place>,
    ) {
        let mut decoder = Decoder::new(source);
        let file = file::RuleFile::decode(node, &mut decoder);
        let mut problems = decoder.problems;
        let written_name = || Some(node.get("metadata")?.get("name")?.as_str()?.to_owned());
        let compiled = file.filter(|_| problems.is_empty()).and_then(|file| {
            let name = &file.metadata.name;
            let place = Place::new(source, name.span.clone());
            if let Some(other) = named.get(&name.value) {
                let message = format!("there is another rule `{}` at {other}", name.value);
                let problem = Problem::new("duplicate-rule", message).at(place);
                problems.push(problem.hint("rename one of them"));
                return None;
            }
            named.insert(name.value.clone(), place);
            compile::compile(&file, source, &folder.templates)
                .and_then(|rule| match lint::problems(&rule) {
                    found if found.is_empty() => Ok(lint::revealing(rule)),
                    found => Err(found),
                })
                .map_err(|found| problems.extend(found))
                .ok()
        });
        match compiled {
            Some(rule) => self.rules.push(Arc::new(rule)),
            None => match written_name() {
                Some(name) => self.bad.push(name),
                None => drop(self.unread.insert(source.name.clone())),
            },
        }
        self.problems.append(&mut problems);
    }
}
