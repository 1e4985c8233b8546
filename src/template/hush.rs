//! Failures of templates that read what is in Secrets.
//!
//! In: a failure and what its template reads. Out: the same without anything that could be a value: what `fail` says, a key or a
//! number that the engine quotes, a step that was computed. Pure. Never here: what is secret.

use super::{Failure, Read};
use crate::problem::Problem;

/// Of these nothing in the message comes from a value.
const PLAIN: [&str; 2] = ["template-limit", "template-not-a-map"];

/// What is said instead.
pub(crate) const HUSHED: &str =
    "this fails; what it says is not shown, since it may quote a value of a Secret";

/// Names under which the templates of a rule find what is secret.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets(Vec<Vec<String>>);

/// Fields of a Secret that tell nothing of what is in it.
const OPEN: [&str; 3] = ["metadata", "type", "kind"];

impl Secrets {
    pub(super) fn new(roots: Vec<Vec<String>>) -> Self {
        Self(roots)
    }

    /// A failure as people may see it.
    pub(super) fn hush(&self, failure: Failure, reads: &[Read]) -> Failure {
        if !self.are_among(reads) {
            return failure;
        }
        match failure {
            Failure::Waiting { what, place } => {
                Failure::Waiting { what: written(what, reads), place }
            }
            Failure::Failed(problem) => Failure::Failed(hushed(problem, reads)),
        }
    }

    fn are_among(&self, reads: &[Read]) -> bool {
        reads.iter().any(|read| self.0.iter().any(|root| tells(root, &read.path)))
    }
}

/// Whether a template that reads at a path may get what is secret below a root.
pub(crate) fn tells(root: &[String], path: &[String]) -> bool {
    let same = root.iter().zip(path).all(|(root, step)| root == step);
    same && path.get(root.len()).is_none_or(|next| !OPEN.contains(&next.as_str()))
}

fn hushed(problem: Problem, reads: &[Read]) -> Problem {
    if PLAIN.contains(&problem.code) {
        return problem;
    }
    let message = match problem.message.strip_suffix("` is undefined") {
        Some(what) if problem.code == "template-undefined" => {
            let what = what.trim_start_matches('`').to_owned();
            format!("`{}` is undefined", written(what, reads))
        }
        _ => HUSHED.to_owned(),
    };
    let hint = problem.hint.filter(|_| message == problem.message);
    Problem { message, hint, ..problem }
}

/// As much of a path as its author wrote.
fn written(what: String, reads: &[Read]) -> String {
    let paths = || reads.iter().map(|read| read.path.join("."));
    if paths().any(|path| path == what || path.starts_with(&format!("{what}."))) {
        return what;
    }
    let prefixes = paths().filter(|path| what.starts_with(path.as_str()));
    let longest = prefixes.max_by_key(String::len);
    longest.map_or_else(|| "something that it reads".to_owned(), |path| format!("{path}…"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Place, Source};

    fn place() -> Place {
        Place::new(&Source::new("a.yaml", "x"), 0..1)
    }

    fn reads(paths: &[&str]) -> Vec<Read> {
        let read = |path: &&str| Read {
            path: path.split('.').map(str::to_owned).collect(),
            place: place(),
        };
        paths.iter().map(read).collect()
    }

    fn secrets() -> Secrets {
        Secrets::new(vec![vec!["inputs".into(), "creds".into()]])
    }

    #[test]
    fn what_a_template_with_secrets_says_is_not_shown() {
        let told = |code: &'static str, message: &str, paths: &[&str]| {
            let problem = Problem::new(code, message).at(place()).hint("h");
            match secrets().hush(Failure::Failed(problem), &reads(paths)) {
                Failure::Failed(problem) => (problem.message, problem.hint.is_some()),
                Failure::Waiting { what, .. } => (what, false),
            }
        };
        let secret = "inputs.creds.data.p";
        assert_eq!(told("template-fail", "hunter2", &[secret]), (HUSHED.into(), false));
        assert_eq!(told("template-error", "hunter2", &["inputs"]), (HUSHED.into(), false));
        for paths in [["parent.spec"], ["inputs.other"], ["inputs.creds.metadata.name"]] {
            assert_eq!(told("template-fail", "x", &paths), ("x".into(), true), "{paths:?}");
        }
        let undefined = |what: &str| format!("`{what}` is undefined");
        let known = undefined("parent.spec.host");
        let both = &[secret, "parent.spec.host"][..];
        assert_eq!(told("template-undefined", &known, both), (known.clone(), true));
        let computed = &[secret, "parent.spec.m"][..];
        assert_eq!(
            told("template-undefined", &undefined("parent.spec.m.hunter2"), computed),
            (undefined("parent.spec.m…"), false)
        );
    }

    #[test]
    fn what_is_waited_for_is_told_as_it_is_written() {
        let what = |what: &str| {
            let failure = Failure::Waiting { what: what.into(), place: place() };
            let paths = reads(&["inputs.creds.data.p", "children.web.status"]);
            match secrets().hush(failure, &paths) {
                Failure::Waiting { what, .. } => what,
                Failure::Failed(problem) => problem.message,
            }
        };
        assert_eq!(what("inputs.creds"), "inputs.creds");
        assert_eq!(what("inputs.creds.data.p"), "inputs.creds.data.p");
        assert_eq!(what("children.web.status.hunter2"), "children.web.status…");
        assert_eq!(what("hunter2"), "something that it reads");
    }
}
