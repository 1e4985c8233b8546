//! An explanation as one JSON document (docs/PLAN.md).
//!
//! In: what there is to say, without secrets. Out: text. Pure.

use super::Told;
use crate::cli::plan::{
    ChildDocument, LackDocument, ObjectDocument, PlaceDocument, ProblemDocument,
};
use crate::plan::{Explanation, Standing};
use crate::rule::API_VERSION;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'t> {
    api_version: &'t str,
    kind: &'t str,
    explanations: Vec<Entry<'t>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    elsewhere: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacks: Vec<LackDocument<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'t> {
    rule: &'t str,
    parent: ObjectDocument<'t>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unselected: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_alone: Option<&'t str>,
    paused: bool,
    terminating: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'t str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'t str,
    children: Vec<Child<'t>>,
    inputs: Vec<Input<'t>>,
    finalizers: Vec<Value>,
    conditions: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemDocument<'t>>,
}

#[derive(Serialize)]
struct Child<'t> {
    #[serde(flatten)]
    plan: ChildDocument<'t>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'t str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<PlaceDocument<'t>>,
}

#[derive(Serialize)]
struct Input<'t> {
    #[serde(rename = "input")]
    id: &'t str,
    found: &'t str,
    missing: bool,
    rule: PlaceDocument<'t>,
}

/// Prints it.
pub(super) fn json(told: &Told) -> String {
    let elsewhere = told.elsewhere.iter();
    let document = Document {
        api_version: API_VERSION,
        kind: "Explanation",
        explanations: told.explanations.iter().map(entry).collect(),
        elsewhere: elsewhere
            .map(|(rule, names)| json!({"rule": rule, "namespaces": names}))
            .collect(),
        lacks: told.lacks.iter().map(LackDocument::of).collect(),
    };
    // Texts and numbers under text keys: nothing that could fail.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn entry(one: &Explanation) -> Entry<'_> {
    let report = one.plan.report.as_ref();
    Entry {
        rule: &one.plan.rule,
        parent: ObjectDocument::of(Some(&one.plan.gvk), &one.plan.parent),
        unselected: one.unselected.as_deref(),
        left_alone: one.plan.left_alone.as_deref(),
        paused: one.paused,
        terminating: one.terminating,
        state: report.map(|report| report.state.word()),
        message: report.map_or("", |report| &report.message),
        children: one.children.iter().map(child).collect(),
        inputs: one
            .inputs
            .iter()
            .map(|reading| Input {
                id: &reading.input,
                found: &reading.found,
                missing: reading.missing,
                rule: PlaceDocument::of(&reading.place),
            })
            .collect(),
        finalizers: one
            .finalizers
            .iter()
            .map(|(name, ours)| json!({"name": name, "ours": ours}))
            .collect(),
        conditions: one
            .conditions
            .iter()
            .map(|[kind, status, reason, message]| {
                json!({"type": kind, "status": status, "reason": reason, "message": message})
            })
            .collect(),
        problems: one.plan.problems.iter().map(ProblemDocument::of).collect(),
    }
}

fn child(standing: &Standing) -> Child<'_> {
    Child {
        plan: ChildDocument::of(&standing.plan),
        state: standing.state.map(crate::report::State::word),
        message: &standing.message,
        template: standing.template.as_ref().map(PlaceDocument::of),
    }
}
