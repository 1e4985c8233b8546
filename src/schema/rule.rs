//! Checks what a rule says of fields against the types of its parent and children.
//!
//! In: a compiled rule, [`Types`]. Out: problems at their places in the rule and its templates. Pure. Kinds that are
//! not known are passed over.

use super::path::Walked;
use super::{PathCheck, StatusCheck, Types, status_field};
use crate::object::Gvk;
use crate::path::Leg;
use crate::problem::Problem;
use crate::rule::{Because, Mention, Rule, StatusRule, Subject, Use};
use crate::source::Place;
use crate::template::{BodyTemplate, LineTemplate, Read};

/// What each of our conditions has.
const OF_CONDITION: [&str; 5] = ["type", "status", "reason", "message", "lastTransitionTime"];

/// What a definition must have to keep them.
const CONDITIONS_HINT: &str = "add `conditions` to the status in its definition: a list of objects with the texts type, status, reason, message and lastTransitionTime";

/// Everything in a rule that names a field which cannot be there, or would not be kept.
pub fn rule_findings(rule: &Rule, types: &Types) -> Vec<Problem> {
    let mentions = rule.mentions.iter().filter_map(|mention| of_mention(rule, types, mention));
    let reads = reads(rule).filter_map(|read| of_read(rule, types, read));
    let mut problems: Vec<Problem> = Vec::new();
    for problem in mentions.chain(reads) {
        // A template that several children include is read several times.
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems.extend(rule.status.iter().flat_map(|status| of_status(rule, status, types)));
    problems
}

/// What the templates of a rule read.
fn reads(rule: &Rule) -> impl Iterator<Item = &Read> {
    let of_status = rule.status.iter().flat_map(|status| {
        let because = status.conditions.iter().flat_map(|condition| {
            [&condition.then, &condition.otherwise].into_iter().chain(&condition.unknown)
        });
        let messages = because.filter_map(|Because { message, .. }| message.as_ref());
        let fields = status.fields.iter().flat_map(BodyTemplate::reads);
        fields.chain(messages.flat_map(LineTemplate::reads))
    });
    let of_let = rule.let_body.iter().flat_map(BodyTemplate::reads);
    of_let.chain(rule.children.iter().flat_map(|child| child.template.reads())).chain(of_status)
}

/// The kinds of the objects that a path leads into; none if the rule does not tell them.
fn kinds<'r>(rule: &'r Rule, subject: &Subject) -> &'r [Gvk] {
    match subject {
        Subject::Parent => &rule.parent.kinds,
        // A list has its objects one level deeper.
        Subject::Input(id) => rule
            .input(id)
            .filter(|input| input.name.is_some())
            .map(|input| std::slice::from_ref(&input.gvk))
            .unwrap_or_default(),
        // Several objects are one map by kind and name.
        Subject::Child(id) => rule
            .child(id)
            .filter(|child| !child.several)
            .map(|child| child.kinds.as_slice())
            .unwrap_or_default(),
    }
}

/// What holds of a path in every kind that it may be meant for, told for the first of them.
fn in_all<T>(
    types: &Types,
    kinds: &[Gvk],
    legs: &[Leg],
    pick: impl Fn(Walked) -> Option<T>,
) -> Option<(Gvk, T)> {
    let mut all = kinds.iter().map(|gvk| Some((gvk, pick(types.kind(gvk)?.walk(legs))?)));
    let (gvk, first) = all.next()??;
    all.all(|other| other.is_some()).then(|| (gvk.clone(), first))
}

/// That a path never leads anywhere.
fn impossible(types: &Types, kinds: &[Gvk], legs: &[Leg], place: &Place) -> Option<Problem> {
    let pick = |walked: Walked| match walked.check {
        PathCheck::Impossible { at, hint } => Some((at, hint)),
        _ => None,
    };
    let (gvk, (at, hint)) = in_all(types, kinds, legs, pick)?;
    let message = format!("no {} has `{at}`", gvk.kind);
    let problem = Problem::new("impossible-path", message).at(place.clone());
    Some(Problem { hint, ..problem })
}

fn of_mention(rule: &Rule, types: &Types, mention: &Mention) -> Option<Problem> {
    let (kinds, legs) = (kinds(rule, &mention.of), mention.path.legs());
    let impossible = impossible(types, kinds, &legs, &mention.place);
    if impossible.is_some() || mention.how != Use::Ignored {
        return impossible;
    }
    let (_, whole) = in_all(types, kinds, &legs, |walked| walked.whole)?;
    let message = format!("`{}` is a part of `{whole}`, which has one owner", mention.path);
    let problem = Problem::new("part-of-whole", message).at(mention.place.clone());
    Some(problem.hint(format!("ignore `{whole}`")))
}

/// `parent.spec.host` and `children.web.status.replicas` of a template.
fn of_read(rule: &Rule, types: &Types, read: &Read) -> Option<Problem> {
    let (subject, steps) = match read.path.as_slice() {
        [root, steps @ ..] if root == "parent" => (Subject::Parent, steps),
        [root, id, steps @ ..] if root == "children" => (Subject::Child(id.as_str().into()), steps),
        [root, id, steps @ ..] if root == "inputs" => (Subject::Input(id.as_str().into()), steps),
        _ => return None,
    };
    let legs: Vec<Leg> = steps.iter().cloned().map(Leg::Key).collect();
    impossible(types, kinds(rule, &subject), &legs, &read.place)
}

/// The status that a rule writes: whether there is one, and its fields.
fn of_status(rule: &Rule, status: &StatusRule, types: &Types) -> Vec<Problem> {
    rule.parent.kinds.iter().flat_map(|gvk| of_status_of(gvk, status, types)).collect()
}

fn of_status_of(gvk: &Gvk, status: &StatusRule, types: &Types) -> Vec<Problem> {
    let Some(kind) = types.kind(gvk) else { return Vec::new() };
    if !kind.has_status {
        let message = format!("{} has no status subresource, nothing can be written", gvk.kind);
        let own_domain = gvk.group.contains('.') && !gvk.group.ends_with(".k8s.io");
        let hint = if own_domain {
            "put `subresources: {status: {}}` into the version, or leave out `status`"
        } else {
            "leave out `status`: this kind of Kubernetes has none"
        };
        return vec![Problem::new("no-status", message).at(status.place.clone()).hint(hint)];
    }
    let refused = |(name, place): (&str, &Place)| match status_field(types, gvk, name) {
        StatusCheck::Refused { hint } => {
            let message = format!("no {} has `$.status.{name}`", gvk.kind);
            let problem = Problem::new("unknown-status", message).at(place.clone());
            let conditions = || Some(CONDITIONS_HINT.to_owned());
            Some(Problem {
                hint: if name == "conditions" { conditions() } else { hint },
                ..problem
            })
        }
        _ => None,
    };
    let fields = status.names.iter().map(|(name, place)| (name.as_str(), place));
    let conditions = status.conditions.first().map(|first| ("conditions", &first.place));
    let mut problems: Vec<Problem> = fields.chain(conditions).filter_map(refused).collect();
    for name in OF_CONDITION {
        let key = |name: &str| Leg::Key(name.to_owned());
        let legs = [key("status"), key("conditions"), Leg::Each, key(name)];
        if let PathCheck::Impossible { at, hint } = kind.walk(&legs).check
            && at.ends_with(name)
        {
            let message = format!("no {} has `{at}`", gvk.kind);
            let problem = Problem::new("unknown-status", message).at(status.place.clone());
            problems.push(Problem { hint, ..problem });
        }
    }
    problems
}
