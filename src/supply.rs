//! Where the rules of a running program come from, and when they have changed.
//!
//! In: folders, and labelled `ConfigMaps` of our own namespace. Out: their texts, each time they are others than before; what
//! cannot be read is told once. Never here: what a text means; a missing source that looks like an empty one.

mod config_maps;

pub use config_maps::ConfigMaps;

use crate::rule::{self, Folder, Templates};
use crate::source::Source;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Editors write in several steps, and a mounted `ConfigMap` is swapped: changes this close together count as one.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Not every file system tells of changes: the folders are read at least this often.
const READ_AGAIN: Duration = Duration::from_secs(30);

/// Where rules come from.
pub struct Supply {
    rules: PathBuf,
    templates: PathBuf,
    config_maps: Option<Arc<ConfigMaps>>,
    told: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// What was read last, or why it could not be.
    last: Option<Result<Folder, String>>,
}

/// Why rules could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folders.
    #[error("{0}")]
    Folder(#[from] rule::Error),
    /// The first list is not complete.
    #[error("the ConfigMaps with rules in namespace {namespace} cannot be listed: {why}")]
    Unlisted {
        /// Our own.
        namespace: String,
        /// What the API server says.
        why: String,
    },
    /// The same template in two places.
    #[error("the template `{name}` is both in {first} and in {second}: rename one of them")]
    Twice {
        /// Its name.
        name: String,
        /// Where it is.
        first: String,
        /// Where it is too.
        second: String,
    },
}

impl Supply {
    /// From a folder of rules, or one file, and a folder of templates; and from `ConfigMaps`, and then the folder may be
    /// missing.
    pub fn new(rules: &Path, templates: &Path, config_maps: Option<Arc<ConfigMaps>>) -> Self {
        let told = Arc::new(Notify::new());
        let say = Arc::clone(&told);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                say.notify_one();
            }
        });
        let watcher = watcher
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of the folders are noticed within 30 seconds, not at once");
            })
            .ok();
        if let Some(config_maps) = &config_maps {
            config_maps.tell(&told);
        }
        let (rules, templates) = (rules.to_path_buf(), templates.to_path_buf());
        Self { rules, templates, config_maps, told, watcher, watched: BTreeSet::new(), last: None }
    }

    /// What is there now.
    pub async fn read(&mut self) -> Result<Folder, Error> {
        if let Some(config_maps) = &self.config_maps {
            config_maps.listed().await;
        }
        self.listen();
        let read = self.look();
        self.last = Some(read.as_ref().map(Folder::clone).map_err(ToString::to_string));
        read
    }

    /// Waits until there is something else than was read last, or until it cannot be read for another reason.
    pub async fn changed(&mut self) -> Result<Folder, Error> {
        loop {
            // Whether it was told of or not, it is read.
            let _ = timeout(READ_AGAIN, self.told.notified()).await;
            sleep(DEBOUNCE).await;
            self.listen();
            let read = self.look();
            let now = read.as_ref().map(Folder::clone).map_err(ToString::to_string);
            if self.last.as_ref() != Some(&now) {
                self.last = Some(now);
                return read;
            }
        }
    }

    fn look(&self) -> Result<Folder, Error> {
        let Some(config_maps) = &self.config_maps else {
            return Ok(rule::read(&self.rules, &self.templates)?);
        };
        let mut folder = if self.rules.exists() {
            rule::read(&self.rules, &self.templates)?
        } else {
            Folder { rules: Vec::new(), templates: Arc::default() }
        };
        let mut templates = Templates::clone(&folder.templates);
        let texts = config_maps.texts()?;
        folder.rules.extend(texts.rules);
        for (name, source) in texts.templates {
            add(&mut templates, name, source)?;
        }
        Ok(Folder { templates: Arc::new(templates), ..folder })
    }

    /// Folders are watched, not files: editors and mounts replace files. One that is missing may come.
    fn listen(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let folder = if self.rules.is_file() {
            self.rules.parent().map(Path::to_path_buf).unwrap_or_default()
        } else {
            self.rules.clone()
        };
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        for folder in [folder, self.templates.clone()] {
            if !folder.is_dir() {
                // It may come back as another one.
                self.watched.remove(&folder);
            } else if !self.watched.contains(&folder) {
                match watcher.watch(&folder, RecursiveMode::Recursive) {
                    Ok(()) => drop(self.watched.insert(folder)),
                    Err(error) => {
                        tracing::debug!(folder = %folder.display(), %error, "the folder cannot be watched");
                    }
                }
            }
        }
    }
}

fn add(templates: &mut Templates, name: String, source: Arc<Source>) -> Result<(), Error> {
    if let Some(first) = templates.get(&name) {
        let (first, second) = (first.name.clone(), source.name.clone());
        return Err(Error::Twice { name, first, second });
    }
    templates.insert(name, source);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const PATIENCE: Duration = Duration::from_secs(20);

    async fn next(supply: &mut Supply) -> Result<Vec<String>, String> {
        let read = timeout(PATIENCE, supply.changed()).await.expect("a change is noticed");
        let texts = |folder: Folder| folder.rules.iter().map(|one| one.text.clone()).collect();
        read.map(texts).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn edits_and_swaps_are_noticed_and_what_is_gone_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let (rules, templates) = (place.path().join("rules"), place.path().join("templates"));
        for version in ["..1", "..2"] {
            fs::create_dir_all(rules.join(version)).unwrap();
            fs::write(rules.join(version).join("a.yaml"), version).unwrap();
        }
        // As a mounted ConfigMap is laid out.
        symlink("..1", rules.join("..data")).unwrap();
        symlink("..data/a.yaml", rules.join("a.yaml")).unwrap();
        let mut supply = Supply::new(&rules, &templates, None);
        assert_eq!(supply.read().await.unwrap().rules[0].text, "..1");
        symlink("..2", rules.join("..new")).unwrap();
        fs::rename(rules.join("..new"), rules.join("..data")).unwrap();
        assert_eq!(next(&mut supply).await, Ok(vec!["..2".to_owned()]));
        fs::write(rules.join("b.yaml"), "b").unwrap();
        assert_eq!(next(&mut supply).await, Ok(vec!["..2".to_owned(), "b".to_owned()]));
        fs::rename(&rules, place.path().join("away")).unwrap();
        let gone = next(&mut supply).await.unwrap_err();
        assert!(gone.contains("there is no"), "{gone}");
    }

    #[test]
    fn a_template_in_two_places_is_no_guess() {
        let mut templates = Templates::new();
        add(&mut templates, "a/b.yaml".into(), Source::new("templates/a/b.yaml", "")).unwrap();
        let second = Source::new("configmap/a:b.yaml", "");
        let error = add(&mut templates, "a/b.yaml".into(), second).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the template `a/b.yaml` is both in templates/a/b.yaml and in configmap/a:b.yaml: rename one of them"
        );
    }
}
