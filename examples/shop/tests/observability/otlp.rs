//! The program pushes OTLP, as its command line or its environment says: what arrives, what it says when nothing does, and
//! how it ends.
//!
//! Collectors are in this process (crate `otlp-rig`). What stands in the table of metrics and what an SDK's end has to do
//! with runtimes is shown in `tests/shop/otlp`, without a program.

use std::time::{Duration, Instant};

use herdfeed::ClosedSet;
use otlp_rig::{Collector, Inbox, Misbehaving, Protocol, Span};
use shop::stats::StatsPage;
use tempfile::TempDir;

use crate::children::Process;
use crate::http;

/// How long something that should happen at once may take. Reached only on failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The whole end of a program that nobody asks anything: 5 s at most for telemetry, and some for a busy machine.
const END: Duration = Duration::from_secs(6);

/// Sends metrics every second.
const OFTEN: (&str, &str) = ("OTEL_METRIC_EXPORT_INTERVAL", "1000");

/// A shop that pushes.
pub(crate) struct Shop {
    process: Process,
    pub(crate) address: String,
    /// Where it answers scrapes, if it does.
    pub(crate) page: Option<String>,
    folder: TempDir,
}

impl Shop {
    /// Starts it with these arguments and variables beside the usual ones.
    pub(crate) fn start(more: &[&str], told: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("shop.db").display().to_string();
        let args = ["serve", "--addr", "127.0.0.1:0", "--products", "500", "--db", &database];
        let args: Vec<_> = args.iter().chain(more).map(|arg| (*arg).to_owned()).collect();
        let complaints = folder.path().join("complaints");
        let mut process = Process::start_told(env!("CARGO_BIN_EXE_shop"), &args, told, &complaints);
        let page = more.contains(&"--prometheus");
        let said = process.lines_until(if page { "shop: metrics at" } else { "shop: the live feed" });
        let address =
            |line: &String| line.split("http://").nth(1).unwrap().split([' ', '/']).next().unwrap().to_owned();
        let (address, page) = (address(&said[0]), page.then(|| address(said.last().unwrap())));
        Self { process, address, page, folder }
    }

    pub(crate) fn get(&self, path: &str) -> String {
        http::ask(&self.address, &format!("GET {path}"), "").unwrap()
    }

    pub(crate) fn stats(&self) -> StatsPage {
        serde_json::from_str(&self.get("/stats")).unwrap()
    }

    /// Tells it to end and gives how long that took, and what it has complained of.
    pub(crate) fn end(mut self) -> (Duration, String) {
        let began = Instant::now();
        self.process.terminate();
        assert_eq!(self.process.wait(PATIENCE), Some(0));
        (began.elapsed(), self.complaints())
    }

