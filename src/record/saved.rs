//! The texts a rule was compiled from.
//!
//! In: a compiled rule. Out: its texts, packed; and the same rule, compiled again. Pure.

use crate::rule::{self, Folder, Rule};
use crate::source::Source;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

/// The texts a rule was compiled from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    file: File,
    /// By the name that the rule uses.
    templates: BTreeMap<String, File>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    name: String,
    text: String,
}

impl From<&Arc<Source>> for File {
    fn from(source: &Arc<Source>) -> Self {
        Self { name: source.name.clone(), text: source.text.clone() }
    }
}

impl File {
    fn source(self) -> Arc<Source> {
        Source::new(self.name, self.text)
    }
}

/// Unpacked it is not read any further: a record that claims more was not written by us.
const LARGEST: u64 = 64 << 20;

impl Saved {
    /// What a rule was compiled from.
    pub(super) fn of(rule: &Rule) -> Self {
        let templates = rule.files.iter().map(|(name, source)| (name.clone(), source.into()));
        Self { file: (&rule.place.source).into(), templates: templates.collect() }
    }

    /// Compiles it; nothing if this version of the program has become stricter.
    pub fn rule(self, name: &str) -> Option<Arc<Rule>> {
        let templates = self.templates.into_iter().map(|(name, file)| (name, file.source()));
        let templates = Arc::new(templates.collect());
        let loaded = rule::load(&Folder { rules: vec![self.file.source()], templates });
        loaded.rules.into_iter().find(|rule| *rule.name == *name)
    }

    pub(super) fn pack(&self) -> Option<Vec<u8>> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(&serde_json::to_vec(self).ok()?).ok()?;
        packer.finish().ok()
    }

    pub(super) fn unpack(packed: &[u8]) -> Option<Self> {
        serde_json::from_reader(GzDecoder::new(packed).take(LARGEST)).ok()
    }
}
