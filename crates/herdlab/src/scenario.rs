//! A scenario: what a TOML file says is set, what happens, and what must come out.
//!
//! Plain data. Every setting that the engine has a default for may be left out; a
//! word that is not known is an error with its line, since a misspelt setting that
//! is silently ignored proves the wrong thing. What the words do is told in `play`,
//! what checks mean in `verdict`.

mod builtin;
mod check;
mod error;
mod happens;
mod keys;
mod refresher;
mod settings;
mod shared;
mod time;
mod traffic;
mod validate;

use serde::Deserialize;

pub use builtin::{builtin, builtins};
pub use check::{Bound, CheckSpec, Oracle};
pub use error::ScenarioError;
pub use happens::{Act, Bystander, Deed, RefresherSpec, Trouble, WarmUpSpec};
pub use keys::{Absent, Hot, KeyForm, Keys, Sweep, Warm};
pub use settings::{CacheSpec, GateSpec, ModelSpec, OriginSpec};
pub use shared::{SharedSpec, StoreTrouble};
pub use time::Time;
pub use traffic::{PacingSpec, Traffic};

/// What is set, what happens and what must come out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name; a built-in one is named after its file.
    #[serde(default)]
    pub name: String,
    /// What happens, in a sentence.
    pub about: String,
    /// Policies that it is run under unless others are asked for.
    pub policies: Vec<String>,
    /// The policy without the countermeasure that it is about: what it checks of protected runs must fail under this one.
    pub without: Option<String>,
    /// Whether it takes minutes: `all` leaves it out, and it is played by its name alone.
    #[serde(default)]
    pub long: bool,
    /// Who asks.
    pub traffic: Traffic,
    /// For what.
    pub keys: Keys,
    /// Settings of the cache.
    pub cache: CacheSpec,
    /// Settings of the gate.
    #[serde(default)]
    pub gate: GateSpec,
    /// The database.
    pub origin: OriginSpec,
    /// A store that processes share, between the cache and the database.
    pub shared: Option<SharedSpec>,
    /// Requests for the same keys before caches of several sizes.
    pub sweep: Option<Sweep>,
    /// What the policy `refresher` does here, where it is not the usual.
    #[serde(default)]
    pub refresher: RefresherSpec,
    /// Who else uses the database, without any cache.
    pub bystander: Option<Bystander>,
    /// A warm-up at the start.
    pub warm_up: Option<WarmUpSpec>,
    /// What goes wrong, and when.
    #[serde(default)]
    pub trouble: Vec<Trouble>,
    /// What the application does beside reading.
    #[serde(default)]
    pub act: Vec<Act>,
    /// What must come out.
    #[serde(default)]
    pub check: Vec<CheckSpec>,
}

impl Scenario {
    /// Reads one from TOML.
    ///
    /// # Errors
    /// [`ScenarioError`] with the line for what is no TOML or not known, and the field for what cannot be.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let mut scenario: Self = toml::from_str(text).map_err(|error| ScenarioError::syntax(name, &error))?;
        if scenario.name.is_empty() {
            name.clone_into(&mut scenario.name);
        }
        scenario.validate().map_err(|(field, why)| ScenarioError::field(&scenario.name, &field, &why))?;
        Ok(scenario)
    }

    /// The part of all requests that asks for the watched key: the first hot one, or key 0.
    pub fn watched_share(&self) -> f64 {
        // One that is hot later has its part from then on.
        let later = self.keys.hot.first().filter(|hot| hot.from > Time::default());
        let watched = self.keys.hot.first().map_or(0, |hot| hot.key);
        let place = usize::try_from(watched).unwrap_or(usize::MAX);
        later.map(|hot| hot.share).or_else(|| self.keys.probabilities().get(place).copied()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
