//! Programs of others that a stage of `scripts/test` needs: what is missing is said, and fails where it could have been had.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree;

/// Where apt-get's mirror would be. Nothing is asked of it here.
const MIRROR: &str = "http://127.0.0.1:1/debian";
/// Without Debian's keys its packages are as good as not there.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A folder with an apt-get that knows this mirror and downloads nothing, and a `VictoriaMetrics` that is too old.
fn stubs(mirror: &str) -> io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("observers-{}-{}", std::process::id(), mirror.len()));
    fs::create_dir_all(&folder)?;
    let apt = format!("case \"$*\" in *indextargets*) echo '{mirror}';; *download*) exit 100;; esac");
    for (name, does) in [("apt-get", apt.as_str()), ("victoria-metrics", "true")] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{does}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(folder)
}

/// Whether the stage goes on, and all that it says, options of its tests included.
fn asked(mirror: &str, ci: Option<&str>) -> io::Result<(bool, String)> {
    let folder = stubs(mirror)?;
    let script = tree::root().join("scripts/observers");
    let run = "skipped() { echo \"NOT RUN: $1\"; }; . \"$0\"; without=(); with_or_without_victoria || exit 1; echo \"${without[@]}\"";
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", run]).arg(&script).current_dir(&folder).env_remove("CI");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.display())).envs(ci.map(|ci| ("CI", ci)));
    let output = command.output()?;
    fs::remove_dir_all(&folder)?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn a_package_that_does_not_come_fails_in_a_ci_and_is_said_elsewhere() {
    let (goes_on, said) = asked(MIRROR, None).unwrap();
    assert!(goes_on && said.contains("NOT RUN") && said.contains("--skip victoria::"), "{said}");
    if Path::new(KEYS).exists() {
        let (goes_on, said) = asked(MIRROR, Some("1")).unwrap();
        assert!(!goes_on && said.contains("could not download the package victoria-metrics"), "{said}");
        assert!(!said.contains("NOT RUN"), "{said}");
    }
}

#[test]
fn a_package_without_a_source_is_said_everywhere() {
    for ci in [None, Some("1")] {
        let (goes_on, said) = asked("", ci).unwrap();
        assert!(goes_on && said.contains("NOT RUN") && said.contains("no mirror of Debian"), "{said}");
    }
}
