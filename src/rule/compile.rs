//! From a rule as written to a [`Rule`] that cannot be invalid, or every mistake in its meaning.
//!
//! In: a [`RuleFile`], the template files. Out: every path, comparison and template parsed once. Pure.

mod child;
mod definition;
mod group;
mod input;
mod parent;
mod patch;
mod status;

use super::comparison_file::ComparisonFile;
use super::compiled::{ChildRule, GroupRule, InputRule, ParentRule, Rule, StatusRule};
use super::decode::Spanned;
use super::file::{BodyFile, ChildFile, EntryFile, RuleFile};
use super::mention::{self, Mention};
use super::order;
use super::read::Templates as Files;
use super::secret;
use crate::comparison::{Comparison, Names, RootKind};
use crate::marks::hash64;
use crate::object::Gvk;
use crate::problem::Problem;
use crate::shorthand::Definition;
use crate::source::{Place, Source};
use crate::template::{BodyTemplate, Builder, LineTemplate, Mode, Read, Templates};
use parent::{Header, parent_span};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Compiles a rule; every mistake is found in one go.
pub(super) fn compile(
    file: &RuleFile,
    source: &Arc<Source>,
    files: &Arc<Files>,
) -> Result<Rule, Vec<Problem>> {
    let mut compiler = Compiler {
        source,
        files,
        templates: Builder::new(Arc::clone(files)),
        ids: file.spec.children.iter().flat_map(EntryFile::children).map(id).collect(),
        inputs: file.spec.inputs.iter().map(|input| input.id.value.as_str()).collect(),
        singles: file.spec.children.iter().filter_map(single).collect(),
        groups: Vec::new(),
        own: None,
        mentions: Vec::new(),
        used: BTreeSet::new(),
        problems: Vec::new(),
    };
    // What is optional and wrong is only left out of the draft: its problem stops the rule.
    let draft = compiler.rule(file);
    let Compiler { templates, problems, groups, mentions, .. } = compiler;
    match draft {
        Some(draft) if problems.is_empty() => {
            let groups = groups.into_iter().flatten().collect();
            Ok(draft.finish(groups, templates.build(), mentions, source, files))
        }
        _ => Err(problems),
    }
}

fn id(child: &ChildFile) -> &str {
    &child.id.value
}

fn single(entry: &EntryFile) -> Option<&str> {
    match entry {
        EntryFile::Child(child) => Some(id(child)),
        EntryFile::Group(_) => None,
    }
}

struct Compiler<'a> {
    source: &'a Arc<Source>,
    files: &'a Arc<Files>,
    templates: Builder,
    /// Every child's id.
    ids: BTreeSet<&'a str>,
    /// Every input's id.
    inputs: BTreeSet<&'a str>,
    /// The ids of those outside of groups.
    singles: BTreeSet<&'a str>,
    /// In the order in which they open; nothing for one with a mistake.
    groups: Vec<Option<GroupRule>>,
    /// The child that `self` means now.
    own: Option<String>,
    mentions: Vec<Mention>,
    /// Inputs that something reads.
    used: BTreeSet<String>,
    problems: Vec<Problem>,
}

/// What can be referred to at a place of the rule.
#[derive(Clone)]
struct Surroundings {
    names: Names,
    group: Option<usize>,
    items: Vec<String>,
    /// Ids that must be decided before anything in the group.
    after: BTreeSet<Arc<str>>,
}

/// A rule without its templates, which are finished last.
struct Draft {
    header: Header,
    parent: ParentRule,
    definition: Option<Definition>,
    let_body: Option<BodyTemplate>,
    inputs: Vec<InputRule>,
    children: Vec<ChildRule>,
    order: Vec<usize>,
    status: Option<StatusRule>,
}

