//! The Grafana dashboards that the repository ships, as code.
//!
//! Two dashboards of some eighty panels are thousands of lines of JSON in which nobody sees a wrong query. Here a
//! panel is what a reader asks about it: title, meaning, unit, queries. [`Board::json`] gives the file in
//! `dashboards/`, and a test compares the two to the byte. What is *in* the files (rows, words, queries) is in
//! [`overview`] and [`cache`]; how Grafana writes it down is in `render`. Rules and runbooks are plain files: this
//! crate only checks them.

pub mod board;
pub mod cache;
mod database;
pub mod overview;
pub mod promql;
mod questions;
mod render;
pub mod traces;

pub use board::{Board, Chosen, Look, Panel, Query, Row, Unit, Variable};

/// Every dashboard that is shipped.
///
/// ```
/// let names: Vec<_> = dashboards::boards().iter().map(|board| board.file).collect();
/// assert_eq!(names, ["overview.json", "cache.json"]);
/// ```
pub fn boards() -> Vec<Board> {
    vec![overview::board(), cache::board()]
}
