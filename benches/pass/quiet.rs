//! A parent whose children are all as they should be, in caches as a controller has them; and the steps of a pass over it.
//!
//! In: a rule of `benches/rules`. Out: what each step gives. Never here: a cluster; measuring.
#![expect(clippy::expect_used, reason = "for benchmarks and tests; nobody else depends on it")]

use k8s_openapi::jiff::Timestamp;
use kubewright::act::{Done, Outcome, Patched};
use kubewright::compare::{Action, Memos, Plan, compare};
use kubewright::fetch::{ChildCache, Observed, Owner, fetch, owner_keys_of};
use kubewright::reconcile::{Around, Seen};
use kubewright::render::{Desired, Setting, render};
use kubewright::rule::{self, Rule};
use kubewright::scenario::Server;
use kubewright::scope::Scopes;
use kubewright::status::{self, Said};
use kubewright::store::{Store, Stored};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What a parent and its children are like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Case {
    /// A `ConfigMap` of 1 KB, a Service and a Deployment of 3 KB.
    App,
    /// A `ConfigMap` of 300 KB, all of it from the parent.
    Text,
    /// So many small `ConfigMap`s of one group.
    Many(usize),
}

/// A parent at rest.
pub(crate) struct Quiet {
    rule: Arc<Rule>,
    parent: Arc<Stored>,
    caches: Vec<ChildCache>,
    scopes: Scopes,
    manager: String,
    memos: Memos,
    now: Timestamp,
}

impl Case {
    /// The rule's name, and the parent.
    fn parent(self) -> (&'static str, Value) {
        let line = "All happy families are alike; each unhappy family is unhappy in its own way.\n";
        let text = |bytes: usize| line.repeat(bytes / line.len());
        let (rule, kind, spec) = match self {
            Self::App => (
                "app",
                "App",
                json!({"image": "registry.example.com/shop/frontend:1.2.3", "team": "shop", "replicas": 2, "port": 8080,
                    "level": "info", "variables": {"REGION": "eu-west-1", "CURRENCY": "EUR", "CACHE_SIZE": "512",
                    "GREETING": "Good morning"}}),
            ),
            Self::Text => {
                let file = |number| (format!("{number}.txt"), Value::from(text(100 << 10)));
                let files: serde_json::Map<_, _> = (0..3).map(file).collect();
                ("text", "Text", json!({ "files": files }))
            }
            Self::Many(count) => {
                let item = |number: usize| json!({"name": format!("item-{number}"), "port": number, "weight": number % 7});
                ("many", "Many", json!({"items": (0..count).map(item).collect::<Vec<_>>()}))
            }
        };
        let metadata = json!({"name": "shop", "namespace": "default"});
        let api_version = "bench.kubewright.io/v1";
        let parent =
            json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec});
        (rule, parent)
    }
}

impl Quiet {
    /// Makes the children as a server would have them after a first pass, and remembers them.
    pub(crate) fn new(case: Case) -> Self {
        let (name, parent) = case.parent();
        let rules = format!("benches/rules/{name}.yaml");
        let folder = rule::read(Path::new(&rules), Path::new("benches/templates"))
            .expect("the rules of the benchmarks");
        let loaded = rule::load(&folder);
        assert_eq!(loaded.problems, []);
        let rule = Arc::clone(&loaded.rules[0]);
        let (scopes, now) = (Scopes::default(), Timestamp::UNIX_EPOCH);
        let mut server = Server::new(&rule, &scopes, &parent).expect("a parent");
        let observed = server.observed().expect("a parent alone");
        let desired = rendered(&rule, &observed, &scopes, now);
        for child in &desired.children {
            server.apply(child, &child.object, now).expect("an apply");
            server.edit(&child.name(), None, &json!({}), true).expect("a controller's report");
        }
        let observed = server.observed().expect("all are readable");
        let mut stores: BTreeMap<_, Arc<Store>> = BTreeMap::new();
        for child in &desired.children {
            let new = || Arc::new(Store::new(&child.gvk, true, Some(Arc::new(owner_keys_of))));
            let store = stores.entry(child.gvk.clone()).or_insert_with(new);
            store.observe(Stored::clone(&observed.children[&child.id].stored));
        }
        let cache = |store| ChildCache { namespace: None, store, trouble: None };
        let mut quiet = Self {
            parent: Arc::clone(&observed.parent.stored),
            caches: stores.into_values().map(cache).collect(),
            manager: server.owner().manager.to_owned(),
            rule,
            scopes,
            memos: Memos::new(),
            now,
        };
        let observed = quiet.fetch();
        let desired = quiet.render(&observed);
        assert!(quiet.compare(&desired, &observed).is_empty(), "it is at rest");
        assert_eq!(quiet.memos.len(), quiet.children(), "all are remembered");
        quiet
    }

    /// What a pass remembers that leaves nothing to do.
    pub(crate) fn seen(&self) -> Seen {
        Seen::of(self.around(), &self.fetch()).expect("nothing else decides")
    }

    /// Looks at everything again, and whether it is the same.
    pub(crate) fn is_same(&self, seen: &Seen) -> bool {
        let same = seen.is_same(self.around(), &self.fetch());
        assert!(same, "nothing has changed");
        same
    }

    fn around(&self) -> Around<'_> {
        Around { rule: &self.rule, shape: None, scopes: &self.scopes, came: 0 }
    }

    /// How many children there are.
    pub(crate) fn children(&self) -> usize {
        self.caches.iter().map(|cache| cache.store.len()).sum()
    }

    fn owner(&self) -> Owner<'_> {
        Owner {
            rule: &self.rule.identity,
            parent: &self.parent.id,
            uid: &self.parent.uid,
            manager: &self.manager,
        }
    }

    pub(crate) fn fetch(&self) -> Observed {
        let (parent, read) = (Arc::clone(&self.parent), (Arc::default(), Arc::default()));
        fetch(parent, &self.caches, read, &self.rule.identity, &self.manager)
    }

    pub(crate) fn render(&self, observed: &Observed) -> Desired {
        rendered(&self.rule, observed, &self.scopes, self.now)
    }

    pub(crate) fn compare<'a>(&mut self, desired: &'a Desired, observed: &'a Observed) -> Plan<'a> {
        let mut memos = std::mem::take(&mut self.memos);
        let plan = compare(desired, observed, &mut memos, &self.owner());
        self.memos = memos;
        plan.checked(&self.caches, &self.owner())
    }

    pub(crate) fn status(&self, desired: &Desired, observed: &Observed) -> Said {
        let kept = desired.children.iter().map(|_| Ok(Done::Kept)).collect();
        let (pruned, contested) = (Vec::new(), BTreeMap::new());
        let outcome = Outcome { children: kept, pruned, contested, look_again: None };
        let said = (&outcome, &Patched::default());
        status::compute(&self.rule, desired, said, observed, self.now)
    }

    /// All that a pass does where nothing is to be done, besides writing a status that is the same.
    pub(crate) fn pass(&mut self) -> Said {
        let observed = self.fetch();
        let desired = self.render(&observed);
        let plan = self.compare(&desired, &observed);
        assert!(plan.children.iter().all(|planned| planned.action == Action::Keep));
        self.status(&desired, &observed)
    }
}

fn rendered(rule: &Rule, observed: &Observed, scopes: &Scopes, now: Timestamp) -> Desired {
    let installation = "kubewright";
    let setting = Setting { scopes, installation, now, in_order: true, randomness: None };
    let desired = render(rule, observed, &setting);
    assert!(desired.problems().next().is_none());
    desired
}
