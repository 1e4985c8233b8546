//! From a rule as written to a [`Rule`] that cannot be invalid, or every mistake in its meaning.
//!
//! In: a [`RuleFile`], the template files. Out: every path, comparison and template parsed once. Pure.

mod child;
mod definition;
mod group;
mod reads;
mod status;

use super::comparison_file::ComparisonFile;
use super::compiled::{ChildRule, GroupRule, ParentRule, Rule, StatusRule};
use super::decode::Spanned;
use super::file::{API_VERSION, BodyFile, ChildFile, EntryFile, RuleFile};
use super::mention::{self, Mention};
use super::order;
use super::read::Templates as Files;
use crate::comparison::{Comparison, Names, RootKind};
use crate::marks::hash64;
use crate::object::Gvk;
use crate::problem::Problem;
use crate::shorthand::Definition;
use crate::source::{Place, Source};
use crate::template::{BodyTemplate, Builder, Mode, Templates};
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
        singles: file.spec.children.iter().filter_map(single).collect(),
        groups: Vec::new(),
        own: None,
        mentions: Vec::new(),
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
    /// The ids of those outside of groups.
    singles: BTreeSet<&'a str>,
    /// In the order in which they open; nothing for one with a mistake.
    groups: Vec<Option<GroupRule>>,
    /// The child that `self` means now.
    own: Option<String>,
    mentions: Vec<Mention>,
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
    name: Arc<str>,
    parent: ParentRule,
    definition: Option<Definition>,
    let_body: Option<BodyTemplate>,
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
        let text = files
            .iter()
            .fold(source.text.clone(), |text, (name, file)| text + "\0" + name + "\0" + &file.text);
        Rule {
            name: self.name,
            hash: hash64(text.as_bytes()),
            parent: self.parent,
            definition: self.definition,
            let_body: self.let_body,
            children: self.children,
            groups,
            order: self.order,
            status: self.status,
            templates,
            mentions,
        }
    }
}

/// Ids that mean something else in comparisons and templates.
const RESERVED: &[&str] = &["parent", "item", "self", "let", "rule", "conditions"];

impl<'a> Compiler<'a> {
    fn rule(&mut self, file: &'a RuleFile) -> Option<Draft> {
        self.header(file);
        let spec = &file.spec;
        let parent = self.parent(file);
        let definition = spec.schema.as_ref().and_then(|schema| self.definition(file, schema));
        let let_body = spec.let_body.as_ref().and_then(|body| self.body(body, Mode::Strict, &[]));
        self.check_ids(file);
        let top = self.top();
        let mut children = Vec::new();
        self.entries(&spec.children, &top, &mut children);
        let status = spec
            .status
            .as_ref()
            .and_then(|status| self.status(status, &top, &spec.parent.kind.span));
        let children: Vec<ChildRule> = children.into_iter().collect::<Option<_>>()?;
        let order = match order::order(&children) {
            Ok(order) => order,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        Some(Draft {
            name: file.metadata.name.value.as_str().into(),
            parent: parent?,
            definition,
            let_body,
            children,
            order,
            status,
        })
    }

    /// Outside of every group.
    fn top(&self) -> Surroundings {
        let names = Names::new("parent", RootKind::Parent).with("let", RootKind::Let);
        let with_id = |names: Names, id: &&str| names.with(id, RootKind::Child);
        Surroundings {
            names: self.ids.iter().fold(names, with_id),
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

    fn header(&mut self, file: &RuleFile) {
        if file.api_version.value != API_VERSION {
            let message =
                format!("this program reads `{API_VERSION}`, not `{}`", file.api_version.value);
            let hint = format!("write `apiVersion: {API_VERSION}`");
            self.note("wrong-version", &file.api_version.span, message, Some(&hint));
        }
        if file.kind.value != "Rule" {
            let message = format!("expected `Rule`, found `{}`", file.kind.value);
            self.note("wrong-kind", &file.kind.span, message, None);
        }
        let name = &file.metadata.name;
        if !is_dns_label(&name.value) {
            let message = format!("`{}` is no name for a rule", name.value);
            let hint = "use at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends";
            self.note("illegal-name", &name.span, message, Some(hint));
        }
    }

    fn parent(&mut self, file: &RuleFile) -> Option<ParentRule> {
        let parent = &file.spec.parent;
        let gvk = self.gvk(&parent.api_version, &parent.kind);
        let namespaces =
            parent.namespaces.iter().map(|namespace| namespace.value.clone()).collect();
        let names = Names::new("parent", RootKind::Parent);
        let when = self.comparisons(&parent.when, &names);
        Some(ParentRule { gvk: gvk?, namespaces, when: when? })
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

    /// Ids are how everything else refers to a child.
    fn check_ids(&mut self, file: &RuleFile) {
        let mut seen: BTreeMap<&String, &Range<usize>> = BTreeMap::new();
        for child in file.spec.children.iter().flat_map(EntryFile::children) {
            let id = &child.id;
            if !is_id(&id.value) {
                let hint = "use a lower-case letter, then letters, digits and `_`";
                self.note("illegal-id", &id.span, format!("`{}` is no id", id.value), Some(hint));
            } else if RESERVED.contains(&id.value.as_str()) {
                let message =
                    format!("`{}` means something else in comparisons and templates", id.value);
                self.note("reserved-id", &id.span, message, Some("choose another id"));
            }
            if let Some(first) = seen.insert(&id.value, &id.span) {
                let message = format!("there are two children `{}`", id.value);
                let hint = self.other_one(first);
                self.note("duplicate-id", &id.span, message, Some(&hint));
            }
        }
    }

    /// Where the first of two is.
    fn other_one(&self, span: &Range<usize>) -> String {
        format!("the other one is in line {}", self.source.position(span.start).line)
    }

    fn body(&mut self, body: &BodyFile, mode: Mode, items: &[String]) -> Option<BodyTemplate> {
        let compiled = self.templates.compile_body(&body.text, body.origin.clone(), mode);
        let compiled = compiled.map_err(|problems| self.problems.extend(problems)).ok()?;
        self.check_reads(compiled.reads(), items, None);
        Some(compiled)
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
                let own = self.own.as_deref();
                self.mentions.extend(mention::of_comparison(
                    &compiled,
                    file,
                    self.source,
                    own,
                    |id| self.singles.contains(id),
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
