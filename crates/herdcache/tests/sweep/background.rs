//! Warm-ups, shutdowns, and changes whose reach somebody may wait for.

use std::sync::Arc;

use herdcache::{Loaded, Reach, WhenUnwatched};

use crate::harness::{Scene, Thing, does, sweep_both};
use crate::support::{DbError, ms};
use crate::world::{ABSENT, Answered, FAILS, NEVER, QUICK, World, gate};

fn asks(world: &World, key: u64) -> Thing {
    let world = world.clone();
    does(move || world.ask(key))
}

/// A warm-up of these keys.
fn warms<const KEYS: usize>(world: &World, keys: [u64; KEYS]) -> Scene {
    let warm = world.items.warm_up(keys);
    Scene::new(world, async move { _ = warm.await })
}

/// U1, L6: what has begun goes on, and those who joined it are answered.
#[tokio::test(start_paused = true)]
async fn u1_l6_a_warm_up_is_cut_everywhere() {
    sweep_both(10, async |what| {
        let world = World::new(what, gate(8, 4));
        world.items.insert(3, 30);
        world.ask(4);
        tokio::task::yield_now().await;
        let scene = warms(&world, [1, 2, 3, 4, QUICK, ABSENT, FAILS, 5]);
        scene.then([asks(&world, 1), Thing::Turn, asks(&world, 2), asks(&world, 5)])
    })
    .await;
}

/// U1, L6: one that finds no permit, and looks again each 100 ms.
#[tokio::test(start_paused = true)]
async fn u1_l6_a_warm_up_without_a_permit_is_cut_everywhere() {
    sweep_both(100, async |what| {
        let world = World::new(what, gate(1, 4));
        world.ask(1);
        world.ask(2);
        tokio::task::yield_now().await;
        warms(&world, [3, 4]).then([asks(&world, 3)])
    })
    .await;
}

/// U1, X1, L6: one whose cache is shut down, with keys left.
#[tokio::test(start_paused = true)]
async fn u1_x1_a_warm_up_of_a_cache_that_closes_is_cut_everywhere() {
    sweep_both(3, async |what| {
        let world = World::new(what, gate(4, 4));
        let (items, beside) = (world.items.clone(), world.clone());
        let closes = does(move || {
            beside.close();
            tokio::spawn(async move { items.shutdown(ms(50)).await });
        });
        warms(&world, [1, 2, 3]).then([Thing::Turn, closes])
    })
    .await;
}

/// The shutdown of a cache within 50 ms.
fn shuts_down(world: &World) -> Scene {
    world.close();
    let items = world.items.clone();
    Scene::new(world, async move { items.shutdown(ms(50)).await })
}

/// Loads in progress, superseded and in the queue, and one that hangs where `hangs`.
async fn work(world: &World, hangs: bool) {
    (1..4).for_each(|key| world.ask(key));
    if hangs {
        world.ask_for(NEVER, Answered::Somehow);
    }
    tokio::task::yield_now().await;
    world.items.invalidate(&1);
    // Callers who come before the shutdown.
    (1..3).for_each(|key| world.ask(key));
    tokio::task::yield_now().await;
}

/// X1, L6: a shutdown that waits for loads, and one that ends them. Dropped, it leaves the cache closed and the loads alone.
#[tokio::test(start_paused = true)]
async fn x1_l6_a_shutdown_is_cut_everywhere() {
    for hangs in [false, true] {
        sweep_both(10, async |what| {
            let world = World::new(what, gate(2, 8));
            work(&world, hangs).await;
            let late = [QUICK, 1].map(|key| {
                let world = world.clone();
                does(move || world.ask_for(key, Answered::Somehow))
            });
            shuts_down(&world).then(late)
        })
        .await;
    }
}

