//! The rooms of the engine do not know each other.
//!
//! Each verb of a request's life is a module; only the corridors (`cache` and
//! `core`) know their order. A room may use the shared ground (settings,
//! errors, clock, entries …) and what its line in [`ROOMS`] grants, nothing
//! else. Re-exports at the crate's root would be a way around, so rooms spell
//! the module they mean. The clock is held here too: one module asks the machine
//! for the time.

use crate::source::{Kind, Token, code, matching, test_lines};
use crate::tree;

/// Room, and the other rooms it may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("request", &[]),
    ("freshness", &[]),
    // What leaves the store is classed by its age, and remembered.
    ("store", &["freshness", "ghost"]),
    ("ghost", &[]),
    ("cooling", &["freshness"]),
    ("hotkeys", &[]),
    ("trace", &[]),
    // Those who have logs only are told too.
    ("events", &["trace"]),
    // What starts and ends is told where it is noticed.
    ("gate", &["events"]),
    ("herd", &["events"]),
    // A call holds its permit.
    ("origin", &["gate"]),
    // The circuit tells when it opens and closes.
    ("shared", &["events"]),
    // It implements the contracts.
    ("memory", &["shared"]),
    // A flight holds its call; the table's lock also covers the cooling keys, and counts a key's crowd; and
    // what is traced of a flight is kept with it.
    ("flight", &["origin", "cooling", "herd", "trace"]),
];

/// Modules above the rooms, which no room may use.
const CORRIDOR: &[&str] = &["cache", "core", "builder", "feed"];

/// The one file that asks the machine for the time.
const CLOCK: &str = "clock.rs";

/// Names below the crate's root that a file uses, with the line of each.
///
/// `depth` is how many modules down the file is: 1 for `flight.rs`, 2 for
/// `flight/table.rs`; that many `super` also lead to the root.
fn root_names<'a>(code: &[Token<'a>], depth: usize) -> Vec<(&'a str, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let Some(after) = root_path(code, at, depth) else {
            at += 1;
            continue;
        };
        if code.get(after).is_some_and(|token| token.is("{")) {
            found.extend(group_heads(code, after));
        } else if let Some(token) = code.get(after) {
            found.push((token.text, token.line));
        }
        at = after;
    }
    found
}

/// Position after `crate::`, or after as many `super::` as lead to the root.
fn root_path(code: &[Token<'_>], at: usize, depth: usize) -> Option<usize> {
    let step = |at: usize, name: &str| {
        let is = |offset: usize, text: &str| code.get(at + offset).is_some_and(|token| token.is(text));
        (is(0, name) && is(1, ":") && is(2, ":")).then_some(at + 3)
    };
    if let Some(after) = step(at, "crate") {
        return Some(after);
    }
    let mut after = at;
    for _ in 0..depth {
        after = step(after, "super")?;
    }
    Some(after)
}

/// The first name of each path in the braces at `open`.
fn group_heads<'a>(code: &[Token<'a>], open: usize) -> Vec<(&'a str, usize)> {
    let end = matching(code, open);
    let mut found = Vec::new();
    let (mut at, mut head) = (open + 1, true);
    while at < end {
        if code[at].is("{") {
            at = matching(code, at);
        } else if code[at].is(",") {
            head = true;
        } else if head && code[at].kind == Kind::Word {
            found.push((code[at].text, code[at].line));
            head = false;
        }
        at += 1;
    }
    found
}

/// Complaints about one file of the engine; `part` is its path below `src/`.
fn room_complaints(part: &str, source: &str) -> Vec<String> {
    let module = part.trim_end_matches(".rs");
    let room = module.split('/').next().unwrap_or(module);
    let Some((_, may_use)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        return Vec::new();
    };
    let code = code(source);
    let tests = test_lines(&code);
    let mut complaints = Vec::new();
    for (name, line) in root_names(&code, module.split('/').count()) {
        let in_tests = tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
        let forbidden = CORRIDOR.contains(&name) || ROOMS.iter().any(|(other, _)| *other == name);
        if in_tests || name == room || may_use.contains(&name) {
            continue;
        }
        if forbidden {
            complaints.push(format!(
                "{part}:{line} room `{room}` uses `{name}`: pass a value, or let the corridor join them"
            ));
        } else if name == "*" || name.starts_with(char::is_uppercase) {
            complaints.push(format!("{part}:{line} room `{room}` uses `crate::{name}`: name the module it comes from"));
        }
    }
    complaints
}

/// Complaints about a file of the engine that reads a clock by itself: what it
/// measures would stand still, or run on, when a test pauses time.
fn clock_complaints(part: &str, source: &str) -> Vec<String> {
    let code = code(source);
    let tests = test_lines(&code);
    let mut complaints = Vec::new();
    for at in 0..code.len().saturating_sub(3) {
        let is = |offset: usize, text: &str| code[at + offset].is(text);
        let reads = (is(0, "Instant") || is(0, "SystemTime")) && is(1, ":") && is(2, ":") && is(3, "now");
        let line = code[at].line;
        if reads && !tests.iter().any(|(first, last)| (*first..=*last).contains(&line)) {
            complaints.push(format!("{part}:{line} reads the machine's time: ask {CLOCK}"));
        }
    }
    complaints
}

/// The complaints of one check over all files of the engine that are not tests.
pub(crate) fn over_the_engine(check: impl Fn(&str, &str) -> Vec<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree::rust_files() {
        let part = file.path.strip_prefix("crates/herdcache/src/").filter(|part| !part.ends_with("tests.rs"));
        complaints.extend(part.map(|part| check(part, file.text())).unwrap_or_default());
    }
    complaints
}

#[test]
fn rooms_do_not_know_each_other() {
    tree::report(&over_the_engine(room_complaints));
}

#[test]
fn the_engine_reads_time_in_one_place() {
    let check = |part: &str, source: &str| {
        if part == CLOCK { Vec::new() } else { clock_complaints(part, source) }
    };
    tree::report(&over_the_engine(check));
}

#[test]
fn a_second_clock_is_seen() {
    let source = "fn f() {\n let a = std::time::Instant::now();\n}\n#[cfg(test)]\nmod tests { fn g() { Instant::now(); } }\n\
                  // SystemTime::now\nfn h(now: Instant) {}";
    assert_eq!(clock_complaints("gate.rs", source), ["gate.rs:2 reads the machine's time: ask clock.rs"]);
}

#[test]
fn a_room_that_calls_another_is_seen() {
    let source = "use crate::{config::Ttl, gate::{Permit, Class}};\nuse super::table::Row;\nuse super::super::cache::Cache;\n\
                  use crate::flight::Row;\nfn f() -> crate::Gate { crate::hotkeys::call() }\n#[cfg(test)]\nmod tests { use crate::write::W; }";
    let seen = room_complaints("flight/leader.rs", source);
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert!(seen[0].starts_with("flight/leader.rs:1 room `flight` uses `gate`"));
    assert!(seen[1].starts_with("flight/leader.rs:3 room `flight` uses `cache`"));
    assert!(seen[2].starts_with("flight/leader.rs:5 room `flight` uses `crate::Gate`"));
    assert!(seen[3].starts_with("flight/leader.rs:5 room `flight` uses `hotkeys`"));
    assert_eq!(room_complaints("ghost.rs", "use super::gate::Gate;").len(), 1);
    assert!(room_complaints("cache/get.rs", "use crate::gate::Gate;").is_empty());
}
