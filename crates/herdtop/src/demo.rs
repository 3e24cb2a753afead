//! `herdtop demo`: a real engine under load in this process, and the screen on its feed.
//!
//! The only place where the dashboard meets the engine. The screen is attached
//! to the demonstration's own socket as it would be to any service, and knows
//! nothing of it beyond the extra keys that it is handed.

mod args;
mod controls;
mod headless;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use herdlab::demo::{Demo, DemoError};

use crate::model::Look;
use crate::screen::{self, ScreenEnd, ScreenError, ScreenOptions};
use crate::targets::Targets;
pub use args::DemoArgs;
use controls::DemoControls;

/// It could not run, or its account does not balance.
const ERROR: u8 = 1;

/// Runs the demonstration as `args` say, to its exit code; a screen looks as `look` says.
pub fn run(args: &DemoArgs, look: Look) -> ExitCode {
    let result = if args.headless { headless::run(args) } else { on_screen(args, look) };
    result.unwrap_or_else(|error| {
        // Nothing can be done about a standard error that is closed too.
        let _ = writeln!(io::stderr(), "herdtop demo: {error}");
        ExitCode::from(ERROR)
    })
}

fn on_screen(args: &DemoArgs, look: Look) -> Result<ExitCode, Failed> {
    if !io::stdout().is_terminal() {
        return Err(Failed::NoTerminal);
    }
    let feed = herdcache::serve_feed("demo").map_err(Failed::Feed)?;
    let address = feed.address().cloned().ok_or(Failed::FeedOff)?;
    let demo = Demo::start(args.config()).map_err(Failed::Start)?;
    let options = ScreenOptions { look, note: Some(controls::MELT.into()), ..ScreenOptions::default() };
    let targets = Targets::Listed(vec![address]);
    match screen::run(options, &targets, Some(Box::new(DemoControls { demo }))).map_err(Failed::Screen)? {
        ScreenEnd::Quit => Ok(ExitCode::SUCCESS),
        ScreenEnd::Signal(number) => Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(ERROR))),
    }
}

/// Why a demonstration ends before its time.
#[derive(Debug)]
enum Failed {
    /// Standard output is no terminal.
    NoTerminal,
    /// The environment forbids the feed that the screen would read.
    FeedOff,
    Feed(io::Error),
    Start(DemoError),
    Screen(ScreenError),
    Output(io::Error),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTerminal => {
                f.write_str("standard output is no terminal: use `herdtop demo --headless`, with --json for a program")
            }
            Self::FeedOff => {
                f.write_str("HERDCACHE_FEED=off leaves the screen nothing to read: unset it, or use --headless")
            }
            Self::Feed(error) => write!(f, "the feed that the screen reads cannot be served: {error}"),
            Self::Start(error) => error.fmt(f),
            Self::Screen(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot write the result: {error}"),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
