//! Reads what concerns some rules: each list once, however many rules ask for it.
//!
//! In: a [`Request`]. Out: a [`Snapshot`]. Never here: a write; a watch.

use super::{Lack, RuleState, Snapshot};
use crate::cluster::Cluster;
use crate::fetch::{ChildCache, owner_keys_of};
use crate::input::InputCaches;
use crate::object::{Gvk, ObjectId};
use crate::reach::Reach;
use crate::refusal::{Class, Refusal};
use crate::rule::Rule;
use crate::scope::{Scope, Scopes};
use crate::status::{Shape, shape_of};
use crate::store::{Store, Stored};
use crate::watch::{self, Kind, WatchKey};
use futures::StreamExt;
use kube::Client;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Lists that are read at once.
const LISTS_AT_ONCE: usize = 4;

/// A kind that is served and not described is asked for again so often.
const SHAPE_TRIES: usize = 10;

/// What is to be read.
pub struct Request<'a> {
    /// The rules.
    pub rules: &'a [Arc<Rule>],
    /// The installation whose children are looked for.
    pub installation: &'a str,
    /// Only parents of this namespace.
    pub namespace: Option<&'a str>,
    /// Only parents that these say yes to.
    pub wanted: &'a dyn Fn(&Kind, &ObjectId) -> bool,
}

/// Reads it.
pub async fn read(client: &Client, cluster: &Cluster, request: &Request<'_>) -> Snapshot {
    let mut reader = Reader { cluster, request, lists: HashMap::new(), lacks: BTreeSet::new() };
    let mut found = Vec::new();
    for rule in request.rules {
        let kinds = reader.kinds(rule).await;
        found.push((Arc::clone(rule), kinds));
    }
    let keys: Vec<WatchKey> = found
        .iter()
        .flat_map(|(rule, kinds)| Keys::of(rule, kinds, request).all())
        .collect::<std::collections::HashSet<_>>()
        .into_iter()
        .collect();
    reader.list(client, keys).await;
    let mut rules = Vec::new();
    for (rule, kinds) in found {
        let state = reader.state(rule, &kinds).await;
        rules.push(state);
    }
    Snapshot { rules, lacks: reader.lacks.into_iter().collect() }
}

/// The kinds of a rule that are served.
struct Served {
    kinds: BTreeMap<Gvk, Arc<Kind>>,
    scopes: Scopes,
    namespaces: Vec<String>,
    /// Whether no parent of it is asked for.
    idle: bool,
}

/// What is to be listed for a rule.
#[derive(Default)]
struct Keys {
    parents: Vec<WatchKey>,
    children: BTreeMap<Gvk, Vec<WatchKey>>,
    targets: BTreeMap<Gvk, Vec<WatchKey>>,
    inputs: Vec<Vec<WatchKey>>,
    namespaces: Option<WatchKey>,
}

impl Keys {
    fn of(rule: &Rule, served: &Served, request: &Request<'_>) -> Self {
        if served.idle {
            return Self::default();
        }
        let reach = Reach { rule, scopes: &served.scopes, namespaces: &served.namespaces };
        let kind = |gvk: &Gvk| served.kinds.get(gvk);
        let keys = |gvk: &Gvk, of: &dyn Fn(&Kind) -> Vec<WatchKey>| {
            (gvk.clone(), kind(gvk).map(|kind| of(kind)).unwrap_or_default())
        };
        let installation = request.installation;
        let children =
            rule.kinds().map(|gvk| keys(gvk, &|kind| reach.children(kind, installation)));
        let targets = rule.target_kinds().into_iter();
        let targets = targets.map(|gvk| keys(gvk, &|kind| reach.targets(kind)));
        let inputs = rule
            .inputs
            .iter()
            .map(|input| kind(&input.gvk).map(|kind| reach.input(input, kind)).unwrap_or_default());
        let parents = rule.parent.kinds.iter().filter_map(kind);
        Self {
            parents: parents.flat_map(|kind| reach.parents(kind, true.into())).collect(),
            children: children.collect(),
            targets: targets.collect(),
            inputs: inputs.collect(),
            namespaces: kind(&namespace()).map(|kind| Reach::namespaces(kind)),
        }
    }

    fn all(self) -> impl Iterator<Item = WatchKey> {
        let children = self.children.into_values().flatten();
        let targets = self.targets.into_values().flatten();
        let inputs = self.inputs.into_iter().flatten();
        let all = self.parents.into_iter().chain(children).chain(targets).chain(inputs);
        all.chain(self.namespaces).map(usual)
    }
}

/// A namespace says nothing where there are none.
fn usual(key: WatchKey) -> WatchKey {
    WatchKey { namespace: key.namespace.filter(|_| key.resource.namespaced), ..key }
}

fn namespace() -> Gvk {
    Gvk { group: String::new(), version: "v1".into(), kind: "Namespace".into() }
}

struct Reader<'a> {
    cluster: &'a Cluster,
    request: &'a Request<'a>,
    lists: HashMap<WatchKey, ChildCache>,
    lacks: BTreeSet<Lack>,
}

