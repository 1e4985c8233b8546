//! What fuzzing found worth keeping: every file of `fuzz/corpus` through the body of its target.
//!
//! `docs/CONTRIBUTING.md` says how to fuzz; this only holds what is known.

#[path = "../../fuzz/bodies.rs"]
mod bodies;

use std::fs;
use std::path::Path;

/// Files of one corpus: a test takes a second, and a corpus can be read through.
const MOST_FILES: usize = 60;
const LONGEST_FILE: usize = 4 << 10;

fn all_of(target: &str, body: fn(&[u8])) {
    let folder = Path::new("fuzz/corpus").join(target);
    let mut files: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!((10..=MOST_FILES).contains(&files.len()), "{target}: {} files", files.len());
    for file in files {
        let data = fs::read(&file).unwrap();
        let name = file.display();
        assert!(data.len() <= LONGEST_FILE, "{name} is too long");
        // The name of the file stands in the way of no panic: it is what one wants to know then.
        let panicked = std::panic::catch_unwind(|| body(&data)).is_err();
        assert!(!panicked, "{name} breaks what `bodies::{target}` promises, see above");
    }
}

#[test]
fn every_rule_file_of_the_corpus_keeps_the_promises() {
    all_of("rules", bodies::rules);
}

#[test]
fn every_template_of_the_corpus_keeps_the_promises() {
    all_of("templates", bodies::templates);
}

#[test]
fn every_path_of_the_corpus_keeps_the_promises() {
    all_of("paths", bodies::paths);
}
