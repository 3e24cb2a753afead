//! What can be asked of a demonstration on the command line.

use std::time::Duration;

use herdfeed::{ClosedSet, Measure};
use herdlab::demo::DemoConfig;

/// How long a demonstration without a screen runs if nothing is said.
const DEFAULT_LENGTH: Duration = Duration::from_secs(10);
/// Shorter runs show nothing: the hot key expires once a second.
const SHORTEST: Duration = Duration::from_millis(100);
/// Longer ones are a mistyped unit.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// Watch herds without a service at hand: a real cache under load in this process.
///
/// About 2,000 requests a second, half of them for one ticker that expires every
/// second and is never answered stale, over a database that slows down when it is
/// hit. Capital keys switch each countermeasure off and on and cause trouble; the
/// bar shows them. F, P, T and E switch off single-flight, permits, stale and early
/// refresh: within five seconds hundreds of loads of the ticker run at once and the
/// hits fall below 60 %. The same keys heal it.
///
/// --for and --json belong to --headless: a screen runs until q.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  herdtop demo                                   watch, and press F P T E to see it melt
  herdtop demo --headless --for 10s --json       the same as numbers
  herdtop demo --headless --for 10s --off singleflight,stale,early,permits --json

Exit codes: 0 ok, 1 the account does not balance or the demonstration could not run, 2 usage.")]
pub struct DemoArgs {
    /// Run without a screen and print the result; progress goes to standard error
    #[arg(long)]
    pub headless: bool,
    /// With --headless: how long to send requests, as 500ms, 10s or 2m [default: 10s]
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, requires = "headless")]
    pub length: Option<Duration>,
    /// Measures to switch off: jitter, singleflight, stale, early, permits
    #[arg(long, value_name = "MEASURE,…", value_delimiter = ',', value_parser = measure)]
    pub off: Vec<Measure>,
    /// Seed of the arrivals; the same seed asks for the same keys at the same times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// With --headless: print the run as JSON instead of a summary
    #[arg(long, requires = "headless")]
    pub json: bool,
}

impl DemoArgs {
    /// The demonstration that they ask for.
    pub(super) fn config(&self) -> DemoConfig {
        let length = if self.headless { Some(self.length.unwrap_or(DEFAULT_LENGTH)) } else { None };
        DemoConfig { seed: self.seed, off: self.off.clone(), length, ..DemoConfig::default() }
    }
}

/// A duration with its unit: `500ms`, `10s`, `1.5m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "" if !number.is_empty() => return Err(format!("has no unit: write {number}s or {number}ms")),
        _ => return Err("is not a duration: write a number and ms, s, m or h, as 500ms, 10s or 2m".into()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "is not a duration: write a number and ms, s, m or h, as 500ms, 10s or 2m".to_string())?;
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|length| (SHORTEST..=LONGEST).contains(length))
        .ok_or_else(|| "is not within 100ms to 24h".into())
}

/// A measure by its label.
fn measure(text: &str) -> Result<Measure, String> {
    Measure::from_label(text.trim()).ok_or_else(|| {
        let known: Vec<_> = Measure::all().iter().map(|measure| measure.label()).collect();
        format!("is no measure: choose from {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn parse(words: &[&str]) -> Result<DemoArgs, String> {
        let command = DemoArgs::augment_args(clap::Command::new("demo").no_binary_name(true));
        let matches = command.try_get_matches_from(words).map_err(|error| {
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        })?;
        DemoArgs::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn durations_carry_their_unit() {
        for (text, ms) in [("500ms", 500), ("10s", 10_000), ("1m", 60_000), ("1.5m", 90_000), ("1h", 3_600_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for (text, expected) in [
            ("10", "has no unit: write 10s or 10ms"),
            ("", "is not a duration"),
            ("ten", "is not a duration"),
            ("10x", "is not a duration"),
            ("1.2.3s", "is not a duration"),
            ("-5s", "is not a duration"),
            ("10 s", "is not a duration"),
            ("0s", "is not within 100ms to 24h"),
            ("99999999999999999999h", "is not within"),
        ] {
            let error = duration(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn bad_words_are_usage_errors_that_say_what_to_write() {
        assert!(parse(&["--headless", "--for", "10"]).unwrap_err().contains("write 10s"));
        let unknown = parse(&["--off", "permits,luck"]).unwrap_err();
        assert!(unknown.contains("luck") && unknown.contains("jitter, singleflight"), "{unknown}");
        assert!(parse(&["--json"]).unwrap_err().contains("--headless"));
        assert!(parse(&["--for", "1s"]).unwrap_err().contains("--headless"));
        assert!(parse(&["--headless", "--seed", "x"]).unwrap_err().contains("--seed"));
    }

    #[test]
    fn a_headless_run_ends_and_a_watched_one_does_not() {
        let headless = parse(&["--headless", "--off", "singleflight,permits", "--seed", "9"]).unwrap().config();
        assert_eq!(headless.length, Some(Duration::from_secs(10)));
        assert_eq!(headless.off, [Measure::SingleFlight, Measure::Permits]);
        assert_eq!(headless.seed, 9);
        assert_eq!(parse(&[]).unwrap().config().length, None);
    }
}