impl Draft {
    fn finish(
        self,
        groups: Vec<GroupRule>,
        templates: Templates,
        mentions: Vec<Mention>,
        source: &Source,
        files: &Files,
    ) -> Rule {
        // Of the template files only those that it uses: another one's edit is none of its business.
        let used = templates.files().filter_map(|name| files.get_key_value(name));
        let used: BTreeMap<String, Arc<Source>> =
            used.map(|(name, file)| (name.clone(), Arc::clone(file))).collect();
        let text = used
            .iter()
            .fold(source.text.clone(), |text, (name, file)| text + "\0" + name + "\0" + &file.text);
        let reads_inputs = |read: &Read| read.path.first().is_some_and(|root| root == "inputs");
        let rule = Rule {
            name: self.header.name,
            identity: self.header.identity,
            place: self.header.place,
            formerly: self.header.formerly,
            hash: hash64(text.as_bytes()),
            files: used,
            parent: self.parent,
            definition: self.definition,
            cross_namespace: self.header.cross_namespace,
            reveal: self.header.reveal,
            resync: self.header.resync,
            on_rule_removed: self.header.on_rule_removed,
            let_reads_inputs: self.let_body.iter().flat_map(BodyTemplate::reads).any(reads_inputs),
            let_body: self.let_body,
            inputs: self.inputs,
            children: self.children,
            groups,
            order: self.order,
            status: self.status,
            templates,
            mentions,
        };
        let templates = rule.templates.clone().hushed(secret::reachable(&rule));
        Rule { templates, ..rule }
    }
}

/// Ids that mean something else in comparisons and templates.
const RESERVED: &[&str] =
    &["parent", "item", "self", "let", "rule", "conditions", "inputs", "children", "generated"];

