//! Values of Secrets that come where they can be read by more people than the Secret.
//!
//! In: what flows where in a rule. Out: a problem for each value of a Secret that flows anywhere but into `data` or
//! `stringData` of a Secret. Pure.
//!
//! Secret is what is below `data` and `stringData` of a parent, child or input of kind Secret, a Secret as a whole, and what
//! is generated for a child; a Secret's metadata, type and keys are not. A hash of it may flow anywhere. The answer errs on
//! the safe side: a value that may come from a Secret does, whatever was done to it on the way. What a condition decides by
//! a secret (`{% if … == "x" %}`) and how long one is are not followed, nor is a YAML alias (`*name`) within one document.
//! A template that is too large to be walked through is refused where there are secrets.

use super::flows::{Flows, kinds_of, landing, said, shown, steps};
use crate::object::Gvk;
use crate::owned::{Hop, SecretPlaces};
use crate::problem::Problem;
use crate::rule::ChildRule;
use crate::rule::secret::named;
use crate::template::{ANY, EACH, Sink, Source, Sources, Study};

/// Fields of a Secret that tell nothing of what is in it.
const OPEN: [&str; 5] = ["metadata", "type", "kind", "apiVersion", "immutable"];

/// Fields of a Secret that hold what is in it.
const CLOSED: [&str; 2] = ["data", "stringData"];

/// Names under which templates find secrets: inputs of kind Secret belong here too.
struct Roots(Vec<Vec<String>>);

impl Roots {
    fn of(flows: &Flows<'_>) -> Self {
        Self(named(flows.rule))
    }

    /// Whether a value has something in it that is secret.
    fn tells(&self, source: &Source) -> bool {
        !source.hashed && self.0.iter().any(|root| tells(root, &source.path))
    }
}

/// Between the name and the fields there may be keys of items, or of the documents of a child: `Secret/name`.
fn tells(root: &[String], path: &[String]) -> bool {
    let mut both = root.iter().zip(path);
    if !both.all(|(root, step)| root == step || step == ANY) {
        return false;
    }
    let rest = || path.iter().skip(root.len());
    for (at, (step, next)) in rest().zip(rest().skip(1).map(Some).chain([None])).enumerate() {
        let of_other_kind =
            step.split_once('/').is_some_and(|(kind, _)| !kind.is_empty() && kind != "Secret");
        if of_other_kind || OPEN.contains(&step.as_str()) {
            return false;
        }
        // What a loop gets of a map is a key, and that is no secret; of a list of inputs it is a Secret.
        if step == EACH && next.is_none() {
            return at == 0 && root.first().is_some_and(|root| root == "inputs");
        }
        if CLOSED.contains(&step.as_str()) {
            return next.is_none_or(|next| next != EACH);
        }
    }
    true
}

/// Every value of a Secret that goes astray, unless the rule says that it may.
pub(super) fn leaks(flows: &Flows<'_>, reveal: bool) -> Vec<Problem> {
    let roots = Roots::of(flows);
    if reveal || roots.0.is_empty() {
        return Vec::new();
    }
    let mut problems: Vec<Problem> = too_large(flows).collect();
    let mut look = |sources: &Sources, group: Option<usize>, tell: &dyn Fn(&str) -> Problem| {
        let ways = sources.iter().flat_map(|written| {
            let resolved = flows.resolve(written, group).into_iter();
            resolved.map(move |source| (source, written))
        });
        if let Some((source, written)) = ways.into_iter().find(|(source, _)| roots.tells(source)) {
            problems.push(tell(&said(&source, written)));
        }
    };
    for (child, study) in flows.templates() {
        for sink in &study.sinks {
            let kinds = kinds_of(child, study, sink.spot.document);
            if kinds.iter().all(Gvk::is_secret) && holds(sink) {
                continue;
            }
            let kind = kinds.first().map_or("object", |gvk| gvk.kind.as_str());
            look(&sink.sources, child.group, &|what| {
                problem(
                    format!("{what} is secret, and comes into {} of a {kind}", landing(sink)),
                    sink,
                )
            });
        }
    }
    for sink in &flows.fields.sinks {
        look(&sink.sources, None, &|what| {
            problem(format!("{what} is secret, and comes into the status"), sink)
        });
    }
    for sink in flows.messages.iter().flat_map(|study| &study.sinks) {
        look(&sink.sources, None, &|what| {
            problem(format!("{what} is secret, and comes into the message of a condition"), sink)
        });
    }
    problems.extend(quoted(flows, &roots));
    problems.extend(keys(flows, &roots));
    problems
}

/// Where the templates of a rule that reveals secrets put them, child by child. The whole object, where a template cannot be
/// followed to the end.
pub(super) fn revealed(flows: &Flows<'_>) -> Vec<SecretPlaces> {
    let roots = Roots::of(flows);
    let places = |(child, study): (&ChildRule, &Study)| {
        if roots.0.is_empty() {
            return SecretPlaces::default();
        }
        if !study.complete {
            return SecretPlaces::everywhere();
        }
        let tells = |sink: &&Sink| {
            let found = flows.resolved(&sink.sources, child.group);
            found.iter().any(|source| roots.tells(source))
        };
        SecretPlaces::new(study.sinks.iter().filter(tells).map(|sink| {
            let path = &sink.spot.path;
            // A key that is secret hides in the whole map.
            let hops = path.iter().take(path.len() - usize::from(sink.spot.is_key));
            let hop = |step: &String| match step.as_str() {
                ANY => Hop::Any,
                key => Hop::Key(key.into()),
            };
            hops.map(hop).collect()
        }))
    };
    flows.templates().map(places).collect()
}

