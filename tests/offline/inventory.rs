//! What the program is made of: every crate of a build for Linux, with its licence, as a page and as a bill of materials.

use crate::rbac::expect;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-musl";

/// A crate that becomes a part of the program, or makes a part of it.
struct Crate {
    name: String,
    version: String,
    licence: String,
    /// Of its archive; the program itself has none.
    checksum: Option<String>,
    needs: BTreeSet<String>,
}

impl Crate {
    fn purl(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// By purl; those for tests alone are left out.
fn crates() -> BTreeMap<String, Crate> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--locked",
            "--offline",
            "--format-version",
            "1",
            "--filter-platform",
            TARGET,
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let needs: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let is_for_tests = |kind: &Value| kind["kind"] == "dev";
            let needs = list(&node["deps"]).into_iter();
            let needs = needs.filter(|need| !list(&need["dep_kinds"]).iter().all(is_for_tests));
            (text(&node["id"]), needs.map(|need| text(&need["pkg"])).collect())
        })
        .collect();
    let checksums = checksums();
    let mut open = vec![text(&metadata["resolve"]["root"])];
    let mut seen = BTreeSet::new();
    let mut crates = BTreeMap::new();
    let purl = |id: &String| {
        format!("pkg:cargo/{}@{}", text(&packages[id]["name"]), text(&packages[id]["version"]))
    };
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let package = &packages[&id];
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let found = Crate {
            checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
            licence: text(&package["license"]).replace('/', " OR "),
            needs: needs[&id].iter().map(purl).collect(),
            name,
            version,
        };
        open.extend(needs[&id].iter().cloned());
        crates.insert(found.purl(), found);
    }
    crates
}

/// By name and version, from the lock file.
fn checksums() -> BTreeMap<(String, String), String> {
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    let field = |package: &str, name: &str| {
        let prefix = format!("{name} = \"");
        let line = package.lines().find_map(|line| line.strip_prefix(&prefix))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]");
    packages
        .filter_map(|package| {
            Some((
                (field(package, "name")?, field(package, "version")?),
                field(package, "checksum")?,
            ))
        })
        .collect()
}

/// Whether an SPDX expression allows what the project allows: one of each `OR`, all of each `AND`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // Exceptions only give more rights.
    let expression = expression.replace(" WITH LLVM-exception", "");
    let parts = split(&expression, " OR ");
    if parts.len() > 1 {
        return parts.iter().any(|part| is_allowed(part, allowed));
    }
    let parts = split(&expression, " AND ");
    if parts.len() > 1 {
        return parts.iter().all(|part| is_allowed(part, allowed));
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_allowed(inner, allowed),
        None => allowed.contains(&expression),
    }
}

/// Splits where no parenthesis is open.
fn split<'e>(expression: &'e str, word: &str) -> Vec<&'e str> {
    let is_outside = |at: usize| {
        let before = &expression[..at];
        before.matches('(').count() == before.matches(')').count()
    };
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in expression.match_indices(word).filter(|(at, _)| is_outside(*at)) {
        parts.push(&expression[start..at]);
        start = at + word.len();
    }
    parts.push(&expression[start..]);
    parts
}

fn allowed() -> BTreeSet<String> {
    let deny = fs::read_to_string(".deny.toml").unwrap();
    let (_, list) = deny.split_once("allow = [").unwrap();
    let (list, _) = list.split_once(']').unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_licence_is_one_that_the_project_allows() {
    let allowed = allowed();
    for one in crates().values() {
        assert!(is_allowed(&one.licence, &allowed), "{}: {}", one.purl(), one.licence);
    }
    for wrong in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", ""] {
        assert!(!is_allowed(wrong, &allowed), "{wrong}");
    }
}

#[test]
fn the_bill_of_materials_and_the_page_of_licences_are_up_to_date() {
    let crates = crates();
    let own = format!("pkg:cargo/kubewright@{}", env!("CARGO_PKG_VERSION"));
    let component = |one: &Crate, kind: &str| {
        let mut component = json!({
            "type": kind, "bom-ref": one.purl(), "name": one.name, "version": one.version, "purl": one.purl(),
            "licenses": [{"expression": one.licence}],
        });
        if let Some(checksum) = &one.checksum {
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        component
    };
    let others = crates.values().filter(|one| one.purl() != own);
    let bill = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": component(&crates[&own], "application")},
        "components": others.clone().map(|one| component(one, "library")).collect::<Vec<_>>(),
        "dependencies": crates
            .values()
            .map(|one| json!({"ref": one.purl(), "dependsOn": one.needs}))
            .collect::<Vec<_>>(),
    });
    assert!(others.clone().all(|one| one.checksum.is_some()), "every crate is from a registry");
    expect("docs/sbom.cdx.json", &format!("{bill:#}\n"));
    let mut page = "\
# Licences

Every crate that a build for Linux is made of, procedural macros and build scripts included; `docs/sbom.cdx.json` has the same for
machines (CycloneDX). Both are written by a test from `Cargo.lock`. The C library of the static build is musl (MIT).

| crate | version | licence |
|---|---|---|
"
    .to_owned();
    for one in others {
        writeln!(page, "| {} | {} | {} |", one.name, one.version, one.licence).unwrap();
    }
    expect("docs/LICENCES.md", &page);
}
