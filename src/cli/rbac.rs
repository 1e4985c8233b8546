//! `kubewright rbac`: the least rights that the rules need, as roles.

use super::kinds::Definitions;
use super::{Exit, Folders, Terminal, no_rule};
use crate::rights::{Naming, Own, Rights, Unknown, rights};
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;

/// Options of `rbac`.
#[derive(Debug, Args)]
pub struct RbacArguments {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    definitions: Definitions,
    /// How the roles are printed.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
    /// What the roles are called.
    #[arg(long, default_value = "kubewright", value_name = "NAME")]
    name: String,
    /// The namespace in which Kubewright itself runs.
    #[arg(long, default_value = "kubewright", value_name = "NAMESPACE")]
    namespace: String,
    /// Print bindings as well, for this service account of that namespace.
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// Replicas agree by Leases which of them works (`run --leader-elect` or `--shards`).
    #[arg(long)]
    leader_elect: bool,
}

/// How roles are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// With comments that say what each right is for.
    #[default]
    Yaml,
    /// A `v1` List.
    Json,
}

/// Prints a `ClusterRole`, and a Role for each namespace that has rights of its own.
pub fn rbac(arguments: &RbacArguments, terminal: &mut Terminal) -> Exit {
    let read = super::run::load(&arguments.folders)
        .and_then(|loaded| Ok((arguments.definitions.known(&loaded)?, loaded)));
    let (kinds, loaded) = match read {
        Ok(read) => read,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    // The rights of half of the rules would look like those of all.
    let problems = [&*loaded.problems, &*kinds.problems].concat();
    if !problems.is_empty() {
        terminal.problems(&problems);
        return Exit::Problems;
    }
    if loaded.rules.is_empty() {
        terminal.error(&no_rule(&loaded, &arguments.folders));
        return Exit::Problems;
    }
    match rights(&loaded.rules, &kinds.types) {
        Ok(rights) => {
            arguments.print(rights, terminal);
            Exit::Fine
        }
        Err(unknown) => {
            tell(&unknown, terminal);
            Exit::Problems
        }
    }
}

impl RbacArguments {
    fn print(&self, rights: Rights, terminal: &mut Terminal) {
        for power in &rights.powers {
            terminal.warning(power);
        }
        let own = Own { namespace: &self.namespace, leases: self.leader_elect };
        let rights = rights.with_own(&own);
        let account = self.service_account.as_deref().map(|name| (&*self.namespace, name));
        let naming = Naming { name: &self.name, account };
        terminal.print(&match self.output {
            Output::Yaml => rights.to_yaml(&naming),
            Output::Json => format!("{:#}\n", rights.to_json(&naming)),
        });
    }
}

fn tell(unknown: &[Unknown], terminal: &mut Terminal) {
    for kind in unknown {
        terminal.error(&kind.to_string());
    }
    let kinds: BTreeSet<String> =
        unknown.iter().map(|unknown| unknown.gvk.group_kind().to_string()).collect();
    terminal.note(&format!(
        "no CustomResourceDefinition for {} is in the rules folder: name a folder that has it with --crds \
         (`kubectl get crd NAME -o yaml` prints one)",
        kinds.into_iter().collect::<Vec<_>>().join(", ")
    ));
}
