//! Builds missing servers with `go build`, once per machine and version.
//!
//! In: which programs, the Go module that is part of this program. Out: executables in the cache folder, each there
//! whole or not at all. Never here: downloads of our own (Go fetches and verifies its modules), async.

use super::child;
use super::error::{Error, tail};
use super::find::{Binaries, executable};
use super::program::{Program, VERSION};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

/// How often a running build, or somebody else's, is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How often it is said that a build still runs.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a build needs to know.
pub(super) struct Workshop<'a> {
    pub go: PathBuf,
    /// The cache folder.
    pub cache: &'a Path,
    /// Our own program, so that `go` does not survive us.
    pub shim: &'a Path,
    pub progress: &'a dyn Fn(&str),
    /// Nobody waits for the result any more.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Workshop<'_> {
    /// Builds the programs one after the other; Go uses all cores for each.
    pub(super) fn build(&self, programs: &[Program]) -> Result<Binaries, Error> {
        fs::create_dir_all(self.cache).map_err(self.io("make"))?;
        let _lock = self.lock()?;
        let module = tempfile::Builder::new().prefix("kubewright-build-").tempdir();
        let module = module.map_err(Error::io("make a temporary folder"))?;
        for (name, text) in [
            ("go.mod", include_str!("../../control-plane/go.mod")),
            ("go.sum", include_str!("../../control-plane/go.sum")),
        ] {
            let path = module.path().join(name);
            let action = format!("write {}", path.display());
            fs::write(path, text).map_err(Error::io(action))?;
        }
        let mut built = Binaries::new();
        for &program in programs {
            // Whoever had the lock before us may have built it.
            let path = match executable(self.cache, program.name()) {
                Some(path) => path,
                None => self.build_one(program, module.path())?,
            };
            built.insert(program, path);
        }
        Ok(built)
    }

    /// The system lets go of the lock when the file is closed, and so when its holder dies.
    fn lock(&self) -> Result<File, Error> {
        let file = File::create(self.cache.join("lock")).map_err(self.io("lock"))?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(source)) => return Err(self.io("lock")(source)),
                Err(TryLockError::WouldBlock) if !told => {
                    (self.progress)("waiting for another process that builds the control plane …");
                    told = true;
                }
                Err(TryLockError::WouldBlock) => self.pause()?,
            }
        }
    }

    fn build_one(&self, program: Program, module: &Path) -> Result<PathBuf, Error> {
        let (name, begun) = (program.name(), Instant::now());
        (self.progress)(&format!("building {name} (once, about {}) …", program.build_time()));
        // Under the lock, so the name needs not be unique: an interrupted build's remains are overwritten.
        let part = self.cache.join(format!(".{name}.part"));
        let output = module.join("output");
        let status = self.go(program, module, &part, &output)?;
        if !status.success() {
            let text = fs::read(&output).unwrap_or_default();
            return Err(self.failure(name, status, &String::from_utf8_lossy(&text)));
        }
        let path = self.cache.join(name);
        fs::rename(&part, &path).map_err(self.io("finish a build in"))?;
        (self.progress)(&format!("built {name} in {}", clock(begun.elapsed())));
        Ok(path)
    }

    /// Runs `go build` to its end.
    fn go(
        &self,
        program: Program,
        module: &Path,
        part: &Path,
        output: &Path,
    ) -> Result<ExitStatus, Error> {
        let run = || Error::io(format!("run {}", self.go.display()));
        let log = File::create(output).map_err(run())?;
        let mut process = child::command(self.shim, &self.go)
            .args(["build", "-mod=readonly", "-trimpath", "-ldflags", &link_flags(), "-o"])
            .args([part.as_os_str(), program.package().as_ref()])
            .current_dir(module)
            .env("GO111MODULE", "on")
            .env("GOWORK", "off")
            .stdout(log.try_clone().map_err(run())?)
            .stderr(log)
            .spawn()
            .map_err(run())?;
        let (begun, mut told) = (Instant::now(), Duration::ZERO);
        loop {
            if let Some(status) = process.try_wait().map_err(run())? {
                return Ok(status);
            }
            if let Err(error) = self.pause() {
                _ = process.kill();
                _ = process.wait();
                return Err(error);
            }
            if begun.elapsed() >= told + PATIENCE {
                told = begun.elapsed();
                (self.progress)(&format!("building {} … {}", program.name(), clock(told)));
            }
        }
    }

    fn failure(&self, name: &'static str, status: ExitStatus, text: &str) -> Error {
        if text.contains("no space left on device") {
            return Error::DiskFull { name, cache: self.cache.to_owned() };
        }
        Error::Build { name, status: status.to_string(), tail: tail(text, 12) }
    }

    fn pause(&self) -> Result<(), Error> {
        if (self.cancelled)() {
            return Err(Error::Interrupted);
        }
        thread::sleep(LOOK);
        Ok(())
    }

    fn io(&self, verb: &str) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io(format!("{verb} {}", self.cache.display()))
    }
}

