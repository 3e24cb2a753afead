//! The command line: what was asked, carried out to an exit code.
//!
//! 0 ok, 1 error, 2 usage, 3 no target, 4 `--fail-on` hit, 128+n ended by a signal.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use herdfeed::{Severity, Token};

use crate::filter::Filter;
use crate::model::{Colors, GlyphSet, Look};
use crate::once::{self, Format};
use crate::screen::{self, ScreenEnd, ScreenOptions};
use crate::targets::{TargetError, Targets};

mod shot;
mod slip;

/// Something went wrong.
pub const ERROR: u8 = 1;
/// There is nothing to watch.
pub const NO_TARGET: u8 = 3;
/// `--fail-on` found something.
pub const FOUND: u8 = 4;

/// See what the caches of running services do, live.
///
/// Without a TARGET every process of this machine is watched whose feed this
/// user may read, also those that start later. A TARGET is a socket's path, an
/// address as http://HOST:PORT, or a process id.
#[derive(Debug, Parser)]
#[command(name = "herdtop", version, args_conflicts_with_subcommands = true, after_help = HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Cli {
    /// Socket path, http://HOST:PORT, or process id
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Print one look and end; no terminal needed
    #[arg(long)]
    once: bool,
    /// With --once: one JSON document
    #[arg(long, requires = "once", conflicts_with = "text")]
    json: bool,
    /// With --once: a short report (default)
    #[arg(long, requires = "once")]
    text: bool,
    /// With --once: end with code 4 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY", requires = "once")]
    fail_on: Option<FailOn>,
    /// Open the screen even if there is no process yet, and wait for one
    #[arg(long, conflicts_with_all = ["once", "targets"])]
    wait: bool,
    /// Show only rows of the screen that match, as `cache:users w>10`; ? in it explains filters. Not with --once
    #[arg(long, value_name = "FILTER", default_value = "", env = "HERDTOP_FILTER")]
    filter: String,
    /// Colours: auto follows `NO_COLOR`, `COLORTERM` and `TERM`
    #[arg(long, value_name = "WHEN", default_value = "auto", env = "HERDTOP_COLOR", global = true)]
    color: Color,
    /// Draw with ASCII characters only
    #[arg(long, env = "HERDTOP_ASCII", global = true)]
    ascii: bool,
    /// File with the token of feeds that ask for one (or put it into `HERDTOP_TOKEN`)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Sub>,
}

const HELP: &str = "\
Examples:
  herdtop                              every process of this machine
  herdtop 4711                         the process with this id
  herdtop http://localhost:9000        one elsewhere, through `ssh -L 9000:localhost:9000 HOST`
  herdtop --once --json                one look, for jq
  herdtop --once --fail-on critical    a check for a pipeline
  herdtop demo                         no service at hand: watch a real engine melt and heal

Exit codes: 0 ok, 1 error, 2 usage, 3 no target, 4 --fail-on hit, 128+n ended by a signal.";

