//! The scenarios that come with the lab.

use super::{Scenario, ScenarioError};

/// Name and text of each, in the order in which they are listed.
const TEXTS: &[(&str, &str)] = &[
    ("hot-key", include_str!("../../scenarios/hot-key.toml")),
    ("hot-key-saturated", include_str!("../../scenarios/hot-key-saturated.toml")),
    ("bystander", include_str!("../../scenarios/bystander.toml")),
    ("hit-ratio-99", include_str!("../../scenarios/hit-ratio-99.toml")),
    ("hit-ratio-90", include_str!("../../scenarios/hit-ratio-90.toml")),
    ("hit-ratio-0", include_str!("../../scenarios/hit-ratio-0.toml")),
    ("avalanche", include_str!("../../scenarios/avalanche.toml")),
    ("refresh-ahead", include_str!("../../scenarios/refresh-ahead.toml")),
    ("steady-state", include_str!("../../scenarios/steady-state.toml")),
    ("slow-origin", include_str!("../../scenarios/slow-origin.toml")),
    ("failing-origin", include_str!("../../scenarios/failing-origin.toml")),
    ("origin-down", include_str!("../../scenarios/origin-down.toml")),
    ("cold-start", include_str!("../../scenarios/cold-start.toml")),
    ("invalidate-in-flight", include_str!("../../scenarios/invalidate-in-flight.toml")),
    ("penetration", include_str!("../../scenarios/penetration.toml")),
    ("impatient-callers", include_str!("../../scenarios/impatient-callers.toml")),
    ("new-hot-key", include_str!("../../scenarios/new-hot-key.toml")),
    ("new-hot-key-lru", include_str!("../../scenarios/new-hot-key-lru.toml")),
    ("new-hot-key-quick", include_str!("../../scenarios/new-hot-key-quick.toml")),
    ("eviction-not-expiry", include_str!("../../scenarios/eviction-not-expiry.toml")),
    ("pool-and-timeout", include_str!("../../scenarios/pool-and-timeout.toml")),
    ("closed-loop", include_str!("../../scenarios/closed-loop.toml")),
    ("central-refresher", include_str!("../../scenarios/central-refresher.toml")),
    ("tenants", include_str!("../../scenarios/tenants.toml")),
    ("store-outage", include_str!("../../scenarios/store-outage.toml")),
    ("store-outage-fallback", include_str!("../../scenarios/store-outage-fallback.toml")),
    ("hit-ratio", include_str!("../../scenarios/hit-ratio.toml")),
    ("five-hours", include_str!("../../scenarios/five-hours.toml")),
];

/// All of them.
///
/// # Errors
/// [`ScenarioError`] if one of them is wrong, which a test keeps from happening.
pub fn builtins() -> Result<Vec<Scenario>, ScenarioError> {
    TEXTS.iter().map(|(name, text)| Scenario::parse(name, text)).collect()
}

/// The one of this name, if there is one.
pub fn builtin(name: &str) -> Option<Result<Scenario, ScenarioError>> {
    TEXTS.iter().find(|(other, _)| *other == name).map(|(name, text)| Scenario::parse(name, text))
}