impl<'a> Compiler<'a> {
    fn rule(&mut self, file: &'a RuleFile) -> Option<Draft> {
        let header = self.header(file);
        let spec = &file.spec;
        let parent = self.parent(file);
        let definition = spec.schema.as_ref().and_then(|schema| self.definition(file, schema));
        let let_body = spec.let_body.as_ref().and_then(|body| self.body(body, Mode::Strict));
        self.check_ids(file);
        let inputs = self.inputs(file);
        let top = self.top();
        let mut children = Vec::new();
        self.entries(&spec.children, &top, &mut children);
        let status = spec
            .status
            .as_ref()
            .and_then(|status| self.status(status, &top, &parent_span(&spec.parent)));
        self.check_unused(file);
        let children: Vec<ChildRule> = children.into_iter().collect::<Option<_>>()?;
        let order = match order::order(&children) {
            Ok(order) => order,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        Some(Draft {
            header: header?,
            parent: parent?,
            definition,
            let_body,
            inputs: inputs?,
            children,
            order,
            status,
        })
    }

    /// Outside of every group.
    fn top(&self) -> Surroundings {
        let names = Names::new("parent", RootKind::Parent).with("let", RootKind::Let);
        let with_id = |names: Names, id: &&str| names.with(id, RootKind::Child);
        let with_input = |names: Names, id: &&str| names.with(id, RootKind::Input);
        let names = self.ids.iter().fold(names, with_id);
        Surroundings {
            names: self.inputs.iter().fold(names, with_input),
            group: None,
            items: Vec::new(),
            after: BTreeSet::new(),
        }
    }

    fn entries(
        &mut self,
        entries: &'a [EntryFile],
        around: &Surroundings,
        children: &mut Vec<Option<ChildRule>>,
    ) {
        for entry in entries {
            match entry {
                EntryFile::Child(file) => {
                    let child = self.child(file, around);
                    children.push(child);
                }
                EntryFile::Group(file) => {
                    let inside = self.group(file, around);
                    self.entries(&file.children, &inside, children);
                }
            }
        }
    }
}

impl Compiler<'_> {
    fn note(
        &mut self,
        code: &'static str,
        span: &Range<usize>,
        message: String,
        hint: Option<&str>,
    ) {
        let problem = Problem::new(code, message).at(Place::new(self.source, span.clone()));
        self.problems.push(match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }

    fn gvk(&mut self, api_version: &Spanned<String>, kind: &Spanned<String>) -> Option<Gvk> {
        let gvk = Gvk::parse(&api_version.value, &kind.value);
        if gvk.is_none() {
            let message = format!("`{}` with kind `{}` is no kind", api_version.value, kind.value);
            let hint = "apiVersion is `group/version`, or the version alone in the core group";
            self.note("illegal-kind", &api_version.span, message, Some(hint));
        }
        gvk
    }

    /// Ids are how everything else refers to a child or an input.
    fn check_ids(&mut self, file: &RuleFile) {
        let children = file.spec.children.iter().flat_map(EntryFile::children);
        let children = children.map(|child| (&child.id, "child"));
        let inputs = file.spec.inputs.iter().map(|input| (&input.id, "input"));
        let mut seen: BTreeMap<&str, (&str, &Range<usize>)> = BTreeMap::new();
        for (id, what) in inputs.chain(children) {
            if !is_id(&id.value) {
                let hint = "use a lower-case letter, then letters, digits and `_`";
                self.note("illegal-id", &id.span, format!("`{}` is no id", id.value), Some(hint));
            } else if RESERVED.contains(&id.value.as_str()) {
                let message =
                    format!("`{}` means something else in comparisons and templates", id.value);
                self.note("reserved-id", &id.span, message, Some("choose another id"));
            }
            if let Some((other, first)) = seen.insert(&id.value, (what, &id.span)) {
                let message = match (what, other) {
                    ("child", "child") => format!("there are two children `{}`", id.value),
                    ("input", "input") => format!("there are two inputs `{}`", id.value),
                    _ => format!("there is an input `{}` already", id.value),
                };
                let hint = self.other_one(first);
                self.note("duplicate-id", &id.span, message, Some(&hint));
            }
        }
    }

    /// Where the first of two is.
    fn other_one(&self, span: &Range<usize>) -> String {
        format!("the other one is in line {}", self.source.position(span.start).line)
    }

    fn body(&mut self, body: &BodyFile, mode: Mode) -> Option<BodyTemplate> {
        let compiled = self.templates.compile_body(&body.text, body.origin.clone(), mode);
        let compiled = compiled.map_err(|problems| self.problems.extend(problems)).ok()?;
        self.uses(compiled.reads());
        Some(compiled)
    }

    fn line(&mut self, body: &BodyFile) -> Option<LineTemplate> {
        let compiled = self.templates.compile_line(&body.text, body.origin.clone());
        let compiled = compiled.map_err(|problems| self.problems.extend(problems)).ok()?;
        self.uses(compiled.reads());
        Some(compiled)
    }

    /// Remembers which inputs a template reads; one that walks over `inputs` reads all.
    fn uses(&mut self, reads: &[Read]) {
        for read in reads.iter().filter(|read| read.path.first().is_some_and(|r| r == "inputs")) {
            match read.path.get(1) {
                Some(id) => drop(self.used.insert(id.clone())),
                None => self.used.extend(self.inputs.iter().map(|id| (*id).to_owned())),
            }
        }
    }

    /// Whoever may make the inputs could make us read them: those that nothing needs are not watched.
    fn check_unused(&mut self, file: &RuleFile) {
        for input in &file.spec.inputs {
            if !self.used.contains(&input.id.value) {
                let message = format!("nothing reads the input `{}`", input.id.value);
                let hint = "read it as `inputs.ID` in a template or as `of: ID` in a comparison, or remove it";
                self.note("unused-input", &input.id.span, message, Some(hint));
            }
        }
    }

    /// All of a list; each mistake is shown at the part it is about.
    fn comparisons(&mut self, files: &[ComparisonFile], names: &Names) -> Option<Vec<Comparison>> {
        let compiled: Vec<_> = files
            .iter()
            .map(|file| {
                let compiled = Comparison::compile(&file.written, names).map_err(|mistakes| {
                    self.problems.extend(file.problems(mistakes, self.source));
                });
                let compiled = compiled.ok()?;
                self.used.extend(compiled.roots().map(str::to_owned));
                let own = self.own.as_deref();
                self.mentions.extend(mention::of_comparison(
                    &compiled,
                    file,
                    self.source,
                    own,
                    |id| self.singles.contains(id),
                    |id| self.inputs.contains(id),
                ));
                Some(compiled)
            })
            .collect();
        compiled.into_iter().collect()
    }
}

fn is_dns_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= 63
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn is_id(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.len() <= 63
        && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
