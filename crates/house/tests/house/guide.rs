//! The guide: read in half an hour, compiled, and right about faults.
//!
//! Its index states how long each chapter takes, which goes by its words. Each row of the
//! table of faults names tests and counters: the tests are there, the counters are fields of
//! the snapshot, and one of the row's tests looks at each of them. What a row says that
//! callers and the database see is played in `crates/guide/tests/faults`.

use std::collections::{BTreeMap, BTreeSet};

use herdfeed::{CacheSnapshot, CircuitState, GateSnapshot, LeaseSnapshot, SharedSnapshot};
use serde_json::{Value, json};

use crate::rules;
use crate::tree;

const PLACE: &str = "docs/guide/";
/// Words a minute, of text with code in it.
const PACE: usize = 200;
/// The whole guide, in minutes.
const MOST: usize = 30;
/// Fields that hold others, and do not count by themselves.
const HOLDERS: &[&str] = &["gates", "shared", "lease", "warmup"];

/// Minutes that a text takes. What is only drawn (lines of a table, fences) is not read.
fn minutes(text: &str) -> usize {
    let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
    text.split_whitespace().filter(is_word).count().div_ceil(PACE)
}

/// The cells of a table's row; `None` for other lines and for the line below a table's head.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    (!inside.chars().all(|c| matches!(c, '-' | '|' | ' '))).then(|| inside.split('|').map(str::trim).collect())
}

/// Complaints about the index, given the chapters' texts by their file names.
fn index_complaints(index: &str, chapters: &BTreeMap<String, String>, compiled: &str) -> Vec<String> {
    let rows: Vec<_> = index.lines().filter_map(cells).collect();
    let mut complaints = Vec::new();
    for (name, text) in chapters {
        let takes = minutes(text);
        let row = rows.iter().find(|row| row[0].contains(&format!("({name})")));
        match row.and_then(|row| row.get(1)?.parse::<usize>().ok()) {
            None => complaints.push(format!("{name} is not in the index with its minutes: {takes}")),
            Some(said) if said != takes => complaints.push(format!("{name} takes {takes} minutes, not {said}")),
            Some(_) => {}
        }
        if !compiled.contains(&format!("{PLACE}{name}\")")) {
            complaints.push(format!("{name} is not compiled: include it in crates/guide/src/lib.rs"));
        }
    }
    let all: usize = chapters.values().map(|text| minutes(text)).sum::<usize>() + minutes(index);
    if all > MOST {
        complaints.push(format!("the guide takes {all} minutes, at most {MOST}"));
    }
    complaints
}

/// The features of herdcache that the lines of a manifest, or of a page that shows one, turn on.
fn features(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| line.starts_with("herdcache = "));
    let lists = lines.filter_map(|line| line.split_once("features = [")?.1.split_once(']'));
    lists.flat_map(|(list, _)| list.split(',')).map(|feature| feature.trim().trim_matches('"')).collect()
}

/// One fault, with what it names.
#[derive(Debug, PartialEq, Eq)]
struct Fault<'a> {
    name: &'a str,
    counters: Vec<&'a str>,
    tests: Vec<&'a str>,
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The rows of the tables, or a complaint about one with an empty cell.
fn faults(page: &str) -> Result<Vec<Fault<'_>>, String> {
    let mut found = Vec::new();
    for row in page.lines().filter_map(cells) {
        let [name, does, callers, database, counters, tests] = row[..] else {
            return Err(format!("a row has {} cells: {row:?}", row.len()));
        };
        if name == "fault" {
            continue;
        }
        let (counters, tests) = (quoted(counters), quoted(tests));
        if [name, does, callers, database].contains(&"") || counters.is_empty() || tests.is_empty() {
            return Err(format!("{name:?} leaves something out"));
        }
        found.push(Fault { name, counters, tests });
    }
    Ok(found)
}

/// An account with every field that there can be.
fn account() -> Value {
    let (shared, lease) = (Some(SharedSnapshot::default()), Some(LeaseSnapshot::default()));
    let cache = CacheSnapshot { shared, lease, ..CacheSnapshot::default() };
    let gate = GateSnapshot { circuit: Some(CircuitState::Closed), ..GateSnapshot::default() };
    let mut all = json!(cache);
    all["gates"] = json!(gate);
    all
}

/// The word by which a test looks at a counter: the field's name, or the variant of a counted set.
fn word_of(counter: &str) -> String {
    let parts: Vec<_> = counter.split('.').filter(|part| !HOLDERS.contains(part)).collect();
    let upper = |word: &str| word[..1].to_uppercase() + &word[1..];
    match parts[..] {
        [_, label] => label.split('_').filter(|word| !word.is_empty()).map(upper).collect(),
        _ => parts.concat(),
    }
}

