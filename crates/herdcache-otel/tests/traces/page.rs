//! What the reference page says of traces and lines is what there is, in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use herdcache::{Cache, Gate, MemoryTier, Traces, Ttl};
use opentelemetry_sdk::trace::SpanData;
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::exported::{Exported, Names, ask, ms, names};

type Set = BTreeSet<String>;

/// The fields of every span and line that there was, whether they had a value or not.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeMap<(&'static str, &'static str), Set>>>);

impl Seen {
    fn note(&self, what: &'static str, metadata: &'static Metadata<'static>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fields = metadata.fields().iter().map(|field| field.name().to_owned());
        seen.entry((metadata.target(), what)).or_default().extend(fields.filter(|name| name != "message"));
    }

    /// What there was of a target, by name.
    fn of(&self, target: &str) -> BTreeMap<&'static str, Set> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|((of, _), _)| *of == target).map(|((_, name), fields)| (*name, fields.clone())).collect()
    }
}

impl<S: Subscriber> Layer<S> for Seen {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.note(span.metadata().name(), span.metadata());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.note("line", event.metadata());
    }
}

/// Rows of the page's tables below a heading, as the names in their first column and what stands in the second.
fn rows(heading: &str) -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/traces.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, below) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = below.split("\n## ").next().unwrap();
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        Some((cells.next()?.trim_end_matches('`').to_owned(), cells.next()?.to_owned()))
    };
    section.lines().filter_map(row).collect()
}

/// The page's attributes of a span.
fn attributes(of: &str) -> Set {
    rows("Spans").into_iter().filter(|(_, second)| second == of).map(|(name, _)| name).collect()
}

/// Each way that a flight goes, with two callers that wait for the first.
async fn play() {
    let (tier, gate) = (MemoryTier::new(), Gate::builder(1).queue(10).build().unwrap());
    let all = Traces::none().per_second(1_000).one_in(1).waits(1_000);
    let builder = Cache::builder("page", Ttl::fresh_for(ms(60_000)), &gate).traces(all);
    let cache: Names = builder.shared(tier.clone()).lease(tier).build().unwrap();
    // The last is refused after it has queued, which is a step all the same.
    let callers = ["a", "a", "b"].map(|key| ask(&cache, key, Ok(1)));
    for caller in callers {
        let _ = caller.await;
    }
    // Lines, of which some are left out.
    for herd in 0..8 {
        let callers: Vec<_> = (0..20).map(|_| ask(&cache, &format!("herd {herd}"), Ok(1))).collect();
        for caller in callers {
            let _ = caller.await;
        }
    }
    cache.shutdown(ms(10_000)).await;
}

/// Both directions: spans, their attributes, and the fields of lines.
#[tokio::test(start_paused = true)]
async fn the_page_names_every_span_attribute_and_field() {
    let exported = Exported::all().await;
    let seen = Seen::default();
    let subscriber = tracing_subscriber::registry().with(seen.clone()).with(exported.tracing.layer("service"));
    let _guard = tracing::subscriber::set_default(subscriber);
    play().await;
    let spans = seen.of("herdcache");
    let on_the_page = rows("Spans").into_iter().filter(|(_, second)| !matches!(&**second, "flight" | "wait"));
    assert_eq!(
        spans.keys().map(|name| (*name).to_owned()).collect::<Set>(),
        on_the_page.map(|(name, _)| name).collect()
    );
    for (name, fields) in spans {
        assert_eq!(fields, attributes(name.strip_prefix("herdcache.").unwrap()), "{name}");
    }
    let fields = rows("Lines of a log").into_iter().map(|(name, _)| name).collect();
    assert_eq!(seen.of("herdcache::events").remove("line"), Some(fields));
}

fn keys(span: &SpanData) -> Set {
    span.attributes.iter().map(|attribute| attribute.key.to_string()).collect()
}

/// A herd's spans, which another hand makes, have the same names; the status is OpenTelemetry's own.
#[tokio::test(start_paused = true)]
async fn what_is_exported_of_herds_is_on_the_page_too() {
    let exported = Exported::all().await;
    for (cache, result) in [("loaded", Ok(1)), ("failed", Err("syntax"))] {
        let cache = names(cache, Traces::default().one_in(0).hot_keys(0));
        let callers: Vec<_> = (0..20).map(|_| ask(&cache, "k", result)).collect();
        for caller in callers {
            assert_eq!(caller.await.unwrap(), result.is_ok());
        }
    }
    let (flights, waits) = (exported.named("herdcache.flight"), exported.named("herdcache.wait"));
    let without = |left_out: &[&str]| {
        let mut page = attributes("flight");
        page.retain(|name| !left_out.contains(&name.as_str()));
        page
    };
    assert_eq!(keys(&flights[0]), without(&["herdcache.tier", "error.type", "otel.status_code"]));
    assert_eq!(keys(&flights[1]), without(&["herdcache.tier", "herdcache.value.age", "otel.status_code"]));
    let mut of_a_wait = attributes("wait");
    of_a_wait.remove("herdcache.left_early");
    assert!(waits.len() == 40 && waits.iter().all(|wait| keys(wait) == of_a_wait), "{of_a_wait:?}");
}
