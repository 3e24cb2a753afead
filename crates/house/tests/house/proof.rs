//! What `docs/correctness.md` says is proven, held to the tests that there are.
//!
//! Each law has a section that says how it is shown and what is not shown. A test that is named exists. The suites that
//! are there to prove the laws are named test by test, and every public future stands in the table of the sweep.

use std::collections::BTreeSet;

use crate::rules;
use crate::source::{Token, code};
use crate::tree::{self, File};

const PAGE: &str = "docs/correctness.md";

/// Suites whose every test is named on the page.
const SUITES: &[&str] = &[
    "crates/herdcache/tests/sweep/",
    "crates/herdcache/tests/storms/",
    "crates/herdcache/tests/memory.rs",
    "crates/herdcache/tests/models/",
    "crates/herdcache/src/core/models/",
    "crates/herdcache/tests/clock.rs",
    "crates/herdcache/tests/engine/laws.rs",
    "crates/herdcache/tests/engine/fleet.rs",
    "crates/herdcache/tests/drops/",
    "crates/herdcache/tests/traces/",
    "crates/herdcache/tests/logs.rs",
    "crates/herdfeed/tests/dropped.rs",
];

/// Where public futures are looked for.
const FUTURES: &[&str] = &["crates/herdcache/src/", "crates/herdfeed/src/"];

/// Futures for tests of the public futures: they hold nothing that a drop could lose.
const NOT_SWEPT: &[&str] = &["crates/herdcache/src/testing"];

/// The texts between backticks, outside of blocks of code.
fn quoted(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// Whether a quoted text can only be the name of a test: four words or more, joined.
fn is_test_name(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    plain && text.split('_').filter(|word| !word.is_empty()).count() >= 4
}

/// The part of the page below the heading of a law.
fn section<'a>(page: &'a str, law: &str) -> Option<&'a str> {
    page.split("\n## ").find(|part| part.split_whitespace().next() == Some(law))
}

/// Complaints about the laws that the page has to name.
fn law_complaints(page: &str, laws: &[String]) -> Vec<String> {
    let mut complaints = Vec::new();
    for law in laws {
        let Some(section) = section(page, law) else {
            complaints.push(format!("{law} has no section"));
            continue;
        };
        if quoted(section).iter().filter(|text| is_test_name(text)).count() < 2 {
            complaints.push(format!("{law} names fewer than two tests"));
        }
        if !section.contains("**Not shown.**") {
            complaints.push(format!("{law} does not say what is not shown"));
        }
    }
    complaints
}

/// Complaints about the tests that the page names, or leaves out.
fn test_complaints(page: &str, tests: &BTreeSet<String>, suites: &[(String, String)]) -> Vec<String> {
    let named: BTreeSet<&str> = quoted(page).into_iter().filter(|text| is_test_name(text)).collect();
    let strangers = named.iter().filter(|name| !tests.contains(**name));
    let missing = suites.iter().filter(|(_, name)| !named.contains(name.as_str()));
    let strangers = strangers.map(|name| format!("`{name}` is no test"));
    strangers.chain(missing.map(|(file, name)| format!("`{name}` of {file} is not on the page"))).collect()
}

/// Public futures of one file: functions that are `async` or give an `impl Future`, and types that are futures.
fn futures(source: &str) -> Vec<String> {
    let code = code(source);
    let production = crate::source::test_lines(&code);
    let is_test = |line: usize| production.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let mut found = Vec::new();
    for at in 0..code.len() {
        if is_test(code[at].line) {
            continue;
        }
        found.extend(function(&code, at));
        found.extend(type_of_future(&code, at));
    }
    found
}

