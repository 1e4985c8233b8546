//! Everything that needs no cluster and takes seconds.
#![expect(
    clippy::unwrap_used,
    reason = "a test program; the lints know only functions that are marked as tests"
)]

mod commands;
mod second_pass;
mod shipped;
mod tidy;
