//! From a seed to a history. The weights are chosen so that every word of the closed sets is reached often.

use std::time::Duration;

use fastrand::Rng;
use herdcache::herdfeed::{ClosedSet, Measure};
use herdcache::{Switch, WhenUnwatched};

use super::history::{By, End, Fallback, History, Keep, Leave, Made, Polled, Script, Setup, Step, Terms};
use super::wide;
use crate::support::ms;

/// Keys that steps name.
pub(super) const KEYS: u64 = 4;

/// Seeds from here on are histories that are tuned too. Below it, what a seed means stays as it was.
pub(super) const TUNED: u64 = 1 << 32;

/// Seeds from here on are histories in which everything may happen: see `wide.rs`.
pub(super) const WIDE: u64 = 1 << 33;

/// What kind of origin a history has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Usual,
    /// Half of its loads never end, and there is one permit: queues and deadlines are reached.
    Slow,
}

/// The history of a seed; always the same.
pub(super) fn history(seed: u64) -> History {
    if seed >= WIDE {
        return wide::history(seed);
    }
    // Neighbouring seeds shall have nothing in common.
    let mut rng = Rng::with_seed(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let rng = &mut rng;
    let mood = if one_in(rng, 5) { Mood::Slow } else { Mood::Usual };
    let mut setup = setup(rng);
    if mood == Mood::Slow {
        (setup.permits, setup.refresh_permits, setup.queue) = (1, 1, 3);
        (setup.queue_timeout, setup.flight_deadline) = (ms(500), setup.origin_timeout);
    }
    let count = rng.usize(30..=48);
    let keys = rng.u64(1..=KEYS);
    let switched = one_in(rng, 4);
    let mut steps: Vec<Step> = std::iter::repeat_with(|| step(rng, keys, mood))
        .filter(|step| switched || !matches!(step, Step::Set { .. }))
        .take(count)
        .collect();
    if one_in(rng, 3) {
        let at = rng.usize(count * 2 / 3..=count);
        steps.insert(at, Step::Shutdown { limit: of(rng, &[ms(0), ms(0), ms(5), ms(50), ms(1_000)]) });
    }
    // Not both: an early answer of a batch is judged when all of it is there, by bounds that may have been tuned since.
    if seed >= TUNED {
        tune(rng, &mut setup, &mut steps);
    } else if has_batches(seed) {
        batches(seed, keys, mood, &mut steps);
    }
    History { seed, setup, steps }
}

/// Tunes a history while it runs; half of them give up loads that nobody waits for.
fn tune(rng: &mut Rng, setup: &mut Setup, steps: &mut Vec<Step>) {
    let most = ms(10_000);
    setup.tunable = Some(most);
    setup.when_unwatched = of(rng, &[WhenUnwatched::Finish, WhenUnwatched::Abandon]);
    for _ in 0..rng.usize(1..=6) {
        let (stale_for, stale_if_error_for) =
            (of(rng, &[ms(0), ms(40), ms(400), most]), of(rng, &[ms(0), ms(300), most]));
        let refresh = of(rng, &[Switch::On, Switch::On, Switch::Off]);
        steps.insert(rng.usize(..=steps.len()), Step::Tune { stale_for, stale_if_error_for, refresh });
    }
}

/// One history of three asks for several keys at once. The others are what they were before there were batches.
fn has_batches(seed: u64) -> bool {
    seed % 3 == 2
}

/// Makes every other ask one for several keys.
fn batches(seed: u64, keys: u64, mood: Mood, steps: &mut [Step]) {
    let rng = &mut Rng::with_seed(!seed);
    for step in steps {
        let Step::Ask { key, wait, load, .. } = *step else { continue };
        if one_in(rng, 2) {
            let mut asks = vec![(key, load)];
            for _ in 0..rng.usize(1..=4) {
                asks.push((rng.u64(..keys), script(rng, mood)));
            }
            *step = Step::AskMany { asks, wait };
        }
    }
}

pub(super) fn of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}

pub(super) fn one_in(rng: &mut Rng, n: u32) -> bool {
    rng.u32(..n) == 0
}

pub(super) fn maybe(rng: &mut Rng, n: u32, choices: &[Duration]) -> Option<Duration> {
    one_in(rng, n).then(|| of(rng, choices))
}

