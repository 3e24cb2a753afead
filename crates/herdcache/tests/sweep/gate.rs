//! Permits for queries that bypass every cache.

use herdcache::{Gate, WhenUnwatched};

use crate::harness::{Scene, Thing, does, sweep_both};
use crate::support::ms;
use crate::world::{Answered, FAILS, NEVER, World, gate};

/// A query that holds its permit for 4 ms, and tells how it went.
fn queries(world: &World) -> Scene {
    let gate: Gate = world.gate.clone();
    Scene::new(world, async move {
        let Ok(permit) = gate.acquire().await else { return };
        tokio::time::sleep(ms(4)).await;
        permit.answered();
    })
}

fn asks(world: &World, key: u64) -> Thing {
    let world = world.clone();
    does(move || world.ask(key))
}

/// G1, L3, L6: a permit that is free, and loads that wait for it.
#[tokio::test(start_paused = true)]
async fn g1_l6_a_query_is_cut_everywhere() {
    sweep_both(3, async |what| {
        let world = World::new(what, gate(1, 4));
        queries(&world).then([asks(&world, 1), Thing::Turn, asks(&world, 2)])
    })
    .await;
}

/// G1, L3, L6: in the queue, before and behind loads. What is on its way to it when it is dropped goes to the next.
#[tokio::test(start_paused = true)]
async fn g1_l6_a_query_in_the_queue_is_cut_everywhere() {
    sweep_both(10, async |what| {
        let world = World::new(what, gate(1, 4));
        world.ask(1);
        world.ask(2);
        tokio::task::yield_now().await;
        queries(&world).then([asks(&world, 3), Thing::Turn, asks(&world, 4)])
    })
    .await;
}

/// G1, L6: in a queue in which it waits too long, and in one that is full.
#[tokio::test(start_paused = true)]
async fn g1_l6_a_query_that_is_refused_is_cut_everywhere() {
    for (places, polls) in [(4, 8), (0, 1)] {
        sweep_both(polls, async |what| {
            let world = World::new(what, gate(1, places).queue_timeout(ms(10)));
            world.ask_for(NEVER, Answered::Somehow);
            tokio::task::yield_now().await;
            queries(&world)
        })
        .await;
    }
}

/// G5, L6: as the one probe of a gate that is shut.
#[tokio::test(start_paused = true)]
async fn g5_l6_a_query_that_is_a_probe_is_cut_everywhere() {
    sweep_both(3, async |what: WhenUnwatched| {
        let fail_fast = herdcache::FailFast::new().at_least(2).window(ms(1_000)).probe_every(ms(10));
        let world = World::new(what, gate(1, 4).fail_fast(fail_fast));
        for key in FAILS..FAILS + 4 {
            world.ask_for(key, Answered::Somehow);
        }
        tokio::time::sleep(ms(30)).await;
        queries(&world)
    })
    .await;
}

/// G1: a place in the queue is free as soon as the query that had it is gone, long before its turn.
#[tokio::test(start_paused = true)]
async fn g1_a_query_that_is_cut_in_the_queue_frees_its_place_at_once() {
    sweep_both(20, async |what| {
        let world = World::new(what, gate(1, 1).queue_timeout(ms(40)));
        world.ask_for(NEVER, Answered::Somehow);
        tokio::task::yield_now().await;
        let mut scene = queries(&world);
        scene.at_once = |world| match world.gate.snapshot().pending {
            0 => Ok(()),
            pending => Err(format!("G1: {pending} places of the queue are taken")),
        };
        scene
    })
    .await;
}

/// G3, L6: before a gate whose limit moves.
#[tokio::test(start_paused = true)]
async fn g3_l6_a_query_of_an_adaptive_gate_is_cut_everywhere() {
    sweep_both(8, async |what| {
        let world = World::new(what, gate(4, 8).adaptive_from(1));
        (1..5).for_each(|key| world.ask(key));
        tokio::task::yield_now().await;
        queries(&world).then([asks(&world, 5)])
    })
    .await;
}
