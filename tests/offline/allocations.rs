//! What a pass allocates that finds nothing to do. Counted, not timed: the same on every machine.

#[path = "../../benches/pass/quiet.rs"]
mod quiet;

use allocation_counter::measure;
use quiet::{Case, Quiet};

/// Bytes that are allocated per child by a whole pass.
fn per_child(case: Case) -> u64 {
    let mut quiet = Quiet::new(case);
    quiet.pass();
    let passed = measure(|| drop(quiet.pass()));
    passed.bytes_total / quiet.children() as u64
}

#[test]
fn fetching_children_reads_none_of_them() {
    for case in [Case::App, Case::Text, Case::Many] {
        let quiet = Quiet::new(case);
        let fetched = measure(|| drop(quiet.fetch()));
        let per_child = fetched.bytes_total / quiet.children() as u64;
        assert!(
            per_child <= 4096,
            "{case:?}: {per_child} bytes per child of {}",
            quiet.bytes() / quiet.children()
        );
    }
}

#[test]
fn print() {
    for case in [Case::App, Case::Text, Case::Many] {
        println!("{case:?} {}", per_child(case));
    }
}
