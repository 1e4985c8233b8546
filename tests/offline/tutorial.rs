//! The tutorial does what it says: its files are written, its commands run, and what it shows is what they print.
//!
//! A fenced block `yaml PATH` is a file. In a block `console`, a line after `$ ` is a command and what follows is its
//! output, where `...` stands for any lines. `console fails` expects an exit code other than 0, and `console cluster` needs
//! a control plane: such commands are listed below and not run here.

use crate::program::{folder, run};
use std::fs;
use std::path::Path;

/// The commands of the tutorial that are not run by this test.
const NEED_A_CLUSTER: &[&str] = &["kubewright dev --once"];

struct Block {
    line: usize,
    info: String,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(info), false) => {
                blocks.push(Block { line: number + 1, info: info.to_owned(), text: String::new() });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!open, "every block is closed");
    blocks
}

/// Commands and the output shown for each.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), String::new()));
        } else {
            let (_, shown) = commands.last_mut().unwrap();
            *shown += line;
            shown.push('\n');
        }
    }
    commands
}

/// Whether the text is what is shown, `...` being any number of lines.
fn is_shown(shown: &str, text: &str) -> bool {
    let (shown, text): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), text.lines().collect());
    fits(&shown, &text)
}

fn fits(shown: &[&str], text: &[&str]) -> bool {
    match shown.split_first() {
        None => text.is_empty(),
        Some((&"...", rest)) => (0..=text.len()).any(|skipped| fits(rest, &text[skipped..])),
        Some((first, rest)) => text.first() == Some(first) && fits(rest, &text[1..]),
    }
}

#[test]
fn every_command_of_the_tutorial_does_what_it_shows() {
    let document = fs::read_to_string("docs/FIRST-RULE.md").unwrap();
    let made = folder(&[]);
    let mut skipped = Vec::new();
    let mut ran = 0;
    for Block { line, info, text } in blocks(&document) {
        let place = format!("docs/FIRST-RULE.md:{line}");
        let words: Vec<&str> = info.split_whitespace().collect();
        match words.as_slice() {
            ["yaml", path] => write(&made.path().join(path), &text),
            ["yaml" | "mermaid"] => {}
            ["console", "cluster"] => {
                skipped.extend(commands(&text).into_iter().map(|(command, _)| command));
            }
            ["console"] | ["console", "fails"] => {
                for (command, shown) in commands(&text) {
                    let arguments: Vec<&str> = command.split_whitespace().collect();
                    assert_eq!(arguments.first(), Some(&"kubewright"), "{place}: {command}");
                    let (code, out, error) = run(made.path(), &arguments[1..]);
                    let printed = out + &error;
                    assert_eq!(code == 0, words.len() == 1, "{place}: {command}\n{printed}");
                    let same = shown.is_empty() || is_shown(&shown, &printed);
                    assert!(same, "{place}: {command} prints\n{printed}\nand not\n{shown}");
                    ran += 1;
                }
            }
            _ => panic!("{place}: what is a block `{info}`?"),
        }
    }
    assert_eq!(skipped, NEED_A_CLUSTER);
    assert!(ran > 5, "{ran} commands");
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn three_dots_stand_for_lines_and_nothing_else_is_forgiven() {
    assert!(is_shown("a\n...\nb\n", "a\nx\ny\nb\n"));
    assert!(is_shown("...\n", ""));
    assert!(!is_shown("a\n...\n", "b\n"));
    assert!(!is_shown("a\n", "a\nb\n"));
}