    fn complaints(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("complaints")).unwrap()
    }

    /// Waits until it has complained of `what`.
    fn until_it_complains(&self, what: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.complaints().contains(what) {
            assert!(Instant::now() < until, "it does not say {what:?}, but {:?}", self.complaints());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The one span of this name.
fn one<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "{name}: {:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>());
    found[0]
}

/// X1: what was counted and traced before the end arrives, though neither interval has passed; a query is a part of the
/// request or flight that it was made for.
#[test]
fn x1_the_last_metrics_and_spans_are_sent_at_the_end() {
    let never = [("OTEL_METRIC_EXPORT_INTERVAL", "600000"), ("OTEL_BSP_SCHEDULE_DELAY", "600000")];
    for protocol in Protocol::ALL {
        let collector = Collector::start(protocol).unwrap();
        let shop = Shop::start(&["--otlp", &collector.url()], &never);
        for path in ["/products/1?tenant=acme", "/products/1?tenant=acme", "/orders/3", "/nowhere"] {
            shop.get(path);
        }
        let counted = shop.stats();
        assert_eq!((collector.inbox().batches().len(), collector.inbox().spans().len()), (0, 0));
        let (_, complaints) = shop.end();
        assert_eq!(complaints, "", "{protocol:?}");
        let (last, spans) = (collector.inbox().last(), collector.inbox().spans());
        for (outcome, count) in counted.outcomes.iter() {
            let sent = last.count("herdcache.requests", &[("herdcache.request.outcome", outcome.label())]);
            assert_eq!(sent, count, "{protocol:?}, {outcome:?}");
        }
        assert_eq!(last.count("herdcache.flights", &[("herdcache.flight.end", "loaded")]), 1);
        assert_eq!(spans.iter().filter(|span| span.name == "GET /products/{id}").count(), 2, "{protocol:?}");
        let (order, of_order) = (one(&spans, "GET /orders/{id}"), one(&spans, "query orders"));
        assert!(of_order.is_child_of(order), "{of_order:?}");
        assert_eq!((order.kind, of_order.kind, order.failed), ("server", "client", false));
        assert_eq!(order.attributes["http.response.status_code"], "200");
        assert_eq!(order.resource, last.resource, "metrics and traces are of the same process");
        // The load's query belongs to whoever the load belongs to: its flight where flights are traced, else its caller.
        let query = one(&spans, "query bundle");
        let parent = spans.iter().find(|span| query.is_child_of(span)).expect("the query is a part of something");
        assert!(parent.name == "GET /products/{id}" || parent.name.starts_with("herdcache."), "{}", parent.name);
        assert!(parent.lasted.0 <= query.lasted.0 && query.lasted.1 <= parent.lasted.1, "{parent:?}\n{query:?}");
    }
}

/// Failed queries say so by the class of their error, and requests by their status.
#[test]
fn p3_a_failed_query_tells_its_class_and_no_text() {
    let collector = Collector::start(Protocol::Http).unwrap();
    let shop = Shop::start(&["--otlp", &collector.url(), "--origin-timeout", "20ms"], &[]);
    assert!(shop.get("/products/1?tenant=acme").contains("error"));
    let (_, complaints) = shop.end();
    assert_eq!(complaints, "");
    let spans = collector.inbox().spans();
    let (request, query) = (one(&spans, "GET /products/{id}"), one(&spans, "query bundle"));
    assert!(request.failed && query.failed);
    assert_eq!(request.attributes["http.response.status_code"], "502");
    assert_eq!(query.attributes["error.type"], "interrupted");
    let said: Vec<_> = spans.iter().flat_map(|span| span.attributes.values()).collect();
    assert!(!said.iter().any(|value| value.contains("deadline")), "{said:?}");
}

/// `--trace-share 0` traces no request.
#[test]
fn no_request_is_traced_where_none_is_wanted() {
    let collector = Collector::start(Protocol::Grpc).unwrap();
    let shop = Shop::start(&["--otlp", &collector.url(), "--trace-share", "0"], &[]);
    shop.get("/orders/3");
    shop.end();
    let spans = collector.inbox().spans();
    assert!(spans.iter().all(|span| span.name.starts_with("herdcache.")), "{spans:?}");
    assert_eq!(collector.inbox().batches().len(), 1, "metrics are sent all the same");
}

/// Without a URL the environment says where, how, who, and what not.
#[test]
fn the_environment_is_heard() {
    let collector = Collector::start(Protocol::Grpc).unwrap();
    let endpoint = format!("http://{}", collector.address());
    let told = [
        OFTEN,
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_SERVICE_NAME", "checkout"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=seven,deployment.environment.name=test"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ];
    let shop = Shop::start(&["--otlp"], &told);
    shop.get("/products/10?tenant=acme");
    let loaded = |inbox: &Inbox| {
        let with = [("herdcache.request.outcome", "loaded")];
        inbox.batches().into_iter().find(|batch| batch.count("herdcache.requests", &with) == 1)
    };
    let batch = collector.inbox().wait(PATIENCE, loaded).expect("metrics are sent every second");
    let counter = batch.of("herdcache.requests").next().unwrap();
    assert_eq!(counter.temporality, Some(otlp_rig::Temporality::Delta));
    let who = ["service.name", "service.instance.id", "deployment.environment.name"].map(|key| &batch.resource[key]);
    assert_eq!(who, ["checkout", "seven", "test"]);
    shop.end();
    assert_eq!(collector.inbox().spans(), []);
}

/// What is sent to nobody is told once, requests go on, and what comes back gets the totals.
#[test]
fn a_collector_that_comes_back_gets_what_it_has_missed() {
    for protocol in Protocol::ALL {
        let absent = Misbehaving::absent().unwrap();
        let url = format!("{}://{}", protocol.scheme(), absent.address());
        // A second is the first pause before an attempt is repeated: each fails at once.
        let told = [
            ("OTEL_METRIC_EXPORT_INTERVAL", "100"),
            ("OTEL_BSP_SCHEDULE_DELAY", "100"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "900"),
        ];
        let shop = Shop::start(&["--otlp", &url], &told);
        for _ in 0..50 {
            assert!(shop.get("/products/10?tenant=acme").contains("price_cents"));
        }
        for what in ["metrics", "spans"] {
            shop.until_it_complains(&format!("shop: {what} cannot be sent, requests go on: "));
        }
        // Time for further attempts, which are not told.
        std::thread::sleep(Duration::from_millis(600));
        let collector = absent.replaced(protocol).unwrap();
        shop.until_it_complains("shop: metrics are sent again\n");
        let all = |inbox: &Inbox| (inbox.last().count("herdcache.requests", &[]) == 50).then_some(());
        collector.inbox().wait(PATIENCE, all).expect("the totals hold what was counted before");
        shop.get("/orders/3");
        let (_, complaints) = shop.end();
        let arrived = collector.inbox().spans().len() as u64;
        let told = complaints.lines().last().unwrap_or_default();
        let lost: u64 = told.split(' ').nth(1).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{told}"));
        assert!(told.ends_with(" spans were lost"), "{complaints}");
        assert!(told.contains(&format!("{lost} of {} spans", lost + arrived)), "{told}, {arrived} have arrived");
        let of_metrics = complaints.lines().filter(|line| line.starts_with("shop: metrics ")).collect::<Vec<_>>();
        let changes = of_metrics.windows(2).all(|two| two[0].ends_with("again") != two[1].ends_with("again"));
        assert!(changes, "only changes are told: {complaints}");
    }
}

/// X1: the whole program ends in time where the collector accepts and never answers: server, cache, spans, metrics. Exports
/// may take longer than all of the end, so that it is the end's own limit that is seen.
#[test]
fn x1_the_program_ends_in_time_where_the_collector_is_silent() {
    for protocol in Protocol::ALL {
        let silent = Misbehaving::silent().unwrap();
        let url = format!("{}://{}", protocol.scheme(), silent.address());
        let shop = Shop::start(&["--otlp", &url], &[OFTEN, ("OTEL_EXPORTER_OTLP_TIMEOUT", "10000")]);
        assert!(shop.get("/products/10?tenant=acme").contains("price_cents"));
        // An export is under way by now.
        std::thread::sleep(Duration::from_millis(1_500));
        assert!(shop.get("/products/11?tenant=acme").contains("price_cents"));
        let (took, complaints) = shop.end();
        println!("{protocol:?}: ended after {took:.1?}");
        assert!(took < END, "{protocol:?}: {took:?}");
        assert!(complaints.contains("shop: the last metrics were not sent\n"), "{complaints}");
        // Two requests, two queries; and what herdcache has chosen.
        let told = complaints.lines().last().unwrap_or_default();
        let counts: Vec<u64> = told.split(' ').filter_map(|word| word.parse().ok()).collect();
        assert!(told.ends_with(" spans were lost") && counts[0] == counts[1] && counts[0] >= 4, "{complaints}");
    }
}

/// An export to a collector that cannot be connected to ends at its limit, not when the system gives up after minutes: what
/// comes next has its chance, and the loss is told.
#[test]
fn an_export_that_gets_nowhere_ends_at_its_limit() {
    for protocol in Protocol::ALL {
        let deaf = Misbehaving::deaf().unwrap();
        let url = format!("{}://{}", protocol.scheme(), deaf.address());
        let shop = Shop::start(&["--otlp", &url], &[OFTEN, ("OTEL_EXPORTER_OTLP_TIMEOUT", "500")]);
        shop.until_it_complains("shop: metrics cannot be sent, requests go on: ");
        let (took, _) = shop.end();
        assert!(took < END, "{protocol:?}: {took:?}");
    }
}
