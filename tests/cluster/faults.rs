//! Nothing is lost, doubled or written for ever, whatever the network, the servers and our own process do.

mod plot;
mod storms;

pub(crate) use storms::*;
