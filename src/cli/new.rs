//! `kubewright new`: a rule from manifests, from a CRD, or a small example to learn from.
//!
//! In: files or standard input. Out: new files, all of them or none; never one that exists already.

use super::{Exit, Terminal};
use crate::problem::Problem;
use crate::rule;
use crate::scaffold::{self, Names, NewFile, Scaffold};
use crate::source::Source;
use clap::Args;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of `new`.
#[derive(Debug, Args)]
pub struct NewArguments {
    /// The rule's name: a DNS label such as `webapp`.
    name: String,
    /// Manifests that become templates: their example parent renders back the same objects. `-` is standard input.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "crd")]
    from: Vec<PathBuf>,
    /// The CRD of a kind that exists already. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    crd: Option<PathBuf>,
    /// The parent's kind; the name in CamelCase where not given. With --crd: which CRD of the file.
    #[arg(long)]
    kind: Option<String>,
    /// The parent's API group.
    #[arg(long, default_value = "demo.example.com", conflicts_with = "crd")]
    group: String,
    /// The folder that gets `rules` and `templates`.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// More than this is no manifest.
const LARGEST_INPUT: u64 = 4 << 20;

/// Why nothing was written.
enum Refusal {
    Problems(Vec<Problem>),
    Failed(String),
}

/// Makes the rule and writes its files.
pub fn new(arguments: &NewArguments, terminal: &mut Terminal) -> Exit {
    match make(arguments).and_then(|scaffold| {
        write(&arguments.out, &arguments.name, &scaffold.files)?;
        Ok(scaffold)
    }) {
        Ok(scaffold) => {
            terminal.print(&told(arguments, &scaffold));
            Exit::Fine
        }
        Err(Refusal::Problems(problems)) => {
            terminal.problems(&problems);
            Exit::Problems
        }
        Err(Refusal::Failed(why)) => {
            terminal.error(&why);
            Exit::Failed
        }
    }
}

fn make(arguments: &NewArguments) -> Result<Scaffold, Refusal> {
    let kind = arguments.kind.as_deref();
    let names = Names::new(&arguments.name, kind, &arguments.group)
        .map_err(|problem| Refusal::Problems(vec![problem]))?;
    let made = if let Some(crd) = &arguments.crd {
        let copy = !is_inside(crd, &arguments.out.join("rules"));
        scaffold::from_crd(&arguments.name, kind, &source(crd)?, copy)
    } else if arguments.from.is_empty() {
        scaffold::greeting(&names)
    } else {
        if arguments.from.iter().filter(|path| is_standard_input(path)).count() > 1 {
            return Err(Refusal::Failed("standard input can be read only once".into()));
        }
        let sources: Vec<_> =
            arguments.from.iter().map(|path| source(path)).collect::<Result<_, _>>()?;
        scaffold::from_manifests(&names, &sources)
    };
    made.map_err(Refusal::Problems)
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a file is in a folder already.
fn is_inside(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(path).zip(real(folder)).is_some_and(|(path, folder)| path.starts_with(folder))
}

fn source(path: &Path) -> Result<Arc<Source>, Refusal> {
    let name =
        if is_standard_input(path) { "standard input".into() } else { path.display().to_string() };
    let failed = |error: io::Error| Refusal::Failed(format!("cannot read `{name}`: {error}"));
    let mut text = String::new();
    let read = if is_standard_input(path) {
        io::stdin().lock().take(LARGEST_INPUT + 1).read_to_string(&mut text)
    } else {
        let file = fs::File::open(path).map_err(failed)?;
        file.take(LARGEST_INPUT + 1).read_to_string(&mut text)
    };
    if read.map_err(failed)? as u64 > LARGEST_INPUT {
        return Err(Refusal::Failed(format!("`{name}` is larger than 4 MiB: is it a manifest?")));
    }
    Ok(Source::new(name, text))
}

/// Where a file goes, as a person would write it.
fn target(out: &Path, file: &NewFile) -> PathBuf {
    if out == Path::new(".") { PathBuf::from(&file.path) } else { out.join(&file.path) }
}

/// Writes all files, or none: what was written before a failure is removed again.
fn write(out: &Path, name: &str, files: &[NewFile]) -> Result<(), Refusal> {
    let paths: Vec<PathBuf> = files.iter().map(|file| target(out, file)).collect();
    let existing: Vec<String> = paths
        .iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| format!("\n  {}", path.display()))
        .collect();
    if !existing.is_empty() {
        let (this, them) = if existing.len() == 1 {
            ("this file exists", "it")
        } else {
            ("these files exist", "them")
        };
        return Err(Refusal::Failed(format!(
            "{this} already, nothing was written:{}\nmove {them} away, choose another name, or another folder with --out",
            existing.concat()
        )));
    }
    if is_taken(out, name) {
        let why = format!(
            "there is a rule `{name}` already, in another file of `rules`; nothing was written"
        );
        return Err(Refusal::Failed(why));
    }
    let mut made = Made::default();
    for (path, file) in paths.iter().zip(files) {
        if let Err(error) = made.write(path, &file.text) {
            made.undo();
            let why = format!("cannot write `{}`: {error}; nothing was written", path.display());
            return Err(Refusal::Failed(why));
        }
    }
    Ok(())
}

/// Whether the folder has a rule of this name, good or bad. A folder that cannot be read has none that we know of.
fn is_taken(out: &Path, name: &str) -> bool {
    let Ok(folder) = rule::read(&out.join("rules"), &out.join("templates")) else { return false };
    let loaded = rule::load(&folder);
    loaded.rules.iter().any(|rule| *rule.name == *name) || loaded.bad.iter().any(|bad| bad == name)
}

/// What was made so far, in order.
#[derive(Default)]
struct Made {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let above: Vec<&Path> =
            path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        for folder in above.into_iter().rev() {
            if !folder.is_dir() {
                fs::create_dir(folder)?;
                self.folders.push(folder.to_path_buf());
            }
        }
        // Refuses a file that somebody made since we looked.
        let mut file = fs::File::create_new(path)?;
        self.files.push(path.to_path_buf());
        file.write_all(text.as_bytes())
    }

