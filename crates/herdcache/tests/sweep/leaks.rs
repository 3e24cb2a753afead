//! The sweep notices: futures that leak when they are dropped, that take others along, and that nobody wakes.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Context, Poll};

use herdcache::{GetError, WhenUnwatched};
use tokio::sync::oneshot;

use crate::harness::{Scene, Swept, Thing, does, sweep};
use crate::support::ms;
use crate::world::{Answered, World, gate};

const KEY: u64 = 7;

/// A future whose drop forgets what it held, unless it has been ready.
struct Leaks(ManuallyDrop<Option<Swept>>);

impl Leaks {
    fn of(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(ManuallyDrop::new(Some(Box::pin(future))))
    }
}

impl Future for Leaks {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(future) = self.0.as_mut() else { return Poll::Ready(()) };
        let polled = future.as_mut().poll(cx);
        if polled.is_ready() {
            // Dropped as it should be.
            *self.0 = None;
        }
        polled
    }
}

fn world() -> World {
    World::new(WhenUnwatched::Finish, gate(1, 2))
}

/// What a sweep of this scene complains of.
async fn complaint(scene: impl AsyncFn() -> Scene) -> String {
    sweep(scene).await.expect_err("a leak goes unnoticed")
}

/// L6: a read that is forgotten is active, and waits, for ever.
#[tokio::test(start_paused = true)]
async fn l6_a_leaked_read_is_noticed() {
    let told = complaint(async || {
        let world = world();
        let items = world.items.clone();
        Scene::new(&world, Leaks::of(async move { drop(items.get(&KEY).await) })).reads(1)
    })
    .await;
    assert_eq!(told, "cut after 1 actions, 1 of them polls: L6 active, waiting: [1, 1] instead of [0, 0]");
}

/// L3, L6: so is a permit that does not come back.
#[tokio::test(start_paused = true)]
async fn l3_a_leaked_permit_is_noticed() {
    let told = complaint(async || {
        let world = world();
        let gate = world.gate.clone();
        let holds = async move {
            let permit = gate.acquire().await;
            tokio::time::sleep(ms(4)).await;
            drop(permit);
        };
        Scene::new(&world, Leaks::of(holds))
    })
    .await;
    assert_eq!(told, "cut after 1 actions, 1 of them polls: L6 permits out, queued: [1, 0] instead of [0, 0]");
}

/// G1: a place in the queue that is forgotten before its turn gets the permit, and keeps it for ever.
#[tokio::test(start_paused = true)]
async fn g1_a_leaked_place_in_the_queue_is_noticed() {
    let told = complaint(async || {
        let world = world();
        world.ask(KEY);
        tokio::task::yield_now().await;
        let gate = world.gate.clone();
        Scene::new(&world, Leaks::of(async move { drop(gate.acquire().await) }))
    })
    .await;
    // The permit lies where nobody takes it, and counts as in use.
    assert_eq!(told, "cut after 1 actions, 1 of them polls: L6 permits out, queued: [1, 0] instead of [0, 0]");
}

/// L6: a warm-up that is forgotten runs for ever.
#[tokio::test(start_paused = true)]
async fn l6_a_leaked_warm_up_is_noticed() {
    let told = complaint(async || {
        let world = world();
        let warm = world.items.warm_up([1, 2]);
        Scene::new(&world, Leaks::of(async move { _ = warm.await }))
    })
    .await;
    // It was made, though never polled.
    assert_eq!(told, "cut after 0 actions, 0 of them polls: L6 warm-ups, their width: [1, 0] instead of [0, 0]");
}

/// S1: a load that belongs to its caller takes the others along when that caller is dropped.
#[tokio::test(start_paused = true)]
async fn s1_others_who_are_not_answered_are_noticed() {
    let told = complaint(async || {
        let world = world();
        let (tell, told) = oneshot::channel();
        world.wait_for(KEY, Answered::Value, async move { told.await.unwrap_or(Err(GetError::Closed)) });
        let owns = async move {
            tokio::time::sleep(ms(4)).await;
            let _ = tell.send(Ok(None));
        };
        Scene::new(&world, owns)
    })
    .await;
    assert_eq!(told, "cut after 0 actions, 0 of them polls: S1: another caller of 7 got Err(Closed)");
    let told = complaint(async || {
        let world = world();
        world.wait_for(KEY, Answered::Somehow, std::future::pending());
        Scene::new(&world, async {})
    })
    .await;
    assert_eq!(told, "cut after 0 actions, 0 of them polls: S1, S2: another caller of 7 still waits");
}

/// L1: a request that the future did not make, or made twice, is noticed.
#[tokio::test(start_paused = true)]
async fn l1_a_ledger_that_does_not_add_up_is_noticed() {
    let told = complaint(async || {
        let world = world();
        let items = world.items.clone();
        let reads_twice = async move {
            drop(items.get(&100).await);
            drop(items.get(&101).await);
        };
        Scene::new(&world, reads_twice).reads(1)
    })
    .await;
    assert_eq!(told, "cut after 1 actions, 1 of them polls: L1 begun: 2 instead of 1");
}

/// A load that is left running when its future is dropped is noticed by what can still be loaded, not only by gauges.
#[tokio::test(start_paused = true)]
async fn s2_a_key_that_cannot_be_loaded_any_more_is_noticed() {
    let told = complaint(async || {
        let world = world();
        let items = world.items.clone();
        let closes = does(move || {
            tokio::spawn(async move { items.shutdown(ms(0)).await });
        });
        Scene::new(&world, std::future::ready(())).then([closes])
    })
    .await;
    assert!(told.contains("S2: 100 cannot be loaded any more: Closed"), "{told}");
}

/// Ready by its polls, without ever asking to be woken.
struct Unwoken(AtomicU32);

impl Future for Unwoken {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.fetch_add(1, SeqCst) < 3 { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// A future that is ready by luck only, when somebody happens to poll it.
#[tokio::test(start_paused = true)]
async fn a_lost_wake_up_is_noticed() {
    let told = complaint(async || Scene::new(&world(), Unwoken(AtomicU32::new(0))).then([Thing::Turn])).await;
    assert_eq!(told, "polled when woken: nothing wakes it any more");
}

/// A future that is never ready ends the sweep as well.
#[tokio::test(start_paused = true)]
async fn a_future_that_is_never_ready_is_noticed() {
    // One world will do: nothing happens in it.
    let world = Arc::new(world());
    world.close();
    let told = complaint(async || Scene::new(&world, std::future::pending())).await;
    assert_eq!(told, "it is not ready after 600 actions");
}
