//! What must come out of a run: a figure of its JSON, and what it is held against.

use serde::Deserialize;

use super::Time;

/// One check of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Policies that it holds under.
    pub policies: Vec<String>,
    /// A figure of the run's JSON, its parts joined by points: `latency_ms.p99`.
    pub figure: String,
    /// Why this must be so.
    #[serde(default)]
    pub why: String,
    /// What the figure is held against.
    #[serde(flatten)]
    pub bound: Bound,
}

/// What a figure is held against: exactly one of these.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It is this.
    Equals(f64),
    /// It is not more.
    AtMost(f64),
    /// It is not less.
    AtLeast(f64),
    /// It lies between the two.
    Between([f64; 2]),
    /// It is what theory says.
    Oracle(Oracle),
}

/// What theory says of a run; each is a formula of `theory`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Oracle {
    /// Loads for each expiry of a hot key whose misses nobody coalesces: 1 + λL, within so many σ of the mean.
    Duplicates {
        /// How far the mean over all expiries may lie from it.
        sigmas: f64,
    },
    /// Milliseconds to the first answer of a database that its callers drown.
    Collapse {
        /// How far it may lie from it, as a part.
        within: f64,
    },
    /// Loads until the first answer of such a database.
    CollapseLoads {
        /// How far they may lie from it, as a part.
        within: f64,
    },
    /// Origin calls each second at a ratio of hits, one call for each miss.
    Misses {
        /// Part of requests that hit.
        hit_ratio: f64,
        /// How far the count may lie from it.
        sigmas: f64,
    },
    /// The largest count of a second when jitter spreads what was written together.
    Spread {
        /// How far above the mean of a second it may lie.
        sigmas: f64,
    },
    /// Loads in a steady state of one key: length ÷ (T + L + 1/λ).
    Steady {
        /// How far they may lie from it, as a part.
        within: f64,
    },
    /// Milliseconds before expiry at which refresh-ahead begins, in the mean over all cycles.
    Lead {
        /// How far the mean may lie from it.
        sigmas: f64,
    },
    /// The same in the median.
    LeadMedian {
        /// How far the median may lie from it.
        sigmas: f64,
    },
    /// Refreshes ahead of expiry for each expiry that one of them began: 1, since one refresh of a key runs at a time.
    EarlyStarts,
    /// Expiries that a refresh began ahead of, over the whole run.
    EarlyCycles {
        /// How far the count may lie from it, beside the one at each end.
        sigmas: f64,
    },
    /// Loads within a part of the run when nobody coalesces, over all keys: each herd 1 + λL. With the policy `refresher`,
    /// those on its list are loaded by its rounds while it runs.
    Herds {
        /// From then on.
        from: Time,
        /// Until then.
        until: Time,
        /// How far outside the count may lie.
        sigmas: f64,
    },
    /// Keys that are asked for within the second after all of them have expired together.
    Together {
        /// How far the count may lie from it.
        sigmas: f64,
    },
    /// Hit ratio of an exact LRU.
    Lru {
        /// How many keys it keeps.
        entries: u64,
        /// How far it may lie from it, as a part.
        within: f64,
    },
    /// The most that a cache of a size can answer: what is asked for most is always there.
    MostPopular {
        /// How many keys it keeps.
        entries: u64,
        /// How far above it the ratio may lie.
        sigmas: f64,
    },
    /// Attempts at a key whose loads fail at once, for so long: cooling doubles from its base to its cap.
    Cooling {
        /// How long loads fail.
        length: Time,
    },
}
