//! `herdtop demo`: a real engine under load in this process, and the screen on its feed.
//!
//! The only place where the dashboard meets the engine. The screen is attached
//! to the demonstration's own socket as it would be to any service, and knows
//! nothing of it beyond the extra keys that [`controls`] brings along.

mod args;
mod controls;
mod headless;

use std::io::{self, Write};
use std::process::ExitCode;

use herdlab::demo::{Demo, DemoConfig, DemoError};

pub use args::DemoArgs;

/// Something went wrong that is neither usage nor a finding.
const ERROR: u8 = 1;

/// Runs the demonstration as `args` say, to its exit code.
pub fn run(args: &DemoArgs) -> ExitCode {
    let result = if args.headless {
        headless::run(args)
    } else {
        on_screen(args)
    };
    result.unwrap_or_else(|error| {
        // Nothing can be done about a standard error that is closed too.
        let _ = writeln!(io::stderr(), "herdtop demo: {error}");
        ExitCode::from(ERROR)
    })
}

/// Why a demonstration ends before its time.
#[derive(Debug)]
enum Failed {
    Start(DemoError),
    Io(io::Error),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::Io(error) => write!(f, "cannot write the result: {error}"),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
