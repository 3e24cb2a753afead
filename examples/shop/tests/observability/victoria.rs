//! A real backend for OTLP over HTTP: `VictoriaMetrics` gets what the shop pushes and answers with the same values.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use herdfeed::{ClosedSet, Outcome};
use serde_json::Value;
use shop::http::Health;
use shop::stats::QueryKind;
use tempfile::TempDir;

use crate::children::{Process, free_port};
use crate::http;
use crate::otlp::Shop;

/// How long it may take until a pushed value can be asked for. Reached only on failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is asked for: everything of ours and of the pool.
const OURS: [&str; 2] = ["herdcache_", "db_client_connection_"];

/// Name and labels of a series.
type Series = (String, BTreeMap<String, String>);

struct Victoria {
    address: String,
    _process: Process,
}

impl Victoria {
    fn start(folder: &TempDir) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let args = [
            format!("-httpListenAddr={address}"),
            format!("-storageDataPath={}", folder.path().join("data").display()),
            // Names as Prometheus would give them, and values at once instead of after 30 s.
            "-opentelemetry.usePrometheusNaming".to_owned(),
            "-search.latencyOffset=0s".to_owned(),
            "-retentionPeriod=1d".to_owned(),
            "-memory.allowedBytes=67108864".to_owned(),
            "-loggerLevel=ERROR".to_owned(),
        ];
        let this = Self { address, _process: Process::start("victoria-metrics", &args) };
        let until = Instant::now() + PATIENCE;
        while !http::ask(&this.address, "GET /health", "").is_ok_and(|body| body.contains("OK")) {
            assert!(Instant::now() < until, "VictoriaMetrics does not get ready: is it installed? See scripts/test");
            std::thread::sleep(Duration::from_millis(100));
        }
        this
    }

    fn ask(&self, expr: &str) -> Vec<(Series, f64)> {
        let form = http::form(&[("query", expr)]);
        let answer = http::json(&self.address, "POST /api/v1/query", &form).unwrap();
        assert_eq!(answer["status"], "success", "{expr}: {answer}");
        answer["data"]["result"].as_array().unwrap().iter().map(series).collect()
    }

    /// The one value of a query.
    fn one(&self, expr: &str) -> Option<f64> {
        self.ask(expr).pop().map(|(_, value)| value)
    }

    /// Every series of ours.
    fn all(&self) -> BTreeMap<Series, f64> {
        self.ask(&format!("{{__name__=~\"({}).+\"}}", OURS.join("|"))).into_iter().collect()
    }
}

fn series(answer: &Value) -> (Series, f64) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut labels: BTreeMap<_, _> =
        answer["metric"].as_object().unwrap().iter().map(|(key, value)| (key.clone(), text(value))).collect();
    let name = labels.remove("__name__").unwrap_or_default();
    // Who sent it: a scrape tells that by other labels.
    labels.retain(|label, _| !label.starts_with("service_") && !label.starts_with("telemetry_sdk_"));
    ((name, labels), text(&answer["value"][1]).parse().unwrap())
}

/// What the shop shows to a scrape, as it would be asked for.
fn page(address: &str) -> BTreeMap<Series, f64> {
    let text = http::ask(address, "GET /metrics", "").unwrap();
    text.lines().filter(|line| OURS.iter().any(|ours| line.starts_with(ours))).map(shown).collect()
}

/// One line: `name{label="value",…} number`. No value of ours holds a quote or a comma.
fn shown(line: &str) -> (Series, f64) {
    let (head, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = head.split_once('{').unwrap_or((head, "}"));
    let pairs = labels.trim_end_matches('}').split(',').filter(|pair| !pair.is_empty());
    let mut labels: BTreeMap<_, _> = pairs
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(label, value)| (label.to_owned(), value.trim_matches('"').to_owned()))
        .collect();
    labels.retain(|label, _| !label.starts_with("otel_scope_"));
    ((name.to_owned(), labels), value.parse().unwrap())
}

/// Counts to the unit; sums of seconds as far as the store keeps digits, which are 13.
fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= one.abs() * 1e-12
}

