//! The servers a control plane is made of: one table.
//!
//! In: nothing. Out: their names, the Go packages they are built from, the versions. Never here: files, processes.

/// The Kubernetes version that is built; `control-plane/go.mod` names the same one. Also a folder of the cache.
pub const VERSION: &str = "v1.37.2";

/// A server of the control plane, in the order in which they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// The store behind the API server.
    Etcd,
    /// `kube-apiserver`.
    ApiServer,
    /// Deployments, Jobs, garbage collection, namespaces, service accounts.
    ControllerManager,
    /// Binds pods to nodes.
    Scheduler,
    /// Plays the kubelets: nodes and pods that run on paper only.
    Kwok,
}

/// A row of the table.
struct Row {
    name: &'static str,
    package: &'static str,
    build_time: &'static str,
}

impl Program {
    /// Build times: two cores, nothing cached.
    const fn row(self) -> Row {
        let (name, package, build_time) = match self {
            Self::Etcd => ("etcd", "go.etcd.io/etcd/server/v3", "1 minute"),
            Self::ApiServer => {
                ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", "4 minutes")
            }
            Self::ControllerManager => (
                "kube-controller-manager",
                "k8s.io/kubernetes/cmd/kube-controller-manager",
                "3 minutes",
            ),
            Self::Scheduler => {
                ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", "1 minute")
            }
            Self::Kwok => ("kwok", "sigs.k8s.io/kwok/cmd/kwok", "1 minute"),
        };
        Row { name, package, build_time }
    }

    /// The name of its executable and of its log.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The Go package that is built.
    pub(super) const fn package(self) -> &'static str {
        self.row().package
    }

    /// About how long the first build takes.
    pub(super) const fn build_time(self) -> &'static str {
        self.row().build_time
    }

    /// The programs of a control plane, in starting order.
    pub(super) const fn needed(bare: bool) -> &'static [Self] {
        const ALL: &[Program] = &[
            Program::Etcd,
            Program::ApiServer,
            Program::ControllerManager,
            Program::Scheduler,
            Program::Kwok,
        ];
        if bare { ALL.split_at(2).0 } else { ALL }
    }
}

/// For sentences: `etcd, kwok`.
pub(super) fn names(programs: &[Program]) -> String {
    programs.iter().map(|program| program.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_go_module_pins_the_version_and_every_package() {
        let module = include_str!("../../control-plane/go.mod");
        assert!(module.contains(&format!("k8s.io/kubernetes {VERSION} ")), "VERSION and go.mod");
        let (_, tools) = module.split_once("tool (").expect("a list of tools");
        let (tools, _) = tools.split_once(')').expect("its end");
        let tools: Vec<_> = tools.lines().map(str::trim).collect();
        for program in Program::needed(false) {
            assert!(tools.contains(&program.package()), "{}", program.name());
        }
    }

    #[test]
    fn a_bare_control_plane_is_a_store_and_an_api_server() {
        assert_eq!(names(Program::needed(true)), "etcd, kube-apiserver");
    }
}
