//! The pages about `kubewright run` say what the program does.

use crate::program::{folder, run};
use kubewright::metrics;
use std::fs;

/// `docs/METRICS.md` is what the program would write.
#[test]
fn the_page_of_metrics_is_up_to_date() {
    let (path, text) = ("docs/METRICS.md", metrics::reference());
    if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
        fs::write(path, &text).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(written, text, "KUBEWRIGHT_UPDATE=1 writes it");
}

/// Names of our metrics in a text.
fn mentioned(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| word.starts_with("kubewright_")).collect()
}

/// What a name of a sample belongs to.
fn family(sample: &str) -> Option<&'static metrics::Family> {
    let suffixes = ["", "_bucket", "_sum", "_count"];
    let is_of = |family: &&&metrics::Family| {
        sample.strip_prefix(family.name).is_some_and(|rest| suffixes.contains(&rest))
    };
    metrics::FAMILIES.iter().find(is_of).copied()
}

#[test]
fn dashboard_and_alerts_speak_of_metrics_that_are_served() {
    for path in ["charts/kubewright/files/dashboard.json", "charts/kubewright/files/alerts.yaml"] {
        let text = fs::read_to_string(path).unwrap();
        let names = mentioned(&text);
        assert!(names.len() > 10, "{path} has queries");
        for name in names {
            let family = family(name).unwrap_or_else(|| panic!("{path}: there is no {name}"));
            let is_histogram = family.kind == metrics::Kind::Histogram;
            assert_eq!(name != family.name, is_histogram, "{path}: {name} of a {:?}", family.kind);
        }
    }
}

#[test]
fn a_wrong_setting_is_told_with_its_place_before_anything_is_done() {
    let folder = folder(&[("kubewright.yaml", "workers: 4\nlease_duration: 30s\naddress: here\n")]);
    let (code, out, told) = run(folder.path(), &["run", "--config", "kubewright.yaml"]);
    assert_eq!((code, out.as_str()), (2, ""), "{told}");
    assert!(
        told.contains("kubewright.yaml:2:1") && told.contains("did you mean `lease-duration`?"),
        "{told}"
    );
    assert!(told.contains("kubewright.yaml:3:10") && told.contains("0.0.0.0:8080"), "{told}");
    let (code, _, told) = run(folder.path(), &["run", "--config", "gone.yaml"]);
    assert!(code == 2 && told.contains("gone.yaml: No such file"), "{told}");
    let (code, _, told) = run(folder.path(), &["run", "--workers", "0"]);
    assert!(code == 2 && told.contains("--workers"), "{told}");
}

#[test]
fn a_file_counts_less_than_a_flag_and_more_than_a_default() {
    // What is counted can be seen by where it looks for rules.
    let folder = folder(&[("kubewright.yaml", "rules: from-file\n")]);
    let (_, _, told) = run(folder.path(), &["run", "--config", "kubewright.yaml"]);
    assert!(told.contains("from-file"), "{told}");
    let (_, _, told) = run(folder.path(), &["run", "--config", "kubewright.yaml", "from-flag"]);
    assert!(told.contains("from-flag"), "{told}");
    let (_, _, told) = run(folder.path(), &["run"]);
    assert!(told.contains("rules") && !told.contains("from-"), "{told}");
}

#[test]
fn the_help_of_run_shows_defaults_and_the_environment() {
    let folder = folder(&[]);
    let (code, out, _) = run(folder.path(), &["run", "--help"]);
    assert_eq!(code, 0);
    for part in [
        "[default: 15s]",
        "[default: 0.0.0.0:8080]",
        "KUBEWRIGHT_LEASE_DURATION",
        "[default: kubewright]",
    ] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
}

/// Whatever a leader sends goes through a client that knows the lease ([`kubewright::lease::guarded`]). These files have a client: the
/// first two that one, the others only read, or run where there is no other replica.
#[test]
fn nothing_writes_to_a_cluster_past_the_lease() {
    let known = [
        "src/cluster/ask.rs",
        "src/event/send.rs",
        "src/cli/dev/install.rs",
        "src/cli/run.rs",
        "src/lease.rs",
        "src/watch/kinds.rs",
        "src/watch/wire.rs",
    ];
    let signs =
        [".request(", ".request_text(", ".request_stream(", "client.send(", "Api::", "Api<"];
    let mut found = 0;
    for (path, text) in crate::tidy::program() {
        let path = path.display().to_string();
        if path.starts_with("src/control_plane") {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        if signs.iter().any(|sign| code.contains(sign)) {
            assert!(
                known.contains(&&*path),
                "{path} sends requests: those that write go through `Cluster`"
            );
            found += 1;
        }
    }
    assert!(found >= 3, "the signs are found: {found}");
}
