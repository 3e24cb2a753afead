//! The scripted origin: loads that write themselves into the record, and do as their script says.
//!
//! Laws that are about running loads (L2, L3, E1, X1) are checked here, at the moment a load begins.

use std::future::Future;
use std::ops::Range;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use herdcache::herdfeed::Measure;
use herdcache::{LoadContext, Loaded, Origin, WhenUnwatched};
use tokio::time::{Instant, Sleep};

use super::batch::Batch;
use super::history::{End, Keep, Leave, Made, Script, Terms};
use super::world::{Asked, Birth, Came, Shared, State, World};

/// A key that remembers which request it came with; equal to any other of its number.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(super) struct Key {
    pub(super) number: u64,
    #[serde(skip)]
    pub(super) tag: usize,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// A value that names its key, and its place in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: u64,
    pub(super) birth: usize,
}

/// A load's error, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Down(pub(super) Row);

/// Makes the load that the script of the flight's opener asks for.
pub(super) fn make(world: &Shared, cx: &LoadContext<Key, Row>) -> Load {
    let tag = cx.key().tag;
    let script = world.lock().asks[tag].script;
    if matches!(script.end, End::PanicsWhenMade) {
        // No origin call: a flight that waits for a permit makes its load first.
        let birth = record(&mut world.lock(), cx.key());
        end(world, birth, Came::Panic);
        world.lock().births[birth].state = State::Over;
        panic_as(birth);
    }
    Load { world: world.clone(), key: *cx.key(), script, birth: None, sleep: None }
}

/// The origin of a cache that histories happen to.
pub(super) struct Source(pub(super) Shared);

impl Origin<Key, Row> for Source {
    type Error = Down;
    const MAX_BATCH: usize = 3;

    fn load(&self, cx: LoadContext<Key, Row>) -> impl Future<Output = Result<Loaded<Row>, Down>> + Send {
        make(&self.0, &cx)
    }

    fn load_many(
        &self,
        keys: Vec<LoadContext<Key, Row>>,
    ) -> impl Future<Output = Result<Vec<(Key, Loaded<Row>)>, Down>> + Send {
        Batch::new(&self.0, keys.iter().map(|cx| *cx.key()).collect())
    }
}

