//! Histories in which everything may happen. `generate.rs` makes those of before, whose seeds stay what they were.
//!
//! A history has some kinds of things and not others: what is always there hides what it needs others to be absent for.

use fastrand::Rng;
use herdcache::herdfeed::{ClosedSet, Measure};
use herdcache::{Switch, WhenUnwatched};

use super::generate::{KEYS, Mood, maybe, of, one_in, script, setup, terms};
use super::history::{By, End, Fallback, History, Made, Polled, Script, Setup, Step, Sure, TAGS, Tags, Terms, Told};
use crate::support::ms;

/// What some histories have and others lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spice {
    Tags,
    Versions,
    Confirmations,
    SourceAges,
    BlockingWork,
    Batches,
    Warmth,
    Queries,
    Tuning,
    Marks,
    Clearing,
    Switches,
}

/// How many of twelve histories have each.
const SPICES: [(Spice, u32); 12] = [
    (Spice::Tags, 6),
    (Spice::Versions, 8),
    (Spice::Confirmations, 7),
    (Spice::SourceAges, 4),
    (Spice::BlockingWork, 2),
    (Spice::Batches, 6),
    (Spice::Warmth, 6),
    (Spice::Queries, 4),
    (Spice::Tuning, 4),
    (Spice::Marks, 6),
    (Spice::Clearing, 4),
    (Spice::Switches, 2),
];

/// The dice of one history, and what it is made of.
struct Cook {
    rng: Rng,
    spices: Vec<Spice>,
    keys: u64,
    mood: Mood,
}

/// The history of a seed; always the same.
pub(super) fn history(seed: u64) -> History {
    let mut rng = Rng::with_seed(seed.wrapping_add(1).wrapping_mul(0xD1B5_4A32_D192_ED03));
    let mood = if one_in(&mut rng, 6) { Mood::Slow } else { Mood::Usual };
    let spices = SPICES.iter().filter(|(_, n)| rng.u32(..12) < *n).map(|(spice, _)| *spice).collect();
    // Few, so that much happens to each.
    let keys = of(&mut rng, &[1, 2, 2, 3, KEYS]);
    let mut cook = Cook { rng, spices, keys, mood };
    let setup = cook.setup();
    let count = cook.rng.usize(30..=48);
    let mut steps: Vec<Step> = std::iter::repeat_with(|| cook.step()).take(count).collect();
    if one_in(&mut cook.rng, 3) {
        let at = cook.rng.usize(count * 2 / 3..=count);
        steps.insert(at, Step::Shutdown { limit: of(&mut cook.rng, &[ms(0), ms(0), ms(5), ms(50), ms(1_000)]) });
    }
    History { seed, setup, steps }
}

impl Cook {
    fn has(&self, spice: Spice) -> bool {
        self.spices.contains(&spice)
    }

    fn setup(&mut self) -> Setup {
        let mut setup = setup(&mut self.rng);
        if self.mood == Mood::Slow {
            (setup.permits, setup.refresh_permits, setup.queue) = (1, 1, 3);
            (setup.queue_timeout, setup.flight_deadline) = (ms(500), setup.origin_timeout);
        }
        let rng = &mut self.rng;
        setup.fallback = of(rng, &[Fallback::None, Fallback::None, Fallback::EvenKeys, Fallback::All]);
        setup.when_unwatched = of(rng, &[WhenUnwatched::Finish, WhenUnwatched::Finish, WhenUnwatched::Abandon]);
        if one_in(rng, 4) {
            // Room for refreshes ahead of time, and little for what they bring.
            (setup.beta, setup.permits, setup.refresh_permits) = (10.0, 3, 3);
            (setup.fresh_for, setup.capacity) = (ms(200), of(rng, &[1, 2, 1_000]));
            setup.negative_ttl = setup.negative_ttl.min(ms(200));
        }
        if self.spices.contains(&Spice::Tags) && one_in(rng, 4) {
            // Old values are still wanted when they are pushed out.
            (setup.capacity, setup.stale_if_error_for) = (1, Some(ms(5_000)));
        }
        if self.has(Spice::Tuning) {
            setup.tunable = Some(ms(10_000));
        }
        setup
    }

    fn key(&mut self) -> u64 {
        self.rng.u64(..self.keys)
    }

    fn step(&mut self) -> Step {
        let dice = self.rng.u32(..100);
        match dice {
            36..=54 => self.pass(),
            55..=57 => Step::Turn,
            58..=59 => Step::Poll { nth: self.rng.usize(..8) },
            60..=62 => Step::Cancel { nth: self.rng.usize(..8) },
            63..=83 => self.change(dice).unwrap_or_else(|| self.ask()),
            84..=99 => self.other(dice).unwrap_or_else(|| self.ask()),
            _ => self.ask(),
        }
    }

    fn pass(&mut self) -> Step {
        let rng = &mut self.rng;
        let time = of(rng, &[ms(1), ms(3), ms(10), ms(20), ms(30), ms(50), ms(100), ms(300), ms(1_000)]);
        Step::Pass { time, polled: of(rng, &[Polled::Promptly, Polled::Promptly, Polled::Late]) }
    }

