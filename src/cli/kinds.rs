//! The kinds that a command without a cluster knows.
//!
//! In: what was loaded, `--crds`. Out: types and scopes.

use crate::problem::Problem;
use crate::rule::{self, Loaded};
use crate::schema::Types;
use crate::scope::Scopes;
use clap::Args;
use std::path::{Path, PathBuf};

/// Where definitions of kinds are, beside the rules folder.
#[derive(Clone, Debug, Args)]
pub struct Definitions {
    /// A folder or file with more `CustomResourceDefinitions`, such as those of other operators whose objects the rules
    /// render; can be given several times.
    ///
    /// The definitions in the rules folder and the built-in kinds are known anyway. Objects of kinds that are not known
    /// are not checked.
    #[arg(long, value_name = "DIR")]
    crds: Vec<PathBuf>,
}

/// What is known of kinds.
pub(super) struct Known {
    pub(super) types: Types,
    pub(super) scopes: Scopes,
    /// Files of definitions that could not be read as YAML.
    pub(super) problems: Vec<Problem>,
}

impl Definitions {
    /// Reads them all. Of the folders given only the definitions count.
    pub(super) fn known(&self, loaded: &Loaded) -> Result<Known, rule::Error> {
        let mut types = Types::builtin();
        let mut problems = Vec::new();
        for path in &self.crds {
            // There are no templates beside them.
            let folder = rule::read(path, Path::new(""))?;
            let others = rule::load(&folder);
            types = types.with_crds(others.crds.iter().map(|crd| &crd.object));
            problems.extend(
                others.problems.into_iter().filter(|problem| problem.code == "illegal-yaml"),
            );
        }
        Ok(Known { problems, ..Known::beside(types, loaded) })
    }
}

impl Known {
    /// The built-in kinds, and those that the folder itself defines.
    pub(super) fn of(loaded: &Loaded) -> Self {
        Self::beside(Types::builtin(), loaded)
    }

    fn beside(types: Types, loaded: &Loaded) -> Self {
        let types = types.with_crds(loaded.crds.iter().map(|crd| &crd.object));
        Self { scopes: Scopes::offline(&types), types, problems: Vec::new() }
    }
}