    /// Nothing more can be done about what cannot be removed.
    fn undo(self) {
        for file in self.files.iter().rev() {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// What was written, what an author should know, what to type next.
fn told(arguments: &NewArguments, scaffold: &Scaffold) -> String {
    let mut lines: Vec<String> = scaffold
        .files
        .iter()
        .map(|file| format!("wrote {}", target(&arguments.out, file).display()))
        .collect();
    if !arguments.from.is_empty() {
        let (count, plural) = (scaffold.objects, if scaffold.objects == 1 { "" } else { "s" });
        lines.push(String::new());
        lines.push(format!(
            "The example parent renders back exactly the {count} object{plural} given."
        ));
        if scaffold.parameters.is_empty() {
            lines.push("Nothing but its name became a field of the parent.".into());
        } else {
            lines.push(format!("Fields of the parent: {}", scaffold.parameters.join(", ")));
        }
    }
    if !scaffold.notes.is_empty() {
        lines.push(String::new());
        lines.push("Please look at:".into());
        lines.extend(scaffold.notes.iter().map(|note| format!("  {note}")));
    }
    lines.push(String::new());
    lines.push("Next:".into());
    if arguments.out != Path::new(".") {
        lines.push(format!("  cd {}", arguments.out.display()));
    }
    lines.push(
        "  kubewright check         # every mistake in rules and templates; needs no cluster"
            .into(),
    );
    lines.push("  kubewright render        # the children of the example parents".into());
    lines.push(
        "  kubewright dev --once    # on a real local control plane, until all is ready".into(),
    );
    lines.join("\n") + "\n"
}
