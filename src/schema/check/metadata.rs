//! Names, labels and annotations: what the API server asks of them beside their type.
//!
//! In: an object. Out: findings. Only what holds for every version of a kind is asked; kinds with names of their own
//! rules (those of RBAC, addresses) are passed over.

use super::Checker;
use super::scalar::shown;
use crate::object::Gvk;
use serde_json::{Map, Value};

const NAME: usize = 63;
const SUBDOMAIN: usize = 253;

/// Kinds of Kubernetes whose names are more than DNS subdomains.
const FREE: [&str; 2] = ["IPAddress", "CertificateSigningRequest"];
/// Kinds whose names become one part of a DNS name.
const LABEL: [&str; 2] = ["Namespace", "Service"];

impl Checker {
    /// The metadata of an object, and of the pods that it makes.
    pub(super) fn metadata(&mut self, gvk: &Gvk, object: &Map<String, Value>) {
        if let Some(name) = text(object, &["metadata", "name"]) {
            self.name(gvk, name);
        }
        let pods: &[&[&str]] = match (gvk.group.as_str(), gvk.kind.as_str()) {
            ("batch", "CronJob") => &[
                &["metadata"],
                &["spec", "jobTemplate", "metadata"],
                &["spec", "jobTemplate", "spec", "template", "metadata"],
            ],
            ("apps" | "batch", _) => &[&["metadata"], &["spec", "template", "metadata"]],
            _ => &[&["metadata"]],
        };
        for path in pods {
            let Some(metadata) = at(object, path) else { continue };
            let depth = self.at.len();
            self.at.extend(path.iter().map(|step| (*step).into()));
            self.labels_and_annotations(metadata);
            self.at.truncate(depth);
        }
    }

    fn labels_and_annotations(&mut self, metadata: &Map<String, Value>) {
        for kind in ["labels", "annotations"] {
            let Some(entries) = metadata.get(kind).and_then(Value::as_object) else { continue };
            self.below(kind, |checker| {
                for (key, value) in entries {
                    let value = value.as_str().filter(|_| kind == "labels");
                    let of_value = |value: &str| {
                        let message = format!("is {}, which is no value of a label", shown(value));
                        Some((message, wrong_word(value)?))
                    };
                    let of_key = wrong_key(key).map(|why| ("is no key".to_owned(), why));
                    if let Some((message, why)) = of_key.or_else(|| of_value(value?)) {
                        checker.below(key.as_str(), |checker| {
                            checker.note("illegal-label", message, why);
                        });
                    }
                }
            });
        }
    }

    fn name(&mut self, gvk: &Gvk, name: &str) {
        if gvk.group == "rbac.authorization.k8s.io" || FREE.contains(&gvk.kind.as_str()) {
            return;
        }
        let is_label = LABEL.contains(&gvk.kind.as_str()) && gvk.group.is_empty();
        let fits = if is_label { is_dns_label(name) } else { is_subdomain(name) };
        if fits {
            return;
        }
        let hint = if is_label {
            "use at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends"
        } else {
            "use lower-case letters, digits, `-` and `.`, with a letter or digit at both ends of each part"
        };
        let message = format!("is {}, which is no name", shown(name));
        self.below("metadata", |checker| {
            checker.below("name", |checker| checker.note("illegal-name", message, hint.to_owned()));
        });
    }
}

fn at<'o>(object: &'o Map<String, Value>, path: &[&str]) -> Option<&'o Map<String, Value>> {
    path.iter().try_fold(object, |map, step| map.get(*step)?.as_object())
}

fn text<'o>(object: &'o Map<String, Value>, path: &[&str]) -> Option<&'o str> {
    let (last, above) = path.split_last()?;
    at(object, above)?.get(*last)?.as_str()
}

fn is_dns_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= NAME && name.chars().all(inner) && name.starts_with(ends) && name.ends_with(ends)
}

fn is_subdomain(name: &str) -> bool {
    // A part may be as long as the whole.
    let part = |part: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.chars().all(inner) && part.starts_with(ends) && part.ends_with(ends)
    };
    name.len() <= SUBDOMAIN && name.split('.').all(part)
}

/// `[PREFIX/]NAME`: a DNS subdomain, then a word.
fn wrong_key(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !is_subdomain(&prefix.to_ascii_lowercase())) {
        return Some("what stands before the `/` is a DNS name such as `example.com`".to_owned());
    }
    if name.is_empty() {
        return Some("a key is not empty".to_owned());
    }
    wrong_word(name)
}

/// What labels and the names of keys are made of; an empty value is a value.
fn wrong_word(word: &str) -> Option<String> {
    let ends = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| ends(c) || "-_.".contains(c);
    if word.len() > NAME {
        return Some(format!("it is longer than {NAME} characters"));
    }
    let legal = word.is_empty()
        || (word.chars().all(inner) && word.starts_with(ends) && word.ends_with(ends));
    (!legal).then(|| {
        "use letters, digits, `-`, `_` and `.`, with a letter or digit at both ends".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_are_those_of_the_api_server() {
        for word in ["", "a", "A-b_c.9", &"x".repeat(63)] {
            assert_eq!(wrong_word(word), None, "{word}");
        }
        for word in ["a b", "-a", "a.", "ä", "a/b", &"x".repeat(64)] {
            assert!(wrong_word(word).is_some(), "{word}");
        }
        for key in ["app", "app.kubernetes.io/name", "a/B", "x-y.z/w_v"] {
            assert_eq!(wrong_key(key), None, "{key}");
        }
        for key in ["", "/a", "a/", "a/b/c", "a_b/c", "a b", "ex ample.com/x"] {
            assert!(wrong_key(key).is_some(), "{key}");
        }
        for name in ["a", "a.b-c.9", "0", &"a".repeat(253)] {
            assert!(is_subdomain(name), "{name}");
        }
        for name in ["", "A", "a_b", "a..b", "-a", "a-", "a.-b", &"a".repeat(254)] {
            assert!(!is_subdomain(name), "{name}");
        }
        assert!(is_dns_label("a-1") && !is_dns_label("a.b") && !is_dns_label(&"a".repeat(64)));
    }
}
