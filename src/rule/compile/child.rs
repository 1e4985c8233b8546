//! Compiles one child of a rule.

use super::group::child_read;
use super::{Compiler, Surroundings};
use crate::comparison::{Comparison, Names, RootKind};
use crate::object::Gvk;
use crate::owned::SecretPlaces;
use crate::rule::compiled::{ChildRule, Generate, IgnoreRule, Need, Policies};
use crate::rule::decode::nearest;
use crate::rule::file::{Adopt, ChildFile, IgnoreFile, NeedFile, OnImmutable, Update, WhenGone};
use crate::rule::mention::{Mention, Subject, Use};
use crate::rule::policy_file::Characters;
use crate::rule::{ignore, kinds};
use crate::source::Place;
use crate::template::{DocumentsTemplate, nearest_file};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A template of a child and what its text says of kinds.
struct Source {
    template: DocumentsTemplate,
    stated: kinds::Stated,
}

impl Compiler<'_> {
    pub(super) fn child(&mut self, file: &ChildFile, around: &Surroundings) -> Option<ChildRule> {
        let source = self.source_of(file);
        let patch = file.patch.as_ref().map(|patch| self.patch(file, patch));
        let kinds = match (&patch, &source) {
            // It renders a part of an object whose kind is known.
            (Some(_), _) => Some(Vec::new()),
            (None, source) => source.as_ref().and_then(|source| self.kinds(file, &source.stated)),
        };
        let when = self.comparisons(&file.when, &around.names);
        let needs = self.needs(file);
        let own = around.names.clone().with_default("self", RootKind::Itself);
        self.own = Some(file.id.value.clone());
        let ready = file.ready.as_ref().and_then(|ready| self.comparisons(ready, &own));
        let ignore: Vec<_> = file
            .ignore
            .iter()
            .map(|ignore| self.ignore(&file.id.value, ignore, &around.names))
            .collect();
        let only: Vec<_> =
            file.only.iter().map(|only| self.ignore(&file.id.value, only, &around.names)).collect();
        let generate = self.generate(file, source.as_ref(), kinds.as_deref());
        let source = source?;
        self.uses(source.template.reads());
        let (needs, when) = (needs?, when?);
        let mut after = self.after(&source.template, &needs, &when);
        after.extend(around.after.iter().filter(|id| ***id != *file.id.value).cloned());
        Some(ChildRule {
            id: file.id.value.as_str().into(),
            group: around.group,
            place: Place::new(self.source, file.id.span.clone()),
            several: source.stated.several,
            template: source.template,
            kinds: kinds?,
            may_be_empty: file.may_be_empty.unwrap_or(false),
            when,
            needs,
            after,
            ready,
            ignore: ignore.into_iter().collect::<Option<_>>()?,
            only: only.into_iter().collect::<Option<_>>()?,
            patch: match patch {
                Some(patch) => Some(patch?),
                None => None,
            },
            generate: generate?,
            revealed: SecretPlaces::default(),
            policies: policies(file),
        })
    }

    /// Exactly one of a file and an inline text.
    fn source_of(&mut self, file: &ChildFile) -> Option<Source> {
        match (&file.template, &file.inline) {
            (Some(name), None) => {
                let Some(source) = self.files.get(&name.value).cloned() else {
                    self.no_template(&name.value, &name.span);
                    return None;
                };
                let compiled = self.templates.compile_file(&name.value);
                let template = compiled.map_err(|problems| self.problems.extend(problems)).ok()?;
                Some(Source { template, stated: kinds::stated(&source.text) })
            }
            (None, Some(body)) => {
                let stated = kinds::stated(&body.text);
                let compiled = self.templates.compile_documents(&body.text, body.origin.clone());
                let template = compiled.map_err(|problems| self.problems.extend(problems)).ok()?;
                Some(Source { template, stated })
            }
            (Some(_), Some(body)) => {
                let message = format!("`{}` has both `template` and `inline`", file.id.value);
                self.note("two-templates", &body.span, message, Some("keep one"));
                None
            }
            (None, None) => {
                let message = format!("`{}` has no template", file.id.value);
                let hint = "name a file with `template`, or write it below `inline: |`";
                self.note("no-template", &file.id.span, message, Some(hint));
                None
            }
        }
    }

    fn no_template(&mut self, name: &str, span: &std::ops::Range<usize>) {
        let known: Vec<&str> = self.files.keys().map(String::as_str).collect();
        let hint = match nearest_file(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => {
                "the template folder is empty or not there; --templates names it".into()
            }
            None => format!("there are: {}", known.join(", ")),
        };
        let message = format!("there is no template `{name}`");
        self.note("template-not-found", span, message, Some(&hint));
    }

    /// Watches, rights and pruning need the kinds before anything is rendered.
    fn kinds(&mut self, file: &ChildFile, stated: &kinds::Stated) -> Option<Vec<Gvk>> {
        let declared: Vec<_> =
            file.kinds.iter().map(|kind| self.gvk(&kind.api_version, &kind.kind)).collect();
        let declared: Vec<Gvk> = declared.into_iter().collect::<Option<_>>()?;
        if stated.computed && declared.is_empty() {
            let id = &file.id.value;
            let message = match stated.lacks {
                Some(key) => format!("the template of `{id}` has no line that starts with `{key}`"),
                None => format!("the template of `{id}` computes what kind it renders"),
            };
            let hint = "write `apiVersion: …` and `kind: …` as lines at the top of each document, or list what it may render: `kinds: [{apiVersion: …, kind: …}]`";
            self.note("computed-kind", &file.id.span, message, Some(hint));
            return None;
        }
        let mut kinds = stated.kinds.clone();
        kinds.extend(declared.into_iter().filter(|kind| !stated.kinds.contains(kind)));
        Some(kinds)
    }

    fn needs(&mut self, file: &ChildFile) -> Option<Vec<Need>> {
        let needs: Vec<_> = file.needs.iter().map(|need| self.need(file, need)).collect();
        needs.into_iter().collect()
    }

    /// The child or input that was probably meant, else all.
    fn hint_for_child(&self, id: &str) -> String {
        let known: Vec<&str> = self.ids.iter().chain(&self.inputs).copied().collect();
        match nearest(id, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        }
    }

    fn need(&mut self, file: &ChildFile, need: &NeedFile) -> Option<Need> {
        let id = need.id.value.as_str();
        if id == file.id.value {
            let message = format!("`{id}` needs itself");
            self.note("needs-itself", &need.id.span, message, Some("leave it out"));
            return None;
        }
        if !self.ids.contains(id) && !self.inputs.contains(id) {
            let hint = self.hint_for_child(id);
            let message = format!("there is no child or input `{id}`");
            self.note("unknown-child", &need.id.span, message, Some(&hint));
            return None;
        }
        self.used.insert(id.to_owned());
        Some(Need { id: id.into(), until: need.until })
    }

    /// Children that are needed, read by the template, or asked about in `when`.
    fn after(
        &self,
        template: &DocumentsTemplate,
        needs: &[Need],
        when: &[Comparison],
    ) -> BTreeSet<Arc<str>> {
        let needed = needs.iter().map(|need| &*need.id);
        let asked = when.iter().flat_map(Comparison::roots);
        let read = template.reads().iter().filter_map(child_read);
        let all = needed.chain(asked).chain(read);
        all.filter(|id| self.ids.contains(id)).map(Arc::from).collect()
    }

    fn ignore(&mut self, id: &str, file: &IgnoreFile, names: &Names) -> Option<IgnoreRule> {
        let when = self.comparisons(&file.when, names);
        let path = self.path(&file.path.value, &file.path.span)?;
        let Some(spots) = ignore::spots(&path) else {
            let message = format!("`{}` names no fixed place", file.path.value);
            let hint = "names, positions, `[*]` and `[?@.name == 'x']` do";
            self.note("searching-path", &file.path.span, message, Some(hint));
            return None;
        };
        self.mentions.push(Mention {
            of: Subject::Child(id.into()),
            path,
            how: Use::Ignored,
            place: Place::new(self.source, file.path.span.clone()),
        });
        Some(IgnoreRule { spots, when: when? })
    }
}

