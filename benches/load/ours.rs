//! Our program in a process of its own, and what that process takes.
//!
//! In: a rule for one namespace. Out: a running `kubewright run`, its CPU time and memory. Never here: waiting for what it does.

use crate::{Failed, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Ticks of a second in `/proc`, on every Linux that we know.
const TICKS: f64 = 100.0;

/// A running controller.
pub(crate) struct Ours {
    process: Child,
    _folder: TempDir,
}

/// What a process has taken so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// Seconds of CPU.
    pub(crate) cpu: f64,
    /// Bytes of its own in memory now: without the program's file, which is shared and can be dropped.
    pub(crate) memory: u64,
    /// The most that it ever had in memory, the program's file included.
    pub(crate) peak: u64,
}

impl Ours {
    /// Runs the rule of the benchmarks for a namespace. `edit` may change the text of the rule and of each template.
    pub(crate) fn start(
        kubeconfig: &Path,
        namespace: &str,
        edit: &dyn Fn(String) -> String,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (rules, templates) = (folder.path().join("rules"), folder.path().join("templates"));
        fs::create_dir(&rules)?;
        fs::create_dir(&templates)?;
        for entry in fs::read_dir("benches/templates")? {
            let path = entry?.path();
            let name = path.file_name().ok_or_else(|| Failed::from("no name"))?;
            fs::write(templates.join(name), edit(fs::read_to_string(&path)?))?;
        }
        let rule = fs::read_to_string("benches/rules/app.yaml")?
            .replace("parent: {", &format!("parent: {{namespaces: [{namespace}], "))
            // No controller of Deployments runs here.
            .replace("template: deployment.yaml}", "template: deployment.yaml, ready: []}");
        fs::write(rules.join("app.yaml"), edit(rule))?;
        let process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("run")
            .arg(&rules)
            .args(["--log", "warn", "--installation", namespace])
            .env("KUBECONFIG", kubeconfig)
            .env_remove("KUBEWRIGHT_LOG")
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self { process, _folder: folder })
    }

    /// What it has taken so far.
    pub(crate) fn taken(&self) -> Result<Taken> {
        let folder = format!("/proc/{}", self.process.id());
        let stat = fs::read_to_string(format!("{folder}/stat"))?;
        // The name of the program stands in brackets and may hold anything.
        let rest = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
        let ticks = rest.split(' ').skip(11).take(2).map(|field| field.parse().unwrap_or(0.0));
        let ticks: f64 = ticks.sum();
        let status = fs::read_to_string(format!("{folder}/status"))?;
        let kilobytes = |key: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
            line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        let (memory, peak) = (kilobytes("RssAnon:") << 10, kilobytes("VmHWM:") << 10);
        Ok(Taken { cpu: ticks / TICKS, memory, peak })
    }

    /// Ends it politely.
    pub(crate) fn stop(mut self) -> Result<()> {
        if let Some(pid) = Pid::from_raw(i32::try_from(self.process.id())?) {
            kill_process(pid, Signal::TERM)?;
        }
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Ours {
    /// Whatever went wrong, it does not outlive us.
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
