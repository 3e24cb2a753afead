//! What must never be in the repository.
//!
//! A path of somebody's machine or the host of a mirror works for one person
//! and misleads everybody else. The patterns are put together from halves, so
//! that this file does not contain what it looks for.

use crate::tree;

/// Text that must not occur, in lower case, and why.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/tmp/", "bash"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("static.", "crates.io"), "a registry's host"),
    (concat!("index.", "crates.io"), "a registry's host"),
    (concat!("deb.", "debian.org"), "a registry's host"),
    (concat!("security.", "debian.org"), "a registry's host"),
    (concat!("pypi.", "org"), "a registry's host"),
    (concat!("python", "hosted.org"), "a registry's host"),
    (concat!("registry.", "npmjs.org"), "a registry's host"),
    (concat!("arti", "factory"), "a registry's host"),
    (concat!("sub", "agent"), "not about the product"),
    (concat!("sub-", "agent"), "not about the product"),
    (concat!("language ", "model"), "not about the product"),
    (concat!("issue ", "#"), "say what was wrong instead of giving a number"),
    (concat!(".md ", "§"), "a page that readers do not have"),
];

/// Complaints about one file.
fn hygiene(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for (pattern, why) in FORBIDDEN.iter().filter(|(pattern, _)| line.contains(pattern)) {
            complaints.push(format!("{path}:{} holds `{pattern}`: {why}", number + 1));
        }
    }
    complaints
}

#[test]
fn nothing_of_one_machine_is_in_the_tree() {
    let files = tree::files();
    assert!(files.len() > 10, "only {} files were found", files.len());
    let complaints: Vec<_> = files.iter().flat_map(|file| hygiene(&file.path, file.text())).collect();
    tree::report(&complaints);
}

#[test]
fn a_path_of_one_machine_is_seen() {
    let text = format!("fine\ncd {}main\nSee Issue {}7", FORBIDDEN[0].0, '#');
    let seen = hygiene("a.md", &text);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0].starts_with("a.md:2 "));
    assert!(hygiene("a.md", "network/ and framework/ are words").is_empty());
}