impl Compiler<'_> {
    /// Generated values are kept in the Secret itself, and nowhere else.
    fn generate(
        &mut self,
        file: &ChildFile,
        source: Option<&Source>,
        kinds: Option<&[Gvk]>,
    ) -> Option<BTreeMap<String, Generate>> {
        if let Some(when) = file.when_gone.as_ref().filter(|_| file.generate.is_empty()) {
            let message = format!("`{}` generates nothing", file.id.value);
            self.note("nothing-generated", &when.span, message, Some("remove `whenGone`"));
        }
        let is_secret = |gvk: &Gvk| gvk.group.is_empty() && gvk.kind == "Secret";
        let mut all = BTreeMap::new();
        for (name, generate) in &file.generate {
            let wrong_kind = kinds.is_some_and(|kinds| !kinds.iter().all(is_secret));
            if wrong_kind || source.is_some_and(|source| source.stated.several) {
                let message = format!("`{}` is not one Secret", file.id.value);
                let hint =
                    "generated values are kept in the data of the Secret that they are made for";
                self.note("no-secret", &generate.span, message, Some(hint));
                return None;
            }
            if !super::is_id(name) {
                let message = format!("`{name}` is no name for a generated value");
                let hint = "use a lower-case letter, then letters, digits and `_`";
                self.note("illegal-id", &generate.span, message, Some(hint));
                return None;
            }
            let length = generate.value.length.as_ref();
            let (value, span) = length.map_or((32, &generate.span), |l| (l.value, &l.span));
            if !(8..=1024).contains(&value) {
                let message = format!("a generated value has 8 to 1024 characters, not {value}");
                self.note("illegal-length", span, message, None);
                return None;
            }
            let length = usize::try_from(value).unwrap_or(1024);
            let characters = generate.value.characters.unwrap_or(Characters::Alphanumeric);
            all.insert(name.clone(), Generate { length, characters });
        }
        Some(all)
    }
}

fn policies(file: &ChildFile) -> Policies {
    let on_remove = file.on_remove.unwrap_or_default();
    Policies {
        update: file.update.unwrap_or(Update::Apply),
        on_immutable: file.on_immutable.unwrap_or(OnImmutable::Fail),
        adopt: file.adopt.unwrap_or(Adopt::Never),
        unwanted: on_remove.unwanted,
        parent_deleted: on_remove.parent_deleted,
        when_gone: file.when_gone.as_ref().map_or(WhenGone::Hold, |when| when.value),
    }
}
