//! How one live parent stands, and why.
//!
//! In: a [`Case`], what a read gave of objects that no list shows. Out: an [`Explanation`] without values of Secrets. Pure.

use super::{Case, ChildPlan, ParentPlan, plan};
use crate::comparison::Truth;
use crate::fetch::Observed;
use crate::input::Input;
use crate::marks::annotation;
use crate::path::Location;
use crate::render::{Part, origins, place_name, render};
use crate::report::State;
use crate::snapshot::Found;
use crate::source::Place;
use crate::{marks, reconcile};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How one parent of one rule stands.
pub struct Explanation {
    /// What a pass would do.
    pub plan: ParentPlan,
    /// Why the rule is not for this parent, if so.
    pub unselected: Option<String>,
    /// Its children, with how they stand.
    pub children: Vec<Standing>,
    /// What the rule reads.
    pub inputs: Vec<Reading>,
    /// What holds the parent when it is deleted, and whether that is ours.
    pub finalizers: Vec<(String, bool)>,
    /// Whether somebody told us to leave it alone.
    pub paused: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// What its status says now: type, status, reason and message.
    pub conditions: Vec<[String; 4]>,
}

/// How a child stands.
pub struct Standing {
    /// What a pass would do with it.
    pub plan: ChildPlan,
    /// Whether it is ready, on its way or failed, if a pass would say so.
    pub state: Option<State>,
    /// Why, unless it is ready.
    pub message: String,
    /// Where its template begins.
    pub template: Option<Place>,
}

/// What the rule reads.
pub struct Reading {
    /// The input's id.
    pub input: String,
    /// What was found, or why nothing.
    pub found: String,
    /// Whether it is waited for.
    pub missing: bool,
    /// Where the rule asks for it.
    pub place: Place,
}

/// Explains a parent.
pub fn explain(case: &Case<'_>, found: &Found) -> Explanation {
    let plan = plan(case, found);
    let manager = case.manager();
    let observed = case.observed(&manager);
    let hider = case.hider.knowing(&case.state.rule, &observed);
    let templates = templates(case, &observed);
    let rule = &case.state.rule;
    let reports: BTreeMap<_, _> = plan
        .report
        .iter()
        .flat_map(|report| &report.children)
        .map(|child| ((child.child.clone(), child.object.clone()), child))
        .collect();
    let standing = |child: &ChildPlan| {
        let named = (child.child.clone(), child.object.clone());
        let report = reports.get(&named).or_else(|| reports.get(&(child.child.clone(), None)));
        Standing {
            plan: child.clone(),
            state: report.map(|report| report.state),
            message: report.map(|report| report.message.clone()).unwrap_or_default(),
            template: templates.get(&child.child).cloned(),
        }
    };
    let children = plan.children.iter().map(standing).collect();
    let inputs = rule.inputs.iter().filter_map(|input| {
        let (found, missing) = reading(observed.inputs.get(&input.id)?);
        let (input, place) = (input.id.to_string(), input.place.clone());
        Some(Reading { input, found: hider.text(&found), missing, place })
    });
    let ours = marks::finalizer(&rule.identity);
    let finalizers = case.parent.finalizers().into_iter();
    Explanation {
        unselected: unselected(case, &observed).map(|why| hider.text(&why)),
        children,
        inputs: inputs.collect(),
        finalizers: finalizers.map(|name| (name.clone(), name == ours)).collect(),
        paused: case.parent.annotation(annotation::PAUSED).as_deref() == Some("true"),
        terminating: case.parent.terminating,
        conditions: conditions(&observed, &|text| hider.text(text)),
        plan,
    }
}

/// Why a rule is not for a parent.
fn unselected(case: &Case<'_>, observed: &Observed) -> Option<String> {
    let rule = &case.state.rule;
    if reconcile::is_own_child(case.parent, rule) {
        return Some("it is a child of this rule, and no parent of it".to_owned());
    }
    let labels = case.parent.labels();
    if let Some(selector) = &rule.parent.label_selector
        && !selector.matches(&labels)
    {
        return Some(format!("the rule's `labelSelector` ({selector}) does not select its labels"));
    }
    let namespace = &case.parent.id.namespace;
    match &observed.inputs.selected {
        Some(Ok(false)) => {
            return Some(format!(
                "the rule's `namespaceSelector` does not select the labels of namespace `{namespace}`"
            ));
        }
        Some(Err(why)) => return Some(format!("its namespace cannot be judged: {why}")),
        Some(Ok(true)) | None => {}
    }
    let desired = render(rule, observed, &case.setting(true));
    let verdict = desired.view(rule, observed, case.now).evaluate(&rule.parent.when);
    match verdict.truth {
        Truth::Holds => None,
        Truth::Fails => Some(format!("the rule's `when` fails: {}", verdict.sentence)),
        Truth::Unknown => {
            Some(format!("the rule's `when` cannot be told yet: {}", verdict.sentence))
        }
    }
}

/// Where the template of each child begins.
fn templates(case: &Case<'_>, observed: &Observed) -> BTreeMap<String, Place> {
    let (rule, setting) = (&case.state.rule, case.setting(false));
    let desired = render(rule, observed, &setting);
    let edits = desired.patches.iter().map(|patch| &patch.wanted);
    let asked: Vec<Part> = desired
        .children
        .iter()
        .chain(edits)
        .map(|child| (Arc::clone(&child.child), child.items.clone()))
        .map(|place| Part { place, nth: 0, at: Location::root() })
        .collect();
    let found = origins(rule, observed, &setting, &asked).into_iter();
    found.map(|(part, place)| (place_name(&part.place.0, &part.place.1), place)).collect()
}

fn reading(input: &Input) -> (String, bool) {
    match input {
        Input::Object(live, _) => (live.id.to_string(), false),
        Input::List(Value::Array(list)) => (format!("{} objects", list.len()), false),
        Input::List(_) => ("no objects".to_owned(), false),
        Input::Absent => ("absent, which is allowed".to_owned(), false),
        Input::Missing(why) => (why.clone(), true),
    }
}

fn conditions(observed: &Observed, shown: &dyn Fn(&str) -> String) -> Vec<[String; 4]> {
    let list = observed.parent.value().pointer("/status/conditions").and_then(Value::as_array);
    let text =
        |one: &Value, key: &str| shown(one.get(key).and_then(Value::as_str).unwrap_or_default());
    let one = |one: &Value| ["type", "status", "reason", "message"].map(|key| text(one, key));
    list.into_iter().flatten().map(one).collect()
}
