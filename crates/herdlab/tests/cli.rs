//! The program as a shell meets it: exit codes, what it says, and what it leaves behind.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const SMALL: &str = r#"
about = "one key"
policies = ["none", "all"]
[traffic]
per_second = 50
length = "2s"
[keys]
count = 1
[cache]
fresh_for = "1s"
[origin]
latency = "5ms"
[[check]]
policies = ["all"]
figure = "requests"
at_least = 1
"#;

/// A folder of its own, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("herdlab-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("small.toml"), SMALL).unwrap();
        Self(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herdlab"));
        command.current_dir(&self.0).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Names of the files that are there, beside the scenario.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.contains(".toml")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_was_asked_for_is_written_and_told() {
    let folder = Folder::new("written");
    let done = folder.run(&["run", "small.toml", "--json", "runs.json", "--html", "runs.html"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done.stderr));
    assert_eq!(folder.files(), ["runs.html", "runs.json"]);
    assert!(said(&done.stdout).ends_with("2 runs, 0 failed\n"));
    // No terminal, no bar: a line for each run.
    let mut lines: Vec<_> = said(&done.stderr).lines().map(|line| line[4..].to_owned()).collect();
    lines.sort();
    assert_eq!(lines, ["small all: pass", "small none: pass"], "{}", said(&done.stderr));
    let document: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.0.join("runs.json")).unwrap()).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
    let recorded = folder.run(&["run", "small.toml", "--policy", "none", "--record", "run.herd"]);
    assert_eq!((recorded.status.code(), folder.files().len()), (Some(0), 3), "{}", said(&recorded.stderr));
}

#[test]
fn documents_on_the_standard_output_are_alone_there() {
    let folder = Folder::new("standard");
    let json = folder.run(&["run", "small.toml", "--json", "-"]);
    assert!(serde_json::from_slice::<serde_json::Value>(&json.stdout).is_ok());
    let html = folder.run(&["run", "small.toml", "--html", "-"]);
    assert!(said(&html.stdout).starts_with("<!doctype html>") && said(&html.stderr).contains("2 runs, 0 failed"));
}

#[test]
fn a_check_that_fails_is_a_code() {
    let folder = Folder::new("failed");
    fs::write(folder.0.join("small.toml"), SMALL.replace("at_least = 1", "at_most = 1")).unwrap();
    let done = folder.run(&["run", "small.toml", "--json", "runs.json"]);
    assert_eq!((done.status.code(), folder.files()), (Some(1), vec!["runs.json".into()]));
    assert!(said(&done.stdout).contains("FAIL  requests: "), "{}", said(&done.stdout));
}

/// A run of which nothing is checked but the laws says so: its "pass" is no verdict on the policy.
#[test]
fn a_policy_of_which_nothing_is_checked_is_told() {
    let folder = Folder::new("laws");
    let told = |policy: &str| said(&folder.run(&["run", "small.toml", "--policy", policy]).stdout);
    assert!(told("stale").contains("the scenario checks nothing of this policy"), "{}", told("stale"));
    let none_at_a_time = folder.run(&["run", "small.toml", "--jobs", "0"]);
    assert!(none_at_a_time.status.code() == Some(2) && said(&none_at_a_time.stderr).contains("--jobs <N>"));
    let all = "jitter+singleflight+stale+early+permits";
    assert!(!told(all).contains("checks nothing of"), "{}", told(all));
}

