//! What the API server takes for names, namespaces, labels and annotations.
//!
//! In: a text and where it stands, or a whole object. Out: why the server would refuse it. Pure. Never here: what our own
//! marks need, and whether a name is taken.
//!
//! Kinds of other API servers have rules of their own; only built-in kinds, and those of a definition at hand, are judged.

use super::Finding;
use crate::object::{Gvk, metadata};
use crate::path::Location;
use serde_json::{Map, Value};

/// What a name may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Lower-case letters, digits and `-`.
    Label,
    /// Labels with dots between them.
    Subdomain,
}

/// Characters of a label, and of the value of a label.
const LABEL: usize = 63;

/// Bytes of all annotations of an object.
const ANNOTATIONS: usize = 256 << 10;

/// The form of a kind's names and how long they may be; nothing for kinds with rules of their own.
fn form(gvk: &Gvk, is_defined: bool) -> Option<(Form, usize)> {
    let is_builtin = !gvk.group.contains('.') || gvk.group.ends_with(".k8s.io");
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        // Anything that is one step of a path.
        ("rbac.authorization.k8s.io" | "apiregistration.k8s.io", _) | (_, "IPAddress") => None,
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => Some((Form::Label, LABEL)),
        // The name becomes a label of its pods, with something behind it for a job of a CronJob.
        ("batch", "Job") => Some((Form::Subdomain, LABEL)),
        ("batch", "CronJob") => Some((Form::Subdomain, 52)),
        _ if is_builtin || is_defined => Some((Form::Subdomain, 253)),
        _ => None,
    }
}

/// Why a text is no name for an object of a kind, as the rest of a sentence that begins with it.
pub(crate) fn name(gvk: &Gvk, name: &str, is_defined: bool) -> Option<String> {
    let (form, most) = form(gvk, is_defined)?;
    let why = of_form(name, form, most)?;
    Some(format!("is no name for a {}: {why}", gvk.kind))
}

/// Why a text is no name for a namespace.
pub(crate) fn namespace(name: &str) -> Option<String> {
    of_form(name, Form::Label, LABEL).map(|why| format!("is no name for a namespace: {why}"))
}

/// Whether servers before Kubernetes 1.36 refuse this name of a Service.
pub(crate) fn needs_new_server(gvk: &Gvk, name: &str) -> bool {
    gvk.group.is_empty() && gvk.kind == "Service" && name.starts_with(|c: char| c.is_ascii_digit())
}

fn of_form(text: &str, form: Form, most: usize) -> Option<String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.len() > most {
        return Some(format!("it has {} characters, {most} are allowed", text.len()));
    }
    let separated = form == Form::Subdomain;
    if let Some(c) = text.chars().find(|c| !(inner(*c) || (separated && *c == '.'))) {
        let dot = if separated { ", `-` and `.`" } else { " and `-`" };
        return Some(format!("it has a {c:?}; lower-case letters, digits{dot} are allowed"));
    }
    let parts: Vec<&str> = if separated { text.split('.').collect() } else { vec![text] };
    let is_edge = |part: &&str| part.is_empty() || part.starts_with('-') || part.ends_with('-');
    if parts.iter().any(is_edge) {
        let each = if separated { ", and so must each part between dots" } else { "" };
        return Some(format!("it must begin and end with a letter or digit{each}"));
    }
    None
}

/// Why a text cannot be the value of a label.
pub(crate) fn label_value(value: &str) -> Option<String> {
    if value.is_empty() {
        return None;
    }
    word(value).map(|why| format!("cannot be the value of a label: {why}"))
}

/// Why a text cannot be the key of a label or an annotation (`what`).
pub(crate) fn key(what: &str, key: &str) -> Option<String> {
    let (prefix, name) =
        key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let why = match prefix.map(|prefix| of_form(&prefix.to_lowercase(), Form::Subdomain, 253)) {
        Some(Some(why)) => Some(format!("in front of the `/`, {why}")),
        _ if name.is_empty() => Some("it is empty".to_owned()),
        _ => word(name),
    };
    why.map(|why| format!("cannot be the key of {what}: {why}"))
}