/// How one differs from the other.
fn differences(page: &BTreeMap<Series, f64>, stored: &BTreeMap<Series, f64>) -> Vec<String> {
    let ours = page.iter().filter(|(series, value)| !stored.get(*series).is_some_and(|other| same(**value, *other)));
    let ours = ours.map(|(series, value)| format!("{series:?} shows {value}, stored is {:?}", stored.get(series)));
    let strangers = stored.keys().filter(|series| !page.contains_key(*series));
    ours.chain(strangers.map(|series| format!("{series:?} is stored and not shown"))).collect()
}

#[test]
fn victoria_metrics_answers_with_the_values_of_the_shop() {
    let folder = TempDir::new().unwrap();
    let victoria = Victoria::start(&folder);
    let url = format!("http://{}/opentelemetry", victoria.address);
    // It takes no traces.
    let told = [("OTEL_METRIC_EXPORT_INTERVAL", "500"), ("OTEL_TRACES_EXPORTER", "none")];
    let args =
        ["--shared", "--stale-for", "60s", "--hot-fresh", "100ms", "--prometheus", "127.0.0.1:0", "--otlp", &url];
    let shop = Shop::start(&args, &told);
    let scraped = shop.page.clone().unwrap();
    for product in [1, 2, 10, 11, 10, 1, 2, 9_999] {
        shop.get(&format!("/products/{product}?tenant=acme"));
        std::thread::sleep(Duration::from_millis(60));
    }
    // At rest both say the same, whatever lies between: names, labels, buckets, sums.
    let began = Instant::now();
    let (shown, stored) = loop {
        let (shown, stored) = (page(&scraped), victoria.all());
        let differ = differences(&shown, &stored);
        if differ.is_empty() {
            break (shown, stored);
        }
        assert!(began.elapsed() < PATIENCE, "{differ:#?}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(shown.len() > 200 && shown.values().any(|value| *value > 0.0), "{} series", shown.len());

    // And both say what the cache's own snapshot says, and what the shop has counted itself, without herdcache.
    let health: Health = serde_json::from_str(&shop.get("/health")).unwrap();
    assert_eq!(victoria.one("herdcache_permit_limit"), Some(health.gate_limit as f64));
    assert_eq!(victoria.one("sum(herdcache_permit_usage)"), Some(health.gate_used as f64));
    let level = health.protection.unwrap().label();
    let expr = format!("herdcache_protection_level{{herdcache_protection_level=\"{level}\"}}");
    assert_eq!(victoria.one(&expr), Some(1.0), "{expr}");
    let counted = shop.stats();
    for (outcome, count) in counted.outcomes.iter() {
        let label = outcome.label();
        let expr = format!("sum(herdcache_requests_total{{herdcache_request_outcome=\"{label}\"}})");
        // To the shop an answer "no such product" is none of the outcomes.
        let absent = if outcome == Outcome::Loaded { counted.absent } else { 0 };
        assert_eq!(victoria.one(&expr), Some((count + absent) as f64), "{expr}");
    }
    let queries = counted.queries[QueryKind::Ordinary] + counted.queries[QueryKind::Bundle];
    assert_eq!(victoria.one("herdcache_origin_calls_total"), Some(queries as f64));
    assert_eq!(
        victoria.one("herdcache_origin_call_duration_seconds_count{herdcache_origin_result=\"absent\"}"),
        Some(1.0)
    );
    assert_eq!(victoria.one("db_client_connection_max"), Some(counted.pool.size as f64));
    assert_eq!(victoria.one("count(count by (service_instance_id) (herdcache_entry_count))"), Some(1.0));

    // The comparison can fail.
    let mut other = stored.clone();
    let (series, value) = other.pop_first().unwrap();
    assert_eq!(differences(&shown, &other).len(), 1, "a series that is missing");
    other.insert(series, value + 1.0);
    assert_eq!(differences(&shown, &other).len(), 1, "another value");
    other = stored;
    other.insert(("herdcache_hits_total".to_owned(), BTreeMap::new()), 1.0);
    assert_eq!(differences(&shown, &other).len(), 1, "a series that nobody shows");
    println!("{} series after {:.1?}", shown.len(), began.elapsed());
}
