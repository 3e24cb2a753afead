//! Panels, selectors, rules and alerts against the running fleet.

use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::fleet::{FLEET, Running};
use crate::http;
use crate::prometheus::Prometheus;
use crate::queries::{self, Asked};

/// How long everything may take to show. Reached only on failure.
const PATIENCE: Duration = Duration::from_secs(100);

/// Queries that stay at 0 here, and why. Everything else must be above 0 at some time.
const QUIET: &[(&str, &str)] = &[
    ("`Laws broken` {{herdcache_law}}", "a broken law is a defect, and no trouble that can be ordered"),
    ("`Slow requests` longer than 2.5 s", "every limit of the fleet is shorter"),
    ("`Waits for a connection that timed out` {{job}}", "permits leave two connections to others"),
    ("`Origin calls in progress` {{instance}} abandoned", "the shop's queries stop at their deadline"),
    ("`What followers find` {{herdcache_lease_poll}}", "nobody shares the shared tiers, so that nobody follows"),
    ("`I/O of the database's machine` {{instance}} read", "what is read is in memory by now"),
    ("`I/O of the database's machine` {{instance}} written", "the machine may have nothing to write"),
    ("`Leases renewed` renewals", "loads that last a third of their lease lose it here"),
    ("`Telling less than all` events dropped", "the fleet is too small to drop events"),
    ("`Telling less than all` samples lost", "no recorder panics"),
    ("`Telling less than all` gaps in collections", "no collection panics"),
    ("`Telling less than all` names folded", "the shop has one cache"),
];

/// What each trouble must show as, and as nothing else: expiry apart from eviction, a connection error apart from a miss.
const SHOWS: &[&str] = &[
    r#"herdcache_removals_total{job="failing",herdcache_removal_cause="evicted"}"#,
    r#"herdcache_misses_total{job="failing",herdcache_miss_cause="evicted"}"#,
    r#"herdcache_removals_total{job="tight",herdcache_removal_cause="expired"}"#,
    r#"herdcache_misses_total{job="tight",herdcache_miss_cause="expired"}"#,
    r#"herdcache_origin_results_total{job="failing",herdcache_origin_result="error",error_type="on_purpose"}"#,
    r#"herdcache_stale_serves_total{job="failing",herdcache_stale_reason="cooling"}"#,
    r#"herdcache_refreshes_total{job="failing",herdcache_refresh_result="failed"}"#,
    r#"herdcache_rejections_total{job="down",herdcache_reject_reason="origin_down"}"#,
    r#"herdcache_rejections_total{job="tight",herdcache_reject_reason="queue_full"}"#,
    r#"herdcache_flight_participants_total{job="herd",herdcache_flight_role="waiter"}"#,
    r#"herdcache_shared_reads_total{job="shared-down",herdcache_shared_read="connection_error"}"#,
    r#"herdcache_shared_writes_total{job="shared-down",herdcache_shared_write="skipped_after_fault"}"#,
    r#"herdcache_shared_reads_total{job="well",herdcache_shared_read="hit"}"#,
    r#"herdcache_requests_total{job="well",herdcache_tier="shared"}"#,
    r#"herdcache_lease_losses_total{job="leases"}"#,
];

/// What must stay at 0.
const NEVER: &[&str] = &[
    r#"herdcache_shared_reads_total{job="shared-down",herdcache_shared_read="miss"}"#,
    r#"herdcache_removals_total{job="tight",herdcache_removal_cause="evicted"}"#,
    r#"herdcache_requests_total{job="idle"}"#,
    r#"herdcache_connection_errors_total{job="well",error_type="connection_error"}"#,
    "herdcache_law_violations_total",
    "herdcache_recorder_panics_total",
    "herdcache_collection_failures_total",
];

fn quiet(asked: &Asked) -> bool {
    QUIET.iter().any(|(query, _)| asked.by.ends_with(query))
}

/// What does not show yet. Each part keeps only what it still waits for.
struct Waiting {
    panels: Vec<Asked>,
    selectors: Vec<String>,
    alerts: Vec<(&'static str, &'static str)>,
    shows: Vec<&'static str>,
}

impl Waiting {
    fn all() -> Self {
        let alerts = FLEET.iter().flat_map(|member| member.alerts.iter().map(|alert| (member.job, *alert)));
        Self {
            panels: queries::of_panels(),
            selectors: queries::selectors(),
            alerts: alerts.collect(),
            shows: SHOWS.to_vec(),
        }
    }

