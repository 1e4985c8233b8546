//! The private folder of one control plane: keys, kubeconfigs, settings, logs.
//!
//! In: the options and the API server's port. Out: files that only their owner can read; at the end, none. Never here:
//! processes.

use super::certificates::{Authority, service_account_keys};
use super::error::Error;
use super::kubeconfig::kubeconfig;
use super::servers::{SERVER_NAMES, Setting};
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

// Names in the folder, as the servers' command lines have them.
pub(super) const AUTHORITY: &str = "authority";
pub(super) const SERVER: &str = "server";
pub(super) const SERVICE_ACCOUNTS: &str = "service-accounts";
pub(super) const ADMIN: &str = "kubeconfig";
pub(super) const CONTROLLER_MANAGER: &str = "controller-manager.kubeconfig";
pub(super) const SCHEDULER: &str = "scheduler.kubeconfig";
pub(super) const KWOK: &str = "kwok.kubeconfig";
pub(super) const AUDIT_POLICY: &str = "audit-policy.yaml";
pub(super) const AUDIT_LOG: &str = "audit.log";
pub(super) const STAGES: &str = "stages.yaml";
const LOGS: &str = "logs";

/// Whoever uses a kubeconfig: user and group, as RBAC's built-in bindings know them.
const USERS: &[(&str, &str, Option<&str>)] = &[
    (ADMIN, "admin", Some("system:masters")),
    (CONTROLLER_MANAGER, "system:kube-controller-manager", None),
    (SCHEDULER, "system:kube-scheduler", None),
    // It plays every kubelet and a volume provisioner; no built-in role covers that.
    (KWOK, "kwok", Some("system:masters")),
];

/// Removed when dropped.
#[derive(Debug)]
pub(super) struct Folder {
    folder: TempDir,
}

impl Folder {
    /// A new one, in the system's folder for temporary files; no other user can enter it.
    pub(super) fn new() -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("kubewright-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(Error::io("make a temporary folder"))?;
        let logs = folder.path().join(LOGS);
        fs::create_dir(&logs).map_err(Error::io(format!("make {}", logs.display())))?;
        Ok(Self { folder })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.path().join(LOGS)
    }

    /// Writes everything the servers read; gives the administrator's kubeconfig.
    pub(super) fn fill(&self, setting: Setting) -> Result<String, Error> {
        let authority = Authority::new()?;
        let server = authority.server(SERVER_NAMES)?;
        let (private, public) = service_account_keys()?;
        self.write(&format!("{AUTHORITY}.crt"), &authority.certificate)?;
        self.write(&format!("{SERVER}.crt"), &server.certificate)?;
        self.write(&format!("{SERVER}.key"), &server.key)?;
        self.write(&format!("{SERVICE_ACCOUNTS}.key"), &private)?;
        self.write(&format!("{SERVICE_ACCOUNTS}.pub"), &public)?;
        self.write(AUDIT_POLICY, include_str!("../../control-plane/audit-policy.yaml"))?;
        self.write(STAGES, include_str!("../../control-plane/stages.yaml"))?;
        let address = format!("https://127.0.0.1:{}", setting.port);
        let mut admin = String::new();
        for &(file, user, group) in USERS {
            let identity = authority.client(user, group)?;
            let text = kubeconfig(&address, &authority.certificate, &identity);
            self.write(file, &text)?;
            if file == ADMIN {
                admin = text;
            }
        }
        Ok(admin)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.path().join(name);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(Error::io(format!("write {}", path.display())))
    }

    /// Removes it now, and says so if that fails.
    pub(super) fn remove(self) -> Result<(), Error> {
        let action = format!("remove {}", self.path().display());
        self.folder.close().map_err(Error::io(action))
    }

    /// Leaves the logs to whoever wants to know what happened; keys and data go.
    pub(super) fn keep_logs(self) {
        let path = self.folder.keep();
        // What cannot be removed stays: a more important error is on its way already.
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let entry = entry.path();
            if entry.is_dir() && !entry.ends_with(LOGS) {
                _ = fs::remove_dir_all(entry);
            } else if !entry.is_dir() {
                _ = fs::remove_file(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting { bare: false, audit: true, port: 6443 };

    #[test]
    fn nobody_else_can_read_it() {
        let folder = Folder::new().expect("a folder");
        folder.fill(SETTING).expect("files");
        let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        for name in [ADMIN, KWOK, "server.key", "service-accounts.key"] {
            assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
        }
    }

    #[test]
    fn every_file_on_a_command_line_exists() {
        let folder = Folder::new().expect("a folder");
        folder.fill(SETTING).expect("files");
        for program in super::super::program::Program::needed(false) {
            for argument in SETTING.arguments(*program) {
                let Some((flag, value)) = argument.split_once('=') else {
                    continue;
                };
                if flag.ends_with("-file") || flag == "--kubeconfig" || flag == "--config" {
                    assert!(folder.path().join(value).is_file(), "{argument}");
                }
            }
        }
    }

    #[test]
    fn after_a_failure_only_logs_stay_and_after_a_stop_nothing() {
        let folder = Folder::new().expect("a folder");
        folder.fill(SETTING).expect("files");
        let path = folder.path().to_owned();
        fs::write(path.join("logs/etcd.log"), "why").expect("a log");
        fs::create_dir_all(path.join("etcd/member")).expect("data");
        folder.keep_logs();
        let left: Vec<_> = fs::read_dir(&path).expect("entries").flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(fs::read_to_string(path.join("logs/etcd.log")).expect("a log"), "why");
        fs::remove_dir_all(path).expect("removed");

        let folder = Folder::new().expect("a folder");
        let path = folder.path().to_owned();
        folder.remove().expect("removed");
        assert!(!path.exists());
    }
}
