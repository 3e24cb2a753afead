//! What a flight does on its way, as child spans: shared read, permit, lease, origin, write.

use herdcache::{Cache, Gate, MemoryTier};

use crate::book::Book;
use crate::support::{TTL, all, ask, ms, slow, turns};

/// Each step is a child of its flight, the write too, which ends after it.
#[tokio::test(start_paused = true)]
async fn each_step_is_a_child_of_its_flight() {
    let (book, _open) = Book::open();
    let tier = MemoryTier::new();
    let gate = Gate::builder(1).queue(10).build().unwrap();
    let cache = || {
        let builder = Cache::builder("steps", TTL, &gate).traces(all());
        builder.shared(tier.clone()).lease(tier.clone()).build().unwrap()
    };
    let one = cache();
    let (first, second) = (ask(&one, 1, slow(Ok(1))), ask(&one, 2, slow(Ok(2))));
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    turns().await;
    let other = cache();
    other.get_with(&1, slow(Ok(3))).await.unwrap();
    let flights = book.flights();
    let loads = ["herdcache.shared_read", "herdcache.lease", "herdcache.origin", "herdcache.write_back"];
    let queued = [
        "herdcache.shared_read",
        "herdcache.permit_wait",
        "herdcache.lease",
        "herdcache.origin",
        "herdcache.write_back",
    ];
    assert_eq!(book.children(&flights[0]), loads);
    assert_eq!(book.children(&flights[1]), queued);
    assert_eq!(book.children(&flights[2]), ["herdcache.shared_read"]);
    assert_eq!(flights[2].field("herdcache.tier"), Some("shared"));
    assert_eq!(flights[2].field("herdcache.flight.end"), Some("shared_hit"));
    assert_eq!(book.left_open(), [""; 0]);
}

/// L7: a flight that looks again and again does not make a span each time.
#[tokio::test(start_paused = true)]
async fn l7_the_steps_of_one_flight_are_bounded_and_counted() {
    let (book, _open) = Book::open();
    let tier = MemoryTier::new();
    let cache = || {
        let builder = Cache::builder("steps", TTL, &Gate::new(2)).traces(all());
        builder.shared(tier.clone()).lease(tier.clone()).build().unwrap()
    };
    let (holder, follower) = (cache(), cache());
    let long = |_| -> crate::support::Load {
        Box::pin(async {
            tokio::time::sleep(ms(4_000)).await;
            Ok(1)
        })
    };
    let load = ask(&holder, 1, long);
    turns().await;
    follower.get_with(&1, slow(Ok(2))).await.unwrap();
    load.await.unwrap().unwrap();
    let late = &book.flights()[1];
    let counts = follower.traced();
    assert_eq!(late.field("herdcache.flight.end"), Some("followed"));
    assert!(counts.steps_refused > 0, "{counts:?}");
    assert_eq!(book.children(late).len(), 16);
}
