//! What cannot be, told with its field and with what to write instead.
//!
//! What the engine refuses by itself (a jitter of 5, no permits) is left to it: its errors say as much.

use super::{Act, Bound, Keys, ModelSpec, OriginSpec, PacingSpec, Scenario, Sweep, Trouble};
use crate::policy::Policy;

/// A field, and why it cannot be so.
pub(super) type Wrong = (String, String);

/// The most keys, of one kind.
const KEYS: u64 = 10_000_000;
/// The most requests of a run.
const REQUESTS: f64 = 1e9;
/// The largest value, in bytes.
const VALUE: u64 = 16 << 20;

fn wrong<T>(field: impl Into<String>, why: impl Into<String>) -> Result<T, Wrong> {
    Err((field.into(), why.into()))
}

/// Whether it is a number from `low` to `high`; not a number is not.
fn within(value: f64, low: f64, high: f64) -> bool {
    (low..=high).contains(&value)
}

impl Scenario {
    pub(super) fn validate(&self) -> Result<(), Wrong> {
        self.traffic.validate().map_err(|(field, why)| (field.into(), why.into()))?;
        let length_s = self.traffic.length.seconds();
        if self.traffic.most_per_second() * length_s > REQUESTS {
            return wrong("traffic.length", "makes more than 1,000,000,000 requests: shorten it, or lower the rate");
        }
        self.keys.validate()?;
        self.origin.validate()?;
        self.validate_policies()?;
        self.validate_others(length_s)?;
        for (at, trouble) in self.trouble.iter().enumerate() {
            self.validate_trouble(&format!("trouble[{at}]"), trouble)?;
            if let Some(other) = self.trouble[..at].iter().position(|other| other.meets(trouble)) {
                return wrong(
                    format!("trouble[{at}]"),
                    format!(
                        "touches the same as trouble[{other}] at the same time: let one end before the other begins"
                    ),
                );
            }
        }
        self.act.iter().enumerate().try_for_each(|(at, act)| act.validate(&format!("act[{at}]"), self))?;
        for (at, check) in self.check.iter().enumerate() {
            check.validate().map_err(|(field, why)| (format!("check[{at}].{field}"), why))?;
            if self.traffic.pacing == PacingSpec::Bursts && matches!(check.bound, Bound::Oracle(_)) {
                return wrong(format!("check[{at}].oracle"), "supposes readers who come one by one, not in bursts");
            }
            if matches!(check.bound, Bound::Oracle(oracle) if !oracle.bears(self.origin.model)) {
                let why = "is a law of another model of the database: collapse is of processor_sharing, and a law of \
                           herds or of refresh-ahead supposes the fixed time of a load";
                return wrong(format!("check[{at}].oracle"), why);
            }
        }
        Ok(())
    }

    fn validate_policies(&self) -> Result<(), Wrong> {
        if self.policies.is_empty() {
            return wrong("policies", "must name at least one policy");
        }
        let read = |field: &str, name: &String| {
            name.parse::<Policy>().map_err(|error| (field.to_owned(), format!("names {error}")))
        };
        let mut run = Vec::new();
        for name in &self.policies {
            let policy = read("policies", name)?;
            if run.contains(&policy) {
                return wrong("policies", format!("names {name:?} twice: leave one of them out"));
            }
            run.push(policy);
        }
        if let Some(name) = &self.without {
            read("without", name)?;
        }
        for (at, check) in self.check.iter().enumerate() {
            let field = format!("check[{at}].policies");
            if check.policies.is_empty() {
                return wrong(field, "must name at least one policy: it would never be made");
            }
            for name in &check.policies {
                if !run.contains(&read(&field, name)?) {
                    let why = format!("names {name:?}, which the scenario does not run: add it to its policies");
                    return wrong(field, why);
                }
            }
        }
        Ok(())
    }

    fn validate_others(&self, length_s: f64) -> Result<(), Wrong> {
        let bystander = self.bystander.map(|other| other.per_second);
        if bystander.is_some_and(|rate| !(rate > 0.0 && within(rate * length_s, 0.0, REQUESTS))) {
            return wrong("bystander.per_second", "must be above 0 and not more than 1,000,000,000 over the run");
        }
        if let Some(warm_up) = self.warm_up {
            let there = warm_up.from.checked_add(warm_up.keys).is_some_and(|last| last <= self.keys.count);
            if warm_up.keys == 0 || !there {
                return wrong("warm_up", format!("must be at least one of the {} keys that exist", self.keys.count));
            }
        }
        if self.refresher.keys == Some(0) {
            return wrong("refresher.keys", "must be at least 1");
        }
        if self.refresher.every.is_some_and(|every| every.seconds() < 0.001) {
            return wrong("refresher.every", "must be at least 1ms");
        }
        self.sweep.as_ref().map_or(Ok(()), Sweep::validate)
    }

