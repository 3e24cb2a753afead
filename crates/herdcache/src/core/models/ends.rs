//! The ends of one flight against each other, and against those who wait for it.

use std::sync::Arc;
use std::task::Waker;

use crate::sync::Notify;

use super::{OF_THREE, OF_TWO, One, Source, cache, explore, get, landing, miss, opened, spawn};
use crate::core::join::Turn;
use crate::flight::{Landing, Serves};
use crate::loaded::Loaded;
use crate::origin::call::{Call, Part, Ticket};
use crate::sync::plain::atomic::Ordering::Relaxed;
use crate::unwatched::WhenUnwatched;

/// L1, S2, S7: its load, its deadline and a waiter: one end, and nobody waits for ever.
#[test]
fn l1_a_load_and_a_deadline_end_one_flight_once() {
    explore(OF_THREE, || {
        let cache = cache(WhenUnwatched::Finish);
        let core = Arc::clone(&cache.core);
        let (flight, slot) = opened(&core);
        let load = spawn({
            let (core, flight) = (Arc::clone(&core), Arc::clone(&flight));
            move || core.launch(&flight, |_| Box::pin(async { Ok(Loaded::value(1)) }))
        });
        let deadline = spawn({
            let (core, flight) = (Arc::clone(&core), Arc::clone(&flight));
            move || core.expire(&flight)
        });
        landing(&flight, slot);
        load.join().unwrap();
        deadline.join().unwrap();
        assert_eq!(core.account.flights.total(), 1, "L1: a flight without its one end");
        match flight.landing() {
            Some(Landing::Value(_)) => assert_eq!(super::stored(&cache), Some(1)),
            Some(Landing::Failed(_)) => assert_eq!(super::stored(&cache), None, "L5: stored after its end"),
            _ => panic!("the flight ended in another way"),
        }
        assert_eq!((core.table.len(), flight.waiting()), (0, 0), "L6");
    });
}

/// S1: a waiter that goes leaves its place; one that stays is woken.
#[test]
fn s1_waiters_come_and_go_while_a_flight_lands() {
    explore(OF_THREE, || {
        let cache = cache(WhenUnwatched::Finish);
        let (flight, slot) = opened(&cache.core);
        let goes = spawn({
            let flight: One = Arc::clone(&flight);
            move || {
                if let crate::flight::Joined::Waiting { slot, .. } = flight.join(Waker::noop().clone(), 9) {
                    flight.leave(slot);
                }
            }
        });
        let lands = spawn({
            let flight: One = Arc::clone(&flight);
            move || {
                assert!(flight.claim_end());
                flight.land(Landing::Absent);
            }
        });
        landing(&flight, slot);
        goes.join().unwrap();
        lands.join().unwrap();
        assert_eq!(flight.waiting(), 0, "L6: a place among the waiters was not given back");
    });
}

/// X1: whoever serves a flight is dismissed when it ends, also if it comes to serve just then.
#[test]
fn x1_who_comes_to_serve_is_dismissed() {
    explore(OF_TWO, || {
        let cache = cache(WhenUnwatched::Finish);
        let (flight, _) = opened(&cache.core);
        let told = Arc::new(Notify::new());
        let serves = spawn({
            let (flight, told): (One, _) = (Arc::clone(&flight), Arc::clone(&told));
            move || flight.enlist(Serves::Told(told))
        });
        assert!(flight.claim_end());
        flight.land(Landing::Absent);
        serves.join().unwrap();
        // It deadlocks if nobody has told.
        loom::future::block_on(told.notified());
    });
}

/// S1: nobody joins a flight that is given up because nobody waited for it.
#[test]
fn s1_the_last_waiter_leaves_as_another_comes() {
    explore(OF_TWO, || {
        let cache = cache(WhenUnwatched::Abandon);
        let core = Arc::clone(&cache.core);
        let (flight, slot) = opened(&core);
        let comes = spawn({
            let core = Arc::clone(&core);
            move || match miss(&core, Waker::noop()) {
                Turn::Wait { flight, .. } => Some(flight),
                Turn::Lead(..) => None,
                _ => panic!("neither joined nor opened"),
            }
        });
        flight.leave(slot);
        core.left(&flight);
        match comes.join().unwrap() {
            Some(joined) => {
                assert!(Arc::ptr_eq(&joined, &flight));
                assert!(!flight.has_ended(), "S1: joined a load that is given up");
            }
            None => assert!(flight.has_ended(), "S1: another load beside one that goes on"),
        }
        assert_eq!(core.account.flights.total(), u64::from(flight.has_ended()), "L1");
    });
}

/// S7: the load of a flight that ended without it is let go when its last part ends, whichever that is.
#[test]
fn s7_a_call_ends_with_its_last_part() {
    explore(OF_TWO, || {
        let (cache, source) = (cache(WhenUnwatched::Finish), Source::new());
        let call = Call::new(0, &cache.core.account, u64::MAX, None);
        let part = call.begin(Ticket::Free(None), 1, u64::MAX);
        let other = Part::of(&call);
        let blocking = spawn(move || drop(other));
        let done = Arc::new(Notify::new());
        let later = {
            let done = Arc::clone(&done);
            || Box::new(move || done.notify_one()) as Box<dyn FnOnce() + Send>
        };
        drop(part);
        // Either it is over, or the work is done when it is.
        if call.after_end(later) {
            loom::future::block_on(done.notified());
        }
        blocking.join().unwrap();
        assert_eq!(cache.core.account.origin_active.load(Relaxed), 0, "L6: a call that never ended");
        get(&cache, &source);
    });
}
