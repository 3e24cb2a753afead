//! How many crates a service takes on when it embeds the engine.
//!
//! The README states these numbers; here is where they are held. The engine
//! itself is counted, the service is not; a crate in two versions counts twice.
//! Counted for Linux, on whatever machine the test runs.

use std::collections::BTreeSet;

use crate::manifests::table;
use crate::tree;

/// Most crates in the tree of herdcache with its default features.
const DEFAULT: usize = 39;
/// Most crates with the feature `feed`.
const WITH_FEED: usize = 50;
/// Most crates with the feature `tracing`.
const WITH_TRACING: usize = 42;
/// Most crates with the feature `quick-cache`.
const WITH_QUICK: usize = 41;

/// Different crates in what `cargo tree --prefix none` prints.
fn crates(printed: &str) -> usize {
    let name = |line: &str| line.trim_end_matches(" (*)").split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    printed.lines().filter(|line| !line.trim().is_empty()).map(name).collect::<BTreeSet<_>>().len()
}

fn count(features: &[&str]) -> usize {
    let mut command = tree::cargo();
    command.args(["tree", "-p", "herdcache", "-e", "normal", "--prefix", "none"]);
    command.args(["--target", "x86_64-unknown-linux-gnu"]).args(features);
    crates(&tree::output(&mut command))
}

/// Complaint when the tree has outgrown what is stated.
fn too_heavy(what: &str, found: usize, stated: usize) -> Option<String> {
    (found > stated).then(|| format!("herdcache {what} brings {found} crates, stated are {stated}: drop one, or state more here and in the README"))
}

#[test]
fn the_engine_is_as_light_as_stated() {
    let mut complaints = Vec::new();
    let found = count(&[]);
    eprintln!("herdcache by default: {found} crates, stated {DEFAULT}");
    complaints.extend(too_heavy("by default", found, DEFAULT));
    let manifest = tree::read("crates/herdcache/Cargo.toml").expect("herdcache has a manifest");
    if table(&manifest, "features").iter().any(|line| line.starts_with("feed ") || line.starts_with("feed=")) {
        let found = count(&["--features", "feed"]);
        eprintln!("herdcache with the feed: {found} crates, stated {WITH_FEED}");
        complaints.extend(too_heavy("with `feed`", found, WITH_FEED));
    }
    let found = count(&["--features", "tracing"]);
    eprintln!("herdcache with tracing: {found} crates, stated {WITH_TRACING}");
    complaints.extend(too_heavy("with `tracing`", found, WITH_TRACING));
    let found = count(&["--features", "quick-cache"]);
    eprintln!("herdcache with the fast store: {found} crates, stated {WITH_QUICK}");
    complaints.extend(too_heavy("with `quick-cache`", found, WITH_QUICK));
    tree::report(&complaints);
}

#[test]
fn the_readme_states_the_weight() {
    // Before there is a README nothing is promised to anybody.
    let Some(readme) = tree::read("README.md") else { return };
    let missing = [DEFAULT, WITH_FEED, WITH_TRACING, WITH_QUICK].map(|number| format!("{number} crates"));
    let missing: Vec<_> = missing.iter().filter(|text| !readme.contains(*text)).collect();
    assert!(missing.is_empty(), "README.md must say {missing:?}, as held in crates/house/tests/house/weight.rs");
}

#[test]
fn a_heavy_tree_is_seen() {
    let printed =
        "a v1.0.0 (/here)\nb v1.0.0\nb v2.0.0\nb v1.0.0 (*)\nc v1.0.0 (proc-macro)\nc v1.0.0 (proc-macro) (*)\n";
    assert_eq!(crates(printed), 4);
    assert!(too_heavy("by default", 4, 3).is_some_and(|text| text.contains("brings 4 crates, stated are 3")));
    assert_eq!(too_heavy("by default", 3, 3), None);
}
