//! The command line of each server.
//!
//! In: the options and a port. Out: arguments; relative paths in them are below the control plane's folder, where the
//! servers run. Never here: processes, files.
//!
//! etcd listens on a socket in the private folder: no port, and no other user of the machine can read the store.

use super::folder::{
    AUDIT_LOG, AUDIT_POLICY, AUTHORITY, CONTROLLER_MANAGER, KWOK, SCHEDULER, SERVER,
    SERVICE_ACCOUNTS, STAGES,
};
use super::program::Program;

/// The names and addresses by which clients reach the API server; the last address is the `kubernetes` Service's.
pub(super) const SERVER_NAMES: &[&str] = &[
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.96.0.1",
];

/// What the command lines depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Without controllers: pods then need no service account, which nobody would make.
    pub bare: bool,
    /// Whether requests are logged.
    pub audit: bool,
    /// The API server's, on 127.0.0.1.
    pub port: u16,
}

impl Setting {
    /// The arguments of `program`.
    pub(super) fn arguments(self, program: Program) -> Vec<String> {
        match program {
            Program::Etcd => etcd(),
            Program::ApiServer => self.api_server(),
            Program::ControllerManager => controller_manager(),
            Program::Scheduler => scheduler(),
            Program::Kwok => kwok(),
        }
    }

    fn api_server(self) -> Vec<String> {
        let mut arguments = vec![
            "--etcd-servers=unix://etcd.sock".into(),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", self.port),
            // A loopback address is refused as an endpoint of the `kubernetes` Service: name a documentation one
            // (RFC 5737) and publish none.
            "--advertise-address=192.0.2.1".into(),
            "--endpoint-reconciler-type=none".into(),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            format!("--tls-cert-file={SERVER}.crt"),
            format!("--tls-private-key-file={SERVER}.key"),
            format!("--client-ca-file={AUTHORITY}.crt"),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
            format!("--service-account-key-file={SERVICE_ACCOUNTS}.pub"),
            format!("--service-account-signing-key-file={SERVICE_ACCOUNTS}.key"),
            "--authorization-mode=RBAC".into(),
            // As kubeadm and the clouds have it: node agents are privileged.
            "--allow-privileged=true".into(),
            "--profiling=false".into(),
        ];
        if self.bare {
            arguments.push("--disable-admission-plugins=ServiceAccount".into());
        }
        if self.audit {
            arguments.extend([
                format!("--audit-policy-file={AUDIT_POLICY}"),
                format!("--audit-log-path={AUDIT_LOG}"),
                "--audit-log-format=json".into(),
                // In megabytes: far above what a test writes, so that the file is never rotated under a reader.
                "--audit-log-maxsize=100000".into(),
            ]);
        }
        arguments
    }
}

fn etcd() -> Vec<String> {
    strings(&[
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        "--listen-client-urls=unix://etcd.sock",
        // Nobody asks a single member where else it can be reached, but etcd wants both to be set, and takes no
        // port of ours if it chooses the peers' by itself.
        "--advertise-client-urls=http://127.0.0.1:0",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    ])
}

fn controller_manager() -> Vec<String> {
    let mut arguments = vec![
        format!("--kubeconfig={CONTROLLER_MANAGER}"),
        // Each controller under its own name, as in real clusters: the audit log tells them apart.
        "--use-service-account-credentials=true".into(),
        format!("--service-account-private-key-file={SERVICE_ACCOUNTS}.key"),
        format!("--root-ca-file={AUTHORITY}.crt"),
    ];
    arguments.extend(strings(&[
        "--leader-elect=false",
        "--secure-port=0",
        // The default of 20 requests a second would make every bigger example wait for it.
        "--kube-api-qps=300",
        "--kube-api-burst=500",
    ]));
    arguments
}

fn scheduler() -> Vec<String> {
    let mut arguments = vec![format!("--kubeconfig={SCHEDULER}")];
    arguments.extend(strings(&["--leader-elect=false", "--secure-port=0"]));
    arguments
}

fn kwok() -> Vec<String> {
    vec![
        format!("--kubeconfig={KWOK}"),
        format!("--config={STAGES}"),
        "--manage-all-nodes=true".into(),
        // The pods' addresses; room for a million.
        "--cidr=10.128.0.0/12".into(),
        "--node-ip=192.0.2.2".into(),
        "--node-lease-duration-seconds=40".into(),
    ]
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(setting: Setting, part: &str) -> bool {
        setting.arguments(Program::ApiServer).iter().any(|argument| argument.contains(part))
    }

    #[test]
    fn options_change_the_api_server_only_as_they_say() {
        let full = Setting { bare: false, audit: false, port: 7 };
        assert!(has(full, "--secure-port=7"));
        assert!(!has(full, "ServiceAccount"), "the admission plugin is on, as in real clusters");
        assert!(!has(full, "--audit"));
        assert!(has(Setting { bare: true, ..full }, "--disable-admission-plugins=ServiceAccount"));
        assert!(has(Setting { audit: true, ..full }, "--audit-log-path=audit.log"));
    }

    #[test]
    fn nothing_listens_beyond_the_loopback_interface() {
        let setting = Setting { bare: false, audit: true, port: 7 };
        for program in Program::needed(false) {
            for argument in setting.arguments(*program) {
                let listens = ["--bind-address", "--listen-client-urls", "--listen-peer-urls"];
                if listens.iter().any(|flag| argument.starts_with(flag)) {
                    assert!(
                        argument.contains("127.0.0.1") || argument.contains("unix:"),
                        "{argument}"
                    );
                }
            }
        }
        for program in [Program::ControllerManager, Program::Scheduler] {
            assert!(setting.arguments(program).contains(&"--secure-port=0".to_owned()));
        }
    }
}
