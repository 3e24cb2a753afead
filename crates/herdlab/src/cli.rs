//! The command line: which scenarios under which policies, carried out to an exit code.
//!
//! 0 every check passed, 1 one failed or a file could not be written, 2 usage.

mod batch;
mod compare;
mod interrupt;
mod output;
mod page;
mod text;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use herdcache::LocalStore;

use crate::html;
use crate::play::{PlayError, play_recorded};
use crate::policy::Policy;
use crate::run::{Document, Run};
use crate::scenario::{Scenario, builtin, builtins};
use batch::Job;
use output::Output;

/// A check failed, or something could not be done.
const FAILED: u8 = 1;
/// What was asked for makes no sense.
const USAGE: u8 = 2;

/// Proves by scenario, in virtual time, what each countermeasure against cache stampedes does.
///
/// The real engine runs against a modelled database that counts its calls itself; the same seed
/// gives the same run. A scenario is a TOML file; those that come with the lab are listed by `list`.
#[derive(Debug, Parser)]
#[command(name = "herdlab", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the scenarios that come with the lab
    List,
    /// Run scenarios and check what comes out; ends with code 1 when a check fails
    Run(RunArgs),
    /// Run scenarios under every policy and print one table
    Compare(CompareArgs),
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Names of scenarios, paths of TOML files, or `all`
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Policies instead of the scenario's own: names separated by commas; `all` by itself is one of each kind
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',')]
    policy: Vec<String>,
    /// The local store, instead of the scenarios' own
    #[arg(long, value_name = "STORE", value_parser = store)]
    store: Option<LocalStore>,
    #[command(flatten)]
    common: Common,
    /// Write every run as JSON; `-` is the standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Record the run's feed (`.herd`); for one scenario under one policy
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct CompareArgs {
    /// Names of scenarios or paths of TOML files; all of them if none is named
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    #[command(flatten)]
    common: Common,
    /// Write a page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the page "Which countermeasure when" as Markdown, and its pictures into a folder of its name
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenarios", "html"])]
    page: Option<PathBuf>,
    /// With --page: write nothing, and end with code 1 where a file is not what would be written
    #[arg(long, requires = "page")]
    check: bool,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Decides everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs at a time; as many as there are processors if left out
    #[arg(long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
}

/// The store of this label; another word is told with those that there are.
fn store(label: &str) -> Result<LocalStore, String> {
    LocalStore::of_label(label).ok_or_else(|| {
        let known: Vec<_> = LocalStore::ALL.iter().map(|store| store.label()).collect();
        format!("say one of {}", known.join(", "))
    })
}

/// What ends a command early, for a person.
struct Stopped {
    code: u8,
    why: String,
}

impl Stopped {
    fn usage(why: &dyn fmt::Display) -> Self {
        Self { code: USAGE, why: why.to_string() }
    }

