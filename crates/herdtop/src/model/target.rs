//! [`Target`]: one process and what was learned from it.
//!
//! Counters are cumulative per boot. A restart re-bases: differences are taken
//! only between snapshots of one boot, so that no rate or total jumps or falls.

use std::sync::Arc;

use herdfeed::{
    CacheConfig, CacheSnapshot, Event, GateConfig, GateSnapshot, Hello, Outcome, Past, RejectReason, Snapshot, Tally,
};

use super::deploy::{self, Settings};
use super::pulse::Pulses;
use super::recent::Recent;
use super::timeline::Timeline;
use super::window::{self, CacheWindow, GateWindow};
use crate::clock::Now;
use crate::msg::{Farewell, TargetId};

/// An open stream from which nothing comes for this long is silent: snapshots come four times a second.
const SILENT_US: u64 = 2_000_000;
/// A delta over a longer span says nothing about its single seconds.
const SPREAD_US: u64 = 3_000_000;

/// How a target stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The first try is on its way.
    Connecting,
    /// Lines arrive.
    Up,
    /// The stream is open and nothing arrives: what was said last is no longer now.
    Silent {
        /// When it was last heard, on our monotonic clock.
        since_us: u64,
    },
    /// Down, and tried again later.
    Waiting {
        /// Why, in one line.
        why: String,
        /// When it is tried again, on our monotonic clock.
        retry_at_us: u64,
        /// Since when it is down, wall time.
        since_unix_us: u64,
    },
    /// Gone for good.
    Gone {
        /// Since when, on our monotonic clock.
        at_us: u64,
        /// How it left.
        farewell: Farewell,
    },
}

/// What a moment without a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// Nothing new.
    AsBefore,
    /// The stream has just fallen silent.
    FellSilent,
}

/// A start of the process that was noticed while watching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// When, on our clocks.
    pub at: Now,
    /// `1.2 -> 1.3` when the application's version changed with it, else empty.
    pub versions: String,
}

/// Totals since this screen attached, over restarts.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Requests by outcome.
    pub outcomes: Tally<Outcome>,
    /// Refusals by reason.
    pub rejections: Tally<RejectReason>,
    /// Origin calls.
    pub origin_calls: u64,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Target {
    /// Which.
    pub id: TargetId,
    /// Its address as the operator would write it.
    pub address: String,
    /// Its name on screen.
    pub name: String,
    /// How it stands.
    pub link: Link,
    /// What it said of itself.
    pub hello: Option<Arc<Hello>>,
    /// Its effective settings by name.
    pub settings: Settings,
    /// Its last snapshots.
    pub recent: Recent,
    /// When its counters last moved.
    pub pulses: Pulses,
    /// When its process started, on our monotonic clock, as far as that reaches back.
    pub started_us: Option<u64>,
    /// Its last minutes.
    pub timeline: Timeline,
    /// Totals since this screen attached.
    pub totals: Totals,
    /// Restarts seen.
    pub restarts: u32,
    /// The last restart seen.
    pub restarted: Option<Restart>,
    /// Events that did not arrive.
    pub missed_events: u64,
    /// Lines that could not be read.
    pub bad_lines: u64,
    /// Unreadable lines since it last said anything that could be read.
    pub unreadable: u64,
    /// When it last said anything, on our monotonic clock.
    heard_us: u64,
    next_event: u64,
    /// The seconds heard before this stream began: the pre-roll must not count them twice.
    heard_before: Option<Timeline>,
}

impl Target {
    /// A target of which nothing is known yet.
    pub fn new(id: TargetId, address: String, name: String) -> Self {
        Self {
            id,
            address,
            name,
            link: Link::Connecting,
            hello: None,
            settings: Settings::new(),
            recent: Recent::default(),
            pulses: Pulses::default(),
            started_us: None,
            timeline: Timeline::default(),
            totals: Totals::default(),
            restarts: 0,
            restarted: None,
            missed_events: 0,
            bad_lines: 0,
            unreadable: 0,
            heard_us: 0,
            next_event: 0,
            heard_before: None,
        }
    }

    /// A stream begins. Gives the restart, if the process is another one than before.
    pub fn take_hello(&mut self, hello: Hello, now: Now) -> Option<Restart> {
        let before = self.hello.take();
        let restart = before
            .as_ref()
            .filter(|old| old.process.boot != hello.process.boot)
            .map(|old| Restart { at: now, versions: versions(old, &hello) });
        if restart.is_some() {
            self.restarts += 1;
            self.restarted.clone_from(&restart);
            self.next_event = 0;
        }
        if restart.is_some() || before.is_none() {
            self.recent.clear();
            self.pulses = Pulses::default();
        }
        let ran_us = hello.clock.unix_us.saturating_sub(hello.process.started_unix_us);
        self.started_us = Some(now.mono_us.saturating_sub(ran_us));
        self.heard_us = now.mono_us;
        self.name = name_of(&hello).unwrap_or_else(|| self.name.clone());
        self.settings = deploy::settings(&hello);
        self.heard_before = Some(self.timeline.clone());
        self.hello = Some(Arc::new(hello));
        self.link = Link::Up;
        restart
    }

