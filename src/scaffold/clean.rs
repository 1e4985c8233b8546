//! Takes out of a manifest what a server or another program filled in.
//!
//! In: a manifest's text and tree. Out: the text without those lines, and the object that it says. Where that cannot be
//! done line by line, the object is printed anew. Pure.

use super::edit::cut;
use super::manifest::says;
use crate::marks;
use crate::yaml::{self, Kind, Node};
use serde_json::{Map, Value};
use std::ops::Range;

/// What counts as filled in.
pub(super) struct Bookkeeping {
    /// Whether `metadata.namespace` does: the parent's namespace is the children's.
    pub namespace: bool,
}

const METADATA: &[&str] = &[
    "uid",
    "resourceVersion",
    "managedFields",
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "selfLink",
    "ownerReferences",
];

/// Annotations that controllers and `kubectl` write.
const ANNOTATIONS: &[&str] =
    &["kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"];

/// The text, the object, and whether the text is still the author's.
pub(super) fn clean(
    text: &str,
    root: &Node,
    written: &Value,
    bookkeeping: &Bookkeeping,
) -> (String, Value, bool) {
    let mut object = written.clone();
    let paths = unwanted(written, bookkeeping);
    for path in &paths {
        remove(&mut object, path);
    }
    let ranges: Option<Vec<_>> = paths.iter().map(|path| lines(text, root, path)).collect();
    if let Some(ranges) = ranges {
        let cut = cut(text, ranges);
        if says(&cut, &object) {
            return (cut, object, true);
        }
    }
    (yaml::print(&object), object, false)
}

type Keys = Vec<String>;

fn unwanted(object: &Value, bookkeeping: &Bookkeeping) -> Vec<Keys> {
    let mut paths: Vec<Keys> = vec![vec!["status".into()]];
    let below = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Keys>();
    paths.extend(METADATA.iter().map(|name| below(&["metadata", name])));
    if bookkeeping.namespace {
        paths.push(below(&["metadata", "namespace"]));
    }
    let templates: [&[&str]; 3] = [
        &["spec", "template", "metadata", "creationTimestamp"],
        &["spec", "jobTemplate", "metadata", "creationTimestamp"],
        &["spec", "jobTemplate", "spec", "template", "metadata", "creationTimestamp"],
    ];
    paths.extend(templates.iter().map(|names| below(names)));
    for kind in ["labels", "annotations"] {
        let Some(entries) = object.pointer(&format!("/metadata/{kind}")).and_then(Value::as_object)
        else {
            continue;
        };
        let is_unwanted = |name: &&String| {
            name.starts_with(marks::PREFIX) || ANNOTATIONS.contains(&name.as_str())
        };
        let names: Vec<&String> = entries.keys().filter(is_unwanted).collect();
        if !names.is_empty() && names.len() == entries.len() {
            paths.push(below(&["metadata", kind]));
        } else {
            paths.extend(names.into_iter().map(|name| below(&["metadata", kind, name])));
        }
    }
    let is_service = object.get("kind").and_then(Value::as_str) == Some("Service");
    if is_service && object.pointer("/spec/clusterIP").is_some_and(|ip| ip != "None") {
        paths.extend([below(&["spec", "clusterIP"]), below(&["spec", "clusterIPs"])]);
    }
    paths.retain(|path| find(object, path).is_some());
    paths
}

fn find<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

fn remove(object: &mut Value, path: &[String]) {
    let Some((last, before)) = path.split_last() else { return };
    let map = before.iter().try_fold(object, |value, key| value.get_mut(key));
    map.and_then(Value::as_object_mut).map(|map: &mut Map<_, _>| map.remove(last));
}

/// The lines of an entry that has them for itself.
fn lines(text: &str, root: &Node, path: &[String]) -> Option<Range<usize>> {
    let (last, before) = path.split_last()?;
    let map = before.iter().try_fold(root, |node, key| node.get(key))?;
    let Kind::Mapping(entries) = &map.kind else { return None };
    let (key, value) = entries.iter().find(|(key, _)| key.as_str() == Some(last))?;
    let start = text[..key.span.start].rfind('\n').map_or(0, |at| at + 1);
    if !text[start..key.span.start].trim().is_empty() {
        return None;
    }
    let end = value.span.end.max(key.span.end);
    // A block scalar reaches into the indentation of the line below it.
    let own = text[..end].trim_end_matches(' ');
    let end = if own.ends_with('\n') {
        own.len()
    } else {
        let rest = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
        let after = text[end..rest].trim();
        let nothing =
            after.is_empty() || after.starts_with('#') || (after == ":" && value.span.is_empty());
        nothing.then_some(rest)?
    };
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Limits;

    fn cleaned(text: &str) -> (String, bool) {
        let documents = yaml::parse(text, &Limits::FILE).unwrap();
        let root = &documents[0].root;
        let (text, object, kept) =
            clean(text, root, &root.to_json(), &Bookkeeping { namespace: true });
        assert!(says(&text, &object), "{text}");
        (text, kept)
    }

    #[test]
    fn lines_of_the_server_go_and_the_others_stay() {
        let text = "\
kind: Service # a comment
metadata:
  # its name
  name: a
  namespace: b # gone
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {\"a\": 1}
  creationTimestamp: null
  managedFields:
    - manager: x
      fieldsV1: {}
spec:
  clusterIP: 10.0.0.1
  clusterIPs:
  - 10.0.0.1
  ports: [] # kept
status:
  loadBalancer: {}
";
        let expected = "\
kind: Service # a comment
metadata:
  # its name
  name: a
spec:
  ports: [] # kept
";
        assert_eq!(cleaned(text), (expected.to_owned(), true));
    }

    #[test]
    fn what_shares_its_line_is_printed_anew() {
        let (text, kept) = cleaned("kind: Pod\nmetadata: {name: a, uid: b}\n");
        assert!(!kept);
        assert!(!text.contains("uid"), "{text}");
    }

    #[test]
    fn a_headless_service_stays_headless() {
        let text = "kind: Service\nspec:\n  clusterIP: None\n";
        assert_eq!(cleaned(text), (text.to_owned(), true));
    }
}
