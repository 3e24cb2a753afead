//! [`Line`]: what one line of the feed holds, and its codec.
//!
//! The feed is newline-delimited JSON. A line is at most [`MAX_LINE`] bytes;
//! a larger snapshot travels in parts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::hello::Hello;
use crate::snapshot::Snapshot;
use crate::tally::Tally;
use crate::words::Outcome;

/// The longest line, in bytes, its newline included.
pub const MAX_LINE: usize = 256 * 1024;

/// One line of the feed. `t` on the wire names the variant.
#[doc = include_str!("../docs/examples/line.md")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum Line {
    /// The first line: who speaks.
    Hello(Box<Hello>),
    /// What happened before the reader attached.
    Past(Past),
    /// State now, or a part of it.
    Snap {
        /// Which part this is, from 1, and how many there are.
        part: [u32; 2],
        /// The caches and gates of this part.
        #[serde(flatten)]
        snapshot: Box<Snapshot>,
    },
    /// Events in order.
    Events {
        /// The events.
        events: Vec<Event>,
    },
    /// Events that this reader was too slow for, or that came before it.
    Lag {
        /// First missing sequence number.
        from: u64,
        /// First sequence number after the gap.
        to: u64,
    },
    /// The last line: why the stream ends.
    Bye {
        /// `shutdown`, `slow` or `limit`.
        why: String,
    },
    /// A kind of line that this reader does not know.
    #[serde(other)]
    Unknown,
}

/// One-second deltas of one cache from before the reader attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Past {
    /// The cache.
    pub cache: String,
    /// Oldest first, one for each second.
    pub seconds: Vec<Second>,
}

/// What one second added to a cache's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Second {
    /// When the second ended, on the process's monotonic clock.
    pub mono_us: u64,
    /// Requests that ended within it; labels with 0 are left out.
    #[serde(with = "sparse")]
    pub outcomes: Tally<Outcome>,
    /// Origin calls that started within it.
    pub origin_calls: u64,
    /// Requests waiting at its end.
    pub waiting: u64,
}

/// Tallies without their zeros: 300 seconds of mostly zeros would not fit a line.
mod sparse {
    use serde::ser::SerializeMap;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::tally::Tally;
    use crate::words::{ClosedSet, Outcome};

    pub(super) fn serialize<S: Serializer>(tally: &Tally<Outcome>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (outcome, count) in tally.iter().filter(|(_, count)| *count > 0) {
            map.serialize_entry(outcome.label(), &count)?;
        }
        map.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tally<Outcome>, D::Error> {
        Tally::deserialize(deserializer)
    }
}

/// Why a line could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum LineError {
    /// Longer than [`MAX_LINE`].
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// Not the JSON of a line.
    Malformed(serde_json::Error),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => write!(f, "a line of {bytes} bytes is longer than the feed allows ({MAX_LINE})"),
            Self::Malformed(error) => write!(f, "not a line of the feed: {error}"),
        }
    }
}

impl std::error::Error for LineError {}

impl Line {
    /// Reads one line, with or without its newline.
    ///
    /// # Errors
    /// [`LineError::TooLong`] above [`MAX_LINE`]; [`LineError::Malformed`] when it is not a line of the feed.
    pub fn decode(text: &[u8]) -> Result<Self, LineError> {
        if text.len() > MAX_LINE {
            return Err(LineError::TooLong { bytes: text.len() });
        }
        serde_json::from_slice(text).map_err(LineError::Malformed)
    }

    /// The line as JSON with its newline.
    ///
    /// # Errors
    /// [`LineError::TooLong`] when it would be longer than [`MAX_LINE`].
    pub fn encode(&self) -> Result<Vec<u8>, LineError> {
        let mut text = serde_json::to_vec(self).map_err(LineError::Malformed)?;
        text.push(b'\n');
        if text.len() > MAX_LINE {
            return Err(LineError::TooLong { bytes: text.len() });
        }
        Ok(text)
    }
}

/// A gate's account takes a few kilobytes at most; so many of them fit one line.
const GATES_PER_LINE: usize = 32;

