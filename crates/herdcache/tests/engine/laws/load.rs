//! The scripted origin: loads that write themselves into the record, and do as their script says.
//!
//! What it is offered for confirmation is checked here (A4, L5); whether it might begin at all, in `allowed.rs`.

use std::future::Future;
use std::ops::Range;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use herdcache::{LoadContext, Loaded, Origin};
use tokio::time::{Instant, Sleep};

use super::allowed;
use super::batch::Batch;
use super::history::{End, Keep, Leave, Made, Script, Sure, Tags, Terms};
use super::latch::Work;
use super::world::{Came, Shared, World};

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

/// The place of what the application's fallback gives.
pub(super) const DEGRADED: usize = usize::MAX - 1;

/// A load's error, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Down(pub(super) Row);

/// Makes the load that the script of the flight's opener asks for.
pub(super) fn make(world: &Shared, cx: LoadContext<Key, Row>) -> Load {
    let key = *cx.key();
    let offered = offered(world, &cx);
    let script = world.lock().asks[key.tag].script;
    if matches!(script.end, End::PanicsWhenMade) {
        // No origin call: a flight that waits for a permit makes its load first.
        let birth = record(&mut world.lock(), &key, offered);
        end(world, birth, Came::Panic);
        world.lock().part_over(birth);
        panic_as(birth);
    }
    Load { world: world.clone(), key, script, offered, cx: Some(cx), birth: None, sleep: None, work: None }
}

/// A load is made; gives the row of the value that it may confirm.
pub(super) fn offered(world: &Shared, cx: &LoadContext<Key, Row>) -> Option<usize> {
    let mut world = world.lock();
    if let Err(fault) = may_be_offered(&world, cx) {
        world.faults.push(fault);
    }
    cx.previous().map(|row| row.birth)
}

/// A4, L5: what a loader may confirm is of its key, no older than the last change, and comes with its own marks.
fn may_be_offered(world: &World, cx: &LoadContext<Key, Row>) -> Result<(), String> {
    let Some(row) = cx.previous() else {
        return match (cx.validator(), cx.previous_version()) {
            (None, None) => Ok(()),
            marks => Err(format!("A4: marks of no value: {marks:?}")),
        };
    };
    let born = &world.births[row.birth];
    // It was looked up when the flight was opened; this may be later.
    let opened = world.asks[cx.key().tag].seq;
    let mut of_row = world.rows_of(row.birth);
    if row.key != cx.key().number || !of_row.any(|birth| world.since(birth) >= world.changed(birth, opened)) {
        return Err(format!("L5: a loader was offered what had been changed: {born:?}"));
    }
    if cx.validator() != Some(&*row.birth.to_string()) || cx.previous_version() != born.terms.version {
        return Err(format!("A4: validator {:?}, version {:?}: {born:?}", cx.validator(), cx.previous_version()));
    }
    Ok(())
}

/// The origin of a cache that histories happen to.
pub(super) struct Source(pub(super) Shared);

impl Origin<Key, Row> for Source {
    type Error = Down;
    const MAX_BATCH: usize = 3;

    fn load(&self, cx: LoadContext<Key, Row>) -> impl Future<Output = Result<Loaded<Row>, Down>> + Send {
        make(&self.0, cx)
    }

    fn load_many(
        &self,
        keys: Vec<LoadContext<Key, Row>>,
    ) -> impl Future<Output = Result<Vec<(Key, Loaded<Row>)>, Down>> + Send {
        Batch::new(&self.0, &keys)
    }
}