/// The servers say which version they are only if the linker is told.
fn link_flags() -> String {
    let package = "k8s.io/component-base/version";
    let mut numbers = VERSION.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    format!(
        "-s -w -X {package}.gitVersion={VERSION} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
}

/// Minutes and seconds: `3:07`.
fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::fake;
    use std::sync::Mutex;

    /// Writes its arguments where it was told to put the program.
    const GO: &str = r#"
test -f go.mod && test -f go.sum || exit 9
all="$*"
while [ "$1" != -o ]; do shift; done
echo "$all" > "$2"
chmod 755 "$2"
"#;

    struct Bench {
        folder: tempfile::TempDir,
        said: Mutex<Vec<String>>,
        cancelled: bool,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            Self { folder, said: Mutex::default(), cancelled: false }
        }

        fn cache(&self) -> PathBuf {
            self.folder.path().join("cache")
        }

        fn build(&self, go: &str, programs: &[Program]) -> Result<Binaries, Error> {
            Workshop {
                go: fake::program(self.folder.path(), "go", go),
                cache: &self.cache(),
                shim: &fake::shim(self.folder.path()),
                progress: &|text| self.said.lock().expect("a lock").push(text.into()),
                cancelled: &|| self.cancelled,
            }
            .build(programs)
        }

        fn said(&self) -> Vec<String> {
            self.said.lock().expect("a lock").clone()
        }
    }

    #[test]
    fn a_program_is_built_once_and_says_its_version() {
        let bench = Bench::new();
        let built = bench.build(GO, &[Program::Etcd, Program::Kwok]).expect("built");
        let kwok = fs::read_to_string(&built[&Program::Kwok]).expect("a program");
        assert!(kwok.starts_with("build -mod=readonly -trimpath"), "{kwok}");
        assert!(kwok.contains("gitVersion=v1.37.2 "), "{kwok}");
        assert!(kwok.contains("gitMajor=1 ") && kwok.contains("gitMinor=37 "), "{kwok}");
        assert!(kwok.trim_end().ends_with("sigs.k8s.io/kwok/cmd/kwok"), "{kwok}");
        assert_eq!(bench.said()[0], "building etcd (once, about 1 minute) …");
        assert_eq!(bench.said().len(), 4);
        let again = bench.build("exit 1", &[Program::Etcd, Program::Kwok]).expect("built before");
        assert_eq!(again, built);
        assert_eq!(bench.said().len(), 4, "nothing new to say");
    }

    #[test]
    fn a_failed_build_shows_the_end_of_what_go_said_and_leaves_nothing() {
        let bench = Bench::new();
        let go = "for i in $(seq 20); do echo line $i; done; echo 'go: no such module' >&2; exit 1";
        let error = bench.build(go, &[Program::Etcd]).expect_err("a failure").to_string();
        assert!(error.starts_with("`go build` of etcd failed (exit status: 1)"), "{error}");
        assert!(error.ends_with("line 20\ngo: no such module"), "{error}");
        assert!(!error.contains("line 9\n"), "{error}");
        assert_eq!(executable(&bench.cache(), "etcd"), None);
    }

    #[test]
    fn an_interrupted_build_leaves_no_half_program() {
        let bench = Bench::new();
        let go = format!("{GO}\nkill -9 $$");
        let error = bench.build(&go, &[Program::Etcd]).expect_err("a failure").to_string();
        assert!(error.contains("signal: 9"), "{error}");
        assert_eq!(executable(&bench.cache(), "etcd"), None);
        bench.build(GO, &[Program::Etcd]).expect("the next one succeeds");
    }

    #[test]
    fn a_full_disk_is_told_as_such() {
        let bench = Bench::new();
        let go = "echo 'link: writing output: no space left on device' >&2; exit 1";
        let error = bench.build(go, &[Program::Etcd]).expect_err("a failure");
        assert!(matches!(error, Error::DiskFull { name: "etcd", .. }), "{error}");
    }

    #[test]
    fn a_build_that_nobody_waits_for_is_killed() {
        let bench = Bench { cancelled: true, ..Bench::new() };
        let error = bench.build("while :; do sleep 0.01; done", &[Program::Etcd]);
        assert!(matches!(error, Err(Error::Interrupted)), "{error:?}");
    }

    #[test]
    fn two_processes_do_not_build_at_once() {
        let bench = Bench::new();
        fs::create_dir_all(bench.cache()).expect("a folder");
        let lock = File::create(bench.cache().join("lock")).expect("a file");
        lock.lock().expect("a lock");
        thread::scope(|scope| {
            let build = scope.spawn(|| bench.build(GO, &[Program::Etcd]));
            while bench.said().is_empty() {
                thread::yield_now();
            }
            assert!(bench.said()[0].starts_with("waiting for another process"));
            drop(lock);
            build.join().expect("no panic").expect("built");
        });
    }

    #[test]
    fn time_is_told_in_minutes() {
        assert_eq!(clock(Duration::from_secs(187)), "3:07");
    }
}
