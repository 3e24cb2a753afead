//! [`Lines`]: the lines of an answer, as they come.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::address::Address;
use crate::client::connect::Answer;
use crate::client::error::AttachError;
use crate::hello::VERSION;
use crate::line::{Line, MAX_LINE};

/// The lines of a feed, as they come. Dropping it closes the connection.
#[derive(Debug)]
pub struct Lines {
    address: Address,
    answer: Answer,
    cutter: Cutter,
    silence: Duration,
    deadline: Instant,
}

impl Lines {
    pub(super) fn new(address: Address, answer: Answer, silence: Duration) -> Self {
        Self { address, answer, cutter: Cutter::default(), silence, deadline: Instant::now() + silence }
    }

    /// The next line; `None` when the stream has ended.
    ///
    /// A line that cannot be read is skipped and counted. A kind of line that this
    /// reader does not know is [`Line::Unknown`].
    ///
    /// # Errors
    /// [`AttachError::Timeout`] when nothing came for longer than the stream's silence
    /// (see [`crate::client::SILENCE`]), counted from the last byte and not from this call;
    /// [`AttachError::Version`] when the first line tells of a version that this reader does
    /// not speak; [`AttachError::Io`] when the connection broke.
    ///
    /// # Cancel safety
    /// Safe: no line is lost when the future is dropped.
    pub async fn next(&mut self) -> Result<Option<Line>, AttachError> {
        loop {
            while let Some(text) = self.cutter.next() {
                match Line::decode(&text) {
                    Ok(line) => return self.checked(line).map(Some),
                    Err(_) => self.cutter.bad += 1,
                }
            }
            let Ok(chunk) = timeout_at(self.deadline, next_chunk(&mut self.answer.body)).await else {
                return Err(AttachError::Timeout { address: self.address.clone(), limit: self.silence });
            };
            self.deadline = Instant::now() + self.silence;
            match chunk {
                Some(Ok(chunk)) => self.cutter.push(&chunk),
                Some(Err(error)) => return Err(AttachError::broken(&self.address, error)),
                None => return Ok(None),
            }
        }
    }

    /// Lines so far that were too long or could not be read.
    pub fn bad_lines(&self) -> u64 {
        self.cutter.bad
    }

    fn checked(&self, line: Line) -> Result<Line, AttachError> {
        match line {
            Line::Hello(hello) if hello.min > VERSION[0] => {
                Err(AttachError::Version { address: self.address.clone(), theirs: vec![hello.v[0]] })
            }
            line => Ok(line),
        }
    }
}

/// The next bytes of a body.
pub(super) async fn next_chunk(body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await? {
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Cuts bytes into lines and holds at most one line that is not whole yet.
#[derive(Debug, Default)]
struct Cutter {
    held: Vec<u8>,
    /// Bytes of `held` that were given out, or searched, already.
    start: usize,
    searched: usize,
    rest: Rest,
    bad: u64,
}

/// What the bytes up to the next end of a line are.
#[derive(Debug, Default, PartialEq, Eq)]
enum Rest {
    /// A line.
    #[default]
    Wanted,
    /// The end of a line that was too long.
    TooLong,
}

impl Cutter {
    fn push(&mut self, bytes: &[u8]) {
        self.held.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line. Empty lines are no lines.
    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(end) = self.held[self.searched..].iter().position(|byte| *byte == b'\n') else {
                self.searched = self.held.len();
                self.forget_too_long();
                return None;
            };
            let (from, to) = (self.start, self.searched + end);
            self.start = to + 1;
            self.searched = self.start;
            if std::mem::take(&mut self.rest) == Rest::TooLong || from == to {
                continue;
            }
            return Some(self.held[from..to].to_vec());
        }
    }

    /// A line beyond the limit is counted once, and none of it is held.
    fn forget_too_long(&mut self) {
        let open = self.held.len() - self.start;
        if open < MAX_LINE && self.rest == Rest::Wanted {
            return;
        }
        if self.rest == Rest::Wanted {
            self.bad += 1;
            self.rest = Rest::TooLong;
        }
        self.held.clear();
        self.start = 0;
        self.searched = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The lines and the count of bad ones when `bytes` come in pieces.
    fn cut(bytes: &[u8], piece: usize) -> (Vec<Vec<u8>>, u64) {
        let (mut cutter, mut lines) = (Cutter::default(), Vec::new());
        for chunk in bytes.chunks(piece) {
            cutter.push(chunk);
            while let Some(line) = cutter.next() {
                lines.push(line);
            }
            assert!(cutter.held.len() <= MAX_LINE + piece, "holds {}", cutter.held.len());
        }
        (lines, cutter.bad)
    }

    #[test]
    fn l7_a_line_without_end_is_not_held() {
        let mut bytes = b"one\n\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 3 * MAX_LINE));
        bytes.extend(b"\ntwo\nthree");
        let expected = vec![b"one".to_vec(), b"two".to_vec()];
        for piece in [1_000, 64 * 1024] {
            assert_eq!(cut(&bytes, piece), (expected.clone(), 1), "pieces of {piece}");
        }
    }

    proptest! {
        /// P4: how the bytes are cut on their way makes no difference.
        #[test]
        fn p4_any_pieces_give_the_same_lines(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..400), piece in 1_usize..50) {
            prop_assert_eq!(cut(&bytes, piece), cut(&bytes, 1_000));
        }
    }
}
