//! What arrives is what the table of metrics says: names, units, kinds, temporality, attributes and their values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use herdcache_otel::{Attribute, CACHE, GATE, Subject, metrics};
use herdfeed::ClosedSet;
use otlp_rig::{Batch, Collector, Kind, Point, Protocol, Temporality};
use shop::{Settings, Sharing};
use tokio::task::JoinSet;

use super::{alone, pushing, runtimes};
use crate::support::{Running, get};

/// Values of attributes that a metric never has, and why.
const NEVER: &[(&str, &str, &str)] = &[
    // Refusals of warm-ups are no refusals of requests: the table leaves that class out.
    ("herdcache.rejections", "herdcache.permit.class", "warmup"),
];

/// Values that go stale after a moment, a shared tier with a lease, and loads of a while.
fn eventful(settings: &mut Settings) {
    settings.sharing = Sharing::InMemory;
    settings.fresh = Duration::from_millis(50);
    settings.hot_fresh = Duration::from_millis(50);
    settings.stale_for = Duration::from_secs(60);
}

/// A load that others wait for, a stale answer with its refresh, and a warm-up.
async fn play(shop: &Running) {
    let mut asked = JoinSet::new();
    for _ in 0..5 {
        let addr = shop.addr;
        asked.spawn(async move { get(addr, "/products/1?tenant=acme").await.status });
    }
    assert_eq!(asked.join_all().await, [200; 5]);
    let stale = |shop: &Running| shop.products.snapshot().outcomes[herdfeed::Outcome::Stale] > 0;
    let ask_again = async {
        while !stale(shop) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            shop.get("/products/1?tenant=acme").await;
        }
    };
    tokio::time::timeout(crate::support::PATIENCE, ask_again).await.expect("a stale answer");
    shop.products.warm_up([]).await;
    shop.until_idle().await;
}

/// The kind of a row, as it is sent.
fn kind(kind: herdcache_otel::Kind) -> Kind {
    match kind {
        herdcache_otel::Kind::Counter => Kind::Counter,
        herdcache_otel::Kind::UpDown => Kind::UpDown,
        herdcache_otel::Kind::Gauge => Kind::Gauge,
        herdcache_otel::Kind::Histogram => Kind::Histogram,
        _ => Kind::Other,
    }
}

/// Complaints about one point, compared with its row of the table.
fn complaints(point: &Point, classes: &[&str]) -> Vec<String> {
    let Some(row) = metrics().iter().find(|row| row.name == point.metric) else {
        return vec![format!("{} is not in the table", point.metric)];
    };
    let mut complaints = Vec::new();
    let mut say = |wrong: bool, what: String| {
        if wrong {
            complaints.push(format!("{} {:?}: {what}", point.metric, point.attributes));
        }
    };
    say(point.unit != row.unit, format!("its unit is {:?}", point.unit));
    say(point.about != row.meaning, format!("it is described as {:?}", point.about));
    say(point.kind != kind(row.kind), format!("it is a {:?}", point.kind));
    let since = if row.kind == herdcache_otel::Kind::Gauge { None } else { Some(Temporality::Cumulative) };
    say(point.temporality != since, format!("it counts {:?}", point.temporality));
    say(row.boundaries().is_some_and(|bounds| bounds != point.histogram.bounds), "it has other buckets".to_owned());
    let in_buckets: u64 = point.histogram.buckets.iter().sum();
    say(in_buckets != point.histogram.count, format!("{in_buckets} samples are in its buckets"));
    let owner: &[&str] = match row.subject() {
        Subject::Gate => &[GATE],
        Subject::CacheOrGate if point.attributes.contains_key(GATE) => &[GATE],
        Subject::Cache | Subject::CacheOrGate => &[CACHE],
        _ => &[],
    };
    let mut expected: BTreeSet<&str> = owner.iter().copied().collect();
    for attribute in row.attributes {
        match point.attributes.get(attribute.key) {
            Some(value) => {
                say(!may_be(attribute, value, classes), format!("{} is never {value:?}", attribute.key));
                expected.insert(attribute.key);
            }
            // The class of an error stands beside an error only.
            None => say(!attribute.is_named_by_application(), format!("it lacks {}", attribute.key)),
        }
    }
    let strangers = point.attributes.keys().filter(|key| !expected.contains(key.as_str()));
    strangers.for_each(|key| say(true, format!("it has {key}")));
    complaints
}

