//! Whether what is public has the section in its documentation that it needs. What needs one, the rooms know.

use crate::source::{Token, item_end};
use crate::tree;

/// Where services look.
const PUBLIC: &[&str] = &["crates/herdfeed/src/", "crates/herdcache/src/", "crates/herdcache-otel/src/"];

/// Finds what of a file needs the section: names, and the lines on which they begin.
type Find = fn(&str) -> Vec<(String, usize)>;

/// Fails where something public lacks the section; and if less than `least` needs it, since then the search is broken.
pub(crate) fn check(heading: &str, least: usize, find: Find) {
    let files = tree::rust_files();
    let public = files.iter().filter(|file| PUBLIC.iter().any(|place| file.path.starts_with(place)));
    let (mut seen, mut said) = (0, Vec::new());
    for file in public.filter(|file| !file.path.ends_with("tests.rs")) {
        seen += find(file.text()).len();
        said.extend(complaints(&file.path, file.text(), heading, find));
    }
    assert!(seen >= least, "only {seen} items that need `{heading}` were found");
    tree::report(&said);
}

pub(crate) fn complaints(path: &str, source: &str, heading: &str, find: Find) -> Vec<String> {
    let silent = find(source).into_iter().filter(|(_, line)| !docs(source, *line).contains(heading));
    silent.map(|(name, line)| format!("{path}:{line} `{name}` lacks `{heading}`")).collect()
}

/// The bodies of public traits, as positions.
pub(crate) fn public_traits(code: &[Token<'_>]) -> Vec<(usize, usize)> {
    let heads = (1..code.len()).filter(|at| code[*at].is("trait") && code[at - 1].is("pub"));
    heads.map(|at| (at, item_end(code, at))).collect()
}

/// The doc comment above a line, attributes passed over.
fn docs(source: &str, line: usize) -> String {
    let above: Vec<_> = source.lines().take(line - 1).map(str::trim).collect();
    let near =
        above.iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#[") || line.ends_with(")]"));
    near.copied().collect::<Vec<_>>().join("\n")
}
