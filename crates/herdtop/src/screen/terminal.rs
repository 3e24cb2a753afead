//! [`Terminal`]: takes the terminal and gives it back, whatever happens.

use std::io::{self, IsTerminal, Write};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::ResetColor;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};

/// Whether a screen can be drawn at all.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Holds the terminal; dropping it gives it back.
pub(super) struct Terminal(());

impl Terminal {
    pub(super) fn enter() -> io::Result<Self> {
        let terminal = Self(());
        Self::enter_again()?;
        Ok(terminal)
    }

    /// Takes the terminal again after somebody else has used it.
    pub(super) fn enter_again() -> io::Result<()> {
        // Raw mode is set anew even if it is on by our account: a shell may have changed it.
        disable_raw_mode()?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)
    }

    /// Gives the terminal back and stops until continued. `Err` says why that cannot be.
    #[cfg(unix)]
    pub(super) fn suspend() -> Result<(), String> {
        use rustix::process::{Signal, getpid, getsid, kill_current_process_group};
        // A session leader has no shell behind it that could continue it.
        if getsid(None) == Ok(getpid()) {
            return Err("there is no shell to go back to".into());
        }
        leave();
        // The whole group stops, as it would by the terminal's own key: a `cargo run` before us too.
        // SIGSTOP, since a SIGTSTP of our own is caught by our own handler.
        kill_current_process_group(Signal::STOP).map_err(|error| error.to_string())
    }

    /// Gives the terminal back and stops until continued. `Err` says why that cannot be.
    #[cfg(not(unix))]
    pub(super) fn suspend() -> Result<(), String> {
        Err("this system has no suspending".into())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        leave();
    }
}

/// Gives the terminal back. Errors are left alone: there is nothing more to try.
pub(super) fn leave() {
    let mut out = io::stdout();
    let _ = queue!(out, ResetColor, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}