impl Reader<'_> {
    /// Asks which kinds of a rule are served.
    async fn kinds(&mut self, rule: &Rule) -> Served {
        let own = &rule.parent.namespaces;
        let asked = self.request.namespace.map(str::to_owned);
        let idle = asked.as_ref().is_some_and(|asked| !own.is_empty() && !own.contains(asked));
        let namespaces = asked.map_or_else(|| own.clone(), |asked| vec![asked]);
        let mut served =
            Served { kinds: BTreeMap::new(), scopes: Scopes::default(), namespaces, idle };
        if idle {
            return served;
        }
        let inputs = rule.inputs.iter().map(|input| &input.gvk);
        let namespaces = rule.asks_for_namespaces().then(namespace);
        let all = rule.parent.kinds.iter().chain(rule.kinds()).chain(inputs);
        let all = all.chain(rule.target_kinds()).chain(&namespaces);
        for gvk in all.collect::<BTreeSet<_>>() {
            match self.cluster.kinds.resolve(gvk).await {
                Ok(kind) => {
                    let is_global = !kind.resource.namespaced;
                    let scope = if is_global { Scope::Cluster } else { Scope::Namespaced };
                    served.scopes.learn(gvk.group_kind(), scope);
                    served.kinds.insert(gvk.clone(), kind);
                }
                Err(error) => drop(self.lacks.insert(Lack::of_kind(&rule.name, gvk, &error))),
            }
        }
        served
    }

    async fn list(&mut self, client: &Client, keys: Vec<WatchKey>) {
        let one = |key: WatchKey| async move {
            let listed = watch::list_once(client, key.clone(), Some(Arc::new(owner_keys_of))).await;
            (key, listed)
        };
        let work: Vec<_> = keys.into_iter().map(one).collect();
        let mut listed = futures::stream::iter(work).buffer_unordered(LISTS_AT_ONCE);
        while let Some((key, listed)) = listed.next().await {
            let namespace = key.namespace.clone();
            let (store, trouble) = match listed {
                Ok(store) => (store, None),
                Err(error) => {
                    let lack = Lack::of_list(&key, &error);
                    let nothing = Store::new(&key.resource.gvk, key.managed_fields, None);
                    let trouble = lack.what.clone();
                    self.lacks.insert(lack);
                    (Arc::new(nothing), Some(trouble))
                }
            };
            self.lists.insert(key, ChildCache { namespace, store, trouble });
        }
    }

    fn caches(&self, gvk: &Gvk, keys: Vec<WatchKey>) -> Vec<ChildCache> {
        if keys.is_empty() {
            return vec![ChildCache::unserved(gvk)];
        }
        keys.into_iter().filter_map(|key| self.lists.get(&usual(key)).cloned()).collect()
    }

    async fn state(&mut self, rule: Arc<Rule>, served: &Served) -> RuleState {
        let keys = Keys::of(&rule, served, self.request);
        let parents = self.parents(keys.parents, served);
        let children = keys.children.into_iter();
        let children = children.flat_map(|(gvk, keys)| self.caches(&gvk, keys)).collect();
        let targets = keys.targets.into_iter();
        let targets = targets.flat_map(|(gvk, keys)| self.caches(&gvk, keys)).collect();
        let inputs = rule.inputs.iter().zip(keys.inputs);
        let by_input = inputs.map(|(input, keys)| self.caches(&input.gvk, keys)).collect();
        let namespaces = keys.namespaces.and_then(|key| self.lists.get(&key).cloned());
        let mut shapes = BTreeMap::new();
        for gvk in rule.parent.kinds.iter().filter(|_| rule.status.is_some() && !parents.is_empty())
        {
            let Some(kind) = served.kinds.get(gvk) else { continue };
            match self.shape(kind).await {
                Ok(shape) => drop(shapes.insert(gvk.group_kind(), shape)),
                Err(error) => {
                    self.lacks.insert(Lack::of_shape(gvk, &error.to_string()));
                }
            }
        }
        RuleState {
            parents,
            children,
            targets,
            scopes: Arc::new(served.scopes.clone()),
            inputs: InputCaches { by_input, namespaces },
            shapes,
            rule,
        }
    }

    /// The API server describes a kind a moment after it serves it.
    async fn shape(&self, kind: &Kind) -> Result<Shape, Refusal> {
        let mut tries = 0;
        loop {
            match shape_of(self.cluster, kind).await {
                Err(refusal) if refusal.class == Class::NotServed && tries < SHAPE_TRIES => {}
                other => return other,
            }
            tries += 1;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    fn parents(&self, keys: Vec<WatchKey>, served: &Served) -> Vec<Arc<Stored>> {
        let lists = keys.into_iter().filter_map(|key| self.lists.get(&usual(key)));
        let all = lists.flat_map(|cache| cache.store.all());
        let kind = |stored: &Stored| {
            let mut kinds = served.kinds.values();
            kinds.find(|kind| kind.resource.gvk.group_kind() == *stored.id.kind)
        };
        let wanted = |stored: &Arc<Stored>| {
            kind(stored).is_some_and(|kind| (self.request.wanted)(kind, &stored.id))
        };
        all.filter(wanted).collect()
    }
}