/// Cuts a snapshot into lines: one for every 32 gates, one for each cache.
pub fn snapshot_lines(snapshot: Snapshot) -> Vec<Line> {
    let Snapshot { seq, mono_us, unix_us, caches, gates, next_event, events_dropped } = snapshot;
    let head = |caches, gates| Snapshot { seq, mono_us, unix_us, caches, gates, next_event, events_dropped };
    let mut parts: Vec<Snapshot> = gates.chunks(GATES_PER_LINE).map(|gates| head(Vec::new(), gates.to_vec())).collect();
    if parts.is_empty() {
        parts.push(head(Vec::new(), Vec::new()));
    }
    parts.extend(caches.into_iter().map(|cache| head(vec![cache], Vec::new())));
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    (1..=count)
        .zip(parts)
        .map(|(number, snapshot)| Line::Snap { part: [number, count], snapshot: Box::new(snapshot) })
        .collect()
}

/// Puts the parts of a snapshot together again.
///
/// ```
/// use herdfeed::line::{Assembler, snapshot_lines};
/// use herdfeed::{CacheSnapshot, Line, Snapshot};
/// let whole = Snapshot { caches: vec![CacheSnapshot::default(); 3], ..Snapshot::default() };
/// let lines = snapshot_lines(whole.clone());
/// assert_eq!(lines.len(), 4); // the gates, and each cache
///
/// let (mut assembler, mut read) = (Assembler::default(), None);
/// for line in lines {
///     assert!(read.is_none(), "it is whole with its last part");
///     if let Line::Snap { part, snapshot } = line {
///         read = assembler.take(part, *snapshot);
///     }
/// }
/// assert_eq!(read, Some(whole));
/// ```
#[derive(Debug, Default)]
pub struct Assembler {
    open: Option<(Snapshot, u32)>,
}

impl Assembler {
    /// Takes the next part; gives the snapshot when it is whole.
    ///
    /// A part out of order drops what was begun: the next snapshot is whole again.
    pub fn take(&mut self, part: [u32; 2], piece: Snapshot) -> Option<Snapshot> {
        let [number, count] = part;
        let (whole, have) = match self.open.take() {
            Some((mut whole, have)) if have + 1 == number && whole.seq == piece.seq => {
                whole.caches.extend(piece.caches);
                whole.gates.extend(piece.gates);
                (whole, number)
            }
            _ if number == 1 => (piece, 1),
            _ => return None,
        };
        if have == count {
            return Some(whole);
        }
        self.open = Some((whole, have));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{CacheSnapshot, GateSnapshot};

    fn sample() -> Snapshot {
        let cache = |name: &str| CacheSnapshot { name: name.into(), begun: 9, ..CacheSnapshot::default() };
        Snapshot {
            seq: 4,
            caches: vec![cache("a"), cache("b")],
            gates: vec![GateSnapshot { name: "g".into(), ..GateSnapshot::default() }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_snapshot_survives_its_parts() {
        let mut assembler = Assembler::default();
        let mut whole = None;
        for line in snapshot_lines(sample()) {
            let Line::Snap { part, snapshot } = Line::decode(&line.encode().unwrap()).unwrap() else {
                panic!("not a snapshot line")
            };
            whole = assembler.take(part, *snapshot);
        }
        assert_eq!(whole, Some(sample()));
    }

    #[test]
    fn a_lost_part_loses_only_that_snapshot() {
        let mut assembler = Assembler::default();
        assert_eq!(assembler.take([1, 3], sample()), None);
        assert_eq!(assembler.take([3, 3], sample()), None);
        assert!(assembler.take([1, 1], sample()).is_some());
    }

    #[test]
    fn a_later_kind_of_line_is_unknown_and_a_bad_one_is_an_error() {
        assert_eq!(Line::decode(br#"{"t":"meteor","size":9}"#).unwrap(), Line::Unknown);
        assert!(matches!(Line::decode(b"{"), Err(LineError::Malformed(_))));
        assert!(matches!(Line::decode(&vec![b' '; MAX_LINE + 1]), Err(LineError::TooLong { .. })));
    }
}
