//! The rules of `run`: read at the start, and again whenever they change.
//!
//! In: folders and `ConfigMaps`. Out: what is good is taken over, what is not is told. Never here: what a rule means.

use super::settings::RunArguments;
use crate::cli::Terminal;
use crate::controller::Controller;
use crate::rule::{self, Folder, Loaded};
use crate::supply::{ConfigMaps, Supply};
use kube::Client;
use std::sync::Arc;

/// Where the rules come from, and who runs them.
pub(super) struct Rules {
    controller: Arc<Controller>,
    config_maps: Option<Arc<ConfigMaps>>,
    supply: Supply,
}

impl Rules {
    /// Nothing is read yet.
    pub(super) fn new(
        arguments: &RunArguments,
        client: &Client,
        namespace: &str,
        controller: &Arc<Controller>,
    ) -> Self {
        let config_maps = arguments.rule_configmaps;
        let config_maps =
            config_maps.then(|| ConfigMaps::new(client, namespace, controller.teller()));
        let config_maps = config_maps.map(Arc::new);
        let (rules, templates) = (&arguments.folders.rules, arguments.folders.templates());
        let supply = Supply::new(rules, &templates, config_maps.clone());
        Self { controller: Arc::clone(controller), config_maps, supply }
    }

    /// Reads them for the first time, which has to succeed.
    pub(super) async fn begin(&mut self, terminal: &mut Terminal) -> Result<(), String> {
        let read = self.supply.read().await;
        let loaded = self.load(&read.map_err(|error| error.to_string())?);
        // Those of the folder alone were told before anything else.
        if self.config_maps.is_some() {
            terminal.problems(&loaded.problems);
        }
        self.controller.begin(&loaded).await;
        Ok(())
    }

    /// Takes over every change, for ever.
    pub(super) async fn follow(&mut self, terminal: &mut Terminal) {
        loop {
            let loaded = match self.supply.changed().await {
                Ok(folder) => self.load(&folder),
                Err(error) => {
                    tracing::error!(%error, "the rules cannot be read, they run on as they were");
                    continue;
                }
            };
            terminal.problems(&loaded.problems);
            let (rules, problems) = (loaded.rules.len(), loaded.problems.len());
            tracing::info!(rules, problems, "the rules were read anew");
            self.controller.take_over(&loaded);
        }
    }

    fn load(&self, folder: &Folder) -> Loaded {
        let loaded = rule::load(folder);
        self.controller.metrics().bad_rules(loaded.bad.len());
        if let Some(config_maps) = &self.config_maps {
            config_maps.tell_problems(&loaded);
        }
        loaded
    }
}
