//! A plan as one JSON document (docs/PLAN.md).
//!
//! In: a plan without secrets. Out: text that is the same for the same plan, hashes of hidden values aside. Pure.

use super::Whole;
use crate::object::{Gvk, ObjectId};
use crate::plan::{Change, ChildPlan, ParentPlan, Verdict};
use crate::problem::Problem;
use crate::rule::API_VERSION;
use crate::snapshot::Lack;
use crate::source::Place;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'p> {
    api_version: &'p str,
    kind: &'p str,
    summary: Summary<'p>,
    parents: Vec<ParentDocument<'p>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacks: Vec<LackDocument<'p>>,
}

#[derive(Serialize)]
struct Summary<'p> {
    parents: usize,
    changed: usize,
    verdicts: BTreeMap<&'p str, usize>,
    statuses: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParentDocument<'p> {
    rule: &'p str,
    parent: ObjectDocument<'p>,
    changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_alone: Option<&'p str>,
    #[serde(skip_serializing_if = "is_not")]
    finalizer: bool,
    children: Vec<ChildDocument<'p>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusDocument<'p>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemDocument<'p>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_not(flag: &bool) -> bool {
    !flag
}

#[derive(Serialize)]
struct StatusDocument<'p> {
    operations: Vec<OperationDocument<'p>>,
}

/// An object by its name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct ObjectDocument<'p> {
    api_version: String,
    kind: &'p str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'p str,
    name: &'p str,
}

impl<'p> ObjectDocument<'p> {
    pub(in crate::cli) fn of(gvk: Option<&Gvk>, id: &'p ObjectId) -> Self {
        Self {
            api_version: gvk.map_or_else(|| id.kind.group.clone(), Gvk::api_version),
            kind: &id.kind.kind,
            namespace: &id.namespace,
            name: &id.name,
        }
    }
}

/// What becomes of a child.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct ChildDocument<'p> {
    child: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectDocument<'p>>,
    verdict: &'p str,
    #[serde(skip_serializing_if = "str::is_empty")]
    why: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<PlaceDocument<'p>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operations: Vec<OperationDocument<'p>>,
}

impl<'p> ChildDocument<'p> {
    pub(in crate::cli) fn of(child: &'p ChildPlan) -> Self {
        let mut operations = child.change.as_ref().map(operations).unwrap_or_default();
        if matches!(child.verdict, Verdict::Delete) {
            operations.push(OperationDocument::removal());
        }
        Self {
            child: &child.child,
            object: child.object.as_ref().map(|id| ObjectDocument::of(child.gvk.as_ref(), id)),
            verdict: child.verdict.word(),
            why: &child.why,
            waits: child.waits.as_deref(),
            rule: child.wanted_at.as_ref().map(PlaceDocument::of),
            operations,
        }
    }
}

/// One operation of RFC 6902, and beside it what is there and where it comes from.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationDocument<'p> {
    op: &'p str,
    path: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'p Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<&'p Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    held_by: &'p [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<PlaceDocument<'p>>,
}

impl OperationDocument<'_> {
    fn removal() -> Self {
        Self { op: "remove", path: "", value: None, was: None, held_by: &[], template: None }
    }
}

fn operations(change: &Change) -> Vec<OperationDocument<'_>> {
    let all = change.changes.operations.iter().zip(&change.origins);
    all.map(|(one, origin)| OperationDocument {
        op: one.word(),
        path: &one.pointer,
        value: one.is.as_ref(),
        was: one.was.as_ref(),
        held_by: &one.held_by,
        template: origin.as_ref().map(PlaceDocument::of),
    })
    .collect()
}

/// A place in a file, from 1; columns in characters.
#[derive(Serialize)]
pub(in crate::cli) struct PlaceDocument<'p> {
    file: &'p str,
    line: usize,
    column: usize,
}

impl<'p> PlaceDocument<'p> {
    pub(in crate::cli) fn of(place: &'p Place) -> Self {
        let position = place.position();
        Self { file: &place.source.name, line: position.line, column: position.column }
    }
}

/// A mistake.
#[derive(Serialize)]
pub(in crate::cli) struct ProblemDocument<'p> {
    code: &'p str,
    message: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceDocument<'p>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'p str>,
}

impl<'p> ProblemDocument<'p> {
    pub(in crate::cli) fn of(problem: &'p Problem) -> Self {
        let place = problem.place.as_ref().map(PlaceDocument::of);
        Self { code: problem.code, message: &problem.message, place, hint: problem.hint.as_deref() }
    }
}

/// What could not be read.
#[derive(Serialize)]
pub(in crate::cli) struct LackDocument<'p> {
    what: &'p str,
    remedy: &'p str,
}

impl<'p> LackDocument<'p> {
    pub(in crate::cli) fn of(lack: &'p Lack) -> Self {
        Self { what: &lack.what, remedy: &lack.remedy }
    }
}

/// Prints it.
pub(super) fn json(whole: &Whole) -> String {
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    for child in whole.parents.iter().flat_map(|plan| &plan.children) {
        *verdicts.entry(child.verdict.word()).or_default() += 1;
    }
    let changed = whole.parents.iter().filter(|plan| plan.changes()).count();
    let statuses = whole.parents.iter().filter(|plan| plan.status.is_some()).count();
    let document = Document {
        api_version: API_VERSION,
        kind: "Plan",
        summary: Summary { parents: whole.parents.len(), changed, verdicts, statuses },
        parents: whole.parents.iter().map(parent).collect(),
        lacks: whole.lacks.iter().map(LackDocument::of).collect(),
    };
    // Texts and numbers under text keys: nothing that could fail.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn parent(plan: &ParentPlan) -> ParentDocument<'_> {
    ParentDocument {
        rule: &plan.rule,
        parent: ObjectDocument::of(Some(&plan.gvk), &plan.parent),
        changed: plan.changes(),
        left_alone: plan.left_alone.as_deref(),
        finalizer: plan.finalizer,
        children: plan.children.iter().map(ChildDocument::of).collect(),
        status: plan
            .status
            .as_ref()
            .map(|change| StatusDocument { operations: operations(change) }),
        problems: plan.problems.iter().map(ProblemDocument::of).collect(),
    }
}
