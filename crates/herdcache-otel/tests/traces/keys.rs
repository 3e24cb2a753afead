//! Keys of a megabyte, and of characters that a terminal takes for orders: what spans and lines have of them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use herdcache::{Cache, Gate, KeyView, Traces, Ttl};
use tracing::Event;
use tracing::field::{Field, Visit};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::exported::{Exported, Names, ask, attribute, ms};

/// Characters of a key that are shown, and the mark that there are more.
const SHOWN: usize = 120 + 1;

/// Every value of every line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn said(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Values<'a>(&'a mut Vec<String>);

impl Visit for Values<'_> {
    fn record_str(&mut self, _: &Field, value: &str) {
        self.0.push(value.to_owned());
    }

    fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
        self.0.push(format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Values(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}

/// The key of a flight as it was exported, with callers enough for a herd.
async fn shown(exported: &Exported, key: &str, view: KeyView<String>, traces: Traces) -> String {
    let builder = Cache::builder("keys", Ttl::fresh_for(ms(60_000)), &Gate::new(16)).jitter(0.0);
    let cache: Names = builder.traces(traces).show_keys(view).build().unwrap();
    let callers: Vec<_> = (0..11).map(|_| ask(&cache, key, Ok(1))).collect();
    for caller in callers {
        assert!(caller.await.unwrap());
    }
    cache.shutdown(ms(10_000)).await;
    let flight = exported.named("herdcache.flight").remove(0);
    attribute(&flight, "herdcache.key").unwrap().as_str().into_owned()
}

/// K2, L7: a hash unless the application says otherwise, and then 120 characters of it. Neither spans nor lines hold more.
#[tokio::test(start_paused = true)]
async fn k2_a_key_of_a_megabyte_is_a_hash_or_a_bounded_beginning() {
    let exported = Exported::all().await;
    let lines = Lines::default();
    let layers = tracing_subscriber::registry().with(lines.clone()).with(exported.tracing.layer("service"));
    let _guard = tracing::subscriber::set_default(layers);
    let [chosen, herds] = [1, 0].map(|one_in| Traces::none().per_second(1_000).one_in(one_in).waits(1_000));
    let orders = ["\u{1b}[2J\u{7}\r\n", "\0\u{202e}\"\\\u{9b}", "\u{1f980}"].map(|part| (part, 1_000));
    for (part, times) in [("alice@example.org ", 60_000)].into_iter().chain(orders) {
        let key = part.repeat(times);
        let beginning: String = key.chars().take(120).chain(['…']).collect();
        for traces in [chosen, herds] {
            for (view, is_plain) in
                [(KeyView::Hash, false), (KeyView::Plain, true), (KeyView::With(String::clone), true)]
            {
                let case = format!("{part:?}, {view:?}");
                let said_before = lines.said().len();
                let shown = shown(&exported, &key, view, traces).await;
                let said = lines.said().split_off(said_before);
                assert!(said.contains(&shown), "{case}: the herd's line has the key as the span has it");
                if is_plain {
                    assert_eq!((&shown, shown.chars().count()), (&beginning, SHOWN), "{case}");
                } else {
                    let is_hash = shown.len() == 16 && shown.bytes().all(|byte| byte.is_ascii_hexdigit());
                    assert!(is_hash, "{case}: {shown}");
                    assert!(!said.concat().contains(part) && !exported.text().contains("alice"), "{case}");
                }
                let longest = said.iter().map(String::len).max().unwrap_or_default();
                // Facts are other fields than the key: numbers and words.
                assert!(longest <= 4 * SHOWN, "{case}: a line's field has {longest} bytes");
                let attributes = exported.spans().into_iter().flat_map(|span| span.attributes);
                let longest = attributes.map(|attribute| attribute.value.as_str().len()).max().unwrap_or_default();
                assert!(longest <= 4 * SHOWN, "{case}: an attribute has {longest} bytes");
                exported.forget();
            }
        }
    }
}
