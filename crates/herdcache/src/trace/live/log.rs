//! What is traced of one flight, from its opening to its landing.
//!
//! A flight is promised a span before others can join it, and gets it right after, outside of the
//! table's lock. Who joins in between owes his link: the span stays until he has made it. A
//! flight that becomes a herd without having been chosen notes its steps, for a span with recorded times.

use std::sync::Arc;
use std::time::Duration;

use herdfeed::FlightRole;

use super::carried;
use super::choice::SampledBy;
use super::held::{Current, Kept, Stepping, Told};
use super::herd::{self, HerdWait, Landed, StepTimes};
use super::inner::Inner;
use super::lit::{self, Lit};
use super::promise::{Herd, Promise};
use super::tracer::Shared;
use super::wait::Waiting;
use crate::clock::{self, Moment};
use crate::contained::contained;
use crate::sync::plain::Mutex;
use crate::sync::plain::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use crate::trace::facts::{Ended, Lighting, Opened, TraceStep};

/// Steps of one herd that are noted, as many as others have spans of but for its call to the origin.
const NOTED: usize = lit::STEPS as usize - 1;

/// How far a flight has come, as far as tracing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Of a cache that traces nothing, or opened while nobody listened: nothing is noted either.
    Off,
    /// Not traced.
    Dark,
    /// Not traced, since the budget was used up: counted.
    Refused,
    /// To have a span.
    Promised,
    /// Has a span.
    Lit,
    /// To have a span with recorded times when it lands.
    Herd,
}

const KINDS: [Kind; 6] = [Kind::Off, Kind::Dark, Kind::Refused, Kind::Promised, Kind::Lit, Kind::Herd];

/// What is traced of one flight.
#[derive(Debug)]
pub(crate) struct Log {
    kind: AtomicU8,
    /// When the origin call began and ended; 0 before.
    origin: [AtomicU64; 2],
    inner: Mutex<Option<Box<Inner>>>,
}

impl Log {
    fn of(kind: Kind, inner: Option<Box<Inner>>) -> Self {
        let origin = [AtomicU64::new(0), AtomicU64::new(0)];
        Self { kind: AtomicU8::new(kind as u8), origin, inner: Mutex::new(inner) }
    }

    pub(super) fn off() -> Self {
        Self::of(Kind::Off, None)
    }

    pub(super) fn none() -> Self {
        Self::of(Kind::Dark, None)
    }

    pub(super) fn refused() -> Self {
        Self::of(Kind::Refused, None)
    }

    pub(super) fn promised(promise: Promise) -> Self {
        let shared = Some(Arc::clone(&promise.shared));
        Self::of(Kind::Promised, Some(Box::new(Inner { promise: Some(promise), shared, ..Inner::default() })))
    }

    fn kind(&self) -> Kind {
        KINDS[usize::from(self.kind.load(Relaxed)) % KINDS.len()]
    }

    /// What a flight pays at each step where nobody listens: one byte compared, in place.
    #[inline]
    fn is(&self, kind: Kind) -> bool {
        self.kind.load(Relaxed) == kind as u8
    }

