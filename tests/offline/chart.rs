//! What the chart has copies of is what it is a copy of: rules, templates, CRDs, rights, the list of values.

use crate::rbac::{SHIPPED, expect};
use kubewright::rights::{Reach, rights};
use kubewright::rule::{self, Folder};
use kubewright::schema::Types;
use kubewright::source::Source;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const CHART: &str = "charts/kubewright";

/// A shipped rule with its CRD, and nothing else.
fn folder(pack: &str) -> Folder {
    let path = format!("rules/{pack}.yaml");
    let mut folder = rule::read(Path::new(&path), Path::new("templates")).unwrap();
    let crd = format!("rules/{pack}.crd.yaml");
    folder.rules.extend(fs::read_to_string(&crd).ok().map(|text| Source::new(crd, text)));
    folder
}

/// Helm leaves a CRD with this annotation alone when its pack or its release goes.
fn kept(crd: &str) -> String {
    let kept = crd.replacen(
        "metadata:\n",
        "metadata:\n  annotations: {helm.sh/resource-policy: keep}\n",
        1,
    );
    assert_ne!(kept, crd);
    kept
}

/// Every file of a pack and its text.
fn files_of(pack: &str) -> Vec<(String, String)> {
    let folder = folder(pack);
    let loaded = rule::load(&folder);
    assert_eq!(loaded.problems, []);
    let mut files = vec![("rule.yaml".to_owned(), folder.rules[0].text.clone())];
    let prefix = format!("{pack}/");
    for (name, source) in folder.templates.iter() {
        if let Some(name) = name.strip_prefix(&prefix) {
            assert!(!name.contains('/'), "the chart knows one folder of templates per pack");
            files.push((format!("templates/{name}"), source.text.clone()));
        }
    }
    let written = fs::read_to_string(format!("rules/{pack}.crd.yaml")).ok();
    let short = loaded.rules[0].definition.as_ref().map(kubewright::shorthand::Definition::to_yaml);
    files.extend(written.or(short).map(|crd| ("crd.yaml".to_owned(), kept(&crd))));
    let types = Types::builtin().with_crds(loaded.crds.iter().map(|crd| &crd.object));
    for role in rights(&loaded.rules, &types).unwrap().roles(pack) {
        let name = match &role.reach {
            Reach::Everywhere => "everywhere".to_owned(),
            Reach::Namespace(namespace) => format!("in-{namespace}"),
        };
        files.push((format!("rights/{name}.yaml"), role.rules()));
    }
    files
}

fn all_below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all_below(&path, found) } else { _ = found.insert(path) }
    }
}

#[test]
fn packs_are_the_shipped_rules_with_the_rights_that_rbac_prints() {
    let mut expected = BTreeSet::new();
    for pack in SHIPPED {
        for (name, text) in files_of(pack) {
            let path = format!("{CHART}/files/packs/{pack}/{name}");
            expect(&path, &text);
            expected.insert(PathBuf::from(path));
        }
    }
    let mut found = BTreeSet::new();
    all_below(Path::new(&format!("{CHART}/files/packs")), &mut found);
    assert_eq!(found, expected, "no file is left over");
}

#[test]
fn the_rights_of_a_pack_are_those_that_the_command_prints() {
    for pack in SHIPPED {
        let (_, printed, _) = crate::rbac::of_shipped(pack, &[]);
        for (name, text) in
            files_of(pack).into_iter().filter(|(name, _)| name.starts_with("rights/"))
        {
            assert!(printed.contains(&format!("rules:\n{text}")), "{pack} {name}");
        }
    }
}

#[test]
fn the_versions_of_chart_and_program_are_one() {
    let chart = fs::read_to_string(format!("{CHART}/Chart.yaml")).unwrap();
    for field in ["version", "appVersion"] {
        let line = format!("\n{field}: {}\n", env!("CARGO_PKG_VERSION"));
        assert!(chart.contains(&line), "{line}");
    }
}

#[test]
fn the_page_lists_every_value() {
    let values = fs::read_to_string(format!("{CHART}/values.yaml")).unwrap();
    let path = format!("{CHART}/README.md");
    let page = fs::read_to_string(&path).unwrap();
    let (start, end) = ("values.yaml -->\n", "<!-- end of values -->");
    let (head, rest) = page.split_once(start).unwrap();
    let (_, tail) = rest.split_once(end).unwrap();
    expect(&path, &format!("{head}{start}{}{end}{tail}", table(&values)));
}

/// A line for each value, and for each group of values that has something to say.
fn table(values: &str) -> String {
    let mut table = "\n| value | default | meaning |\n|---|---|---|\n".to_owned();
    let (mut above, mut comment): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in values.lines() {
        let depth = (line.len() - line.trim_start().len()) / 2;
        let text = line.trim();
        if let Some(more) = text.strip_prefix('#') {
            comment.push(more.trim());
            continue;
        }
        let Some((key, value)) = text.split_once(':') else { continue };
        above.truncate(depth);
        above.push(key);
        let (path, value, meaning) = (above.join("."), value.trim(), comment.join(" "));
        comment.clear();
        if !value.is_empty() {
            writeln!(table, "| `{path}` | `{value}` | {} |", meaning.replace('|', "\\|")).unwrap();
        } else if !meaning.is_empty() {
            writeln!(table, "| `{path}` | | {} |", meaning.replace('|', "\\|")).unwrap();
        }
    }
    table + "\n"
}
