//! What a pass costs that finds nothing to do: each of its pure steps, and all of them, for small and for large children.
//!
//! `cargo bench --bench pass`. The column `item/s` counts children: 50 Kitem/s are 20 microseconds per child.

mod quiet;

use divan::Bencher;
use divan::counter::ItemsCount;
use quiet::{Case, Quiet};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CASES: [Case; 3] = [Case::App, Case::Text, Case::Many(1000)];

fn main() {
    divan::main();
}

#[divan::bench(args = CASES)]
fn pass(bencher: Bencher<'_, '_>, case: Case) {
    let mut quiet = Quiet::new(case);
    bencher.counter(ItemsCount::new(quiet.children())).bench_local(|| quiet.pass());
}

/// What a pass does of which nothing has changed since the last one.
#[divan::bench(args = CASES)]
fn unchanged(bencher: Bencher<'_, '_>, case: Case) {
    let quiet = Quiet::new(case);
    let seen = quiet.seen();
    bencher.counter(ItemsCount::new(quiet.children())).bench_local(|| quiet.is_same(&seen));
}

mod step {
    use super::{Bencher, CASES, Case, ItemsCount, Quiet};

    #[divan::bench(args = CASES)]
    fn a_fetch(bencher: Bencher<'_, '_>, case: Case) {
        let quiet = Quiet::new(case);
        bencher.counter(ItemsCount::new(quiet.children())).bench_local(|| quiet.fetch());
    }

    #[divan::bench(args = CASES)]
    fn b_render(bencher: Bencher<'_, '_>, case: Case) {
        let quiet = Quiet::new(case);
        let observed = || quiet.fetch();
        let bencher = bencher.counter(ItemsCount::new(quiet.children()));
        bencher.with_inputs(observed).bench_local_refs(|observed| quiet.render(observed));
    }

    #[divan::bench(args = CASES)]
    fn c_compare(bencher: Bencher<'_, '_>, case: Case) {
        let mut quiet = Quiet::new(case);
        let observed = quiet.fetch();
        let desired = quiet.render(&observed);
        let bencher = bencher.counter(ItemsCount::new(quiet.children()));
        bencher.bench_local(|| quiet.compare(&desired, &observed).children.len());
    }

    #[divan::bench(args = CASES)]
    fn d_status(bencher: Bencher<'_, '_>, case: Case) {
        let quiet = Quiet::new(case);
        let observed = quiet.fetch();
        let desired = quiet.render(&observed);
        let bencher = bencher.counter(ItemsCount::new(quiet.children()));
        bencher.bench_local(|| quiet.status(&desired, &observed));
    }
}
