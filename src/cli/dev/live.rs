//! The part of `dev` that stays: a tree that follows the cluster, and rules that follow their files.

use super::{DevArguments, Error, Exit, Session, Terminal};
use crate::report::tree;
use crate::rule::{self, Folder};
use crate::supply::{self, Supply};
use std::sync::Arc;
use std::time::Duration;

/// Changes of the tree this close together are drawn as one.
const DRAWN_TOGETHER: Duration = Duration::from_millis(100);

/// Shows the tree until the session is dropped; ends by itself only with an error, or when nobody reads it any more.
pub(super) async fn live(
    session: Session,
    arguments: &DevArguments,
    terminal: &mut Terminal,
) -> Result<Exit, Error> {
    let folders = &arguments.folders;
    let mut supply = Supply::new(&folders.rules, &folders.templates(), None);
    // What it holds now runs already, unless it was edited meanwhile.
    if let Ok(folder) = supply.read().await {
        session.running.controller.take_over(&rule::load(&folder));
    }
    let controller = Arc::clone(&session.running.controller);
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
            () = controller.changed() => tokio::time::sleep(DRAWN_TOGETHER).await,
            read = supply.changed() => {
                reload(&session, read, terminal).await;
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

/// Takes over what is good; a rule that is bad now runs on in its last good version.
async fn reload(session: &Session, read: Result<Folder, supply::Error>, terminal: &mut Terminal) {
    let loaded = match read {
        Ok(folder) => rule::load(&folder),
        Err(error) => return terminal.error(&format!("{error}; the rules run on as they were")),
    };
    terminal.problems(&loaded.problems);
    if let Err(error) = session.installer.install(&loaded).await {
        terminal.error(&error.to_string());
    }
    session.running.controller.kinds_changed();
    for (name, why) in session.running.controller.take_over(&loaded) {
        terminal.note(&format!("rule {name} runs on as it was: {why}"));
    }
}
