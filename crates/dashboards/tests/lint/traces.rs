//! Links to traces: they open, ask what Tempo understands, and name what spans of flights and the series really have.

use std::collections::BTreeSet;

use dashboards::traces::{FLIGHT, SHARED, SOURCE, TITLE};
use herdcache_otel::{CACHE, metrics};
use serde_json::Value;

use crate::{boards, files};

/// A link to traces, and the query of the series that it is on; none on the dashboard itself.
struct Link {
    by: String,
    url: String,
    queries: Vec<String>,
}

/// Every link to traces of a dashboard.
fn links(board: &Value) -> Vec<Link> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let to_traces = |links: &Value| -> Vec<String> {
        let links = list(links).into_iter().filter(|link| text(&link["title"]) == TITLE);
        links.map(|link| text(&link["url"])).collect()
    };
    let own = to_traces(&board["links"]).into_iter();
    let own = own.map(|url| Link { by: "the dashboard".to_owned(), url, queries: Vec::new() });
    let of_panels = boards::panels(board).into_iter().flat_map(|panel| {
        let queries: Vec<_> = list(&panel["targets"]).iter().map(|target| text(&target["expr"])).collect();
        let by = format!("panel `{}`", text(&panel["title"]));
        let urls = to_traces(&panel["fieldConfig"]["defaults"]["links"]).into_iter();
        urls.map(move |url| Link { by: by.clone(), url, queries: queries.clone() })
    });
    own.chain(of_panels).collect()
}

/// What a part of a URL stands for.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            other => out.push(other),
        }
    }
    String::from_utf8(out).ok()
}

/// The conditions of a `TraceQL` query of the one form that is used here, as attribute, operator and value.
fn conditions(query: &str) -> Option<Vec<(&str, &str, &str)>> {
    let inside = query.strip_prefix("{ ")?.strip_suffix(" }")?;
    let one = |text| {
        let mut words = str::splitn(text, 3, ' ');
        let (attribute, operator, value) = (words.next()?, words.next()?, words.next()?);
        Some((attribute, operator, value.strip_prefix('"')?.strip_suffix('"')?))
    };
    inside.split(" && ").map(one).collect()
}

/// Complaints about one link; `variables` are those of its dashboard.
fn complaints(link: &Link, variables: &BTreeSet<String>) -> Vec<String> {
    let panes = link.url.strip_prefix("/explore?schemaVersion=1&panes=").and_then(decoded);
    let Some(panes) = panes.and_then(|panes| serde_json::from_str::<Value>(&panes).ok()) else {
        return vec![format!("{}: no page of Grafana's Explore: {}", link.by, link.url)];
    };
    let (pane, source) = (&panes["a"], format!("${{{SOURCE}}}"));
    let mut complaints = Vec::new();
    let mut say = |wrong: bool, what: String| {
        if wrong {
            complaints.push(format!("{}: {what}", link.by));
        }
    };
    let asked = &pane["queries"][0];
    let sources = [&pane["datasource"], &asked["datasource"]["uid"]];
    say(
        sources.iter().any(|uid| **uid != source) || asked["datasource"]["type"] != "tempo",
        "another source".to_owned(),
    );
    say(asked["queryType"] != "traceql", "no TraceQL".to_owned());
    say(pane["range"]["from"] != "${__from}" || pane["range"]["to"] != "${__to}", "another time".to_owned());
    let query = asked["query"].as_str().unwrap_or_default();
    let Some(conditions) = conditions(query) else {
        say(true, format!("`{query}` is not understood"));
        return complaints;
    };
    say(conditions.first() != Some(&("name", "=", FLIGHT)), format!("`{query}` does not ask for flights"));
    say(conditions.len() < 2, format!("`{query}` asks for all of them"));
    for (attribute, operator, value) in conditions.iter().skip(1) {
        let Some(shared) = SHARED.iter().find(|shared| format!("span.{}", shared.attribute) == *attribute) else {
            say(true, format!("no span of a flight has {attribute}"));
            continue;
        };
        if let Some(variable) = value.strip_prefix("${").and_then(|value| value.strip_suffix(":pipe}")) {
            say(*operator != "=~" || !variables.contains(variable), format!("{attribute} {operator} {value}"));
        } else {
            let field = format!("${{__field.labels.{}}}", shared.label);
            say(*operator != "=" || *value != field, format!("{attribute} {operator} {value}, not {field}"));
            let lacks = link.queries.iter().find(|query| !groups(query).contains(shared.label));
            say(lacks.is_some() || link.queries.is_empty(), format!("its series have no label {}", shared.label));
        }
    }
    complaints
}

/// The labels that a query keeps.
fn groups(expr: &str) -> BTreeSet<&str> {
    let lists = expr.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    lists.flat_map(|list| list.split(',').map(str::trim)).collect()
}

