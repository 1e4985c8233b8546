//! The reference page of the template language.
//!
//! In: the sections in `lessons`, the table of what can be called, the limits. Out: Markdown. Every example of the page is
//! rendered by a test.

mod lessons;

use super::check::{MAX_BLOCKS, MAX_TOKENS};
use super::compile::MAX_SOURCE;
use super::language::{Entry, EntryKind, FUEL, entries};
use super::value::{MAX_BYTES, MAX_DEPTH};
use crate::yaml::Limits;
use lessons::{FILES, INTRODUCTION, LESSONS, Lesson, SAMPLE, Seen};
use std::fmt::{self, Write};

/// The whole page.
pub fn reference() -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut page);
    page
}

fn write(page: &mut String) -> fmt::Result {
    writeln!(page, "{INTRODUCTION}\n```json\n{SAMPLE}\n```")?;
    for lesson in LESSONS {
        write_lesson(page, lesson)?;
    }
    write_limits(page)?;
    for (kind, title, text) in [
        (
            EntryKind::Filter,
            "Filters",
            "A filter is applied to the value in front of it: `{{ value|filter(arguments) }}`.",
        ),
        (EntryKind::Function, "Functions", "A function is called: `{{ function(arguments) }}`."),
        (
            EntryKind::Test,
            "Tests",
            "A test asks about a value: `{% if value is test %}`, `{% if value is not test %}`.",
        ),
        (EntryKind::Global, "Names", "A name that is always there."),
    ] {
        writeln!(page, "\n## {title}\n\n{text}\n")?;
        writeln!(page, "| name | what it does | example | gives |\n|---|---|---|---|")?;
        let mut of_kind: Vec<_> = entries().filter(|entry| entry.kind == kind).collect();
        of_kind.sort_by_key(|entry| entry.name);
        for entry in of_kind {
            write_entry(page, entry)?;
        }
    }
    Ok(())
}

fn write_lesson(page: &mut String, lesson: &Lesson) -> fmt::Result {
    writeln!(page, "\n## {}\n\n{}", lesson.title, lesson.text.trim())?;
    let (short, long): (Vec<_>, Vec<_>) =
        lesson.examples.iter().partition(|example| !example.written.contains('\n'));
    if !short.is_empty() {
        let place = if lesson.lenient { " in `status.fields`" } else { "" };
        writeln!(page, "\n| written{place} | gives |\n|---|---|")?;
    }
    for example in short {
        writeln!(page, "| {} | {} |", code(example.written), shown(&example.seen))?;
    }
    for example in long {
        writeln!(page, "\n```yaml\n{}\n```\n\n{}", example.written, told(&example.seen))?;
    }
    if lesson.shows_files {
        for (name, text) in FILES {
            writeln!(page, "\nwhere `{name}` is\n\n```yaml\n{}\n```", text.trim_end())?;
        }
    }
    Ok(())
}

fn write_limits(page: &mut String) -> fmt::Result {
    let documents = Limits::RENDERED.documents;
    writeln!(
        page,
        "\n## Limits\n\nA template that is too large or takes too long is an error, soon, and never a slow controller.\n"
    )?;
    writeln!(page, "| what | at most |\n|---|---|")?;
    writeln!(page, "| one template | {} KiB |", MAX_SOURCE >> 10)?;
    writeln!(page, "| one expression | {MAX_TOKENS} words and signs |")?;
    writeln!(page, "| blocks inside each other | {MAX_BLOCKS} |")?;
    writeln!(page, "| steps of one rendering; a manifest of 60 lines takes about 400 | {FUEL} |")?;
    writeln!(page, "| the values of one rendering together | {} MiB |", MAX_BYTES >> 20)?;
    writeln!(page, "| values inside each other | {MAX_DEPTH} |")?;
    writeln!(page, "| documents of one template | {documents} |")
}

fn write_entry(page: &mut String, entry: &Entry) -> fmt::Result {
    let names: Vec<String> =
        std::iter::once(&entry.name).chain(entry.aliases).map(|name| code(name)).collect();
    let gives = if entry.example.output.is_empty() {
        "nothing".to_owned()
    } else {
        code(entry.example.output)
    };
    let (names, doc) = (names.join(", "), cell(entry.doc));
    writeln!(page, "| {names} | {doc} | {} | {gives} |", code(entry.example.template))
}

/// As a sentence's beginning.
fn told(seen: &Seen) -> String {
    let verb = match seen {
        Seen::Json(_) => "gives ",
        Seen::Refused(_) => "is ",
        Seen::Waits(_) => "",
    };
    format!("{verb}{}", shown(seen))
}

/// In the cell of a table.
fn shown(seen: &Seen) -> String {
    match seen {
        Seen::Json(json) => code(json),
        Seen::Refused(message) => format!("refused: {}", cell(message)),
        Seen::Waits(what) => format!("waits for {}", code(what)),
    }
}

/// As code, with more backticks around it than are in it.
fn code(text: &str) -> String {
    let text = cell(text);
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// The cells of a table end at every `|`, even in code, and at the end of the line.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::{Awaits, Builder, Context, Failure, Mode, Origin, Part};
    use super::*;
    use crate::source::Source;
    use serde_json::{Value as Json, json};
    use std::sync::Arc;

    /// What an example gives.
    fn rendered(text: &str, mode: Mode) -> Result<Json, Failure> {
        let sample: Json = serde_json::from_str(SAMPLE).unwrap();
        let children = json!({});
        let conditions = json!({"Serving": false});
        let context = Context::new()
            .with("parent", Part::new("parent", &sample["parent"], Awaits::Key("status".into())))
            .with("let", Part::new("let", &sample["let"], Awaits::Nothing))
            .with("conditions", Part::new("conditions", &conditions, Awaits::Nothing))
            .with("children", Part::new("children", &children, Awaits::Everything));
        let files =
            FILES.iter().map(|(name, text)| ((*name).to_owned(), Source::new(*name, *text)));
        let mut builder = Builder::new(Arc::new(files.collect()));
        let source = Source::new("body", text);
        let body = builder.compile_body(text, Origin::file(&source), mode).unwrap();
        builder.build().body(&body, &context).map(Json::Object)
    }

    #[test]
    fn every_example_of_a_lesson_gives_what_the_page_says() {
        let mut seen = 0;
        for lesson in LESSONS {
            let mode = if lesson.lenient { Mode::Lenient } else { Mode::Strict };
            for example in lesson.examples {
                seen += 1;
                let text = format!("{}\n", example.written);
                match (&example.seen, rendered(&text, mode)) {
                    (Seen::Json(expected), Ok(value)) => {
                        let expected: Json = serde_json::from_str(expected).unwrap();
                        assert_eq!(value, expected, "{text}");
                    }
                    (Seen::Refused(expected), Err(Failure::Failed(problem))) => {
                        assert_eq!(problem.message, *expected, "{text}");
                    }
                    (Seen::Waits(expected), Err(Failure::Waiting { what, .. })) => {
                        assert_eq!(what, *expected, "{text}");
                    }
                    (_, other) => panic!("{text}: {other:?}"),
                }
            }
        }
        assert!(seen > 30, "{seen} examples");
    }

    #[test]
    fn every_entry_is_on_the_page_and_tables_have_four_cells() {
        let page = reference();
        for entry in entries() {
            assert!(page.contains(&format!("| `{}`", entry.name)), "{}", entry.name);
        }
        for line in page.lines().filter(|line| line.starts_with("| `")) {
            let cells = line.replace("\\|", "").matches('|').count();
            assert!(cells == 5 || cells == 3, "{line}");
        }
    }
}