#[derive(Debug, Subcommand)]
enum Sub {
    #[cfg(feature = "demo")]
    Demo(crate::demo::DemoArgs),
    /// Draw the screen once as SVG or text, for documents
    #[command(hide = true)]
    Picture(shot::PictureArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Warnings and critical findings.
    Warn,
    /// Critical findings only.
    Critical,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
    #[value(name = "16")]
    Named,
    #[value(name = "256")]
    Indexed,
}

impl Color {
    fn colors(self) -> Colors {
        let variable = |name: &str| std::env::var(name).ok();
        match self {
            Self::Auto => Colors::from_environment(variable),
            // Asked for in so many words: what the terminal promises, or else the usual.
            Self::Always => match Colors::from_environment(|name| variable(name).filter(|_| name != "NO_COLOR")) {
                Colors::Mono => Colors::Indexed,
                colors => colors,
            },
            Self::Never => Colors::Mono,
            Self::Named => Colors::Named,
            Self::Indexed => Colors::Indexed,
        }
    }
}

/// Why it did not go well.
enum Failed {
    /// With which code and which words.
    Told(u8, String),
}

impl From<TargetError> for Failed {
    fn from(error: TargetError) -> Self {
        let code = match error {
            TargetError::Address { .. } => 2,
            TargetError::Dead { .. } | TargetError::NoSuchPid { .. } | TargetError::Nothing => NO_TARGET,
        };
        Self::Told(code, error.to_string())
    }
}

fn failed(error: impl std::fmt::Display) -> Failed {
    Failed::Told(ERROR, error.to_string())
}

/// Carries out what was asked.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        #[cfg(feature = "demo")]
        Some(Sub::Demo(args)) => return crate::demo::run(args, cli.look()),
        Some(Sub::Picture(args)) => shot::run(args),
        None if cli.once => cli.once(),
        None => cli.screen(),
    };
    result.unwrap_or_else(|Failed::Told(code, text)| {
        // Nothing can be done about a standard error that is closed too.
        let _ = writeln!(io::stderr(), "herdtop: {text}");
        ExitCode::from(code)
    })
}

impl Cli {
    fn look(&self) -> Look {
        let colors = self.color.colors();
        // crossterm obeys NO_COLOR too and would drop colours that were asked for by a flag.
        crossterm::style::force_color_output(colors != Colors::Mono);
        Look { colors, glyphs: if self.ascii { GlyphSet::Ascii } else { GlyphSet::Unicode } }
    }

    fn token(&self) -> Result<Option<Token>, Failed> {
        let text = match &self.token_file {
            Some(path) => {
                Some(std::fs::read_to_string(path).map_err(|error| failed(format!("{}: {error}", path.display())))?)
            }
            None => std::env::var("HERDTOP_TOKEN").ok(),
        };
        text.map(|text| Token::new(&text)).transpose().map_err(failed)
    }

    fn targets(&self) -> Result<Targets, Failed> {
        if let Some(slip) = slip::of(&self.targets) {
            return Err(Failed::Told(2, slip));
        }
        Ok(Targets::parse(&self.targets)?)
    }

    fn screen(&self) -> Result<ExitCode, Failed> {
        let targets = self.targets()?;
        let filter = Filter::parse(&self.filter).map_err(|error| Failed::Told(2, format!("--filter: {error}")))?;
        if !self.wait {
            targets.addresses()?;
        }
        let options = ScreenOptions { look: self.look(), filter, token: self.token()?, ..ScreenOptions::default() };
        match screen::run(options, &targets, None).map_err(failed)? {
            ScreenEnd::Quit => Ok(ExitCode::SUCCESS),
            ScreenEnd::Signal(number) => Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(ERROR))),
        }
    }

    fn once(&self) -> Result<ExitCode, Failed> {
        // A check that leaves out what a filter hides would pass while it fails.
        if !self.filter.trim().is_empty() {
            let text = "--filter and HERDTOP_FILTER choose rows of the screen, and --once tells all: leave the filter out, \
                        name the TARGETs to look at, or pick from --json";
            return Err(Failed::Told(2, text.into()));
        }
        let addresses = self.targets()?.addresses()?;
        let look = once::look(&addresses, self.token()?.as_ref()).map_err(failed)?;
        let format = if self.json { Format::Json } else { Format::Text };
        let text = look.printed(format).map_err(failed)?;
        io::stdout().write_all(text.as_bytes()).map_err(failed)?;
        let limit = self.fail_on.map(|limit| match limit {
            FailOn::Warn => Severity::Warn,
            FailOn::Critical => Severity::Critical,
        });
        if limit.is_some_and(|limit| look.is_at_least(limit)) {
            return Ok(ExitCode::from(FOUND));
        }
        if look.answered() == 0 {
            return Err(Failed::Told(NO_TARGET, "no target answered; see above for each".into()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