fn variables(board: &Value) -> BTreeSet<String> {
    let list = board["templating"]["list"].as_array().unwrap();
    list.iter().map(|variable| variable["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn links_to_traces_ask_what_spans_and_series_have() {
    for (file, least) in [("cache.json", 5), ("overview.json", 3)] {
        let board = boards::shipped(file);
        let (links, variables) = (links(&board), variables(&board));
        assert!(links.len() >= least, "{file}: only {} links to traces", links.len());
        files::report(&links.iter().flat_map(|link| complaints(link, &variables)).collect::<Vec<_>>());
        let source = board["templating"]["list"].as_array().unwrap().iter().find(|one| one["name"] == SOURCE).unwrap();
        assert_eq!((&source["type"], &source["query"]), (&"datasource".into(), &"tempo".into()), "{file}");
    }
}

/// What spans and metrics share has the same name in both: one with dots, one with underscores.
#[test]
fn shared_names_are_those_of_the_metrics() {
    let attributes: BTreeSet<_> = metrics().iter().flat_map(|metric| metric.attributes).map(|one| one.key).collect();
    for shared in SHARED {
        assert!(shared.attribute == CACHE || attributes.contains(shared.attribute), "{}", shared.attribute);
        assert_eq!(shared.label, shared.attribute.replace('.', "_"));
    }
}

/// Whoever starts the example has the source that the dashboards ask for.
#[test]
fn the_example_provisions_a_source_of_traces() {
    let file = files::read("examples/observability/grafana/datasources/herdcache.yaml");
    let sources: Value = serde_norway::from_str(&file).unwrap();
    let tempo = sources["datasources"].as_array().unwrap().iter().filter(|source| source["type"] == "tempo").count();
    assert_eq!(tempo, 1, "the first of its type is chosen");
}

#[test]
fn a_link_that_leads_nowhere_is_seen() {
    let board = boards::shipped("cache.json");
    let (all, variables) = (links(&board), variables(&board));
    let good = all.iter().find(|link| link.by.contains("Flights by end")).unwrap();
    assert_eq!(complaints(good, &variables), Vec::<String>::new());
    let cases = [
        ("/explore", "/explorer", "no page"),
        ("%22a%22", "a", "no page"),
        ("${traces}", "${datasource}", "another source"),
        ("traceql", "search", "no TraceQL"),
        ("${__from}", "now-1h", "another time"),
        ("herdcache.flight%5C", "flight%5C", "does not ask for flights"),
        ("herdcache.flight.end", "herdcache.end", "no span of a flight has"),
        ("herdcache_flight_end", "herdcache_flight_trigger", "not ${__field.labels.herdcache_flight_end}"),
        ("${cache:pipe}", "${caches:pipe}", "caches"),
        ("%26%26", "and", "does not ask for flights"),
    ];
    for (from, to, expected) in cases {
        assert!(good.url.contains(from), "{from} in {}", good.url);
        let changed = Link { by: String::new(), url: good.url.replace(from, to), queries: good.queries.clone() };
        let seen = complaints(&changed, &variables);
        assert!(seen.iter().any(|what| what.contains(expected)), "{from}, {to}: {seen:?}");
    }
    let other = Link { by: String::new(), url: good.url.clone(), queries: vec!["sum(a)".to_owned()] };
    assert_eq!(complaints(&other, &variables).len(), 1, "the series lacks the label");
}

/// The links of `cache.json` as Grafana fills them in where these caches are chosen, in that format.
fn filled(format: &str, caches: &str) -> Vec<Option<String>> {
    let links = links(&boards::shipped("cache.json"));
    let chosen = links.into_iter().map(|link| link.url).filter(|url| url.contains("${cache:pipe}"));
    let filled = chosen.map(|url| {
        let url = url.replace("${cache:pipe}", &format!("${{cache:{format}}}"));
        let panes = decoded(url.split_once("panes=")?.1)?.replace(&format!("${{cache:{format}}}"), caches);
        let panes = serde_json::from_str::<Value>(&panes).ok()?;
        let query = panes["a"]["queries"][0]["query"].as_str()?.to_owned();
        let names = conditions(&query)?.into_iter().find(|(attribute, ..)| *attribute == "span.herdcache.name")?;
        Some(names.2.to_owned())
    });
    filled.collect()
}

/// The query is a string of JSON within a URL: names come through as they are, and escapes of a regular expression would
/// leave nothing that Grafana could read.
#[test]
fn names_of_caches_come_through_a_link_as_they_are() {
    let (all, two) = (filled("pipe", ".*"), filled("pipe", "users.v2|user-names~2"));
    assert!(all.len() >= 5 && all.iter().all(|names| names.as_deref() == Some(".*")), "{all:?}");
    assert!(two.iter().all(|names| names.as_deref() == Some("users.v2|user-names~2")), "{two:?}");
    assert!(filled("regex", "(users\\.v2|user-names~2)").iter().all(Option::is_none));
}

/// What a name may have means itself in a regular expression, in JSON and in a URL; the dot means itself too, and others.
#[test]
fn a_name_of_a_cache_fits_itself() {
    // The engine takes these and no others. Two of one name are told apart by `~2`; those beyond the limit share one.
    let good: BTreeSet<_> = ('a'..='z').chain('0'..='9').chain("_.-~".chars()).collect();
    assert!(herdcache_otel::OTHER.chars().all(|c| good.contains(&c)));
    let special: Vec<_> = good.iter().filter(|c| "\\^$*+?.()|[]{}/\"%#&".contains(**c)).collect();
    assert_eq!(special, [&'.']);
}
