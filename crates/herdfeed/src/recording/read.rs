//! [`Reader`]: a recording as entries.

use std::io::{BufRead, Read};

use super::{Entry, Mark, RecordingError, VERSION};
use crate::line::{Line, MAX_LINE};

/// How a mark begins.
const MARK: &[u8] = br#"{"t":"src""#;

/// Reads a recording, one line at a time. Nothing that a file holds makes it panic or keep more than a line.
///
/// ```
/// use herdfeed::recording::{Reader, RecordingError};
/// let file = br#"{"t":"rec","v":[1,0],"by":"herdlab 0.1.0"}
/// {"t":"src","id":1,"rx_us":1772323200000000,"address":"lab:hot-key"}
/// {"t":"lag","from":0,"to":3}
/// {"t":"lag","from":"nobody can read this"}
/// {"t":"by"#; // whoever recorded was stopped
/// let mut reader = Reader::new(&file[..])?;
/// assert_eq!(reader.by(), "herdlab 0.1.0");
/// let mut entries = 0;
/// while reader.next_entry()?.is_some() {
///     entries += 1;
/// }
/// assert_eq!((entries, reader.bad_lines(), reader.is_cut()), (2, 1, true)); // a source, and a line from it
///
/// assert!(matches!(Reader::new(&b"name,age"[..]), Err(RecordingError::NotARecording)));
/// # Ok::<(), RecordingError>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    by: String,
    mark: Option<(u32, u64)>,
    bad: u64,
    cut: bool,
}

/// What a look for the next line found.
enum Next {
    Line(Vec<u8>),
    /// It was longer than a line may be, and was skipped.
    TooLong,
    /// The file ended within it.
    Cut,
    End,
}

impl<R: BufRead> Reader<R> {
    /// Opens a recording.
    ///
    /// # Errors
    /// [`RecordingError::NotARecording`], [`RecordingError::Version`] for a later major version, or
    /// [`RecordingError::Io`].
    pub fn new(mut from: R) -> Result<Self, RecordingError> {
        let Next::Line(first) = next(&mut from)? else { return Err(RecordingError::NotARecording) };
        match serde_json::from_slice(&first) {
            Ok(Mark::Rec { v, .. }) if v[0] > VERSION[0] => Err(RecordingError::Version { theirs: v }),
            Ok(Mark::Rec { by, .. }) => Ok(Self { from, by, mark: None, bad: 0, cut: false }),
            Ok(Mark::Src { .. }) | Err(_) => Err(RecordingError::NotARecording),
        }
    }

    /// The next entry; `None` at the end.
    ///
    /// A line that cannot be read is skipped and counted, also one that no mark says the source of. A kind of line that
    /// this reader does not know is [`Line::Unknown`].
    ///
    /// # Errors
    /// [`RecordingError::Io`] when the file cannot be read.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, RecordingError> {
        loop {
            let text = match next(&mut self.from)? {
                Next::Line(text) => text,
                Next::TooLong => {
                    self.bad += 1;
                    continue;
                }
                Next::Cut => {
                    self.cut = true;
                    return Ok(None);
                }
                Next::End => return Ok(None),
            };
            if text.is_empty() {
                continue;
            }
            match self.entry(&text) {
                Ok(Some(entry)) => return Ok(Some(entry)),
                Ok(None) => {}
                Err(Bad) => self.bad += 1,
            }
        }
    }

    fn entry(&mut self, text: &[u8]) -> Result<Option<Entry>, Bad> {
        if text.starts_with(MARK) {
            let Ok(Mark::Src { id, rx_us, address }) = serde_json::from_slice(text) else { return Err(Bad) };
            self.mark = Some((id, rx_us));
            return Ok(address.map(|address| Entry::Source { id, address }));
        }
        let (source, rx_us) = self.mark.ok_or(Bad)?;
        let line = Line::decode(text).map_err(|_| Bad)?;
        Ok(Some(Entry::Received { source, rx_us, line: Box::new(line) }))
    }

    /// Who recorded, as the recording says; text from outside.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Lines so far that were too long or could not be read.
    pub fn bad_lines(&self) -> u64 {
        self.bad
    }

    /// Whether the recording ended within a line: whoever wrote it was stopped.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

/// A line that cannot be read.
struct Bad;

/// The next line without its end, never more of it than [`MAX_LINE`].
fn next(from: &mut impl BufRead) -> Result<Next, RecordingError> {
    let mut line = Vec::new();
    from.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut line)?;
    if line.ends_with(b"\n") {
        line.pop();
        return Ok(Next::Line(line));
    }
    match line.len() {
        0 => Ok(Next::End),
        MAX_LINE => skip(from).map(|()| Next::TooLong),
        _ => Ok(Next::Cut),
    }
}

/// Passes over what is left of a line.
fn skip(from: &mut impl BufRead) -> Result<(), RecordingError> {
    loop {
        let held = from.fill_buf()?;
        let (end, all) = (held.iter().position(|byte| *byte == b'\n'), held.len());
        from.consume(end.map_or(all, |end| end + 1));
        if end.is_some() || all == 0 {
            return Ok(());
        }
    }
}
