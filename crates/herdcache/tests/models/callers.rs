//! Leaders, waiters, and those who go before the end.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use herdcache::{GetError, Ttl, WhenUnwatched};

use shuttle_tokio::task::JoinHandle;

use crate::explore::explore;
use crate::world::{How, World, one_of};

const MS: Duration = Duration::from_millis(1);

/// S1: cancelling any caller, the first included, disturbs no other.
#[test]
fn s1_the_leader_goes_and_the_waiters_are_answered() {
    explore(|| async {
        let world = World::new(2);
        let leader = world.ask(0, How::Later);
        let waiters = [0; 2].map(|key| world.ask(key, How::Later));
        leader.abort();
        for waiter in waiters {
            assert_eq!(*waiter.await.unwrap().unwrap().unwrap(), 1);
        }
        let _ = leader.await;
        assert_eq!(world.origin.loads.load(SeqCst), 1, "L2: a second load of the key");
        world.rest().await;
    });
}

/// S4, S7: wait timeouts, the origin timeout and the flight's deadline while a load hangs.
#[test]
fn s4_s7_limits_pass_while_a_load_hangs() {
    explore(|| async {
        let world = World::built(2, Ttl::fresh_for(Duration::from_secs(60)), |builder| {
            builder.origin_timeout(20 * MS).flight_deadline(30 * MS).cooling(10 * MS, 10 * MS)
        });
        let how = one_of(&[How::Hangs, How::Later, How::Fails]);
        let patient = [(); 2].map(|()| world.ask(0, how));
        let hurried = world.ask_within(10 * MS, 0, how);
        while !(hurried.is_finished() && patient.iter().all(JoinHandle::is_finished)) {
            herdcache::model::advance(10 * MS);
        }
        let first = hurried.await.unwrap();
        for caller in patient {
            match (how, caller.await.unwrap()) {
                (How::Later, Ok(Some(answer))) => assert_eq!(*answer, 1),
                // A machine that is slow enough makes any load late.
                (_, Err(GetError::Failed(_) | GetError::Cooling { .. })) => {}
                (_, other) => panic!("{how:?} ended as {other:?}"),
            }
        }
        if let (How::Hangs, Err(error)) = (how, &first) {
            assert!(matches!(error, GetError::WaitTimeout { .. } | GetError::Failed(_) | GetError::Cooling { .. }));
        }
        // The hurried one may have come last, to a load of its own: nobody waits for that any more, and it hangs until
        // its time is over.
        while world.cache.snapshot().flights_active > 0 {
            herdcache::model::advance(10 * MS);
            shuttle_tokio::task::yield_now().await;
        }
        world.rest().await;
    });
}

/// S1: a load that nobody waits for is given up; whoever comes then has one that is not.
#[test]
fn s1_nobody_joins_a_load_that_is_given_up() {
    explore(|| async {
        let world = World::built(2, Ttl::fresh_for(Duration::from_secs(60)), |builder| {
            builder.when_unwatched(WhenUnwatched::Abandon)
        });
        let goes = world.ask(0, How::Hangs);
        let comes = world.ask(0, How::Later);
        shuttle_tokio::task::yield_now().await;
        goes.abort();
        // It may have joined the one that hangs, which then goes on for it.
        comes.abort();
        let _ = goes.await;
        let _ = comes.await;
        let last = world.read(0, How::Later).await;
        assert_eq!(*last.unwrap().unwrap(), 1);
        world.rest().await;
    });
}

/// E1: a failed load is shared, and its key cools for whoever comes later.
#[test]
fn e1_a_failure_is_shared() {
    explore(|| async {
        let world = World::new(2);
        let callers = [How::Fails; 3].map(|how| world.ask(0, how));
        for caller in callers {
            let error = caller.await.unwrap().unwrap_err();
            assert!(matches!(error, GetError::Failed(_) | GetError::Cooling { .. }), "{error:?}");
        }
        assert_eq!(world.origin.loads.load(SeqCst), 1, "E1: one call, one error");
        world.rest().await;
    });
}

/// R1: many readers of a stale value start one refresh.
#[test]
fn r1_a_stale_value_is_refreshed_once() {
    explore(|| async {
        let ttl = Ttl::fresh_for(10 * MS).stale_for(Duration::from_secs(60));
        let world = World::built(4, ttl, |builder| builder);
        world.read(0, How::AtOnce).await.unwrap();
        herdcache::model::advance(20 * MS);
        let readers = [How::Later; 3].map(|how| world.ask(0, how));
        for reader in readers {
            assert_eq!(*reader.await.unwrap().unwrap().unwrap(), 1);
        }
        world.rest().await;
        assert_eq!(world.origin.loads.load(SeqCst), 2, "R1: more than one refresh");
    });
}