/// Letters, digits, and `-`, `_` and `.` between them.
fn word(text: &str) -> Option<String> {
    if text.len() > LABEL {
        return Some(format!("it has {} characters, {LABEL} are allowed", text.len()));
    }
    if let Some(c) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !"-_.".contains(*c)) {
        return Some(format!("it has a {c:?}; letters, digits, `-`, `_` and `.` are allowed"));
    }
    let edge = |c: char| c.is_ascii_alphanumeric();
    let legal = text.starts_with(edge) && text.ends_with(edge);
    (!legal).then(|| "it must begin and end with a letter or digit".to_owned())
}

/// What helps where a value is not fit to be a name.
const NAME_HINT: &str = "the filter `dns_label` makes a name of any text";

/// Every name, key and value of an object that the server would refuse. `is_defined` says that a definition of the kind is
/// at hand.
pub(crate) fn of_object(gvk: &Gvk, object: &Value, is_defined: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let at = Location::root().child("metadata");
    if let Some(why) = metadata(object, "name").and_then(|text| name(gvk, text, is_defined)) {
        let shown = shown(metadata(object, "name").unwrap_or_default());
        findings.push(finding(
            at.child("name"),
            "illegal-name",
            format!("is {shown}, which {why}"),
            Some(NAME_HINT),
        ));
    }
    if let Some(text) = metadata(object, "namespace")
        && let Some(why) = namespace(text)
    {
        let message = format!("is {}, which {why}", shown(text));
        findings.push(finding(at.child("namespace"), "illegal-name", message, Some(NAME_HINT)));
    }
    below(object, &Location::root(), &mut findings);
    if gvk.group.is_empty()
        && gvk.kind == "Service"
        && let Some(Value::Object(selector)) = object.pointer("/spec/selector")
    {
        labels(selector, &Location::root().child("spec").child("selector"), &mut findings);
    }
    findings
}

/// Labels and annotations under any `metadata`, and selectors.
fn below(value: &Value, at: &Location, findings: &mut Vec<Finding>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let here = at.child(name.as_str());
                match (name.as_str(), value) {
                    ("metadata", Value::Object(metadata)) => of_metadata(metadata, &here, findings),
                    ("matchLabels", Value::Object(map)) => labels(map, &here, findings),
                    _ => below(value, &here, findings),
                }
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                below(value, &at.child(index), findings);
            }
        }
        _ => {}
    }
}

fn of_metadata(map: &Map<String, Value>, at: &Location, findings: &mut Vec<Finding>) {
    if let Some(Value::Object(map)) = map.get("labels") {
        labels(map, &at.child("labels"), findings);
    }
    let Some(Value::Object(map)) = map.get("annotations") else { return };
    let at = at.child("annotations");
    for name in map.keys() {
        if let Some(why) = key("an annotation", name) {
            findings.push(finding(at.child(name.as_str()), "illegal-annotation", why, None));
        }
    }
    let bytes: usize =
        map.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if bytes > ANNOTATIONS {
        let message = format!("have {bytes} bytes together, {ANNOTATIONS} are allowed");
        findings.push(finding(
            at,
            "illegal-annotation",
            message,
            Some("keep large texts in a ConfigMap"),
        ));
    }
}

fn labels(map: &Map<String, Value>, at: &Location, findings: &mut Vec<Finding>) {
    for (name, value) in map {
        let here = at.child(name.as_str());
        if let Some(why) = key("a label", name) {
            findings.push(finding(here.clone(), "illegal-label", why, None));
        }
        if let Some(text) = value.as_str()
            && let Some(why) = label_value(text)
        {
            let message = format!("is {}, which {why}", shown(text));
            findings.push(finding(here, "illegal-label", message, Some(VALUE_HINT)));
        }
    }
}

/// What helps where a value is not fit to be that of a label.
pub(crate) const VALUE_HINT: &str =
    "an annotation takes any text; the filter `dns_label` makes a legal value of it";

fn finding(path: Location, code: &'static str, message: String, hint: Option<&str>) -> Finding {
    Finding { path, code, message, hint: hint.map(str::to_owned) }
}

