//! [`FailFast`]: the settings of the gate's circuit, which `breaker` works by.

use std::time::Duration;

use herdfeed::FailFastConfig;

use crate::config::{Check, ConfigError, outside};

/// When a gate gives its origin up for a while. See [`GateBuilder::fail_fast`](crate::GateBuilder::fail_fast).
///
/// ```
/// use std::time::Duration;
/// use herdcache::{FailFast, Gate};
/// let patient = FailFast::new().ratio(0.8).at_least(50).window(Duration::from_secs(30));
/// let gate = Gate::builder(8).fail_fast(patient.probe_every(Duration::from_millis(250))).build();
/// assert!(gate.is_ok_and(|gate| gate.snapshot().circuit.is_some()));
/// // What is out of its range is told when the gate is built.
/// assert!(Gate::builder(8).fail_fast(patient.ratio(1.5)).build().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct FailFast {
    pub(super) ratio: f64,
    pub(super) at_least: u64,
    pub(super) window: Duration,
    pub(super) probe_every: Duration,
}

impl Default for FailFast {
    fn default() -> Self {
        Self::new()
    }
}

impl FailFast {
    /// The defaults: half of at least 20 loads within 10 s, or of as many as take up half of the gate meanwhile (see
    /// [`at_least`](Self::at_least)); one probe each second.
    pub const fn new() -> Self {
        Self { ratio: 0.5, at_least: 20, window: Duration::from_secs(10), probe_every: Duration::from_secs(1) }
    }

    /// The failed part of loads from which on new ones are refused: above 0, at most 1. Default 0.5.
    ///
    /// More: an origin that fails for some is kept in use. Less: it is given up on a glitch.
    pub const fn ratio(mut self, part: f64) -> Self {
        self.ratio = part;
        self
    }

    /// Fewer loads than this within the window prove nothing: 1 to 1,000,000. Default 20.
    ///
    /// Unless they took up the gate: a gate of few permits before an origin that hangs sees few loads end (with 4
    /// permits and an origin timeout of 5 s at most 12 within 10 s), so it is enough, too, that failed loads held half of
    /// its permits for the whole window: with 4 permits four loads of 5 s. With one permit it is that one for nine
    /// tenths of the window. `ratio` holds in either case, and no load counts for longer than the window.
    ///
    /// And whatever went well before: so many failures in a row, within the window, are enough if nothing has succeeded for a tenth of the
    /// window, 1 s by default. An origin that hangs ends few loads, and those that it answered just before are many.
    ///
    /// More: later. Fewer: on a glitch.
    pub const fn at_least(mut self, loads: u64) -> Self {
        self.at_least = loads;
        self
    }

    /// The span over which loads are counted, in steps of a tenth: 100 ms to 1 h. Default 10 s.
    ///
    /// Longer: it opens later, and an old glitch counts for longer. Shorter: on a glitch.
    pub const fn window(mut self, span: Duration) -> Self {
        self.window = span;
        self
    }

    /// Time between two probes, and until a healed origin is noticed: 10 ms to 1 min. Default 1 s.
    ///
    /// Longer: the outage lasts longer for callers. Shorter: a dead origin is called more often.
    pub const fn probe_every(mut self, pause: Duration) -> Self {
        self.probe_every = pause;
        self
    }

    pub(super) fn check(&self, check: &Check) -> Result<(), ConfigError> {
        let (ratio, window, pause) = (self.ratio, self.window, self.probe_every);
        if !(ratio > 0.0 && ratio <= 1.0) {
            return check.fail("fail_fast", format!("ratio {ratio} is not above 0 and at most 1"));
        }
        let ranges = [
            ("window", window, Duration::from_millis(100), Duration::from_secs(3_600)),
            ("probe_every", pause, Duration::from_millis(10), Duration::from_secs(60)),
        ];
        for (name, value, least, most) in ranges {
            if let Some(problem) = outside(value, least, most) {
                return check.fail("fail_fast", format!("{name} {problem}"));
            }
        }
        match outside(self.at_least, 1, 1_000_000) {
            Some(problem) => check.fail("fail_fast", format!("at_least {problem}")),
            None => Ok(()),
        }
    }

    pub(super) fn config(&self) -> FailFastConfig {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (window_ms, probe_every_ms) = (ms(self.window), ms(self.probe_every));
        FailFastConfig { ratio: self.ratio, at_least: self.at_least, window_ms, probe_every_ms }
    }
}
