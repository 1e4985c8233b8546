//! The hash of an intent, and the annotation that carries it on a child.
//!
//! In: a canonical intent. Out: 64 bits; the annotation's text and back. Never here: writing the annotation.

use ring::digest::{Context, SHA256};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::io::{self, BufWriter, Write};

/// The annotation of a child that says for which intent it was applied.
pub const INTENT_ANNOTATION: &str = "kubewright.io/intent";

/// Names the rules of [`super::canonical`] and [`intent_hash`]. A change of either that gives an unchanged template
/// another hash needs a new number.
const FORMAT: &str = "1.";

/// The first eight bytes of SHA-256 over the intent as compact JSON with sorted keys, without the annotation that
/// carries the hash (so that it is the same before and after the annotation is added).
///
/// A plain hash of short secrets can be guessed from outside: of a child that holds values of a Secret, hash a
/// copy in which they are replaced by that Secret's identity and version.
pub fn intent_hash(canonical: &Value) -> u64 {
    let mut text = BufWriter::new(Digest(Context::new(&SHA256)));
    // Neither can a JSON value fail to be written, nor a digest to take it.
    drop(serde_json::to_writer(&mut text, &Unmarked(canonical, Level::Object)));
    drop(text.flush());
    let digest = text.get_ref().0.clone().finish();
    let first = digest.as_ref().iter().take(8);
    first.fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// The annotation's text: `1.` and 16 hexadecimal digits.
pub fn intent_mark(hash: u64) -> String {
    format!("{FORMAT}{hash:016x}")
}

/// The hash in an annotation's text; `None` if it is of another format, as another version of Kubewright leaves it.
///
/// Such a child has an *unknown* intent, and a new format alone must never cause a write: judge it by
/// [`super::super::matches()`] alone, ignoring the annotation's value (we own it, so it matches). Covered means in sync;
/// the old text stays until the next real change. Only anything else is a new intent. This is not the case of a missing
/// annotation or a different hash in the known format, which always are a new intent.
pub fn marked_hash(annotation: &str) -> Option<u64> {
    let digits = annotation.strip_prefix(FORMAT)?;
    let well_formed = digits.len() == 16
        && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    well_formed.then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Takes a text in pieces, so that it is never there as a whole.
struct Digest(Context);

impl Write for Digest {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.update(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Level {
    Object,
    Metadata,
    Annotations,
    Inside,
}

/// A value that serialises without the annotation, and without `annotations` if nothing else is in there.
struct Unmarked<'a>(&'a Value, Level);

impl Serialize for Unmarked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Level::Object | Level::Metadata | Level::Annotations, Value::Object(map)) =
            (self.1, self.0)
        else {
            return self.0.serialize(serializer);
        };
        let mut out = serializer.serialize_map(None)?;
        for (name, value) in map {
            let level = match (self.1, name.as_str()) {
                (Level::Annotations, INTENT_ANNOTATION) => continue,
                (Level::Metadata, "annotations") if unmarked(value) => continue,
                (Level::Object, "metadata") => Level::Metadata,
                (Level::Metadata, "annotations") => Level::Annotations,
                _ => Level::Inside,
            };
            out.serialize_entry(name, &Unmarked(value, level))?;
        }
        out.end()
    }
}

/// Whether annotations hold nothing besides ours.
fn unmarked(annotations: &Value) -> bool {
    let others = |map: &Map<_, _>| map.keys().any(|name| name != INTENT_ANNOTATION);
    annotations.as_object().is_some_and(|map| !others(map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hash_is_of_the_compact_sorted_json() {
        // printf '{"a":{"b":[1,"x"],"c":true},"kind":"X"}' | sha256sum | cut -c1-16
        let intent = json!({"kind": "X", "a": {"c": true, "b": [1, "x"]}});
        assert_eq!(intent_mark(intent_hash(&intent)), "1.bada002fa338e6f9");
    }

    #[test]
    fn the_annotation_that_carries_it_does_not_count_but_others_do() {
        let plain = json!({"metadata": {"name": "a"}, "spec": {}});
        let with = |annotations: Value| {
            let mut object = plain.clone();
            object["metadata"]["annotations"] = annotations;
            intent_hash(&object)
        };
        let hash = intent_hash(&plain);
        assert_eq!(with(json!({INTENT_ANNOTATION: "1.0000000000000000"})), hash);
        assert_eq!(with(json!({})), hash);
        assert_ne!(with(json!({"other": "x"})), hash);
        assert_eq!(
            with(json!({"other": "x", INTENT_ANNOTATION: "y"})),
            with(json!({"other": "x"}))
        );
        let elsewhere =
            |spec: Value| intent_hash(&json!({"metadata": {"name": "a"}, "spec": spec}));
        assert_ne!(elsewhere(json!({"metadata": {"annotations": {INTENT_ANNOTATION: "x"}}})), hash);
        assert_ne!(elsewhere(json!({INTENT_ANNOTATION: "x"})), hash);
    }

    #[test]
    fn marks_read_back_and_other_formats_are_unknown() {
        for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(marked_hash(&intent_mark(hash)), Some(hash));
        }
        for text in [
            "",
            "1.",
            "2.0123456789abcdef",
            "1.0123456789ABCDEF",
            "1.+123456789abcdef",
            "1.123",
            "0123456789abcdef",
            "1.0123456789abcdef0",
        ] {
            assert_eq!(marked_hash(text), None, "{text}");
        }
    }
}
