//! The server processes, and the one thread that makes, watches and ends them.
//!
//! In: what to run. Out: whether all still run; at the end, that none does. Never here: what the servers are for; any
//! process but our own children.
//!
//! One thread, because Linux ties a child's death signal to the thread that made it (see [`super::child`]): were it a
//! pool's thread, servers would end when the pool shrinks. Each server has a process group of its own, so that Ctrl-C
//! in a terminal reaches us alone and we can end them in order.

use super::child;
use super::error::{Error, tail};
use super::program::Program;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long the servers of one wave may take to end by themselves.
const GRACE: Duration = Duration::from_secs(5);

/// How often ending servers are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A server to start.
#[derive(Debug)]
pub(super) struct Launch {
    pub program: Program,
    /// The executable, an absolute path.
    pub path: PathBuf,
    /// Relative paths in them are below the folder.
    pub arguments: Vec<String>,
}

/// Owns the thread. Dropping it kills every server at once and waits until they are gone.
#[derive(Debug)]
pub(super) struct Keeper {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Start(Launch, oneshot::Sender<Result<(), Error>>),
    Check(oneshot::Sender<Result<(), Error>>),
    Crash(Program, oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

impl Keeper {
    /// Starts the thread. Servers run in `folder` and write their logs to `logs`; `shim` is our own program.
    pub(super) fn new(folder: &Path, logs: &Path, shim: &Path) -> Result<Self, Error> {
        let (orders, receiver) = channel();
        let servers = Servers {
            folder: folder.to_owned(),
            logs: logs.to_owned(),
            shim: shim.to_owned(),
            running: Vec::new(),
        };
        let thread = thread::Builder::new()
            .name("control-plane".into())
            .spawn(move || servers.obey(&receiver))
            .map_err(Error::io("start a thread for the control plane"))?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Starts a server; it may still fail right after.
    pub(super) async fn start(&self, launch: Launch) -> Result<(), Error> {
        self.order(|reply| Order::Start(launch, reply)).await?
    }

    /// Fails if a server has ended.
    pub(super) async fn check(&self) -> Result<(), Error> {
        self.order(Order::Check).await?
    }

    /// Kills one server at once, and waits until it is gone.
    pub(super) async fn crash(&self, program: Program) -> Result<(), Error> {
        self.order(|reply| Order::Crash(program, reply)).await
    }

    /// Ends all servers in order. If this future is dropped, the keeper is too, and the rest is killed.
    pub(super) async fn stop(self) -> Result<(), Error> {
        self.order(Order::Stop).await
    }

    async fn order<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let orders = self.orders.as_ref().ok_or(Error::Interrupted)?;
        orders.send(order(reply)).map_err(|_| Error::Interrupted)?;
        answer.await.map_err(|_| Error::Interrupted)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has ended the thread, and with it the servers.
            _ = thread.join();
        }
    }
}

struct Servers {
    folder: PathBuf,
    logs: PathBuf,
    shim: PathBuf,
    running: Vec<Server>,
}

struct Server {
    program: Program,
    process: Child,
}

impl Servers {
    /// Until told to stop, or until nobody can tell us any more.
    fn obey(mut self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            // An answer that nobody waits for any more is not missed.
            match order {
                Order::Start(launch, reply) => _ = reply.send(self.start(&launch)),
                Order::Check(reply) => _ = reply.send(self.check()),
                Order::Crash(program, reply) => {
                    self.crash(program);
                    _ = reply.send(());
                }
                Order::Stop(reply) => {
                    self.stop(orders);
                    _ = reply.send(());
                    return;
                }
            }
        }
        self.kill();
    }

