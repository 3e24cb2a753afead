//! S6: the misses of one group (tenant) cannot use up what all share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use herdcache::herdfeed::PermitResult;
use herdcache::{Builder, Cache, Gate, GetError, Outcome, RejectReason, Ttl};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, turns, value};

/// Keys are numbers; the tenant is what is left of them by 10.
fn cache(name: &str, gate: &Gate) -> Builder<u64, u64, DbError> {
    Cache::builder(name, Ttl::fresh_for(ms(60_000)), gate).jitter(0.0)
}

/// What one tenant met: requests refused, and the longest that an answered one took.
#[derive(Debug, Default)]
struct Met {
    asked: u64,
    refused: u64,
    longest: Duration,
}

/// Tenant 0 asks for 2,000 keys each second, tenants 1 to 4 for 10 each, for 10 s; loads take 50 ms under 10 permits.
async fn flood(cache: Rows) -> BTreeMap<u64, Met> {
    let (calls, met) = (Arc::new(Calls::default()), Arc::new(Mutex::new(BTreeMap::<u64, Met>::new())));
    let mut callers = Vec::new();
    let ask = |tenant: u64, n: u64| {
        let (cache, met, load) = (cache.clone(), Arc::clone(&met), calls.load(ms(50), Ok(n)));
        tokio::spawn(async move {
            let began = Instant::now();
            let got = cache.get_with(&(n * 10 + tenant), load).await;
            let mut met = met.lock();
            let met = met.entry(tenant).or_default();
            met.asked += 1;
            match got {
                Ok(_) => met.longest = met.longest.max(began.elapsed()),
                Err(_) => met.refused += 1,
            }
        })
    };
    for tick in 0..1_000 {
        callers.extend((0..20).map(|n| ask(0, tick * 20 + n)));
        // Each of the four at its own moment.
        callers.extend((1..=4).filter(|tenant| tick % 10 == tenant * 2).map(|tenant| ask(tenant, tick)));
        sleep(ms(10)).await;
    }
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!(calls.peak(), 10);
    assert_quiet(&cache.snapshot());
    let met = std::mem::take(&mut *met.lock());
    eprintln!("{met:?}");
    met
}

/// S6: a flood of one tenant leaves the refusals of the others at 0, and bounds their waits.
#[tokio::test(start_paused = true)]
async fn s6_a_flood_of_one_tenant_hurts_no_other() {
    let gate = Gate::builder(10).name("s6-shares").build().unwrap();
    let cache = cache("s6-shares", &gate).group_share(0.25, |key: &u64| key % 10).build().unwrap();
    let met = flood(cache.clone()).await;
    assert_eq!((met[&0].asked, met[&1].asked), (20_000, 100));
    for tenant in 1..=4 {
        assert_eq!(met[&tenant].refused, 0);
        // Its own 50 ms, and less than as much again until a permit comes back.
        assert!(met[&tenant].longest <= ms(100), "{:?}", met[&tenant]);
    }
    // The flood gets what the others leave: 200 loads each second less 40.
    let served = met[&0].asked - met[&0].refused;
    assert!((1_590..=1_650).contains(&served), "{served}");
    let account = cache.snapshot();
    assert_eq!(account.rejections[RejectReason::GroupShare], met[&0].refused);
    assert_eq!(account.rejections.total(), met[&0].refused);
    let gate = gate.snapshot();
    assert_eq!((gate.results[PermitResult::GroupShare], gate.pending_peak), (met[&0].refused, 12));
    assert_eq!(gate.law_violations, 0);
}

/// S6: without groups the same flood rejects the others too.
#[tokio::test(start_paused = true)]
async fn s6_without_groups_the_flood_rejects_everybody() {
    let gate = Gate::builder(10).name("s6-none").build().unwrap();
    let met = flood(cache("s6-none", &gate).build().unwrap()).await;
    let refused: u64 = (1..=4).map(|tenant| met[&tenant].refused).sum();
    assert!(refused > 300, "{refused}");
}

/// S6, L7: a group holds its part of the cache's flights and no more; a flight that ends makes room.
#[tokio::test(start_paused = true)]
async fn s6_a_group_holds_its_share_of_flights() {
    let builder = cache("s6-flights", &Gate::new(64)).max_flights(8);
    let cache = builder.group_share(0.25, |key: &u64| key % 10).build().unwrap();
    let calls = Arc::new(Calls::default());
    let callers: Vec<_> = [11, 21, 12].map(|key| ask(&cache, key, calls.load(ms(100), Ok(key)))).into();
    turns().await;
    let refused = cache.get_with(&31, calls.load(ms(1), Ok(31))).await;
    assert!(matches!(refused, Err(GetError::Rejected { reason: RejectReason::GroupShare, .. })), "{refused:?}");
    // Joining is no flight of its own; another tenant has its own share.
    let joined = ask(&cache, 11, calls.load(ms(1), Ok(0)));
    assert_eq!(value(cache.get_with(&22, calls.load(ms(1), Ok(22))).await), 22);
    for (caller, expected) in callers.into_iter().zip([11, 21, 12]) {
        assert_eq!(value(caller.await.unwrap()), expected);
    }
    assert_eq!(outcome(&joined.await.unwrap()), Some(Outcome::Coalesced));
    assert_eq!(value(cache.get_with(&31, calls.load(ms(1), Ok(31))).await), 31);
    let account = cache.snapshot();
    assert_eq!((account.rejections[RejectReason::GroupShare], calls.started()), (1, 5));
    assert_quiet(&account);
}

/// S6, G4: one tenant is one group for all caches behind a gate, however each cache knows it by.
#[tokio::test(start_paused = true)]
async fn s6_a_tenant_is_one_group_for_all_caches_of_a_gate() {
    let gate = Gate::builder(1).queue(4).build().unwrap();
    let (pages, users) = (cache("s6-pages", &gate), cache("s6-users", &gate));
    let pages = pages.group_share(0.25, |key: &u64| key % 10).build().unwrap();
    let users = users.group_share(0.25, |key: &u64| key % 10).build().unwrap();
    let calls = Arc::new(Calls::default());
    let held = [ask(&pages, 1, calls.load(ms(100), Ok(1))), ask(&pages, 11, calls.load(ms(100), Ok(11)))];
    turns().await;
    let refused = users.get_with(&21, calls.load(ms(1), Ok(21))).await;
    assert!(matches!(refused, Err(GetError::Rejected { reason: RejectReason::GroupShare, .. })), "{refused:?}");
    assert_eq!(value(users.get_with(&22, calls.load(ms(1), Ok(22))).await), 22);
    for caller in held {
        caller.await.unwrap().unwrap();
    }
}

/// A1: a share that is none is refused.
#[test]
fn a1_a_share_out_of_range_is_refused() {
    let error = |share| {
        cache("s6-bad", &Gate::new(1)).group_share(share, |key: &u64| *key).build().map(drop).unwrap_err().to_string()
    };
    assert_eq!(error(0.0), "cache \"s6-bad\": group_share 0 is not above 0 and at most 1");
    assert!(error(1.5).contains("group_share 1.5") && error(f64::NAN).contains("group_share NaN"));
}
