//! [`Patience`]: a connection that does not wait for ever to be read.
//!
//! Whatever is being answered, a reader that takes nearly nothing for a while
//! loses its connection; else sixty-four of them would lock out the rest.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Bytes that count as progress: a reader that trickles below this is stuck as well.
const PROGRESS: usize = 16 * 1024;

/// A connection that fails when its reader makes no progress for `limit`.
pub(super) struct Patience<S> {
    inner: S,
    limit: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    taken: usize,
}

impl<S> Patience<S> {
    pub(super) fn new(inner: S, limit: Duration) -> Self {
        Self { inner, limit, waiting: None, taken: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patience<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patience<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.inner).poll_write(cx, buf) {
            Poll::Ready(Ok(taken)) => {
                this.taken += taken;
                if this.taken >= PROGRESS {
                    this.waiting = None;
                }
                Poll::Ready(Ok(taken))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                if this.waiting.is_none() {
                    this.taken = 0;
                }
                let waiting = this.waiting.get_or_insert_with(|| Box::pin(sleep(this.limit)));
                waiting.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Flushing is asked for when nothing is left to write: the reader has taken it all.
        let this = self.get_mut();
        this.waiting = None;
        Pin::new(&mut this.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn p1_a_reader_that_takes_nothing_is_cut_after_the_limit() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let began = Instant::now();
        let error = Patience::new(ours, LIMIT).write_all(&[0; 65]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), LIMIT);
    }

    /// Reads `piece` bytes every second while 256 KiB are written.
    async fn trickle(piece: usize) -> io::Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(8 * 1024);
        tokio::spawn(async move {
            let mut buf = vec![0; piece];
            while theirs.read_exact(&mut buf).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        Patience::new(ours, LIMIT).write_all(&vec![0; 256 * 1024]).await
    }

    #[tokio::test(start_paused = true)]
    async fn p1_a_trickle_is_cut_and_a_slow_but_steady_reader_is_not() {
        assert_eq!(trickle(512).await.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        assert_eq!(trickle(8 * 1024).await.map_err(|error| error.kind()), Ok(()));
    }
}
