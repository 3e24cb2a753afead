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

/// Complaints about a member that is published: what registries show, and what a licence asks for, is not there.
fn published_complaints(path: &str, manifest: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let package = table(manifest, "package");
    let has = |field: &str| package.iter().any(|line| line.split(['=', '.', ' ']).next() == Some(field));
    if package.iter().any(|line| line.replace(' ', "") == "publish=false") {
        return Vec::new();
    }
    let fields = ["description", "license", "repository", "rust-version", "readme", "keywords", "categories"];
    let missing = fields.iter().filter(|field| !has(field)).map(|field| format!("{path}: says no `{field}`"));
    let files = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];
    let gone = files.iter().filter(|file| !is_there(file)).map(|file| format!("{path}: no {file} beside it"));
    missing.chain(gone).collect()
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
            let beside = |name: &str| tree::root().join(file.path.replace("Cargo.toml", name)).exists();
            complaints.extend(published_complaints(&file.path, file.text(), beside));
        }
    }
    assert!(members >= 5, "only {members} members were found");
    tree::report(&complaints);
}

#[test]
fn a_package_without_its_licence_is_seen() {
    let manifest = "[package]\ndescription = \"d\"\nlicense.workspace = true\nrepository.workspace = true\n\
                    rust-version = \"1.85\"\nreadme = \"README.md\"\ncategories = []\n\n[features]\nkeywords = []\n";
    let seen = published_complaints("a", manifest, |file| file != "LICENSE-MIT");
    assert_eq!(seen, ["a: says no `keywords`", "a: no LICENSE-MIT beside it"]);
    let kept = manifest.replace("[package]\n", "[package]\npublish = false\n");
    assert!(published_complaints("a", &kept, |_| false).is_empty());
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
