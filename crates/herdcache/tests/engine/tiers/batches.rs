//! B1, T1: batches on their way by the tier: one read for all keys, one call for what is left.

use herdcache::herdfeed::{FlightEnd, LeasePoll, LeaseResult, SharedOperation, SharedRead, SharedWrite};
use herdcache::{Fault, Gate, MemoryTier, Outcome, Shared, TierError, WriteFailure};
use tokio::time::{Instant, sleep};

use crate::batches::{Books, Seen, all, ask_many, outcomes, over, settings, values};
use crate::support::{assert_quiet, ms, turns};

fn books(name: &str, tier: &MemoryTier) -> (Books, Seen) {
    over::<8>(settings(name, &Gate::new(64)).shared(tier.clone()).lease(tier.clone()), all)
}

/// T1, B1: one round trip reads all keys; what is there is answered, the rest is loaded by one call and written.
#[tokio::test(start_paused = true)]
async fn t1_a_batch_is_one_read_and_one_call() {
    let tier = MemoryTier::new();
    let ((one, first), (other, second)) = (books("shelf", &tier), books("shelf", &tier));
    assert_eq!(values(&one.get_many(&[1, 2]).await), ["book 1", "book 2"]);
    turns().await;
    assert_eq!((tier.values(), tier.operations(SharedOperation::Read), first.asked()), (2, 1, vec![vec![1, 2]]));
    let got = other.get_many(&[1, 2, 3, 4, 5]).await;
    assert_eq!(values(&got), ["book 1", "book 2", "book 3", "book 4", "book 5"]);
    let told = [Outcome::Hit, Outcome::Hit, Outcome::Loaded, Outcome::Loaded, Outcome::Loaded].map(Some);
    assert_eq!(outcomes(&got), told);
    turns().await;
    assert_eq!((tier.operations(SharedOperation::Read), second.asked()), (2, vec![vec![3, 4, 5]]));
    let snapshot = other.snapshot();
    let tiers = snapshot.shared.as_ref().unwrap();
    assert_eq!((tiers.reads[SharedRead::Hit], tiers.reads[SharedRead::Miss]), (2, 3));
    assert_eq!((tiers.writes[SharedWrite::Stored], tier.values(), tier.leases()), (3, 5, 0));
    assert_eq!((snapshot.flights[FlightEnd::SharedHit], snapshot.origin_calls), (2, 1));
    assert_quiet(&snapshot);
}

/// Z2, B1: two processes ask for the same books at once: each is loaded once in the cluster, followers take no permit.
#[tokio::test(start_paused = true)]
async fn z2_batches_of_two_processes_load_each_key_once() {
    let tier = MemoryTier::new();
    let ((one, first), (other, second)) = (books("both", &tier), books("both", &tier));
    tier.inject(Fault::Slow(ms(1)));
    let (a, b) = (ask_many(&one, [1, 2, 3, 4]), ask_many(&other, [3, 4, 5, 6]));
    let (a, b) = (a.await.unwrap(), b.await.unwrap());
    assert_eq!(values(&a), ["book 1", "book 2", "book 3", "book 4"]);
    assert_eq!(values(&b), ["book 3", "book 4", "book 5", "book 6"]);
    let mut loaded: Vec<u64> = first.asked().into_iter().chain(second.asked()).flatten().collect();
    loaded.sort_unstable();
    assert_eq!(loaded, [1, 2, 3, 4, 5, 6]);
    sleep(ms(100)).await;
    let leases = [&one, &other].map(|books| books.snapshot().lease.unwrap());
    assert_eq!(leases.iter().map(|lease| lease.acquisitions[LeaseResult::Acquired]).sum::<u64>(), 6);
    assert_eq!(leases.iter().map(|lease| lease.polls[LeasePoll::Found]).sum::<u64>(), 2);
    assert_eq!(tier.leases(), 0);
    for books in [one, other] {
        assert_quiet(&books.snapshot());
    }
}

