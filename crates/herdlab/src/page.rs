//! The page "Which countermeasure when": words of ours, figures and pictures of runs.
//!
//! The words are a template beside this file. It names what it tells: each figure in a sentence, each column of
//! a table and each line of a picture says its scenario and policy, and those are the runs that are played. So no
//! figure is written by hand, and none can outlive what it was measured on.

mod figures;
mod parse;
mod render;

use std::fmt;

use crate::policy::Policy;
use crate::run::Run;
use crate::scenario::{Scenario, builtin};
pub use figures::Unit;
use parse::Part;

/// The words, with the places of the figures.
const WORDS: &str = include_str!("page/countermeasures.md");

/// A page to be made.
#[derive(Debug)]
pub struct Template {
    parts: Vec<Part>,
}

/// A page that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// As Markdown; pictures are named relative to the folder that they lie in.
    pub text: String,
    /// File name and text of each picture.
    pub pictures: Vec<(String, String)>,
}

/// Why a page cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    line: usize,
    what: String,
}

impl PageError {
    fn at(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the page's words: {}", self.line, self.what)
    }
}

impl std::error::Error for PageError {}

/// A run that a page tells of.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What is played.
    pub scenario: Scenario,
    /// Under which policy.
    pub policy: Policy,
}

impl Template {
    /// The page of this lab.
    ///
    /// # Errors
    /// [`PageError`] if its words are wrong, which a test keeps from happening.
    pub fn countermeasures() -> Result<Self, PageError> {
        Self::parse(WORDS)
    }

    fn parse(words: &str) -> Result<Self, PageError> {
        parse::parts(words).map(|parts| Self { parts })
    }

    /// The runs that it tells of, each once, in the order in which it does.
    ///
    /// # Errors
    /// [`PageError`] for a scenario or a policy that there is not.
    pub fn wanted(&self) -> Result<Vec<Wanted>, PageError> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for (line, name, policy) in self.parts.iter().flat_map(Part::named) {
            let Some(Ok(scenario)) = builtin(name) else {
                return Err(PageError::at(line, format!("no scenario {name:?}")));
            };
            let policy: Policy = policy.parse().map_err(|error| PageError::at(line, format!("{error}")))?;
            if !wanted.iter().any(|one| one.scenario.name == name && one.policy == policy) {
                wanted.push(Wanted { scenario, policy });
            }
        }
        Ok(wanted)
    }

    /// The page, with pictures that lie in `folder` beside it.
    ///
    /// # Errors
    /// [`PageError`] for a figure that its run does not have, or a run that is missing.
    pub fn render(&self, runs: &[Run], folder: &str) -> Result<Page, PageError> {
        render::page(&self.parts, runs, folder)
    }
}

#[cfg(test)]
mod tests;
