//! What happens in a history: made from its seed, before anything runs.

use std::time::Duration;

use fastrand::Rng;
use herdcache::Fault;
use herdcache::TierError;
use herdcache::herdfeed::{ClosedSet, SharedOperation};

use crate::support::ms;

pub(super) const PROCESSES: usize = 2;
pub(super) const KEYS: usize = 3;

/// One history.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) seed: u64,
    pub(super) setup: Setup,
    pub(super) steps: Vec<Step>,
}

impl std::fmt::Display for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?}", self.setup)?;
        self.steps.iter().enumerate().try_for_each(|(nth, step)| writeln!(f, "{nth:>3} {step:?}"))
    }
}

/// How both processes are built.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one setting")]
pub(super) struct Setup {
    pub(super) tier: Health,
    pub(super) permits: usize,
    pub(super) abandon: bool,
    /// Whether values carry their number as a version.
    pub(super) versions: bool,
    /// Whether there is a lease.
    pub(super) lease: bool,
    /// Whether callers wait for the write, and fail with it.
    pub(super) write_fails: bool,
}

/// Whether anything goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// Neither tier nor source fails, no lease is lost, and nothing is forgotten.
    Sound,
    Any,
}

/// How the source answers for a key from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    After(Duration),
    Fails,
    Hangs,
}

/// One step. The first number is a process, the second a key.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Get(usize, usize),
    GetMany(usize, Vec<u64>),
    /// The caller that has waited longest leaves.
    Leave,
    /// The source changes, and the process writes the new value.
    Insert(usize, usize),
    /// The source changes, and the process invalidates the key.
    Invalidate(usize, usize),
    Clear(usize),
    MarkStale(usize, usize),
    Refresh(usize, usize),
    Mode(usize, Mode),
    Pass(Duration),
    Fault(SharedOperation, Fault),
    Heal,
    Flush,
    Evict,
    LoseLeases,
    LoseCounters,
}

pub(super) fn history(seed: u64) -> History {
    let rng = &mut Rng::with_seed(seed);
    let tier = if seed % 4 == 0 { Health::Sound } else { Health::Any };
    let setup = Setup {
        tier,
        permits: rng.usize(1..=3),
        abandon: rng.bool(),
        versions: rng.bool(),
        lease: tier == Health::Sound || rng.u8(..) < 200,
        write_fails: rng.u8(..) < 40,
    };
    let steps = (0..rng.usize(30..=80)).map(|_| step(rng, tier)).collect();
    History { seed, setup, steps }
}

fn step(rng: &mut Rng, tier: Health) -> Step {
    let (process, key) = (rng.usize(..PROCESSES), rng.usize(..KEYS));
    match rng.usize(..100) {
        0..28 => Step::Get(process, key),
        28..32 => Step::GetMany(process, (0..KEYS as u64).filter(|_| rng.bool()).collect()),
        32..35 => Step::Leave,
        35..41 => Step::Insert(process, key),
        41..48 => Step::Invalidate(process, key),
        48..49 => Step::Clear(process),
        49..51 => Step::MarkStale(process, key),
        51..54 => Step::Refresh(process, key),
        54..60 => Step::Mode(key, mode(rng, tier)),
        60..85 => Step::Pass(pass(rng)),
        _ if tier == Health::Sound => Step::Pass(pass(rng)),
        85..91 => Step::Fault(operation(rng), fault(rng)),
        91..96 => Step::Heal,
        96 => Step::Flush,
        97 => Step::Evict,
        98 => Step::LoseLeases,
        _ => Step::LoseCounters,
    }
}

/// Some take no time, some less than an operation, some until values are stale or over.
fn pass(rng: &mut Rng) -> Duration {
    ms(match rng.usize(..10) {
        0..3 => 0,
        3..6 => rng.u64(1..20),
        6..9 => rng.u64(20..120),
        _ => rng.u64(120..700),
    })
}

fn mode(rng: &mut Rng, tier: Health) -> Mode {
    match rng.usize(..10) {
        0 if tier == Health::Any => Mode::Hangs,
        1 if tier == Health::Any => Mode::Fails,
        0..5 => Mode::After(ms(rng.u64(0..10))),
        _ => Mode::After(ms(rng.u64(10..100))),
    }
}

fn operation(rng: &mut Rng) -> SharedOperation {
    SharedOperation::all()[rng.usize(..SharedOperation::all().len())]
}

fn fault(rng: &mut Rng) -> Fault {
    match rng.usize(..6) {
        0 => Fault::Fail([TierError::Connection, TierError::Refused, TierError::Timeout][rng.usize(..3)]),
        1 => Fault::Hang,
        2 => Fault::Mute,
        3 => Fault::Corrupt,
        _ => Fault::Slow(ms(rng.u64(1..70))),
    }
}
