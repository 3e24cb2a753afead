//! The words of a page taken apart.
//!
//! Text goes through as it is, but for `{{SCENARIO POLICY FIGURE UNIT}}` in it. A line that begins with `@` is one of:
//!
//! `@table POLICY, …`, followed by a line `@| SCENARIO FIGURE UNIT HEADING` for each column;
//! `@plot NAME SCENARIO FIGURE-OF-A-SECOND POLICY, … | CAPTION`;
//! `@nodes KEYS EXPONENT`, the arithmetic of a key that lies on one node.

use super::PageError;
use super::figures::Unit;

/// A part of the page, with the line on which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text { line: usize, pieces: Vec<Piece> },
    Table { line: usize, policies: Vec<String>, columns: Vec<Column> },
    Plot { line: usize, name: String, scenario: String, figure: String, policies: Vec<String>, caption: String },
    Nodes { keys: u64, exponent: f64 },
}

/// A piece of a line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Words(String),
    Figure { scenario: String, policy: String, figure: String, unit: Unit },
}

/// One column of a table: a figure of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) scenario: String,
    pub(super) figure: String,
    pub(super) unit: Unit,
    pub(super) heading: String,
}

impl Part {
    /// Line, scenario and policy of each run that it tells of.
    pub(super) fn named(&self) -> Vec<(usize, &str, &str)> {
        match self {
            Self::Nodes { .. } => Vec::new(),
            Self::Plot { line, scenario, policies, .. } => {
                policies.iter().map(|policy| (*line, scenario.as_str(), policy.as_str())).collect()
            }
            Self::Table { line, policies, columns } => {
                let of = |column: &'_ Column| column.scenario.clone();
                let mut named = Vec::new();
                for (at, column) in columns.iter().enumerate() {
                    // Columns of one scenario are of the same runs.
                    if columns[..at].iter().all(|before| of(before) != column.scenario) {
                        named.extend(policies.iter().map(|policy| (*line, column.scenario.as_str(), policy.as_str())));
                    }
                }
                named
            }
            Self::Text { line, pieces } => {
                let figures = pieces.iter().filter_map(|piece| match piece {
                    Piece::Words(_) => None,
                    Piece::Figure { scenario, policy, .. } => Some((*line, scenario.as_str(), policy.as_str())),
                });
                figures.collect()
            }
        }
    }
}

/// All parts of the words.
pub(super) fn parts(words: &str) -> Result<Vec<Part>, PageError> {
    let mut parts = Vec::new();
    for (line, text) in (1..).zip(words.lines()) {
        let Some((what, rest)) = text.strip_prefix('@').map(|text| text.split_once(' ').unwrap_or((text, ""))) else {
            parts.push(Part::Text { line, pieces: pieces(line, text)? });
            continue;
        };
        match (what, parts.last_mut()) {
            ("table", _) => parts.push(Part::Table { line, policies: names(rest), columns: Vec::new() }),
            ("|", Some(Part::Table { columns, .. })) => columns.push(column(line, rest)?),
            ("plot", _) => parts.push(plot(line, rest)?),
            ("nodes", _) => parts.push(nodes(line, rest)?),
            _ => return Err(PageError::at(line, format!("cannot read @{what} here"))),
        }
    }
    Ok(parts)
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

fn column(line: usize, text: &str) -> Result<Column, PageError> {
    let mut words = text.splitn(4, ' ');
    let mut word = || words.next().ok_or_else(|| PageError::at(line, "a column is SCENARIO FIGURE UNIT HEADING"));
    let (scenario, figure, unit, heading) = (word()?.into(), word()?.into(), word()?, word()?.into());
    Ok(Column { scenario, figure, unit: self::unit(line, unit)?, heading })
}

fn plot(line: usize, text: &str) -> Result<Part, PageError> {
    let form = || PageError::at(line, "a plot is NAME SCENARIO FIGURE POLICY, … | CAPTION");
    let (head, caption) = text.split_once('|').ok_or_else(form)?;
    let mut words = head.trim().splitn(4, ' ');
    let mut word = || words.next().ok_or_else(form);
    let (name, scenario, figure) = (word()?.to_owned(), word()?.to_owned(), word()?.to_owned());
    Ok(Part::Plot { line, name, scenario, figure, policies: names(word()?), caption: caption.trim().into() })
}

fn nodes(line: usize, text: &str) -> Result<Part, PageError> {
    let read = text.split_once(' ').and_then(|(keys, exponent)| Some((keys.parse().ok()?, exponent.parse().ok()?)));
    let (keys, exponent) = read.ok_or_else(|| PageError::at(line, "nodes needs KEYS EXPONENT"))?;
    Ok(Part::Nodes { keys, exponent })
}

fn pieces(line: usize, text: &str) -> Result<Vec<Piece>, PageError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, behind) = after.split_once("}}").ok_or_else(|| PageError::at(line, "{{ without }}"))?;
        pieces.push(Piece::Words(before.into()));
        let words: Vec<_> = inside.split_whitespace().collect();
        let [scenario, policy, figure, unit] = words[..] else {
            return Err(PageError::at(line, "a figure is {{SCENARIO POLICY FIGURE UNIT}}"));
        };
        let [scenario, policy, figure] = [scenario, policy, figure].map(String::from);
        pieces.push(Piece::Figure { scenario, policy, figure, unit: self::unit(line, unit)? });
        rest = behind;
    }
    pieces.push(Piece::Words(rest.into()));
    Ok(pieces)
}

fn unit(line: usize, word: &str) -> Result<Unit, PageError> {
    Unit::of(word).ok_or_else(|| PageError::at(line, format!("no unit {word:?}: say n, %, ms or s")))
}
