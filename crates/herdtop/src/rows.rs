//! Rows of the panels: what is listed, in which order, by which identity.
//!
//! Both the selection and the drawing read them, so that they agree on what is
//! where. A row's identity outlives its place: a selected row stays selected
//! while others move.

pub mod events;
pub mod fleet;
pub mod flights;
pub mod keys;
pub mod outcomes;
pub mod permits;

use std::cmp::Ordering;

use crate::model::{Cursor, Direction, Model, Panel};
use crate::msg::TargetId;

/// Rows keep their order this long, so that they can be read; flights, which come and go, less.
fn hold_us(panel: Panel) -> u64 {
    match panel {
        Panel::Flights => 500_000,
        Panel::Outcomes | Panel::Fleet | Panel::Keys | Panel::Permits | Panel::Events => 2_000_000,
    }
}

/// Which row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RowId {
    /// A flight.
    Flight {
        /// In which process.
        target: TargetId,
        /// In which cache.
        cache: String,
        /// Its number.
        flight: u64,
    },
    /// A hot key.
    Key {
        /// In which cache.
        cache: String,
        /// The key as it came.
        key: String,
    },
    /// A process.
    Target(TargetId),
    /// A gate.
    Gate {
        /// In which process.
        target: TargetId,
        /// Its name.
        gate: String,
    },
    /// An entry of the log.
    Event(u64),
    /// A row of the outcome panel.
    Outcome(outcomes::Row),
}

/// What rows can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    /// The usual column of the panel.
    #[default]
    Usual,
    /// Age or duration.
    Age,
    /// Name or key.
    Name,
    /// Loads.
    Loads,
    /// Stale answers.
    Stale,
    /// Requests per second.
    Rate,
}

impl SortKey {
    /// What a panel can be sorted by, the usual first, with what the screen calls it.
    pub fn of(panel: Panel) -> &'static [(Self, &'static str)] {
        match panel {
            Panel::Flights => &[(Self::Usual, "waiters"), (Self::Age, "age"), (Self::Name, "key")],
            Panel::Keys => &[
                (Self::Usual, "req/s"),
                (Self::Loads, "loads"),
                (Self::Stale, "stale"),
                (Self::Age, "load time"),
                (Self::Name, "key"),
            ],
            Panel::Fleet => &[(Self::Usual, "name"), (Self::Rate, "req/s")],
            Panel::Outcomes | Panel::Permits | Panel::Events => &[(Self::Usual, "")],
        }
    }

    /// What the screen calls this key in `panel`.
    pub fn label(self, panel: Panel) -> &'static str {
        Self::of(panel).iter().find(|(key, _)| *key == self).map_or("", |(_, label)| label)
    }

    /// The key after this one.
    #[must_use]
    pub fn next(self, panel: Panel) -> Self {
        let keys = Self::of(panel);
        let place = keys.iter().position(|(key, _)| *key == self).unwrap_or(0);
        keys.get((place + 1) % keys.len()).map_or(self, |(key, _)| *key)
    }
}

/// The identities of a panel's rows in the order they are drawn.
pub fn ids(model: &Model, panel: Panel) -> Vec<RowId> {
    match panel {
        Panel::Outcomes => outcomes::Row::ALL.map(RowId::Outcome).to_vec(),
        Panel::Fleet => fleet::rows(model).into_iter().map(|row| RowId::Target(row.id)).collect(),
        Panel::Flights => flights::rows(model).into_iter().map(|row| row.id()).collect(),
        Panel::Keys => keys::rows(model).into_iter().map(|row| row.id()).collect(),
        Panel::Permits => permits::rows(model).into_iter().map(|row| row.id()).collect(),
        Panel::Events => events::rows(model).into_iter().map(|entry| RowId::Event(entry.number)).collect(),
    }
}

/// Sorts rows as the cursor says, but lets rows of the held order keep their places.
fn arrange<R>(rows: &mut [R], cursor: &Cursor, id: impl Fn(&R) -> RowId, compare: impl Fn(&R, &R) -> Ordering) {
    rows.sort_by(|a, b| match cursor.direction {
        Direction::Usual => compare(a, b),
        Direction::Reversed => compare(b, a),
    });
    if cursor.held.is_empty() {
        return;
    }
    let place = |row: &R| {
        let id = id(row);
        cursor.held.iter().position(|held| *held == id).unwrap_or(usize::MAX)
    };
    rows.sort_by_cached_key(place);
}

/// Renews the held order of every panel whose time is up.
pub fn hold(model: &mut Model) {
    let now = model.shown_now();
    for panel in [Panel::Flights, Panel::Keys, Panel::Fleet] {
        let cursor = model.cursor(panel);
        if !cursor.held.is_empty() && now.since_us(cursor.held_at_us) < hold_us(panel) {
            continue;
        }
        model.cursors.entry(panel).or_default().held.clear();
        let held = ids(model, panel);
        let cursor = model.cursors.entry(panel).or_default();
        cursor.held = held;
        cursor.held_at_us = now.mono_us;
    }
}