    /// Whether it was chosen, and there was no place for it.
    pub(super) fn is_refused(&self) -> bool {
        self.is(Kind::Refused)
    }

    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.kind.load(Relaxed) >= Kind::Promised as u8
    }

    /// Its span, until it lands: what enters it later would move its end.
    #[inline]
    pub(super) fn lit(&self) -> Option<Arc<Lit>> {
        if self.is(Kind::Lit) { self.lit_now() } else { None }
    }

    #[cold]
    fn lit_now(&self) -> Option<Arc<Lit>> {
        let inner = self.inner.lock();
        inner.as_ref().filter(|inner| inner.ended.is_none())?.lit.clone()
    }

    /// The flight is in the table: it gets the span that it was promised. Says if it has landed meanwhile.
    #[inline]
    pub(crate) fn light<'a>(&self, opened: impl FnOnce() -> Opened<'a>) -> Lighting {
        if self.is(Kind::Promised) { self.light_up(opened) } else { Lighting::Done }
    }

    #[cold]
    fn light_up<'a>(&self, opened: impl FnOnce() -> Opened<'a>) -> Lighting {
        let promise = self.inner.lock().as_mut().and_then(|inner| inner.promise.take());
        let Some(promise) = promise else { return Lighting::Done };
        let Some(lit) = Lit::new(opened, promise.by, &promise.shared) else {
            self.kind.store(Kind::Dark as u8, Relaxed);
            return Lighting::Done;
        };
        promise.keep();
        let ended = {
            let mut inner = self.inner.lock();
            let Some(inner) = inner.as_mut() else { return Lighting::Done };
            if inner.ended.is_none() || inner.owed > 0 {
                inner.lit = Some(Arc::clone(&lit));
                self.kind.store(Kind::Lit as u8, Relaxed);
            }
            inner.ended
        };
        let Some(ended) = ended else { return Lighting::Done };
        lit.end(&ended);
        Lighting::TooLate
    }

    /// Makes the flight's span current on this thread until the result is dropped.
    #[inline]
    pub(crate) fn enter(&self) -> Current {
        if self.is(Kind::Lit) { self.enter_lit() } else { Current::nothing() }
    }

    #[cold]
    fn enter_lit(&self) -> Current {
        Current::on(self.lit())
    }

    /// The origin is called from now on.
    #[inline]
    pub(crate) fn origin_begins(&self, now: Moment) {
        if !self.is(Kind::Off) {
            self.origin_begins_told(now);
        }
    }

    #[cold]
    fn origin_begins_told(&self, now: Moment) {
        self.origin[0].store(now, Relaxed);
        if let Some(lit) = self.lit() {
            lit.origin_begins();
        }
    }

    /// The origin has answered.
    #[inline]
    pub(crate) fn origin_ends(&self, now: Moment) {
        if !self.is(Kind::Off) {
            self.origin_ends_told(now);
        }
    }

    #[cold]
    fn origin_ends_told(&self, now: Moment) {
        self.origin[1].store(now, Relaxed);
        if let Some(lit) = self.lit() {
            lit.origin_ends();
        }
    }

    /// A step that lasts until the result is dropped.
    #[inline]
    pub(crate) fn step(&self, step: TraceStep) -> Stepping<'_> {
        if self.is(Kind::Off) { Stepping(Told::Nobody) } else { self.step_told(step) }
    }

    #[cold]
    fn step_told(&self, step: TraceStep) -> Stepping<'_> {
        match self.kind() {
            Kind::Lit => Stepping(Told::Span { _span: self.lit().and_then(|lit| lit.step(step)) }),
            Kind::Dark | Kind::Refused | Kind::Herd if herd::is_any() => {
                Stepping(Told::Noted { log: self, step, began: clock::exact() })
            }
            Kind::Off | Kind::Dark | Kind::Refused | Kind::Promised | Kind::Herd => Stepping(Told::Nobody),
        }
    }

    pub(super) fn note(&self, step: TraceStep, began: Moment) {
        let now = clock::exact();
        let mut inner = self.inner.lock();
        let inner = inner.get_or_insert_default();
        if inner.steps.len() < NOTED {
            inner.steps.push((step, began, now));
        } else {
            inner.unnoted += 1;
        }
    }

    #[cfg(test)]
    pub(super) fn has_notes(&self) -> bool {
        self.inner.lock().is_some()
    }

    /// Holds on to the flight's span beyond its landing, for what comes after it.
    pub(crate) fn keep(&self) -> Kept {
        Kept(self.lit())
    }

    /// It draws a herd: if it was not chosen before, it is now.
    pub(super) fn crowded(&self, shared: &Arc<Shared>, now: Moment) {
        let kind = self.kind();
        let mut inner = self.inner.lock();
        if !matches!(kind, Kind::Dark | Kind::Refused) || self.kind() != kind {
            return;
        }
        let counted = &shared.flights_refused;
        match (shared.budget.take(SampledBy::Herd, now), kind) {
            (true, _) => {
                if kind == Kind::Refused {
                    counted.fetch_sub(1, Relaxed);
                }
                let promise = Promise::new(SampledBy::Herd, shared);
                let inner = inner.get_or_insert_default();
                (inner.promise, inner.shared) = (Some(promise), Some(Arc::clone(shared)));
                self.kind.store(Kind::Herd as u8, Relaxed);
            }
            (false, Kind::Refused) => {}
            (false, _) => {
                counted.fetch_add(1, Relaxed);
                self.kind.store(Kind::Refused as u8, Relaxed);
            }
        }
    }

    /// A caller waits for the flight from now on.
    #[inline]
    pub(crate) fn joined(&self, role: FlightRole) -> Waiting {
        if self.is(Kind::Promised) || self.is(Kind::Lit) { self.joined_lit(role) } else { Waiting::default() }
    }

    #[cold]
    fn joined_lit(&self, role: FlightRole) -> Waiting {
        if carried::is_visiting() || !herd::wants_wait() {
            return Waiting::default();
        }
        let lit = {
            let mut inner = self.inner.lock();
            let Some(inner) = inner.as_mut() else { return Waiting::default() };
            // It joined just before the landing, and its span could only begin after it: nothing to wait for any more.
            let is_over = inner.ended.is_some() && inner.lit.is_none();
            if is_over || !inner.claim_wait() {
                return Waiting::default();
            }
            if inner.lit.is_none() {
                inner.owed += 1;
            }
            inner.lit.clone()
        };
        let waiting = Waiting::told(role, lit.as_deref());
        if !waiting.has_span() {
            // A filter may have changed since the flight was chosen.
            if let Some(inner) = self.inner.lock().as_mut() {
                inner.unclaim_wait();
            }
        }
        waiting
    }

    /// A waiter that came early goes: his link is made now, if the span has come.
    pub(super) fn settle(&self) -> Option<Arc<Lit>> {
        let mut inner = self.inner.lock();
        let inner = inner.as_mut()?;
        inner.owed = inner.owed.saturating_sub(1);
        if inner.owed == 0 && inner.ended.is_some() { inner.lit.take() } else { inner.lit.clone() }
    }

    /// A herd that had not been chosen before is about to wake its waiters: they will want to know its span.
    pub(crate) fn herd_lands(&self, opened: &Opened<'_>, ended: &Ended, now: Moment) {
        let (mut steps, unnoted, promise) = {
            let mut inner = self.inner.lock();
            let Some(inner) = inner.as_mut() else { return };
            let Some(promise) = inner.promise.take() else { return };
            (std::mem::take(&mut inner.steps), inner.unnoted, promise)
        };
        let [began, over] = [&self.origin[0], &self.origin[1]].map(|moment| moment.load(Relaxed));
        if began > 0 {
            steps.push((TraceStep::Origin, began, if over > 0 { over } else { now }));
        }
        let landed = Landed::at(now);
        let steps: Vec<StepTimes> = steps.iter().map(|(step, from, to)| landed.step(*step, *from, *to)).collect();
        let Some(span) = herd::begin(opened, ended, &steps, landed) else { return };
        promise.shared.flights.fetch_add(1, Relaxed);
        promise.shared.steps_refused.fetch_add(unnoted, Relaxed);
        promise.shared.open.fetch_add(1, Relaxed);
        promise.keep();
        if let Some(inner) = self.inner.lock().as_mut() {
            inner.herd = Herd(Some(span));
        }
    }

    /// Whether it is a herd that had not been chosen before.
    #[inline]
    pub(crate) fn is_herd(&self) -> bool {
        self.is(Kind::Herd)
    }

    /// The flight has landed and its waiters have been woken.
    #[inline]
    pub(crate) fn landed(&self, ended: Option<&Ended>) {
        if let Some(ended) = ended {
            self.landed_told(ended);
        }
    }

    #[cold]
    fn landed_told(&self, ended: &Ended) {
        let (lit, herd) = {
            let mut inner = self.inner.lock();
            let Some(inner) = inner.as_mut() else { return };
            inner.ended = Some(*ended);
            let lit = if inner.owed == 0 { inner.lit.take() } else { inner.lit.clone() };
            (lit, inner.herd.0.clone().zip(inner.shared.clone()))
        };
        if let Some(lit) = lit {
            lit.end(ended);
        }
        if let Some((herd, shared)) = herd {
            contained(move || herd.landed());
            shared.open.fetch_sub(1, Relaxed);
        }
    }

    /// A caller has waited for a herd that had not been chosen before, until it landed.
    #[cold]
    pub(super) fn waited(&self, role: FlightRole, waited: Duration) {
        if !herd::wants_wait() {
            return;
        }
        let herd = {
            let mut inner = self.inner.lock();
            let Some(inner) = inner.as_mut() else { return };
            let Some(herd) = inner.herd.0.clone() else { return };
            if !inner.claim_wait() {
                return;
            }
            herd
        };
        contained(move || herd.waited(&HerdWait::new(role, waited)));
    }
}
