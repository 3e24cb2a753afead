//! The files under test, and how a complaint is reported.

use std::path::PathBuf;

/// The root of the repository. Asked when the test runs: clones that share a target folder share what was compiled.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(here).join("../..")
}

/// The text of one file.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether there is such a file or folder.
pub(crate) fn exists(path: &str) -> bool {
    root().join(path).exists()
}

/// The names of the files in a folder that end so, in order.
pub(crate) fn list(folder: &str, end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}

/// Compares a generated file with the one in the tree, or rewrites it when `UPDATE=1` is set.
pub(crate) fn compare(path: &str, expected: &str) {
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(root().join(path), expected).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    assert!(
        read(path) == expected,
        "{path} is not what the code says: run `UPDATE=1 cargo test -p dashboards` and look at the diff"
    );
}

/// Fails with all complaints at once.
pub(crate) fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaint(s):\n  {}", complaints.len(), complaints.join("\n  "));
}
