//! Every name in a query against the metrics that herdcache-otel really registers, in both directions.
//!
//! A query with a misspelt label is no error in Prometheus: it is an empty panel on the day somebody needs it.

use std::collections::{BTreeMap, BTreeSet};

use dashboards::promql::{self, Matcher, Selector};
use herdcache_otel::{CACHE, GATE, Kind, Metric, Subject, metrics};

use crate::{boards, files, rules};

/// Metrics that are on no dashboard and in no rule, and why.
const NOT_SHOWN: &[(&str, &str)] = &[];

/// What others export, with the labels that we ask for.
const FOREIGN: &[(&str, &[&str])] = &[
    ("ALERTS", &["alertname", "alertstate"]),
    ("up", &[]),
    ("db_client_connection_count", &["db_client_connection_state"]),
    ("db_client_connection_max", &[]),
    ("db_client_connection_timeouts_total", &[]),
    ("node_cpu_seconds_total", &["mode"]),
    ("node_disk_read_bytes_total", &[]),
    ("node_disk_written_bytes_total", &[]),
];

/// Labels that Prometheus gives.
const GIVEN: &[&str] = &["job", "instance"];

/// The labels of a series, with their values where the set is closed.
type Labels = BTreeMap<String, Option<Vec<String>>>;
/// Every series that can be asked for.
type Known = BTreeMap<String, Labels>;

/// The series of one metric.
fn series(metric: &Metric) -> Vec<(String, Labels)> {
    let values = |of: Vec<&str>| Some(of.into_iter().map(str::to_owned).collect());
    let mut labels: Labels = metric
        .attributes
        .iter()
        .map(|a| (a.prometheus(), if a.is_named_by_application() { None } else { values(a.values()) }))
        .collect();
    let (cache, gate) = (CACHE.replace('.', "_"), GATE.replace('.', "_"));
    match metric.subject() {
        Subject::Cache => labels.extend([(cache, None)]),
        Subject::Gate => labels.extend([(gate, None)]),
        Subject::CacheOrGate => labels.extend([(cache, None), (gate, None)]),
        Subject::Process => {}
        other => panic!("{}: a subject that this test does not know: {other:?}", metric.name),
    }
    let name = metric.prometheus();
    if metric.kind != Kind::Histogram {
        return vec![(name, labels)];
    }
    let bounds = metric.boundaries().unwrap_or_default().iter().map(f64::to_string);
    let mut bucket = labels.clone();
    bucket.insert("le".to_owned(), Some(bounds.chain(["+Inf".to_owned()]).collect()));
    vec![(format!("{name}_bucket"), bucket), (format!("{name}_count"), labels.clone()), (format!("{name}_sum"), labels)]
}

fn known() -> Known {
    let ours = metrics().iter().flat_map(series);
    let foreign = FOREIGN
        .iter()
        .map(|(name, labels)| ((*name).to_owned(), labels.iter().map(|label| ((*label).to_owned(), None)).collect()));
    // Recorded series carry the labels that the rule groups by; the alert's unit test tells if one is wrong.
    let recorded = rules::shipped().into_iter().filter(|rule| !rule.record.is_empty());
    ours.chain(foreign).chain(recorded.map(|rule| (rule.record, BTreeMap::new()))).collect()
}

/// Complaints about one selector.
fn selector(selector: &Selector, known: &Known) -> Vec<String> {
    let Some(labels) = known.get(&selector.metric) else {
        return vec![format!("{selector}: there is no such metric")];
    };
    let given = |matcher: &&Matcher| !GIVEN.contains(&matcher.label.as_str());
    selector
        .matchers
        .iter()
        .filter(given)
        .filter_map(|matcher| one(matcher, labels))
        .map(|what| format!("{selector}: {what}"))
        .collect()
}

fn one(matcher: &Matcher, labels: &Labels) -> Option<String> {
    let Some(values) = labels.get(&matcher.label) else {
        return Some(format!("it has no label {}", matcher.label));
    };
    let values = values.as_ref()?;
    if matcher.label == "le"
        && matcher.value.parse::<f64>().is_ok_and(|bound| bound.fract() == 0.0)
        && matcher.value != "+Inf"
    {
        // Prometheus 2 writes le="1", Prometheus 3 le="1.0".
        return Some(format!(
            "le=\"{}\" is written otherwise by other versions: take a bound with a fraction",
            matcher.value
        ));
    }
    let stranger = matcher.value.split('|').find(|value| !values.iter().any(|known| known == value));
    stranger.map(|value| format!("{} is never {value:?}, but one of {values:?}", matcher.label))
}