    /// The pre-roll: seconds from before this stream.
    pub fn take_past(&mut self, past: &Past, now: Now) {
        let (Some(hello), Some(heard)) = (self.hello.clone(), &self.heard_before) else {
            return;
        };
        for second in &past.seconds {
            let age = hello.clock.mono_us.saturating_sub(second.mono_us);
            let end = now.mono_us.saturating_sub(age);
            // A second is told by its end; it is kept under the number in which most of it lies.
            let number = end.saturating_sub(500_000) / 1_000_000;
            if heard.second(number).is_none() {
                let start = number * 1_000_000;
                self.timeline.add(start, start + 1_000_000, &second.outcomes, second.origin_calls);
            }
        }
    }

    /// State now.
    pub fn take_snapshot(&mut self, snapshot: Snapshot, now: Now) {
        self.link = Link::Up;
        self.heard_us = now.mono_us;
        self.unreadable = 0;
        self.heard_before = None;
        self.pulses.take(&snapshot, now.mono_us);
        if let Some(newest) = self.recent.newest().cloned() {
            let added = added(&newest.snapshot, &snapshot);
            if now.since_us(newest.at_us) <= SPREAD_US {
                self.timeline.add(newest.at_us, now.mono_us, &added.outcomes, added.origin_calls);
            }
            self.totals.outcomes.add(&added.outcomes);
            self.totals.rejections.add(&added.rejections);
            self.totals.origin_calls = self.totals.origin_calls.saturating_add(added.origin_calls);
        }
        self.recent.add(now.mono_us, Arc::new(snapshot));
    }

    /// Lines came that cannot be read: `total` in this stream.
    pub fn take_bad_lines(&mut self, total: u64) {
        // Another stream counts from zero again.
        let new = if total >= self.bad_lines { total.saturating_sub(self.bad_lines) } else { total };
        self.unreadable = self.unreadable.saturating_add(new);
        self.bad_lines = total;
    }

    /// Time has passed: an open stream from which nothing comes falls silent. Gives whether it did so now.
    pub fn listen(&mut self, now: Now) -> Hearing {
        if self.link != Link::Up || now.since_us(self.heard_us) < SILENT_US {
            return Hearing::AsBefore;
        }
        self.link = Link::Silent { since_us: self.heard_us };
        Hearing::FellSilent
    }

    /// This screen itself stood still for `gap_us`: nobody was silent meanwhile.
    pub fn forgive(&mut self, gap_us: u64) {
        self.heard_us = self.heard_us.saturating_add(gap_us);
    }

    /// The events that were not taken in before.
    pub fn new_events(&mut self, events: Vec<Event>) -> Vec<Event> {
        let from = self.next_event;
        let new: Vec<Event> = events.into_iter().filter(|event| event.seq >= from).collect();
        if let Some(last) = new.last() {
            self.next_event = last.seq.saturating_add(1);
        }
        new
    }

    /// Whether lines arrive.
    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    /// When the newest snapshot came, on our monotonic clock.
    pub fn told_us(&self) -> Option<u64> {
        self.recent.newest().map(|newest| newest.at_us)
    }

    /// How old the newest snapshot is.
    pub fn lag_us(&self, now: Now) -> Option<u64> {
        self.recent.newest().map(|newest| now.since_us(newest.at_us))
    }

    /// The newest snapshot, as long as the target is up.
    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.recent.newest().map(|newest| &newest.snapshot).filter(|_| self.is_up())
    }

    /// Every cache of the newest snapshot.
    pub fn caches(&self) -> &[CacheSnapshot] {
        self.snapshot().map_or(&[], |snapshot| &snapshot.caches)
    }

    /// Every gate of the newest snapshot.
    pub fn gates(&self) -> &[GateSnapshot] {
        self.snapshot().map_or(&[], |snapshot| &snapshot.gates)
    }

    /// What a cache did within about the last `span_us`.
    pub fn cache_window(&self, cache: &str, span_us: u64) -> Option<CacheWindow> {
        let knows = |snapshot: &Snapshot| snapshot.caches.iter().any(|known| known.name == cache);
        window::cache(&self.recent.before(span_us, knows)?.snapshot, self.snapshot()?, cache)
    }

    /// What a gate did within about the last `span_us`.
    pub fn gate_window(&self, gate: &str, span_us: u64) -> Option<GateWindow> {
        let knows = |snapshot: &Snapshot| snapshot.gates.iter().any(|known| known.name == gate);
        window::gate(&self.recent.before(span_us, knows)?.snapshot, self.snapshot()?, gate)
    }

    /// What all caches together did within about the last `span_us`.
    pub fn window(&self, span_us: u64) -> Option<CacheWindow> {
        let mut windows = self.caches().iter().filter_map(|cache| self.cache_window(&cache.name, span_us));
        let first = windows.next()?;
        Some(windows.fold(first, |mut sum, window| {
            sum.add(&window);
            sum
        }))
    }

    /// Effective settings of a cache.
    pub fn cache_config(&self, cache: &str) -> Option<&CacheConfig> {
        self.hello.as_ref()?.caches.iter().find(|config| config.name == cache)
    }

    /// Effective settings of a gate.
    pub fn gate_config(&self, gate: &str) -> Option<&GateConfig> {
        self.hello.as_ref()?.gates.iter().find(|config| config.name == gate)
    }

    /// The name of the service, as far as it is known.
    pub fn service(&self) -> Option<&str> {
        self.hello.as_ref().map(|hello| hello.process.service.as_str())
    }
}

