use super::*;
use crate::line::MAX_LINE;
use crate::snapshot::{CacheSnapshot, Snapshot};
use proptest::prelude::*;

fn snap(seq: u64) -> Line {
    let caches = vec![CacheSnapshot { name: "rows".into(), begun: seq, ..CacheSnapshot::default() }];
    Line::Snap { part: [1, 1], snapshot: Box::new(Snapshot { seq, caches, ..Snapshot::default() }) }
}

fn recorded() -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, "test 1").unwrap();
    writer.line(1, "lab:one", 10, &snap(1)).unwrap();
    writer.line(1, "lab:one", 10, &snap(2)).unwrap();
    writer.line(7, "unix:/x", 11, &snap(3)).unwrap();
    writer.line(1, "lab:one", 12, &Line::Bye { why: "shutdown".into() }).unwrap();
    writer.flush().unwrap();
    file
}

/// All entries, the lines that could not be read, and whether the end was cut.
fn read(file: &[u8]) -> (Vec<Entry>, u64, bool) {
    let mut reader = Reader::new(file).unwrap();
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        entries.push(entry);
    }
    (entries, reader.bad_lines(), reader.is_cut())
}

fn source(id: u32, address: &str) -> Entry {
    Entry::Source { id, address: address.into() }
}

fn received(source: u32, rx_us: u64, line: Line) -> Entry {
    Entry::Received { source, rx_us, line: Box::new(line) }
}

#[test]
fn what_was_recorded_is_read_again() {
    let expected = vec![
        source(1, "lab:one"),
        received(1, 10, snap(1)),
        received(1, 10, snap(2)),
        source(7, "unix:/x"),
        received(7, 11, snap(3)),
        received(1, 12, Line::Bye { why: "shutdown".into() }),
    ];
    assert_eq!(read(&recorded()), (expected, 0, false));
    assert_eq!(Reader::new(&recorded()[..]).unwrap().by(), "test 1");
    // Lines of one source and moment share a mark, and an address is said once.
    let text = String::from_utf8(recorded()).unwrap();
    assert_eq!([text.matches(r#"{"t":"src""#).count(), text.matches("lab:one").count()], [3, 1]);
}

#[test]
fn a_last_line_that_is_cut_is_left_out_and_told() {
    let file = recorded();
    let (whole, ..) = read(&file);
    let last = file.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().len();
    for lost in 1..last {
        let (entries, bad, cut) = read(&file[..file.len() - lost]);
        assert_eq!((bad, cut), (0, true), "without {lost} bytes");
        assert!(entries == whole[..whole.len() - 1], "without {lost} bytes");
    }
}

#[test]
fn what_cannot_be_read_is_counted_and_the_rest_is_read() {
    let mut file = br#"{"t":"rec","v":[1,9],"by":"later"}"#.to_vec();
    file.extend(b"\n{\"t\":\"bye\",\"why\":\"nobody said who\"}\n{\"t\":\"src\",\"id\":\"x\"}\n");
    file.extend(std::iter::repeat_n(b'x', 3 * MAX_LINE));
    file.extend(b"\n{\"t\":\"src\",\"id\":2,\"rx_us\":5,\"address\":\"a\"}\n\n{\"t\":\"meteor\"}\n{\n");
    assert_eq!(read(&file), (vec![source(2, "a"), received(2, 5, Line::Unknown)], 4, false));
}

#[test]
fn what_is_no_recording_is_told() {
    let error = |file: &[u8]| Reader::new(file).unwrap_err().to_string();
    for file in [&b""[..], b"{\"t\":\"rec\"", b"{\"t\":\"hello\"}\n", b"<html>\n"] {
        assert!(error(file).starts_with("not a recording"), "{}", error(file));
    }
    assert!(error(b"{\"t\":\"rec\",\"v\":[2,0],\"by\":\"\"}\n").contains("version 2.0"));
}

proptest! {
    /// P4: a damaged recording is read to its end, or refused, and never panics.
    #[test]
    fn p4_a_damaged_recording_is_read_or_refused(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = recorded();
        for (place, byte) in damage {
            let place = place.index(file.len());
            file[place] = byte;
        }
        file.truncate(cut.index(file.len()) + 1);
        let Ok(mut reader) = Reader::new(&file[..]) else { return Ok(()) };
        let mut entries = 0_u64;
        while reader.next_entry().unwrap().is_some() {
            entries += 1;
        }
        let lines = file.split(|byte| *byte == b'\n').count() as u64;
        prop_assert!(entries + reader.bad_lines() <= lines);
    }
}
