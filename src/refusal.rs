//! What an answer that is no success means.
//!
//! In: an error of the client. Out: a [`Refusal`] whose class says what to do about it, and whose text is stable
//! (no request ids, versions or times), so that it can stand in a condition. Never here: retrying.

use crate::object::Gvk;
use regex::Regex;
use std::sync::LazyLock;
use std::time::Duration;

/// However long a server asks us to wait, we look again after this time.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What to do about it.
    pub class: Class,
    /// One stable sentence fragment.
    pub message: String,
}

/// What to do about a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// The object is not there.
    NotFound,
    /// The object changed, appeared or was replaced since it was judged: judge again.
    Stale,
    /// Fields are held by other managers.
    Held(Vec<HeldField>),
    /// The object is refused as it is (invalid, immutable, unknown field, too large): sending it again is pointless
    /// until something changes.
    Permanent,
    /// We hold it back ourselves until somebody allows it.
    Withheld,
    /// Rights are missing.
    Forbidden,
    /// The namespace is missing or going: wait for it.
    Unavailable,
    /// The kind is not served, at least not any more: wait for it.
    NotServed,
    /// Trouble of the server or the network: try again, not before the given time.
    Transient(Option<Duration>),
}

impl Class {
    /// One lower-case word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Stale => "stale",
            Self::Held(_) => "held",
            Self::Permanent => "permanent",
            Self::Withheld => "withheld",
            Self::Forbidden => "forbidden",
            Self::Unavailable => "unavailable",
            Self::NotServed => "not_served",
            Self::Transient(_) => "transient",
        }
    }
}

/// A field that another manager holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldField {
    /// As the server writes it: `.spec.replicas`.
    pub field: String,
    /// Who holds it, as the server describes it.
    pub holder: String,
}

/// Answers of the server as numbers and words, apart from the client's types, so that every row can be tested.
struct Answer<'a> {
    code: u16,
    reason: &'a str,
    message: &'a str,
    causes: Vec<(&'a str, &'a str, &'a str)>,
    retry_after: Option<Duration>,
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        Self::read(&error, Texts::Shown)
    }
}

/// Whether the server's own words may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// They may.
    Shown,
    /// They may quote values of a Secret: only fields and reasons are told.
    Hidden,
}

impl Texts {
    /// About an object of a kind, for a rule that reveals Secrets or does not.
    pub fn about(gvk: &Gvk, reveal: bool) -> Self {
        if gvk.is_secret() || reveal { Self::Hidden } else { Self::Shown }
    }
}

impl Refusal {
    /// The version in which somebody's entry of managedFields speaks although it is not served any more, if that is why an
    /// apply was refused.
    pub fn dead_version(&self) -> Option<&str> {
        let (_, version) = self.message.split_once(DEAD_VERSION)?;
        version.split_whitespace().next()
    }

    /// Something that is judged again in a moment.
    pub fn stale(message: &str) -> Self {
        Self { class: Class::Stale, message: message.to_owned() }
    }

    /// An answer about something. Where the server's text may quote values of Secrets, only fields and reasons are told.
    pub fn read(error: &kube::Error, texts: Texts) -> Self {
        match error {
            kube::Error::Api(status) => {
                let details = status.details.as_ref();
                let answer = Answer {
                    code: status.code,
                    reason: &status.reason,
                    message: &status.message,
                    causes: details.map_or_else(Vec::new, |details| {
                        details
                            .causes
                            .iter()
                            .map(|c| (c.reason.as_str(), c.field.as_str(), c.message.as_str()))
                            .collect()
                    }),
                    retry_after: details
                        .filter(|details| details.retry_after_seconds > 0)
                        .map(|details| Duration::from_secs(details.retry_after_seconds.into()))
                        .map(|asked| asked.min(LONGEST_WAIT)),
                };
                let refusal = classify(&answer);
                if texts == Texts::Shown || matches!(refusal.class, Class::Held(_)) {
                    return refusal;
                }
                Self { message: without_values(&answer), ..refusal }
            }
            kube::Error::BuildRequest(_) => {
                let message = match texts {
                    Texts::Shown => flat(error),
                    Texts::Hidden => "the request makes no sense".to_owned(),
                };
                Self { class: Class::Permanent, message }
            }
            // An answer that was cut short, or that somebody in between made up. What does not decode is not quoted.
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                let message = "the API server's answer makes no sense".to_owned();
                Self { class: Class::Transient(None), message }
            }
            _ => Self { class: Class::Transient(None), message: stable(&flat(error)) },
        }
    }
}

