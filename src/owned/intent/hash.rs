//! The hash of an intent, and the annotation that carries it on a child.
//!
//! In: a canonical intent. Out: 64 bits; the annotation's text and back. Never here: writing the annotation; a text made of
//! a secret value.

use crate::owned::secret::SecretPlaces;
use ring::digest::{Context, SHA256};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::fmt;
use std::io::{self, BufWriter, Write};

/// The annotation of a child that says for which intent it was applied.
pub const INTENT_ANNOTATION: &str = "kubewright.io/intent";

/// Names the rules of [`super::canonical`] and [`intent_hash`]. A change of either that gives an unchanged template
/// another hash needs a new number.
const WHOLE: &str = "1.";

/// The same hash of an object from which the secret values were left out.
const OPEN: &str = "2.";

/// The first eight bytes of SHA-256 over the intent as compact JSON with sorted keys, without the annotation that
/// carries the hash (so that it is the same before and after the annotation is added).
///
/// It stays in the process where the intent has secret values: from outside, short ones could be tried out. What stands on
/// an object is an [`IntentMark`].
pub fn intent_hash(canonical: &Value) -> u64 {
    let mut text = BufWriter::new(Digest(Context::new(&SHA256)));
    // Neither can a JSON value fail to be written, nor a digest to take it.
    drop(serde_json::to_writer(&mut text, &Unmarked(canonical, Level::Object)));
    drop(text.flush());
    let digest = text.get_ref().0.clone().finish();
    let first = digest.as_ref().iter().take(8);
    first.fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// What an object says about the intent for which it was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentMark {
    /// The hash of all of it.
    Whole(u64),
    /// The hash of what is not secret in it: the secret values are to be compared with those of the object.
    Open(u64),
    /// In a format of another version of Kubewright, which alone must never cause a write: to be judged by
    /// [`super::super::matches()`] and by the values. The old text stays until the next real change.
    Unknown,
}

impl IntentMark {
    /// What is to stand on an object with this intent. `intent` is its [`intent_hash`].
    pub fn of(intent: u64, canonical: &Value, secrets: &SecretPlaces) -> Self {
        if secrets.is_empty() {
            return Self::Whole(intent);
        }
        Self::Open(intent_hash(&secrets.blanked(canonical)))
    }

    /// Reads an annotation's text.
    pub fn parse(text: &str) -> Self {
        let hash = |digits: &str| {
            let well_formed = digits.len() == 16
                && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
            well_formed.then(|| u64::from_str_radix(digits, 16).ok())?
        };
        let whole = || text.strip_prefix(WHOLE).and_then(hash).map(Self::Whole);
        let open = || text.strip_prefix(OPEN).and_then(hash).map(Self::Open);
        whole().or_else(open).unwrap_or(Self::Unknown)
    }
}

/// The annotation's text: the format and 16 hexadecimal digits.
impl fmt::Display for IntentMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(hash) => write!(f, "{WHOLE}{hash:016x}"),
            Self::Open(hash) => write!(f, "{OPEN}{hash:016x}"),
            Self::Unknown => Ok(()),
        }
    }
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
    use crate::owned::secret::Hop;
    use serde_json::json;

    #[test]
    fn the_hash_is_of_the_compact_sorted_json() {
        // printf '{"a":{"b":[1,"x"],"c":true},"kind":"X"}' | sha256sum | cut -c1-16
        let intent = json!({"kind": "X", "a": {"c": true, "b": [1, "x"]}});
        let hash = intent_hash(&intent);
        let marked = |secrets: &SecretPlaces| IntentMark::of(hash, &intent, secrets).to_string();
        assert_eq!(marked(&SecretPlaces::default()), "1.bada002fa338e6f9");
        // printf '{"a":{"b":null,"c":true},"kind":"X"}' | sha256sum | cut -c1-16
        let place = ["a", "b"].map(|key| Hop::Key(key.into())).to_vec();
        assert_eq!(marked(&SecretPlaces::new([place])), "2.a27f7300e39d4878");
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
    fn a_mark_of_an_object_with_secrets_is_no_function_of_their_values() {
        let secret = |value: &str| json!({"kind": "Secret", "data": {"pin": value}});
        let places = SecretPlaces::of_a_secret();
        let mark = |object: &Value| IntentMark::of(intent_hash(object), object, &places);
        assert_eq!(mark(&secret("MQ==")), mark(&secret("Mg==")));
        assert_ne!(
            mark(&secret("MQ==")),
            mark(&json!({"kind": "Secret", "data": {"key": "MQ=="}}))
        );
    }

    #[test]
    fn marks_read_back_and_other_formats_are_unknown() {
        for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            for mark in [IntentMark::Whole(hash), IntentMark::Open(hash)] {
                assert_eq!(IntentMark::parse(&mark.to_string()), mark);
            }
        }
        for text in [
            "",
            "1.",
            "3.0123456789abcdef",
            "1.0123456789ABCDEF",
            "1.+123456789abcdef",
            "1.123",
            "0123456789abcdef",
            "1.0123456789abcdef0",
        ] {
            assert_eq!(IntentMark::parse(text), IntentMark::Unknown, "{text}");
        }
    }
}