/// One load.
pub(super) struct Load {
    world: Shared,
    key: Key,
    script: Script,
    /// The row of the value that it may confirm.
    offered: Option<usize>,
    /// Taken by its blocking work.
    cx: Option<LoadContext<Key, Row>>,
    /// Its place in the record, once it has begun.
    birth: Option<usize>,
    sleep: Option<Pin<Box<Sleep>>>,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Load {
    /// Waits for blocking work, which goes on if this load is given up.
    fn block(&mut self, birth: usize, cx: &mut Context<'_>) -> Poll<()> {
        if let (None, Some(own)) = (&self.work, self.cx.take()) {
            let (work, latch) = (Work::of(&self.world, birth), Arc::clone(&self.world.lock().latch));
            let ticket = latch.ticket();
            let blocking = move || {
                let _work = work;
                latch.wait(ticket);
            };
            // It fails only when its runtime ends.
            self.work = Some(Box::pin(async move { own.run_blocking(blocking).await.unwrap_or_default() }));
        }
        self.work.as_mut().map_or(Poll::Ready(()), |work| work.as_mut().poll(cx))
    }
}

impl Future for Load {
    type Output = Result<Loaded<Row>, Down>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let birth = *this.birth.get_or_insert_with(|| begin(&this.world, this.key, this.offered));
        if let Some(after) = this.script.after {
            let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
            ready!(sleep.as_mut().poll(cx));
        }
        if let End::Blocks(_) = this.script.end {
            ready!(this.block(birth, cx));
        }
        match this.script.end {
            End::Gives(..) | End::Confirms(..) | End::Blocks(_) => {
                let (came, loaded) = answer(this.script.end, this.offered, Row { key: this.key.number, birth });
                end_with(&this.world, birth, came, this.offered);
                Poll::Ready(Ok(loaded))
            }
            End::Fails => {
                end(&this.world, birth, Came::Error);
                Poll::Ready(Err(Down(Row { key: this.key.number, birth })))
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
        world.part_over(birth);
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

/// What a script that ends well brings, as the record and as the engine see it.
pub(super) fn answer(end: End, offered: Option<usize>, row: Row) -> (Came, Loaded<Row>) {
    match (end, offered) {
        (End::Confirms(terms, _), Some(_)) => (Came::Confirmation, kept(Loaded::not_modified(), terms)),
        (End::Confirms(terms, Sure::Never), None) => (Came::Nonsense, kept(Loaded::not_modified(), terms)),
        (End::Gives(made, terms), _) => (made.into(), loaded(made, terms, row)),
        (End::Confirms(terms, Sure::Gives), None) | (End::Blocks(terms), _) => {
            (Came::Value, loaded(Made::Value, terms, row))
        }
        (End::Fails | End::PanicsWhenMade | End::PanicsWhenPolled | End::Never, _) => {
            panic!("this script brings nothing")
        }
    }
}

pub(super) fn loaded(made: Made, terms: Terms, row: Row) -> Loaded<Row> {
    let mut loaded = match made {
        Made::Value => Loaded::value(row).validator(row.birth.to_string()),
        Made::Absence => Loaded::absent(),
    };
    if let Some(version) = terms.version {
        loaded = loaded.version(version);
    }
    if terms.tags != Tags::NONE {
        loaded = loaded.tags(terms.tags.names());
    }
    kept(loaded, terms)
}

/// How it wants to be kept.
fn kept(mut loaded: Loaded<Row>, terms: Terms) -> Loaded<Row> {
    if let Some(fresh_for) = terms.fresh_for {
        loaded = loaded.fresh_for(fresh_for);
    }
    if let Some(stale_for) = terms.stale_for {
        loaded = loaded.stale_for(stale_for);
    }
    if !terms.source_age.is_zero() {
        loaded = loaded.source_age(terms.source_age);
    }
    match terms.keep {
        Keep::Store => loaded,
        Keep::DoNotStore => loaded.do_not_store(),
    }
}

pub(super) fn end(world: &Shared, birth: usize, came: Came) {
    end_with(world, birth, came, None);
}

/// A load ends; `offered` is the row of what it confirms if it does.
pub(super) fn end_with(world: &Shared, birth: usize, came: Came, offered: Option<usize>) {
    let mut world = world.lock();
    let seq = world.tick();
    let birth = &mut world.births[birth];
    birth.ended = Some((seq, Instant::now()));
    birth.came = came;
    birth.confirms = offered.filter(|_| came == Came::Confirmation);
}

/// A load begins: its place in the record.
fn begin(world: &Shared, key: Key, offered: Option<usize>) -> usize {
    begin_all(world, &[(key, offered)]).start
}

/// The loads of one call begin: their places in the record.
pub(super) fn begin_all(world: &Shared, keys: &[(Key, Option<usize>)]) -> Range<usize> {
    let mut world = world.lock();
    let first = world.births.len();
    for (key, offered) in keys {
        let birth = record(&mut world, key, *offered);
        world.births[birth].call = first;
    }
    let births = first..world.births.len();
    for birth in births.clone() {
        if let Err(fault) = allowed::may_begin(&world, birth) {
            world.faults.push(fault);
        }
    }
    births
}

/// What a load is to bring is known from its start, also if it never gets that far.
fn record(world: &mut World, key: &Key, offered: Option<usize>) -> usize {
    let terms = match (world.asks[key.tag].script.end, offered) {
        (End::Confirms(terms, _), Some(row)) => {
            let of_row = world.births[row].terms;
            Terms { version: of_row.version, tags: of_row.tags, ..terms }
        }
        (End::Gives(_, terms) | End::Confirms(terms, _) | End::Blocks(terms), _) => terms,
        (End::Fails | End::PanicsWhenMade | End::PanicsWhenPolled | End::Never, _) => {
            Terms { keep: Keep::DoNotStore, ..Terms::PLAIN }
        }
    };
    world.load(key.number, key.tag, terms)
}
