//! [`Memory`]: what was found a moment ago, so that the verdict stands still while somebody reads it.
//!
//! Findings come from snapshots, and what they tell of can be shorter than the distance of two. A start is
//! therefore kept over a blink, what blinks stays for a moment after it was seen last, and the first line
//! changes only when it has been read, when something more severe comes, or when the origin turns out to be the cause.

use herdfeed::Severity;

use super::{Finding, Kind, order};
use crate::clock::Now;
use crate::figures::seconds;
use crate::model::World;

/// A finding that comes back within this time never went: its start stays.
const BLINK_US: u64 = 5_000_000;
/// A finding that blinks is told this long after it was seen last.
const LINGER_US: u64 = 2_500_000;
/// After so long it is said to be over.
const STALE_US: u64 = 1_000_000;
/// The first line stays for this long.
const HELD_US: u64 = 2_000_000;
/// The most findings remembered.
const MOST: usize = 256;

/// What was found of late.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    known: Vec<Known>,
    first: Option<First>,
}

/// A finding as it was seen last.
#[derive(Clone, Debug)]
struct Known {
    finding: Finding,
    seen_us: u64,
}

/// The finding in the first line.
#[derive(Clone, Debug)]
struct First {
    finding: Finding,
    since_us: u64,
}

impl Memory {
    /// What is to be told of what was found now, in its order.
    pub fn settle(&mut self, found: Vec<Finding>, world: &World, now: Now) -> Vec<Finding> {
        self.known.retain(|known| now.since_us(known.seen_us) < BLINK_US);
        let mut found: Vec<Finding> = found.into_iter().map(|finding| self.with_start(finding)).collect();
        let lingering = self.lingering(&found, world, now);
        self.remember(&found, now);
        found.extend(lingering);
        order(&mut found);
        self.hold(&mut found, now);
        found
    }

    /// With the start that it had before a blink.
    fn with_start(&self, mut finding: Finding) -> Finding {
        let known = self.known.iter().find(|known| known.finding.is_same(&finding));
        let before = known.and_then(|known| known.finding.since_unix_us);
        // A herd is one flight: the next of the same key is another, with a start of its own.
        let is_one_flight = matches!(finding.kind, Kind::Herd | Kind::HerdPassed);
        if let (Some(start), Some(before), false) = (finding.since_unix_us, before, is_one_flight) {
            finding.since_unix_us = Some(start.min(before));
        }
        finding
    }

    fn lingering(&self, found: &[Finding], world: &World, now: Now) -> Vec<Finding> {
        let is_up = |name: &String| world.targets.iter().any(|target| target.name == *name && target.is_up());
        let stays = |known: &&Known| {
            let finding = &known.finding;
            blinks(finding.kind)
                && finding.severity >= Severity::Warn
                && now.since_us(known.seen_us) < LINGER_US
                && finding.targets.iter().any(is_up)
                && !found.iter().any(|other| other.is_same(finding))
        };
        self.known.iter().filter(stays).map(|known| lingers(known, now)).collect()
    }

    fn remember(&mut self, found: &[Finding], now: Now) {
        for finding in found {
            self.known.retain(|known| !known.finding.is_same(finding));
            self.known.push(Known { finding: finding.clone(), seen_us: now.mono_us });
        }
        let surplus = self.known.len().saturating_sub(MOST);
        self.known.drain(..surplus);
    }

    /// Keeps the first line where it is, unless it was there long enough or something more severe has come.
    fn hold(&mut self, found: &mut Vec<Finding>, now: Now) {
        let Some(worst) = found.first() else {
            self.first = None;
            return;
        };
        let held = self.first.as_ref().filter(|first| now.since_us(first.since_us) < HELD_US);
        let place = held.and_then(|first| found.iter().position(|finding| finding.is_same(&first.finding)));
        // What comes of a sick origin is often seen before it, and must not stand before it.
        let is_effect = |held: &Finding| worst.kind.is_of_origin() && !held.kind.is_of_origin();
        let keeps = |place: &usize| found[*place].severity >= worst.severity && !is_effect(&found[*place]);
        if let Some(place) = place.filter(keeps) {
            let first = found.remove(place);
            found.insert(0, first);
            return;
        }
        if !self.first.as_ref().is_some_and(|first| first.finding.is_same(worst)) {
            self.first = Some(First { finding: worst.clone(), since_us: now.mono_us });
        }
    }
}

/// As it was, with the word that it is over once that is certain.
fn lingers(known: &Known, now: Now) -> Finding {
    let ago_us = now.since_us(known.seen_us);
    let mut finding = known.finding.clone();
    if ago_us >= STALE_US {
        finding.what = format!("{} until {} ago", finding.what, seconds(ago_us));
        finding.since_unix_us = None;
    }
    finding
}

/// What a snapshot can miss although it goes on: it is read from the flights and gates of one moment.
fn blinks(kind: Kind) -> bool {
    matches!(kind, Kind::Stampede | Kind::Saturated)
}
