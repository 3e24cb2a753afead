//! The table of faults in `docs/guide/faults.md`, played: each row's fault is made, and what the row says that callers
//! and the database see is held against what they saw.
//!
//! The page is the expectation. A scene makes the fault and notes what happened; `says` knows
//! what the page's phrases mean. A changed cell, a row without a scene and words without a
//! meaning fail. All of it in paused time, so waits are asserted to the millisecond; on each
//! store that users can choose.
//!
//! Nor may a scene be so poor that anything could be said of it: each phrase is replaced by
//! every other one of the page, and most of those must be refuted.

#![expect(clippy::expect_used, reason = "tests")]

mod origin;
mod page;
mod says;
mod scenes;
mod seen;

use std::collections::BTreeSet;

use herdcache::LocalStore;
use page::{Fault, faults};
use scenes::Scene;
use seen::Seen;

const PAGE: &str = include_str!("../../../../docs/guide/faults.md");

/// Each row with what its scene shows on such a store.
fn played(section: &[Scene], store: LocalStore) -> Vec<(Fault, Seen)> {
    let rows = faults(PAGE);
    let row = |name: &str| rows.iter().find(|row| row.name == name).cloned();
    section.iter().filter_map(|(name, scene)| Some((row(name)?, scene(store)))).collect()
}

/// What is wrong with the rows of this section on any store, and phrases of theirs that nothing could refute.
fn check(section: &[Scene]) {
    for store in [LocalStore::Moka, LocalStore::Quick] {
        check_on(section, store);
    }
}

fn check_on(section: &[Scene], store: LocalStore) {
    let played = played(section, store);
    assert_eq!(played.len(), section.len(), "a scene has no row");
    let wrong: Vec<_> = played.iter().flat_map(|(fault, seen)| says::complaints(fault, seen)).collect();
    assert!(wrong.is_empty(), "the table of faults is wrong on {store}:\n  {}", wrong.join("\n  "));
    let words = Words::of(&faults(PAGE));
    let idle: Vec<_> = played.iter().flat_map(|(fault, seen)| words.irrefutable(fault, seen)).collect();
    assert!(idle.is_empty(), "these phrases prove too little:\n  {}", idle.join("\n  "));
}

/// All phrases of the two columns.
struct Words {
    callers: BTreeSet<String>,
    database: BTreeSet<String>,
}

impl Words {
    fn of(rows: &[Fault]) -> Self {
        let callers = rows.iter().flat_map(|row| row.callers.split("; ")).flat_map(phrases);
        let database = rows.iter().flat_map(|row| phrases(&row.database));
        Self { callers: callers.map(str::to_owned).collect(), database: database.map(str::to_owned).collect() }
    }

    /// Phrases of a row in whose place a quarter of all others would pass as well: what its scene shows refutes too little.
    fn irrefutable(&self, fault: &Fault, seen: &Seen) -> Vec<String> {
        let callers = |cell: &str| says::callers(cell, seen).next().is_none();
        let database = |cell: &str| says::database(cell, seen).next().is_none();
        let mut idle = Vec::new();
        for phrase in fault.callers.split("; ").flat_map(phrases) {
            idle.extend(borne(phrase, &fault.callers, &self.callers, callers));
        }
        for phrase in phrases(&fault.database) {
            idle.extend(borne(phrase, &fault.database, &self.database, database));
        }
        idle.into_iter().map(|what| format!("{}: {what}", fault.name)).collect()
    }
}

/// The phrases of a cell, or of a part of one, without whom they are said of.
fn phrases(cell: &str) -> impl Iterator<Item = &str> {
    cell.split_once(": ").map_or(cell, |(_, says)| says).split(", ")
}

/// A complaint if too many others pass where this phrase stands in its cell.
fn borne(phrase: &str, cell: &str, all: &BTreeSet<String>, passes: impl Fn(&str) -> bool) -> Option<String> {
    let others: Vec<_> = all.iter().filter(|other| *other != phrase).collect();
    let pass: Vec<_> = others.iter().filter(|other| passes(&cell.replace(phrase, other))).collect();
    (pass.len() * 4 > others.len()).then(|| format!("{phrase:?}, and as well {pass:?}"))
}

#[test]
fn the_traffic_does_what_the_table_says() {
    check(scenes::traffic::ALL);
}

#[test]
fn the_database_does_what_the_table_says() {
    check(scenes::database::ALL);
}

#[test]
fn the_service_does_what_the_table_says() {
    check(scenes::service::ALL);
}

#[test]
fn the_tiers_do_what_the_table_says() {
    check(scenes::tiers::ALL);
}

#[test]
fn each_row_has_a_scene_and_each_scene_a_row() {
    let rows: Vec<_> = faults(PAGE).into_iter().map(|fault| fault.name).collect();
    let scenes: Vec<_> = scenes::all().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(rows, scenes);
}

/// The page's words are refuted by what did not happen, and words without a meaning are refused.
#[test]
fn a_false_cell_is_seen() {
    let (name, scene) = scenes::traffic::ALL[0];
    let seen = scene(LocalStore::default());
    let wrong = |callers: &str, database: &str, counter: &str| {
        let [name, callers, database] = [name, callers, database].map(str::to_owned);
        let fault = Fault { name, callers, database, counters: vec![counter.to_owned()] };
        says::complaints(&fault, &seen)
    };
    assert_eq!(wrong("the value, after a load", "one call", "outcomes.loaded"), [""; 0]);
    assert_eq!(
        wrong("the value, no wait; others: 502", "two calls", "outcomes.failed"),
        [
            "a popular key expires: callers do not see \"no wait\" of \"\": Told { took: 20ms, end: Row { outcome: Loaded, \
             age: 0ns, behind: 0 } }",
            "a popular key expires: nobody was there of \"others\"",
            "a popular key expires: the database does not see \"two calls\": 1 calls, 1 at once",
            "a popular key expires: `outcomes.failed` did not move",
        ]
    );
    assert_eq!(
        wrong("herd: the value or 502", "some calls", "outcomes.loaded"),
        [
            "a popular key expires: it says nothing of \"\"",
            "a popular key expires: nobody was there of \"herd\"",
            "a popular key expires: no such words: \"some calls\"",
        ]
    );
    assert_eq!(
        wrong("the value or 502, soon", "one call", "outcomes.loaded"),
        [
            "a popular key expires: callers do not see \"the value or 502\" of \"\": nobody got one of these: [200, 0]",
            "a popular key expires: callers do not see \"soon\" of \"\": no such words: \"soon\"",
        ]
    );
}