/// The name of the public function that begins at `at`, if it gives a future.
fn function(code: &[Token<'_>], at: usize) -> Option<String> {
    if !code[at].is("pub") {
        return None;
    }
    let is_async = code.get(at + 1)?.is("async");
    let fun = at + 1 + usize::from(is_async);
    if !code.get(fun)?.is("fn") {
        return None;
    }
    let head = code[fun..].iter().take_while(|token| !token.is("{") && !token.is(";"));
    let head: Vec<&str> = head.map(|token| token.text).collect();
    // The arrow of the function itself is followed by what it gives; those of its arguments are not.
    let gives = head.windows(4).any(|four| four == ["-", ">", "impl", "Future"]);
    (is_async || gives).then(|| code[fun + 1].text.to_owned())
}

/// The public type for which `Future` is implemented at `at`.
fn type_of_future(code: &[Token<'_>], at: usize) -> Option<String> {
    if !(code[at].is("Future") && code.get(at + 1)?.is("for")) {
        return None;
    }
    let name = code.get(at + 2)?.text;
    let public = code.windows(3).any(|three| three[0].is("pub") && three[1].is("struct") && three[2].is(name));
    public.then(|| name.to_owned())
}

/// Complaints about public futures that the table of the sweep leaves out.
fn future_complaints(page: &str, futures: &[(String, String)]) -> Vec<String> {
    let table = section(page, "The").unwrap_or_default();
    let named: BTreeSet<&str> =
        quoted(table).into_iter().map(|text| text.rsplit("::").next().unwrap_or_default()).collect();
    let missing = futures.iter().filter(|(_, name)| !named.contains(name.as_str()));
    missing.map(|(file, name)| format!("`{name}` of {file} is in no row of the sweep")).collect()
}

/// Integration tests that a command on the page names must be there.
fn command_complaints(page: &str, targets: &BTreeSet<String>) -> Vec<String> {
    let commands = quoted(page).into_iter().filter(|text| text.contains("cargo test"));
    let words: Vec<&str> = commands.flat_map(str::split_whitespace).collect();
    let named = words.windows(2).filter(|two| two[0] == "--test").map(|two| two[1]);
    let wrong = named.filter(|name| !targets.contains(*name));
    wrong.map(|name| format!("there is no integration test `{name}`")).collect()
}

fn within(file: &File, places: &[&str]) -> bool {
    places.iter().any(|place| file.path.starts_with(place))
}

/// Names of integration tests, by their files.
fn targets(files: &[File]) -> BTreeSet<String> {
    let tests = files.iter().filter_map(|file| file.path.split_once("/tests/"));
    tests.map(|(_, rest)| rest.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()).collect()
}

#[test]
fn the_page_of_proofs_is_what_the_tests_are() {
    let page = tree::read(PAGE).expect("docs/correctness.md is there");
    let files = tree::rust_files();
    let outside = || files.iter().filter(|file| file.member() != Some("crates/house"));
    let tests = outside().flat_map(|file| rules::test_names(file.text())).collect();
    let of = |file: &File| rules::test_names(file.text()).into_iter().map(|name| (file.path.clone(), name)).collect();
    let suites: Vec<(String, String)> =
        outside().filter(|file| within(file, SUITES)).flat_map(|file| -> Vec<_> { of(file) }).collect();
    let futures: Vec<_> = outside()
        .filter(|file| within(file, FUTURES) && !within(file, NOT_SWEPT))
        .flat_map(|file| futures(file.text()).into_iter().map(|name| (file.path.clone(), name)).collect::<Vec<_>>())
        .collect();
    assert!(suites.len() > 60 && futures.len() > 8, "{} tests, {futures:?}", suites.len());
    let laws = rules::laws();
    assert_eq!(laws.len(), 8, "{laws:?}");
    let mut complaints = law_complaints(&page, &laws);
    complaints.extend(test_complaints(&page, &tests, &suites));
    complaints.extend(future_complaints(&page, &futures));
    complaints.extend(command_complaints(&page, &targets(&files)));
    tree::report(&complaints);
}

#[test]
fn what_the_page_leaves_out_or_invents_is_seen() {
    let page = "# P\n\n## L1 x\n\n`a_b_c_d` and `a_b_c_e` by `cargo test --test nowhere l1_x`\n\n**Not shown.** z\n\n## L2 y\n\n`a_b_c_d`\n\
                \n## The sweep\n\n| `Cache::get` | `a_b_c_d` |\n\n```sh\n`no_name_in_here_at_all`\n```\n";
    let laws = ["L1", "L2", "L3"].map(str::to_owned);
    let expected = ["L2 names fewer than two tests", "L2 does not say what is not shown", "L3 has no section"];
    assert_eq!(law_complaints(page, &laws), expected);
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let tests = BTreeSet::from(["a_b_c_d".to_owned()]);
    let complaints = test_complaints(page, &tests, &[pair("f.rs", "a_b_c_d"), pair("f.rs", "x_y")]);
    assert_eq!(complaints, ["`a_b_c_e` is no test", "`x_y` of f.rs is not on the page"]);
    let complaints = future_complaints(page, &[pair("f.rs", "get"), pair("f.rs", "WarmUp")]);
    assert_eq!(complaints, ["`WarmUp` of f.rs is in no row of the sweep"]);
    assert_eq!(
        command_complaints(page, &BTreeSet::from(["engine".to_owned()])),
        ["there is no integration test `nowhere`"]
    );
}

#[test]
fn public_futures_are_found() {
    let source = "pub async fn a(&self) {}\npub fn b<F: Fn() -> X>(f: F) -> impl Future<Output = ()> + use<F> { }\n\
                  async fn c() {}\npub(crate) async fn d() {}\npub fn e(f: impl Future<Output = ()>) {}\n\
                  pub struct G;\nimpl Future for G { }\nstruct H;\nimpl<T> Future for H<T> { }\n\
                  #[cfg(test)]\nmod tests { pub async fn i() {} }";
    assert_eq!(futures(source), ["a", "b", "G"]);
}
