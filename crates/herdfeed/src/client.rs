//! The reader: attaches to a publisher, or fetches one snapshot.
//!
//! It never waits for ever: connecting and the first byte have a limit, and so
//! has silence. Reconnecting is the caller's part, who alone knows what to show
//! meanwhile; so is judging what the lines say.

mod connect;
mod error;
mod lines;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::timeout;

use crate::address::Address;
use crate::hello::Hello;
use crate::line::{Assembler, Line};
use crate::snapshot::Snapshot;
use crate::token::Token;

pub use error::AttachError;
pub use lines::Lines;

/// The longest wait for a connection, and again for the first byte of an answer.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// A stream may be silent for this long, and for three of its own periods where they are longer.
pub const SILENCE: Duration = Duration::from_secs(10);

/// How to attach.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// Snapshots per second, 0.1 to 20. Default 4. More cost the service and the reader
    /// work, fewer show things later.
    pub hz: f64,
    /// The first event wanted; all that the process still holds when `None`, the default.
    pub since: Option<u64>,
    /// The secret of a feed that asks for one. Default none.
    pub token: Option<Token>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { hz: 4.0, since: None, token: None }
    }
}

impl StreamOptions {
    fn hz(&self) -> f64 {
        if self.hz.is_finite() { self.hz.clamp(0.1, 20.0) } else { Self::default().hz }
    }

    fn path(&self) -> String {
        let since = self.since.map(|seq| format!("&since={seq}")).unwrap_or_default();
        format!("/herd/v1/stream?hz={}{since}", self.hz())
    }

    fn silence(&self) -> Duration {
        SILENCE.max(Duration::from_secs_f64(3.0 / self.hz()))
    }
}

/// Attaches to a feed. The first line is [`Line::Hello`].
#[cfg_attr(feature = "server", doc = include_str!("../docs/examples/attach.md"))]
///
/// # Errors
/// [`AttachError`], whose text says what is wrong and what to do.
///
/// # Cancel safety
/// Dropping the future closes the connection; nothing else is lost.
pub async fn attach(address: &Address, options: &StreamOptions) -> Result<Lines, AttachError> {
    let answer = connect::get(address, &options.path(), options.token.as_ref()).await?;
    Ok(Lines::new(address.clone(), answer, options.silence()))
}

/// Fetches who speaks and one whole snapshot.
#[cfg_attr(feature = "server", doc = include_str!("../docs/examples/fetch.md"))]
///
/// # Errors
/// [`AttachError`], whose text says what is wrong and what to do.
///
/// # Cancel safety
/// Dropping the future closes the connection; nothing else is lost.
pub async fn fetch(address: &Address, token: Option<&Token>) -> Result<(Hello, Snapshot), AttachError> {
    let answer = connect::get(address, "/herd/v1/snapshot", token).await?;
    let lines = Lines::new(address.clone(), answer, ANSWER_WITHIN);
    match timeout(SILENCE, assemble(lines)).await {
        Ok(result) => result?.ok_or_else(|| AttachError::broken(address, "the snapshot ended early")),
        Err(_) => Err(AttachError::Timeout { address: address.clone(), limit: SILENCE }),
    }
}

async fn assemble(mut lines: Lines) -> Result<Option<(Hello, Snapshot)>, AttachError> {
    let (mut hello, mut parts) = (None, Assembler::default());
    while let Some(line) = lines.next().await? {
        match line {
            Line::Hello(first) => hello = Some(*first),
            Line::Snap { part, snapshot } => {
                if let (Some(hello), Some(whole)) = (&hello, parts.take(part, *snapshot)) {
                    return Ok(Some((hello.clone(), whole)));
                }
            }
            Line::Past(_) | Line::Events { .. } | Line::Lag { .. } | Line::Bye { .. } | Line::Unknown => {}
        }
    }
    Ok(None)
}