    fn ask(&mut self) -> Step {
        let wait = maybe(&mut self.rng, 6, &[ms(2), ms(15), ms(60)]);
        if self.has(Spice::Batches) && one_in(&mut self.rng, 3) {
            let asks = self.loads(2..=5);
            return Step::AskMany { asks, wait };
        }
        let key = self.key();
        Step::Ask { by: of(&mut self.rng, &[By::Get, By::GetWith]), key, wait, load: self.script() }
    }

    fn loads(&mut self, count: std::ops::RangeInclusive<usize>) -> Vec<(u64, Script)> {
        let count = self.rng.usize(count);
        (0..count).map(|_| (self.key(), self.script())).collect()
    }

    /// A change of keys, if this history has it.
    fn change(&mut self, dice: u32) -> Option<Step> {
        let key = self.key();
        let step = match dice {
            63..=65 => Step::Invalidate { key },
            66 => Step::InvalidateMany { keys: (0..self.rng.usize(..=3)).map(|_| self.key()).collect() },
            67..=71 if self.has(Spice::Tags) => Step::InvalidateTag { tag: self.rng.usize(..TAGS.len()) },
            72..=73 if self.has(Spice::Clearing) => Step::Clear,
            74..=77 if self.has(Spice::Marks) => Step::MarkStale { key },
            78..=83 => {
                let made = of(&mut self.rng, &[Made::Value, Made::Value, Made::Value, Made::Absence]);
                Step::Insert { key, made, terms: self.terms() }
            }
            _ => return None,
        };
        Some(step)
    }

    /// What is neither a caller's nor a change of keys, if this history has it.
    fn other(&mut self, dice: u32) -> Option<Step> {
        let key = self.key();
        let step = match dice {
            84..=88 => Step::Refresh { key, load: self.refresh() },
            89 | 90 if self.has(Spice::Warmth) => match self.rng.u32(..4) {
                0 => Step::Chill { nth: self.rng.usize(..4) },
                _ => Step::WarmUp { loads: self.loads(1..=4) },
            },
            91..=94 if self.has(Spice::Queries) => match self.rng.u32(..5) {
                0..=2 => Step::Acquire,
                _ => Step::Release {
                    nth: self.rng.usize(..4),
                    told: of(&mut self.rng, &[Told::Nothing, Told::Answered, Told::Failed]),
                },
            },
            95 => Step::Peek { key },
            96 | 97 if self.has(Spice::BlockingWork) => Step::Unblock,
            98 if self.has(Spice::Tuning) => Step::Tune {
                stale_for: of(&mut self.rng, &[ms(0), ms(40), ms(400), ms(10_000)]),
                stale_if_error_for: of(&mut self.rng, &[ms(0), ms(300), ms(10_000)]),
                refresh: of(&mut self.rng, &[Switch::On, Switch::On, Switch::Off]),
            },
            99 if self.has(Spice::Switches) => Step::Set {
                measure: of(&mut self.rng, Measure::all()),
                to: of(&mut self.rng, &[Switch::On, Switch::Off]),
            },
            _ => return None,
        };
        Some(step)
    }

    fn script(&mut self) -> Script {
        let mut script = script(&mut self.rng, self.mood);
        if let End::Gives(made, _) = script.end {
            let terms = self.terms();
            script.end = match made {
                Made::Value if self.has(Spice::Confirmations) && !one_in(&mut self.rng, 4) => {
                    End::Confirms(terms, if one_in(&mut self.rng, 6) { Sure::Never } else { Sure::Gives })
                }
                Made::Value if self.has(Spice::BlockingWork) && one_in(&mut self.rng, 4) => End::Blocks(terms),
                made => End::Gives(made, terms),
            };
        }
        script
    }

    /// What a refresh does, which most often finds a value to confirm.
    fn refresh(&mut self) -> Script {
        let mut script = self.script();
        if self.has(Spice::Confirmations) && one_in(&mut self.rng, 2) {
            script.after = maybe(&mut self.rng, 2, &[ms(1), ms(5), ms(20)]);
            script.end = End::Confirms(self.terms(), Sure::Gives);
        }
        script
    }

    fn terms(&mut self) -> Terms {
        let mut terms = terms(&mut self.rng);
        if self.has(Spice::SourceAges) && one_in(&mut self.rng, 2) {
            terms.source_age = of(&mut self.rng, &[ms(1), ms(10), ms(60), ms(400), ms(20_000)]);
        }
        if self.has(Spice::Versions) && !one_in(&mut self.rng, 4) {
            terms.version = Some(self.rng.u64(1..=6));
        }
        if self.has(Spice::Tags) && !one_in(&mut self.rng, 4) {
            terms.tags = if one_in(&mut self.rng, 12) { Tags::TooMany } else { Tags::Of(self.rng.u8(1..8)) };
        }
        terms
    }
}