/// `Invalid: data[tls.crt] (FieldValueRequired)`.
fn without_values(answer: &Answer<'_>) -> String {
    let causes = answer.causes.iter().map(|(reason, field, _)| format!("{field} ({reason})"));
    let causes: Vec<String> = causes.collect();
    let reason = if answer.reason.is_empty() { "refused" } else { answer.reason };
    if let Some(missing) = missing_right(answer) {
        return format!("{reason}: cannot {missing}");
    }
    if causes.is_empty() {
        format!("{reason} (HTTP {}); the text is not shown, since it may quote values", answer.code)
    } else {
        format!("{reason}: {}", causes.join(", "))
    }
}

/// `patch resource "secrets"`: what somebody without rights is told has no value in it, and everybody must know it.
fn missing_right<'a>(answer: &Answer<'a>) -> Option<&'a str> {
    let right = RIGHT.as_ref().filter(|_| answer.code == 403)?;
    right.captures(answer.message)?.get(1).map(|right| right.as_str())
}

static RIGHT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^[a-z.]+(?: "[a-zA-Z0-9:.-]*")? is forbidden: User "[^"]*" cannot ([a-z]+ resource "[a-z/]+") in API group ""#).ok()
});

/// The error and its sources in one line, each said once.
fn flat(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}

/// The text without what differs each time although the trouble is the same: network addresses (the ports of our own
/// side), uids, long numbers. It stands in conditions, where each difference would be a write.
fn stable(text: &str) -> String {
    VOLATILE
        .as_ref()
        .map_or_else(|| text.to_owned(), |volatile| volatile.replace_all(text, "…").into_owned())
}

static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let address = r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:]+\]):\d+";
    let uid = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    Regex::new(&format!(r"{address}|{uid}|\b\d{{6,}}\b")).ok()
});

/// The rows of `apply-and-compare` section 3.5, measured on 1.37: the server dresses mistakes in an applied object as 500.
fn classify(answer: &Answer<'_>) -> Refusal {
    let refusal = |class| Refusal { class, message: stable(answer.message) };
    let stale = || Refusal::stale("it changed meanwhile");
    let not_found = answer.code == 404 && answer.reason == "NotFound";
    match answer.code {
        404 if not_found && answer.message.starts_with("namespaces ") => {
            refusal(Class::Unavailable)
        }
        404 if not_found && !answer.message.contains("the requested resource") => {
            refusal(Class::NotFound)
        }
        404 => Refusal {
            class: Class::NotServed,
            message: "the API server does not serve this kind".into(),
        },
        403 if has_cause(answer, "NamespaceTerminating") => refusal(Class::Unavailable),
        401 | 403 => refusal(Class::Forbidden),
        409 if has_cause(answer, "FieldManagerConflict") => held(answer),
        409 => stale(),
        422 if answer.message.contains("uid mismatch") => stale(),
        400 | 405 | 406 | 413 | 415 | 422 | 507 => refusal(Class::Permanent),
        500 if is_typed_mistake(answer.message) => refusal(Class::Permanent),
        // 429, 503 and 504 among them.
        _ => refusal(Class::Transient(answer.retry_after)),
    }
}

/// A mistake in the applied object that the server answers with 500.
fn is_typed_mistake(message: &str) -> bool {
    message.starts_with("failed to create typed patch object")
        || message.starts_with("failed to convert new object")
        || message.contains(DEAD_VERSION)
}

/// An entry of managedFields speaks of a version that is not served any more: the server cannot convert it, and answers every
/// apply of that object with 500.
const DEAD_VERSION: &str = "to an invalid group/version: ";

fn has_cause(answer: &Answer<'_>, reason: &str) -> bool {
    answer.causes.iter().any(|(cause, ..)| *cause == reason)
}

fn held(answer: &Answer<'_>) -> Refusal {
    let fields: Vec<HeldField> = answer
        .causes
        .iter()
        .filter(|(reason, ..)| *reason == "FieldManagerConflict")
        .map(|(_, field, message)| HeldField {
            field: (*field).to_owned(),
            holder: holder(message),
        })
        .collect();
    let list: Vec<String> =
        fields.iter().map(|held| format!("{} by {}", held.field, held.holder)).collect();
    Refusal { message: format!("held by others: {}", list.join(", ")), class: Class::Held(fields) }
}

