//! Requests that come as a part of their caller's trace.

use std::time::Duration;

use otlp_rig::{Collector, Inbox, Protocol, Span};

use super::{alone, pushing};
use crate::support::get_within;

/// Callers of one product at once.
const CALLERS: u8 = 40;

/// A trace of this number, with or without the wish to be kept.
fn traceparent(number: u8, flags: &str) -> String {
    format!("00-{:032x}-{:016x}-{flags}", 0xabc0_0000_u32 + u32::from(number), 7)
}

fn of_trace(inbox: &Inbox, number: u8, name: &str) -> Vec<Span> {
    let trace = (0xabc0_0000_u128 + u128::from(number)).to_be_bytes();
    inbox.spans().into_iter().filter(|span| span.context.trace == trace && span.name == name).collect()
}

/// The request's span is in the caller's trace, below the caller's span; so is its wait, which leads to the one load. A
/// caller that keeps nothing keeps nothing here either, and a header that makes no sense is as none.
#[test]
fn a_callers_trace_leads_on_to_the_load() {
    let _turn = alone();
    let collector = Collector::start(Protocol::Http).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (shop, telemetry) = pushing(&collector.url(), |settings| {
            settings.trouble.slow_origin = Duration::from_millis(300);
        })
        .await;
        // This thread runs all of the shop.
        let guard = tracing::dispatcher::set_default(telemetry.dispatch().unwrap());
        let path = "/products/10?tenant=acme";
        let addr = shop.addr;
        let ask = |number| tokio::spawn(async move { get_within(addr, &traceparent(number, "01"), path).await });
        let callers: Vec<_> = (0..CALLERS).map(ask).collect();
        for caller in callers {
            assert_eq!(caller.await.unwrap().status, 200);
        }
        get_within(addr, &traceparent(CALLERS, "00"), path).await;
        get_within(addr, "00-no-trace-01", path).await;
        shop.stop().await;
        drop(guard);
        telemetry.shutdown();
    });
    let inbox = collector.inbox();
    let spans = inbox.spans();
    let flight = spans.iter().find(|span| span.name == "herdcache.flight").expect("the herd's flight");
    let mut waited = 0;
    for number in 0..CALLERS {
        let [request] = &of_trace(inbox, number, "GET /products/{id}")[..] else { panic!("one span of {number}") };
        assert_eq!(request.parent.as_ref().map(|parent| parent.span[7]), Some(7), "{request:?}");
        for wait in of_trace(inbox, number, "herdcache.wait") {
            assert!(wait.is_child_of(request) && wait.links == [flight.context.clone()], "{wait:?}");
            waited += 1;
        }
    }
    // All of them, or all but the leader, who was there before anybody knew of a herd.
    assert!((CALLERS - 1..=CALLERS).contains(&waited), "{waited}");
    assert_eq!(of_trace(inbox, CALLERS, "GET /products/{id}"), []);
    let own = spans.iter().filter(|span| span.name == "GET /products/{id}" && span.parent.is_none());
    assert_eq!(own.count(), 1, "a header that makes no sense");
}
