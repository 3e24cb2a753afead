//! Rows of the flight panel: loads in progress and those that just landed.
//!
//! Loads of one key stand together: with single-flight there is one, without it
//! they stack up, and a stack is what a stampede looks like.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use herdfeed::words::ClosedSet;
use herdfeed::{CacheSnapshot, FlightEnd, LiveFlight, Stage};

use super::{RowId, SortKey};
use crate::clock::Now;
use crate::filter::Facets;
use crate::model::{Model, Panel, Target, World};
use crate::msg::TargetId;

/// A landed flight stays this long.
pub const LANDED_US: u64 = 4_000_000;

/// How many of its flights a process lists: there is a largest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// All.
    All,
    /// Those with most waiters or age.
    Part,
}

/// One flight.
#[derive(Clone, Debug)]
pub struct Row {
    /// In which process.
    pub target: TargetId,
    /// The name of that process.
    pub target_name: String,
    /// In which cache.
    pub cache: String,
    /// What the process said of it.
    pub flight: LiveFlight,
    /// How long ago it started, as of the moment on screen.
    pub started_ago_us: u64,
    /// How long ago it landed, if it has.
    pub landed_ago_us: Option<u64>,
    /// Loads of the same key in progress in the same process, as far as they are listed.
    pub parallel: u64,
    /// Whether the process lists all of its flights.
    pub listed: Listed,
    /// Waiters that make it a herd.
    pub herd_at: u64,
}

impl Row {
    /// Its identity.
    pub fn id(&self) -> RowId {
        RowId::Flight { target: self.target, cache: self.cache.clone(), flight: self.flight.id }
    }

    /// Its age, or its duration once landed.
    pub fn age_us(&self) -> u64 {
        match self.landed_ago_us {
            Some(_) => self.flight.age_us,
            None => self.started_ago_us,
        }
    }

    /// Whether enough requests wait for it.
    pub fn is_herd(&self) -> bool {
        self.flight.waiters >= self.herd_at
    }

    fn stack(&self) -> (TargetId, &str, &str) {
        (self.target, &self.cache, &self.flight.key)
    }
}

/// The flights that the filter shows, sorted.
pub fn rows(model: &Model) -> Vec<Row> {
    let now = model.shown_now();
    let mut rows: Vec<Row> = model
        .world()
        .targets
        .iter()
        .flat_map(|target| of_target(target, now))
        .filter(|row| shows(model, row))
        .collect();
    let stacks = stacks(&rows);
    let cursor = model.cursor(Panel::Flights);
    super::arrange(&mut rows, &cursor, Row::id, |a, b| {
        let figures = |row: &Row| stacks.get(&key_of(row)).copied().unwrap_or_default();
        let (fa, fb) = (figures(a), figures(b));
        let by_stack = match cursor.sort {
            SortKey::Usual | SortKey::Loads | SortKey::Stale | SortKey::Rate => fb.weight().cmp(&fa.weight()),
            SortKey::Age => fb.oldest_us.cmp(&fa.oldest_us),
            SortKey::Name => a.flight.key.cmp(&b.flight.key),
        };
        by_stack.then_with(|| a.stack().cmp(&b.stack())).then_with(|| order_within(a).cmp(&order_within(b)))
    });
    rows
}

/// Within a stack: flying before landed, the oldest first.
fn order_within(row: &Row) -> (bool, Reverse<u64>, u64) {
    (row.landed_ago_us.is_some(), Reverse(row.started_ago_us), row.flight.id)
}

/// How many flights are in progress in all processes, also those that no snapshot lists.
pub fn in_progress(model: &Model) -> u64 {
    let caches = model.world().targets.iter().flat_map(Target::caches);
    crate::figures::sum(caches.map(|cache| cache.flights_active))
}

/// Loads in progress that could still answer callers, in all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// How many.
    pub loads: u64,
    /// Of how many keys, as far as they are listed.
    pub keys: usize,
    /// Whether all of them are listed; if not, `loads` counts the flights in progress.
    pub listed: Listed,
}