/// Each run says which store it used: the scenario's, or that of the command line.
#[test]
fn a_store_can_be_chosen_and_is_told() {
    let folder = Folder::new("store");
    fs::write(folder.0.join("lru.toml"), SMALL.replace("[cache]", "[cache]\nstore = \"moka-lru\"")).unwrap();
    let stores = |arguments: &[&str]| {
        let done =
            folder.run(&[&["run", "small.toml", "lru.toml", "--policy", "none", "--json", "-"], arguments].concat());
        let document: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let runs = document["runs"].as_array().unwrap().clone();
        runs.iter().map(|run| run["store"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(stores(&[]), ["moka", "moka-lru"]);
    assert_eq!(stores(&["--store", "quick"]), ["quick", "quick"]);
    let refused = folder.run(&["run", "small.toml", "--store", "redis"]);
    let why = said(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && why.contains("--store <STORE>") && why.contains("moka-lru, quick"),
        "{why}"
    );
}

/// Arguments, exit code, and what is said: files that cannot be written are told before anything is played.
const REFUSED: &[(&[&str], i32, &str)] = &[
    (&["run", "small.toml", "--json", "none/runs.json"], 1, "none/runs.json: "),
    (&["run", "small.toml", "--html", "."], 1, ".: "),
    (&["run", "small.toml", "--policy", "none", "--record", "none/run.herd"], 1, "none/run.herd: "),
    (&["compare", "--page", "none/page.md"], 1, "none/page.md: "),
    (&["run", "small.toml", "--json", "one", "--html", "one"], 2, "one is to be written twice"),
    (&["run", "small.toml", "--record", "-"], 2, "--record needs a file"),
    (&["run", "small.toml", "--record", "run.herd"], 2, "--record is for one run, not 2"),
    (&["run", "small.toml", "small.toml"], 2, "the scenario \"small\" is named twice"),
    (&["run", "small.toml", "--policy", "stale+lucky"], 2, "no policy \"stale+lucky\": say none, all, measures"),
    (&["run", "none.toml"], 2, "none.toml: "),
    (&["run", "none"], 2, "no scenario \"none\": say one that `herdlab list` shows"),
    (&["run", "bad.toml"], 2, "bad.toml: scenario \"bad\": keys.count must be"),
    (&["run", "senseless.toml"], 2, "scenario \"senseless\" under none: its settings cannot work: "),
];

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    let folder = Folder::new("refused");
    fs::write(folder.0.join("bad.toml"), SMALL.replace("count = 1", "count = 0")).unwrap();
    fs::write(folder.0.join("senseless.toml"), SMALL.replace("\"1s\"", "\"1s\"\njitter = 5.0")).unwrap();
    for (arguments, code, why) in REFUSED {
        let done = folder.run(arguments);
        assert_eq!(done.status.code(), Some(*code), "{arguments:?}: {}", said(&done.stderr));
        let error = said(&done.stderr).lines().last().unwrap_or_default().to_owned();
        assert!(error.starts_with(&format!("herdlab: {why}")), "{arguments:?}: {error}");
        assert!(done.stdout.is_empty() && folder.files().is_empty(), "{arguments:?}: {:?}", folder.files());
    }
}

#[test]
fn what_was_there_stays_when_a_run_cannot_be_told() {
    let folder = Folder::new("kept");
    fs::write(folder.0.join("runs.json"), "of before").unwrap();
    let done = folder.run(&["run", "senseless.toml", "--json", "runs.json"]);
    assert_eq!(done.status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.0.join("runs.json")).unwrap(), "of before");
    assert_eq!(folder.files(), ["runs.json"]);
}

/// An interrupt leaves what was there, and no half of what would have been.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_half_written() {
    let folder = Folder::new("interrupt");
    fs::write(folder.0.join("run.herd"), "of before").unwrap();
    let arguments = ["run", "five-hours", "--record", "run.herd", "--json", "runs.json"];
    let mut child = folder.command(&arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Interrupted once it has begun to write; the test's own end bounds the wait.
    let begun = std::time::Instant::now();
    while folder.files().len() < 3 && begun.elapsed().as_secs() < 60 {
        std::thread::yield_now();
    }
    assert_eq!(folder.files().len(), 3, "both are written beside their places: {:?}", folder.files());
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.files(), ["run.herd"]);
    assert_eq!(fs::read_to_string(folder.0.join("run.herd")).unwrap(), "of before");
}