/// In quotes, with an end.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(70).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn gvk(api_version: &str, kind: &str) -> Gvk {
        Gvk::parse(api_version, kind).unwrap()
    }

    #[test]
    fn names_are_what_the_server_takes_for_each_kind() {
        let long = "a".repeat(64);
        for (api_version, kind, good, bad) in [
            (
                "v1",
                "ConfigMap",
                vec!["a", "a.b-c", "1", &long],
                vec!["", "A", "a_b", "-a", "a.", "a..b", "a.-b", "ü"],
            ),
            ("v1", "Service", vec!["a-b", "1a"], vec!["a.b", "a-", "A", &long]),
            ("v1", "Namespace", vec!["a"], vec!["a.b", &long]),
            ("apps/v1", "StatefulSet", vec!["a"], vec!["a.b", &long]),
            ("apps/v1", "Deployment", vec!["a.b", &long], vec!["A"]),
            ("batch/v1", "Job", vec!["a.b"], vec![&long]),
            ("batch/v1", "CronJob", vec!["a"], vec![&long[..53]]),
            ("rbac.authorization.k8s.io/v1", "Role", vec!["system:A_b"], vec![]),
            ("image.example.com/v1", "Tag", vec!["A:b"], vec![]),
        ] {
            let gvk = gvk(api_version, kind);
            for text in good {
                assert_eq!(name(&gvk, text, false), None, "{kind} {text}");
            }
            for text in bad {
                assert!(name(&gvk, text, false).is_some(), "{kind} {text}");
            }
        }
        assert!(name(&gvk("image.example.com/v1", "Tag"), "A:b", true).is_some());
        assert!(name(&gvk("v1", "ConfigMap"), &"a".repeat(254), false).is_some());
        assert!(needs_new_server(&gvk("v1", "Service"), "1a"));
        assert!(!needs_new_server(&gvk("v1", "Service"), "a1"));
    }

    #[test]
    fn keys_and_values_are_what_the_server_takes() {
        let long = "a".repeat(64);
        for text in ["", "a", "A.b_c-d", "1", &long[..63]] {
            assert_eq!(label_value(text), None, "{text}");
        }
        for text in ["a b", "-a", "a.", "a/b", "ü", &long] {
            assert!(label_value(text).is_some(), "{text}");
        }
        for text in ["a", "A_b", "x.io/a", "X.io/a", "app.kubernetes.io/name"] {
            assert_eq!(key("a label", text), None, "{text}");
        }
        for text in ["", "/a", "x.io/", "x_y/a", "a/b/c", "a b", &long] {
            assert!(key("a label", text).is_some(), "{text}");
        }
    }

    #[test]
    fn everything_illegal_in_an_object_is_found_at_its_path() {
        let object = json!({
            "metadata": {"name": "Web", "namespace": "a.b", "labels": {"ok": "x", "a": "b c", "d e": ""},
                "annotations": {"any": "text of any kind", "f g": "", "h": "x".repeat(300_000)}},
            "spec": {
                "selector": {"matchLabels": {"i": "j k"}},
                "template": {"metadata": {"labels": {"l": "m "}}},
                "volumeClaimTemplates": [{"metadata": {"labels": {"n": "-"}}}],
                "labels": {"o": "not a label"}}});
        let found: Vec<String> = of_object(&gvk("apps/v1", "Deployment"), &object, false)
            .iter()
            .map(|finding| format!("{} {}", finding.code, finding.path))
            .collect();
        let expected = [
            "illegal-name $.metadata.name",
            "illegal-name $.metadata.namespace",
            "illegal-label $.metadata.labels.a",
            "illegal-label $.metadata.labels['d e']",
            "illegal-annotation $.metadata.annotations['f g']",
            "illegal-annotation $.metadata.annotations",
            "illegal-label $.spec.selector.matchLabels.i",
            "illegal-label $.spec.template.metadata.labels.l",
            "illegal-label $.spec.volumeClaimTemplates[0].metadata.labels.n",
        ];
        assert_eq!(found, expected);
    }
}
