//! What must come out of a run: a figure of its JSON, and what it is held against.

use serde::Deserialize;

use super::{ModelSpec, Time};

/// One check of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct CheckSpec {
    /// Policies that it holds under.
    pub policies: Vec<String>,
    /// A figure of the run's JSON, its parts joined by points: `latency_ms.p99`.
    pub figure: String,
    /// Why this must be so.
    pub why: String,
    /// What the figure is held against.
    pub bound: Bound,
}

/// A check as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    policies: Vec<String>,
    figure: String,
    #[serde(default)]
    why: String,
    equals: Option<f64>,
    at_most: Option<f64>,
    at_least: Option<f64>,
    between: Option<[f64; 2]>,
    oracle: Option<Oracle>,
}

impl TryFrom<Written> for CheckSpec {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { policies, figure, why, equals, at_most, at_least, between, oracle } = written;
        let bounds = [
            equals.map(Bound::Equals),
            at_most.map(Bound::AtMost),
            at_least.map(Bound::AtLeast),
            between.map(Bound::Between),
            oracle.map(Bound::Oracle),
        ];
        let mut bounds = bounds.into_iter().flatten();
        match (bounds.next(), bounds.next()) {
            (Some(bound), None) => Ok(Self { policies, figure, why, bound }),
            _ => Err(format!(
                "the check of {figure:?} needs exactly one of equals, at_most, at_least, between and oracle"
            )),
        }
    }
}

impl CheckSpec {
    /// The word that cannot be, and why.
    pub(super) fn validate(&self) -> Result<(), (&'static str, String)> {
        let finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite());
        let wrong = |word, why: &str| Err((word, why.to_owned()));
        match &self.bound {
            Bound::Equals(value) | Bound::AtMost(value) | Bound::AtLeast(value) if !finite(&[*value]) => {
                wrong("figure", "is held against what is no number")
            }
            Bound::Between([low, high]) if !finite(&[*low, *high]) || low > high => {
                wrong("between", "must be two numbers, the lower one first")
            }
            Bound::Oracle(oracle) if !oracle.slack().is_none_or(|slack| slack > 0.0 && slack <= 10.0) => {
                wrong("oracle", "needs sigmas or within above 0 and at most 10")
            }
            Bound::Equals(_) | Bound::AtMost(_) | Bound::AtLeast(_) | Bound::Between(_) | Bound::Oracle(_) => Ok(()),
        }
    }
}

/// What a figure is held against: exactly one of these.
#[derive(Clone, Debug, PartialEq)]
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
        /// How far from the mean of a second it may lie.
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

impl Oracle {
    /// Whether its formula is right for such a database: some suppose loads that all take the same time, others one
    /// that is drowned, whose running calls share a capacity.
    pub(super) fn bears(self, model: ModelSpec) -> bool {
        match self {
            Self::Duplicates { .. }
            | Self::Herds { .. }
            | Self::Lead { .. }
            | Self::LeadMedian { .. }
            | Self::EarlyStarts
            | Self::EarlyCycles { .. } => model == ModelSpec::Fixed,
            Self::Collapse { .. } | Self::CollapseLoads { .. } => model == ModelSpec::ProcessorSharing,
            Self::Misses { .. }
            | Self::Spread { .. }
            | Self::Steady { .. }
            | Self::Together { .. }
            | Self::Lru { .. }
            | Self::MostPopular { .. }
            | Self::Cooling { .. } => true,
        }
    }

    /// How far the figure may lie from what theory says, as σ or as a part.
    fn slack(self) -> Option<f64> {
        match self {
            Self::Duplicates { sigmas }
            | Self::Misses { sigmas, .. }
            | Self::Spread { sigmas }
            | Self::Lead { sigmas }
            | Self::LeadMedian { sigmas }
            | Self::EarlyCycles { sigmas }
            | Self::Herds { sigmas, .. }
            | Self::Together { sigmas }
            | Self::MostPopular { sigmas, .. } => Some(sigmas),
            Self::Collapse { within }
            | Self::CollapseLoads { within }
            | Self::Steady { within }
            | Self::Lru { within, .. } => Some(within),
            Self::EarlyStarts | Self::Cooling { .. } => None,
        }
    }
}
