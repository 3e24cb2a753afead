//! What a dashboard is made of, in words of its reader.
//!
//! Ids are given by hand: links and snapshots of users name a panel by its id, so moving a panel must not renumber
//! its neighbours. Widths are columns of Grafana's 24; places are worked out when the file is written.

use herdfeed::{ClosedSet, Outcome};

/// A dashboard.
#[derive(Debug)]
pub struct Board {
    /// Name of its file in `dashboards/`.
    pub file: &'static str,
    /// What Grafana knows it by, for ever.
    pub uid: &'static str,
    /// Shown at the top.
    pub title: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What its user may choose, the data source apart.
    pub variables: Vec<Variable>,
    /// From top to bottom.
    pub rows: Vec<Row>,
    /// Link to another dashboard: its title and uid.
    pub other: (&'static str, &'static str),
    /// What `CACHE` and `GATE` in its queries stand for.
    pub chosen: Chosen,
}

/// Matchers for metrics that belong to no cache and no gate.
pub const PROCESS: &str = r#"job=~"$job",instance=~"$instance""#;

/// Matchers of what the user has chosen.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// For metrics of caches.
    pub cache: &'static str,
    /// For metrics of gates.
    pub gate: &'static str,
}

/// Something to choose at the top of a dashboard.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name in queries.
    pub name: &'static str,
    /// Shown before the choice.
    pub label: &'static str,
    /// The query for its values, `label_values(…)`.
    pub values: &'static str,
}

/// A row of panels under a heading.
#[derive(Debug)]
pub struct Row {
    /// Unique within the dashboard.
    pub id: u16,
    /// The heading.
    pub title: &'static str,
    /// Whether it is folded until somebody opens it.
    pub folded: bool,
    /// From left to right, wrapped at 24 columns.
    pub panels: &'static [Panel],
}

/// One panel.
#[derive(Debug)]
pub struct Panel {
    /// Unique within the dashboard.
    pub id: u16,
    /// The heading.
    pub title: &'static str,
    /// What it means and what to look for.
    pub about: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// How it is drawn.
    pub look: Look,
    /// Columns of 24.
    pub width: u8,
    /// What is asked.
    pub queries: &'static [Query],
}

/// One query of a panel.
#[derive(Debug)]
pub struct Query {
    /// `PromQL`; [`Board::expr`] says which words in capitals stand for matchers.
    pub expr: &'static str,
    /// Legend of its series.
    pub legend: &'static str,
    /// Unit, where it differs from the panel's; such series are drawn against the right axis.
    pub unit: Option<Unit>,
}

/// A unit of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Requests per second.
    RequestsPerSecond,
    /// Operations, calls, flights or entries per second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// A part of a whole, 0 to 1.
    Part,
    /// A multiple.
    Times,
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
}

/// How a panel is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    /// Lines over time, from 0 on.
    Lines,
    /// Lines over time just below 1, where the small difference is what matters.
    NearOne,
    /// Areas over time, one on the other: parts of a whole.
    Stacked,
    /// One figure, orange from the first bound on and red from the second.
    Rising {
        /// From here on orange.
        warn: f64,
        /// From here on red.
        bad: f64,
    },
    /// One figure, red below the first bound and orange below the second.
    Falling {
        /// Below it is red.
        bad: f64,
        /// Below it is orange.
        warn: f64,
    },
    /// One figure that is neither good nor bad.
    Figure,
    /// The latest values as a table.
    Table,
}

impl Panel {
    /// A panel that is drawn like this.
    pub const fn new(
        id: u16,
        look: Look,
        unit: Unit,
        width: u8,
        title: &'static str,
        about: &'static str,
        queries: &'static [Query],
    ) -> Self {
        Self { id, title, about, unit, look, width, queries }
    }

    /// Lines over time.
    pub const fn lines(
        id: u16,
        unit: Unit,
        width: u8,
        title: &'static str,
        about: &'static str,
        queries: &'static [Query],
    ) -> Self {
        Self::new(id, Look::Lines, unit, width, title, about, queries)
    }

    /// Parts of a whole over time.
    pub const fn stacked(
        id: u16,
        unit: Unit,
        width: u8,
        title: &'static str,
        about: &'static str,
        queries: &'static [Query],
    ) -> Self {
        Self::new(id, Look::Stacked, unit, width, title, about, queries)
    }
}

/// A query with its legend.
pub const fn ask(legend: &'static str, expr: &'static str) -> Query {
    Query { expr, legend, unit: None }
}

/// A query in a unit of its own, against the right axis.
pub const fn ask_right(unit: Unit, legend: &'static str, expr: &'static str) -> Query {
    Query { expr, legend, unit: Some(unit) }
}

impl Row {
    /// An open row.
    pub const fn new(id: u16, title: &'static str, panels: &'static [Panel]) -> Self {
        Self { id, title, folded: false, panels }
    }
}

impl Board {
    /// Every panel that asks something.
    pub fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.rows.iter().flat_map(|row| row.panels)
    }

    /// A query as Grafana gets it.
    ///
    /// `CACHE`, `GATE` and `PROCESS` stand for what the user has chosen. `SUCCESS`, `FAILURE` and `COUNTED` stand for matchers of
    /// outcomes; which outcome is which is [`Outcome::is_success`]'s to say.
    pub fn expr(&self, query: &Query) -> String {
        let counted = |wanted: &[bool]| outcomes(|o| success(o).is_some_and(|good| wanted.contains(&good)));
        query
            .expr
            .replace("CACHE", self.chosen.cache)
            .replace("GATE", self.chosen.gate)
            .replace("PROCESS", PROCESS)
            .replace("SUCCESS", &counted(&[true]))
            .replace("FAILURE", &counted(&[false]))
            .replace("COUNTED", &counted(&[true, false]))
    }

    /// The file as it is shipped.
    pub fn json(&self) -> String {
        crate::render::render(self)
    }
}

/// Whether a request with this outcome was answered as it asked; `None` if it is counted neither way.
///
/// A look without a load promises nothing, so that finding nothing is no failure.
pub fn success(outcome: Outcome) -> Option<bool> {
    if outcome == Outcome::PeekMiss { None } else { outcome.is_success() }
}

/// The matcher of those outcomes that `wanted` wants.
pub fn outcomes(wanted: impl Fn(Outcome) -> bool) -> String {
    let labels: Vec<_> = Outcome::all().iter().filter(|outcome| wanted(**outcome)).map(|o| o.label()).collect();
    format!("herdcache_request_outcome=~\"{}\"", labels.join("|"))
}
