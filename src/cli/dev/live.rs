//! The part of `dev` that stays: a tree that follows the cluster, and rules that follow their files.

use super::{DevArguments, Error, Exit, Session, Terminal, load};
use crate::report::tree;
use crate::rule::{Loaded, Rule};
use notify::{RecursiveMode, Watcher};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};

/// Editors write in several steps: changes this close together count as one.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Shows the tree until the session is dropped; ends by itself only with an error, or when nobody reads it any more.
pub(super) async fn live(
    session: Session,
    arguments: &DevArguments,
    loaded: Loaded,
    terminal: &mut Terminal,
) -> Result<Exit, Error> {
    let (_watcher, mut edits) = watch_folders(arguments)?;
    let controller = Arc::clone(&session.running.controller);
    let mut rules = loaded.rules;
    let mut shown = String::new();
    let mut health = tokio::time::interval(Duration::from_secs(5));
    loop {
        draw(&controller.reports(), terminal, &mut shown);
        if terminal.is_closed() {
            // Nobody reads on, as after `| head`.
            session.running.stop().await;
            session.plane.stop().await?;
            return Ok(Exit::Fine);
        }
        tokio::select! {
            () = controller.changed() => tokio::time::sleep(DEBOUNCE / 2).await,
            Some(()) = edits.recv() => {
                tokio::time::sleep(DEBOUNCE).await;
                while edits.try_recv().is_ok() {}
                reload(&session, arguments, &mut rules, terminal).await;
                shown.clear();
            }
            _ = health.tick() => session.plane.check().await?,
        }
    }
}

/// On a terminal the tree is redrawn in place, elsewhere it is printed again when it changed.
fn draw(reports: &[crate::report::Report], terminal: &mut Terminal, shown: &mut String) {
    let text = tree(reports, terminal.style);
    if text == *shown {
        return;
    }
    let separator = if shown.is_empty() { "" } else { "\n" };
    let clear = if terminal.is_live() && !shown.is_empty() { "\x1b[H\x1b[2J" } else { separator };
    terminal.print(&format!("{clear}{text}"));
    *shown = text;
}

/// Directories are watched, not files: editors and ConfigMap mounts replace files.
fn watch_folders(
    arguments: &DevArguments,
) -> Result<(notify::RecommendedWatcher, Receiver<()>), notify::Error> {
    let (say, edits) = channel(16);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // A full channel says as much as one more message would.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            let _ = say.try_send(());
        }
    })?;
    let rules = &arguments.folders.rules;
    let folder = if rules.is_file() { rules.parent().unwrap_or(Path::new(".")) } else { rules };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    watcher.watch(folder, RecursiveMode::Recursive)?;
    let templates = arguments.folders.templates();
    if templates.is_dir() {
        watcher.watch(&templates, RecursiveMode::Recursive)?;
    }
    Ok((watcher, edits))
}

/// Takes over what is good; a rule that is bad now runs on in its last good version.
async fn reload(
    session: &Session,
    arguments: &DevArguments,
    rules: &mut Vec<Arc<Rule>>,
    terminal: &mut Terminal,
) {
    let loaded = match load(&arguments.folders) {
        Ok(loaded) => loaded,
        Err(error) => return terminal.error(&format!("{error}; the rules run on as they were")),
    };
    terminal.problems(&loaded.problems);
    if let Err(error) = session.installer.install(&loaded).await {
        terminal.error(&error.to_string());
    }
    session.running.controller.kinds_changed();
    // A file that is no YAML hides the names of its rules: then nothing counts as removed.
    let keep_all = loaded.problems.len() > loaded.bad.len() || loaded.rules.is_empty();
    let mut wanted = loaded.rules;
    for old in rules.iter() {
        let renewed = wanted.iter().any(|rule| rule.name == old.name);
        if !renewed && (keep_all || loaded.bad.iter().any(|name| **name == *old.name)) {
            wanted.push(Arc::clone(old));
        }
    }
    *rules = wanted;
    session.running.controller.set_rules(rules);
}
