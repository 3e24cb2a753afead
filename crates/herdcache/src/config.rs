//! Settings with their ranges, and the error that names what is wrong.

use std::fmt;
use std::time::Duration;

use crate::store::choice::LocalStore;
use crate::trace::Traces;
use crate::ttl::Ttl;
use crate::unwatched::WhenUnwatched;

/// A setting that cannot work. Names the cache or gate, the field, its value and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    subject: String,
    field: &'static str,
    problem: String,
}

impl ConfigError {
    pub(crate) fn new(subject: impl Into<String>, field: &'static str, problem: impl Into<String>) -> Self {
        Self { subject: subject.into(), field, problem: problem.into() }
    }

    /// The field that is wrong, as the setter is called.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.subject, self.field, self.problem)
    }
}

impl std::error::Error for ConfigError {}

/// Effective settings of one cache.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) ttl: Ttl,
    pub(crate) capacity: u64,
    pub(crate) store: LocalStore,
    pub(crate) jitter: f64,
    pub(crate) early_refresh: f64,
    pub(crate) soft_timeout: Option<Duration>,
    pub(crate) origin_timeout: Duration,
    pub(crate) flight_deadline: Duration,
    pub(crate) negative_ttl: Duration,
    pub(crate) negative_share: f64,
    pub(crate) cooling_base: Duration,
    pub(crate) cooling_cap: Duration,
    pub(crate) max_flights: usize,
    pub(crate) max_waiters: usize,
    pub(crate) when_unwatched: WhenUnwatched,
    /// Whether a run is to be played again to the letter.
    pub(crate) steady: bool,
    /// How far each may be raised while the cache runs; as built if not said.
    pub(crate) tunable_stale_for: Option<Duration>,
    pub(crate) tunable_stale_if_error_for: Option<Duration>,
    pub(crate) traces: Traces,
}

const YEARS_10: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

impl Settings {
    /// The documented defaults.
    pub(crate) fn new(ttl: Ttl) -> Self {
        Self {
            ttl,
            capacity: 10_000,
            store: LocalStore::default(),
            jitter: 0.10,
            early_refresh: 0.0,
            soft_timeout: None,
            origin_timeout: Duration::from_secs(5),
            flight_deadline: Duration::from_secs(10),
            negative_ttl: Duration::from_secs(1),
            negative_share: 0.10,
            cooling_base: Duration::from_millis(100),
            cooling_cap: Duration::from_secs(5),
            max_flights: 10_000,
            max_waiters: 100_000,
            when_unwatched: WhenUnwatched::Finish,
            steady: false,
            tunable_stale_for: None,
            tunable_stale_if_error_for: None,
            traces: Traces::default(),
        }
    }

    /// The most that `stale_for` may be tuned to.
    pub(crate) fn most_stale_for(&self) -> Duration {
        self.tunable_stale_for.unwrap_or(self.ttl.stale_for)
    }

    /// The most that `stale_if_error_for` may be tuned to.
    pub(crate) fn most_stale_if_error_for(&self) -> Duration {
        self.tunable_stale_if_error_for.unwrap_or(self.ttl.last_for())
    }

    /// A1: every range, and every pair that contradicts itself.
    pub(crate) fn check(&self, name: &str) -> Result<(), ConfigError> {
        let check = Check { subject: format!("cache {name:?}") };
        check_name(&check.subject, name)?;
        check.duration("fresh_for", self.ttl.fresh_for, MS, YEARS_10)?;
        check.duration("stale_for", self.ttl.stale_for, Duration::ZERO, YEARS_10)?;
        check.duration("stale_if_error_for", self.ttl.last_for(), Duration::ZERO, YEARS_10)?;
        check.ratio("jitter", self.jitter, 0.0, 0.5)?;
        check.ratio("negative_share", self.negative_share, 0.01, 0.5)?;
        check.ratio("early_refresh", self.early_refresh, 0.0, 10.0)?;
        check.duration("origin_timeout", self.origin_timeout, MS, HOUR)?;
        check.duration("flight_deadline", self.flight_deadline, MS, HOUR)?;
        check.duration("cooling", self.cooling_base, MS * 10, Duration::from_secs(60))?;
        check.duration("cooling", self.cooling_cap, MS * 10, Duration::from_secs(60))?;
        check.number("capacity", self.capacity, 1, 1 << 32)?;
        check.number("max_flights", self.max_flights as u64, 1, 1_000_000)?;
        check.number("max_waiters", self.max_waiters as u64, 1, 10_000_000)?;
        let (stale, last) = (self.ttl.stale_for, self.ttl.last_for());
        check.duration("tunable_stale_for", self.most_stale_for(), stale, YEARS_10)?;
        check.duration("tunable_stale_if_error_for", self.most_stale_if_error_for(), last, YEARS_10)?;
        self.traces.check(&check)?;
        self.check_pairs(&check)
    }

