//! The public interface of the published crates as text: `cargo run -p surface -- check`, or `write`.
//!
//! What is kept in `docs/api` is what services build against. A change of it is seen in review as lines that
//! come and go, and one that nobody meant fails the check. Features are all on; impls that are derived, blanket or
//! of auto traits are left out, since they say little and change with the compiler.
//!
//! rustdoc's JSON is not stable: it takes `RUSTC_BOOTSTRAP`, and `public-api` reads the format of one compiler. With
//! another one the check fails and says so; then take the release of `public-api` that fits, and write anew.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of the command line")]

mod compare;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use public_api::Builder;

/// The crates that services depend on.
const PUBLISHED: &[&str] = &["herdfeed", "herdcache", "herdcache-otel"];
/// Where their interfaces are kept.
const KEPT: &str = "docs/api";

type Failed = Box<dyn std::error::Error>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Check,
    Write,
}

fn main() -> ExitCode {
    let mode = match env::args().nth(1).as_deref() {
        Some("check") => Mode::Check,
        Some("write") => Mode::Write,
        _ => {
            eprintln!("surface check | write");
            return ExitCode::from(2);
        }
    };
    match run(mode) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("surface: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything is as it is kept.
fn run(mode: Mode) -> Result<bool, Failed> {
    // Asked when it runs: clones that share a target directory share this program too, and each means its own tree.
    let here = env::var_os("CARGO_MANIFEST_DIR").ok_or("run it by `cargo run -p surface`")?;
    let root = Path::new(&here).join("../..").canonicalize()?;
    let mut same = true;
    for name in PUBLISHED {
        let path = root.join(KEPT).join(format!("{name}.txt"));
        let now = surface(&root, name)?;
        if mode == Mode::Write {
            fs::create_dir_all(root.join(KEPT))?;
            fs::write(&path, &now)?;
            println!("{KEPT}/{name}.txt: {} items", now.lines().count());
            continue;
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        let changes = compare::changes(&kept, &now);
        println!("{name}: {} items, {} changes", now.lines().count(), changes.len());
        if !changes.is_empty() {
            same = false;
            eprintln!("{}\nThe interface of {name} is not the one in {KEPT}/{name}.txt.", changes.join("\n"));
        }
    }
    if !same {
        eprintln!("If the changes are wanted: `cargo run -p surface -- write`, and say them in CHANGELOG.md.");
    }
    Ok(same)
}

/// The public items of one crate, one a line.
fn surface(root: &Path, name: &str) -> Result<String, Failed> {
    let json = rustdoc(root, name)?;
    let api = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| {
            format!("{name}: the JSON of this compiler is not of the format that public-api reads: {error}")
        })?;
    if api.items().next().is_none() {
        return Err(format!("{name} has no public items").into());
    }
    Ok(api.to_string())
}

/// Lets rustdoc describe a crate as JSON, and says where that lies.
fn rustdoc(root: &Path, name: &str) -> Result<PathBuf, Failed> {
    // A place of its own: with RUSTC_BOOTSTRAP set, build scripts of dependencies decide otherwise, and all of them run anew.
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("surface");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["rustdoc", "--quiet", "--locked", "--lib", "--all-features", "--package", name, "--target-dir"])
        .arg(&target)
        .args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root)
        .status()?;
    if !done.success() {
        return Err(format!("rustdoc failed for {name}").into());
    }
    Ok(target.join("doc").join(format!("{}.json", name.replace('-', "_"))))
}
