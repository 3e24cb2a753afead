//! The table is what is registered, and the reference page is what the table says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use herdcache_otel::{Attribute, CACHE, GATE, Kind, Metric, NAMES, Subject, metrics};

use super::play::Stage;
use super::support::{Provider, alone};

const PAGE: &str = "docs/reference/metrics.md";

/// Both directions: what a collection has is in the table, under its unit and meaning, and each row of the table has
/// series once everything has happened that a cache can do.
#[tokio::test(start_paused = true)]
async fn every_row_has_series_and_every_series_a_row() {
    let _turn = alone().await;
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let stage = Stage::new("table");
    stage.play().await;
    let seen = provider.collect();
    let rows: BTreeMap<&str, &Metric> = metrics().iter().map(|metric| (metric.name, metric)).collect();
    assert_eq!(rows.len(), metrics().len(), "a name stands twice in the table");
    for (name, (unit, description)) in &seen.about {
        let row = rows.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert_eq!((unit.as_str(), description.as_str()), (row.unit, row.meaning), "{name}");
    }
    for (name, row) in &rows {
        assert!(seen.about.contains_key(*name), "{name} is in the table and was not collected");
        let bounds = seen.histograms.get(*name).and_then(|series| series.values().next()).map(|one| &one.bounds);
        assert_eq!(bounds.map(Vec::as_slice), row.boundaries(), "{name}");
    }
    // Attributes: those of the row and the name of its owner, with values of their sets.
    for (name, row) in rows {
        let values = seen.values.get(name).map(|series| series.keys().cloned().collect::<Vec<_>>());
        let samples = seen.histograms.get(name).map(|series| series.keys().cloned().collect::<Vec<_>>());
        for series in values.into_iter().chain(samples).flatten() {
            in_the_row(row, &series);
        }
    }
}

fn in_the_row(row: &Metric, series: &str) {
    for pair in series.split(',').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap();
        if key == CACHE || key == GATE {
            let of = match row.subject() {
                Subject::Cache => key == CACHE,
                Subject::Gate => key == GATE,
                Subject::CacheOrGate => true,
                _ => false,
            };
            assert!(of, "{}: {pair}", row.name);
            continue;
        }
        let attribute = row.attributes.iter().find(|attribute| attribute.key == key);
        let attribute = attribute.unwrap_or_else(|| panic!("{} has {pair}", row.name));
        let known = attribute.values().contains(&value) || attribute.is_named_by_application();
        assert!(known, "{} has {pair}", row.name);
    }
}

/// Units that Prometheus' translations agree on, names that fit, boundaries that rise.
#[test]
fn rows_are_well_formed() {
    for metric in metrics() {
        let plain = |byte: u8| byte.is_ascii_lowercase() || b"._".contains(&byte);
        assert!(metric.name.starts_with("herdcache.") && metric.name.bytes().all(plain), "{}", metric.name);
        assert!(matches!(metric.unit, "s" | "1" | "") || metric.unit.starts_with('{'), "{}", metric.name);
        assert!(
            metric.unit != "1" || metric.kind == Kind::Gauge,
            "{}: only gauges get `_ratio` everywhere",
            metric.name
        );
        assert!(!metric.meaning.is_empty() && !metric.look.is_empty(), "{}", metric.name);
        assert_eq!(metric.boundaries().is_some(), metric.kind == Kind::Histogram, "{}", metric.name);
        assert!(
            metric.boundaries().is_none_or(|bounds| bounds.is_sorted_by(|one, next| one < next)),
            "{}",
            metric.name
        );
    }
}

/// How many series one owner has, by metric: with everything, once everything has happened.
fn series(
    stage: &Stage,
    seen: &super::support::Collected,
) -> (BTreeMap<&'static str, usize>, BTreeMap<&'static str, usize>) {
    let (cache, gate) = (stage.cache.name(), stage.gate.name());
    let of = |metric: &Metric, owner: fn(&super::support::Collected, &str, &str) -> usize, name: &str| {
        owner(seen, metric.name, name)
    };
    let caches = metrics()
        .iter()
        .map(|metric| (metric.name, of(metric, |seen, metric, name| seen.of_cache(metric, name).len(), cache)));
    let gates = metrics()
        .iter()
        .map(|metric| (metric.name, of(metric, |seen, metric, name| seen.of_gate(metric, name).len(), gate)));
    (caches.collect(), gates.collect())
}

/// The SDK folds what is beyond 2,000 series of an instrument without a name: as many names as are kept stay below,
/// with a shared tier, a lease and as many classes of errors as there may be.
#[tokio::test(start_paused = true)]
async fn l7_as_many_names_as_are_kept_stay_below_the_sdks_limit() {
    let _turn = alone().await;
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let stage = Stage::new("series");
    let seen = provider.collect();
    let (caches, gates) = series(&stage, &seen);
    for metric in metrics() {
        // A stage names two classes of errors; there may be 16.
        let classes = if metric.attributes.iter().any(Attribute::is_named_by_application) { 14 } else { 0 };
        // A histogram's series come when they have samples: as many as its sets, at most.
        let sets: usize = metric.attributes.iter().map(|attribute| attribute.values().len()).product();
        let recorded = if metric.kind == Kind::Histogram { sets } else { 0 };
        let most = caches[metric.name].max(recorded) + gates[metric.name] + classes;
        assert!((NAMES + 1) * most <= 2_000, "{}: {most} series for a name", metric.name);
    }
}

