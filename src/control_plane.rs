//! A real Kubernetes control plane as child processes: what `kubewright dev` and the cluster tests run against.
//!
//! In: [`Options`]. Out: a [`ControlPlane`]: a kubeconfig, a client, logs; at the end no process, whatever end we meet,
//! and no file unless we are killed. Never here: rules, or anything that knows of them.
//!
//! etcd, kube-apiserver and, unless `bare`, kube-controller-manager, kube-scheduler and kwok, which plays the nodes:
//! pods become ready, Jobs complete, claims get volumes, all without a container. Programs that are not found (the rule is
//! in `find.rs`) are built once. Whatever calls [`start`] calls [`child::run_if_asked`] first in its `main`.

mod build;
mod certificates;
pub mod child;
mod error;
#[cfg(test)]
mod fake;
mod find;
mod folder;
mod kubeconfig;
mod node;
mod process;
mod program;
mod provide;
mod ready;
mod servers;

pub use error::Error;
pub use program::{Program, VERSION};

use find::Binaries;
use folder::{ADMIN, AUDIT_LOG, Folder};
use kube::Client;
use kube::config::Config;
use kubeconfig::client_config;
use process::{Keeper, Launch};
use servers::Setting;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// How many times a start is tried when somebody takes the port that was free a moment ago.
const ATTEMPTS: usize = 3;

/// What kind of control plane.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// etcd and kube-apiserver only: half the start time, but no workloads, no garbage collection, and namespaces that
    /// never finish terminating.
    pub bare: bool,
    /// Whether the API server writes who asked for what to [`ControlPlane::audit_log`], one JSON event a line, at level
    /// `Metadata`.
    pub audit: bool,
    /// The program that calls [`child::run_if_asked`]; this one by default.
    pub shim: Option<PathBuf>,
}

/// A running control plane. Dropping it kills the servers and removes the folder; [`ControlPlane::stop`] is the polite
/// way. If this process is killed the servers are too (on Linux), and only the folder stays.
#[derive(Debug)]
pub struct ControlPlane {
    // Fields are dropped in this order: first the servers, then their folder.
    keeper: Keeper,
    folder: Folder,
    kubeconfig: PathBuf,
    audit_log: Option<PathBuf>,
    config: Config,
    version: String,
    binaries: Binaries,
    setting: Setting,
}

/// Told what is being done, in short sentences without a full stop; called from several threads.
type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// Finds or builds the programs, starts them, and waits until the cluster is usable.
///
/// The first call on a machine may take ten minutes (see [`VERSION`] and `control-plane/README.md`), later ones a few
/// seconds. Dropping the future stops everything, a build included. Needs a tokio runtime with time and I/O.
pub async fn start(
    options: Options,
    progress: impl Fn(&str) + Send + Sync + 'static,
) -> Result<ControlPlane, Error> {
    let progress: Progress = Arc::new(progress);
    let shim = match &options.shim {
        Some(shim) => shim.clone(),
        None => child::this_program()?,
    };
    let binaries = provide::locate(options.bare, shim.clone(), Arc::clone(&progress)).await?;
    start_found(&options, &shim, binaries, &*progress).await
}

async fn start_found(
    options: &Options,
    shim: &Path,
    binaries: Binaries,
    progress: &(dyn Fn(&str) + Send + Sync),
) -> Result<ControlPlane, Error> {
    let mut attempts = ATTEMPTS;
    loop {
        attempts -= 1;
        let folder = Folder::new()?;
        let setting = Setting { bare: options.bare, audit: options.audit, port: free_port()? };
        match launch(setting, shim, &binaries, &folder).await {
            Ok((keeper, config, version)) => {
                let kubeconfig = folder.path().join(ADMIN);
                let audit_log = options.audit.then(|| folder.path().join(AUDIT_LOG));
                return Ok(ControlPlane {
                    keeper,
                    folder,
                    kubeconfig,
                    audit_log,
                    config,
                    version,
                    binaries,
                    setting,
                });
            }
            Err(error) if error.is_port_taken() && attempts > 0 => {
                progress("somebody took the API server's port, trying another");
            }
            Err(error) => {
                folder.keep_logs();
                return Err(error);
            }
        }
    }
}

/// One attempt to start everything, on a port that is free now. After an error no server is left.
async fn launch(
    setting: Setting,
    shim: &Path,
    binaries: &Binaries,
    folder: &Folder,
) -> Result<(Keeper, Config, String), Error> {
    let kubeconfig = folder.fill(setting)?;
    let config = client_config(&kubeconfig).await?;
    let keeper = Keeper::new(folder.path(), &folder.logs(), shim)?;
    let version = run(&keeper, setting, binaries, &config, &folder.logs()).await?;
    Ok((keeper, config, version))
}

/// Starts the servers and waits until they serve; gives the API server's version.
async fn run(
    keeper: &Keeper,
    setting: Setting,
    binaries: &Binaries,
    config: &Config,
    logs: &Path,
) -> Result<String, Error> {
    let client = Client::try_from(config.clone()).map_err(Error::api("make a client"))?;
    let wait = ready::Wait::new(keeper, &client, logs);
    let (store, rest) = (..=Program::ApiServer, Program::ControllerManager..);
    start_servers(keeper, setting, binaries.range(store)).await?;
    wait.for_api_server().await?;
    if !setting.bare {
        start_servers(keeper, setting, binaries.range(rest)).await?;
        node::create(&client).await?;
        wait.for_workloads().await?;
    }
    let version = client.apiserver_version().await.map_err(Error::api("ask for the version"))?;
    Ok(version.git_version)
}

