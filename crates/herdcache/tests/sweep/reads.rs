//! Reads that lead, join, are answered at once, or fail.

use herdcache::WhenUnwatched;

use crate::harness::{Place, Scene, Thing, does, sweep_both};
use crate::support::ms;
use crate::world::{ABSENT, Answered, FAILS, NEVER, PANICS, QUICK, World, gate};

const KEY: u64 = 7;

/// A read by the bound origin.
fn reads(world: &World, key: u64) -> Scene {
    let items = world.items.clone();
    Scene::new(world, async move { drop(items.get(&key).await) }).reads(1)
}

/// Somebody else comes for the same key after each of the first polls.
fn company(world: &World, key: u64, must_be: Answered) -> Vec<Thing> {
    let asks = |_| {
        let world = world.clone();
        does(move || world.ask_for(key, must_be))
    };
    (0..3).map(asks).collect()
}

/// S1, L1, L6: whoever opened the flight may leave it at any await; its load is for the others.
#[tokio::test(start_paused = true)]
async fn s1_l6_a_leader_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = World::new(what, gate(4, 4));
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// S1, A2: the same where the loader is the caller's own, and it is alone until it has left.
#[tokio::test(start_paused = true)]
async fn s1_l6_a_leader_with_a_loader_of_its_own_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = World::new(what, gate(4, 4));
        let (items, calls) = (world.items.clone(), std::sync::Arc::clone(&world.calls));
        let read = async move {
            let load = |_| async move {
                let _call = calls.call();
                for _ in 0..3 {
                    tokio::time::sleep(ms(4)).await;
                    tokio::task::yield_now().await;
                }
                Ok(KEY * 10)
            };
            drop(items.get_with(&KEY, load).await);
        };
        Scene::new(&world, read).reads(1)
    })
    .await;
}

/// S1, L6: a caller who joined another's flight leaves it as it was.
#[tokio::test(start_paused = true)]
async fn s1_l6_a_waiter_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = World::new(what, gate(4, 4));
        world.ask(KEY);
        tokio::task::yield_now().await;
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// L6, E1: absences, errors and panics end as well, whoever has left meanwhile.
#[tokio::test(start_paused = true)]
async fn e1_l6_reads_of_loads_without_a_value_are_cut_everywhere() {
    for key in [ABSENT, FAILS, PANICS] {
        sweep_both(3, async |what| {
            let world = World::new(what, gate(4, 4));
            reads(&world, key).then(company(&world, key, Answered::Somehow))
        })
        .await;
    }
}

/// S7, L6: a load that is never answered ends at its limit, and takes everybody along.
#[tokio::test(start_paused = true)]
async fn s7_l6_a_read_that_is_never_answered_is_cut_everywhere() {
    sweep_both(50, async |what| {
        let world = World::with(what, gate(4, 4), |builder| builder.origin_timeout(ms(40)));
        reads(&world, NEVER).then(company(&world, NEVER, Answered::Somehow))
    })
    .await;
}

/// L6: what is ready at its first poll is nothing to cut but itself: a load that waits for nothing, a hit, an absence.
#[tokio::test(start_paused = true)]
async fn l6_reads_that_wait_for_nothing_leave_nothing() {
    sweep_both(1, async |what| reads(&World::new(what, gate(4, 4)), QUICK)).await;
    for known in [Some(KEY * 10), None] {
        sweep_both(1, async |what| {
            let world = World::new(what, gate(4, 4));
            world.items.insert(KEY, known);
            reads(&world, KEY)
        })
        .await;
    }
}

/// R1, L6: a reader of a stale value leaves its refresh to go on.
#[tokio::test(start_paused = true)]
async fn r1_l6_a_reader_of_a_stale_value_is_cut_everywhere() {
    sweep_both(1, async |what| {
        let world = World::new(what, gate(4, 4));
        world.items.insert(KEY, KEY * 10);
        tokio::time::sleep(ms(1_500)).await;
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// F4, L6: so does one whose read began a refresh ahead of expiry.
#[tokio::test(start_paused = true)]
async fn f4_l6_a_reader_that_refreshes_ahead_is_cut_everywhere() {
    sweep_both(1, async |what| {
        // A millisecond before expiry: 99 hits of 100 refresh, and the others are only hits.
        let world = World::with(what, gate(4, 4), |builder| builder.early_refresh(10.0));
        world.ask(KEY);
        tokio::time::sleep(ms(1_011)).await;
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// S5, L3: a read within a load runs under its parent's permit, and gives it back wherever it is cut.
#[tokio::test(start_paused = true)]
async fn s5_l3_a_nested_read_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = World::new(what, gate(1, 4));
        let mut scene = reads(&world, KEY).then(company(&world, KEY, Answered::Value));
        scene.place = Place::Load;
        scene
    })
    .await;
}

/// L2, L6: without any protection each read has a load of its own, which is nobody else's.
#[tokio::test(start_paused = true)]
async fn l2_l6_a_read_without_single_flight_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = World::with(what, gate(4, 4), herdcache::Builder::observe_only);
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// S1, W2: a change of the key in the middle; callers from before and after it are answered.
#[tokio::test(start_paused = true)]
async fn w2_l6_a_read_that_an_invalidation_overtakes_is_cut_everywhere() {
    sweep_both(6, async |what: WhenUnwatched| {
        let world = World::new(what, gate(4, 4));
        let (items, again) = (world.items.clone(), world.clone());
        let changes = [does(move || _ = items.invalidate(&KEY)), does(move || again.ask(KEY)), Thing::Turn];
        reads(&world, KEY).then(company(&world, KEY, Answered::Value)).then(changes)
    })
    .await;
}
