//! The page that lists every word of the account.
//!
//! `docs/reference/words.md` is written from the closed sets of herdfeed, so a
//! label cannot be added, renamed or removed without the page saying so. The
//! meanings come from the doc comments; the labels are checked against the
//! compiled types.

use std::fmt::Write as _;

use herdfeed::words::{self, ClosedSet};

use crate::source::{Kind, Token, matching, tokens};
use crate::tree;

const SOURCES: [&str; 2] = ["crates/herdfeed/src/words.rs", "crates/herdfeed/src/words/shared.rs"];
const PAGE: &str = "docs/reference/words.md";

/// One closed set as its source declares it.
struct Set {
    name: String,
    about: String,
    /// Label and meaning.
    values: Vec<(String, String)>,
}

/// The labels of the compiled types, by the name of the type.
fn compiled() -> Vec<(&'static str, Vec<&'static str>)> {
    fn labels<E: ClosedSet>() -> Vec<&'static str> {
        E::all().iter().map(|value| value.label()).collect()
    }
    macro_rules! sets {
        ($($name:ident)+) => { vec![$((stringify!($name), labels::<words::$name>())),+] };
    }
    sets![Outcome MissCause FlightTrigger FlightEnd RejectReason StaleReason RemovalCause DiscardReason OriginResult
        RefreshResult PermitClass PermitResult CircuitState Measure ProtectionLevel Tier Law FlightRole
        SharedOperation SharedRead SharedWrite LeaseResult LeaseLoss LeasePoll]
}

/// Every `closed_set!` of a source file.
fn declared(source: &str) -> Vec<Set> {
    let tokens = tokens(source);
    let starts =
        (2..tokens.len()).filter(|at| tokens[at - 2].is("closed_set") && tokens[at - 1].is("!") && tokens[*at].is("{"));
    starts.map(|open| set(&tokens[open + 1..])).collect()
}

/// Reads one set: comments collect until the word they describe comes.
fn set(tokens: &[Token<'_>]) -> Set {
    let mut set = Set { name: String::new(), about: String::new(), values: Vec::new() };
    let (mut doc, mut at) = (String::new(), 0);
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.kind {
            Kind::Mark if token.text == "#" => at = matching(tokens, at) + 1,
            Kind::Comment => {
                if let Some(line) = token.text.strip_prefix("///") {
                    doc.push_str(line.trim());
                    doc.push(' ');
                }
            }
            Kind::Word if set.name.is_empty() => {
                token.text.clone_into(&mut set.name);
                set.about = plain(&std::mem::take(&mut doc));
            }
            Kind::Literal => {
                set.values.push((token.text.trim_matches('"').to_owned(), plain(&std::mem::take(&mut doc))));
            }
            Kind::Mark if token.text == "}" => break,
            Kind::Word | Kind::Mark | Kind::Lifetime => {}
        }
    }
    set
}

/// A doc comment without the brackets that only rustdoc understands.
fn plain(doc: &str) -> String {
    doc.replace("[`", "`").replace("`]", "`").trim().to_owned()
}

fn page(sets: &[Set]) -> String {
    let mut page = String::from(
        "# The words of the account\n\n\
         Written from `crates/herdfeed/src/words.rs` by `UPDATE=1 cargo test -p house`; do not edit.\n\n\
         These labels are the only ones that counters, the feed, screens, metrics and dashboards use.\n",
    );
    for set in sets {
        let _ = write!(page, "\n## {}\n\n{}\n\n| label | meaning |\n|---|---|\n", set.name, set.about);
        for (label, meaning) in &set.values {
            let _ = writeln!(page, "| `{label}` | {} |", meaning.replace('|', "\\|"));
        }
    }
    page
}

#[test]
fn every_word_is_on_the_page() {
    let sets: Vec<Set> =
        SOURCES.iter().flat_map(|source| declared(&tree::read(source).expect("herdfeed has its words"))).collect();
    let found: Vec<_> =
        sets.iter().map(|s| (s.name.as_str(), s.values.iter().map(|v| v.0.as_str()).collect())).collect();
    assert_eq!(found, compiled(), "a set in {SOURCES:?} is not in the list of this test, or the other way round");
    tree::compare(PAGE, &page(&sets));
}

#[test]
fn a_set_is_read_with_its_meanings() {
    let source = "macro_rules! closed_set { ($a:ident) => {} }\nclosed_set! {\n/// What [`it`] is,\n/// in two lines.\n#[derive(X)]\n\
                  End { /// Good.\n Good = \"good\",\n // why\n /// Bad | ugly.\n Bad = \"bad\", }\n}\nfn f() {}";
    let sets = declared(source);
    assert_eq!(sets.len(), 1);
    assert_eq!((sets[0].name.as_str(), sets[0].about.as_str()), ("End", "What `it` is, in two lines."));
    assert!(page(&sets).contains("| `good` | Good. |\n| `bad` | Bad \\| ugly. |\n"));
}