    fn validate_trouble(&self, field: &str, trouble: &Trouble) -> Result<(), Wrong> {
        if trouble.from >= trouble.until {
            return wrong(format!("{field}.from"), "must be before until");
        }
        if trouble.from >= self.traffic.length {
            return wrong(
                format!("{field}.from"),
                "comes after the end of the run: move it, or make traffic.length longer",
            );
        }
        if !within(trouble.slow, 1.0, 1_000.0) {
            return wrong(format!("{field}.slow"), "must be 1 to 1,000: how many times slower the origin is");
        }
        if !within(trouble.fail, 0.0, 1.0) {
            return wrong(format!("{field}.fail"), "must be 0 to 1: the part of calls that fail");
        }
        if trouble.store.is_some() && self.shared.is_none() {
            return wrong(format!("{field}.store"), "needs a store: add a table [shared]");
        }
        if !trouble.touches_origin() && trouble.store.is_none() && !trouble.stops_refresher {
            return wrong(field, "does nothing: say slow, fail, store or stops_refresher");
        }
        Ok(())
    }
}

impl Trouble {
    /// Whether it is trouble of the database.
    pub fn touches_origin(&self) -> bool {
        self.slow > 1.0 || self.fail > 0.0
    }

    /// Whether both would set the same thing at the same time: the end of one would heal the other.
    fn meets(&self, other: &Self) -> bool {
        let same = (self.touches_origin() && other.touches_origin()) || (self.store.is_some() && other.store.is_some());
        same && self.from <= other.until && other.from <= self.until
    }
}

impl Act {
    fn validate(&self, field: &str, scenario: &Scenario) -> Result<(), Wrong> {
        if self.every.is_some_and(|every| every.seconds() < 0.001) {
            return wrong(format!("{field}.every"), "must be at least 1ms; left out, it happens once");
        }
        if self.key >= scenario.keys.count {
            return wrong(format!("{field}.key"), format!("must be one of the {} keys", scenario.keys.count));
        }
        if self.at >= scenario.traffic.length {
            return wrong(format!("{field}.at"), "comes after the end of the run");
        }
        Ok(())
    }
}

impl Keys {
    fn validate(&self) -> Result<(), Wrong> {
        if !(1..=KEYS).contains(&self.count) {
            return wrong("keys.count", "must be 1 to 10,000,000");
        }
        if !within(self.zipf, 0.0, 10.0) {
            return wrong("keys.zipf", "must be 0 to 10; 0 asks for all keys alike");
        }
        if let Some(hot) = self.hot.iter().find(|hot| hot.key >= self.count) {
            return wrong("keys.hot", format!("names key {}, and there are {}: count from 0", hot.key, self.count));
        }
        if self.absent.is_some_and(|absent| !(1..=1 << 40).contains(&absent.count)) {
            return wrong("keys.absent.count", "must be 1 to 2^40");
        }
        let others = self.absent.map(|absent| absent.share).into_iter().chain([self.new_share]);
        let shares = self.hot.iter().map(|hot| hot.share).chain(others);
        if !shares.clone().all(|share| within(share, 0.0, 1.0)) || shares.sum::<f64>() > 1.0 + 1e-9 {
            return wrong(
                "keys",
                "has shares of hot, absent and new keys that are not parts of 1, or more than 1 together",
            );
        }
        Ok(())
    }
}

impl OriginSpec {
    fn validate(&self) -> Result<(), Wrong> {
        if !within(self.latency.seconds(), 0.0, 3_600.0) {
            return wrong("origin.latency", "must be at most 1h");
        }
        match (self.model, self.sigma) {
            (ModelSpec::LogNormal, Some(sigma)) if !within(sigma, 0.0, 5.0) => {
                return wrong("origin.sigma", "must be 0 to 5");
            }
            (ModelSpec::Fixed | ModelSpec::ProcessorSharing, Some(_)) => {
                return wrong("origin.sigma", "is a word of model = \"log_normal\"");
            }
            (ModelSpec::LogNormal, _) | (ModelSpec::Fixed | ModelSpec::ProcessorSharing, None) => {}
        }
        match (self.model, self.capacity) {
            (ModelSpec::ProcessorSharing, capacity) if !capacity.is_some_and(|c| c > 0.0 && c.is_finite()) => {
                return wrong("origin.capacity", "must be above 0 with model = \"processor_sharing\"");
            }
            (ModelSpec::Fixed | ModelSpec::LogNormal, Some(_)) => {
                return wrong("origin.capacity", "is a word of model = \"processor_sharing\"");
            }
            (ModelSpec::ProcessorSharing, _) | (ModelSpec::Fixed | ModelSpec::LogNormal, None) => {}
        }
        if self.connections.is_some_and(|connections| !(1..=1_000_000).contains(&connections)) {
            return wrong("origin.connections", "must be 1 to 1,000,000; left out, there is no pool");
        }
        if self.connections.is_none() && self.acquire_timeout.seconds() > 0.0 {
            return wrong("origin.acquire_timeout", "needs connections to wait for: say origin.connections");
        }
        if self.value_bytes > VALUE {
            return wrong("origin.value_bytes", "must be at most 16,777,216");
        }
        Ok(())
    }
}

impl Sweep {
    fn validate(&self) -> Result<(), Wrong> {
        if self.capacities.is_empty() || !self.capacities.iter().all(|entries| (1..=KEYS).contains(entries)) {
            return wrong("sweep.capacities", "must be sizes of 1 to 10,000,000 entries, at least one");
        }
        if !(1..=100_000_000).contains(&self.requests) {
            return wrong("sweep.requests", "must be 1 to 100,000,000");
        }
        if self.warm_up >= self.requests {
            return wrong("sweep.warm_up", "must be less than sweep.requests, or none is counted");
        }
        Ok(())
    }
}
