//! Policies: which countermeasures stand before the origin, and the cures that do not cure.
//!
//! The measures are the engine's own and stack. The cures are what is tried first in
//! an incident; they are bare cache-aside with another setting of the database.

use std::fmt;
use std::str::FromStr;

use herdfeed::{ClosedSet, Measure};

use crate::run;

/// What stands before the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    on: Vec<Measure>,
    cure: Option<Cure>,
}

/// What is often tried instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// Four times as many connections.
    Pool,
    /// Four times as long timeouts.
    Timeout,
    /// One task that loads the popular keys anew on a schedule.
    Refresher,
}

impl Cure {
    const ALL: [Self; 3] = [Self::Pool, Self::Timeout, Self::Refresher];

    fn label(self) -> &'static str {
        match self {
            Self::Pool => "pool-x4",
            Self::Timeout => "timeout-x4",
            Self::Refresher => "refresher",
        }
    }
}

/// A name that is no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measures: Vec<_> = Measure::all().iter().map(|measure| measure.label()).collect();
        let cures = Cure::ALL.map(Cure::label).join(", ");
        let (name, measures) = (&self.0, measures.join(", "));
        write!(f, "no policy {name:?}: say none, all, measures joined with + ({measures}), or {cures}")
    }
}

impl std::error::Error for UnknownPolicy {}

impl Policy {
    /// One of each kind, for comparisons: nothing, each measure alone, all of them, and the cures.
    pub fn each() -> Vec<Self> {
        let alone = Measure::all().iter().map(|measure| Self { on: vec![*measure], cure: None });
        let none = Self { on: Vec::new(), cure: None };
        let all = Self { on: Measure::all().to_vec(), cure: None };
        let cures = Cure::ALL.map(|cure| Self { on: Vec::new(), cure: Some(cure) });
        std::iter::once(none).chain(alone).chain([all]).chain(cures).collect()
    }

    /// Whether a measure is on.
    pub fn has(&self, measure: Measure) -> bool {
        self.on.contains(&measure)
    }

    /// Measures that are off.
    pub fn off(&self) -> Vec<Measure> {
        Measure::all().iter().copied().filter(|measure| !self.has(*measure)).collect()
    }

    /// What is tried instead of measures, if it is that.
    pub fn cure(&self) -> Option<Cure> {
        self.cure
    }
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        if let Some(cure) = Cure::ALL.into_iter().find(|cure| cure.label() == name) {
            return Ok(Self { on: Vec::new(), cure: Some(cure) });
        }
        let on = match name {
            "none" => Vec::new(),
            "all" => Measure::all().to_vec(),
            _ => {
                let measure = |label| Measure::all().iter().copied().find(|measure| measure.label() == label);
                let named: Option<Vec<_>> = name.split('+').map(measure).collect();
                let named = named.ok_or_else(|| UnknownPolicy(name.into()))?;
                // In their own order, each once: the same measures are the same policy.
                Measure::all().iter().copied().filter(|measure| named.contains(measure)).collect()
            }
        };
        Ok(Self { on, cure: None })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cure {
            Some(cure) => f.write_str(cure.label()),
            None => f.write_str(&run::policy(&self.off())),
        }
    }
}

/// Every measure, as a policy that names each.
pub(crate) fn stacked() -> String {
    Measure::all().iter().map(|measure| measure.label()).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_read_as_it_is_written() {
        for policy in Policy::each() {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let two: Policy = "stale+singleflight".parse().unwrap();
        assert_eq!(two.to_string(), "singleflight+stale");
        for same in ["singleflight+stale", "stale+singleflight+stale"] {
            assert_eq!(same.parse(), Ok(two.clone()));
        }
        assert_eq!(stacked().parse::<Policy>(), "all".parse());
    }

    #[test]
    fn what_is_no_policy_is_told_with_those_that_are() {
        let error = "stale+lucky".parse::<Policy>().unwrap_err().to_string();
        assert!(
            error.contains("\"stale+lucky\"") && error.contains("singleflight") && error.contains("pool-x4"),
            "{error}"
        );
    }
}
