//! What flows where in a whole rule: through `let`, the items of groups, templates and status.
//!
//! In: a compiled rule. Out: a [`Study`] of each of its templates, and what a name in one of them stands for in the end: the
//! parent, a child, an input. Pure.
//!
//! A name of `let` stands for everything that its value is made of; one that is computed, or merged in, may be any name.

use crate::object::Gvk;
use crate::path::{Leg, Path};
use crate::rule::{Because, ChildRule, InputRule, Rule};
use crate::template::{ANY, LineTemplate, Sink, Source, Sources, Study};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What each name of `let` is made of.
type Lets = BTreeMap<String, Vec<Source>>;

/// What flows where in a rule.
pub(crate) struct Flows<'r> {
    /// The rule.
    pub(crate) rule: &'r Rule,
    /// Its `let`.
    pub(crate) top: Study,
    /// The `let` of each group.
    pub(crate) groups: Vec<Study>,
    /// The names and selectors of inputs.
    pub(crate) inputs: Vec<Study>,
    /// The template of each child.
    pub(crate) children: Vec<Study>,
    /// `status.fields`.
    pub(crate) fields: Study,
    /// The messages of its conditions.
    pub(crate) messages: Vec<Study>,
    lets: Lets,
    /// What `let` is inside of each group.
    group_lets: Vec<Lets>,
}

impl<'r> Flows<'r> {
    /// Looks at every template of a rule.
    pub(crate) fn of(rule: &'r Rule) -> Self {
        let templates = &rule.templates;
        let body = |body: &Option<_>| {
            body.as_ref().map(|body| templates.study_body(body)).unwrap_or_default()
        };
        let status = rule.status.as_ref();
        let mut flows = Self {
            rule,
            top: body(&rule.let_body),
            groups: rule.groups.iter().map(|group| body(&group.let_body)).collect(),
            inputs: rule
                .inputs
                .iter()
                .flat_map(InputRule::lines)
                .map(|line| templates.study_line(line))
                .collect(),
            children: rule.children.iter().map(|child| templates.study(&child.template)).collect(),
            fields: status.map(|status| body(&status.fields)).unwrap_or_default(),
            messages: messages(rule).map(|message| templates.study_line(message)).collect(),
            lets: Lets::new(),
            group_lets: Vec::new(),
        };
        flows.lets = flows.values(&flows.top, None, Lets::new());
        for (at, group) in rule.groups.iter().enumerate() {
            // Outer groups come before those that are in them.
            let outer = flows.lets_at(group.outer).clone();
            flows.group_lets.push(outer.clone());
            flows.group_lets[at] = flows.values(&flows.groups[at], Some(at), outer);
        }
        flows
    }

    /// The children and their studies.
    pub(crate) fn templates(&self) -> impl Iterator<Item = (&'r ChildRule, &Study)> {
        self.rule.children.iter().zip(&self.children)
    }

    /// Adds the names of a body to those around it.
    fn values(&self, study: &Study, group: Option<usize>, mut lets: Lets) -> Lets {
        let mut own = Lets::new();
        for sink in &study.sinks {
            let is_all = sink.spot.path.len() <= 1 && !sink.spot.is_key;
            let name = sink.spot.path.first().map_or(ANY, String::as_str);
            let sources = self.resolved(&sink.sources, group).into_iter();
            let sources = sources.map(|source| Source { whole: source.whole && is_all, ..source });
            own.entry(name.to_owned()).or_default().extend(sources);
        }
        let literal = study.literals.iter().filter_map(|literal| literal.spot.path.first());
        for name in literal {
            own.entry(name.clone()).or_default();
        }
        let any = own.remove(ANY);
        lets.extend(own);
        if let Some(any) = any {
            lets.entry(ANY.to_owned()).or_default().extend(any);
        }
        lets
    }

    fn lets_at(&self, group: Option<usize>) -> &Lets {
        group.and_then(|group| self.group_lets.get(group)).unwrap_or(&self.lets)
    }

    /// What a value is made of in the end, where `let` and the items of a group are seen through.
    pub(crate) fn resolved(&self, sources: &Sources, group: Option<usize>) -> Vec<Source> {
        sources.iter().flat_map(|source| self.resolve(source, group)).collect()
    }

