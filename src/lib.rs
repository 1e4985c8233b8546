//! Kubewright: a Kubernetes operator configured by files.

pub mod comparison;
pub mod control_plane;
pub mod object;
pub mod owned;
pub mod path;
pub mod problem;
pub mod queue;
pub mod source;
pub mod store;
pub mod template;
pub mod watch;
pub mod yaml;
