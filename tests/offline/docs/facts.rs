//! What the pages say in words and the program in code: limits, alerts, problems.

use kubewright::problem::codes;
use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap()
}

/// A line of a source, and the row of the page that says the same.
const LIMITS: &[(&str, &str, &str)] = &[
    (
        "src/render/items.rs",
        "MOST_ITEMS: usize = 1_000;",
        "| items of one group (`forEach`) | 1,000 |",
    ),
    ("src/rule/compile/group.rs", "DEEPEST: usize = 8;", "| nested groups | 8 |"),
    ("src/render.rs", "MOST_CHILDREN: usize = 2_000;", "| children of one parent | 2,000 |"),
    ("src/input.rs", "MOST: usize = 10_000;", "| objects of one list of inputs | 10,000 |"),
    (
        "src/template/value.rs",
        "MAX_BYTES: usize = 5 << 20;",
        "| what one parent renders to | 5 MiB |",
    ),
    ("src/template/language.rs", "FUEL: u64 = 200_000;", "| steps of one template | 200,000 |"),
    ("src/rule/read.rs", "LARGEST_FILE: u64 = 1 << 20;", "| a rule file or template file | 1 MiB,"),
    ("src/template/compile.rs", "MAX_SOURCE: usize = 128 << 10;", "a template 128 KiB |"),
    ("src/rule/read.rs", "DEEPEST_FOLDER: usize = 8;", "| folders in folders | 8 |"),
    (
        "src/status/condition.rs",
        "LONGEST_MESSAGE: usize = 1024;",
        "| message of a condition | 1,024 characters |",
    ),
    ("src/event/note.rs", "LONGEST: usize = 1024;", "| text of an Event | 1,024 bytes |"),
    (
        "src/watch/wire.rs",
        "LONGEST_LINE: usize = 32 << 20;",
        "| one line of a watch (an object) | 32 MiB |",
    ),
    ("src/cluster/limit.rs", "MOST: f64 = 32.0;", "requests of passes in flight are 32 at most"),
];

#[test]
fn the_limits_on_the_page_are_those_of_the_program() {
    let page = read("docs/OPERATING.md");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for (path, line, row) in LIMITS {
        assert!(
            read(path).contains(line),
            "{path} has no `{line}`: what does docs/OPERATING.md say?"
        );
        assert!(page.contains(row), "docs/OPERATING.md has no `{row}`");
    }
}

#[test]
fn every_alert_is_explained_and_no_other_one() {
    let alerts = read("charts/kubewright/files/alerts.yaml");
    let alerts: Vec<&str> =
        alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let page = read("docs/OPERATING.md");
    let told: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `Kubewright"))
        .filter_map(|rest| rest.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let alerts: Vec<&str> =
        alerts.iter().map(|name| name.strip_prefix("Kubewright").unwrap()).collect();
    assert!(alerts.len() > 5);
    assert_eq!(told, alerts);
}

#[test]
fn every_power_that_a_parent_may_get_is_in_the_security_model() {
    let page = read("docs/SECURITY.md");
    let powers = codes::all().iter().filter(|code| code.name.starts_with("parent-controls-"));
    for code in powers {
        assert!(page.contains(&format!("| `{}` |", code.name)), "{}", code.name);
    }
    for name in ["secret-flow", "adopt-any-name"] {
        assert!(page.contains(&format!("(`{name}`)")) && codes::find(name).is_some(), "{name}");
    }
}

#[test]
fn every_reason_that_troubleshooting_explains_is_one() {
    let reasons = read("docs/REASONS.md");
    let page = read("docs/TROUBLESHOOTING.md");
    let (_, part) = page.split_once("\n## By reason\n").unwrap();
    let headings: Vec<&str> = part.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert!(headings.len() > 5);
    for reason in headings {
        assert!(reasons.contains(&format!("| `{reason}` |")), "{reason}");
    }
}
