//! Every byte that goes over the wire: no key, no value, no text of an error, unless the application says so.

use herdcache::{Cache, Gate, KeyView, LoadContext, MemoryTier, Secret, Traces, Ttl};
use otlp_rig::{Collector, Protocol};
use tracing::Instrument as _;

use crate::service::{Exports, alone, ms};

#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize)]
struct Session {
    user: String,
    token: Secret<String>,
}

/// In the key, in what the key's secret part is, in values, in errors, in panics.
const USER: &str = "alice@example.com";
const TOKEN: &str = "hunter2";
const VALUE: &str = "balance 4711";
const COMPLAINT: &str = "duplicate key";

type Sessions = Cache<Session, String, String>;

fn session(number: u64) -> Session {
    Session { user: format!("{USER} {number}"), token: Secret::new(format!("{TOKEN} {number}")) }
}

/// A load that says more than it should.
async fn load(context: LoadContext<Session, String>) -> Result<String, String> {
    tokio::time::sleep(ms(20)).await;
    let Session { user, token } = context.key();
    match user.as_bytes()[user.len() - 1] % 3 {
        0 => Ok(format!("{VALUE} of {user}")),
        1 => Err(format!("{COMPLAINT} 'user:{user}:{}'", token.expose())),
        _ => panic!("{COMPLAINT} '{user}'"),
    }
}

/// Herds on nine keys, which are loaded, fail and panic; then each of them again, and some that are thrown away.
async fn play(cache: &Sessions) {
    for number in (0..9).chain(0..9) {
        let ask = |_| {
            let cache = cache.clone();
            let request = tracing::info_span!(target: "wire", parent: None, "request");
            let asked = async move { cache.get_with(&session(number), load).await.is_ok() };
            tokio::spawn(asked.instrument(request))
        };
        let callers: Vec<_> = (0..12).map(ask).collect();
        for caller in callers {
            let _ = caller.await;
        }
        if number % 2 == 0 {
            cache.invalidate(&session(number));
        }
        tokio::time::sleep(ms(1_500)).await;
    }
    cache.shutdown(ms(10_000)).await;
}

/// What a collector was sent, as it came.
fn sent(protocol: Protocol, view: KeyView<Session>, traces: Traces) -> Vec<u8> {
    let collector = Collector::start(protocol).unwrap();
    let exports = Exports::to(protocol, collector.address());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let cache = tracing::dispatcher::with_default(&exports.dispatch, || {
        runtime.block_on(async {
            let (tier, gate) = (MemoryTier::new(), Gate::new(16));
            let builder =
                Sessions::builder("sessions", Ttl::fresh_for(ms(60_000)), &gate).traces(traces).show_keys(view);
            let builder = builder.error_classes(&["constraint"], |_| "constraint");
            let cache = builder.shared(tier.clone()).lease(tier).build().unwrap();
            play(&cache).await;
            cache
        })
    });
    exports.end();
    drop(cache);
    let spans = collector.inbox().spans();
    let failed =
        spans.iter().filter(|span| span.attributes.get("error.type").is_some_and(|class| class == "constraint"));
    assert!(failed.count() > 0, "a flight that failed");
    assert!(collector.inbox().last().count("herdcache.requests", &[]) > 0);
    collector.inbox().raw().concat()
}

fn holds(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|window| window == what.as_bytes())
}

/// K2, P3: metrics and traces, flights that were chosen and herds, over both protocols.
#[test]
fn k2_p3_no_byte_tells_a_key_a_value_or_an_error() {
    let _turn = alone();
    let [chosen, herds] = [1, 0].map(|one_in| Traces::none().per_second(1_000).one_in(one_in).waits(1_000));
    for protocol in Protocol::ALL {
        for traces in [chosen, herds] {
            for (view, is_plain) in [(KeyView::Hash, false), (KeyView::Plain, true)] {
                let case = format!("{protocol:?}, {traces:?}, {view:?}");
                let bytes = sent(protocol, view, traces);
                // What is searched is what it seems to be: names, resource and scope are found in it.
                for known in ["herdcache.flight", "herdcache.wait", "herdcache.requests", "service.name", "constraint"]
                {
                    assert!(holds(&bytes, known), "{case}: {known}");
                }
                assert_eq!(holds(&bytes, USER), is_plain, "{case}");
                for part in ["alice", "example.com"] {
                    assert!(is_plain || !holds(&bytes, part), "{case}: {part}");
                }
                for secret in [TOKEN, "hunter", VALUE, "4711", COMPLAINT, "duplicate"] {
                    assert!(!holds(&bytes, secret), "{case}: {secret}");
                }
            }
        }
    }
}
