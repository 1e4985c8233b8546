//! `helm`, built once from the module that pins the control plane, in a place of its own beside it.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The chart.
pub(crate) const CHART: &str = "charts/kubewright";

const MODULE: &str = "helm.sh/helm/v3";

/// Runs it without anything of the user's; its output and errors, or both of a failure.
pub(crate) fn helm(arguments: &[&str]) -> Result<(String, String), String> {
    helm_with(arguments, &[])
}

/// The same with more in its environment.
pub(crate) fn helm_with(
    arguments: &[&str],
    environment: &[(&str, &Path)],
) -> Result<(String, String), String> {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(program());
    command.args(arguments).env("HOME", home.path()).env_remove("KUBECONFIG");
    for place in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(place, home.path());
    }
    command.envs(environment.iter().copied());
    let Output { status, stdout, stderr } = command.output().expect("helm runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&stdout), text(&stderr));
    if status.success() { Ok((out, error)) } else { Err(format!("{out}{error}")) }
}

/// The executable: `HELM` names another one.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| env::var_os("HELM").map_or_else(built, PathBuf::from))
}

/// From the cache folder of the control plane, where it is built if it is missing: a minute, with `go`.
fn built() -> PathBuf {
    let module = fs::read_to_string("control-plane/go.mod").expect("the module");
    let versions = module.lines().filter_map(|line| line.trim().strip_prefix(MODULE));
    let version =
        versions.filter_map(|rest| rest.split_whitespace().next()).find(|v| v.starts_with('v'));
    let version = version.expect("the module pins helm");
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache =
        cache.unwrap_or_else(|| PathBuf::from(env::var_os("HOME").expect("a home")).join(".cache"));
    let folder = cache.join("kubewright/helm").join(version);
    fs::create_dir_all(&folder).expect("a folder");
    let lock = File::create(folder.join("lock")).expect("a lock file");
    lock.lock().expect("a lock");
    let program = folder.join("helm");
    if program.is_file() {
        return program;
    }
    eprintln!("building helm {version} (once, about 1 minute) …");
    let copy = tempfile::tempdir().expect("a folder");
    for file in ["go.mod", "go.sum"] {
        fs::copy(Path::new("control-plane").join(file), copy.path().join(file)).expect("a copy");
    }
    let part = folder.join(".helm.part");
    let output = Command::new("go")
        .args(["build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o"])
        .args([part.as_os_str(), format!("{MODULE}/cmd/helm").as_ref()])
        .current_dir(copy.path())
        .env("GO111MODULE", "on")
        .env("GOWORK", "off")
        .output()
        .expect("`go` is on the PATH, or HELM names an executable");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::rename(&part, &program).expect("a rename");
    program
}
