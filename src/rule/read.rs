//! Reads rule and template folders; the only place that does.
//!
//! In: paths. Out: [`Folder`], the texts by name. A missing folder or an unreadable file is an error, never an empty result:
//! what cannot be read must not look like something that was removed.

use crate::source::Source;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts of a rule folder and its template folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Every YAML file of the rule folder, by path.
    pub rules: Vec<Arc<Source>>,
    /// Every file of the template folder, by its name relative to it.
    pub templates: Arc<Templates>,
}

/// Template files by name.
pub type Templates = BTreeMap<String, Arc<Source>>;

/// Why a folder could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rules are not there.
    #[error(
        "there is no `{0}`: run this where your rules are, name the folder, or make a first rule with `kubewright new greeting`"
    )]
    NoRules(String),
    /// Something is there but cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Unreadable {
        /// What.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A rule is 1 MiB at most: more than fits a ConfigMap is a mistake.
    #[error("`{0}` is larger than 1 MiB: is it a rule or a template?")]
    TooLarge(String),
    /// Folders nest 8 deep at most: more is a symbolic link to itself.
    #[error("`{0}` nests too deep: does a symbolic link point back up?")]
    TooDeep(String),
}

const LARGEST_FILE: u64 = 1 << 20;
const DEEPEST_FOLDER: usize = 8;

/// Reads rules (a folder or one file) and templates. A missing template folder is an empty one: rules may be self-contained.
pub fn read(rules: &Path, templates: &Path) -> Result<Folder, Error> {
    if !rules.exists() {
        return Err(Error::NoRules(rules.display().to_string()));
    }
    let mut rule_files = Vec::new();
    if rules.is_file() {
        rule_files.push(rules.to_path_buf());
    } else {
        walk(rules, 0, &mut rule_files)?;
        rule_files.retain(|path| is_yaml(path));
    }
    let mut template_files = Vec::new();
    if templates.is_dir() {
        walk(templates, 0, &mut template_files)?;
    }
    let named = |path: &PathBuf| Ok((relative_name(path, templates), source(path)?));
    Ok(Folder {
        rules: rule_files.iter().map(|path| source(path)).collect::<Result<_, _>>()?,
        templates: Arc::new(template_files.iter().map(named).collect::<Result<_, _>>()?),
    })
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Names with `/` on every system, as templates write them.
fn relative_name(path: &Path, folder: &Path) -> String {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// All files, sorted by path. Hidden names are passed over: a mounted ConfigMap keeps its versions in them and links here.
fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    if depth > DEEPEST_FOLDER {
        return Err(Error::TooDeep(folder.display().to_string()));
    }
    let unreadable = |source| Error::Unreadable { path: folder.display().to_string(), source };
    let mut paths = std::fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(unreadable)?
        .into_iter()
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .collect::<Vec<_>>();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, depth + 1, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn source(path: &Path) -> Result<Arc<Source>, Error> {
    let name = path.display().to_string();
    let size = std::fs::metadata(path)
        .map_err(|source| Error::Unreadable { path: name.clone(), source })?
        .len();
    if size > LARGEST_FILE {
        return Err(Error::TooLarge(name));
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Source::new(name, text)),
        Err(source) => Err(Error::Unreadable { path: name, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn reads_nested_yaml_and_passes_over_hidden_names() {
        let folder = tempfile::tempdir().unwrap();
        let rules = folder.path().join("rules");
        let templates = folder.path().join("templates/web");
        fs::create_dir_all(rules.join("..data")).unwrap();
        fs::create_dir_all(&templates).unwrap();
        for name in ["b.yaml", "a.yml", "notes.txt", "..data/a.yml"] {
            fs::write(rules.join(name), name).unwrap();
        }
        fs::write(templates.join("x.yaml"), "x").unwrap();
        let read = read(&rules, &folder.path().join("templates")).unwrap();
        let texts: Vec<_> = read.rules.iter().map(|source| source.text.as_str()).collect();
        assert_eq!(texts, ["a.yml", "b.yaml"]);
        assert_eq!(read.templates.keys().collect::<Vec<_>>(), ["web/x.yaml"]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_not_an_absence() {
        let folder = tempfile::tempdir().unwrap();
        let rules = folder.path().join("rules");
        let missing = read(&rules, folder.path()).unwrap_err();
        assert!(matches!(missing, Error::NoRules(_)));
        fs::create_dir(&rules).unwrap();
        fs::write(rules.join("a.yaml"), [0xff, 0xfe]).unwrap();
        let binary = read(&rules, &folder.path().join("none")).unwrap_err();
        assert!(matches!(binary, Error::Unreadable { .. }));
        fs::write(rules.join("a.yaml"), " ".repeat(1_100_000)).unwrap();
        let large = read(&rules, &folder.path().join("none")).unwrap_err();
        assert!(matches!(large, Error::TooLarge(_)));
    }
}