fn may_be(attribute: &Attribute, value: &str, classes: &[&str]) -> bool {
    attribute.values().contains(&value) || attribute.is_named_by_application() && classes.contains(&value)
}

/// Complaints about a collection: what came that is not in the table, and what is in the table and did not come.
fn compare(batch: &Batch) -> Vec<String> {
    let ours = batch.points.iter().filter(|point| point.metric.starts_with("herdcache."));
    let mut all: Vec<_> = ours.flat_map(|point| complaints(point, shop::db::DbError::CLASSES)).collect();
    for row in metrics() {
        if batch.of(row.name).next().is_none() {
            all.push(format!("{} did not come", row.name));
        }
    }
    // Of what is counted each known value is there from 0 on.
    for row in metrics().iter().filter(|row| row.kind == herdcache_otel::Kind::Counter) {
        for attribute in row.attributes.iter().filter(|attribute| !attribute.is_named_by_application()) {
            let came: BTreeSet<_> =
                batch.of(row.name).filter_map(|point| point.attributes.get(attribute.key)).collect();
            let may = attribute.values().into_iter().filter(|value| !NEVER.contains(&(row.name, attribute.key, value)));
            let missing = may.into_iter().find(|value| !came.iter().any(|one| one == value));
            all.extend(missing.map(|value| format!("{}: {} = {value} did not come", row.name, attribute.key)));
        }
    }
    all
}

#[test]
fn what_arrives_is_what_the_table_says() {
    let _turn = alone();
    let [_, (_, runtime)] = runtimes();
    for protocol in Protocol::ALL {
        let collector = Collector::start(protocol).unwrap();
        let (name, counted) = runtime.block_on(async {
            let (shop, telemetry) = pushing(&collector.url(), eventful).await;
            play(&shop).await;
            let (name, counted) = (shop.products.name().to_owned(), shop.stats().outcomes);
            shop.stop().await;
            telemetry.shutdown();
            (name, counted)
        });
        let last = collector.inbox().last();
        assert_eq!(compare(&last), Vec::<String>::new(), "{protocol:?}");
        for (outcome, count) in counted.iter() {
            let with = [("herdcache.name", name.as_str()), ("herdcache.request.outcome", outcome.label())];
            assert_eq!(last.count("herdcache.requests", &with), count, "{protocol:?}, {outcome:?}");
        }
        assert_eq!(last.resource["service.name"], "shop");
        assert!(last.resource["service.instance.id"].starts_with(&format!("{}-", std::process::id())));
        a_wrong_point_is_seen(&last);
    }
}

/// What is made of a point.
type Change = fn(&mut Point);

/// The comparison can fail: each of these changes to what came is seen, as one complaint.
fn a_wrong_point_is_seen(batch: &Batch) {
    let first = batch.of("herdcache.requests").next().unwrap();
    let changes: [(&str, Change); 8] = [
        ("not in the table", |point| point.metric.push('s')),
        ("its unit", |point| point.unit.push('s')),
        ("described", |point| point.about.clear()),
        ("it is a", |point| point.kind = Kind::UpDown),
        ("it counts", |point| point.temporality = Some(Temporality::Delta)),
        ("is never", |point| drop(point.attributes.insert("herdcache.request.outcome".into(), "miss".into()))),
        ("it lacks", |point| drop(point.attributes.remove("herdcache.tier"))),
        ("it has", |point| drop(point.attributes.insert("key".into(), "7".into()))),
    ];
    for (expected, change) in changes {
        let mut point = first.clone();
        change(&mut point);
        let seen = complaints(&point, &[]);
        assert!(seen.len() == 1 && seen[0].contains(expected), "{expected}: {seen:?}");
    }
    let mut less = batch.clone();
    less.points.retain(|point| point.metric != "herdcache.misses");
    assert!(compare(&less).iter().any(|what| what == "herdcache.misses did not come"));
    let sums: BTreeMap<_, _> = batch.of("herdcache.misses").map(|point| (&point.attributes, point.value)).collect();
    assert!(sums.len() > 1, "{sums:?}");
}
