//! The command line: what may be typed, and which command runs.
//!
//! In: arguments. Out: an [`Exit`]. Commands write results to standard output and everything else to standard error.

pub mod check;
pub mod completions;
mod connect;
pub mod crd;
pub mod dev;
pub mod explain;
pub mod graph;
pub mod kinds;
pub mod man;
pub mod new;
pub mod plan;
mod preview;
pub mod rbac;
pub mod reference;
pub mod render;
pub mod run;
pub mod schema;
pub mod terminal;
pub mod test;

use crate::rule::Loaded;
use crate::telemetry::LogFormat;
use clap::{Args, Parser, Subcommand};
use run::config::Fault;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
pub use terminal::Terminal;

/// How a command ended; the numbers are documented and stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: everything is fine.
    Fine,
    /// 1: it failed, or not everything became ready.
    Failed,
    /// 3: rules, templates or parents have problems. (2 is for wrong usage.)
    Problems,
    /// 4: all is well, and something would change.
    Changes,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Problems => 3,
            Exit::Changes => 4,
        })
    }
}

/// A Kubernetes operator configured by files.
///
/// A rule says: for every object of this kind, these children should exist, this is how they are compared, and this is
/// what the object's status should say. Start with `kubewright dev` in a folder that has rules/ and templates/.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What to log, as a level or a filter such as `info,kubewright::act=debug`.
    #[arg(long, global = true, env = "KUBEWRIGHT_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How log lines look.
    #[arg(long, global = true, env = "KUBEWRIGHT_LOG_FORMAT", value_enum, default_value_t)]
    pub log_format: LogFormat,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the rules on a local control plane that this command brings itself.
    ///
    /// Starts etcd and Kubernetes on free loopback ports in a temporary folder, installs the CRDs found beside the rules,
    /// applies the example parents, runs the rules and shows parents, children and readiness as a tree. The binaries come
    /// from `KUBEBUILDER_ASSETS`, else PATH, else they are built once with `go` (about 10 minutes). Ctrl-C stops everything.
    Dev(dev::DevArguments),
    /// Run the controller against the cluster of the current kubeconfig, or the one this pod lives in.
    ///
    /// Every flag can also be set in the environment and in a file (--config). A flag counts before the environment, that
    /// before the file, that before the default. SIGTERM ends it: passes under way are finished, and a lease is given to the
    /// next replica. SIGUSR1 makes the log verbose, SIGUSR2 as it was.
    Run(run::RunArguments),
    /// Find every mistake in rules and templates; needs no cluster.
    ///
    /// Renders every example parent of the rules folder and checks it, its children and the definitions with what is known
    /// of their kinds: fields that do not exist or hold the wrong type, and paths of rules and templates that no object of
    /// the kind can have. Known are the built-in kinds, the `CustomResourceDefinitions` in the rules folder and those of
    /// --crds. Warnings tell what works and is odd: templates that nothing uses, powers that whoever may write a parent
    /// gets, Jobs that would run again for ever.
    ///
    /// Exit codes: 0 no errors, 1 the files could not be read, 2 wrong usage, 3 there are errors.
    Check(check::CheckArguments),
    /// Print the children a rule wants for a parent; needs no cluster.
    ///
    /// The parent is given the defaults of its definition first, as the API server would.
    Render(render::RenderArguments),
    /// Show what the rules would change for every live parent of the cluster; writes nothing.
    ///
    /// Reads the cluster of the current kubeconfig once and judges as the controller would right after a restart. Each
    /// changed value is shown with the line of the template that wants it; values of Secrets are shown as lengths and
    /// hashes. `kubewright plan rules WebApp/shop` looks at one parent.
    ///
    /// Exit codes: 0 nothing would change, 4 something would, 3 a template fails or an object or field is somebody
    /// else's, 1 not everything could be read, 2 wrong usage.
    Plan(plan::PlanArguments),
    /// Say how a live parent stands: what is ready, what waits for what, who holds what, and which line wants it.
    ///
    /// `kubewright explain WebApp/shop -n team` reads the cluster of the current kubeconfig and writes nothing.
    ///
    /// Exit codes: 0 it is told (whatever it is), 1 there is no such parent or no cluster, 2 wrong usage, 3 the rules
    /// have problems.
    Explain(explain::ExplainArguments),
    /// Print the JSON Schema of rule files, for editors.
    ///
    /// With the YAML language server, put this on the first line of a rule:
    /// `# yaml-language-server: $schema=rule.schema.json`
    Schema(schema::SchemaArguments),
    /// Draw the rules, their children and what depends on what; needs no cluster.
    Graph(graph::GraphArguments),
    /// Make a rule: from manifests, from a CRD, or a small example to learn from.
    ///
    /// `kubewright new shop --from shop.yaml` turns a Deployment, a Service and so on into templates with the parent's CRD
    /// and an example that renders back the same objects; comments and order stay. `kubewright new backup --crd crd.yaml`
    /// starts a rule for a kind that exists. `kubewright new greeting` writes a complete commented example. Files that
    /// exist are never overwritten.
    New(new::NewArguments),
    /// Run scenarios: what a rule should do for a parent, step by step; needs no cluster.
    ///
    /// A scenario file says what a parent looks like, what happens to its children, and what is expected: actions, parts of
    /// the children, conditions, status. Every step is also checked for what nobody asks: a second pass writes nothing, and
    /// the order in which anything comes in changes nothing.
    Test(test::TestArguments),
    /// Print the CRDs of parents that rules describe in short form; needs no cluster.
    ///
    /// A rule may describe its parent in `spec.schema`, a line a field. `dev` installs what comes of it; everywhere else
    /// the printed CRD is committed or applied by hand: the controller itself never writes CRDs.
    Crd(crd::CrdArguments),
    /// Print a script that lets a shell complete this program's commands and options.
    ///
    /// For bash: `kubewright completions bash > ~/.local/share/bash-completion/completions/kubewright`. For zsh: into a file
    /// `_kubewright` in a folder of `$fpath`. For fish: `~/.config/fish/completions/kubewright.fish`.
    Completions(completions::CompletionsArguments),
    /// Print a manual page, or write those of all commands.
    ///
    /// `kubewright man run | man -l -` reads one; `kubewright man --all DIR` writes them for a package.
    Man(man::ManArguments),
    /// Print the least rights that the rules need, as roles; needs no cluster.
    ///
    /// A `ClusterRole` with what holds everywhere, and a Role for each namespace that has rights of its own: a rule whose
    /// parents are confined to some `namespaces` needs none anywhere else. `kubewright rbac --service-account kubewright |
    /// kubectl apply -f -` installs them with their bindings. Powers over the rights of others (`bind`, `escalate`) are
    /// told on standard error as well.
    ///
    /// Exit codes: 0 fine, 1 the files could not be read, 2 wrong usage, 3 rules have problems or a kind is not known.
    Rbac(rbac::RbacArguments),
}