async fn start_servers(
    keeper: &Keeper,
    setting: Setting,
    binaries: impl Iterator<Item = (&Program, &PathBuf)>,
) -> Result<(), Error> {
    for (&program, path) in binaries {
        let arguments = setting.arguments(program);
        keeper.start(Launch { program, path: path.clone(), arguments }).await?;
    }
    Ok(())
}

/// Free now; a server that finds it taken is started again with another.
fn free_port() -> Result<u16, Error> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::NoPort)
}

/// Part of a header, in the type that the client wants.
fn header<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    text: &str,
) -> Result<T, Error> {
    let action = format!("send {text:?} in a header");
    text.parse().map_err(|error| Error::io(action)(io::Error::other(error)))
}

impl ControlPlane {
    /// The administrator's kubeconfig, readable by its owner only.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// How to reach the API server as its administrator: no retries, no proxy, no timeout for answers (watches last).
    pub fn client_config(&self) -> Config {
        self.config.clone()
    }

    /// A client of its own (connections are not shared) that the audit log knows by `user_agent`.
    pub fn client(&self, user_agent: &str) -> Result<Client, Error> {
        let mut config = self.client_config();
        config.headers.push((header("user-agent")?, header(user_agent)?));
        Client::try_from(config).map_err(Error::api("make a client"))
    }

    /// Where the API server writes its audit log, if [`Options::audit`] asked for it.
    pub fn audit_log(&self) -> Option<&Path> {
        self.audit_log.as_deref()
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of logs, `NAME.log` for each [`Program`].
    pub fn logs(&self) -> PathBuf {
        self.folder.logs()
    }

    /// What the API server calls itself: `v1.37.2`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The programs that run, and where they came from.
    pub fn programs(&self) -> impl Iterator<Item = (Program, &Path)> {
        self.binaries.iter().map(|(program, path)| (*program, path.as_path()))
    }

    /// Fails with [`Error::ServerEnded`] if a server is no longer running.
    pub async fn check(&self) -> Result<(), Error> {
        self.keeper.check().await
    }

    /// Kills a server at once, as a crash would. It does not come back by itself, and [`ControlPlane::check`] misses nothing.
    pub async fn crash(&self, program: Program) -> Result<(), Error> {
        self.keeper.crash(program).await
    }

    /// Starts a server again that crashed, with what it had stored; whoever needs it has to wait until it serves.
    pub async fn start_again(&self, program: Program) -> Result<(), Error> {
        let binaries = self.binaries.range(program..=program);
        start_servers(&self.keeper, self.setting, binaries).await
    }

    /// Ends the servers in order, those that do not listen after five seconds by force, and removes the folder.
    /// Dropping this future does both at once.
    pub async fn stop(self) -> Result<(), Error> {
        self.keeper.stop().await?;
        self.folder.remove()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Mutex;

    struct Bench {
        folder: tempfile::TempDir,
        said: Mutex<Vec<String>>,
    }

    impl Bench {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().expect("a folder"), said: Mutex::default() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn say(&self, text: &str) {
            self.said.lock().expect("a lock").push(text.into());
        }

        fn said(&self) -> Vec<String> {
            self.said.lock().expect("a lock").clone()
        }

        /// Starts a bare control plane with this script as API server.
        async fn start(&self, api_server: &str) -> Error {
            let script = |name, text| fake::program(self.folder.path(), name, text);
            let binaries = Binaries::from([
                (Program::Etcd, script("etcd", "while :; do sleep 0.01; done")),
                (Program::ApiServer, script("kube-apiserver", api_server)),
            ]);
            let options = Options { bare: true, ..Options::default() };
            let shim = fake::shim(self.folder.path());
            start_found(&options, &shim, binaries, &|text| self.say(text))
                .await
                .expect_err("it is no API server")
        }
    }

    #[tokio::test]
    async fn an_api_server_that_ends_at_once_is_told_with_its_log_and_leaves_only_that() {
        let bench = Bench::new();
        let error = bench.start("echo 'unknown flag: --x' >&2; exit 1").await;
        let Error::ServerEnded { name: "kube-apiserver", log, tail, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(tail, "unknown flag: --x");
        assert_eq!(fs::read_to_string(&log).expect("the log"), "unknown flag: --x\n");
        let folder = log.parent().and_then(Path::parent).expect("the folder");
        assert_eq!(fs::read_dir(folder).expect("entries").count(), 1, "no key is left");
        fs::remove_dir_all(folder).expect("removed");
        assert!(bench.said().is_empty());
    }

    #[tokio::test]
    async fn a_taken_port_is_tried_again_with_another_and_not_for_ever() {
        let bench = Bench::new();
        let ports = bench.path("ports");
        let error = bench
            .start(&format!(
                "echo \"$@\" | tr ' ' '\\n' | grep secure-port >> {}\n\
                 echo 'listen tcp: bind: address already in use'; exit 1",
                ports.display()
            ))
            .await;
        assert!(error.is_port_taken(), "{error}");
        assert_eq!(bench.said().len(), ATTEMPTS - 1);
        let ports = fs::read_to_string(ports).expect("ports");
        assert_eq!(ports.lines().count(), ATTEMPTS);
        let Error::ServerEnded { log, .. } = error else { panic!("{error}") };
        fs::remove_dir_all(log.parent().and_then(Path::parent).expect("the folder")).expect("gone");
    }

    #[test]
    fn it_can_be_started_from_any_task() {
        fn check(_: impl Send) {}
        check(start(Options::default(), |_| ()));
    }
}
