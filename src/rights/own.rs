//! What the program needs in its own namespace, whatever its rules are.
//!
//! In: which of its parts run. Out: grants in that namespace.

use super::{Reach, Rights, Subject, Verb};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The program's own namespace.
#[derive(Clone, Debug)]
pub struct Own<'a> {
    /// Its name.
    pub namespace: &'a str,
    /// Whether replicas agree by Leases which of them works.
    pub leases: bool,
}

impl Rights {
    /// And what the program itself needs. Records are not granted by name: that of a rule which is gone must be found and
    /// cleared away too.
    #[must_use]
    pub fn with_own(mut self, own: &Own<'_>) -> Self {
        let mut add = |group: &str, resource: &str, verbs: &[Verb], why: &str| {
            let subject =
                Subject { group: group.into(), resource: resource.into(), names: BTreeSet::new() };
            let program = Arc::from("kubewright");
            let reach = Reach::Namespace(own.namespace.to_owned());
            self.add(reach, subject, verbs, (&program, why));
        };
        let records = [Verb::List, Verb::Watch, Verb::Create, Verb::Patch, Verb::Delete];
        add("", "configmaps", &records, "records of rules, and rules in ConfigMaps");
        let events = [Verb::Get, Verb::Create, Verb::Patch];
        add("events.k8s.io", "events", &events, "Events about rules");
        if own.leases {
            let leases = [Verb::Get, Verb::List, Verb::Create, Verb::Update];
            add("coordination.k8s.io", "leases", &leases, "which replica works");
        }
        self.tidied()
    }
}
