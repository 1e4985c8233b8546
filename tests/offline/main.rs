//! Everything that needs no cluster and takes seconds.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test program; the lints know only functions that are marked as tests"
)]

mod absence;
mod allocations;
mod chart;
mod check;
mod codes;
mod commands;
mod corpus;
mod docs;
mod first_run;
mod graph;
mod groups;
mod inputs;
mod inventory;
mod lints;
mod new;
mod plan;
mod policies;
mod problems;
mod program;
mod rbac;
mod reference;
mod running;
mod scenarios;
mod schema;
mod second_pass;
mod shell;
mod shipped;
mod tidy;