/// Where rules and templates are.
#[derive(Clone, Debug, Args)]
pub struct Folders {
    /// A folder of rules, or one rule file.
    #[arg(default_value = "rules", env = "KUBEWRIGHT_RULES")]
    pub rules: PathBuf,
    /// The folder that `template:` names are relative to; `templates` beside the rules where not given.
    #[arg(long, env = "KUBEWRIGHT_TEMPLATES", value_name = "DIR")]
    pub templates: Option<PathBuf>,
}

impl Folders {
    /// The template folder: the one given, else `templates` beside the rules folder.
    pub fn templates(&self) -> PathBuf {
        self.templates.clone().unwrap_or_else(|| {
            let rules = if self.rules.is_file() {
                self.rules.parent().map(PathBuf::from).unwrap_or_default()
            } else {
                self.rules.clone()
            };
            rules.parent().map(PathBuf::from).unwrap_or_default().join("templates")
        })
    }
}

/// That there is nothing to do, since no rule is without problems or none is there at all, and the next command.
fn no_rule(loaded: &Loaded, folders: &Folders) -> String {
    let folder = folders.rules.display();
    if loaded.problems.is_empty() {
        format!("there is no rule in `{folder}`: `kubewright new greeting` makes one to learn from")
    } else {
        format!(
            "no rule in `{folder}` is without problems: mend those above, and try `kubewright check`"
        )
    }
}

/// Reads the command line, and the configuration file that it may name. What is wrong with them, or the help that was asked
/// for, is printed; then there is nothing to run.
///
/// # Errors
/// The exit code to end with.
pub fn parse(words: &[OsString]) -> Result<Arguments, ExitCode> {
    let mut terminal = Terminal::new();
    run::config::parse(words).map_err(|fault| match fault {
        Fault::Words(error) => {
            // Help goes to standard output, and is no failure.
            drop(error.print());
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
        Fault::Unreadable(why) => {
            terminal.error(&why);
            ExitCode::from(2)
        }
        Fault::Problems(problems) => {
            terminal.problems(&problems);
            ExitCode::from(2)
        }
    })
}

/// Runs one command.
pub fn run(arguments: Arguments) -> Exit {
    let mut terminal = Terminal::new();
    let default_level = if matches!(arguments.command, Command::Run(_)) { "info" } else { "warn" };
    let level = arguments.log.as_deref().unwrap_or(default_level);
    if let Err(error) = crate::telemetry::start(arguments.log_format, level) {
        terminal.error(&error);
        return Exit::Failed;
    }
    match arguments.command {
        Command::Dev(arguments) => dev::dev(&arguments, &mut terminal),
        Command::Run(arguments) => run::run(&arguments, &mut terminal),
        Command::Check(arguments) => check::check(&arguments, &mut terminal),
        Command::Render(arguments) => render::render(&arguments, &mut terminal),
        Command::Plan(arguments) => plan::plan(&arguments, &mut terminal),
        Command::Explain(arguments) => explain::explain(&arguments, &mut terminal),
        Command::Schema(arguments) => schema::schema(&arguments, &mut terminal),
        Command::Graph(arguments) => graph::graph(&arguments, &mut terminal),
        Command::New(arguments) => new::new(&arguments, &mut terminal),
        Command::Test(arguments) => test::test(&arguments, &mut terminal),
        Command::Crd(arguments) => crd::crd(&arguments, &mut terminal),
        Command::Completions(arguments) => completions::completions(&arguments, &mut terminal),
        Command::Man(arguments) => man::man(&arguments, &mut terminal),
        Command::Rbac(arguments) => rbac::rbac(&arguments, &mut terminal),
    }
}