pub(super) fn setup(rng: &mut Rng) -> Setup {
    // What came later has dice of its own, so that a seed keeps the rest of its history.
    let extra = &mut Rng::with_seed(!rng.get_seed());
    let permits = rng.usize(1..=3);
    let fresh_for = of(rng, &[ms(20), ms(20), ms(50), ms(200), ms(1_000)]);
    let origin_timeout = of(rng, &[ms(30), ms(100), ms(400)]);
    let flight_deadline = of(rng, &[origin_timeout, origin_timeout, origin_timeout + ms(20), origin_timeout * 3]);
    let base = of(rng, &[ms(10), ms(40)]);
    Setup {
        permits,
        queue: rng.usize(0..=3),
        queue_timeout: of(rng, &[ms(10), ms(60), ms(500), ms(500)]),
        refresh_permits: rng.usize(1..=permits),
        fresh_for,
        stale_for: of(rng, &[ms(0), ms(50), ms(300), ms(1_000)]),
        stale_if_error_for: maybe(rng, 2, &[ms(100), ms(1_000), ms(5_000)]),
        negative_ttl: of(rng, &[ms(0), ms(10), fresh_for]).min(fresh_for),
        jitter: of(rng, &[0.0, 0.0, 0.1, 0.5]),
        beta: of(rng, &[0.0, 1.0, 10.0, 10.0, 10.0]),
        soft_timeout: maybe(rng, 2, &[ms(2), ms(15)]),
        origin_timeout,
        flight_deadline,
        cooling: (base, of(rng, &[base, base * 8])),
        max_flights: of(rng, &[1, 3, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000]),
        max_waiters: of(rng, &[1, 2, 100, 100, 100, 100]),
        capacity: of(rng, &[1, 2, 1_000, 1_000, 1_000]),
        fail_fast: one_in(extra, 3).then(|| extra.u64(2..=4)),
        group_share: one_in(extra, 3).then(|| of(extra, &[0.2, 0.4, 0.7])),
        off: off(rng),
        when_unwatched: WhenUnwatched::Finish,
        tunable: None,
        fallback: Fallback::None,
    }
}

/// Mostly none; at times one, at times all of them (`observe_only`).
fn off(rng: &mut Rng) -> Vec<Measure> {
    match rng.u32(..16) {
        0 => Measure::all().to_vec(),
        1 | 2 => vec![of(rng, Measure::all())],
        _ => Vec::new(),
    }
}

fn step(rng: &mut Rng, keys: u64, mood: Mood) -> Step {
    let key = rng.u64(..keys);
    match rng.u32(..100) {
        0..=49 => ask(rng, key, mood),
        50..=72 => {
            let time = of(rng, &[ms(1), ms(3), ms(10), ms(20), ms(30), ms(50), ms(100), ms(300), ms(1_000)]);
            Step::Pass { time, polled: of(rng, &[Polled::Promptly, Polled::Promptly, Polled::Late]) }
        }
        73..=78 => Step::Turn,
        79..=81 => Step::Poll { nth: rng.usize(..8) },
        82..=86 => Step::Cancel { nth: rng.usize(..8) },
        87..=91 => Step::Invalidate { key },
        92..=96 => Step::Insert { key, made: of(rng, &[Made::Value, Made::Value, Made::Absence]), terms: terms(rng) },
        _ => Step::Set { measure: of(rng, Measure::all()), to: of(rng, &[Switch::On, Switch::Off]) },
    }
}

fn ask(rng: &mut Rng, key: u64, mood: Mood) -> Step {
    let wait = maybe(rng, 6, &[ms(2), ms(15), ms(60)]);
    Step::Ask { by: of(rng, &[By::Get, By::GetWith]), key, wait, load: script(rng, mood) }
}

pub(super) fn script(rng: &mut Rng, mood: Mood) -> Script {
    let after = match rng.u32(..5) {
        0 => None,
        _ => Some(of(rng, &[ms(1), ms(5), ms(10), ms(20), ms(30), ms(50), ms(90), ms(300)])),
    };
    let end = match rng.u32(..100) {
        _ if mood == Mood::Slow && one_in(rng, 2) => End::Never,
        0..=56 => End::Gives(Made::Value, terms(rng)),
        57..=66 => End::Gives(Made::Absence, terms(rng)),
        67..=80 => End::Fails,
        81..=83 => End::PanicsWhenMade,
        84..=87 => End::PanicsWhenPolled,
        _ => End::Never,
    };
    let leave = if one_in(rng, 20) { Leave::Panics } else { Leave::Quietly };
    Script { after, end, leave }
}

pub(super) fn terms(rng: &mut Rng) -> Terms {
    Terms {
        fresh_for: maybe(rng, 6, &[ms(0), ms(5), ms(100)]),
        stale_for: maybe(rng, 6, &[ms(0), ms(30), ms(300)]),
        keep: if one_in(rng, 7) { Keep::DoNotStore } else { Keep::Store },
        ..Terms::PLAIN
    }
}
