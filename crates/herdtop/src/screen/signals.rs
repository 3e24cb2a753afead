//! Signals that end, stop or continue the screen.

use std::io;

/// What a signal asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// To end.
    End(i32),
    /// To stop until continued.
    Stop,
    /// It was stopped by somebody else and goes on.
    Continued,
}

#[cfg(unix)]
mod platform {
    use super::{Signal, io};
    use rustix::process::Signal as Number;
    use tokio::signal::unix::{self, SignalKind, signal};

    /// The signals being listened for.
    pub(in super::super) struct Signals {
        terminate: unix::Signal,
        hangup: unix::Signal,
        interrupt: unix::Signal,
        quit: unix::Signal,
        stop: unix::Signal,
        cont: unix::Signal,
    }

    impl Signals {
        pub(in super::super) fn listen() -> io::Result<Self> {
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                hangup: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                quit: signal(SignalKind::quit())?,
                stop: signal(SignalKind::from_raw(Number::TSTP.as_raw()))?,
                cont: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
            })
        }

        /// The next signal.
        ///
        /// # Cancel safety
        /// Safe: no signal is lost.
        pub(in super::super) async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.terminate.recv() => Signal::End(Number::TERM.as_raw()),
                _ = self.hangup.recv() => Signal::End(Number::HUP.as_raw()),
                _ = self.interrupt.recv() => Signal::End(Number::INT.as_raw()),
                _ = self.quit.recv() => Signal::End(Number::QUIT.as_raw()),
                _ = self.stop.recv() => Signal::Stop,
                _ = self.cont.recv() => Signal::Continued,
            }
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use super::{Signal, io};

    /// The signals being listened for.
    pub(in super::super) struct Signals(());

    impl Signals {
        pub(in super::super) fn listen() -> io::Result<Self> {
            Ok(Self(()))
        }

        /// The next signal: the terminal's interrupt, the only one there is.
        pub(in super::super) async fn next(&mut self) -> Signal {
            match tokio::signal::ctrl_c().await {
                Ok(()) => Signal::End(2),
                Err(_) => std::future::pending().await,
            }
        }
    }
}

pub(super) use platform::Signals;
