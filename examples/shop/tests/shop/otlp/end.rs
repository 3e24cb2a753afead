//! X1: what was counted before the end is sent at the end, and the end comes in time whoever should receive it.

use std::time::{Duration, Instant};

use otlp_rig::{Collector, Misbehaving, Protocol};
use shop::telemetry::Delivered;

use super::{alone, make_spans, pushing, runtimes};
use crate::support::PATIENCE;

/// The end's own limit is 5 s. A second more is for a machine that is busy.
const END: Duration = Duration::from_secs(6);

/// More spans than the queue of those that wait, which is 2,048.
const MANY: u64 = 5_000;

/// X1: a hundred requests and a hundred spans just before the end arrive, over both protocols, whatever the service's
/// runtime; `shutdown` blocks it, also where it is the only thread.
#[test]
fn x1_what_was_counted_before_the_end_is_sent() {
    let _turn = alone();
    for protocol in Protocol::ALL {
        for (kind, runtime) in runtimes() {
            let collector = Collector::start(protocol).unwrap();
            let (name, counted, sent) = runtime.block_on(async {
                let (shop, telemetry) = pushing(&collector.url(), |_| {}).await;
                for _ in 0..100 {
                    assert_eq!(shop.get("/products/10?tenant=acme").await.status, 200);
                }
                make_spans(&telemetry, 100);
                let (name, counted) = (shop.products.name().to_owned(), shop.stats().outcomes);
                shop.stop().await;
                (name, counted, telemetry.shutdown())
            });
            let last = collector.inbox().last();
            let of = |outcome| {
                last.count("herdcache.requests", &[("herdcache.name", &name), ("herdcache.request.outcome", outcome)])
            };
            let case = format!("{protocol:?}, {kind}");
            assert_eq!((of("hit"), of("loaded")), (99, 1), "{case}");
            assert_eq!(last.count("herdcache.requests", &[("herdcache.name", &name)]), 100, "{case}");
            assert_eq!(counted.iter().map(|(_, count)| count).sum::<u64>(), 100, "{case}: the shop's own count");
            assert_eq!(collector.inbox().spans().len(), 100, "{case}");
            assert_eq!(sent.metrics, Delivered { handed_over: 1, taken: 1, failing: false }, "{case}");
            assert_eq!(sent.spans, Delivered { handed_over: 100, taken: 100, failing: false }, "{case}");
            assert_eq!(sent.spans.lost(), 0, "{case}");
        }
    }
}

/// What stands where the collector should be.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Absent,
    Silent,
    Deaf,
    Stopped,
}

/// Makes the trouble, lets a shop run and end with it, and says how long its end took.
fn ends(protocol: Protocol, trouble: Trouble) -> Duration {
    let (mut well, misbehaving) = match trouble {
        Trouble::Absent => (None, Some(Misbehaving::absent().unwrap())),
        Trouble::Silent => (None, Some(Misbehaving::silent().unwrap())),
        Trouble::Deaf => (None, Some(Misbehaving::deaf().unwrap())),
        Trouble::Stopped => (Some(Collector::start(protocol).unwrap()), None),
    };
    let address = misbehaving.as_ref().map_or_else(|| well.as_ref().unwrap().address(), Misbehaving::address);
    let url = format!("{}://{address}", protocol.scheme());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (shop, telemetry) = pushing(&url, |_| {}).await;
        let mut arrived = 0;
        if let Some(collector) = &mut well {
            // A batch is sent once it is full; then the collector goes.
            make_spans(&telemetry, 512);
            let all = |inbox: &otlp_rig::Inbox| (inbox.spans().len() == 512).then_some(512);
            arrived = collector.inbox().wait(PATIENCE, all).expect("a full batch is sent");
            collector.stop();
        }
        make_spans(&telemetry, MANY);
        for _ in 0..200 {
            assert_eq!(shop.get("/products/10?tenant=acme").await.status, 200);
        }
        shop.stop().await;
        let began = Instant::now();
        let sent = telemetry.shutdown();
        let took = began.elapsed();
        let case = format!("{protocol:?}, {trouble:?}: {sent:?}");
        assert!(sent.metrics.failing && sent.metrics.taken == 0, "{case}");
        assert_eq!(sent.spans.handed_over, arrived + MANY, "{case}");
        assert_eq!(sent.spans.lost(), MANY, "each span that did not arrive is told: {case}");
        took
    })
}

/// X1: requests are answered and the end comes in time where the collector is not there, accepts and never answers, cannot
/// be connected to, or was there and is gone; and what was lost is told, the spans that found the queue full among it.
#[test]
fn x1_the_end_comes_in_time_whoever_should_receive_it() {
    let _turn = alone();
    for trouble in [Trouble::Absent, Trouble::Silent, Trouble::Deaf, Trouble::Stopped] {
        for protocol in Protocol::ALL {
            let took = ends(protocol, trouble);
            println!("{protocol:?}, {trouble:?}: ended after {took:.1?}");
            assert!(took < END, "{protocol:?}, {trouble:?}: {took:?}");
        }
    }
}
