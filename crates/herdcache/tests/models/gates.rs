//! Fewer permits than loads: the queue, those who leave it, and loads within loads.

use std::time::Duration;

use herdcache::{GetError, Ttl};

use shuttle_tokio::task::JoinHandle;

use crate::explore::explore;
use crate::world::{How, World, one_of};

const MS: Duration = Duration::from_millis(1);

/// L3, L6, G1: one permit, three keys, callers that go, a queue timeout that may pass.
#[test]
fn g1_l3_loads_queue_for_one_permit() {
    explore(|| async {
        let world = World::new(1);
        let callers = [0, 1, 2].map(|key| world.ask(key, one_of(&[How::AtOnce, How::Later, How::Fails])));
        callers[1].abort();
        herdcache::model::advance(600 * MS);
        for caller in callers {
            match caller.await {
                Err(_) | Ok(Ok(Some(_)) | Err(GetError::Failed(_) | GetError::Rejected { .. })) => {}
                Ok(other) => panic!("{other:?}"),
            }
        }
        world.rest().await;
    });
}

/// L3, L6: the queue's place and the permit that is on its way when its cache's load is given up.
#[test]
fn l6_a_permit_comes_as_its_load_is_given_up() {
    explore(|| async {
        let world = World::built(1, Ttl::fresh_for(Duration::from_secs(60)), |builder| {
            builder.when_unwatched(herdcache::WhenUnwatched::Abandon)
        });
        let holds = world.ask(0, How::Later);
        let queued = [1, 2].map(|key| world.ask(key, How::Later));
        queued[0].abort();
        let _ = holds.await;
        for caller in queued {
            let _ = caller.await;
        }
        world.rest().await;
        world.read(0, How::Later).await.unwrap();
    });
}

/// S5, L3: loads within a load run under its permit, one at a time, and nobody waits for himself.
#[test]
fn s5_l3_a_load_lends_its_permit() {
    explore(|| async {
        let world = World::built(1, Ttl::fresh_for(Duration::from_secs(60)), |builder| builder);
        let outer = shuttle_tokio::spawn({
            let world = world.clone();
            async move {
                let inner = world.clone();
                let load = move |_| async move {
                    // The outer load is not counted: what is bounded is who calls the origin at once.
                    let both = [
                        inner.cache.get_with(&1, inner.load(1, How::Later)),
                        inner.cache.get_with(&2, inner.load(2, How::Later)),
                    ];
                    let mut sum = 0;
                    for one in both {
                        sum += *one.await.map_err(|_| crate::world::Down)?.unwrap();
                    }
                    Ok(sum)
                };
                world.cache.get_with(&0, load).await.map(|answer| *answer.unwrap())
            }
        });
        let beside = world.ask(1, How::Later);
        assert_eq!(outer.await.unwrap().unwrap(), 2);
        beside.await.unwrap().unwrap();
        world.rest().await;
    });
}

/// L3, S7: a load that its flight has ended without keeps its permit until it has really ended.
#[test]
fn l3_s7_an_overrun_load_keeps_its_permit() {
    explore(|| async {
        let world = World::built(1, Ttl::fresh_for(Duration::from_secs(60)), |builder| builder.origin_timeout(20 * MS));
        let hangs = world.ask(0, How::Hangs);
        let queued = [1, 2].map(|key| world.ask(key, How::AtOnce));
        while !(hangs.is_finished() && queued.iter().all(JoinHandle::is_finished)) {
            herdcache::model::advance(10 * MS);
        }
        for caller in queued {
            // The clock may have been faster than the queue.
            let got = caller.await.unwrap();
            assert!(matches!(got, Ok(Some(_)) | Err(GetError::Rejected { .. } | GetError::Failed(_))), "{got:?}");
        }
        world.rest().await;
    });
}
