//! What is remembered of a rule over restarts, as a ConfigMap in our own namespace.
//!
//! In: a rule and what came of it. Out: a `ConfigMap`, and the reading of it back. So a rule that was removed, or is bad, after a
//! restart is still known, with every kind it ever created. Pure. Never here: requests.

mod saved;

pub use saved::Saved;

use crate::marks::{annotation, label, label_value};
use crate::object::{Gvk, ObjectId};
use crate::rule::Rule;
use crate::store::Stored;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The record of one rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// The rule's name.
    pub rule: String,
    /// Its name in marks.
    pub identity: String,
    /// The version that runs.
    pub version: String,
    /// The last version that every parent has seen.
    pub settled: String,
    /// The version that the parents of each shard have seen, while not all shards have seen the same: `2/3` is the last of three.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settled_shards: BTreeMap<String, String>,
    /// Kinds of which it may have created objects.
    pub children: BTreeSet<Kind>,
    /// Kinds of which it may have edited objects.
    pub targets: BTreeSet<Kind>,
    /// Deletions that wait for somebody to allow them, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// What the rule was compiled from; nothing if it was too large to keep.
    #[serde(skip)]
    pub source: Option<Saved>,
    /// The token under which somebody allowed deletions.
    #[serde(skip)]
    pub allowed: Option<String>,
}

/// A kind in a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    api_version: String,
    kind: String,
}

impl From<&Gvk> for Kind {
    fn from(gvk: &Gvk) -> Self {
        Self { api_version: gvk.api_version(), kind: gvk.kind.clone() }
    }
}

impl Kind {
    /// The kind; nothing if it makes no sense.
    pub fn gvk(&self) -> Option<Gvk> {
        Gvk::parse(&self.api_version, &self.kind)
    }
}

/// Where in a `ConfigMap` it is.
const KEY: &str = "record";
const SOURCE: &str = "source.gz";

/// A source that is larger when packed is not kept: a `ConfigMap` holds 1 MiB.
const LARGEST: usize = 600 << 10;

/// A rule's version, as it stands in records and messages.
pub fn version(rule: &Rule) -> String {
    format!("{:016x}", rule.hash)
}

/// The `ConfigMap` that a rule is remembered in.
pub fn id(namespace: &str, installation: &str, identity: &str) -> ObjectId {
    let kind = Arc::new(gvk().group_kind());
    ObjectId::new(&kind, namespace, &format!("{installation}-rule-{identity}"))
}

/// The kind of records.
pub fn gvk() -> Gvk {
    Gvk { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() }
}

impl Record {
    /// Of a rule that begins to run, with these kinds besides its own.
    pub fn of(rule: &Rule, children: &BTreeSet<Gvk>, targets: &BTreeSet<Gvk>) -> Self {
        Self {
            rule: rule.name.to_string(),
            identity: rule.identity.to_string(),
            version: version(rule),
            settled: String::new(),
            settled_shards: BTreeMap::new(),
            children: children.iter().map(Kind::from).collect(),
            targets: targets.iter().map(Kind::from).collect(),
            withheld: Vec::new(),
            source: Some(Saved::of(rule)),
            allowed: None,
        }
    }

    /// These shards out of so many have seen a version.
    #[must_use]
    pub fn settle(
        mut self,
        version: &str,
        shards: impl Iterator<Item = usize>,
        count: usize,
    ) -> Self {
        let key = |shard: usize| format!("{shard}/{count}");
        for shard in shards {
            self.settled_shards.insert(key(shard), version.to_owned());
        }
        let has = |shard: usize| self.settled_shards.get(&key(shard)).is_some_and(|v| v == version);
        if (0..count).all(has) {
            version.clone_into(&mut self.settled);
            self.settled_shards.clear();
        }
        self
    }

    /// The parts of the `ConfigMap` that are ours to write.
    pub fn body(&self, installation: &str) -> Value {
        let packed = self.source.as_ref().and_then(Saved::pack);
        let packed = packed.filter(|packed| packed.len() <= LARGEST);
        json!({
            "metadata": {"labels": {label::RECORD: label_value(installation)}},
            "data": {KEY: serde_json::to_string_pretty(self).unwrap_or_default()},
            "binaryData": {SOURCE: packed.map(|packed| STANDARD.encode(packed))},
        })
    }

    /// Reads a `ConfigMap`; nothing if it is no record.
    pub fn read(stored: &Stored) -> Option<Self> {
        let object = stored.parse().ok()?;
        let mut record: Self = serde_json::from_str(object["data"][KEY].as_str()?).ok()?;
        let packed = object["binaryData"][SOURCE].as_str();
        let packed = packed.and_then(|text| STANDARD.decode(text).ok());
        record.source = packed.and_then(|packed| Saved::unpack(&packed));
        record.allowed = stored.annotation(annotation::ALLOW);
        (!record.identity.is_empty()).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule;
    use crate::store::Format;
    use std::path::Path;

    /// As the API server would give it back.
    fn stored(record: &Record) -> Stored {
        let mut object = record.body("kubewright");
        object["metadata"]["name"] = json!("kubewright-rule-webapp");
        object["metadata"]["namespace"] = json!("system");
        object["metadata"]["uid"] = json!("u");
        object["metadata"]["resourceVersion"] = json!("7");
        Format::new(&gvk(), false).read(&object.to_string()).unwrap()
    }

    #[test]
    fn a_record_reads_back_and_its_rule_is_the_same() {
        let folder = rule::read(Path::new("rules"), Path::new("templates")).unwrap();
        for rule in rule::load(&folder).rules {
            let kinds = rule.kinds().cloned().collect();
            let record = Record::of(&rule, &kinds, &BTreeSet::new());
            let read = Record::read(&stored(&record)).unwrap();
            assert_eq!(read, record);
            let again = read.source.unwrap().rule(&rule.name).expect("it compiles");
            assert_eq!((again.hash, &again.identity), (rule.hash, &rule.identity));
            assert_eq!(again.place.source.name, rule.place.source.name);
        }
    }

    #[test]
    fn a_version_is_settled_when_every_shard_has_seen_it() {
        let record = Record::default().settle("a", [0, 2].into_iter(), 3);
        assert_eq!((record.settled.as_str(), record.settled_shards.len()), ("", 2));
        let other = record.clone().settle("b", [1].into_iter(), 3);
        assert_eq!(other.settled, "", "the others have seen another one");
        let record = record.settle("a", [1].into_iter(), 3);
        assert_eq!((record.settled.as_str(), record.settled_shards.len()), ("a", 0));
        assert_eq!(Record::default().settle("a", [0].into_iter(), 1).settled, "a");
    }

    #[test]
    fn what_is_no_record_is_none() {
        let format = Format::new(&gvk(), false);
        let metadata = r#""metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7"}"#;
        for data in ["", r#","data":{"record":"no JSON"}"#, r#","data":{"record":"{}"}"#] {
            let stored = format.read(&format!("{{{metadata}{data}}}")).unwrap();
            assert_eq!(Record::read(&stored), None, "{data}");
        }
    }
}
