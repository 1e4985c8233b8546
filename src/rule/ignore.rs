//! From an `ignore` path to the spots that matching, projection and the sent body leave out.
//!
//! In: a compiled path. Out: spots, or nothing if the path asks for more than a place. Pure.

use crate::owned::Spot;
use crate::path::{Path, Step};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// `[*]`, or `[?@.name == 'app']`.
static SELECTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\[\*\]|\[\?\s*@\.([A-Za-z0-9_]+)\s*==\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\]"#).ok()
});

/// Names, positions, `[*]` and `[?@.key == 'text']`; anything else names no fixed place.
pub(super) fn spots(path: &Path) -> Option<Vec<Spot>> {
    let text = path.as_str().strip_prefix('$')?;
    let mut spots = Vec::new();
    let mut rest = 0;
    for found in SELECTION.as_ref()?.captures_iter(text) {
        let whole = found.get(0)?;
        spots.extend(plain(&text[rest..whole.start()])?);
        rest = whole.end();
        spots.push(match found.get(1) {
            None => Spot::Every,
            Some(key) => {
                let wanted = found.get(2).or_else(|| found.get(3))?.as_str();
                Spot::Where(vec![(key.as_str().to_owned(), Value::from(wanted))])
            }
        });
    }
    spots.extend(plain(&text[rest..])?);
    (!spots.is_empty()).then_some(spots)
}

fn plain(piece: &str) -> Option<Vec<Spot>> {
    let path = Path::parse(&format!("${piece}")).ok()?;
    let spot = |step: &Step| match step {
        Step::Key(name) => Spot::Field(name.clone()),
        Step::Index(index) => Spot::Index(*index),
    };
    Some(path.plain_steps()?.iter().map(spot).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<Vec<Spot>> {
        spots(&Path::parse(path).unwrap())
    }

    #[test]
    fn places_become_spots_and_searches_do_not() {
        let field = |name: &str| Spot::Field(name.into());
        let named = |name: &str| Spot::Where(vec![("name".into(), Value::from(name))]);
        assert_eq!(of("$.spec.replicas"), Some(vec![field("spec"), field("replicas")]));
        assert_eq!(of("$.a[*].b"), Some(vec![field("a"), Spot::Every, field("b")]));
        assert_eq!(of("$.a[?@.name == 'x'].b"), Some(vec![field("a"), named("x"), field("b")]));
        assert_eq!(of("$.a[?@.name==\"x\"]"), Some(vec![field("a"), named("x")]));
        assert_eq!(of("$['a/b'][0]"), Some(vec![field("a/b"), Spot::Index(0)]));
        for searching in ["$..image", "$.a[?@.b > 1]", "$", "$.a[1:2]"] {
            assert_eq!(of(searching), None, "{searching}");
        }
    }
}