/// Complaints about labels that a query groups by and that none of its metrics has.
fn groups(expr: &str, known: &Known) -> Vec<String> {
    let asked = promql::selectors(expr).unwrap_or_default();
    let mut has: BTreeSet<&str> = GIVEN.iter().copied().chain(["le"]).collect();
    for selector in &asked {
        has.extend(known.get(&selector.metric).into_iter().flatten().map(|(label, _)| label.as_str()));
    }
    // Alerts carry the labels of their rules.
    if asked.iter().any(|selector| selector.metric == "ALERTS") {
        has.extend(["severity", "herdcache_name", "herdcache_gate_name"]);
    }
    let lists = expr.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    let labels: BTreeSet<_> = lists.flat_map(|list| list.split(',').map(str::trim)).collect();
    labels
        .into_iter()
        .filter(|label| !has.contains(label))
        .map(|label| format!("`{expr}` groups by {label}, which no metric in it has"))
        .collect()
}

fn complaints(expr: &str, known: &Known) -> Vec<String> {
    match promql::selectors(expr) {
        Ok(found) => found.iter().flat_map(|s| selector(s, known)).chain(groups(expr, known)).collect(),
        Err(error) => vec![format!("`{expr}` is no PromQL: {error}")],
    }
}

/// Every query that is shipped: of panels, annotations, variables and rules.
fn shipped() -> Vec<String> {
    let mut queries: Vec<_> = rules::shipped().into_iter().map(|rule| rule.expr).collect();
    for file in files::list("dashboards", ".json") {
        let board = boards::shipped(&file);
        queries.extend(boards::queries(&board));
    }
    queries
}

#[test]
fn every_name_in_a_query_is_a_name_of_ours() {
    let known = known();
    files::report(&shipped().iter().flat_map(|expr| complaints(expr, &known)).collect::<Vec<_>>());
}

#[test]
fn every_metric_is_shown_somewhere() {
    let used: BTreeSet<_> =
        shipped().iter().flat_map(|expr| promql::selectors(expr).unwrap()).map(|selector| selector.metric).collect();
    let excused: BTreeSet<_> = NOT_SHOWN.iter().map(|(name, _)| *name).collect();
    let mut complaints = Vec::new();
    for metric in metrics() {
        let shown = series(metric).iter().any(|(name, _)| used.contains(name));
        match (shown, excused.contains(metric.name)) {
            (false, false) => complaints.push(format!("{} is on no dashboard and in no rule", metric.name)),
            (true, true) => complaints.push(format!("{} is shown: take it off the list", metric.name)),
            (true, false) | (false, true) => {}
        }
    }
    let exists = |name: &str| metrics().iter().any(|metric| metric.name == name);
    complaints.extend(excused.into_iter().filter(|name| !exists(name)).map(|name| format!("there is no {name}")));
    files::report(&complaints);
}

/// A legend that names a label which the query drops shows nothing.
#[test]
fn legends_name_labels_that_are_there() {
    let mut complaints = Vec::new();
    for file in files::list("dashboards", ".json") {
        for (expr, legend) in boards::legends(&boards::shipped(&file)) {
            let kept: BTreeSet<_> = expr
                .split("by (")
                .skip(1)
                .filter_map(|rest| rest.split(')').next())
                .flat_map(|list| list.split(',').map(str::trim))
                .collect();
            let named = legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
            complaints.extend(
                named
                    .filter(|label| !kept.contains(label))
                    .map(|label| format!("{file}: the legend {legend} names {label}, which `{expr}` drops")),
            );
        }
    }
    files::report(&complaints);
}

#[test]
fn a_wrong_name_is_seen() {
    let known = known();
    let cases = [
        ("herdcache_request_total", "no such metric"),
        ("herdcache_requests_total{outcome=\"hit\"}", "no label outcome"),
        ("herdcache_requests_total{herdcache_request_outcome=~\"hit|miss\"}", "never \"miss\""),
        ("herdcache_permit_limit{herdcache_name=\"a\"}", "no label herdcache_name"),
        ("herdcache_stale_bound_ratio_bucket{le=\"0.8\"}", "never \"0.8\""),
        ("herdcache_stale_bound_ratio_bucket{le=\"1\"}", "fraction"),
        ("herdcache_stale_bound_ratio", "no such metric"),
        ("sum by (herdcache_tier) (herdcache_misses_total)", "groups by herdcache_tier"),
    ];
    for (expr, expected) in cases {
        let seen = complaints(expr, &known);
        assert!(seen.len() == 1 && seen[0].contains(expected), "{expr}: {seen:?}");
    }
    assert_eq!(
        complaints("sum by (le) (herdcache_stale_bound_ratio_bucket{le=\"0.9\",job=~\"$job\"})", &known),
        Vec::<String>::new()
    );
}
