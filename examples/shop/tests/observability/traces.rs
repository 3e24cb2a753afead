//! From one slow request to the one load that it waited for, over OTLP: a herd on a product whose query is slow.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use herdfeed::Outcome;
use otlp_rig::{Collector, Inbox, Protocol, Span};

use crate::otlp::{PATIENCE, Shop};

/// Callers of one product at once, and hits after them.
const CALLERS: usize = 40;
const HITS: usize = 200;

/// How long its query takes.
const SLOW: Duration = Duration::from_millis(400);

/// The spans of a shop that was asked for one product by everybody at once, and then again and again.
fn of_a_herd(protocol: Protocol) -> Vec<Span> {
    let collector = Collector::start(protocol).unwrap();
    let never = [("OTEL_METRIC_EXPORT_INTERVAL", "600000"), ("OTEL_BSP_MAX_QUEUE_SIZE", "20000")];
    let shop = Shop::start(&["--otlp", &collector.url(), "--slow-origin", "400ms"], &never);
    let path = "/products/10?tenant=acme";
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| assert!(shop.get(path).contains("price_cents")));
        }
    });
    for _ in 0..HITS {
        shop.get(path);
    }
    let outcomes = shop.stats().outcomes;
    assert_eq!((outcomes[Outcome::Loaded], outcomes[Outcome::Coalesced]), (1, CALLERS as u64 - 1), "{protocol:?}");
    shop.end();
    collector.inbox().spans()
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

/// K2, X1: each caller that waited has a span with a link that resolves to the one flight; the flight has its right time;
/// hits have none. The shop has chosen to show its keys, so its traces do.
#[test]
fn k2_a_slow_request_leads_to_the_load_that_it_waited_for() {
    for protocol in Protocol::ALL {
        let spans = of_a_herd(protocol);
        let (flights, waits) = (named(&spans, "herdcache.flight"), named(&spans, "herdcache.wait"));
        let [flight] = flights[..] else { panic!("{protocol:?}: {flights:?}") };
        assert_eq!(flight.parent, None, "a load belongs to none of its callers");
        let says = |key: &str| flight.attributes.get(key).map_or("nothing", String::as_str);
        assert_eq!((says("herdcache.name"), says("herdcache.flight.end")), ("products", "loaded"), "{flight:?}");
        assert_eq!(says("herdcache.key"), "product 10 acme en-GB Standard Public");
        assert_eq!(says("herdcache.flight.waiters"), (CALLERS - 1).to_string(), "{flight:?}");

        // One who was chosen before the load began has a wait too, and so has the leader: all of them, or all but it.
        assert!((CALLERS - 1..=CALLERS).contains(&waits.len()), "{protocol:?}: {} waits", waits.len());
        let requests: BTreeSet<_> =
            named(&spans, "GET /products/{id}").iter().map(|request| request.context.clone()).collect();
        assert_eq!(requests.len(), CALLERS + HITS, "{protocol:?}");
        for wait in &waits {
            assert_eq!(wait.links, std::slice::from_ref(&flight.context), "{protocol:?}: {wait:?}");
            assert!(wait.parent.as_ref().is_some_and(|parent| requests.contains(parent)), "{wait:?}");
        }
        let parents: BTreeSet<_> = waits.iter().map(|wait| wait.parent.clone()).collect();
        assert_eq!(parents.len(), waits.len(), "no request has two");

        // A flight that was chosen as a herd is made of noted times: it begins with its first caller, not with its choice.
        let first = waits.iter().map(|wait| wait.lasted.0).min().unwrap();
        let apart = Duration::from_nanos(flight.lasted.0.abs_diff(first));
        assert!(apart < SLOW / 2, "{protocol:?}: they begin {apart:?} apart");
        assert!(Duration::from_nanos(flight.lasted.1 - flight.lasted.0) >= SLOW, "{flight:?}");
        let origin = named(&spans, "herdcache.origin");
        assert!(origin.iter().any(|call| call.is_child_of(flight)), "{protocol:?}: {origin:?}");
    }
}

/// From one slow request to the one load that it waited for: a hot key's flight has the database's query inside, and the
/// requests that waited link to it. Names are those that the dashboards' links ask for.
#[test]
fn a_hot_keys_load_is_reached_from_the_requests_that_waited_for_it() {
    let collector = Collector::start(Protocol::Grpc).unwrap();
    let shop =
        Shop::start(&["--otlp", &collector.url(), "--hot-fresh", "500ms"], &[("OTEL_BSP_SCHEDULE_DELAY", "200")]);
    // Hot is what was asked for often within a minute; then a flight of it is chosen before it begins.
    let seen = |inbox: &Inbox| {
        let spans = inbox.spans();
        let flight = spans.iter().find(|span| {
            let of_a_hot_key = span.attributes.get("herdcache.sampled_by").is_some_and(|by| by == "hot_key");
            let has_its_query = spans.iter().any(|query| query.name == "query bundle" && query.is_child_of(span));
            span.name == dashboards::traces::FLIGHT && of_a_hot_key && has_its_query
        })?;
        let waits: Vec<_> = spans.iter().filter(|span| span.links.contains(&flight.context)).collect();
        let request = |span: &Span| spans.iter().any(|one| one.name == "GET /products/{id}" && span.is_child_of(one));
        (!waits.is_empty() && waits.iter().all(|span| span.name == "herdcache.wait" && request(span)))
            .then(|| flight.clone())
    };
    let until = Instant::now() + PATIENCE;
    let flight = loop {
        for _ in 0..50 {
            shop.get("/products/1?tenant=acme");
        }
        if let Some(flight) = seen(collector.inbox()) {
            break flight;
        }
        assert!(Instant::now() < until, "no flight of a hot key with its query and a request that links to it");
    };
    assert_eq!(flight.parent, None, "it belongs to none of its callers");
    for shared in dashboards::traces::SHARED {
        assert!(flight.attributes.contains_key(shared.attribute), "{}: {:?}", shared.attribute, flight.attributes);
    }
    assert!(!flight.attributes["herdcache.key"].is_empty());
}
