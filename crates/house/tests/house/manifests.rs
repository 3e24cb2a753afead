//! What every member's manifest must say.
//!
//! A member that forgets `[lints] workspace = true` is silently unchecked, and
//! one that pins a shared dependency by itself makes two versions possible.

use crate::tree;

/// The lines of one table, without the comments; empty when the table is missing.
pub(crate) fn table<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("[{name}]");
    let lines = manifest.lines().map(|line| line.split(" #").next().unwrap_or("").trim());
    let inside = lines.skip_while(|line| *line != head).skip(1);
    inside.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Complaints about one member's manifest.
fn manifest_complaints(path: &str, manifest: &str, shared: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    let squeezed = |line: &&str| line.replace(' ', "");
    if !table(manifest, "lints").iter().any(|line| squeezed(line) == "workspace=true") {
        complaints.push(format!("{path}: add `[lints]` with `workspace = true`"));
    }
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for line in table(manifest, kind) {
            let name = line.split(['=', '.', ' ']).next().unwrap_or("");
            if shared.contains(&name) && !squeezed(&line).contains("workspace=true") {
                complaints
                    .push(format!("{path}: take `{name}` from the workspace, so that all members use one version"));
            }
        }
    }
    complaints
}

#[test]
fn members_follow_the_workspace() {
    let workspace = tree::read("Cargo.toml").expect("the workspace has a manifest");
    let shared: Vec<_> = table(&workspace, "workspace.dependencies");
    let shared: Vec<_> = shared.iter().filter_map(|line| line.split([' ', '=']).next()).collect();
    let mut complaints = Vec::new();
    let mut members = 0;
    for file in tree::files() {
        if file.member().is_some_and(|member| file.path == format!("{member}/Cargo.toml")) {
            members += 1;
            complaints.extend(manifest_complaints(&file.path, file.text(), &shared));
        }
    }
    assert!(members >= 5, "only {members} members were found");
    tree::report(&complaints);
}

#[test]
fn a_careless_manifest_is_seen() {
    let manifest = "[package]\nname = \"a\"\n\n[dependencies]\nserde = \"1\"\nown = \"2\"\ntokio = { workspace = true }\n\
                    serde_json.workspace = true\n\n[lints.rust]\nunsafe_code = \"allow\"\n";
    let seen = manifest_complaints("a", manifest, &["serde", "serde_json", "tokio"]);
    assert_eq!(
        seen,
        [
            "a: add `[lints]` with `workspace = true`",
            "a: take `serde` from the workspace, so that all members use one version",
        ]
    );
    assert!(manifest_complaints("a", "[lints]\nworkspace = true # all of them\n", &[]).is_empty());
}
