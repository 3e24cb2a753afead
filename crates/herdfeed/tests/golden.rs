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
