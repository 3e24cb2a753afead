//! What the README shows is what compiles.

use crate::tree;

/// The part of the example between its two marks, without the indentation of the function around it.
fn example(source: &str) -> Option<String> {
    let part = source.split("    // readme\n").nth(1)?;
    let lines = part.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_readme_embeds_the_example_word_for_word() {
    let source = tree::read("crates/herdcache/examples/embed.rs").expect("the example is there");
    let readme = tree::read("README.md").expect("the README is there");
    let example = example(&source).expect("the example has its two marks");
    assert!(readme.contains(&example), "README.md must show this part of the example:\n{example}");
    let lines = example.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 15, "embedding is promised in 15 lines, these are {lines}");
}

#[test]
fn the_readme_names_commands_that_exist() {
    let readme = tree::read("README.md").expect("the README is there");
    for command in ["scripts/test", "scripts/picture"] {
        assert!(readme.contains(command) && tree::read(command).is_some(), "{command}");
    }
    assert!(tree::read("docs/picture.svg").is_some_and(|picture| picture.starts_with("<svg")), "run scripts/picture");
}

#[test]
fn an_unmarked_example_is_seen() {
    assert_eq!(example("fn main() {}"), None);
    assert_eq!(example("x\n    // readme\n    let a = 1;\n    // readme\n}").as_deref(), Some("let a = 1;"));
}
