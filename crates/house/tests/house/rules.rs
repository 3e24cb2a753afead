//! The laws and rules, and the tests that hold them.
//!
//! `docs/rules.md` gives each rule one sentence under its id. A rule that is
//! marked held must be named by a test, and a rule that a test names must be in
//! the document. A test names a rule by the head of its name (`s3_…`, `l1_l6_…`) or
//! in a comment right above or inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::source::{Kind, Token, item_end, matching, tokens};
use crate::tree;

const PAGE: &str = "docs/rules.md";

/// First letters of the ids that are rules; other letters are free for figures and marks.
const FAMILIES: &str = "LKAFSGERUWNBTZOXP";

/// One line of the document's tables.
#[derive(Debug)]
struct Rule {
    id: String,
    sentence: String,
    state: String,
    places: Vec<String>,
}

/// Whether the text is an id such as `S3`.
fn is_id(text: &str) -> bool {
    let mut letters = text.chars();
    let family = letters.next().is_some_and(|letter| FAMILIES.contains(letter));
    family && letters.next().is_some_and(|digit| digit.is_ascii_digit()) && letters.next().is_none()
}

/// The rules that the document lists.
fn listed(page: &str) -> Vec<Rule> {
    let row = |line: &str| {
        let cells: Vec<_> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [id, sentence, state, places] = cells[..] else {
            return None;
        };
        let places = places.split(',').map(|place| place.trim().trim_matches('`')).filter(|place| place.contains('/'));
        let places = places.map(str::to_owned).collect();
        is_id(id).then(|| Rule { id: id.to_owned(), sentence: sentence.to_owned(), state: state.to_owned(), places })
    };
    page.lines().filter_map(row).collect()
}

/// The ids that the tests of one source file name.
fn named(source: &str) -> BTreeSet<String> {
    let tokens = tokens(source);
    let mut found = BTreeSet::new();
    for at in 0..tokens.len() {
        let Some(name) = test_name(&tokens, at) else { continue };
        let heads = tokens[name].text.split('_').map(str::to_uppercase).take_while(|head| is_id(head));
        found.extend(heads);
        let above = tokens[..at].iter().rev().take_while(|token| token.kind == Kind::Comment);
        let inside = tokens[at..=item_end(&tokens, name)].iter().filter(|token| token.kind == Kind::Comment);
        let comments = above.chain(inside).filter(|token| !token.text.starts_with("//!"));
        found.extend(comments.flat_map(|token| ids_in(token.text)));
    }
    found
}

/// The names of the tests of one source file.
pub(crate) fn test_names(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    (0..tokens.len()).filter_map(|at| Some(tokens[test_name(&tokens, at)?].text.to_owned())).collect()
}

/// The tests of one source file, each with the words of its code.
pub(crate) fn test_words(source: &str) -> Vec<(String, BTreeSet<String>)> {
    let tokens = tokens(source);
    let names = (0..tokens.len()).filter_map(|at| test_name(&tokens, at));
    let words = |name: usize| {
        let item = &tokens[name..=item_end(&tokens, name)];
        item.iter().filter(|token| token.kind == Kind::Word).map(|token| token.text.to_owned()).collect()
    };
    names.map(|name| (tokens[name].text.to_owned(), words(name))).collect()
}

/// The ids of the laws.
pub(crate) fn laws() -> Vec<String> {
    let page = tree::read(PAGE).unwrap_or_default();
    listed(&page).into_iter().map(|rule| rule.id).filter(|id| id.starts_with('L')).collect()
}

/// Position of a test's name, when its attribute begins at `at`.
fn test_name(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let begins = |at: usize| tokens[at].is("#") && tokens.get(at + 1).is_some_and(|token| token.is("["));
    let is_test = |at: usize| tokens[at..matching(tokens, at + 1)].iter().any(|token| token.is("test"));
    let follows_another = tokens[..at].iter().rev().find(|token| token.kind != Kind::Comment);
    // Only the first attribute of an item starts a search, so that comments above all of them count.
    if !begins(at) || follows_another.is_some_and(|token| token.is("]")) {
        return None;
    }
    let (mut next, mut test) = (at, false);
    while next < tokens.len() {
        if begins(next) {
            test |= is_test(next);
            next = matching(tokens, next + 1);
        } else if tokens[next].is("fn") {
            return test.then_some(next + 1).filter(|name| *name < tokens.len());
        } else if tokens[next].kind != Kind::Comment && !matches!(tokens[next].text, "pub" | "async") {
            return None;
        }
        next += 1;
    }
    None
}

fn ids_in(comment: &str) -> impl Iterator<Item = String> {
    comment.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| is_id(word)).map(str::to_owned)
}