/// Loads in progress now, and of how many keys: a stampede is many of few.
pub fn running(world: &World) -> Running {
    let mut keys: HashSet<(TargetId, &str, &str)> = HashSet::new();
    let mut running = Running { loads: 0, keys: 0, listed: Listed::All };
    for target in &world.targets {
        for cache in target.caches() {
            let loading = cache.live.iter().filter(|flight| loads(flight.stage));
            let mut listed = 0_u64;
            for flight in loading {
                listed = listed.saturating_add(1);
                keys.insert((target.id, &cache.name, &flight.key));
            }
            let all = match listed_of(cache) {
                Listed::All => listed,
                Listed::Part => cache.flights_active,
            };
            running.loads = running.loads.saturating_add(all);
            if listed_of(cache) == Listed::Part {
                running.listed = Listed::Part;
            }
        }
    }
    running.keys = keys.len();
    running
}

fn listed_of(cache: &CacheSnapshot) -> Listed {
    if cache.flights_active > cache.live.len() as u64 { Listed::Part } else { Listed::All }
}

#[derive(Clone, Copy, Default)]
struct Stack {
    waiters: u64,
    loads: u64,
    oldest_us: u64,
}

impl Stack {
    /// Many waiters or many parallel loads: both are a crowd.
    fn weight(self) -> (u64, u64) {
        let flying = u64::from(self.loads > 0);
        (flying, self.waiters.max(self.loads.saturating_sub(1)))
    }
}

type StackKey = (TargetId, String, String);

fn key_of(row: &Row) -> StackKey {
    (row.target, row.cache.clone(), row.flight.key.clone())
}

fn stacks(rows: &[Row]) -> HashMap<StackKey, Stack> {
    let mut stacks: HashMap<StackKey, Stack> = HashMap::new();
    for row in rows {
        let stack = stacks.entry(key_of(row)).or_default();
        stack.oldest_us = stack.oldest_us.max(row.age_us());
        if row.landed_ago_us.is_none() {
            stack.loads += 1;
            stack.waiters = stack.waiters.saturating_add(row.flight.waiters);
        } else {
            stack.waiters = stack.waiters.max(row.flight.waiters);
        }
    }
    stacks
}

fn of_target(target: &Target, now: Now) -> Vec<Row> {
    let Some(newest) = target.recent.newest().filter(|_| target.is_up()) else {
        return Vec::new();
    };
    let snapshot = &newest.snapshot;
    let heard_ago = now.since_us(newest.at_us);
    let mut rows = Vec::new();
    for cache in &snapshot.caches {
        let mut parallel: HashMap<&str, u64> = HashMap::new();
        for flight in cache.live.iter().filter(|flight| loads(flight.stage)) {
            *parallel.entry(&flight.key).or_default() += 1;
        }
        let limit = snapshot.gates.iter().find(|gate| gate.name == cache.gate).map_or(0, |gate| gate.limit);
        let listed = listed_of(cache);
        for flight in cache.live.iter().chain(&cache.landed) {
            let started_ago_us = snapshot.mono_us.saturating_sub(flight.started_mono_us).saturating_add(heard_ago);
            let landed_ago_us = flight.end.map(|_| started_ago_us.saturating_sub(flight.age_us));
            if landed_ago_us.is_some_and(|ago| ago > LANDED_US) {
                continue;
            }
            rows.push(Row {
                target: target.id,
                target_name: target.name.clone(),
                cache: cache.name.clone(),
                flight: flight.clone(),
                started_ago_us,
                landed_ago_us,
                parallel: parallel.get(flight.key.as_str()).copied().unwrap_or(0),
                listed,
                herd_at: herdfeed::thresholds::herd_waiters(limit),
            });
        }
    }
    rows
}

fn loads(stage: Stage) -> bool {
    match stage {
        Stage::Queued | Stage::Origin => true,
        Stage::Held | Stage::Doomed | Stage::Landed | Stage::Shared | Stage::Following | Stage::Unknown => false,
    }
}

fn shows(model: &Model, row: &Row) -> bool {
    let ends: Vec<&'static str> = row.flight.end.map(FlightEnd::label).into_iter().collect();
    let key = model.key_text(&row.flight.key);
    model.filter.shows(&Facets {
        key: &key,
        cache: &row.cache,
        target: &row.target_name,
        words: "",
        ends: &ends,
        cause: row.flight.cause,
        waiters: Some(row.flight.waiters),
        age_us: Some(row.age_us()),
    })
}
