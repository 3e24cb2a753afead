//! Which crate of ours may depend on which.
//!
//! `herdfeed` is the leaf that engine, dashboard and lab share; the dashboard
//! learns about a process from the feed alone, as an operator would. Only the
//! `demo` command runs an engine of its own, behind a feature.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::source::{Kind, code};
use crate::tree;

/// Crate, and the crates of ours that it may depend on.
const MAY_USE: &[(&str, &[&str])] = &[
    ("herdfeed", &[]),
    ("herdcache", &["herdfeed"]),
    ("herdcache-redis", &["herdcache", "herdfeed"]),
    ("herdcache-otel", &["herdcache", "herdfeed", "otlp-rig"]),
    ("herdlab", &["herdcache", "herdfeed", "herdcache-redis"]),
    ("herdtop", &["herdfeed", "herdcache", "herdlab"]),
    ("shop", &["herdcache", "herdfeed", "herdcache-redis", "herdcache-otel", "dashboards", "otlp-rig"]),
    ("dashboards", &["herdfeed", "herdcache-otel"]),
    ("otlp-rig", &[]),
    ("surface", &[]),
    ("guide", &["herdcache"]),
    ("house", &["herdfeed"]),
];

/// Crate, dependency, and the only feature that may bring the dependency in.
const ONLY_THROUGH: &[(&str, &str, &str)] = &[("herdtop", "herdcache", "demo"), ("herdtop", "herdlab", "demo")];

/// Files of herdtop that may name the engine: the demo, and where the command line hooks it in.
const DEMO_FILES: &[&str] = &["demo.rs", "demo/", "main.rs", "cli.rs", "cli/"];

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("")
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// Complaints about the arrows in a document of `cargo metadata --no-deps`.
fn arrows(metadata: &Value) -> Vec<String> {
    let allowed: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let ours: BTreeSet<_> = list(metadata, "packages").iter().map(|package| text(package, "name")).collect();
    let mut complaints = Vec::new();
    for package in list(metadata, "packages") {
        let name = text(package, "name");
        let Some(may_use) = allowed.get(name) else {
            complaints.push(format!("{name} is not in the table of arrows: add it, or rename it"));
            continue;
        };
        // A development dependency on oneself only switches features on for tests.
        let uses = list(package, "dependencies").iter().filter(|used| ours.contains(text(used, "name")));
        for used in uses.filter(|used| text(used, "name") != name) {
            let other = text(used, "name");
            if !may_use.contains(&other) {
                complaints.push(format!("{name} must not depend on {other}"));
            }
            complaints.extend(behind_its_feature(package, used));
        }
    }
    complaints
}

/// Complaints when an arrow that belongs to one feature exists without it.
fn behind_its_feature(package: &Value, used: &Value) -> Vec<String> {
    let (name, other) = (text(package, "name"), text(used, "name"));
    let is_this = |entry: &&(&str, &str, &str)| entry.0 == name && entry.1 == other;
    let Some((_, _, only)) = ONLY_THROUGH.iter().find(is_this) else {
        return Vec::new();
    };
    let mut complaints = Vec::new();
    if text(used, "kind") != "dev" && used["optional"] != Value::Bool(true) {
        complaints.push(format!("{name} must depend on {other} only by its feature `{only}`: make it optional"));
    }
    for (feature, parts) in package["features"].as_object().into_iter().flatten() {
        let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
        let brings = parts.iter().filter_map(Value::as_str).any(|part| {
            let part = part.trim_start_matches("dep:");
            part == other || part.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
        });
        if brings && feature != only {
            complaints.push(format!("feature `{feature}` of {name} brings {other} in; only `{only}` may"));
        }
    }
    complaints
}

/// Lines of a dashboard file that name the engine or the lab.
fn engine_names(path: &str, source: &str) -> Vec<String> {
    let tokens = code(source);
    let names = tokens.iter().filter(|t| t.kind == Kind::Word && matches!(t.text, "herdcache" | "herdlab"));
    names.map(|t| format!("{path}:{} names {}; the dashboard knows the feed only", t.line, t.text)).collect()
}

#[test]
fn crates_depend_along_the_arrows() {
    let printed = tree::output(tree::cargo().args(["metadata", "--format-version", "1", "--no-deps"]));
    let metadata = serde_json::from_str(&printed).expect("cargo metadata prints JSON");
    tree::report(&arrows(&metadata));
}

#[test]
fn the_dashboard_never_imports_the_engine() {
    let mut complaints = Vec::new();
    for file in tree::rust_files() {
        let Some(part) = file.path.strip_prefix("crates/herdtop/src/") else {
            continue;
        };
        let demo = DEMO_FILES.iter().any(|entry| part == *entry || entry.ends_with('/') && part.starts_with(entry));
        if !demo {
            complaints.extend(engine_names(&file.path, file.text()));
        }
    }
    tree::report(&complaints);
}

#[test]
fn a_wrong_arrow_is_seen() {
    let package = |name: &str, uses: &Value, features: &Value| serde_json::json!({ "name": name, "dependencies": uses, "features": features });
    let dep = |name: &str, optional: bool| serde_json::json!({ "name": name, "optional": optional, "kind": null });
    let none = serde_json::json!({});
    let metadata = serde_json::json!({ "packages": [
        package("herdfeed", &serde_json::json!([dep("herdcache", false), dep("serde", false)]), &none),
        package("herdcache", &serde_json::json!([dep("herdfeed", false), dep("herdcache", false)]), &none),
        package("herdlab", &serde_json::json!([]), &none),
        package("herdtop", &serde_json::json!([dep("herdlab", false), dep("herdcache", true)]),
            &serde_json::json!({ "demo": ["dep:herdcache"], "extra": ["herdcache/lab"], "herdcache-like": [] })),
        package("stranger", &serde_json::json!([]), &none),
    ]});
    assert_eq!(
        arrows(&metadata),
        [
            "herdfeed must not depend on herdcache",
            "herdtop must depend on herdlab only by its feature `demo`: make it optional",
            "feature `extra` of herdtop brings herdcache in; only `demo` may",
            "stranger is not in the table of arrows: add it, or rename it",
        ]
    );
}

#[test]
fn an_import_of_the_engine_is_seen() {
    let source = "//! herdcache in words\nuse herdfeed::Line;\nuse herdcache::Cache;\nconst S: &str = \"herdlab\";";
    assert_eq!(engine_names("a.rs", source), ["a.rs:3 names herdcache; the dashboard knows the feed only"]);
}