/// Complaints about a document, given which files' tests name which id.
fn rules_complaints(rules: &[Rule], named: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut complaints = Vec::new();
    let (mut seen, mut untested) = (BTreeSet::new(), Vec::new());
    for rule in rules {
        let id = &rule.id;
        if !seen.insert(id.as_str()) {
            complaints.push(format!("{id} is listed twice"));
        }
        if rule.sentence.is_empty() {
            complaints.push(format!("{id} has no sentence"));
        }
        let tested = named.get(id);
        match rule.state.as_str() {
            "held" | "partly" if tested.is_none() => untested.push(id.as_str()),
            "held" | "partly" | "planned" => {}
            other => complaints.push(format!("{id} is `{other}`: say held, partly or planned")),
        }
        let wrong = rule.places.iter().filter(|place| !tested.is_some_and(|files| files.contains(*place)));
        complaints
            .extend(wrong.map(|place| format!("{id} is said to be tested in {place}, but no test there names it")));
    }
    if !untested.is_empty() {
        let ids = untested.join(" ");
        complaints.push(format!("held, but named by no test (write one, or say planned): {ids}"));
    }
    let strangers = named.iter().filter(|(id, _)| !seen.contains(id.as_str()));
    complaints
        .extend(strangers.map(|(id, files)| format!("{id} is named by a test in {files:?}, but is not in {PAGE}")));
    complaints
}

/// The document with the last column written from what the tests name.
fn with_places(page: &str, named: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut written = String::new();
    for line in page.lines() {
        match listed(line).first() {
            Some(rule) => {
                let files = named.get(&rule.id).into_iter().flatten().map(|file| format!("`{file}`"));
                let files = files.collect::<Vec<_>>().join(", ");
                let files = if files.is_empty() { "–" } else { &files };
                let _ = write!(written, "| {} | {} | {} | {files} |", rule.id, rule.sentence, rule.state);
            }
            None => written.push_str(line),
        }
        written.push('\n');
    }
    written
}

#[test]
fn every_held_rule_has_a_test_and_every_tested_rule_is_listed() {
    let mut by_id: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // This crate tests the check, not the rules.
    for file in tree::rust_files().iter().filter(|file| file.member().is_some_and(|m| m != "crates/house")) {
        for id in named(file.text()) {
            by_id.entry(id).or_default().insert(file.path.clone());
        }
    }
    let page = tree::read(PAGE).expect("docs/rules.md is there");
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        tree::compare(PAGE, &with_places(&page, &by_id));
    }
    let rules = listed(&tree::read(PAGE).expect("docs/rules.md is there"));
    let planned = rules.iter().filter(|rule| rule.state == "planned");
    let could_flip: Vec<_> = planned.filter(|r| by_id.contains_key(&r.id)).map(|r| r.id.as_str()).collect();
    eprintln!("{} rules; planned, but named by a test: {could_flip:?}", rules.len());
    tree::report(&rules_complaints(&rules, &by_id));
}

#[test]
fn ids_are_found_where_tests_name_them() {
    let source = "//! L7 in the head\n/// K1: above\n#[test]\n#[should_panic]\nfn s3_l2_name_e1() {\n  // F4: inside\n  let x = \"G1\";\n}\n\
                  /// Z9 of no test\nfn a1_helper() { /* A2 */ }\nproptest! { #[tokio::test(start_paused = true)]\n async fn t1_b() { /* P99, UTF-8, Q1, XS3 */ } }";
    assert_eq!(named(source).into_iter().collect::<Vec<_>>(), ["F4", "K1", "L2", "S3", "T1"]);
}

#[test]
fn a_rule_without_a_test_and_a_test_without_a_rule_are_seen() {
    let page = "| id | rule | state | tested in |\n|---|---|---|---|\n| L1 | One. | held | – |\n| L2 | Two. | planned | – |\n\
                | L3 | | held | `a/x.rs` |\n| L2 | Twice. | soon | – |";
    let by_id = BTreeMap::from([
        ("L3".to_owned(), BTreeSet::from(["a/b.rs".to_owned()])),
        ("S9".to_owned(), BTreeSet::from(["a/b.rs".to_owned()])),
    ]);
    assert_eq!(
        rules_complaints(&listed(page), &by_id),
        [
            "L3 has no sentence",
            "L3 is said to be tested in a/x.rs, but no test there names it",
            "L2 is listed twice",
            "L2 is `soon`: say held, partly or planned",
            "held, but named by no test (write one, or say planned): L1",
            "S9 is named by a test in {\"a/b.rs\"}, but is not in docs/rules.md",
        ]
    );
    let written = with_places(page, &by_id);
    assert!(written.contains("| L3 |  | held | `a/b.rs` |\n") && written.contains("| L1 | One. | held | – |\n"));
}
