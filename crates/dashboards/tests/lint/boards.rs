//! The JSON as Grafana would import it.
//!
//! Read from the files, and not from the code that makes them: what is shipped is what is checked.

use std::collections::BTreeSet;

use dashboards::promql;
use serde_json::Value;

use crate::files;

/// What other dashboards, links and bookmarks know them by.
const UIDS: &[(&str, &str)] = &[("cache.json", "herdcache-cache"), ("overview.json", "herdcache-overview")];

/// The rows of every dashboard, in this order.
const ROWS: &[&str] = &["Overview", "Traffic", "Herd", "Origin", "Freshness", "Shared tier", "Capacity", "Database"];

const SOURCE: &str = "${datasource}";

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Every panel, those of folded rows too, and the rows themselves.
pub(crate) fn panels(board: &Value) -> Vec<&Value> {
    let outer = list(board, "/panels");
    outer.iter().flat_map(|panel| std::iter::once(panel).chain(list(panel, "/panels"))).collect()
}

/// Every query of a dashboard: of panels, annotations and variables.
pub(crate) fn queries(board: &Value) -> Vec<String> {
    let asked = legends(board).into_iter().map(|(expr, _)| expr);
    let marked = list(board, "/annotations/list").iter().map(|annotation| text(annotation, "/expr").to_owned());
    let chosen = list(board, "/templating/list").iter().filter_map(|variable| values(text(variable, "/definition")));
    asked.chain(marked).chain(chosen).collect()
}

/// The selector within `label_values(selector, label)`, as a query that groups by the label.
fn values(definition: &str) -> Option<String> {
    let (selector, label) = definition.strip_prefix("label_values(")?.strip_suffix(')')?.rsplit_once(", ")?;
    Some(format!("group by ({label}) ({selector})"))
}

/// The titles of its panels.
pub(crate) fn titles(board: &Value) -> Vec<String> {
    panels(board).into_iter().map(|panel| text(panel, "/title").to_owned()).collect()
}

/// The queries of the panels, each with its legend.
pub(crate) fn legends(board: &Value) -> Vec<(String, String)> {
    let targets = panels(board).into_iter().flat_map(|panel| list(panel, "/targets"));
    targets.map(|target| (text(target, "/expr").to_owned(), text(target, "/legendFormat").to_owned())).collect()
}

/// Complaints about a dashboard as a whole.
fn whole(board: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut say = |wrong: bool, what: &str| {
        if wrong {
            complaints.push(what.to_owned());
        }
    };
    say(board["editable"] != Value::Bool(false), "it is editable: what is changed in place is lost at the next start");
    say(!board["__inputs"].is_null(), "it has __inputs: provisioning does not fill them in");
    say(!board["id"].is_null(), "it has an id: that is the database's business, its uid is ours");
    let rows: Vec<_> =
        panels(board).into_iter().filter(|p| text(p, "/type") == "row").map(|p| text(p, "/title")).collect();
    say(rows != ROWS, "its rows are not those of every dashboard");
    let annotated = list(board, "/annotations/list").iter().any(|a| text(a, "/expr").starts_with("ALERTS{"));
    say(!annotated, "alerts are not marked in it");
    for variable in list(board, "/templating/list") {
        let name = text(variable, "/name");
        say(text(variable, "/label").is_empty(), &format!("variable {name} has no label"));
        if text(variable, "/type") == "query" {
            say(variable["multi"] != Value::Bool(true), &format!("variable {name} takes one value only"));
            say(text(variable, "/allValue") != ".*", &format!("variable {name}: all is not .*"));
            say(text(variable, "/datasource/uid") != SOURCE, &format!("variable {name} has a source of its own"));
        }
    }
    let names: Vec<_> = list(board, "/templating/list").iter().map(|v| text(v, "/name")).collect();
    say(names.first() != Some(&"datasource"), "the first variable is not the data source");
    for needed in ["job", "instance"] {
        say(!names.contains(&needed), &format!("there is no variable {needed}"));
    }
    complaints
}

/// Complaints about its panels.
fn each(board: &Value) -> Vec<String> {
    let (mut complaints, mut ids) = (Vec::new(), BTreeSet::new());
    for panel in panels(board) {
        let title = text(panel, "/title");
        let mut say = |what: String| complaints.push(format!("panel {} `{title}`: {what}", panel["id"]));
        if !panel["id"].as_u64().is_some_and(|id| ids.insert(id)) {
            say("its id is missing or taken".to_owned());
        }
        if title.is_empty() {
            say("no title".to_owned());
        }
        if text(panel, "/type") == "row" {
            continue;
        }
        if !text(panel, "/description").ends_with('.') {
            say("no description, or one that is no sentence".to_owned());
        }
        if text(panel, "/fieldConfig/defaults/unit").is_empty() {
            say("no unit".to_owned());
        }
        if text(panel, "/datasource/uid") != SOURCE {
            say("a source of its own".to_owned());
        }
        if list(panel, "/targets").is_empty() {
            say("it asks nothing".to_owned());
        }
        let letters: BTreeSet<_> = list(panel, "/targets").iter().map(|target| text(target, "/refId")).collect();
        if letters.len() != list(panel, "/targets").len() {
            say("two queries with one refId".to_owned());
        }
        for target in list(panel, "/targets") {
            for complaint in query(text(target, "/expr")) {
                say(complaint);
            }
            if text(target, "/datasource/uid") != SOURCE {
                say("a query with a source of its own".to_owned());
            }
        }
    }
    complaints
}