/// X1: whatever becomes of a shutdown, no load starts once it was polled.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_that_is_dropped_has_closed_the_cache() {
    let world = World::new(WhenUnwatched::Finish, gate(2, 8));
    world.ask(1);
    tokio::task::yield_now().await;
    let shut = tokio::time::timeout(ms(4), world.items.shutdown(ms(60_000))).await;
    assert!(shut.is_err(), "a load runs still");
    let started = world.calls.started();
    let late = world.items.get(&2).await;
    assert!(matches!(late, Err(herdcache::GetError::Closed)), "{late:?}");
    tokio::time::sleep(ms(20)).await;
    assert_eq!((world.calls.started(), world.items.peek(&1).as_deref()), (started, Some(&10)));
    world.others_are_answered().await.unwrap();
}

/// Changes of keys in the middle of loads, each of which says how far it has got.
fn changes(world: &World) -> Scene {
    let items = world.items.clone();
    Scene::new(world, async move {
        let spreads = [
            items.insert(5, 50),
            items.insert(6, Loaded::absent()),
            items.invalidate(&1),
            items.invalidate_many(&[2, 3]),
            items.invalidate_tag("all"),
            items.mark_stale(&5),
            items.clear(),
        ];
        for spread in spreads {
            assert_eq!(spread.await, Reach::Process);
        }
    })
}

/// W2, L6: a change holds at its call, whoever waits for its reach.
#[tokio::test(start_paused = true)]
async fn w2_l6_changes_are_cut_everywhere() {
    sweep_both(1, async |what| {
        let world = World::new(what, gate(4, 4));
        (1..4).for_each(|key| world.ask(key));
        tokio::task::yield_now().await;
        changes(&world).then([asks(&world, 1)])
    })
    .await;
    let world = World::new(WhenUnwatched::Finish, gate(4, 4));
    _ = world.items.insert(7, 70);
    assert_eq!(world.items.peek(&7).as_deref(), Some(&70));
    _ = world.items.invalidate(&7);
    assert!(world.items.peek(&7).is_none());
}

/// R1, L6: a refresh is no future: it goes on whatever becomes of the caller that asked for it.
#[tokio::test(start_paused = true)]
async fn r1_l6_a_caller_that_asks_for_refreshes_is_cut_everywhere() {
    sweep_both(3, async |what| {
        let world = World::new(what, gate(8, 4));
        world.items.insert(1, 10);
        let items = world.items.clone();
        let asks_for = async move {
            let _ = items.refresh(&1);
            tokio::task::yield_now().await;
            let _ = items.refresh(&2);
            tokio::task::yield_now().await;
        };
        Scene::new(&world, asks_for).then([asks(&world, 2), asks(&world, 1)])
    })
    .await;
}

/// L6: a reader of events waits for nothing, and leaves nothing.
#[tokio::test(start_paused = true)]
async fn l6_a_reader_of_events_is_cut_everywhere() {
    sweep_both(1, async |what| {
        let world = World::new(what, gate(4, 4));
        world.ask(1);
        let mut events = world.items.events();
        Scene::new(&world, async move { drop(events.take()) })
    })
    .await;
}

/// A per-call loader of a cache that nobody keeps: the load outlives every handle, and its permit comes back.
#[tokio::test(start_paused = true)]
async fn s1_l3_a_cache_may_go_while_its_loads_run() {
    let world = World::new(WhenUnwatched::Finish, gate(1, 4));
    let (gate, ended) = (world.gate.clone(), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let tell = Arc::clone(&ended);
    let asking = async move {
        let load = |_| async move {
            tokio::time::sleep(ms(20)).await;
            tell.store(true, std::sync::atomic::Ordering::SeqCst);
            Ok::<_, DbError>(1)
        };
        drop(world.items.get_with(&1, load).await);
    };
    assert!(tokio::time::timeout(ms(5), asking).await.is_err());
    assert_eq!(gate.snapshot().used(), 1);
    tokio::time::sleep(ms(50)).await;
    assert!(ended.load(std::sync::atomic::Ordering::SeqCst));
    assert_eq!(gate.snapshot().used(), 0);
}