/// One load.
pub(super) struct Load {
    world: Shared,
    key: Key,
    script: Script,
    /// Its place in the record, once it has begun.
    birth: Option<usize>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Future for Load {
    type Output = Result<Loaded<Row>, Down>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let birth = *this.birth.get_or_insert_with(|| begin(&this.world, &this.key));
        if let Some(after) = this.script.after {
            let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
            ready!(sleep.as_mut().poll(cx));
        }
        let row = Row { key: this.key.number, birth };
        match this.script.end {
            End::Gives(made, terms) => {
                end(&this.world, birth, made.into());
                Poll::Ready(Ok(loaded(made, terms, row)))
            }
            End::Fails => {
                end(&this.world, birth, Came::Error);
                Poll::Ready(Err(Down(row)))
            }
            End::PanicsWhenPolled | End::PanicsWhenMade => {
                end(&this.world, birth, Came::Panic);
                panic_as(birth)
            }
            End::Never => Poll::Pending,
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let Some(birth) = self.birth else { return };
        let mut world = self.world.lock();
        world.births[birth].state = State::Over;
        let panics = self.script.leave == Leave::Panics && !std::thread::panicking();
        if !panics {
            return;
        }
        if world.births[birth].ended.is_some() {
            // What it had brought is lost in the panic.
            world.births[birth].came = Came::Panic;
        }
        drop(world);
        panic_as(birth);
    }
}

/// Panics without the noise of the panic hook.
pub(super) fn panic_as(birth: usize) -> ! {
    resume_unwind(Box::new(panic_text(birth)))
}

/// What such a panic says.
pub(super) fn panic_text(birth: usize) -> String {
    format!("load {birth}")
}

pub(super) fn loaded(made: Made, terms: Terms, row: Row) -> Loaded<Row> {
    let mut loaded = match made {
        Made::Value => Loaded::value(row),
        Made::Absence => Loaded::absent(),
    };
    if let Some(fresh_for) = terms.fresh_for {
        loaded = loaded.fresh_for(fresh_for);
    }
    if let Some(stale_for) = terms.stale_for {
        loaded = loaded.stale_for(stale_for);
    }
    match terms.keep {
        Keep::Store => loaded,
        Keep::DoNotStore => loaded.do_not_store(),
    }
}

pub(super) fn end(world: &Shared, birth: usize, came: Came) {
    let mut world = world.lock();
    let seq = world.tick();
    let birth = &mut world.births[birth];
    birth.ended = Some((seq, Instant::now()));
    birth.came = came;
}

/// A load begins: its place in the record.
fn begin(world: &Shared, key: &Key) -> usize {
    begin_all(world, std::slice::from_ref(key)).start
}

/// The loads of one call begin: their places in the record.
pub(super) fn begin_all(world: &Shared, keys: &[Key]) -> Range<usize> {
    let mut world = world.lock();
    let first = world.births.len();
    for key in keys {
        let birth = record(&mut world, key);
        world.births[birth].call = first;
    }
    let births = first..world.births.len();
    for birth in births.clone() {
        if let Err(fault) = may_begin(&world, birth) {
            world.faults.push(fault);
        }
    }
    births
}

fn record(world: &mut World, key: &Key) -> usize {
    let terms = match world.asks[key.tag].script.end {
        End::Gives(_, terms) => terms,
        _ => Terms { fresh_for: None, stale_for: None, keep: Keep::DoNotStore },
    };
    let began = world.tick();
    world.births.push(Birth {
        key: key.number,
        opener: Some(key.tag),
        call: world.births.len(),
        began,
        began_at: Instant::now(),
        ended: None,
        came: Came::Nothing,
        terms,
        state: State::Running,
    });
    world.births.len() - 1
}

/// Whether this load might begin now, beside those that run.
fn may_begin(world: &World, place: usize) -> Result<(), String> {
    let birth = &world.births[place];
    let opened = world.opened(birth);
    if world.closed.is_some_and(|closed| opened > closed) {
        return Err(format!("X1: a load began for a caller who came after the shutdown: {birth:?}"));
    }
    if world.under(birth, Measure::Permits) {
        let running = World::calls(world.running().filter(|other| world.under(other, Measure::Permits)));
        if running > world.setup.permits {
            return Err(format!("L3: {running} origin calls under {} permits", world.setup.permits));
        }
    }
    if world.under(birth, Measure::SingleFlight) {
        one_flight(world, place)?;
    }
    warm_enough(world, birth, opened)
}

/// L2: one load of a key that nothing has overtaken, two in all.
fn one_flight(world: &World, place: usize) -> Result<(), String> {
    let key = world.births[place].key;
    let loads: Vec<&Birth> =
        world.running().filter(|load| load.key == key && world.under(load, Measure::SingleFlight)).collect();
    let current = |load: &&&Birth| {
        world.doomed(load, u64::MAX).is_none() && !overran(world, load) && !given_up(world, load, place)
    };
    let current = loads.iter().filter(current).count();
    if loads.len() > 2 || current > 1 {
        return Err(format!("L2: {} loads of a key, {current} of them current: {loads:#?}", loads.len()));
    }
    Ok(())
}

/// Whether the load's flight has passed a limit by now.
fn overran(world: &World, load: &Birth) -> bool {
    let now = Instant::now();
    let opened_at = load.opener.map_or(load.began_at, |tag| world.asks[tag].at);
    now >= load.began_at + world.setup.origin_timeout || now >= opened_at + world.setup.flight_deadline
}

/// S1: whether nobody waits for the load any more, and the cache gives it up then.
fn given_up(world: &World, load: &Birth, newest: usize) -> bool {
    let (opened, newest) = (world.opened(load), world.opened(&world.births[newest]));
    let waits = |asked: &Asked| {
        asked.key == load.key && asked.state == State::Running && asked.seq >= opened && asked.seq < newest
    };
    world.setup.when_unwatched == WhenUnwatched::Abandon && opened < newest && !world.asks.iter().any(waits)
}

/// E1: no flight opens while its key cools after a failure that still stands.
fn warm_enough(world: &World, birth: &Birth, opened: u64) -> Result<(), String> {
    // Few flights mean few places for cooling keys, of which one may be forgotten for another.
    if world.ever_off.contains(&Measure::SingleFlight) || world.setup.max_flights < 1_000 {
        return Ok(());
    }
    let last = world.births.iter().filter(|other| other.key == birth.key && other.opener.is_some()).filter(|other| {
        let before = other.ended.is_some_and(|(seq, _)| seq < opened);
        before && world.doomed(other, opened).is_none()
    });
    let Some(last) = last.max_by_key(|other| other.ended.map(|(seq, _)| seq)) else { return Ok(()) };
    let (Came::Error | Came::Panic | Came::LeftOut, Some((_, failed_at))) = (last.came, last.ended) else {
        return Ok(());
    };
    let opened_at = birth.opener.map_or(birth.began_at, |tag| world.asks[tag].at);
    if opened_at < failed_at + world.setup.cooling.0 {
        return Err(format!("E1: a flight was opened while its key cooled: {birth:#?} after {last:#?}"));
    }
    Ok(())
}
