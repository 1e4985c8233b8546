//! `kubewright dev` as a person starts and stops it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: global}
spec:
  parent: {apiVersion: dev.example.com/v1, kind: Tenant}
  children:
    - id: config
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}, namespace: default}
  status: {}
";

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tenants.dev.example.com}
spec:
  group: dev.example.com
  scope: Cluster
  names: {plural: tenants, kind: Tenant}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";

fn example(kind: &str, size: &str) -> String {
    format!(
        "apiVersion: dev.example.com/v1\nkind: {kind}\nmetadata: {{name: one}}\nspec: {{size: {size}}}\n"
    )
}

struct Dev {
    folder: tempfile::TempDir,
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Dev {
    /// With these rules.
    fn start(arguments: &[&str], example: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("rule.yaml", RULE), ("crd.yaml", CRD), ("example.yaml", example)] {
            fs::create_dir_all(folder.path().join("rules")).expect("a folder");
            fs::write(folder.path().join("rules").join(name), text).expect("a file");
        }
        Self::start_in(folder, arguments)
    }

    /// In a folder of its own for everything, temporary files included.
    fn start_in(folder: tempfile::TempDir, arguments: &[&str]) -> Self {
        let temporary = folder.path().join("temporary");
        fs::create_dir(&temporary).expect("a folder");
        let mut process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("dev")
            .args(arguments)
            .current_dir(folder.path())
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubewright starts");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { folder, process, output }
    }

    fn until_printed(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).expect("a line"), 0, "{text} is printed");
        }
    }

    /// Waits for its end; gives the exit code and what it said.
    fn ends(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.process.stderr.take().expect("its errors").read_to_string(&mut said).expect("text");
        let status = self.process.wait().expect("an end");
        let left = servers_below(self.folder.path());
        assert!(left.is_empty(), "{left:?} are left behind");
        let temporary = fs::read_dir(self.folder.path().join("temporary")).expect("a folder");
        assert_eq!(temporary.count(), 0, "no file is left behind");
        (status.code(), said)
    }
}

/// Processes that work below a folder.
fn servers_below(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").expect("processes");
    let folders =
        processes.filter_map(|process| fs::read_link(process.ok()?.path().join("cwd")).ok());
    folders.filter(|at| at.starts_with(folder)).collect()
}

/// A closed terminal is as good as Ctrl-C.
pub(crate) fn a_hang_up_leaves_nothing_behind() {
    let mut dev = Dev::start(&[], &example("Tenant", "1"));
    dev.until_printed("Tenant.dev.example.com one");
    let pid = rustix::process::Pid::from_child(&dev.process);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).expect("a signal");
    let (code, said) = dev.ends();
    assert_eq!(code, Some(0), "{said}");
}

/// A parent that lives in no namespace is found again although its example says none.
pub(crate) fn once_is_done_when_parents_of_any_scope_are_ready() {
    let (code, said) = Dev::start(&["--once"], &example("Tenant", "1")).ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 of 1 parents ready"), "{said}");
}

/// What cannot be installed is told in one sentence, at once.
pub(crate) fn once_says_which_example_cannot_be_installed() {
    let (code, said) = Dev::start(&["--once"], &example("Tenat", "1")).ends();
    assert_eq!(code, Some(1), "{said}");
    let told = "example.yaml:1:1: the API server serves no dev.example.com/v1 Tenat";
    assert!(said.contains(told), "{said}");
    let (code, said) = Dev::start(&["--once"], &example("Tenant", "large")).ends();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("example.yaml:1:1: the API server refuses") && said.contains(".spec.size"),
        "{said}"
    );
}

/// Runs the program to its end: the exit code, and what it printed on both outputs.
fn run(folder: &Path, kubeconfig: Option<&Path>, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    if let Some(kubeconfig) = kubeconfig {
        command.env("KUBECONFIG", kubeconfig);
    }
    let output = command.output().expect("kubewright runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stderr) + &text(&output.stdout))
}

/// The folder after the first command of the tutorial.
fn greeting() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = run(folder.path(), None, &["new", "greeting"]);
    assert_eq!(code, Some(0), "{said}");
    folder
}

/// What the tutorial shows for `dev --once` is what it prints.
pub(crate) fn the_tutorial_shows_what_dev_prints() {
    let page = fs::read_to_string("docs/FIRST-RULE.md").expect("the tutorial");
    let command = "```console cluster\n$ kubewright dev --once\n";
    let (_, rest) = page.split_once(command).expect("the command");
    let (shown, _) = rest.split_once("```\n").expect("its output");
    let (first, last) = shown.split_once("...\n").expect("lines are left out");
    let (code, printed) = run(greeting().path(), None, &["dev", "--once"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.starts_with(first) && printed.ends_with(last), "{printed}\nand not\n{shown}");
}

/// The commands that the tutorial ends with, on the cluster of a running `dev`.
pub(crate) fn plan_and_explain_agree_with_dev_about_the_tutorial() {
    let mut dev = Dev::start_in(greeting(), &[]);
    let at = dev.folder.path().to_path_buf();
    dev.until_printed("status servers: 1, text: \"Hello, World!\"");
    let session = fs::read_dir(at.join("temporary")).expect("a folder").next();
    let kubeconfig = session.expect("a session").expect("a folder").path().join("kubeconfig");
    let (code, said) = run(&at, Some(&kubeconfig), &["explain", "Greeting/world"]);
    assert!(code == Some(0) && said.contains("server") && said.contains("ready"), "{said}");
    // What is shown may be on its way to the server still.
    let calm = || run(&at, Some(&kubeconfig), &["plan"]).0 == Some(0);
    let calm = (0..60).any(|_| {
        calm() || {
            std::thread::sleep(Duration::from_secs(1));
            false
        }
    });
    assert!(calm, "something would change: {:?}", run(&at, Some(&kubeconfig), &["plan"]));
    let (code, said) = run(&at, Some(&kubeconfig), &["explain", "Greeting/nobody-else"]);
    assert!(code == Some(1) && said.contains("kubectl get greeting -A"), "{said}");
    let pid = rustix::process::Pid::from_child(&dev.process);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let (code, said) = dev.ends();
    assert_eq!(code, Some(0), "{said}");
}
