//! The parts of a page put together, with the figures of its runs.

use std::fmt::Write;

use serde_json::Value;

use super::figures::Unit;
use super::parse::{Column, Part, Piece};
use super::{Page, PageError};
use crate::arrivals::Zipf;
use crate::html::plot::{Line, picture};
use crate::policy::Policy;
use crate::run::Run;
use crate::theory;
use crate::verdict;

/// What a reader must know who opens the page to change it.
const HEAD: &str =
    "<!-- Made by `herdlab compare --page`. The words are in crates/herdlab/src/page/countermeasures.md. -->\n\n";

/// The runs as they were printed, to look figures up in.
struct Runs(Vec<(String, String, Value)>);

impl Runs {
    fn of(runs: &[Run]) -> Self {
        let read = |run: &Run| {
            let value = serde_json::to_value(run).unwrap_or_default();
            (run.setup.scenario.clone(), run.setup.policy.clone(), value)
        };
        Self(runs.iter().map(read).collect())
    }

    fn find(&self, line: usize, scenario: &str, policy: &str) -> Result<&Value, PageError> {
        let name = policy.parse::<Policy>().map_or_else(|_| policy.to_owned(), |policy| policy.to_string());
        let found = self.0.iter().find(|(one, under, _)| one == scenario && *under == name);
        let missing = || PageError::at(line, format!("{scenario} was not played under {policy}"));
        found.map(|(_, _, run)| run).ok_or_else(missing)
    }
}

pub(super) fn page(parts: &[Part], runs: &[Run], folder: &str) -> Result<Page, PageError> {
    let runs = Runs::of(runs);
    let mut page = Page { text: HEAD.into(), pictures: Vec::new() };
    for part in parts {
        match part {
            Part::Text { line, pieces } => page.text.push_str(&text(*line, pieces, &runs)?),
            Part::Table { line, policies, columns } => page.text.push_str(&table(*line, policies, columns, &runs)?),
            Part::Nodes { keys, exponent } => page.text.push_str(&nodes(*keys, *exponent)),
            Part::Plot { line, name, scenario, figure, policies, caption } => {
                let lines = policies.iter().map(|policy| curve(&runs, *line, scenario, policy, figure));
                let drawn = picture(caption, &lines.collect::<Result<Vec<_>, _>>()?);
                // Writing to a string cannot fail.
                let _ = write!(page.text, "![{caption}]({folder}/{name}.svg)");
                page.pictures.push((format!("{name}.svg"), drawn));
            }
        }
        page.text.push('\n');
    }
    Ok(page)
}

fn text(line: usize, pieces: &[Piece], runs: &Runs) -> Result<String, PageError> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Words(words) => text.push_str(words),
            Piece::Figure { scenario, policy, figure, unit } => {
                let run = runs.find(line, scenario, policy)?;
                let missing = || PageError::at(line, format!("{scenario} under {policy} has no {figure}"));
                text.push_str(&unit.write(verdict::figure(run, figure).ok_or_else(missing)?));
            }
        }
    }
    Ok(text)
}

fn table(line: usize, policies: &[String], columns: &[Column], runs: &Runs) -> Result<String, PageError> {
    let mut text = String::from("| policy |");
    for column in columns {
        // Writing to a string cannot fail.
        let _ = write!(text, " {} |", column.heading);
    }
    text.push_str("\n|---|");
    text.push_str(&"---:|".repeat(columns.len()));
    for policy in policies {
        let _ = write!(text, "\n| `{policy}` |");
        for Column { scenario, figure, unit, .. } in columns {
            let run = runs.find(line, scenario, policy)?;
            let written = verdict::figure(run, figure).map_or_else(|| "–".into(), |figure| unit.write(figure));
            let _ = write!(text, " {written} |");
        }
    }
    Ok(text)
}

/// One figure of every second of a run.
fn curve(runs: &Runs, line: usize, scenario: &str, policy: &str, figure: &str) -> Result<Line, PageError> {
    let run = runs.find(line, scenario, policy)?;
    let seconds = run.pointer("/scene/seconds").and_then(Value::as_array);
    let points = seconds.into_iter().flatten().map(|second| second.get(figure).and_then(Value::as_f64));
    let missing = || PageError::at(line, format!("a second has no {figure}"));
    Ok(Line { name: policy.into(), points: points.collect::<Option<Vec<_>>>().ok_or_else(missing)? })
}

/// What the busiest node of a few gets, by arithmetic.
fn nodes(keys: u64, exponent: f64) -> String {
    let share = Zipf::new(keys, exponent).probability(0);
    let mut text = String::from(
        "| nodes | an even part | what the busiest gets | the herd at the database |\n|---:|---:|---:|---:|",
    );
    for nodes in [1.0, 3.0, 6.0, 12.0, 24.0] {
        let (even, busiest) =
            (Unit::Percent.write(1.0 / nodes), Unit::Percent.write(theory::busiest_node(share, nodes)));
        // Writing to a string cannot fail.
        let _ = write!(text, "\n| {nodes} | {even} | {busiest} | 1 + λL |");
    }
    text
}
