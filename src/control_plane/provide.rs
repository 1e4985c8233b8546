//! Every program a control plane needs, found or built.
//!
//! In: the environment. Out: a path for each program. Never here: how to search (`find.rs`) or to build (`build.rs`).

use super::Progress;
use super::build::Workshop;
use super::error::Error;
use super::find::{Binaries, Places};
use super::program::{Program, names};
use std::path::{Path, PathBuf};
use std::thread;
use tokio::sync::oneshot;

/// Searches, and builds what is missing, in a thread of its own: a build's processes are tied to it.
pub(super) async fn locate(
    bare: bool,
    shim: PathBuf,
    progress: Progress,
) -> Result<Binaries, Error> {
    let (reply, answer) = oneshot::channel();
    let work = move || {
        let places = Places::from_environment();
        let result = provide(&places, bare, &shim, &*progress, &|| reply.is_closed());
        // Closed if nobody waits any more.
        _ = reply.send(result);
    };
    thread::Builder::new()
        .name("control-plane-build".into())
        .spawn(work)
        .map_err(Error::io("start a thread"))?;
    answer.await.map_err(|_| Error::Interrupted)?
}

fn provide(
    places: &Places,
    bare: bool,
    shim: &Path,
    progress: &dyn Fn(&str),
    cancelled: &dyn Fn() -> bool,
) -> Result<Binaries, Error> {
    let mut found = places.find(bare);
    if let Some(note) = &found.note {
        progress(note);
    }
    if found.missing.is_empty() {
        return Ok(found.binaries);
    }
    let go = places.on_path("go").ok_or_else(|| Error::GoMissing {
        missing: names(&found.missing),
        needed: names(Program::needed(bare)),
    })?;
    let workshop = Workshop { go, cache: places.cache()?, shim, progress, cancelled };
    found.binaries.extend(workshop.build(&found.missing)?);
    Ok(found.binaries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::fake;
    use std::fs;
    use std::sync::Mutex;

    #[test]
    fn without_go_the_message_says_what_is_missing_and_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        fake::program(folder.path(), "etcd", "");
        let places = Places { cache: Some(folder.path().to_owned()), ..Places::default() };
        let error = provide(&places, true, Path::new("shim"), &|_| (), &|| false);
        assert_eq!(
            error.expect_err("no go").to_string(),
            "kube-apiserver: neither found nor buildable, since `go` is not on the PATH; \
             install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver"
        );
    }

    #[test]
    fn what_is_missing_is_built_and_what_is_there_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (cache, bin) = (folder.path().join("cache"), folder.path().join("bin"));
        for folder in [&cache, &bin] {
            fs::create_dir(folder).expect("a folder");
        }
        let etcd = fake::program(&cache, "etcd", "");
        let go = "while [ \"$1\" != -o ]; do shift; done; cp \"$0\" \"$2\"";
        fake::program(&bin, "go", go);
        let places = Places { assets: None, path: vec![bin], cache: Some(cache.clone()) };
        let shim = fake::shim(folder.path());
        let said = Mutex::new(Vec::new());
        let say = |text: &str| said.lock().expect("a lock").push(text.to_owned());
        let binaries = provide(&places, true, &shim, &say, &|| false).expect("everything");
        assert_eq!(binaries[&Program::Etcd], etcd);
        assert_eq!(binaries[&Program::ApiServer], cache.join("kube-apiserver"));
        let said = said.into_inner().expect("no panic");
        assert!(said.iter().all(|text| text.contains("kube-apiserver")), "{said:?}");
        assert!(places.find(true).missing.is_empty());
    }
}
