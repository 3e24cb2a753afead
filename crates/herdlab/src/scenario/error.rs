//! What is wrong with a scenario's text.

use std::fmt;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    scenario: String,
    what: String,
}

impl ScenarioError {
    pub(super) fn syntax(scenario: &str, error: &toml::de::Error) -> Self {
        Self { scenario: scenario.into(), what: error.to_string().trim_end().into() }
    }

    pub(crate) fn field(scenario: &str, field: &str, why: &str) -> Self {
        Self { scenario: scenario.into(), what: format!("{field} {why}") }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scenario {:?}: {}", self.scenario, self.what)
    }
}

impl std::error::Error for ScenarioError {}
