//! Nothing is lost, doubled or written for ever, whatever the network, the servers and our own process do.

mod kept;
mod kills;
mod plot;
mod servers;
mod storms;

pub(crate) use kept::*;
pub(crate) use kills::*;
pub(crate) use servers::*;
pub(crate) use storms::*;
