//! A scenario's own checks on a run: a figure of its JSON against a bound, or against theory.
//!
//! A figure is found in the run as it will be printed, so that what is checked is what
//! is told. A figure that the run does not have fails its check: a check that nothing
//! was measured for proves nothing.

mod oracle;

use serde_json::Value;

use crate::policy::Policy;
use crate::run::{Check, Run};
use crate::scenario::{Bound, CheckSpec, Scenario};
use oracle::Expected;

/// The scenario's checks for the run's policy.
pub fn checks(scenario: &Scenario, run: &Run) -> Vec<Check> {
    checks_as(scenario, run, &run.setup.policy)
}

/// The scenario's checks for `policy`, on a run that may have been another one's: what a run
/// without the countermeasure would have to pass.
pub fn checks_as(scenario: &Scenario, run: &Run, policy: &str) -> Vec<Check> {
    let figures = serde_json::to_value(run).unwrap_or_default();
    let mine = scenario.check.iter().filter(|check| check.policies.iter().any(|named| is(named, policy)));
    mine.map(|check| judge(scenario, check, run, &figures)).collect()
}

/// Names of one policy may list its measures in any order.
fn is(named: &str, policy: &str) -> bool {
    let written = |name: &str| name.parse::<Policy>().map(|policy| policy.to_string()).ok();
    written(named).is_some_and(|named| written(policy) == Some(named))
}

fn judge(scenario: &Scenario, check: &CheckSpec, run: &Run, figures: &Value) -> Check {
    let name = if check.why.is_empty() { check.figure.clone() } else { format!("{}: {}", check.figure, check.why) };
    let expected = match &check.bound {
        Bound::Equals(value) => Expected { low: *value, high: *value, how: String::new() },
        Bound::AtMost(most) => Expected { low: f64::NEG_INFINITY, high: *most, how: String::new() },
        Bound::AtLeast(least) => Expected { low: *least, high: f64::INFINITY, how: String::new() },
        Bound::Between([low, high]) => Expected { low: *low, high: *high, how: String::new() },
        Bound::Oracle(oracle) => oracle::expected(*oracle, scenario, run),
    };
    let measured = figure(figures, &check.figure);
    Check {
        name,
        expected: expected.to_string(),
        measured: measured.map_or_else(|| "nothing".into(), oracle::short),
        pass: measured.is_some_and(|measured| expected.low <= measured && measured <= expected.high),
    }
}

/// A number of the run by its path, as `latency_ms.p99`; a label that was never counted is 0.
pub(crate) fn figure(run: &Value, path: &str) -> Option<f64> {
    let parts = || path.split('.');
    let found = |root: &Value| parts().try_fold(root, step).and_then(Value::as_f64);
    found(run).or_else(|| run.get("scene").and_then(found))
}

/// A field of an object, or the part of a list that has this name: `phases.before`.
fn step<'a>(value: &'a Value, part: &str) -> Option<&'a Value> {
    match value {
        Value::Array(parts) => parts.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(part)),
        other => other.get(part),
    }
}

#[cfg(test)]
mod tests;
