//! A recording: the lines of one or more feeds, with marks of who sent them and when they arrived.
//!
//! Newline-delimited JSON, in a file that ends in `.herd`. The first line says that it is a recording; a line
//! that begins with `{"t":"src"` is a mark: what follows it, up to the next mark, came from that source at that time.
//! The first mark of a source says its address. All others are lines of the feed as they came.
//!
//! ```text
//! {"t":"rec","v":[1,0],"by":"herdlab 0.1.0"}
//! {"t":"src","id":1,"rx_us":1772323200000000,"address":"lab:hot-key"}
//! {"t":"hello",…}
//! {"t":"src","id":1,"rx_us":1772323200250000}
//! {"t":"snap",…}
//! ```
//!
//! Whoever recorded may have died within a line: a last line that is cut is left out and told, not an error.
//! Reading and writing hold one line at a time; what a recording means is its reader's business.

mod read;
mod write;

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use crate::line::{Line, LineError};
pub use read::Reader;
pub use write::Writer;

/// Version of the format: `[major, minor]`. A minor only adds.
pub const VERSION: [u16; 2] = [1, 0];

/// What a recording holds, in the order in which it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A source that has not sent anything before.
    Source {
        /// Its number in this recording.
        id: u32,
        /// Where it was read, as people write it; text from outside.
        address: String,
    },
    /// A line that came from a source.
    Received {
        /// Its number.
        source: u32,
        /// When it arrived, in microseconds of wall time since 1970.
        rx_us: u64,
        /// The line.
        line: Box<Line>,
    },
}

/// Why a recording cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file could not be read or written.
    Io(io::Error),
    /// The first line does not say that it is a recording.
    NotARecording,
    /// It is of a version that this reader does not know.
    Version {
        /// Its version.
        theirs: [u16; 2],
    },
    /// A line cannot be written.
    Line(LineError),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the recording could not be read or written: {error}"),
            Self::NotARecording => f.write_str("not a recording: its first line is no {\"t\":\"rec\"}"),
            Self::Version { theirs: [major, minor] } => {
                write!(f, "a recording of version {major}.{minor}, and {} is the highest known here", VERSION[0])
            }
            Self::Line(error) => write!(f, "a line cannot be recorded: {error}"),
        }
    }
}

impl std::error::Error for RecordingError {}

impl From<io::Error> for RecordingError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A line that only recordings have.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Mark {
    Rec {
        v: [u16; 2],
        by: String,
    },
    Src {
        id: u32,
        rx_us: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
    },
}

#[cfg(test)]
mod tests;
