//! The one JSON document of a bench: machine, versions, results, ratios.

use std::io::Write as _;

use serde_json::{Map, Value, json};

use super::Effort;

/// Crates whose versions a reader needs to repeat a figure.
const CRATES: [&str; 8] = ["herdcache", "moka", "quick_cache", "tokio", "foldhash", "foyer", "cached", "stretto"];

/// Collects what a bench found and prints it as one document.
pub(crate) struct Report {
    bench: &'static str,
    effort: Effort,
    results: Map<String, Value>,
    ratios: Map<String, Value>,
}

impl Report {
    pub(crate) fn new(bench: &'static str, effort: Effort) -> Self {
        Self { bench, effort, results: Map::new(), ratios: Map::new() }
    }

    pub(crate) fn result(&mut self, name: impl Into<String>, value: Value) {
        self.results.insert(name.into(), value);
    }

    pub(crate) fn ratio(&mut self, name: impl Into<String>, value: f64) {
        self.ratios.insert(name.into(), json!((value * 1_000.0).round() / 1_000.0));
    }

    /// Writes the document to standard output.
    pub(crate) fn print(self) -> std::io::Result<()> {
        let document = json!({
            "bench": self.bench,
            "effort": self.effort.of("quick", "full"),
            "machine": {
                "processor": processor(),
                "arch": std::env::consts::ARCH,
                "os": std::env::consts::OS,
            },
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "versions": versions(),
            "results": self.results,
            "ratios": self.ratios,
        });
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)
    }
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| line.split_once(": ")).map_or_else(|| "unknown".to_owned(), |(_, model)| model.to_owned())
}

/// The versions that were compiled, as far as this package knows them from its lock file, and the compiler.
fn versions() -> Map<String, Value> {
    // A package of its own, or one of a workspace.
    let places =
        [concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"), concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")];
    let lock = places.iter().find_map(|place| std::fs::read_to_string(place).ok()).unwrap_or_default();
    let mut versions: Map<String, Value> =
        CRATES.iter().filter_map(|name| Some(((*name).to_owned(), json!(version(&lock, name)?)))).collect();
    let compiler = std::process::Command::new("rustc").arg("--version").output();
    let compiler =
        compiler.map_or_else(|_| "unknown".to_owned(), |done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    versions.insert("rustc".to_owned(), json!(compiler));
    versions
}

fn version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let head = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = lock.split_once(&head)?;
    Some(rest.split_once('"')?.0)
}
