//! An explanation for people, in about a screenful.
//!
//! In: what there is to say, without secrets. Out: text. Pure.

use super::Told;
use crate::plan::{Explanation, Standing, Verdict};
use crate::report::{State, Style};
use std::fmt::Write;

/// Children that are told one by one; of the others those that are in order are only counted.
const MOST_CHILDREN: usize = 25;

/// Fields that are named of a child.
const MOST_FIELDS: usize = 6;

/// Prints it.
pub(super) fn text(told: &Told, style: Style) -> String {
    let mut text = String::new();
    for (at, one) in told.explanations.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        explanation(&mut text, one, style);
    }
    for (rule, namespaces) in &told.elsewhere {
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "rule {rule} is for other namespaces only: {}", namespaces.join(", "));
    }
    text
}

fn explanation(text: &mut String, one: &Explanation, style: Style) {
    let _ = writeln!(text, "{} (rule {})", one.plan.parent, one.plan.rule);
    let _ = writeln!(text, "  {}", state(one, style));
    for problem in &one.plan.problems {
        let _ = writeln!(text, "  {problem}");
    }
    children(text, one, style);
    for reading in &one.inputs {
        let how = if reading.missing { "missing: " } else { "" };
        let _ = writeln!(
            text,
            "  input {}: {how}{}  [{}]",
            reading.input, reading.found, reading.place
        );
    }
    if one.plan.status.is_some() {
        let _ = writeln!(text, "  its status would change: `kubewright plan` shows how");
    }
    for (name, ours) in &one.finalizers {
        let whose = if *ours {
            "ours: it goes when what it made elsewhere is gone"
        } else {
            "somebody else's"
        };
        let _ = writeln!(text, "  finalizer {name} ({whose})");
    }
    for [kind, status, reason, message] in &one.conditions {
        let _ = writeln!(text, "  condition {kind} is {status}: {reason}: {message}");
    }
}

fn state(one: &Explanation, style: Style) -> String {
    if let Some(why) = &one.unselected {
        return format!("the rule is not for it: {why}");
    }
    if one.paused {
        return "paused: take the annotation `kubewright.io/paused` off to go on".to_owned();
    }
    if let Some(why) = &one.plan.left_alone {
        return why.clone();
    }
    let Some(report) = &one.plan.report else { return String::new() };
    let word = style.state(report.state);
    if report.message.is_empty() { word } else { format!("{word}: {}", report.message) }
}

fn children(text: &mut String, one: &Explanation, style: Style) {
    let calm = |child: &&Standing| {
        child.plan.verdict == Verdict::Keep && matches!(child.state, Some(State::Ready) | None)
    };
    let few = one.children.len() <= MOST_CHILDREN;
    let shown: Vec<&Standing> =
        one.children.iter().filter(|child| few || !calm(child)).take(MOST_CHILDREN).collect();
    for child in &shown {
        self::child(text, child, style);
    }
    let more = one.children.len() - shown.len();
    if more > 0 {
        let calm = one.children.iter().filter(calm).count().min(more);
        let _ = writeln!(
            text,
            "  … and {more} more children, {calm} of them in sync and ready; `-o json` has all"
        );
    }
}

fn child(text: &mut String, child: &Standing, style: Style) {
    let plan = &child.plan;
    let verdict = match plan.verdict {
        Verdict::Keep => "in sync".to_owned(),
        Verdict::Create => "would be created".to_owned(),
        Verdict::Update => format!("would change {}", fields(child)),
        Verdict::Recreate => format!("would be made anew for {}", fields(child)),
        Verdict::Adopt => "would be adopted".to_owned(),
        Verdict::Delete => "would be deleted".to_owned(),
        Verdict::Orphan => "would be left behind".to_owned(),
        Verdict::Edit => format!("would edit {}", fields(child)),
        Verdict::Unedit => "would be taken back".to_owned(),
        Verdict::Wait => "waits".to_owned(),
        Verdict::Refuse => "refused".to_owned(),
        Verdict::Fail => "fails".to_owned(),
    };
    let object = plan.object.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let state = child.state.map(|state| format!(", {}", style.state(state))).unwrap_or_default();
    let absent = matches!(plan.verdict, Verdict::Wait | Verdict::Create | Verdict::Adopt);
    let (state, message) = if absent { (String::new(), "") } else { (state, &*child.message) };
    let _ = writeln!(text, "  {}{object}: {verdict}{state}", plan.child);
    let mut whys = vec![plan.why.clone(), plan.waits.clone().unwrap_or_default()];
    if !whys.iter().any(|why| message.contains(why.as_str()) && !why.is_empty()) {
        whys.push(message.to_owned());
    }
    whys.dedup();
    for why in whys.iter().filter(|why| !why.is_empty()) {
        let _ = writeln!(text, "      {why}");
    }
    let wanted = plan.wanted_at.as_ref().map(|place| format!("wanted by {place}"));
    let template = child.template.as_ref().map(|place| format!("template {}", place.source.name));
    let places: Vec<String> = wanted.into_iter().chain(template).collect();
    if !places.is_empty() {
        let _ = writeln!(text, "      {}", places.join(", "));
    }
}

/// The fields that would change.
fn fields(child: &Standing) -> String {
    let changes = child.plan.change.iter().flat_map(|change| &change.changes.operations);
    let mut names: Vec<String> = changes.map(|one| one.field.to_string()).collect();
    let more = names.len().saturating_sub(MOST_FIELDS);
    names.truncate(MOST_FIELDS);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    if names.is_empty() { "nothing that can be seen".to_owned() } else { names.join(", ") }
}
