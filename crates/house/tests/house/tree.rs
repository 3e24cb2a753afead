//! The files of the repository, and how a complaint is reported.
//!
//! What Git tracks or would track is the repository; build output is not. No
//! room walks the disk by itself.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One file of the repository.
pub(crate) struct File {
    /// Path from the root of the repository, with `/` between its parts.
    pub(crate) path: String,
    /// Its text; `None` when it is not UTF-8.
    pub(crate) text: Option<String>,
}

impl File {
    /// The text, or nothing for a binary file.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or("")
    }

    /// The folder of the workspace member that the file belongs to, such as
    /// `crates/herdfeed`; `None` outside the members.
    pub(crate) fn member(&self) -> Option<&str> {
        let mut slashes = self.path.match_indices('/').map(|(at, _)| at);
        let (first, second) = (slashes.next()?, slashes.next()?);
        matches!(&self.path[..first], "crates" | "examples").then(|| &self.path[..second])
    }
}

/// The root of the repository.
///
/// Asked when the test runs: two clones that share a target folder also share
/// what was compiled, and with it the path of the first one.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = PathBuf::from(here).join("../..");
    root.canonicalize().unwrap_or_else(|e| panic!("no repository at {}: {e}", root.display()))
}

/// Every file that is tracked, or new and not ignored.
pub(crate) fn files() -> Vec<File> {
    let listed = output(Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]));
    let mut paths: Vec<_> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    let root = root();
    // A file deleted in the work tree but not yet in the index has no text to check.
    paths
        .into_iter()
        .filter_map(|path| {
            let bytes = std::fs::read(root.join(path)).ok()?;
            Some(File { path: path.to_owned(), text: String::from_utf8(bytes).ok() })
        })
        .collect()
}

/// The Rust files among them.
pub(crate) fn rust_files() -> Vec<File> {
    let is_rust = |file: &File| Path::new(&file.path).extension().is_some_and(|end| end == "rs");
    files().into_iter().filter(is_rust).collect()
}

/// The text of one file of the repository; `None` when it does not exist yet.
pub(crate) fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// What a command run at the root prints.
pub(crate) fn output(command: &mut Command) -> String {
    let done = command.current_dir(root()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(done.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The cargo that runs these tests.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Fails with all complaints at once, since fixing them one a run is tedious.
pub(crate) fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaint(s):\n  {}", complaints.len(), complaints.join("\n  "));
}

/// Compares a generated page with the one in the tree, or rewrites it when
/// `UPDATE=1` is set.
pub(crate) fn compare(path: &str, expected: &str) {
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        let target = root().join(path);
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder).unwrap_or_else(|e| panic!("{path}: {e}"));
        }
        std::fs::write(target, expected).unwrap_or_else(|e| panic!("{path}: {e}"));
        return;
    }
    let found = read(path).unwrap_or_default();
    assert!(
        found == expected,
        "{path} is not what the code says: run `UPDATE=1 cargo test -p house` and look at the diff"
    );
}

#[test]
fn members_are_named_by_their_folder() {
    let member = |path: &str| File { path: path.to_owned(), text: None }.member().map(str::to_owned);
    assert_eq!(member("crates/herdtop/src/lib.rs").as_deref(), Some("crates/herdtop"));
    assert_eq!(member("examples/shop/src/main.rs").as_deref(), Some("examples/shop"));
    assert_eq!(member("docs/adr/0001.md"), None);
    assert_eq!(member("Cargo.toml"), None);
}
