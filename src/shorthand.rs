//! The short schema of a rule's parent (`spec.schema`), and the CRD that it stands for.
//!
//! In: the schema as YAML, the parent's kind, what the rule writes to the status. Out: a [`Definition`], which cannot be
//! invalid, or every mistake. Never here: a cluster; files; CRDs that somebody wrote by hand.
//!
//! The parts, in the order in which they work: [`scan`] cuts a line, [`line`] and [`attribute`] read it, [`written`] reads
//! the maps around it; [`resolve`] finds out what it means, [`value`] checks defaults, [`infer`] reads the status off the
//! rule; [`openapi`] and [`definition`] write it down, [`tree`] prints it.

mod attribute;
mod definition;
mod infer;
mod line;
mod mistakes;
mod names;
mod openapi;
mod resolve;
mod scan;
mod schema;
mod span;
mod status;
mod tree;
mod value;
mod written;

use crate::object::Gvk;
use crate::problem::Problem;
use crate::rule::Rule;
use crate::source::{Place, Source};
use crate::yaml::Node;
use definition::Parts;
use mistakes::Mistakes;
use resolve::Resolver;
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;
use tree::Tree;

/// What is beyond a short schema has a way out.
const BY_HAND: &str = "for more than this, write the CRD by hand and leave `schema` out";

/// A short schema and what it depends on.
pub struct Request<'a> {
    /// The file of the rule.
    pub source: &'a Arc<Source>,
    /// What stands under `spec.schema`.
    pub schema: &'a Node,
    /// The rule's parent.
    pub parent: &'a Gvk,
    /// Where the parent's apiVersion stands.
    pub parent_span: &'a Range<usize>,
    /// The body of `let`.
    pub let_body: Option<&'a str>,
    /// The body of the status fields, empty if there are none; nothing if the rule writes no status.
    pub status_body: Option<&'a str>,
}

/// The CRD of a rule's parent. It cannot be invalid.
#[derive(Clone, Debug)]
pub struct Definition {
    document: Tree,
    place: Place,
}

impl Definition {
    /// Compiles a short schema; finds every mistake in it.
    pub fn compile(request: &Request<'_>) -> Result<Self, Vec<Problem>> {
        let mut mistakes = Mistakes::new(request.source);
        mistakes.sound(names::kind(request.parent, request.parent_span));
        let parts = parts(request, &mut mistakes);
        match parts {
            Some(parts) if mistakes.problems.is_empty() => {
                let start = request.schema.span.start;
                let place = Place::new(request.source, start..start + 1);
                Ok(Self { document: definition::document(&parts), place })
            }
            _ => {
                let mut problems = mistakes.problems;
                problems.sort_by_key(|problem| problem.place.as_ref().map(|at| at.span.start));
                Err(problems)
            }
        }
    }

    /// The CRD as an object.
    pub fn to_json(&self) -> Value {
        self.document.to_json()
    }

    /// The CRD as a YAML document, in the order in which people write one. The same schema gives the same bytes.
    pub fn to_yaml(&self) -> String {
        self.document.to_yaml()
    }

    /// Where the short schema stands.
    pub fn place(&self) -> &Place {
        &self.place
    }
}

/// The CRD of a rule's parent, if the rule describes it.
pub fn crd(rule: &Rule) -> Option<Value> {
    rule.definition.as_ref().map(Definition::to_json)
}

fn fields_hint() -> String {
    "for example `spec: {image: string}`, or one field a line".to_owned()
}

fn parts(request: &Request<'_>, mistakes: &mut Mistakes<'_>) -> Option<Parts> {
    let written = written::schema(request.schema, mistakes)?;
    let plural = written.plural.iter().map(|name| (name, "plural"));
    let short = written.short_names.iter().map(|name| (name, "short name"));
    let categories = written.categories.iter().map(|name| (name, "category"));
    for (name, what) in plural.chain(short).chain(categories) {
        mistakes.sound(names::label(name, what));
    }
    let mut resolver = Resolver::new(&written.types, mistakes);
    resolver.all_types();
    let spec = resolver.root(&written.spec, ".spec");
    let stated = written.status.as_ref().map(|status| resolver.root(status, ".status"));
    let columns = std::mem::take(&mut resolver.columns);
    for root in std::iter::once(&written.spec).chain(&written.status) {
        written::check_root(root, mistakes);
    }
    let spec = spec?;
    let stated = match stated {
        Some(stated) => Some(stated?),
        None => None,
    };
    let status = status::status(request, &spec, stated.as_ref(), written.status.as_ref(), mistakes);
    let texts = |names: &[span::At<String>]| names.iter().map(|name| name.value.clone()).collect();
    Some(Parts {
        kind: request.parent.clone(),
        cluster_scoped: written.cluster_scoped,
        plural: written
            .plural
            .map_or_else(|| names::plural(&request.parent.kind), |name| name.value),
        short_names: texts(&written.short_names),
        categories: texts(&written.categories),
        description: written.description,
        columns,
        spec,
        status,
    })
}

#[cfg(test)]
mod tests;