/// Complaints about the table, given the words of each test by its name.
fn fault_complaints(faults: &[Fault<'_>], tests: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let (account, mut complaints) = (account(), Vec::new());
    for fault in faults {
        let name = fault.name;
        let missing = fault.tests.iter().filter(|test| !tests.contains_key(**test));
        complaints.extend(missing.map(|test| format!("{name}: there is no test `{test}`")));
        for counter in &fault.counters {
            if account.pointer(&format!("/{}", counter.replace('.', "/"))).is_none() {
                complaints.push(format!("{name}: there is no counter `{counter}`"));
                continue;
            }
            let word = word_of(counter);
            if !fault.tests.iter().filter_map(|test| tests.get(*test)).any(|words| words.contains(&word)) {
                complaints.push(format!("{name}: none of its tests looks at `{counter}` ({word})"));
            }
        }
    }
    complaints
}

#[test]
fn the_guide_is_read_in_half_an_hour_and_compiled() {
    let files = tree::files();
    let pages =
        files.iter().filter_map(|file| Some((file.path.strip_prefix(PLACE)?.to_owned(), file.text().to_owned())));
    let mut chapters: BTreeMap<String, String> = pages.filter(|(name, _)| name.strip_suffix(".md").is_some()).collect();
    let index = chapters.remove("README.md").expect("the guide has an index");
    assert!(chapters.len() >= 7, "{:?}", chapters.keys());
    let compiled = tree::read("crates/guide/src/lib.rs").unwrap_or_default();
    tree::report(&index_complaints(&index, &chapters, &compiled));
}

/// What the chapters' code is compiled with stands in what readers are told to begin with.
#[test]
fn the_guide_names_the_features_of_its_code() {
    assert_eq!(
        features("herdcache = { features = [\"a\", \"b-c\"] } # d\nherdcache = \"1\""),
        BTreeSet::from(["a", "b-c"])
    );
    let [index, manifest] = ["docs/guide/README.md", "crates/guide/Cargo.toml"].map(|path| tree::read(path).unwrap());
    let (told, used) = (features(&index), features(&manifest));
    assert!(used.len() >= 3 && used.is_subset(&told), "used {used:?}, told {told:?}");
}

#[test]
fn each_fault_is_shown_by_tests_that_look_at_its_counters() {
    let page = tree::read("docs/guide/faults.md").expect("the table of faults is there");
    let faults = faults(&page).unwrap_or_else(|complaint| panic!("{complaint}"));
    assert!(faults.len() >= 30, "{} rows", faults.len());
    let tests: BTreeMap<_, _> = tree::rust_files()
        .iter()
        .filter(|file| file.member() != Some("crates/house"))
        .flat_map(|file| rules::test_words(file.text()))
        .collect();
    tree::report(&fault_complaints(&faults, &tests));
}

#[test]
fn a_chapter_that_is_long_lost_or_not_compiled_is_seen() {
    let chapters = BTreeMap::from([("a.md", 201), ("b.md", 200), ("c.md", 8_000)]);
    let chapters = chapters.into_iter().map(|(name, words)| (name.to_owned(), "w | ``` ".repeat(words))).collect();
    let index = "| chapter | minutes |\n|---|---|\n| [A](a.md) | 1 | x |\n| [B](b.md) | 1 | y |\n";
    let compiled = "include_str!(\"../../../docs/guide/a.md\") include_str!(\"../../../docs/guide/c.md\")";
    assert_eq!(
        index_complaints(index, &chapters, compiled),
        [
            "a.md takes 2 minutes, not 1",
            "b.md is not compiled: include it in crates/guide/src/lib.rs",
            "c.md is not in the index with its minutes: 40",
            "the guide takes 44 minutes, at most 30",
        ]
    );
}

#[test]
fn a_fault_that_nothing_shows_is_seen() {
    let head =
        "| fault | what happens | callers see | the database sees | counters | shown by |\n|---|---|---|---|---|---|\n";
    let row =
        "| f | d | c | s | `outcomes.timed_out`, `gates.circuit`, `outcomes.melted`, `warmup.loaded` | `t_a`, `t_b` |";
    let page = format!("{head}{row}\n");
    let found = faults(&page).unwrap();
    assert_eq!(found[0].tests, ["t_a", "t_b"]);
    let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    let tests = BTreeMap::from([("t_a".to_owned(), words(&["TimedOut", "Loaded"]))]);
    assert_eq!(
        fault_complaints(&found, &tests),
        [
            "f: there is no test `t_b`",
            "f: none of its tests looks at `gates.circuit` (circuit)",
            "f: there is no counter `outcomes.melted`",
            "f: none of its tests looks at `warmup.loaded` (loaded)",
        ]
    );
    assert!(faults(&format!("{head}| f | d |  | s | `x` | `t` |\n")).unwrap_err().contains("leaves something out"));
    assert!(faults("| f | d |\n").unwrap_err().contains("2 cells"));
}
