//! Where the servers are.
//!
//! In: `KUBEBUILDER_ASSETS`, `PATH`, the cache folder. Out: a path for each program, or the list of those to build.
//! Never here: building or starting anything.
//!
//! The rule: etcd and the Kubernetes servers are taken together from the first place that has *all* that are needed,
//! since a controller manager must not be newer than its API server (Kubernetes' version skew policy):
//! `KUBEBUILDER_ASSETS`, then `PATH`, then the cache, where missing ones are built. kwok comes from
//! `KUBEBUILDER_ASSETS` or the cache, never from `PATH`: our stage documents are written for its version.

use super::error::Error;
use super::program::{Program, VERSION, names};
use std::collections::BTreeMap;
use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A path for each program.
pub(super) type Binaries = BTreeMap<Program, PathBuf>;

/// The places that are searched.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// `KUBEBUILDER_ASSETS`, the convention of controller-runtime's envtest.
    pub assets: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// Where built programs are kept, one folder per version.
    pub cache: Option<PathBuf>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub binaries: Binaries,
    /// What has to be built.
    pub missing: Vec<Program>,
    /// Why a place that somebody named on purpose is not used.
    pub note: Option<String>,
}

impl Places {
    /// The places of this process's environment.
    pub(super) fn from_environment() -> Self {
        let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG base directory specification: a relative path is to be ignored.
        let cache = folder("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(folder("HOME")?.join(".cache")));
        Self {
            assets: folder("KUBEBUILDER_ASSETS"),
            path: env::var_os("PATH").map_or_else(Vec::new, |p| env::split_paths(&p).collect()),
            cache: cache.map(|cache| cache.join("kubewright/control-plane").join(VERSION)),
        }
    }

    /// The cache folder, needed as soon as something has to be built.
    pub(super) fn cache(&self) -> Result<&Path, Error> {
        self.cache.as_deref().ok_or(Error::NoCacheFolder)
    }

    /// An executable of the `PATH`.
    pub(super) fn on_path(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().find_map(|folder| executable(folder, name))
    }

    /// Looks for the programs of a control plane.
    pub(super) fn find(&self, bare: bool) -> Found {
        let mut found = Found::default();
        let (kwok, cluster): (Vec<_>, Vec<_>) =
            Program::needed(bare).iter().partition(|program| **program == Program::Kwok);
        for set in [cluster, kwok] {
            found.search(self, &set);
        }
        found
    }
}

impl Found {
    fn search(&mut self, places: &Places, set: &[Program]) {
        if let Some(assets) = &places.assets {
            let (there, absent) = look(set, |name| executable(assets, name));
            if absent.is_empty() {
                return self.binaries.extend(there);
            }
            if !there.is_empty() {
                let absent = names(&absent);
                self.note = Some(format!("KUBEBUILDER_ASSETS is not used: it has no {absent}"));
            }
        }
        if !set.contains(&Program::Kwok) {
            let (there, absent) = look(set, |name| places.on_path(name));
            if absent.is_empty() {
                return self.binaries.extend(there);
            }
        }
        let (there, absent) = look(set, |name| executable(places.cache.as_deref()?, name));
        self.binaries.extend(there);
        self.missing.extend(absent);
    }
}

/// Divides a set into what is there and what is not.
fn look(set: &[Program], place: impl Fn(&str) -> Option<PathBuf>) -> (Binaries, Vec<Program>) {
    let mut there = Binaries::new();
    let mut absent = Vec::new();
    for &program in set {
        match place(program.name()) {
            Some(path) => _ = there.insert(program, path),
            None => absent.push(program),
        }
    }
    (there, absent)
}

/// The file `name` in `folder`, if it can be executed; absolute, since servers run in a folder of their own.
pub(super) fn executable(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = std::path::absolute(folder.join(name)).ok()?;
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Machine {
        folder: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().expect("a folder") }
        }

        fn with(self, place: &str, names: &[&str]) -> Self {
            let folder = self.folder.path().join(place);
            fs::create_dir_all(&folder).expect("a place");
            for name in names {
                let path = folder.join(name);
                fs::write(&path, "").expect("a file");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
            }
            self
        }

        fn places(&self) -> Places {
            let at = |place: &str| self.folder.path().join(place);
            Places {
                assets: Some(at("assets")),
                path: vec![at("nowhere"), at("path")],
                cache: Some(at("cache")),
            }
        }

        /// `place/name` of each program found, then `-name` of each missing one.
        fn find(&self, bare: bool) -> Vec<String> {
            let found = self.places().find(bare);
            let there = found.binaries.values().map(|path| {
                path.strip_prefix(self.folder.path()).expect("inside").display().to_string()
            });
            there
                .chain(found.missing.iter().map(|program| format!("-{}", program.name())))
                .collect()
        }
    }

    const KUBERNETES: &[&str] =
        &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

    #[test]
    fn the_assets_folder_wins_over_the_path_and_the_path_over_the_cache() {
        let machine = Machine::new().with("path", KUBERNETES).with("cache", KUBERNETES);
        assert_eq!(machine.find(true), ["path/etcd", "path/kube-apiserver"]);
        let machine = machine.with("assets", &["etcd", "kube-apiserver"]);
        assert_eq!(machine.find(true), ["assets/etcd", "assets/kube-apiserver"]);
    }

    #[test]
    fn servers_of_two_places_are_never_mixed() {
        let machine = Machine::new()
            .with("assets", &["etcd", "kube-apiserver"])
            .with("path", &["etcd", "kube-controller-manager", "kube-scheduler"])
            .with("cache", &["etcd", "kwok"]);
        assert_eq!(
            machine.find(false),
            [
                "cache/etcd",
                "cache/kwok",
                "-kube-apiserver",
                "-kube-controller-manager",
                "-kube-scheduler"
            ]
        );
        assert_eq!(
            machine.places().find(false).note.as_deref(),
            Some(
                "KUBEBUILDER_ASSETS is not used: it has no kube-controller-manager, kube-scheduler"
            )
        );
    }

    #[test]
    fn kwok_is_not_taken_from_the_path() {
        let machine = Machine::new().with("path", KUBERNETES).with("path", &["kwok"]);
        assert!(machine.find(false).contains(&"-kwok".to_owned()));
        let machine = machine.with("assets", &["kwok"]);
        assert!(machine.find(false).contains(&"assets/kwok".to_owned()));
        assert_eq!(machine.places().find(false).note, None);
    }

    #[test]
    fn a_folder_or_a_file_that_cannot_be_executed_is_no_program() {
        let machine = Machine::new().with("cache/etcd", &[]).with("cache", &["kube-apiserver"]);
        let file = machine.folder.path().join("cache/kube-apiserver");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
        assert_eq!(machine.find(true), ["-etcd", "-kube-apiserver"]);
    }

    #[test]
    fn without_a_home_nothing_can_be_built() {
        let places = Places::default();
        assert_eq!(places.find(true).missing, Program::needed(true));
        assert!(matches!(places.cache(), Err(Error::NoCacheFolder)));
    }
}
