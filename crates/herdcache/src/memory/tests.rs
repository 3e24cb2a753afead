//! The contracts, step by step, on the tier that other tests rely on.

use super::*;
use crate::shared::{Fence, LeaseSight};

fn key(n: u64) -> SharedKey {
    SharedKey::new(format!("[\"c\",1,{n}]"), n)
}

fn writing(version: Option<u64>, fence: Fence) -> Writing<'static> {
    Writing { bytes: b"value", keep_for: Duration::from_secs(60), version, fence }
}

/// T5: an older version is refused first, then an older token; an invalidation leaves a token that outranks all before.
#[tokio::test(start_paused = true)]
async fn t5_writes_are_conditional() {
    let (tier, key) = (MemoryTier::new(), key(1));
    let write = |version, fence| tier.write(&key, writing(version, fence));
    assert_eq!(write(Some(5), Fence::Load(3)).await, Ok(Write::Stored));
    assert_eq!(write(Some(4), Fence::Load(2)).await, Ok(Write::OlderVersion));
    assert_eq!(write(Some(6), Fence::Load(2)).await, Ok(Write::OlderFence));
    assert_eq!(write(None, Fence::Load(3)).await, Ok(Write::Stored));
    tier.remove(&key, Duration::from_secs(10)).await.unwrap();
    let seen = tier.read(&key).await.unwrap();
    assert_eq!((seen.found, seen.fence), (None, 4));
    assert_eq!(write(Some(9), Fence::Load(3)).await, Ok(Write::OlderFence));
    assert_eq!(write(Some(1), Fence::Load(4)).await, Ok(Write::Stored));
    assert_eq!(write(None, Fence::Newest).await, Ok(Write::Stored));
    assert_eq!(tier.read(&key).await.unwrap().fence, 5);
}

/// T5: tokens grow over a lost counter, and without any value a lost counter locks nobody out.
#[tokio::test(start_paused = true)]
async fn t5_a_lost_counter_locks_no_key() {
    let (tier, key) = (MemoryTier::new(), key(1));
    let second = Duration::from_secs(1);
    let fence = |acquired| match acquired {
        Ok(Acquired::Yes { fence, .. }) => fence,
        other => panic!("{other:?}"),
    };
    let take = async || {
        let token = LeaseToken::random();
        let fence = fence(tier.acquire(&key, &token, second).await);
        tier.release(&key, &token).await.unwrap();
        fence
    };
    let first = [take().await, take().await, take().await];
    assert_eq!(first, [1, 2, 3]);
    assert_eq!(tier.write(&key, writing(None, Fence::Load(3))).await, Ok(Write::Stored));
    tier.lose_counters();
    let next = take().await;
    assert_eq!(next, 4);
    assert_eq!(tier.write(&key, writing(None, Fence::Load(next))).await, Ok(Write::Stored));
    tier.flush();
    assert_eq!(take().await, 1);
}

/// Z1: a lease is one holder's until its time is over, and nobody else's to renew or release.
#[tokio::test(start_paused = true)]
async fn z1_a_lease_is_its_holders_only() {
    let (tier, key, ms) = (MemoryTier::new(), key(1), Duration::from_millis);
    let (one, other) = (LeaseToken::random(), LeaseToken::random());
    assert_eq!(tier.acquire(&key, &one, ms(300)).await, Ok(Acquired::Yes { fence: 1, under: 0 }));
    tokio::time::advance(ms(100)).await;
    assert_eq!(tier.acquire(&key, &other, ms(300)).await, Ok(Acquired::Held { left: Some(ms(200)) }));
    assert_eq!(tier.read(&key).await.unwrap().lease, LeaseSight::Held);
    assert_eq!(tier.release(&key, &other).await, Ok(Holding::Lost));
    assert_eq!(tier.renew(&key, &other, ms(300)).await, Ok(Holding::Lost));
    assert_eq!(tier.renew(&key, &one, ms(300)).await, Ok(Holding::Yes));
    assert_eq!(tier.lease_left(), Some(ms(300)));
    tokio::time::advance(ms(300)).await;
    assert_eq!((tier.leases(), tier.renew(&key, &one, ms(300)).await), (0, Ok(Holding::Lost)));
    assert_eq!(tier.acquire(&key, &other, ms(300)).await, Ok(Acquired::Yes { fence: 2, under: 0 }));
    assert_eq!((tier.release(&key, &one).await, tier.leases()), (Ok(Holding::Lost), 1));
    assert_eq!((tier.release(&key, &other).await, tier.leases()), (Ok(Holding::Yes), 0));
}

/// T4: each fault does what it says.
#[tokio::test(start_paused = true)]
async fn t4_faults_are_what_they_say() {
    let (tier, key, ms) = (MemoryTier::new(), key(1), Duration::from_millis);
    let write = || tier.write(&key, writing(None, Fence::Load(0)));
    let late = |operation| tokio::time::timeout(ms(50), operation);
    tier.inject(Fault::Fail(TierError::Refused));
    assert_eq!((write().await, tier.values()), (Err(TierError::Refused), 0));
    tier.inject(Fault::Hang);
    assert!(late(write()).await.is_err() && tier.values() == 0);
    tier.inject(Fault::Slow(ms(60)));
    assert!(late(write()).await.is_err() && tier.values() == 0);
    tier.inject_on(SharedOperation::Write, Fault::Mute);
    assert!(late(write()).await.is_err() && tier.values() == 1);
    tier.heal();
    let bytes = || async { tier.read(&key).await.unwrap().found.unwrap().bytes };
    assert_eq!(bytes().await, b"value");
    tier.inject(Fault::Corrupt);
    assert_ne!(bytes().await, b"value");
    tier.heal();
    tier.tamper(|_, bytes| bytes.clear());
    assert_eq!(bytes().await, b"");
    tokio::time::advance(ms(60_000)).await;
    assert_eq!(tier.read(&key).await, Ok(Reading::nothing()));
    assert_eq!(tier.operations(SharedOperation::Write), 4);
}
