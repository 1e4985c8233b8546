//! Names in a CRD: which are legal, and what a kind is called in the plural.
//!
//! In: names as written. Out: why one cannot be; the plural of a regular English noun.

use super::mistakes::Fault;
use super::span::At;
use crate::object::Gvk;
use std::ops::Range;

/// Fields are read as `parent.spec.name` in templates, so that a name must be one there.
pub(super) fn field_name(name: &At<String>) -> Result<(), Fault> {
    let text = &name.value;
    let legal = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if legal {
        return Ok(());
    }
    let fault = Fault::new("illegal-name", &name.span, format!("`{text}` is no name of a field"));
    Err(fault.hint("use a letter, then letters, digits and `_`: templates read `parent.spec.name`"))
}

/// Types begin with a capital letter, so that no built-in one can ever be taken for one of them.
pub(super) fn type_name(name: &At<String>) -> Result<(), Fault> {
    let text = &name.value;
    let legal = text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric());
    if legal {
        return Ok(());
    }
    let fault = Fault::new("illegal-name", &name.span, format!("`{text}` is no name of a type"));
    Err(fault.hint("use a capital letter, then letters and digits"))
}

/// Plurals, short names and categories: DNS labels that begin with a letter (RFC 1035).
pub(super) fn label(name: &At<String>, what: &str) -> Result<(), Fault> {
    if is_label(&name.value) {
        return Ok(());
    }
    let message = format!("`{}` is no {what}", name.value);
    let fault = Fault::new("illegal-name", &name.span, message);
    Err(fault.hint("use a lower-case letter, then lower-case letters, digits and `-`"))
}

fn is_label(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= 63
        && !text.ends_with('-')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// A kind of one's own lives in a group of one's own; those of Kubernetes are protected.
pub(super) fn kind(kind: &Gvk, span: &Range<usize>) -> Result<(), Fault> {
    let fault = |message: String| Fault::new("illegal-kind", span, message);
    let group = &kind.group;
    let of_kubernetes = |group: &str| {
        ["k8s.io", "kubernetes.io"].iter().any(|known| {
            group.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    };
    if !group.contains('.') || of_kubernetes(group) {
        let group = if group.is_empty() { "the core group".into() } else { format!("`{group}`") };
        let fault = fault(format!("{group} is no group for a kind of your own"));
        return Err(fault.hint(
            "a kind that exists needs no `schema`; a new one is in a domain of yours: `apps.example.com/v1`",
        ));
    }
    let legal = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    if group.len() > 253 || !group.split('.').all(legal) {
        return Err(fault(format!("`{group}` is no API group"))
            .hint("a group is a domain in lower case: `apps.example.com`"));
    }
    if !is_label(&kind.version) {
        return Err(
            fault(format!("`{}` is no version", kind.version)).hint("for example `v1alpha1`")
        );
    }
    let camel = kind.kind.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.kind.len() <= 63
        && kind.kind.chars().all(|c| c.is_ascii_alphanumeric());
    if !camel {
        return Err(fault(format!("`{}` is no kind", kind.kind)).hint("write one CamelCase word"));
    }
    Ok(())
}

/// The plural of a kind in lower case, by the rules of regular English nouns.
pub(super) fn plural(kind: &str) -> String {
    let noun = kind.to_lowercase();
    let hissing = ["s", "x", "z", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        Some(stem) if !stem.is_empty() && !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => {
            format!("{stem}ies")
        }
        _ if hissing => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_nouns_have_their_plural() {
        for (kind, expected) in [
            ("WebApp", "webapps"),
            ("Policy", "policies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Box", "boxes"),
            ("Batch", "batches"),
            ("Mesh", "meshes"),
            ("Waltz", "waltzes"),
            ("Database", "databases"),
            ("Y", "ys"),
        ] {
            assert_eq!(plural(kind), expected, "{kind}");
        }
    }

    #[test]
    fn kinds_of_kubernetes_and_illegal_ones_are_refused() {
        for (api_version, name, legal) in [
            ("demo.kubewright.io/v1", "WebApp", true),
            ("notk8s.io/v1", "WebApp", true),
            ("v1", "WebApp", false),
            ("apps/v1", "Deployment", false),
            ("x.k8s.io/v1", "WebApp", false),
            ("kubernetes.io/v1", "WebApp", false),
            ("Demo.example.com/v1", "WebApp", false),
            ("demo..com/v1", "WebApp", false),
            ("demo.example.com/1", "WebApp", false),
            ("demo.example.com/v1", "webApp", false),
            ("demo.example.com/v1", "Web-App", false),
        ] {
            let gvk = Gvk::parse(api_version, name).unwrap();
            assert_eq!(kind(&gvk, &(0..0)).is_ok(), legal, "{api_version} {name}");
        }
    }
}