/// T1: a stale book is answered at once; its refresh is a load of its own.
#[tokio::test(start_paused = true)]
async fn t1_a_stale_key_of_a_batch_is_answered_at_once() {
    let tier = MemoryTier::new();
    let build = || {
        let ttl = herdcache::Ttl::fresh_for(ms(1_000)).stale_for(ms(60_000));
        let builder = herdcache::Cache::builder("aged", ttl, &Gate::new(64)).jitter(0.0).shared(tier.clone());
        over::<8>(builder, all)
    };
    let (one, _) = build();
    one.get_many(&[1, 2]).await;
    turns().await;
    sleep(ms(2_000)).await;
    let (other, seen) = build();
    let began = Instant::now();
    let got = other.get_many(&[1, 2]).await;
    assert_eq!((outcomes(&got), began.elapsed()), (vec![Some(Outcome::Stale); 2], ms(0)));
    sleep(ms(50)).await;
    assert_eq!(seen.asked(), [[1], [2]]);
    assert_eq!(outcomes(&other.get_many(&[1, 2]).await), vec![Some(Outcome::Hit); 2]);
    assert_quiet(&other.snapshot());
}

/// T4: a tier in trouble costs a batch one bounded wait, and it is loaded by one call all the same.
#[tokio::test(start_paused = true)]
async fn t4_a_batch_goes_on_without_the_tier() {
    let tier = MemoryTier::new();
    let (one, seen) = books("alone", &tier);
    tier.inject(Fault::Hang);
    let began = Instant::now();
    assert_eq!(values(&one.get_many(&[1, 2, 3]).await), ["book 1", "book 2", "book 3"]);
    assert_eq!((began.elapsed(), seen.asked()), (ms(60), vec![vec![1, 2, 3]]));
    tier.inject(Fault::Fail(TierError::Connection));
    for key in 10..20 {
        assert_eq!(values(&one.get_many(&[key]).await), [format!("book {key}")]);
    }
    let tiers = one.snapshot().shared.unwrap();
    assert_eq!(tier.operations(SharedOperation::Read), 5);
    assert_eq!((tiers.reads[SharedRead::Timeout], tiers.reads[SharedRead::BreakerOpen]), (3, 6));
    assert_eq!((tier.operations(SharedOperation::Write), tiers.writes[SharedWrite::SkippedAfterFault]), (0, 7));
    assert_quiet(&one.snapshot());
}

/// T4: with `Fail`, each book has its own result.
#[tokio::test(start_paused = true)]
async fn t4_a_batch_may_fail_with_its_writes() {
    let tier = MemoryTier::new();
    let shared = Shared::json(tier.clone()).write_failure(WriteFailure::Fail);
    let (one, _) = over::<8>(settings("strict", &Gate::new(64)).shared(shared), all);
    tier.inject_on(SharedOperation::Write, Fault::Slow(ms(20)));
    let began = Instant::now();
    assert_eq!(values(&one.get_many(&[1, 2]).await), ["book 1", "book 2"]);
    assert_eq!(began.elapsed(), ms(30), "both writes at once");
    tier.inject_on(SharedOperation::Write, Fault::Fail(TierError::Refused));
    assert_eq!(outcomes(&one.get_many(&[2, 3]).await), [Some(Outcome::Hit), Some(Outcome::Failed)]);
    assert_quiet(&one.snapshot());
}

/// X1: a shutdown in the middle of a batch leaves no lease behind.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_ends_a_batch_and_its_leases() {
    let tier = MemoryTier::new();
    let (one, _) = books("closed", &tier);
    let asked = ask_many(&one, [1, 2, 3]);
    sleep(ms(5)).await;
    assert_eq!(tier.leases(), 3);
    one.shutdown(ms(1)).await;
    assert_eq!(tier.leases(), 0);
    assert_eq!(outcomes(&asked.await.unwrap()), vec![Some(Outcome::Closed); 3]);
    assert_quiet(&one.snapshot());
}
