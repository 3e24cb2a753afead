//! Turns what the source said into lines that keep to their limit.
//!
//! What does not fit is shortened, largest lists first, and counted: a reader
//! must never meet a line that it has to refuse.

use std::sync::atomic::Ordering;

use hyper::body::Bytes;

use crate::event::Event;
use crate::line::{Line, snapshot_lines};
use crate::server::account::{Account, count};
use crate::snapshot::{CacheSnapshot, GateSnapshot, Snapshot};

/// The line's text, or `None` when it is longer than lines may be; that is counted.
pub(super) fn text_of(line: &Line, account: &Account) -> Option<Bytes> {
    if let Ok(text) = line.encode() {
        return Some(text.into());
    }
    count(&account.trimmed);
    None
}

/// The lines of a snapshot, each within the limit.
pub(super) fn lines_of(snapshot: Snapshot, account: &Account) -> Vec<Bytes> {
    snapshot_lines(snapshot)
        .into_iter()
        .filter_map(|mut line| {
            loop {
                if let Ok(text) = line.encode() {
                    return Some(text.into());
                }
                count(&account.trimmed);
                if shorten(&mut line) == Shortened::No {
                    return None;
                }
            }
        })
        .collect()
}

#[derive(PartialEq)]
enum Shortened {
    Yes,
    No,
}

fn shorten(line: &mut Line) -> Shortened {
    let Line::Snap { snapshot, .. } = line else {
        return Shortened::No;
    };
    let cache = snapshot.caches.iter_mut().max_by_key(|cache| listed(cache));
    match cache {
        Some(cache) if listed(cache) > 0 => shorten_cache(cache),
        _ if !snapshot.gates.is_empty() => shorten_gates(&mut snapshot.gates),
        _ => return Shortened::No,
    }
    Shortened::Yes
}

fn listed(cache: &CacheSnapshot) -> usize {
    cache.landed.len() + cache.live.len() + cache.hot.len() + cache.conditions.len()
}

/// Halves the lists; the engine puts what matters most first, and the newest landed flight last.
fn shorten_cache(cache: &mut CacheSnapshot) {
    let landed = cache.landed.len();
    cache.landed.drain(..landed.div_ceil(2));
    cache.live.truncate(cache.live.len() / 2);
    cache.hot.truncate(cache.hot.len() / 2);
    cache.conditions.truncate(cache.conditions.len() / 2);
}

fn shorten_gates(gates: &mut Vec<GateSnapshot>) {
    if gates.iter().any(|gate| !gate.wait.buckets.is_empty()) {
        for gate in gates {
            gate.wait.buckets.clear();
        }
    } else {
        gates.truncate(gates.len() / 2);
    }
}

/// The lines of some events; one that fits no line becomes a gap.
pub(super) fn event_lines(events: Vec<Event>, account: &Account) -> Vec<Bytes> {
    let mut lines = Vec::new();
    let mut open = vec![events];
    while let Some(mut events) = open.pop() {
        let (Some(first), count_of) = (events.first().map(|event| event.seq), events.len()) else {
            continue;
        };
        let line = Line::Events { events: std::mem::take(&mut events) };
        if let Ok(text) = line.encode() {
            lines.push(text.into());
            continue;
        }
        let Line::Events { mut events } = line else { continue };
        if count_of == 1 {
            account.trimmed.fetch_add(1, Ordering::Relaxed);
            lines.extend(text_of(&Line::Lag { from: first, to: first + 1 }, account));
            continue;
        }
        let later = events.split_off(count_of / 2);
        open.push(later);
        open.push(events);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Fact, Severity};
    use crate::line::MAX_LINE;
    use crate::snapshot::{HotKey, LiveFlight, Stage};
    use crate::words::FlightTrigger;

    fn event(seq: u64, size: usize) -> Event {
        let fact = Fact::Tuned { what: "x".repeat(size) };
        Event { seq, mono_us: 0, unix_us: 0, severity: Severity::Info, subject: "c".into(), fact }
    }

    fn flight(id: u64) -> LiveFlight {
        LiveFlight {
            id,
            key: "k".repeat(2_000),
            trigger: FlightTrigger::Miss,
            cause: None,
            started_mono_us: 0,
            age_us: 0,
            waiters: 0,
            stage: Stage::Origin,
            end: None,
        }
    }

    #[test]
    fn a_snapshot_with_huge_keys_is_shortened_and_that_is_counted() {
        let account = Account::default();
        let cache = CacheSnapshot {
            name: "c".into(),
            live: (0..256).map(flight).collect(),
            hot: vec![HotKey { key: "h".into(), ..HotKey::default() }; 32],
            ..CacheSnapshot::default()
        };
        let lines = lines_of(Snapshot { caches: vec![cache], ..Snapshot::default() }, &account);
        assert_eq!(lines.len(), 2);
        let Line::Snap { snapshot, .. } = Line::decode(&lines[1]).unwrap() else { panic!("no snapshot") };
        let live: Vec<_> = snapshot.caches[0].live.iter().map(|flight| flight.id).collect();
        assert_eq!(live, (0..64).collect::<Vec<_>>());
        assert_eq!(account.read().trimmed, 2);
    }

    #[test]
    fn very_many_gates_take_several_lines_and_lose_nothing() {
        let account = Account::default();
        let gate = GateSnapshot { name: "g".repeat(64), ..GateSnapshot::default() };
        let lines = lines_of(Snapshot { gates: vec![gate; 5_000], ..Snapshot::default() }, &account);
        assert_eq!(lines.len(), 5_000_usize.div_ceil(32));
        assert!(lines.iter().all(|line| line.len() <= MAX_LINE));
        assert_eq!(account.read().trimmed, 0);
    }

    #[test]
    fn events_are_cut_into_lines_and_stay_in_order() {
        let account = Account::default();
        let lines = event_lines((0..10).map(|seq| event(seq, 60_000)).collect(), &account);
        let told: Vec<u64> = lines
            .iter()
            .flat_map(|line| match Line::decode(line).unwrap() {
                Line::Events { events } => events,
                other => panic!("{other:?}"),
            })
            .map(|event| event.seq)
            .collect();
        assert_eq!(told, (0..10).collect::<Vec<_>>());
        assert_eq!(account.read().trimmed, 0);
    }

    #[test]
    fn an_event_that_fits_no_line_becomes_a_gap() {
        let account = Account::default();
        let lines = event_lines(vec![event(1, 10), event(2, MAX_LINE), event(3, 10)], &account);
        let kinds: Vec<Line> = lines.iter().map(|line| Line::decode(line).unwrap()).collect();
        assert_eq!(kinds[1], Line::Lag { from: 2, to: 3 });
        assert_eq!(kinds.len(), 3);
        assert_eq!(account.read().trimmed, 1);
    }
}
