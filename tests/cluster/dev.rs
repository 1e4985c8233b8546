//! `kubewright dev` as a person starts and stops it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

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
    /// In a folder of its own for everything, temporary files included.
    fn start(arguments: &[&str], example: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("rule.yaml", RULE), ("crd.yaml", CRD), ("example.yaml", example)] {
            fs::create_dir_all(folder.path().join("rules")).expect("a folder");
            fs::write(folder.path().join("rules").join(name), text).expect("a file");
        }
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
