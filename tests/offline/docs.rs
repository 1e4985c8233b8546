//! The documentation does what it says: its blocks are parsed and compiled, its commands run, its links lead somewhere.
//!
//! What the words after a fence mean:
//!
//! | block | what is done with it |
//! |---|---|
//! | `yaml` | parsed; a rule in it is compiled, with the templates of its page and of this repository |
//! | `yaml part` | parsed alone: a piece of a rule, or of something that another program reads |
//! | `yaml PATH` | written into the page's folder, for its commands |
//! | `json` | parsed |
//! | `console` | each `$ command` is run in the page's folder and prints what follows it, `...` being any lines |
//! | `sh` | each command is run in the page's folder |
//! | `console cluster`, `sh cluster` | its commands need a cluster, and are only parsed |
//! | `sh part` | of a script only our own commands are parsed |
//! | `console fails`, `sh fails` | the exit codes are not 0 |
//! | `text`, `mermaid`, `gotmpl`, `python` | shown |
//!
//! A page's folder begins as a copy of the rules, templates and scenarios of this repository, or with nothing where
//! [`FROM_NOTHING`] names it. What stands between single quotes of code is looked at as a command line too.

mod blocks;
mod book;
mod command;
mod facts;
mod page;

use page::faults;
use std::fs;

/// Pages that begin in an empty folder.
const FROM_NOTHING: &[&str] = &["docs/START.md", "docs/FIRST-RULE.md", "docs/MIGRATING.md"];

/// Pages whose examples are tests of their own (`reference`, and those beside `template::reference` and `rule::examples`).
const TESTED_ELSEWHERE: &[&str] = &["docs/RULES.md", "docs/TEMPLATES.md"];

/// Every page with its text, the front door included.
fn pages() -> Vec<(String, String)> {
    let mut names = book::pages();
    names.extend(["README.md", "charts/kubewright/README.md"].map(str::to_owned));
    let text = |name: String| {
        let text = fs::read_to_string(&name).unwrap();
        (name, text)
    };
    names.into_iter().map(text).collect()
}

#[test]
fn every_block_and_every_command_of_the_pages_is_right() {
    let found: Vec<String> =
        pages().iter().flat_map(|(name, text)| faults(name, text).faults).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_commands_of_the_tutorial_are_run() {
    let name = "docs/FIRST-RULE.md";
    let found = faults(name, &fs::read_to_string(name).unwrap());
    assert!(found.ran > 8, "{} commands", found.ran);
}

/// What is found in a page with this text alone.
fn found(text: &str) -> Vec<String> {
    faults("docs/WRONG.md", text).faults
}

#[test]
fn a_wrong_block_is_found() {
    for (block, expected) in [
        ("```yaml\na: [\n```", "docs/WRONG.md:1"),
        ("```yaml part\na: b: c\n```", "docs/WRONG.md:1"),
        ("```json\n{a: 1}\n```", "docs/WRONG.md:1"),
        ("```yaml\nkind: Rule\n```", "field `apiVersion` is missing"),
        (
            "```yaml\napiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: a}\nspec:\n  parent: {apiVersion: v1, kind: Pod}\n  \
             children: [{id: a, template: no-such.yaml}]\n```",
            "there is no template `no-such.yaml`",
        ),
        ("```\nplain\n```", "what is a block"),
        ("```yaml\na: 1\n", "is not closed"),
        ("```sh\nkubewright chekc\n```", "unrecognized subcommand"),
        ("```sh\nkubewright check --strcit\n```", "unexpected argument"),
        ("```sh cluster\nkubewright run --workers many\n```", "invalid value"),
        ("```sh\nkubewright check nowhere\n```", "exit code 1"),
        ("```sh fails\nkubewright check\n```", "exit code 0"),
        ("```sh\nkubewright run\n```", "needs a cluster"),
        ("```sh\nkubctl get pods\n```", "what is `kubctl`"),
        ("```console\n$ kubewright check\nall is well\n```", "prints"),
        ("    kubewright check\n", "put a fence around this"),
        ("```sh part\nif true; then\n  kubewright plan --strict\nfi\n```", "unexpected argument"),
        ("Type `kubewright chekc` now.", "there is no command `chekc`"),
        ("Type `kubewright check --strcit` now.", "there is no option `--strcit`"),
        ("[x](NO-SUCH.md)", "leads nowhere"),
        ("[x](RULES.md#no-such-part)", "leads nowhere"),
        ("[x](#no-such-part)", "leads nowhere"),
        ("[x](../README.md)", "leaves the book"),
        ("`{{#include x}}`", "mdBook"),
    ] {
        let all = found(block).join("\n");
        assert!(all.contains(expected), "{block}\nlacks `{expected}` in: {all}");
    }
}

#[test]
fn a_right_block_is_not_found() {
    for block in [
        "```yaml\na: 1\n---\nb: 2\n```",
        "```yaml\napiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: a}\nspec:\n  parent: {apiVersion: v1, kind: Pod}\n```",
        "```console\n$ kubewright check --explain unknown-field\nunknown-field\n...\n```",
        "```sh\n# a comment\nkubewright schema > rule.json   # for editors\nkubectl get pods \\\n  -A\n```",
        "```sh cluster\nkubewright run rules --leader-elect\n```",
        "```sh\nkubewright --version\nkubewright render rules --help\n```",
        "Type `kubewright check [RULES]`, or [look](RULES.md#child).\n\n# Here\n\n[there](#here)",
    ] {
        assert_eq!(found(block), [""; 0], "{block}");
    }
}