    fn check_pairs(&self, check: &Check) -> Result<(), ConfigError> {
        let (origin, deadline) = (self.origin_timeout, self.flight_deadline);
        if origin > deadline {
            return check.fail(
                "origin_timeout",
                format!(
                    "{origin:?} is longer than flight_deadline {deadline:?}: raise the deadline or lower the timeout"
                ),
            );
        }
        if let Some(soft) = self.soft_timeout.filter(|soft| *soft > deadline) {
            return check.fail(
                "soft_timeout",
                format!("{soft:?} is longer than flight_deadline {deadline:?}: it would never act"),
            );
        }
        if self.negative_ttl > self.ttl.fresh_for {
            return check.fail(
                "negative_ttl",
                format!(
                    "{:?} is longer than fresh_for {:?}: new rows would stay hidden",
                    self.negative_ttl, self.ttl.fresh_for
                ),
            );
        }
        if self.cooling_base > self.cooling_cap {
            return check.fail(
                "cooling",
                format!("base {:?} is longer than its cap {:?}: swap them", self.cooling_base, self.cooling_cap),
            );
        }
        Ok(())
    }
}

/// Names are labels of metrics and parts of paths: 1–64 of `[a-z0-9_.-]`.
pub(crate) fn check_name(subject: &str, name: &str) -> Result<(), ConfigError> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        return Err(ConfigError::new(
            subject,
            "name",
            "must be 1 to 64 characters of a-z, 0-9, '_', '.', '-': it becomes a label of metrics",
        ));
    }
    Ok(())
}

/// Checks fields of one subject against their ranges.
pub(crate) struct Check {
    pub(crate) subject: String,
}

/// What is wrong with a value that is outside its range, and what to do.
pub(crate) fn outside<T: Copy + PartialOrd + fmt::Debug>(value: T, least: T, most: T) -> Option<String> {
    let remedy = if value < least {
        "raise it"
    } else if value > most {
        "lower it"
    } else if value >= least {
        return None;
    } else {
        "set a number"
    };
    Some(format!("{value:?} is not within {least:?} to {most:?}: {remedy}"))
}

impl Check {
    pub(crate) fn fail(&self, field: &'static str, problem: String) -> Result<(), ConfigError> {
        Err(ConfigError::new(self.subject.clone(), field, problem))
    }

    pub(crate) fn duration(
        &self,
        field: &'static str,
        value: Duration,
        least: Duration,
        most: Duration,
    ) -> Result<(), ConfigError> {
        self.within(field, value, least, most)
    }

    pub(crate) fn number(&self, field: &'static str, value: u64, least: u64, most: u64) -> Result<(), ConfigError> {
        self.within(field, value, least, most)
    }

    fn ratio(&self, field: &'static str, value: f64, least: f64, most: f64) -> Result<(), ConfigError> {
        self.within(field, value, least, most)
    }

    fn within<T: Copy + PartialOrd + fmt::Debug>(
        &self,
        field: &'static str,
        value: T,
        least: T,
        most: T,
    ) -> Result<(), ConfigError> {
        outside(value, least, most).map_or(Ok(()), |problem| self.fail(field, problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(change: impl FnOnce(&mut Settings)) -> Result<(), ConfigError> {
        let mut settings = Settings::new(Ttl::fresh_for(Duration::from_secs(60)));
        change(&mut settings);
        settings.check("users")
    }

    /// A1: each bad setting is refused with its field and its remedy.
    #[test]
    fn a1_bad_settings_name_field_value_and_remedy() {
        type Change = fn(&mut Settings);
        assert_eq!(settings(|_| ()), Ok(()));
        let table: [(Change, &str); 10] = [
            (|s| s.ttl.fresh_for = Duration::ZERO, "fresh_for 0ns is not within 1ms to"),
            (|s| s.jitter = 0.51, "jitter 0.51 is not within 0.0 to 0.5: lower it"),
            (|s| s.jitter = f64::NAN, "jitter NaN is not within"),
            (|s| s.negative_share = 0.0, "negative_share 0.0 is not within 0.01 to 0.5: raise it"),
            (|s| s.capacity = 0, "capacity 0 is not within 1 to"),
            (
                |s| s.flight_deadline = Duration::from_secs(2),
                "origin_timeout 5s is longer than flight_deadline 2s: raise",
            ),
            (|s| s.soft_timeout = Some(Duration::from_secs(11)), "soft_timeout 11s is longer than flight_deadline 10s"),
            (|s| s.negative_ttl = Duration::from_secs(61), "negative_ttl 61s is longer than fresh_for 60s"),
            (|s| s.cooling_base = Duration::from_secs(6), "cooling base 6s is longer than its cap 5s"),
            (|s| s.max_waiters = 0, "max_waiters 0 is not within"),
        ];
        for (change, expected) in table {
            let error = settings(change).unwrap_err().to_string();
            assert!(error.starts_with(r#"cache "users": "#) && error.contains(expected), "{error} / {expected}");
        }
        for name in ["", "Users", "a b", "é", &"x".repeat(65)] {
            assert_eq!(Settings::new(Ttl::fresh_for(MS * 1_000)).check(name).unwrap_err().field(), "name");
        }
    }

    /// A1: links of the dashboards go by what a name may have: more would need quotes there.
    #[test]
    fn a1_a_name_is_of_a_few_characters() {
        let good: String = (0..=255).map(char::from).filter(|c| check_name("cache", &c.to_string()).is_ok()).collect();
        assert_eq!(good, "-.0123456789_abcdefghijklmnopqrstuvwxyz");
    }
}
