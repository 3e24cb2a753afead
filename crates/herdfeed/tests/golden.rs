//! Golden files: what version 1 wrote can be read for ever.
//!
//! `golden/v1/<kind>.<minor>.ndjson` holds one line of every kind with every field
//! set. Files of earlier minors stay as they are; `HERDFEED_BLESS=1` writes those of
//! the current one, whose difference then shows what changed on the wire.

#[path = "support/samples.rs"]
mod samples;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use herdfeed::hello::VERSION;
use herdfeed::{Fact, Line};
use samples::{facts, kind, lines, place_of};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{}", VERSION[0]))
}

fn file(name: &str) -> PathBuf {
    directory().join(format!("{name}.{}.ndjson", VERSION[1]))
}

#[test]
fn the_current_lines_are_those_of_the_golden_files() {
    for line in lines() {
        let text = line.encode().unwrap();
        let path = file(kind(&line));
        if std::env::var_os("HERDFEED_BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let golden = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (told, golden) = (String::from_utf8_lossy(&text), String::from_utf8_lossy(&golden));
        assert_eq!(told, golden, "the wire has changed: raise the minor version, or undo it");
    }
}

#[test]
fn every_golden_file_is_read_with_nothing_unknown() {
    let mut kinds = BTreeSet::new();
    for entry in fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        let line =
            Line::decode(&fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(name.split('.').next(), Some(kind(&line)), "{name}");
        if let Line::Events { events } = &line {
            assert!(events.iter().all(|event| event.fact != Fact::Unknown), "{name}");
        }
        if name == format!("{}.{}.ndjson", kind(&line), VERSION[1]) {
            assert!(lines().contains(&line), "{name} says something else than what was written");
        }
        kinds.insert(kind(&line));
    }
    assert_eq!(kinds, lines().iter().map(kind).collect(), "one file for each kind of line");
}

#[test]
fn the_samples_hold_every_kind_of_event_once() {
    let places: Vec<usize> = facts().iter().map(place_of).collect();
    assert_eq!(places, (0..facts().len()).collect::<Vec<_>>());
    assert_eq!(place_of(&Fact::Unknown), facts().len());
}

/// P2: the version of an application is optional and data, whatever it holds.
#[test]
fn p2_a_hello_without_a_version_or_with_an_odd_one_is_read() {
    let version = |name: &str| {
        let text = fs::read(directory().join(name)).unwrap();
        let Ok(Line::Hello(hello)) = Line::decode(&text) else { panic!("{name}") };
        // What was read is written as it was.
        let again = Line::Hello(hello.clone()).encode().unwrap();
        assert!(!again.iter().any(|byte| byte.is_ascii_control() && *byte != b'\n'), "{name}");
        assert_eq!(Line::decode(&again).unwrap(), Line::Hello(hello.clone()), "{name}");
        hello.process.app_version
    };
    assert_eq!(version("hello.no-version.0.ndjson"), None);
    assert_eq!(version("hello.odd-version.0.ndjson").as_deref(), Some("1\u{1b}[2J \"beta\" \u{202e}2"));
}