/// Templates that cannot be followed to the end.
fn too_large<'f>(flows: &'f Flows<'_>) -> impl Iterator<Item = Problem> + 'f {
    let rule = flows.rule;
    let children = flows.templates().map(|(child, study)| (&child.place, study));
    let groups = rule.groups.iter().map(|group| &group.place).zip(&flows.groups);
    let status = rule.status.iter().map(|status| (&status.place, &flows.fields));
    let top = rule.children.iter().map(|child| &child.place).take(1).zip([&flows.top]);
    let all = children.chain(groups).chain(status).chain(top);
    all.filter(|(_, study)| !study.complete).map(|(place, _)| {
        let message = "the templates here are too large to tell where secrets go";
        let hint = "let fewer macros and includes call each other";
        Problem::new("template-too-large", message).at(place.clone()).hint(hint)
    })
}

/// Comparisons that would quote a secret in the sentence that explains them. Of a Secret itself they quote nothing.
fn quoted(flows: &Flows<'_>, roots: &Roots) -> Vec<Problem> {
    let rule = flows.rule;
    let children = rule.children.iter().flat_map(|child| {
        let all = child.when.iter().chain(child.ready.iter().flatten());
        all.map(|comparison| (&child.place, child.group, comparison))
    });
    let groups = rule.groups.iter().enumerate().flat_map(|(at, group)| {
        group.when.iter().map(move |comparison| (&group.place, Some(at), comparison))
    });
    let conditions = rule.status.iter().flat_map(|status| &status.conditions);
    let conditions = conditions.flat_map(|condition| {
        condition.when.iter().map(|comparison| (&condition.place, None, comparison))
    });
    let mut problems = Vec::new();
    for (place, group, comparison) in children.chain(groups).chain(conditions) {
        for (root, paths) in comparison.quoted_by_root() {
            if root == "parent" || root == "self" || rule.child(root).is_some() {
                continue;
            }
            let found = paths.into_iter().find_map(|path| {
                let path = std::iter::once(root.to_owned()).chain(steps(path)).collect();
                let written = Source { path, hashed: false, whole: true };
                let mut sources = flows.resolve(&written, group).into_iter();
                Some(said(&sources.find(|source| roots.tells(source))?, &written))
            });
            if let Some(what) = found {
                let message =
                    format!("{what} is secret, and a comparison here quotes it where it fails");
                let hint = "compare the Secret itself (`of: …`), or whether it `exists`";
                problems.push(Problem::new("secret-flow", message).at(place.clone()).hint(hint));
            }
        }
    }
    problems
}

/// Groups whose items are told apart by a secret: keys are in labels and messages.
fn keys<'f>(flows: &'f Flows<'_>, roots: &'f Roots) -> impl Iterator<Item = Problem> + 'f {
    flows.rule.groups.iter().enumerate().filter_map(|(at, group)| {
        let key = group.key.as_ref()?;
        let path = std::iter::once(group.item.to_string()).chain(steps(key)).collect();
        let written = Source { path, hashed: false, whole: true };
        let mut sources = flows.resolve(&written, Some(at)).into_iter();
        let source = sources.find(|source| roots.tells(source))?;
        let message = format!("`{}` is secret, and is the key of an item here", shown(&source.path));
        let hint = "keys are seen in labels and messages: take one that may be seen, such as `$.metadata.name`";
        Some(Problem::new("secret-flow", message).at(group.place.clone()).hint(hint))
    })
}

/// Whether a place of a Secret is one for secrets.
fn holds(sink: &Sink) -> bool {
    sink.spot.path.first().is_some_and(|step| CLOSED.contains(&step.as_str()))
}

fn problem(message: String, sink: &Sink) -> Problem {
    Problem::new("secret-flow", message).at(sink.place.clone()).hint(
        "refer to the Secret by its name (`secretKeyRef`), or take a hash (`…|to_json|sha256`) where only a change matters; \
         whoever may see it all the same says `reveal: true` in the rule",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_secret_is_secret_and_what_is_said_of_it_is_not() {
        for (path, expected) in [
            ("children.creds.data.password", true),
            ("children.creds.stringData", true),
            ("children.creds.data.*", true),
            ("children.creds", true),
            ("children", true),
            ("children.*", true),
            ("children.*.data.x", true),
            ("children.creds.*", true),
            ("children.creds.data.#", false),
            ("children.creds.#", false),
            ("children.#", false),
            ("children.creds.data.x.#", true),
            ("children.creds.data.*.#", true),
            ("children.creds.blue.data.x", true),
            ("children.creds.blue.metadata.name", false),
            ("children.creds.Secret/a.data.x", true),
            ("children.creds.ConfigMap/a.data.x", false),
            ("children.creds.metadata.name", false),
            ("children.creds.metadata.annotations.data", false),
            ("children.creds.type", false),
            ("children.other.data.x", false),
            ("parent.data", false),
            ("inputs.creds.*.data.x", true),
            ("inputs.creds.#.data.x", true),
            ("inputs.creds.#.data.#", false),
            ("inputs.creds.#.metadata.name", false),
            ("inputs.creds.#", true),
            ("inputs.creds", true),
            ("inputs.#", false),
        ] {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            let root = ["children", "inputs"].map(|root| vec![root.to_owned(), "creds".into()]);
            assert_eq!(root.iter().any(|root| tells(root, &path)), expected, "{path:?}");
        }
    }
}
