//! The table of faults in `docs/guide/faults.md`, played: each row's fault is made, and what the row says that callers
//! and the database see is held against what they saw.
//!
//! The page is the expectation. A scene makes the fault and notes what happened; `says` knows
//! what the page's phrases mean. A changed cell, a row without a scene and words without a
//! meaning fail. All of it in paused time, so waits are asserted to the millisecond.

mod origin;
mod page;
mod says;
mod scenes;
mod seen;

use std::collections::BTreeSet;

use page::{Fault, faults};
use seen::Seen;

const PAGE: &str = include_str!("../../../../docs/guide/faults.md");

/// Each row with what its scene shows.
fn played(section: &[(&str, fn() -> Seen)]) -> Vec<(Fault, Seen)> {
    let rows = faults(PAGE);
    let row = |name: &str| rows.iter().find(|row| row.name == name).cloned();
    section.iter().filter_map(|(name, scene)| Some((row(name)?, scene()))).collect()
}

/// What is wrong with the rows of this section, and with words of theirs that nothing could refute.
fn check(section: &[(&str, fn() -> Seen)]) {
    let played = played(section);
    assert_eq!(played.len(), section.len(), "a scene has no row");
    let wrong: Vec<_> = played.iter().flat_map(|(fault, seen)| says::complaints(fault, seen)).collect();
    assert!(wrong.is_empty(), "the table of faults is wrong:\n  {}", wrong.join("\n  "));
    let idle: Vec<_> = played.iter().flat_map(|(fault, seen)| irrefutable(fault, seen)).collect();
    assert!(idle.is_empty(), "these cells prove too little:\n  {}", idle.join("\n  "));
}

/// The cells of a row whose scene would bear most of what other rows say as well.
fn irrefutable(fault: &Fault, seen: &Seen) -> Vec<String> {
    let rows = faults(PAGE);
    let others = |cell: fn(&Fault) -> &String| rows.iter().map(cell).filter(|other| *other != cell(fault)).collect();
    let callers: BTreeSet<&String> = others(|fault| &fault.callers);
    let database: BTreeSet<&String> = others(|fault| &fault.database);
    let mut idle = Vec::new();
    let borne: Vec<_> = callers.iter().filter(|cell| says::callers(cell, seen).next().is_none()).collect();
    if borne.len() * 4 > callers.len() {
        idle.push(format!("{}: callers could see as well: {borne:?}", fault.name));
    }
    let borne: Vec<_> = database.iter().filter(|cell| says::database(cell, seen).next().is_none()).collect();
    if borne.len() * 3 > database.len() {
        idle.push(format!("{}: the database could see as well: {borne:?}", fault.name));
    }
    idle
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
