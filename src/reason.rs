//! What each reason of a condition or an Event means, and what to do: a page for people.
//!
//! In: the reasons that the program has, `reason/reasons.txt` with what is said of each. Out: Markdown. Never here: why one parent
//! has a reason.

use crate::report::State;
use crate::status::kind;
use crate::{event, status};
use std::fmt::Write;
use std::sync::LazyLock;

/// What is said of a reason.
struct Said {
    word: &'static str,
    meaning: &'static str,
    remedy: &'static str,
}

static SAID: LazyLock<Vec<Said>> =
    LazyLock::new(|| include_str!("reason/reasons.txt").lines().filter_map(read).collect());

/// `Word | meaning | remedy`; a line that is not like this is none, and the tests say so.
fn read(line: &'static str) -> Option<Said> {
    let mut parts = line.splitn(3, " | ").map(str::trim);
    Some(Said { word: parts.next()?, meaning: parts.next()?, remedy: parts.next()? })
}

const INTRODUCTION: &str = "\
# Reasons

This page is written by a program (`KUBEWRIGHT_UPDATE=1 cargo test --test offline`), so that it names what there is. Reasons are stable:
alerts may use them. Messages are for people and may change. What to do at length: [troubleshooting](TROUBLESHOOTING.md).

## Conditions

A rule with a `status` gives its parents three conditions, of which exactly one is True: `Ready` (all is there and ready),
`Reconciling` (it is on its way) or `Stalled` (it needs somebody's help). All three carry the same reason and message. Where several
rules write the status of one kind, `status.prefix` stands before the three names. The rule's own conditions have the reasons that the
rule gives them.

| True | reason | what it means | what to do |
|---|---|---|---|
";

const EVENTS: &str = "
## Events

Events are about the parent, in its namespace; about rules they are about the ConfigMap that holds the rule or its record. The same
Event is not sent twice but counted up. A rule's own conditions are Events too where no status can say them, under the reasons of the
rule.

| type | reason | what it means | what to do |
|---|---|---|---|
";

/// The page with every reason.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for reason in status::Reason::ALL {
        let condition = match reason.state() {
            State::Ready => kind::READY,
            State::InProgress => kind::RECONCILING,
            State::Failed => kind::STALLED,
        };
        row(&mut page, condition, reason.as_str());
    }
    page += EVENTS;
    for reason in event::Reason::ALL {
        row(&mut page, if reason.is_warning() { "Warning" } else { "Normal" }, reason.as_str());
    }
    page
}

fn row(page: &mut String, first: &str, word: &str) {
    let said = SAID.iter().find(|said| said.word == word);
    let (meaning, remedy) = said.map_or(("", ""), |said| (said.meaning, said.remedy));
    // Writing to a String cannot fail.
    let _ = writeln!(page, "| {first} | `{word}` | {meaning} | {remedy} |");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_is_explained_in_two_sentences_and_nothing_else_is() {
        let lines = include_str!("reason/reasons.txt").lines().count();
        assert_eq!(SAID.len(), lines, "each line is `Word | meaning | remedy`");
        let told: BTreeSet<&str> = SAID.iter().map(|said| said.word).collect();
        assert_eq!(told.len(), lines, "each word has one line");
        let conditions = status::Reason::ALL.map(status::Reason::as_str);
        let events: Vec<&str> = event::Reason::ALL.iter().map(event::Reason::as_str).collect();
        let known: BTreeSet<&str> = conditions.into_iter().chain(events).collect();
        assert_eq!(told, known);
        for Said { word, meaning, remedy } in &*SAID {
            for sentence in [meaning, remedy] {
                let first = sentence.starts_with(|c: char| c.is_uppercase() || c == '`');
                assert!(first && sentence.ends_with('.'), "{word}: {sentence}");
            }
        }
    }
}