    fn start(&mut self, launch: &Launch) -> Result<(), Error> {
        let name = launch.program.name();
        let failed = |source| Error::Io { action: format!("start {name}"), source };
        // A server that is started again goes on in its log.
        let log = File::options().create(true).append(true).open(log_file(&self.logs, name));
        let log = log.map_err(failed)?;
        let process = child::command(&self.shim, &launch.path)
            .args(&launch.arguments)
            .current_dir(&self.folder)
            // etcd and kwok read settings from the environment, and kwok from the home folder.
            .env_clear()
            .env("HOME", &self.folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        self.running.push(Server { program: launch.program, process });
        Ok(())
    }

    fn check(&mut self) -> Result<(), Error> {
        for server in &mut self.running {
            let name = server.program.name();
            let ended = server.process.try_wait().map_err(Error::io(format!("look at {name}")))?;
            if let Some(status) = ended {
                let log = log_file(&self.logs, name);
                let text = fs::read(&log).unwrap_or_default();
                let tail = tail(&String::from_utf8_lossy(&text), 10);
                return Err(Error::ServerEnded { name, status: status.to_string(), log, tail });
            }
        }
        Ok(())
    }

    fn crash(&mut self, program: Program) {
        self.running.retain_mut(|server| {
            let crashes = server.program == program;
            if crashes {
                server.kill();
                server.reap();
            }
            !crashes
        });
    }

    /// The reverse of the starting order; what only talks to the API server ends together.
    fn stop(&mut self, orders: &Receiver<Order>) {
        for last in [Program::ControllerManager, Program::ApiServer, Program::Etcd] {
            for server in self.running.iter_mut().filter(|server| server.program >= last) {
                server.ask_to_end();
            }
            let until = Instant::now() + GRACE;
            while self.running.iter_mut().any(|s| s.program >= last && s.runs()) {
                // Whoever asked has lost patience: no more waiting.
                let order = orders.recv_timeout(LOOK);
                let abandoned = matches!(order, Err(RecvTimeoutError::Disconnected));
                if abandoned || Instant::now() > until {
                    break;
                }
            }
            self.running.retain_mut(|server| {
                let ends = server.program >= last;
                if ends {
                    server.kill();
                    server.reap();
                }
                !ends
            });
        }
    }

    /// All at once.
    fn kill(&mut self) {
        self.running.iter_mut().for_each(Server::kill);
        self.running.iter_mut().for_each(Server::reap);
    }
}

fn log_file(logs: &Path, name: &str) -> PathBuf {
    logs.join(format!("{name}.log"))
}

impl Server {
    fn runs(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Only while it is not reaped: then its id cannot be anybody else's.
    fn ask_to_end(&mut self) {
        if self.runs() {
            // It may end by itself at this very moment.
            _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        }
    }

    fn kill(&mut self) {
        // Does nothing to a server that was reaped.
        _ = self.process.kill();
    }

    fn reap(&mut self) {
        _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::fake;
    use rustix::process::test_kill_process;
    use std::fs::read_to_string;

    struct Bench {
        folder: tempfile::TempDir,
        keeper: Option<Keeper>,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let shim = fake::shim(folder.path());
            let keeper = Keeper::new(folder.path(), folder.path(), &shim).expect("a keeper");
            Self { folder, keeper: Some(keeper) }
        }

        fn keeper(&self) -> &Keeper {
            self.keeper.as_ref().expect("not stopped yet")
        }

        /// Starts a script and waits until it has written its process id.
        async fn start(&self, program: Program, script: &str) -> Pid {
            let name = program.name();
            let script = format!("trap 'echo {name} >> order; exit 0' TERM\n{script}");
            let path = fake::program(self.folder.path(), name, &script);
            let launch = Launch { program, path, arguments: Vec::new() };
            self.keeper().start(launch).await.expect("started");
            let file = self.folder.path().join(format!("{name}.pid"));
            loop {
                let text = read_to_string(&file).unwrap_or_default();
                if let Some(pid) = text.strip_suffix('\n').and_then(|pid| pid.parse().ok()) {
                    return Pid::from_raw(pid).expect("a process id");
                }
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// Says that it runs, and does until told otherwise.
    fn forever(program: Program) -> String {
        format!("echo $$ > {}.pid\nwhile :; do sleep 0.01; done", program.name())
    }

    #[tokio::test]
    async fn a_server_that_ends_is_reported_with_its_last_words() {
        let bench = Bench::new();
        bench.start(Program::Etcd, "echo no such thing >&2; echo $$ > etcd.pid; exit 3").await;
        let error = loop {
            if let Err(error) = bench.keeper().check().await {
                break error.to_string();
            }
            tokio::time::sleep(LOOK).await;
        };
        let log = bench.folder.path().join("etcd.log");
        let log = log.display();
        assert_eq!(
            error,
            format!("etcd ended (exit status: 3); the last lines of {log}:\nno such thing")
        );
    }

    #[tokio::test]
    async fn servers_end_in_the_reverse_order_of_their_start() {
        let mut bench = Bench::new();
        let mut pids = Vec::new();
        for program in [Program::Etcd, Program::ApiServer, Program::Kwok] {
            pids.push(bench.start(program, &forever(program)).await);
        }
        bench.keeper.take().expect("a keeper").stop().await.expect("stopped");
        let order = read_to_string(bench.folder.path().join("order")).expect("an order");
        assert_eq!(order, "kwok\nkube-apiserver\netcd\n");
        assert!(pids.into_iter().all(|pid| test_kill_process(pid).is_err()));
    }

    #[tokio::test]
    async fn a_server_that_crashed_is_gone_and_may_be_started_again() {
        let bench = Bench::new();
        let first = bench.start(Program::Etcd, &forever(Program::Etcd)).await;
        let other = bench.start(Program::ApiServer, &forever(Program::ApiServer)).await;
        bench.keeper().crash(Program::Etcd).await.expect("it is killed");
        assert!(test_kill_process(first).is_err() && test_kill_process(other).is_ok());
        bench.keeper().check().await.expect("who crashed on purpose is not missed");
        std::fs::remove_file(bench.folder.path().join("etcd.pid")).expect("a file");
        let again = bench.start(Program::Etcd, &forever(Program::Etcd)).await;
        assert!(again != first && test_kill_process(again).is_ok());
    }

    #[tokio::test]
    async fn dropping_the_keeper_kills_what_will_not_listen() {
        let mut bench = Bench::new();
        let deaf = format!("trap '' TERM\n{}", forever(Program::Etcd));
        let pid = bench.start(Program::Etcd, &deaf).await;
        assert!(test_kill_process(pid).is_ok());
        drop(bench.keeper.take());
        assert!(test_kill_process(pid).is_err());
    }

    #[tokio::test]
    async fn giving_up_on_a_stop_kills_at_once() {
        let mut bench = Bench::new();
        let deaf = format!("trap '' TERM\n{}", forever(Program::Kwok));
        let pid = bench.start(Program::Kwok, &deaf).await;
        let stop = bench.keeper.take().expect("a keeper").stop();
        assert!(tokio::time::timeout(LOOK, stop).await.is_err(), "it does not end by itself");
        assert!(test_kill_process(pid).is_err());
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_an_error() {
        let bench = Bench::new();
        let launch = Launch {
            program: Program::Etcd,
            path: PathBuf::from("/nowhere/etcd"),
            arguments: Vec::new(),
        };
        bench.keeper().start(launch).await.expect("the shim starts");
        while bench.keeper().check().await.is_ok() {
            tokio::time::sleep(LOOK).await;
        }
    }

    #[tokio::test]
    async fn servers_see_no_environment_of_ours() {
        let bench = Bench::new();
        let script = "env > environment; echo $$ > etcd.pid; exit 0";
        bench.start(Program::Etcd, script).await;
        let environment = read_to_string(bench.folder.path().join("environment"));
        let environment = environment.expect("an environment");
        let home = format!("HOME={}", bench.folder.path().display());
        assert!(environment.lines().any(|line| line == home));
        assert!(!environment.contains("CARGO"), "{environment}");
    }
}
