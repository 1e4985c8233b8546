//! `kubewright run` as a process of its own, as a pod would run it.
//!
//! In: rules, flags. Out: a process that tells what it logs and serves, and a name by which the audit log knows its requests.
//! Never here: what is expected of it.

use crate::world::{Request, eventually, world};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A running `kubewright run`; killed when dropped.
pub(crate) struct Replica {
    /// Who it is for the API server.
    pub(crate) user: String,
    process: Child,
    logged: Arc<Mutex<String>>,
    /// Its kubeconfig is in there.
    _folder: tempfile::TempDir,
}

impl Replica {
    /// With the rules of a folder, and a user of its own that may do everything.
    pub(crate) fn start(user: &str, rules: &Path, flags: &[&str]) -> Self {
        let text = fs::read_to_string(world().kubeconfig()).expect("the kubeconfig");
        let acting =
            format!("    user:\n      as: {user}\n      as-groups: [\"system:masters\"]\n");
        let acting = text.replace("    user:\n", &acting);
        assert_ne!(acting, text, "the kubeconfig has a user");
        Self::start_at(user, &acting, rules, flags)
    }

    /// The same with a kubeconfig of the test's own.
    pub(crate) fn start_at(
        user: &str,
        kubeconfig_text: &str,
        rules: &Path,
        flags: &[&str],
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, kubeconfig_text).expect("a file");
        let mut process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("run")
            .arg(rules)
            .args(["--log-format", "json", "--address", "127.0.0.1:0"])
            .args(flags)
            .env("KUBECONFIG", kubeconfig)
            .env_remove("https_proxy")
            .env_remove("HTTPS_PROXY")
            .env("HOSTNAME", user)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubewright starts");
        let logged = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(process.stderr.take().expect("its log"));
        let log = Arc::clone(&logged);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut log = log.lock().expect("no panic while held");
                log.push_str(&line);
                log.push('\n');
            }
        });
        Self { user: user.to_owned(), process, logged, _folder: folder }
    }

    /// Everything that it logged so far.
    pub(crate) fn log(&self) -> String {
        self.logged.lock().expect("no panic while held").clone()
    }

    /// Waits until a line of the log holds a text, and gives its fields.
    pub(crate) async fn until_logged(&self, text: &str) -> Value {
        eventually(&format!("{} logs `{text}`", self.user), || async {
            let log = self.log();
            let line = log.lines().find(|line| line.contains(text)).ok_or(log.clone())?;
            let line: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            Ok(line["fields"].clone())
        })
        .await
    }

    /// A page: its status code and its text.
    pub(crate) async fn page(&self, path: &str) -> (u16, String) {
        let fields = self.until_logged("serves /metrics").await;
        let address = fields["address"].as_str().expect("an address").to_owned();
        let path = path.to_owned();
        let asked = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        });
        let text = asked.await.expect("no panic").unwrap_or_default();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let code = head.split_whitespace().nth(1).and_then(|code| code.parse().ok());
        (code.unwrap_or_default(), body.to_owned())
    }

    /// The value of a sample on the page of metrics, with its labels as they are written there.
    pub(crate) async fn metric(&self, sample: &str) -> Option<f64> {
        let (_, page) = self.page("/metrics").await;
        let value = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok())
    }

    /// The shards that it leads.
    pub(crate) async fn shards(&self) -> Vec<usize> {
        let (_, page) = self.page("/metrics").await;
        let shard = |line: &str| {
            let line = line.strip_prefix("kubewright_leader{shard=\"")?;
            line.strip_suffix("\"} 1")?.parse().ok()
        };
        page.lines().filter_map(shard).collect()
    }

    /// Waits until a page is answered with this code.
    pub(crate) async fn until_page(&self, path: &str, code: u16) -> String {
        eventually(&format!("{} answers {path} with {code}", self.user), || async {
            let (found, text) = self.page(path).await;
            if found == code { Ok(text) } else { Err(format!("{found}: {text}\n{}", self.log())) }
        })
        .await
    }

    /// Its resident memory in kB.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = fs::read_to_string(path).expect("a running process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its size");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("a signal");
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ends(&mut self) -> ExitStatus {
        for _ in 0..1200 {
            if let Some(status) = self.process.try_wait().expect("a process") {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{} does not end: {}", self.user, self.log());
    }

    /// What it wrote so far, Leases aside.
    pub(crate) fn writes(&self) -> Vec<Request> {
        let all = world().requests_as(&self.user).into_iter();
        all.filter(|request| request.is_write() && !request.uri.contains("/leases")).collect()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // Ended already is as good.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
