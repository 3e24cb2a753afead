//! The same seed is the same run, also in another process: to the byte of its JSON, but for what is the machine's own.
//!
//! Two processes, since within one the hashes of a first run could be those of a second by accident.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// Keys that have no room: which of them stay is the store's upkeep and the keys' hashes.
const CROWDED: &str = r#"
about = "200 keys, room for 50, and a shared store that hangs for a while"
policies = ["none", "all"]
[traffic]
pacing = "bursts"
burst = 4
per_second = 200
length = "9s"
[keys]
count = 200
zipf = 0.6
absent = { count = 100, share = 0.1 }
[cache]
fresh_for = "5s"
stale_for = "5s"
capacity = 50
negative_ttl = "1s"
[origin]
model = "log_normal"
sigma = 0.5
latency = "5ms"
[shared]
lease = true
latency = "1ms"
[[trouble]]
from = "4s"
until = "6s"
store = "hung"
"#;

/// Everything that is left to chance beside that: failures, cooling, refresh-ahead, jitter, a queue, users who wait.
const TROUBLED: &str = r#"
about = "a database that is slow and fails now and then"
policies = ["none", "jitter", "singleflight+stale", "singleflight+early+permits", "all", "pool-x4", "refresher"]
[traffic]
pacing = "closed"
users = 60
think = "100ms"
length = "12s"
wait_timeout = "300ms"
[keys]
count = 40
zipf = 0.99
[cache]
fresh_for = "2s"
stale_for = "1s"
stale_if_error_for = "3s"
beta = 1.0
cooling = ["100ms", "1s"]
[gate]
permits = 4
queue = 6
[origin]
model = "processor_sharing"
capacity = 3
latency = "30ms"
connections = 5
acquire_timeout = "200ms"
[bystander]
per_second = 5
[[trouble]]
from = "4s"
until = "6s"
fail = 0.4
[[trouble]]
from = "9s"
until = "11s"
slow = 8
[[act]]
at = "500ms"
every = "700ms"
what = "write"
"#;

/// A folder of its own, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("herdlab-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a process of the program printed as JSON.
fn played(scenarios: &[PathBuf], seed: u64, jobs: &str) -> String {
    let seed = seed.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_herdlab"));
    let command = command.arg("run").args(scenarios).args(["--seed", &seed, "--jobs", jobs, "--json", "-"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The text without the lines of the machine's own fields, of which each run must have its two.
fn without_the_machine(text: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(text).unwrap();
    let runs = document["runs"].as_array().unwrap().len();
    let own = |line: &str| ["\"started_at\": ", "\"wall_ms\": "].iter().any(|name| line.trim_start().starts_with(name));
    assert_eq!(text.lines().filter(|line| own(line)).count(), 2 * runs);
    let (head, machine) = text.split_once("  \"machine\": {").unwrap();
    let (_, rest) = machine.split_once("  },").unwrap();
    head.lines().chain(rest.lines()).filter(|line| !own(line)).map(String::from).collect()
}

fn difference(one: &str, other: &str) -> Option<(String, String)> {
    let [one, other] = [one, other].map(without_the_machine);
    let differs = one.iter().zip(&other).find(|(one, other)| one != other);
    let longer = (one.len() != other.len()).then(|| (one.len().to_string(), other.len().to_string()));
    differs.map(|(one, other)| (one.clone(), other.clone())).or(longer)
}

fn removals(text: &str) -> u64 {
    let document: Value = serde_json::from_str(text).unwrap();
    let evicted = |run: &Value| run["scene"]["removals"]["evicted"].as_u64();
    document["runs"].as_array().unwrap().iter().filter_map(evicted).sum()
}

fn scenarios(folder: &Folder) -> Vec<PathBuf> {
    vec![folder.file("crowded.toml", CROWDED), folder.file("troubled.toml", TROUBLED)]
}

#[test]
fn the_same_seed_is_the_same_json_in_another_process() {
    let folder = Folder::new("again");
    let scenarios = scenarios(&folder);
    let first = played(&scenarios, 7, "1");
    assert!(removals(&first) > 500, "the store has to choose: {}", removals(&first));
    assert_eq!(difference(&first, &played(&scenarios, 7, "1")), None);
    // Nor does it matter what else the process plays meanwhile.
    assert_eq!(difference(&first, &played(&scenarios, 7, "4")), None);
}

#[test]
fn another_seed_is_another_run() {
    let folder = Folder::new("other");
    for scenario in scenarios(&folder) {
        let one = std::slice::from_ref(&scenario);
        let (first, second) = (played(one, 7, "2"), played(one, 8, "2"));
        let (first, second) = (without_the_machine(&first), without_the_machine(&second));
        let differing = first.iter().zip(&second).filter(|(one, other)| one != other).count();
        // More than the line that tells the seed.
        assert!(differing > 100, "{}: {differing} of {} lines", scenario.display(), first.len());
    }
}