    /// The same for one of the things it is made of.
    pub(crate) fn resolve(&self, source: &Source, group: Option<usize>) -> Vec<Source> {
        let Some((root, rest)) = source.path.split_first() else { return Vec::new() };
        if root == "let" {
            return self.of_let(source, rest, group);
        }
        let nesting = self.rule.nesting(group);
        let Some(at) = nesting.into_iter().rev().find(|at| *self.rule.groups[*at].item == **root)
        else {
            return vec![source.clone()];
        };
        let items = &self.rule.groups[at];
        let mut path = match items.source.of() {
            child if self.rule.child(child).is_some() => {
                vec!["children".to_owned(), child.to_owned()]
            }
            input if self.rule.input(input).is_some() => {
                vec!["inputs".to_owned(), input.to_owned()]
            }
            other => vec![other.to_owned()],
        };
        path.extend(steps(items.source.path()));
        path.push(ANY.to_owned());
        path.extend(rest.iter().cloned());
        self.resolve(&Source { path, ..source.clone() }, items.outer)
    }

    fn of_let(&self, source: &Source, rest: &[String], group: Option<usize>) -> Vec<Source> {
        let lets = self.lets_at(group);
        let named: Vec<&Source> = match rest.first().filter(|name| *name != ANY) {
            None => lets.values().flatten().collect(),
            Some(name) => lets.get(name).into_iter().chain(lets.get(ANY)).flatten().collect(),
        };
        let beyond = |inner: &Source| {
            let mut path = inner.path.clone();
            if inner.whole && !inner.hashed {
                path.extend(rest.iter().skip(1).cloned());
            }
            Source {
                path,
                hashed: inner.hashed || source.hashed,
                whole: inner.whole && source.whole && !rest.is_empty(),
            }
        };
        named.into_iter().map(beyond).collect()
    }
}

/// The messages of conditions.
pub(crate) fn messages(rule: &Rule) -> impl Iterator<Item = &LineTemplate> {
    let conditions = rule.status.iter().flat_map(|status| &status.conditions);
    let because = conditions.flat_map(|condition| {
        [&condition.then, &condition.otherwise].into_iter().chain(&condition.unknown)
    });
    because.filter_map(|Because { message, .. }| message.as_ref())
}

/// A path as the steps that a template would take; what is not one step is [`ANY`].
pub(crate) fn steps(path: &Path) -> Vec<String> {
    let step = |leg: Leg| match leg {
        Leg::Key(name) => Some(name),
        Leg::Position | Leg::Each | Leg::Some(_) => Some(ANY.to_owned()),
        Leg::Anywhere => None,
    };
    path.legs().into_iter().map_while(step).collect()
}

/// The kinds that a document of a child's template may be of.
pub(crate) fn kinds_of(child: &ChildRule, study: &Study, document: usize) -> Vec<Gvk> {
    let stated = study
        .literal(document, "apiVersion")
        .zip(study.literal(document, "kind"))
        .and_then(|(api_version, kind)| Gvk::parse(api_version, kind));
    stated.map_or_else(|| child.kinds.clone(), |gvk| vec![gvk])
}

/// A way to a value as a template would write it: `children.creds.data["tls.key"]`.
pub(crate) fn shown(path: &[String]) -> String {
    let mut text = String::new();
    for (at, step) in path.iter().enumerate() {
        let plain = step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !step.starts_with(|c: char| c.is_ascii_digit());
        let dot = if at == 0 { "" } else { "." };
        // Writing to a string cannot fail.
        let _ = match step.as_str() {
            ANY => write!(text, "[*]"),
            step if plain => write!(text, "{dot}{step}"),
            step => write!(text, "[{step:?}]"),
        };
    }
    text
}

/// What a value in a template is made of, in words: what it is in the end, and through which name of the template.
pub(crate) fn said(source: &Source, written: &Source) -> String {
    if source.path == written.path {
        return format!("`{}`", shown(&source.path));
    }
    let named = written.path.get(..2).unwrap_or(&written.path);
    format!("`{}` (through `{}`)", shown(&source.path), shown(named))
}

/// Where a value lands, in words.
pub(crate) fn landing(sink: &Sink) -> String {
    if sink.spot.path.is_empty() {
        "the object".to_owned()
    } else {
        format!("`{}`", shown(&sink.spot.path))
    }
}