    fn look(&mut self, prometheus: &Prometheus) {
        self.panels.retain(|asked| {
            let values = prometheus.over_time(&asked.expr);
            let seen =
                if quiet(asked) { !values.is_empty() } else { values.iter().flatten().any(|value| *value > 0.0) };
            !seen
        });
        self.selectors.retain(|selector| prometheus.series(selector) == 0);
        self.alerts
            .retain(|(job, alert)| prometheus.now(&format!(r#"ALERTS{{job="{job}",alertname="{alert}"}}"#)).is_none());
        self.shows.retain(|expr| prometheus.now(expr).is_none_or(|value| value <= 0.0));
    }

    fn is_over(&self) -> bool {
        self.panels.is_empty() && self.selectors.is_empty() && self.alerts.is_empty() && self.shows.is_empty()
    }

    /// How much is left, by name once it is little.
    fn counts(&self) -> String {
        let Self { panels, selectors, alerts, shows } = self;
        let left = panels.len() + selectors.len() + alerts.len() + shows.len();
        if left > 4 { format!("{left} do not show yet") } else { format!("left: {}", self.complaints()) }
    }

    fn complaints(&self) -> String {
        let mut lines = Vec::new();
        lines.extend(self.panels.iter().map(|asked| format!("{} shows nothing: {}", asked.by, asked.expr)));
        lines.extend(self.selectors.iter().map(|selector| format!("no series {selector}")));
        lines.extend(self.alerts.iter().map(|(job, alert)| format!("{job} does not raise {alert}")));
        lines.extend(self.shows.iter().map(|expr| format!("not above 0: {expr}")));
        lines.join("\n  ")
    }
}

/// Prices change, so that something is invalidated, also while it is being loaded.
fn change_prices(fleet: &Running, round: u32) {
    for (job, product) in [("well", 10 + round), ("herd", 1)] {
        let body = json!({ "price_cents": 100 + round }).to_string();
        http::ask(fleet.shop(job), &format!("POST /products/{product}/price"), &body).unwrap();
    }
}

#[test]
fn every_panel_rule_and_alert_works_on_a_real_prometheus() {
    let began = Instant::now();
    let folder = TempDir::new().unwrap();
    let fleet = Running::start(folder.path());
    let prometheus = Prometheus::start(folder.path(), &queries::path("dashboards/rules"), &fleet.targets);
    let mut waiting = Waiting::all();
    let (panels, selectors) = (waiting.panels.len(), waiting.selectors.len());
    let mut round = 0;
    while !waiting.is_over() && began.elapsed() < PATIENCE {
        change_prices(&fleet, round);
        round += 1;
        std::thread::sleep(Duration::from_secs(1));
        waiting.look(&prometheus);
        println!("{:.1?}: {}", began.elapsed(), waiting.counts());
    }
    assert!(waiting.is_over(), "after {:?}:\n  {}", began.elapsed(), waiting.complaints());

    // The same look finds nothing where there is nothing: it can fail.
    let nothing = || Waiting {
        panels: vec![Asked { by: String::new(), expr: "sum(rate(herdcache_request_total[15s]))".to_owned() }],
        selectors: vec![r#"herdcache_requests_total{herdcache_request_outcome="miss"}"#.to_owned()],
        alerts: vec![("well", "HerdcacheRejecting")],
        shows: vec![NEVER[0]],
    };
    let mut still = nothing();
    still.look(&prometheus);
    assert_eq!(still.complaints(), nothing().complaints());

    let rules = prometheus.rules();
    for rule in &rules {
        assert_eq!((rule.health.as_str(), rule.evaluated), ("ok", true), "{}: {}", rule.name, rule.error);
    }
    assert_eq!(rules.len(), queries::rules(), "all rules are loaded");
    for member in FLEET.iter().filter(|member| member.well) {
        let raised = prometheus.over_time(&format!(r#"ALERTS{{job="{}"}}"#, member.job));
        assert!(raised.is_empty(), "{} raises an alert: {}", member.job, prometheus.raised(member.job));
        let up = prometheus.now(&format!(r#"up{{job="{}"}}"#, member.job));
        assert_eq!(up, Some(1.0), "{} is watched", member.job);
    }
    for expr in NEVER {
        assert_eq!(prometheus.now(expr), Some(0.0), "{expr}");
    }
    println!("{panels} queries of panels, {selectors} selectors and {} rules after {:?}", rules.len(), began.elapsed());
}