/// `conflict with "kubectl-edit" using apps/v1 at 2026-…` names the manager in quotes; the time would not be stable.
fn holder(message: &str) -> String {
    message.split('"').nth(1).unwrap_or(message).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(code: u16, reason: &str, message: &str, cause: Option<(&str, &str, &str)>) -> Class {
        let causes = cause.into_iter().collect();
        classify(&Answer { code, reason, message, causes, retry_after: None }).class
    }

    #[test]
    fn every_answer_has_a_class() {
        let typed =
            "failed to create typed patch object (a/b; v1): .spec.x: field not declared in schema";
        let uid = "Precondition failed: UID in precondition: a, uid mismatch";
        for (code, reason, message, expected) in [
            (404, "NotFound", "configmaps \"x\" not found", Class::NotFound),
            (404, "NotFound", "namespaces \"x\" not found", Class::Unavailable),
            (404, "Failed to parse error data", "404 page not found", Class::NotServed),
            (404, "NotFound", "the server could not find the requested resource", Class::NotServed),
            (403, "Forbidden", "cannot patch", Class::Forbidden),
            (401, "Unauthorized", "Unauthorized", Class::Forbidden),
            (409, "Conflict", "the object has been modified", Class::Stale),
            (409, "AlreadyExists", "exists", Class::Stale),
            (422, "Invalid", uid, Class::Stale),
            (422, "Invalid", "field is immutable", Class::Permanent),
            (400, "BadRequest", "no", Class::Permanent),
            (500, "", typed, Class::Permanent),
            (
                500,
                "",
                "request to convert CR to an invalid group/version: a/v1beta1",
                Class::Permanent,
            ),
            (500, "InternalError", "etcdserver: leader changed", Class::Transient(None)),
            (503, "ServiceUnavailable", "apiserver is shutting down", Class::Transient(None)),
            (0, "", "", Class::Transient(None)),
        ] {
            assert_eq!(class(code, reason, message, None), expected, "{code} {reason} {message}");
        }
    }

    #[test]
    fn texts_are_the_same_each_time() {
        for (one, other) in [
            (
                "read tcp 10.0.0.5:48202->10.0.0.1:443: timeout",
                "read tcp 10.0.0.5:51877->10.0.0.1:443: timeout",
            ),
            ("dial tcp [::1]:6443: refused", "dial tcp [::1]:7443: refused"),
            ("lease 1730991204 is gone", "lease 1730991205 is gone"),
            (
                "uid 7d6f1294-8272-4c5a-9d12-bb9da1b7eb1c is gone",
                "uid 93259d58-fadf-405c-94f0-379eb779975a is gone",
            ),
        ] {
            assert_eq!(stable(one), stable(other));
            assert_ne!(stable(one), one);
        }
        let invalid =
            "Deployment.apps \"a\" is invalid: spec.replicas: Invalid value: -30000: must be >= 0";
        assert_eq!(stable(invalid), invalid, "what the author needs stays");
        let stale = |message| {
            classify(&Answer {
                code: 409,
                reason: "Conflict",
                message,
                causes: vec![],
                retry_after: None,
            })
        };
        assert_eq!(
            stale("the object 1 has been modified"),
            stale("the object 2 has been modified")
        );
    }

    #[test]
    fn an_answer_about_a_secret_shows_fields_and_reasons_only() {
        let answer = |causes| Answer {
            code: 422,
            reason: "Invalid",
            message: "Secret \"a\" is invalid: data[x y]: Invalid value: \"hunter2\"",
            causes,
            retry_after: None,
        };
        let told = answer(vec![("FieldValueInvalid", "data[x y]", "Invalid value: \"hunter2\"")]);
        assert_eq!(without_values(&told), "Invalid: data[x y] (FieldValueInvalid)");
        assert!(!without_values(&answer(vec![])).contains("hunter2"));
    }

    #[test]
    fn a_missing_right_is_told_for_a_secret_too_and_nobody_elses_refusal_is() {
        let forbidden = |message| {
            without_values(&Answer {
                code: 403,
                reason: "Forbidden",
                message,
                causes: vec![],
                retry_after: None,
            })
        };
        let rbac = "secrets \"a\" is forbidden: User \"u\" cannot patch resource \"secrets\" in API group \"\" in the namespace \"n\"";
        assert_eq!(forbidden(rbac), "Forbidden: cannot patch resource \"secrets\"");
        let webhook = "admission webhook denied the request: cannot patch resource hunter2";
        assert!(!forbidden(webhook).contains("hunter2"));
    }

    #[test]
    fn a_terminating_namespace_is_waited_for() {
        let cause = ("NamespaceTerminating", "metadata.namespace", "being terminated");
        assert_eq!(class(403, "Forbidden", "forbidden", Some(cause)), Class::Unavailable);
    }

    #[test]
    fn a_held_field_names_its_manager_without_the_time() {
        let message = "conflict with \"kubectl-edit\" using apps/v1 at 2026-01-02T03:04:05Z";
        let cause = ("FieldManagerConflict", ".spec.replicas", message);
        let answer = Answer {
            code: 409,
            reason: "Conflict",
            message: "Apply failed with 1 conflict",
            causes: vec![cause],
            retry_after: None,
        };
        let refusal = classify(&answer);
        assert_eq!(refusal.message, "held by others: .spec.replicas by kubectl-edit");
        let held = HeldField { field: ".spec.replicas".into(), holder: "kubectl-edit".into() };
        assert_eq!(refusal.class, Class::Held(vec![held]));
    }
}