/// What all caches together counted between two snapshots of one boot.
fn added(then: &Snapshot, now: &Snapshot) -> Totals {
    let mut added = Totals::default();
    for cache in &now.caches {
        let Some(window) = window::cache(then, now, &cache.name) else {
            continue;
        };
        added.outcomes.add(&window.outcomes);
        added.rejections.add(&window.rejections);
        added.origin_calls = added.origin_calls.saturating_add(window.origin_calls);
    }
    added
}

fn name_of(hello: &Hello) -> Option<String> {
    let process = &hello.process;
    (!process.service.is_empty()).then(|| format!("{}-{}", process.service, process.pid))
}

/// `1.2 -> 1.3` when the application's version changed.
pub(super) fn versions(old: &Hello, new: &Hello) -> String {
    match (&old.process.app_version, &new.process.app_version) {
        (Some(old), Some(new)) if old != new => format!("{old} -> {new}"),
        (Some(_) | None, Some(_) | None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdfeed::{Clock, Process};

    fn hello(boot: &str) -> Hello {
        Hello {
            v: [1, 0],
            min: 1,
            lib: String::new(),
            process: Process { service: "api".into(), pid: 7, boot: boot.into(), ..Process::default() },
            clock: Clock { mono_us: 50_000_000, unix_us: 0 },
            caps: vec![],
            caches: vec![],
            gates: vec![],
        }
    }

    fn snapshot(mono_us: u64, hits: u64) -> Snapshot {
        let mut cache = CacheSnapshot { name: "c".into(), ..CacheSnapshot::default() };
        cache.outcomes[Outcome::Hit] = hits;
        Snapshot { mono_us, caches: vec![cache], ..Snapshot::default() }
    }

    fn at(seconds: u64) -> Now {
        Now::default().plus_us(seconds * 1_000_000)
    }

    fn target() -> Target {
        Target::new(TargetId(0), "a".into(), "a".into())
    }

    #[test]
    fn a_restart_re_bases_and_no_total_jumps_or_falls() {
        let mut target = target();
        assert_eq!(target.take_hello(hello("x"), at(100)), None);
        target.take_snapshot(snapshot(1_000_000, 5_000), at(100));
        assert_eq!(target.totals.outcomes.total(), 0);
        target.take_snapshot(snapshot(2_000_000, 5_100), at(101));
        assert_eq!(target.totals.outcomes.total(), 100);
        assert!(target.take_hello(hello("y"), at(103)).is_some());
        // The new boot counts more than the old one did: only the boot tells them apart.
        target.take_snapshot(snapshot(9_000_000, 9_000), at(103));
        assert_eq!(target.totals.outcomes.total(), 100);
        assert!(target.window(2_000_000).is_none());
        target.take_snapshot(snapshot(10_000_000, 9_030), at(104));
        assert_eq!(target.totals.outcomes.total(), 130);
        assert_eq!(target.restarts, 1);
    }

    #[test]
    fn a_reconnect_to_the_same_boot_is_no_restart_and_events_come_once() {
        let mut target = target();
        target.take_hello(hello("x"), at(1));
        let events = |range: std::ops::Range<u64>| range.map(event).collect::<Vec<_>>();
        assert_eq!(target.new_events(events(0..5)).len(), 5);
        assert_eq!(target.take_hello(hello("x"), at(2)), None);
        assert_eq!(target.new_events(events(0..7)).len(), 2);
    }

    fn event(seq: u64) -> Event {
        Event {
            seq,
            mono_us: 0,
            unix_us: 0,
            severity: herdfeed::Severity::Info,
            subject: "c".into(),
            fact: herdfeed::Fact::Unknown,
        }
    }

    #[test]
    fn the_past_fills_only_what_was_not_heard() {
        let mut target = target();
        let mut outcomes = Tally::new();
        outcomes[Outcome::Hit] = 8;
        let second = |mono_us| herdfeed::Second { mono_us, outcomes: outcomes.clone(), ..herdfeed::Second::default() };
        let past = |cache: &str| Past { cache: cache.into(), seconds: vec![second(49_000_000), second(50_000_000)] };
        target.take_hello(hello("x"), at(200));
        target.take_past(&past("a"), at(200));
        target.take_past(&past("b"), at(200));
        let hits = |target: &Target, number| target.timeline.second(number).map(|s| s.outcome(Outcome::Hit));
        assert_eq!([hits(&target, 198), hits(&target, 199)], [Some(16.0), Some(16.0)]);
        target.take_hello(hello("x"), at(200));
        target.take_past(&past("a"), at(200));
        assert_eq!(hits(&target, 199), Some(16.0));
    }
}