    fn failed(why: &dyn fmt::Display) -> Self {
        Self { code: FAILED, why: why.to_string() }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    interrupt::watch();
    let done = match command {
        Command::List => list(),
        Command::Run(args) => run(&args),
        Command::Compare(args) => compare(&args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(Stopped { code, why }) => {
            let _ = writeln!(io::stderr(), "herdlab: {why}");
            ExitCode::from(code)
        }
    }
}

fn list() -> Result<u8, Stopped> {
    print(&text::list(&builtins().map_err(|error| Stopped::failed(&error))?))
}

fn run(args: &RunArgs) -> Result<u8, Stopped> {
    let mut scenarios = scenarios(&args.scenarios)?;
    if let Some(store) = args.store {
        for scenario in &mut scenarios {
            scenario.cache.store = store;
        }
    }
    let mut jobs = Vec::new();
    for scenario in &scenarios {
        for policy in policies(scenario, &args.policy)? {
            jobs.push(Job { scenario, policy, seed: args.common.seed });
        }
    }
    let files = Files::open(args.json.as_deref(), args.html.as_deref(), args.record.as_deref())?;
    let runs = match (&files.record, &jobs[..]) {
        (None, jobs) => batch::play_all(jobs, args.common.jobs)?,
        (Some(output), [job]) => vec![recorded(job, output)?],
        (Some(_), jobs) => {
            let why = format!(
                "--record is for one run, not {}: name one scenario and one --policy; all measures are --policy {}",
                jobs.len(),
                crate::policy::stacked(),
            );
            return Err(Stopped::usage(&why));
        }
    };
    let code = if runs.iter().all(|run| run.pass) { 0 } else { FAILED };
    // Where a document goes to the standard output, what is for people goes elsewhere.
    if [&args.json, &args.html].into_iter().any(|path| path.as_deref() == Some(Path::new("-"))) {
        let _ = io::stderr().write_all(text::verdicts(&runs).as_bytes());
    } else {
        print(&text::verdicts(&runs))?;
    }
    files.write(runs)?;
    Ok(code)
}

/// Plays one job and records its feed.
fn recorded(job: &Job<'_>, output: &Output) -> Result<Run, Stopped> {
    play_recorded(job.scenario, &job.policy, job.seed, output.writer()?).map_err(|error| match error {
        PlayError::Record(error) => Stopped::failed(&format!("{}: {error}", output.path().display())),
        error => job.stopped(&error),
    })
}

/// The files that were asked for.
#[derive(Default)]
struct Files {
    json: Option<Output>,
    html: Option<Output>,
    record: Option<Output>,
}

impl Files {
    fn open(json: Option<&Path>, html: Option<&Path>, record: Option<&Path>) -> Result<Self, Stopped> {
        let paths: Vec<_> = [json, html, record].into_iter().flatten().collect();
        if let Some(twice) = paths.iter().enumerate().find(|(at, path)| paths[..*at].contains(path)) {
            let why = format!("{} is to be written twice: name different files", twice.1.display());
            return Err(Stopped::usage(&why));
        }
        if record == Some(Path::new("-")) {
            return Err(Stopped::usage(&"--record needs a file: what is said to people goes to the standard output"));
        }
        let open = |path: Option<&Path>| path.map(Output::open).transpose();
        Ok(Self { json: open(json)?, html: open(html)?, record: open(record)? })
    }

    fn write(self, runs: Vec<Run>) -> Result<(), Stopped> {
        let document = Document::new(runs);
        if let Some(output) = self.record {
            output.done()?;
        }
        if let Some(output) = self.html {
            output.write(&html::page(&document))?;
        }
        if let Some(output) = self.json {
            let mut text = serde_json::to_string_pretty(&document).map_err(|error| Stopped::failed(&error))?;
            text.push('\n');
            output.write(&text)?;
        }
        Ok(())
    }
}

fn compare(args: &CompareArgs) -> Result<u8, Stopped> {
    if let Some(path) = &args.page {
        return page::make(path, &args.common, args.check);
    }
    let scenarios = if args.scenarios.is_empty() { scenarios(&["all".into()])? } else { scenarios(&args.scenarios)? };
    let policies = Policy::each();
    let jobs: Vec<_> = scenarios
        .iter()
        .flat_map(|scenario| {
            policies.iter().map(|policy| Job { scenario, policy: policy.clone(), seed: args.common.seed })
        })
        .collect();
    let files = Files::open(None, args.html.as_deref(), None)?;
    let runs = batch::play_all(&jobs, args.common.jobs)?;
    if args.html.as_deref() == Some(Path::new("-")) {
        let _ = io::stderr().write_all(compare::table(&scenarios, &runs).as_bytes());
    } else {
        print(&compare::table(&scenarios, &runs))?;
    }
    files.write(runs)?;
    Ok(0)
}

/// The scenarios of these names or files.
fn scenarios(names: &[String]) -> Result<Vec<Scenario>, Stopped> {
    let mut found = Vec::new();
    for name in names {
        if name == "all" {
            found.extend(builtins().map_err(|error| Stopped::failed(&error))?.into_iter().filter(|one| !one.long));
        } else if let Some(scenario) = builtin(name) {
            found.push(scenario.map_err(|error| Stopped::failed(&error))?);
        } else if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(name).map_err(|error| Stopped::usage(&format!("{name}: {error}")))?;
            let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
            found.push(Scenario::parse(stem, &text).map_err(|error| Stopped::usage(&format!("{name}: {error}")))?);
        } else {
            return Err(Stopped::usage(&format!(
                "no scenario {name:?}: say one that `herdlab list` shows, the path of a .toml file, or all"
            )));
        }
    }
    // Tables, plots and files go by the name.
    if let Some((_, twice)) =
        found.iter().enumerate().find(|(at, one)| found[..*at].iter().any(|other| other.name == one.name))
    {
        return Err(Stopped::usage(&format!(
            "the scenario {:?} is named twice: leave one out, or give it a name",
            twice.name
        )));
    }
    Ok(found)
}

/// The policies that were asked for, or the scenario's own.
fn policies(scenario: &Scenario, asked: &[String]) -> Result<Vec<Policy>, Stopped> {
    let names = if asked.is_empty() { &scenario.policies } else { asked };
    let mut policies: Vec<Policy> = Vec::new();
    for name in names {
        if name == "all" && !asked.is_empty() && asked.len() == 1 {
            return Ok(Policy::each());
        }
        let policy = name.parse().map_err(|error| Stopped::usage(&error))?;
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    Ok(policies)
}

fn print(text: &str) -> Result<u8, Stopped> {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Ok(0),
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Stopped::failed(&format!("standard output: {error}"))),
    }
}
