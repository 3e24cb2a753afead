//! From a series to the traces behind it: queries in `TraceQL`, and links that open them.
//!
//! Nothing in OpenTelemetry's metrics for Rust names a trace (exemplars stay empty), so a link asks Tempo for the flights
//! that the series counts, in the time that is shown. It names what the span of a flight says of itself; a label of a
//! metric that no span has narrows nothing down and is left out.

use crate::board::{Board, Panel};

/// The span of a load, which is the root of its trace.
pub const FLIGHT: &str = "herdcache.flight";

/// Attributes of that span that a metric has as a label too.
pub const SHARED: &[Shared] = &[
    Shared { attribute: "herdcache.name", label: "herdcache_name" },
    Shared { attribute: "herdcache.flight.trigger", label: "herdcache_flight_trigger" },
    Shared { attribute: "herdcache.flight.end", label: "herdcache_flight_end" },
    Shared { attribute: "herdcache.miss.cause", label: "herdcache_miss_cause" },
];

/// The variable for the data source of traces.
pub const SOURCE: &str = "traces";

/// The name of a link to traces.
pub const TITLE: &str = "Traces of these flights";

/// What spans and metrics both say.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Of the span.
    pub attribute: &'static str,
    /// Of the metric, in Prometheus.
    pub label: &'static str,
}

/// The link of a panel's series to their flights, if its legend names anything that a flight's span has.
pub(crate) fn link(board: &Board, panel: &Panel) -> Option<String> {
    // Every series of a panel gets its links, so each of its queries has to have the label.
    let has = |shared: &&Shared| {
        let named = format!("{{{{{}}}}}", shared.label);
        panel.queries.iter().all(|query| query.legend.contains(&named))
    };
    let named: Vec<_> = SHARED.iter().filter(has).collect();
    if named.is_empty() {
        return None;
    }
    let same = named.iter().map(|one| format!("span.{} = \"${{__field.labels.{}}}\"", one.attribute, one.label));
    let chosen = chosen(board).filter(|_| !named.iter().any(|one| one.attribute == "herdcache.name"));
    Some(explore(&query(&chosen.into_iter().chain(same).collect::<Vec<_>>())))
}

/// The link of a whole dashboard to the flights of what is chosen in it, if it is about chosen caches.
pub(crate) fn of_board(board: &Board) -> Option<String> {
    Some(explore(&query(&[chosen(board)?])))
}

/// The caches that are chosen; in a form that stays what it is within a string of JSON, as the escapes of Grafana's
/// `regex` would not. Of what a cache's name may have, only the dot means something else in a regular expression: any
/// character, the dot among them.
fn chosen(board: &Board) -> Option<String> {
    let has = board.variables.iter().any(|variable| variable.name == "cache");
    has.then(|| "span.herdcache.name =~ \"${cache:pipe}\"".to_owned())
}

/// Flights for which all of this holds.
fn query(conditions: &[String]) -> String {
    let all: Vec<_> = std::iter::once(format!("name = \"{FLIGHT}\"")).chain(conditions.iter().cloned()).collect();
    format!("{{ {} }}", all.join(" && "))
}

/// Grafana's page Explore with this query, over the time that is shown.
fn explore(query: &str) -> String {
    let panes = serde_json::json!({ "a": {
        "datasource": format!("${{{SOURCE}}}"),
        "queries": [{
            "datasource": { "type": "tempo", "uid": format!("${{{SOURCE}}}") },
            "query": query,
            "queryType": "traceql",
            "refId": "A",
        }],
        "range": { "from": "${__from}", "to": "${__to}" },
    } });
    format!("/explore?schemaVersion=1&panes={}", encoded(&panes.to_string()))
}

/// `text` as a part of a URL, its `${…}` left as they are for Grafana to fill in.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        plain(&rest[..at], &mut out);
        out.push_str(&rest[at..end]);
        rest = &rest[end..];
    }
    plain(rest, &mut out);
    out
}

fn plain(text: &str, out: &mut String) {
    use std::fmt::Write as _;
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grafana_fills_in_is_left_alone() {
        assert_eq!(encoded("{\"a\": \"${b:pipe}\"}c ${d}"), "%7B%22a%22%3A%20%22${b:pipe}%22%7Dc%20${d}");
        assert_eq!(encoded("a-b_c.d~"), "a-b_c.d~");
    }
}