fn page(series: &str) -> String {
    let mut page = String::from(
        "# Metrics\n\n\
         Written from the table in `crates/herdcache-otel/src/table/` by `UPDATE=1 cargo test -p herdcache-otel --all-features --test account`;\n\
         do not edit. A test compares the table with what is really collected, in both directions.\n\n\
         `herdcache_otel::observe` gives them to a meter: [to a collector](../opentelemetry.md), or\n\
         [on a page for Prometheus](../../examples/shop/src/telemetry.rs).\n\n\
         Every metric of a cache carries `herdcache.name`, every metric of a gate `herdcache.gate.name`; in Prometheus dots are\n\
         underscores (`herdcache_name`). No attribute ever holds a key or the text of an error. Each known value of an attribute is\n\
         there from 0 on, except in histograms, whose series begin with their first sample. The values of the closed sets are\n\
         explained in [words.md](words.md).\n",
    );
    page.push_str(series);
    for (title, subject) in [
        ("Caches", Subject::Cache),
        ("Gates", Subject::Gate),
        ("Caches and gates", Subject::CacheOrGate),
        ("The process", Subject::Process),
    ] {
        let _ = write!(
            page,
            "\n## {title}\n\n| metric | Prometheus | kind, unit | attributes | tells | look here when |\n|---|---|---|---|---|---|\n"
        );
        for metric in metrics().iter().filter(|metric| metric.subject() == subject) {
            let kind = match metric.kind {
                Kind::Counter => "counter",
                Kind::UpDown => "up-down counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
                _ => "?",
            };
            let unit = if metric.unit.is_empty() { "none" } else { metric.unit };
            let attributes: Vec<_> = metric.attributes.iter().map(|one| format!("`{}`", one.key)).collect();
            let attributes = if attributes.is_empty() { "–".to_owned() } else { attributes.join(", ") };
            let _ = writeln!(
                page,
                "| `{}` | `{}` | {kind}, {unit} | {attributes} | {} | {} |",
                metric.name,
                metric.prometheus(),
                metric.meaning,
                metric.look
            );
        }
    }
    page.push_str("\n## Attributes\n\n| attribute | Prometheus | values |\n|---|---|---|\n");
    let mut known = BTreeSet::new();
    for attribute in metrics().iter().flat_map(|metric| metric.attributes) {
        let values: Vec<_> = attribute.values().iter().map(|value| format!("`{value}`")).collect();
        let more = if attribute.is_named_by_application() {
            ", and up to 16 classes that the application names (`Builder::error_classes`); only beside `error`"
        } else {
            ""
        };
        let row = format!("| `{}` | `{}` | {}{more} |\n", attribute.key, attribute.prometheus(), values.join(", "));
        if known.insert(row.clone()) {
            page.push_str(&row);
        }
    }
    page.push_str(
        "\n## Buckets\n\nUpper bounds, the same for every cache and gate.\n\n| metrics | bounds |\n|---|---|\n",
    );
    let mut buckets: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for metric in metrics() {
        if let Some(bounds) = metric.boundaries() {
            let text: Vec<_> = bounds.iter().map(f64::to_string).collect();
            buckets.entry(text.join(", ")).or_default().push(metric.name);
        }
    }
    for (bounds, names) in buckets {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| {} | {bounds} |", names.join(", "));
    }
    page
}

/// What the page says of the number of series, counted.
fn counted() -> String {
    let provider = Provider::new();
    let _observing = herdcache_otel::observe(&provider.meter()).unwrap();
    let stage = Stage::new("counted");
    let gate = herdcache::Gate::builder(1).name("counted-plain-gate").build().unwrap();
    let ttl = herdcache::Ttl::fresh_for(super::play::ms(1_000));
    let _plain = herdcache::Cache::<u64, u64>::builder("counted-plain", ttl, &gate).build().unwrap();
    let seen = provider.collect();
    let of_cache = |name| metrics().iter().map(|metric| seen.of_cache(metric.name, name).len()).sum::<usize>();
    let of_gate = |name| metrics().iter().map(|metric| seen.of_gate(metric.name, name).len()).sum::<usize>();
    let histograms = |subject| -> usize {
        let recorded = metrics().iter().filter(|metric| metric.kind == Kind::Histogram && metric.subject() == subject);
        recorded.map(|metric| metric.attributes.iter().map(|one| one.values().len()).product::<usize>()).sum()
    };
    drop(stage);
    format!(
        "\n## How many series\n\n\
         A cache has {} series, {} with a shared tier, a lease and two classes of errors; a gate {}, or {} with everything. Beside\n\
         them come histograms, at most {} for a cache and {} for a gate, each of as many series in Prometheus as it has buckets,\n\
         and only those that got a sample. At most {NAMES} caches and {NAMES} gates have names of their own (`Observer::names`);\n\
         the others share `~other`, with exact sums.\n\n\
         Two things of the contract are measured only where a crate for Redis is used and come with it: keys evicted and expired\n\
         by the server with its memory, and invalidations received from other processes with the gaps among them.\n",
        of_cache("counted-plain"),
        of_cache("counted"),
        of_gate("counted-plain-gate"),
        of_gate("counted-gate"),
        histograms(Subject::Cache),
        histograms(Subject::Gate),
    )
}

#[tokio::test(start_paused = true)]
async fn the_page_is_what_the_table_says() {
    let _turn = alone().await;
    let expected = page(&counted());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{PAGE} is not what the table says: run `UPDATE=1 cargo test -p herdcache-otel --all-features --test account` and look at the diff"
    );
}
