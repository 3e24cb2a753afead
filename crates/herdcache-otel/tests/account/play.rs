//! A play that leaves nothing of the account at 0 that a cache can reach by itself: every kind of end, a shared tier
//! with its faults, a lease that another process holds, and a gate that refuses.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use herdcache::herdfeed::words::SharedOperation;
use herdcache::{Cache, Fault, Gate, LoadContext, Loaded, MemoryTier, ReadThrough, TierError, Ttl};
use tokio::time::sleep;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) type Played = ReadThrough<String, String, &'static str>;

/// A cache over an origin whose keys say what it does: `kind:anything`.
pub(crate) struct Stage {
    pub(crate) cache: Played,
    /// Another process over the same tier.
    pub(crate) other: Played,
    pub(crate) gate: Gate,
    pub(crate) tier: MemoryTier,
}

type Load = Pin<Box<dyn Future<Output = Result<Loaded<String>, &'static str>> + Send>>;

fn origin(cx: LoadContext<String, String>) -> Load {
    Box::pin(async move {
        let key = cx.key().clone();
        cx.connection_wait(ms(3));
        match key.split(':').next() {
            Some("slow") => sleep(ms(400)).await,
            Some("hang") => sleep(Duration::from_secs(60)).await,
            _ => sleep(ms(20)).await,
        }
        match key.split(':').next() {
            Some("broken") => Err("unreachable"),
            Some("odd") => Err("odd"),
            Some("absent") => Ok(Loaded::absent()),
            Some("unkept") => Ok(Loaded::value(key).do_not_store()),
            Some("panics") => panic!("{key}"),
            Some("same") if cx.previous().is_some() => Ok(Loaded::not_modified()),
            _ => Ok(Loaded::value(key)),
        }
    })
}

impl Stage {
    pub(crate) fn new(name: &str) -> Self {
        let tier = MemoryTier::new();
        let gate = Gate::builder(3).name(format!("{name}-gate")).queue(2).queue_timeout(ms(100)).origin_capacity(64);
        let gate = gate.build().unwrap();
        let build = || {
            let ttl = Ttl::fresh_for(ms(2_000)).stale_for(ms(2_000)).stale_if_error_for(ms(60_000));
            let builder = Cache::builder(name, ttl, &gate).capacity(50).origin_timeout(ms(1_000)).jitter(0.0);
            let builder = builder.error_classes(&["unreachable", "never"], |error: &&'static str| *error);
            builder.shared(tier.clone()).lease(tier.clone()).build_over(origin).unwrap()
        };
        let (cache, other) = (build(), build());
        Self { cache, other, gate, tier }
    }

    /// Requests for these keys, all at once, to their ends.
    pub(crate) async fn ask(&self, keys: &[&str]) {
        let asked = keys.iter().map(|key| {
            let (cache, key) = (self.cache.clone(), (*key).to_owned());
            tokio::spawn(async move { _ = cache.get(&key).await })
        });
        for asked in asked.collect::<Vec<_>>() {
            asked.await.unwrap();
        }
    }

    /// The play, and then quiet.
    pub(crate) async fn play(&self) {
        self.ask(&["a:1", "a:1", "a:2"]).await;
        self.ask(&["absent:1", "unkept:1", "panics:1"]).await;
        self.ask(&["broken:1", "odd:1", "same:1"]).await;
        self.ask(&["a:1", "a:2", "absent:1", "broken:1"]).await;
        // More than permits and queue hold, and some that wait too long in it.
        self.ask(&["slow:1", "slow:2", "slow:3", "slow:4", "slow:5", "slow:6", "slow:7"]).await;
        self.ask(&["hang:1"]).await;
        // A caller that gives up, and one that is dropped.
        let patient = self.cache.with_wait_timeout(ms(50));
        _ = patient.get("slow:8").await;
        _ = tokio::time::timeout(ms(30), self.cache.get("slow:9")).await;
        sleep(ms(500)).await;
        // Stale, reserve, refreshed.
        self.ask(&["a:1", "same:1"]).await;
        sleep(ms(2_500)).await;
        self.ask(&["a:1", "same:1", "a:1"]).await;
        sleep(ms(100)).await;
        _ = self.cache.refresh("a:2");
        sleep(ms(100)).await;
        // Changes, and what makes room for others.
        self.cache.invalidate("a:1").await;
        self.cache.insert("a:2".to_owned(), "new".to_owned()).await;
        for number in 0..80 {
            self.ask(&[&format!("many:{number}")]).await;
        }
        self.faults().await;
        self.cache.warm_up((0..3).map(|number| format!("warm:{number}"))).await;
        sleep(Duration::from_secs(90)).await;
        self.ask(&["a:1"]).await;
        sleep(ms(200)).await;
    }

    /// What the tier can do to a cache.
    async fn faults(&self) {
        let read = SharedOperation::Read;
        // Another process has it; and one that holds the lease while this one asks.
        _ = self.other.get("theirs:1").await;
        self.ask(&["theirs:1"]).await;
        let theirs = self.other.clone();
        let loading = tokio::spawn(async move { _ = theirs.get("slow:theirs").await });
        sleep(ms(10)).await;
        self.ask(&["slow:theirs"]).await;
        loading.await.unwrap();
        self.tier.inject_on(read, Fault::Corrupt);
        _ = self.other.get("theirs:2").await;
        self.ask(&["theirs:2"]).await;
        self.tier.heal();
        self.tier.inject_on(SharedOperation::Write, Fault::Fail(TierError::Refused));
        self.ask(&["b:1"]).await;
        self.tier.heal();
        self.tier.inject(Fault::Hang);
        self.ask(&["b:2"]).await;
        self.tier.heal();
        self.tier.inject(Fault::Fail(TierError::Connection));
        for number in 3..12 {
            self.ask(&[&format!("b:{number}")]).await;
        }
        self.tier.heal();
        sleep(Duration::from_secs(5)).await;
        self.ask(&["b:20"]).await;
        sleep(ms(200)).await;
    }
}
