//! What a pass allocates that finds nothing to do. Counted, not timed: the same on every machine.

#[path = "../../benches/pass/quiet.rs"]
mod quiet;

use allocation_counter::measure;
use quiet::{Case, Quiet};

#[test]
fn fetching_children_reads_none_of_them() {
    for case in [Case::App, Case::Text, Case::Many(50)] {
        let quiet = Quiet::new(case);
        let fetched = measure(|| drop(quiet.fetch()));
        let per_child = fetched.bytes_total / quiet.children() as u64;
        // Marks, owners and the fingerprint of our entry; the child of `Text` alone has 300 KB.
        assert!(per_child <= 8 << 10, "{case:?}: {per_child} bytes per child");
    }
}

#[test]
fn an_unchanged_pass_copies_no_object() {
    for case in [Case::App, Case::Text, Case::Many(50)] {
        let quiet = Quiet::new(case);
        let seen = quiet.seen();
        let looked = measure(|| assert!(quiet.is_same(&seen)));
        let per_child = looked.bytes_total / quiet.children() as u64;
        // The fetch alone: the child of `Text` has 300 KB.
        assert!(per_child <= 8 << 10, "{case:?}: {per_child} bytes per child");
    }
}

#[test]
fn a_whole_pass_allocates_no_more_than_it_did() {
    // A rendered object is still made as a tree, though it is what it was: that is nearly all of it.
    for (case, most) in [(Case::App, 110 << 10), (Case::Text, 2 << 20), (Case::Many(50), 44 << 10)]
    {
        let mut quiet = Quiet::new(case);
        quiet.pass();
        let passed = measure(|| drop(quiet.pass()));
        let per_child = passed.bytes_total / quiet.children() as u64;
        assert!(per_child <= most, "{case:?}: {per_child} bytes per child");
    }
}
