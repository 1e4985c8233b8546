//! Remembers what rendered texts say.
//!
//! In: a rendered text with placeholders. Out: its tree. Never here: values. The text depends only on the way that a
//! rendering took through its template, so that a thousand parents share a handful of trees; reading one costs three
//! times as much as everything else that a rendering does.

use crate::yaml::{self, Document, Limits};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of text remembered per rule (trees are some ten times as large); when there are more, all are forgotten and
/// the busy ones come back.
const MAX_BYTES: usize = 256 << 10;

/// The trees of one rule's texts.
#[derive(Debug, Default)]
pub(super) struct Skeletons {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    trees: HashMap<Box<str>, Arc<Vec<Document>>>,
    bytes: usize,
}

impl Skeletons {
    /// What the text says.
    pub(super) fn read(&self, text: &str) -> Result<Arc<Vec<Document>>, yaml::Error> {
        if let Some(tree) =
            self.known.lock().unwrap_or_else(PoisonError::into_inner).trees.get(text)
        {
            return Ok(Arc::clone(tree));
        }
        let tree = Arc::new(yaml::parse_keeping_merges(text, &Limits::RENDERED)?);
        if text.len() <= MAX_BYTES / 4 {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.bytes + text.len() > MAX_BYTES {
                *known = Known::default();
            }
            if known.trees.insert(text.into(), Arc::clone(&tree)).is_none() {
                known.bytes += text.len();
            }
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_a_tree_and_the_memory_is_bounded() {
        let skeletons = Skeletons::default();
        let first = skeletons.read("a: 1").unwrap();
        assert!(Arc::ptr_eq(&first, &skeletons.read("a: 1").unwrap()));
        for n in 0..100 {
            skeletons.read(&format!("a{n}: {}", "x".repeat(8 << 10))).unwrap();
            assert!(skeletons.known.lock().unwrap().bytes <= MAX_BYTES);
        }
        let long = format!("a: {}", "x".repeat(MAX_BYTES));
        skeletons.read(&long).unwrap();
        assert!(!skeletons.known.lock().unwrap().trees.contains_key(long.as_str()));
        assert!(skeletons.read("a: [").is_err());
    }
}
