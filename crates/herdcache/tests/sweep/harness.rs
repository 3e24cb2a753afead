//! Drives one future to a cut, one action after the other, and judges what is left of it.
//!
//! Actions alternate: a poll, then one thing that happens. A future is cut after 0, 1, 2, … of them, each time in a
//! world of its own, until it is ready before the cut. What had yet to happen then happens, so that a caller who comes
//! later finds the cut one's remains. The future is polled after each thing, woken or not; the last run polls it
//! only when it was woken, as a runtime would.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use herdcache::WhenUnwatched;

use crate::quiet;
use crate::support::ms;
use crate::world::World;

/// A future that is swept. What it gives is its own business.
pub(crate) type Swept = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What happens between two polls.
pub(crate) enum Thing {
    /// The other tasks get one turn.
    Turn,
    /// Time passes: a load's step, or a timer.
    Pass(Duration),
    /// Everything that can run does so, blocking threads included, until only time could move it.
    Rest,
    /// Something of the scene's own.
    Do(Box<dyn FnOnce() + Send>),
}

/// A future in its world, and what happens to it.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) swept: Swept,
    /// What happens first; afterwards turns and a little time, in turn.
    pub(crate) things: VecDeque<Thing>,
    /// Requests of the account that it makes at its first poll; `None` if that depends.
    pub(crate) reads: Option<u64>,
    /// S5: whether it is polled within a load of another key.
    pub(crate) place: Place,
    /// What must hold as soon as it has been dropped.
    pub(crate) at_once: fn(&World) -> Result<(), String>,
}

/// Where a future is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Task,
    Load,
}

/// What a sweep has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cuts {
    /// How often the future was dropped before it was ready.
    pub(crate) cuts: usize,
    /// How many polls it took.
    pub(crate) polls: usize,
}

/// How far a future was driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Ready,
    Cut,
}

/// What became of a future.
struct Driven {
    polls: usize,
    end: End,
    /// What has yet to happen.
    left: VecDeque<Thing>,
}

/// What a scene's own future has asked of the account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    /// Requests that it makes at its first poll.
    pub(crate) reads: u64,
    pub(crate) polls: usize,
    pub(crate) end: End,
}

/// No future of these scenes needs as many actions.
const MOST: usize = 600;

impl Scene {
    pub(crate) fn new(world: &World, swept: impl Future<Output = ()> + Send + 'static) -> Self {
        let (world, swept) = (world.clone(), Box::pin(swept));
        Self { world, swept, things: VecDeque::new(), reads: Some(0), place: Place::Task, at_once: |_| Ok(()) }
    }

    /// A scene whose future makes this many requests.
    pub(crate) fn reads(mut self, reads: u64) -> Self {
        self.reads = Some(reads);
        self
    }

    /// What happens, in this order, one thing after each poll.
    pub(crate) fn then(mut self, things: impl IntoIterator<Item = Thing>) -> Self {
        self.things.extend(things);
        self
    }
}

/// A thing of the scene's own.
pub(crate) fn does(act: impl FnOnce() + Send + 'static) -> Thing {
    Thing::Do(Box::new(act))
}

/// Cuts the future of `scene` everywhere; the first law that is broken, and by which cut.
pub(crate) async fn sweep(scene: impl AsyncFn() -> Scene) -> Result<Cuts, String> {
    for cut in 0..MOST {
        let Scene { world, swept, things, reads, place, at_once } = scene().await;
        let driving = drive(swept, things, cut);
        let driven = match place {
            Place::Task => driving.await,
            Place::Load => world.within_a_load(driving).await,
        };
        let Driven { polls, end, left } = driven;
        let told = |law: String| format!("cut after {cut} actions, {polls} of them polls: {law}");
        if end == End::Cut {
            at_once(&world).map_err(told)?;
        }
        happen_all(left).await;
        quiet::rest(&world, reads.map(|reads| Own { reads, polls, end })).await.map_err(told)?;
        if end == End::Ready {
            follow(scene().await).await.map_err(|law| format!("polled when woken: {law}"))?;
            return Ok(Cuts { cuts: cut, polls });
        }
    }
    Err(format!("it is not ready after {MOST} actions"))
}

/// The same whatever becomes of loads that nobody waits for; the future takes this many polls at least.
pub(crate) async fn sweep_both(polls: usize, scene: impl AsyncFn(WhenUnwatched) -> Scene) {
    for what in [WhenUnwatched::Finish, WhenUnwatched::Abandon] {
        let swept = sweep(async || scene(what).await).await.unwrap_or_else(|law| panic!("{what:?}: {law}"));
        assert!(swept.polls >= polls && swept.cuts + 1 >= polls * 2 - 1, "{what:?}: {swept:?}");
    }
}

/// Polls, and lets things happen, until the future is ready or is dropped.
async fn drive(mut swept: Swept, mut things: VecDeque<Thing>, cut: usize) -> Driven {
    let mut polls = 0;
    for action in 0..cut {
        if action % 2 == 1 {
            happen(things.pop_front().unwrap_or_else(|| usual(action / 2))).await;
            continue;
        }
        polls += 1;
        if poll_fn(|cx| Poll::Ready(swept.as_mut().poll(cx))).await.is_ready() {
            return Driven { polls, end: End::Ready, left: things };
        }
    }
    drop(swept);
    Driven { polls, end: End::Cut, left: things }
}

/// Told when something woke it.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// Polls only when woken: whoever has something to wait for is told when it is there.
async fn follow(scene: Scene) -> Result<(), String> {
    let Scene { world, mut swept, mut things, place, .. } = scene;
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let following = async move {
        for action in 0..MOST {
            let polled = woken.0.swap(false, SeqCst).then(|| swept.as_mut().poll(&mut Context::from_waker(&waker)));
            if polled.is_some_and(|polled| polled.is_ready()) {
                return Ok(things);
            }
            happen(things.pop_front().unwrap_or_else(|| usual(action))).await;
        }
        Err("nothing wakes it any more".to_owned())
    };
    let left = match place {
        Place::Task => following.await,
        Place::Load => world.within_a_load(following).await,
    };
    happen_all(left?).await;
    quiet::rest(&world, None).await
}

/// What happens where the scene does not say.
fn usual(nth: usize) -> Thing {
    if nth % 3 == 2 { Thing::Pass(ms(2)) } else { Thing::Turn }
}

async fn happen(thing: Thing) {
    match thing {
        Thing::Turn => tokio::task::yield_now().await,
        Thing::Pass(time) => tokio::time::advance(time).await,
        // Paused time moves by itself when nothing else can, and not while a thread is blocked.
        Thing::Rest => tokio::time::sleep(ms(1)).await,
        Thing::Do(act) => act(),
    }
}

async fn happen_all(things: VecDeque<Thing>) {
    for thing in things {
        happen(thing).await;
        tokio::task::yield_now().await;
    }
}
