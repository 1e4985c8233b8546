//! Kubewright: a Kubernetes operator configured by files.

pub mod source;
pub mod problem;
pub mod object;
pub mod yaml;
pub mod path;
pub mod comparison;
pub mod template;
pub mod owned;
pub mod store;
pub mod watch;
pub mod queue;
pub mod control_plane;
