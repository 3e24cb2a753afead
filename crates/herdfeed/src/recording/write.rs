//! [`Writer`]: lines into a recording.

use std::collections::HashSet;
use std::io::Write;

use super::{Mark, RecordingError, VERSION};
use crate::line::Line;

/// Writes a recording; what it is given goes out at once, so a buffer is the caller's business.
///
/// ```
/// use herdfeed::Line;
/// use herdfeed::recording::{self, Entry, Reader, Writer};
///
/// let mut file = Vec::new();
/// let mut writer = Writer::new(&mut file, "docs 1.0")?;
/// writer.line(1, "unix:/run/api.sock", 1_000_000, &Line::Bye { why: "shutdown".into() })?;
/// writer.flush()?;
/// let [major, minor] = recording::VERSION;
/// assert!(file.starts_with(format!("{{\"t\":\"rec\",\"v\":[{major},{minor}]").as_bytes()));
///
/// let mut reader = Reader::new(&file[..])?;
/// assert_eq!(reader.next_entry()?, Some(Entry::Source { id: 1, address: "unix:/run/api.sock".into() }));
/// assert!(matches!(reader.next_entry()?, Some(Entry::Received { source: 1, rx_us: 1_000_000, .. })));
/// assert_eq!(reader.next_entry()?, None);
/// # Ok::<(), herdfeed::recording::RecordingError>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    known: HashSet<u32>,
    mark: Option<(u32, u64)>,
}

impl<W: Write> Writer<W> {
    /// Begins a recording; `by` is the name and version of the recording program.
    ///
    /// # Errors
    /// [`RecordingError::Io`] when it cannot be written.
    pub fn new(out: W, by: &str) -> Result<Self, RecordingError> {
        let mut writer = Self { out, known: HashSet::new(), mark: None };
        writer.put(&Mark::Rec { v: VERSION, by: by.into() })?;
        Ok(writer)
    }

    /// Records a line that came from `source`, which is at `address`, at `rx_us` (microseconds since 1970).
    ///
    /// # Errors
    /// [`RecordingError::Io`] when it cannot be written, [`RecordingError::Line`] when the line is longer than the
    /// feed allows; then nothing of it is written.
    pub fn line(&mut self, source: u32, address: &str, rx_us: u64, line: &Line) -> Result<(), RecordingError> {
        let text = line.encode().map_err(RecordingError::Line)?;
        if self.mark != Some((source, rx_us)) {
            let address = self.known.insert(source).then(|| address.to_owned());
            self.put(&Mark::Src { id: source, rx_us, address })?;
            self.mark = Some((source, rx_us));
        }
        Ok(self.out.write_all(&text)?)
    }

    /// Hands on what is buffered below.
    ///
    /// # Errors
    /// [`RecordingError::Io`] when it cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        Ok(self.out.flush()?)
    }

    fn put(&mut self, mark: &Mark) -> Result<(), RecordingError> {
        let mut text = serde_json::to_vec(mark).map_err(|error| RecordingError::Io(error.into()))?;
        text.push(b'\n');
        Ok(self.out.write_all(&text)?)
    }
}