/// Complaints about the form of one query; what it names is checked elsewhere.
fn query(expr: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if let Err(error) = promql::selectors(expr) {
        complaints.push(format!("`{expr}` is no PromQL: {error}"));
    }
    let ranges = expr.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    complaints.extend(
        ranges
            .filter(|range| *range != "$__rate_interval")
            .map(|range| format!("[{range}] fits one zoom and one scrape interval only: write [$__rate_interval]")),
    );
    // What is divided by must be guarded, or an idle cache draws NaN.
    let divisors = expr.split(" / ").skip(1);
    complaints.extend(divisors.filter(|d| !d.contains("> 0)")).map(|d| format!("divided by `{d}` without `> 0`")));
    complaints
}

/// Complaints about panels that lie on one another or outside the grid.
fn places(board: &Value) -> Vec<String> {
    let number = |panel: &Value, field: &str| panel["gridPos"][field].as_u64().unwrap_or(u64::MAX / 4);
    let place = |panel: &Value| ["x", "y", "w", "h"].map(|field| number(panel, field));
    let mut complaints = Vec::new();
    let open = list(board, "/panels");
    for (at, panel) in open.iter().enumerate() {
        let [x, y, w, h] = place(panel);
        if x + w > 24 {
            complaints.push(format!("panel {} lies outside the grid", panel["id"]));
        }
        for other in &open[at + 1..] {
            let [ox, oy, ow, oh] = place(other);
            if x < ox + ow && ox < x + w && y < oy + oh && oy < y + h {
                complaints.push(format!("panels {} and {} lie on one another", panel["id"], other["id"]));
            }
        }
    }
    complaints
}

fn complaints(board: &Value) -> Vec<String> {
    [whole(board), each(board), places(board)].concat()
}

/// A dashboard as it is shipped.
pub(crate) fn shipped(file: &str) -> Value {
    serde_json::from_str(&files::read(&format!("dashboards/{file}"))).unwrap()
}

#[test]
fn the_files_are_what_the_code_says() {
    for board in dashboards::boards() {
        files::compare(&format!("dashboards/{}", board.file), &board.json());
    }
}

#[test]
fn the_dashboards_are_well_made() {
    let found = files::list("dashboards", ".json");
    assert_eq!(found, UIDS.iter().map(|(file, _)| *file).collect::<Vec<_>>());
    for (file, uid) in UIDS {
        let board = shipped(file);
        assert_eq!(text(&board, "/uid"), *uid, "{file}");
        files::report(&complaints(&board).into_iter().map(|what| format!("{file}: {what}")).collect::<Vec<_>>());
    }
}

/// The one panel that shows cause and effect on one axis of time.
#[test]
fn the_overlay_holds_the_whole_story() {
    for (file, _) in UIDS {
        let board = shipped(file);
        let overlay = panels(&board).into_iter().find(|panel| text(panel, "/title").starts_with("Overlay")).unwrap();
        let asked: Vec<_> = list(overlay, "/targets").iter().map(|target| text(target, "/legendFormat")).collect();
        assert_eq!(asked, ["entries expired", "flights started", "permit wait p99", "origin latency p99"], "{file}");
        assert_eq!(list(overlay, "/fieldConfig/overrides").len(), 2, "{file}: seconds have an axis of their own");
    }
}

#[test]
fn a_badly_made_dashboard_is_seen() {
    let good = shipped("overview.json");
    let broken = |pointer: &str, value: Value| {
        let mut board = good.clone();
        *board.pointer_mut(pointer).unwrap_or_else(|| panic!("there is no {pointer}")) = value;
        complaints(&board)
    };
    assert_eq!(complaints(&good), Vec::<String>::new());
    let cases = [
        ("/editable", Value::Bool(true), "editable"),
        ("/panels/1/id", good["panels"][2]["id"].clone(), "id is missing or taken"),
        ("/panels/1/title", "".into(), "no title"),
        ("/panels/1/description", "".into(), "no description"),
        ("/panels/1/fieldConfig/defaults/unit", "".into(), "no unit"),
        ("/panels/1/datasource/uid", "prometheus".into(), "a source of its own"),
        ("/panels/1/targets/0/datasource/uid", "x".into(), "a query with a source of its own"),
        ("/panels/1/targets/0/expr", "sum(".into(), "is no PromQL"),
        ("/panels/1/targets/0/expr", "rate(a[5m])".into(), "[5m]"),
        ("/panels/1/targets/0/expr", "a / sum(b)".into(), "without `> 0`"),
        ("/panels/2/gridPos/x", 0.into(), "lie on one another"),
        ("/panels/2/gridPos/w", 20.into(), "outside the grid"),
        ("/panels/0/title", "Users".into(), "rows are not those"),
        ("/templating/list/0/name", "source".into(), "first variable"),
        ("/templating/list/1/name", "service".into(), "no variable job"),
        ("/templating/list/1/label", "".into(), "has no label"),
        ("/templating/list/1/allValue", "".into(), "all is not"),
        ("/templating/list/1/multi", false.into(), "one value only"),
        ("/annotations/list", Value::Array(Vec::new()), "not marked"),
    ];
    for (pointer, value, expected) in cases {
        let seen = broken(pointer, value);
        assert!(seen.iter().any(|complaint| complaint.contains(expected)), "{pointer}: {seen:?}");
    }
    let mut board = good.clone();
    board["__inputs"] = Value::Array(Vec::new());
    assert!(complaints(&board).iter().any(|complaint| complaint.contains("__inputs")));
}
